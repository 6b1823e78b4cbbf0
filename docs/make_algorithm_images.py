"""Draws the pictures of the algorithm pages: `python docs/make_algorithm_images.py [FOLDER]`, about half a minute.

Everything shown is a real agent: seed 0, the options named on the page.
"""

import io
import sys
from pathlib import Path

import numpy as np

import spaql
from spaql.analysis.style import COLOURS, INK, letters, png_of, sheet, write

ACTIONS = ("#0072B2", "#E9E9E9", "#D55E00")  # left or back, nothing, right or forward
QUIET = {"length": 0}


def keep(figure, path: Path, colours: int = 128) -> None:
    """As PNG with few colours: a fifth of the size, and no difference to the eye."""
    from PIL import Image

    file = io.BytesIO()
    Image.open(io.BytesIO(png_of(figure))).convert("RGB").quantize(colours).save(file, "PNG", optimize=True)
    write(path, file.getvalue())


@spaql.reset
def anywhere(u):
    return (2 * u - 1,)


@spaql.step
def roll(x, push):
    """A cart on a rail: it moves by 0.2 times the push, and shall stand at 0.3."""
    x = min(max(x + 0.2 * push, -1.0), 1.0)
    return (x,), 1.0 - min(abs(x - 0.3), 1.0), False


def rail(horizon: int = 10) -> spaql.Problem:
    return spaql.from_plant(
        anywhere, roll, name="cart on a rail", horizon=horizon, reference=(0.3,),
        state=[spaql.Axis("position", -1, 1)], actions=spaql.Continuous((-1.0,), (1.0,), ("push",)),
    )  # fmt: skip


def draw_cells(axis, leaves, norm) -> None:
    """Leaves in the plane of one state and one action, coloured by Q; a thick line where the greedy leaf is."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    for leaf in leaves:
        x, a, r = float(leaf["state"][0]), float(np.squeeze(leaf["action"])), float(leaf["radius"])
        colour = colormaps["viridis"](norm(float(leaf["q"])))
        axis.add_patch(Rectangle((x - r, a - r), 2 * r, 2 * r, facecolor=colour, edgecolor="white", linewidth=0.4))
    axis.set(xlim=(-1, 1), ylim=(-1, 1), xticks=(-1, 0, 1), yticks=(-1, 0, 1), xlabel="position", aspect="equal")
    axis.tick_params(**QUIET)
    axis.grid(visible=False)


def draw_greedy(axis, agent, step=None) -> None:
    """What the agent applies along the rail."""
    x = np.linspace(-0.999, 0.999, 400)
    pushes = agent.policy(step).decide(x[:, None])[:, 0]
    axis.plot(x, pushes, color="#D55E00", linewidth=1.6)


def colour_bar(figure, axes, norm, label="Q") -> None:
    from matplotlib.cm import ScalarMappable

    figure.colorbar(ScalarMappable(norm, "viridis"), ax=list(axes), label=label, shrink=0.85, pad=0.01)


def partition(folder: Path) -> None:
    """The partition of SPAQL growing."""
    from matplotlib.colors import Normalize

    agent, stages, norm = spaql.SPAQL(rail(), xi=0.5, seed=0), (1, 10, 100, 1000), Normalize(9.8, 11.2)
    with sheet(2.35) as figure:
        axes = figure.subplots(1, 4, sharey=True)
        done = 0
        for axis, stage in zip(axes, stages, strict=True):
            agent.learn(iterations=stage - done)
            done = stage
            draw_cells(axis, agent.leaves(), norm)
            draw_greedy(axis, agent)
        letters(list(axes), [f"{stage:,} episode{'s' if stage > 1 else ''}" for stage in stages])
        axes[0].set_ylabel("push")
        colour_bar(figure, axes, norm)
        keep(figure, folder / "partition.png")


def per_step(folder: Path) -> None:
    """AQL: a partition for every step of the episode."""
    from matplotlib.colors import Normalize

    agent, norm = spaql.AQL(rail(), xi=0.5, seed=0), Normalize(0, 11)
    agent.learn(iterations=3000)
    leaves = agent.leaves()
    with sheet(2.35) as figure:
        axes = figure.subplots(1, 4, sharey=True)
        for axis, step in zip(axes, (0, 3, 6, 9), strict=True):
            draw_cells(axis, leaves[leaves["tree"] == step], norm)
            draw_greedy(axis, agent, step)
        letters(list(axes), [f"step {step}" for step in (0, 3, 6, 9)])
        axes[0].set_ylabel("push")
        colour_bar(figure, axes, norm)
        keep(figure, folder / "aql.png")


def net(folder: Path) -> None:
    """NBQL: nets of three steps, and AQL's partition, after the same episodes."""
    from matplotlib.colors import Normalize

    problem, norm = rail(), Normalize(5.5, 10.5)
    agents = [*(spaql.NBQL(problem, step=step, xi=0.5, seed=0) for step in (0.5, 0.25, 0.0625)), spaql.AQL(problem, xi=0.5, seed=0)]
    spaql.learn_all(agents, 3000)
    with sheet(2.35) as figure:
        axes, titles = figure.subplots(1, 4, sharey=True), []
        for axis, agent in zip(axes, agents, strict=True):
            leaves, fresh = agent.leaves(), agent.evaluate(1000, deterministic=True)
            draw_cells(axis, leaves[leaves["tree"] == 0], norm)
            draw_greedy(axis, agent, 0)
            cells = int((leaves["tree"] == 0).sum())
            titles.append(f"{cells} cells: {fresh.mean:.1f}")
            print(agent.algorithm, cells, agent.arms, fresh)
        letters(list(axes), titles)
        axes[0].set_ylabel("push")
        colour_bar(figure, axes, norm)
        keep(figure, folder / "nbql.png")


def optimal_q(position: float, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Pushes, and the optimal Q of each at a position of the cart with so many steps to go: backwards from the last."""
    x, pushes = np.linspace(-1, 1, 401), np.linspace(-1, 1, 201)
    after = np.clip(x[:, None] + 0.2 * pushes, -1, 1)
    value = np.zeros(len(x))
    for _ in range(horizon):
        q = 1.0 - np.minimum(np.abs(after - 0.3), 1.0) + np.interp(after, x, value)
        value = q.max(axis=1)
    return pushes, q[np.argmin(np.abs(x - position))]


def zooming(folder: Path) -> None:
    """ZoomRL: where balls are cut, and the index of the first step against the optimal Q, for two constants L."""
    from matplotlib.colors import Normalize

    norm, at, pushes = Normalize(1, 3.2), -0.4, np.linspace(-0.999, 0.999, 400)
    agents = {L: spaql.ZoomRL(rail(3), xi=0.3, lipschitz=L, seed=0) for L in (1.0, 0.3)}
    with sheet(2.35) as figure:
        axes = figure.subplots(1, 4)
        bounds = axes[3]
        bounds.plot(*optimal_q(at, 3), color="#D55E00", linewidth=1.8)
        bounds.text(-0.55, 1.02, "optimal Q", fontsize=7, color="#D55E00")
        shown = [(1.0, 100, 0, "#5AA5CD", "-", 2.55), (1.0, 10_000, 100, "#08306B", "-", 2.09), (0.3, 10_000, 0, "#08306B", ":", 1.38)]
        for axis, (L, episodes, done, colour, line, height) in zip(axes, shown, strict=False):
            agents[L].learn(iterations=episodes - done, rollouts=1)
            bounds.text(0.1 if L == 1.0 else 0.5, height, f"{episodes:,}" if L == 1.0 else f"L = {L}", fontsize=7, color=colour)
            leaves = agents[L].leaves()
            leaves = leaves[leaves["tree"] == 0]
            draw_cells(axis, leaves, norm)
            axis.axvline(at, color="white", linewidth=1.2, linestyle=(0, (4, 3)))
            here = leaves[np.abs(leaves["state"][:, 0] - at) <= leaves["radius"]]
            index = [here["q"][np.abs(here["action"].ravel() - push) <= here["radius"]].max() for push in pushes]
            bounds.plot(pushes, index, color=colour, linestyle=line, linewidth=1.4)
            print("ZoomRL", L, episodes, len(leaves), agents[L].evaluate(1000, deterministic=True))
        letters(list(axes), ["100 episodes", "10,000 episodes", "L = 0.3", "the bounds"])
        bounds.set(xlabel="push", xticks=(-1, 0, 1), xlim=(-1, 1), box_aspect=1)
        bounds.tick_params(**QUIET)
        for axis in axes[1:3]:
            axis.set_yticklabels([])
        axes[0].set_ylabel("push")
        colour_bar(figure, axes[:3], norm, "index")
        keep(figure, folder / "zoomrl.png", colours=256)


def field(axis, policy, points, shape, extent, actions) -> None:
    """Actions over a plane of states."""
    from matplotlib.colors import ListedColormap

    applied = policy.decide(points)[:, 0].reshape(shape)
    colours = [ACTIONS[0], *([ACTIONS[1]] if actions == 3 else []), ACTIONS[2]]
    axis.imshow(applied, origin="lower", extent=extent, aspect="auto", cmap=ListedColormap(colours), vmin=-0.5, vmax=actions - 0.5)
    axis.grid(visible=False)
    axis.tick_params(**QUIET)


def mountain_car(folder: Path) -> None:
    """SPAQL's policy growing, with one episode of it."""
    agent, stages = spaql.SPAQL(spaql.make("mountain-car"), xi=10.0, seed=0), (10, 100, 1000)
    position, velocity = np.meshgrid(np.linspace(-1.199, 0.599, 300), np.linspace(-0.0699, 0.0699, 300))
    points = np.column_stack([position.ravel(), velocity.ravel()])
    with sheet(2.6) as figure:
        axes = figure.subplots(1, 3, sharey=True)
        done, titles = 0, []
        for axis, stage in zip(axes, stages, strict=True):
            agent.learn(iterations=stage - done)
            done = stage
            field(axis, agent.policy(), points, position.shape, (-1.2, 0.6, -0.07, 0.07), 3)
            episode = agent.episode(seed=1, deterministic=True)
            axis.plot(*episode.observations.T, color=INK, linewidth=0.9)
            axis.plot(*episode.observations[0], marker="o", color="white", markeredgecolor=INK, markersize=5)
            axis.axvline(0.5, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
            titles.append(f"{stage:,} episodes: {agent.evaluate(500).mean:.0f}")
            axis.set(xlabel="position (m)")
            print(stage, agent.arms, agent.evaluate(500))
        letters(list(axes), titles)
        axes[0].set_ylabel("velocity (m/step)")
        keep(figure, folder / "spaql.png")


def cartpole(folder: Path) -> None:
    """SPAQL-TS: the weight, and what it does to the policy."""
    problem = spaql.make("cartpole")
    angle, rate = np.meshgrid(np.linspace(-11.99, 11.99, 240), np.linspace(-2, 2, 240))
    points = np.column_stack([0 * angle.ravel(), 0 * angle.ravel(), np.radians(angle).ravel(), rate.ravel()])
    extent = (-12, 12, -2, 2)
    with sheet(2.6) as figure:
        axes = figure.subplots(1, 3)
        agents = [learner(problem, seed=0) for learner in (spaql.SPAQL, spaql.SPAQLTS)]
        spaql.learn_all(agents, 600, progress=False)
        gap = np.hypot(np.radians(angle) / np.radians(24), np.tanh(rate / 21)) / 1.2
        shown = axes[0].imshow(np.exp(-(gap**2)), origin="lower", extent=extent, aspect="auto", cmap="viridis", vmin=0.8, vmax=1)
        axes[0].grid(visible=False)
        figure.colorbar(shown, ax=axes[0], shrink=0.85)
        titles = ["the weight (7)"]
        for axis, agent in zip(axes[1:], agents, strict=True):
            field(axis, agent.policy(), points, angle.shape, extent, 2)
            states = agent.episode(seed=1, rollout=1, deterministic=True).observations
            axis.plot(np.degrees(states[:, 2]), states[:, 3], color=INK, linewidth=0.5)
            axis.set(xlim=(-12, 12), ylim=(-2, 2))
            titles.append(f"{agent.algorithm}: {agent.evaluate(1000).mean:.0f}")
            axis.set_title(titles[-1], color=COLOURS[agent.algorithm])
            print(agent.algorithm, agent.arms, agent.evaluate(1000))
        for axis in axes:
            axis.set(xlabel="pole angle (degrees)")
        letters(list(axes), titles)
        axes[0].set_ylabel("angular velocity (rad/s)")
        keep(figure, folder / "spaql_ts.png")


def pendulum(folder: Path) -> None:
    """Atlas: what it has seen, and the table it made of it."""
    agent, stages = spaql.Atlas(spaql.make("pendulum"), seed=0), (200, 400, 1000)
    angle, velocity = np.meshgrid(np.linspace(-np.pi, np.pi, 240), np.linspace(-7.999, 7.999, 240))
    points = np.column_stack([np.cos(angle).ravel(), np.sin(angle).ravel(), velocity.ravel()])
    with sheet(2.7) as figure:
        axes, done, titles = figure.subplots(1, 3, sharey=True), 0, []
        for axis, stage in zip(axes, stages, strict=True):
            agent.learn(samples=stage - done)
            done = stage
            torque = agent.policy().decide(points)[:, 0].reshape(angle.shape)
            colours = {"cmap": "RdBu_r", "vmin": -2, "vmax": 2, "alpha": 0.75}
            shown = axis.imshow(torque, origin="lower", extent=(-180, 180, -8, 8), aspect="auto", **colours)
            memory = agent.state.memory
            seen = memory.states[: memory.n]
            axis.plot(np.degrees(np.arctan2(seen[:, 1], seen[:, 0])), seen[:, 2], ".", color=INK, markersize=1.6)
            axis.set(xlabel="angle from upright (degrees)", xticks=(-180, -90, 0, 90, 180))
            axis.grid(visible=False)
            fresh = agent.evaluate(500)
            titles.append(f"{stage:,} samples: {fresh.mean:.0f}")
            print("Atlas", stage, fresh)
        letters(list(axes), titles)
        axes[0].set_ylabel("angular velocity (rad/s)")
        figure.colorbar(shown, ax=list(axes), label="torque (N m)", shrink=0.85, pad=0.01)
        keep(figure, folder / "atlas.png")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    for draw in (partition, per_step, net, zooming, mountain_car, cartpole, pendulum):
        draw(target)
