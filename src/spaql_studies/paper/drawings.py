"""The scaling study, the domain of a ball, and one episode of each policy."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import COLOURS, INK, legend, letters, mean_and_half
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS
from spaql_studies.figures import ORDER, RING, entry, line_of, marker_of
from spaql_studies.paper.plan import Groups, groups_of, main_runs, random_runs
from spaql_studies.runs.rows import Run
from spaql_studies.study import Results
from spaql_studies.tables import agents, caption_number, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


APART = 0.22  # between the algorithms at one xi



def scaling(figure: "Figure", results: Results, titles: Mapping[str, str]) -> str | None:
    """One panel per problem in `titles`. Returns the caption, or None without data."""
    from matplotlib.lines import Line2D

    panels = [(groups_of(results.runs("scaling", problem)), problem, title) for problem, title in titles.items()]
    panels = [panel for panel in panels if panel[0]]
    if not panels:
        return None
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    ringed = False
    for axis, (groups, problem, _) in zip(axes, panels, strict=True):
        ringed |= _panel(axis, groups, main_runs(results, problem))
    if len(panels) > 1:
        letters(list(axes), [title for _, _, title in panels])
    axes[0].set_ylabel("best average return seen")
    entries = [entry(name, linestyle="none") for name in ORDER if any(name in groups for groups, _, _ in panels)]
    legend(figure, entries + [Line2D([], [], label="ξ of the main runs", **RING)] * ringed, 1.0)
    return _caption(panels, ringed)


def _panel(axis: "Axes", groups: Groups, main: Sequence[Run]) -> bool:
    """Draws a panel. Was there an xi of the main runs to mark?"""
    grid = sorted({xi for group in groups.values() for xi in group})  # equidistant on the axis: all can be told apart
    used = {(run.algorithm, run.xi) for run in main}
    names, ringed = [name for name in ORDER if name in groups], False
    for place, name in enumerate(names):
        means = _means(groups[name])
        level, spread = float(np.mean(means)), float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
        axis.axhspan(level - spread, level + spread, color=COLOURS[name], alpha=0.13, linewidth=0)
        axis.axhline(level, **line_of(name, linestyle=(0, (5, 2)), linewidth=1))
        halves = [mean_and_half(np.array([run.best_seen for run in runs]))[1] for runs in groups[name].values()]
        x = [grid.index(xi) + APART * (place - (len(names) - 1) / 2) for xi in groups[name]]
        axis.errorbar(x, means, [np.nan if half is None else float(half) for half in halves], **marker_of(name))
        marked = [i for i, xi in enumerate(groups[name]) if (name, xi) in used]
        axis.plot([x[i] for i in marked], [means[i] for i in marked], zorder=5, **RING)
        ringed |= bool(marked)
    axis.set_xticks(range(len(grid)), [f"{xi:g}" for xi in grid], fontsize=7.5)
    axis.set(xlabel="scale ξ of the bonus", xlim=(-0.6, len(grid) - 0.4))
    axis.grid(visible=False, axis="x")
    return ringed


def _means(group: dict[float, list[Run]]) -> list[float]:
    return [float(np.mean([run.best_seen for run in runs])) for runs in group.values()]


def _caption(found: Sequence[tuple[Groups, str, str]], ringed: bool) -> str:
    cells = [runs for groups, _, _ in found for group in groups.values() for runs in group.values()]
    counts = [len(runs) for runs in cells]
    text = f"Best evaluation average seen after {cells[0][0].iterations} training episodes (AQL: the last one) "
    text += f"against the scale ξ of the bonus: mean of {agents(counts)}"
    text += f"{' with 95 % intervals' if max(counts) > 1 else ''}; dashed lines and bands: mean and standard "
    text += f"deviation over ξ{'; rings: the ξ of the main runs' if ringed else ''}. "
    facts = [listed([_best(name, groups[name]) for name in ORDER if name in groups]) for groups, _, _ in found]
    if len(found) > 1:
        facts = [f"{title}, {fact}" for (_, _, title), fact in zip(found, facts, strict=True)]
    return f"{text}Best: {'; '.join(facts)}."


def _best(name: str, group: dict[float, list[Run]]) -> str:
    means = _means(group)
    best = [xi for xi, mean in zip(group, means, strict=True) if mean == max(means)]
    others = f" and {len(best) - 1} more" if len(best) > 1 else ""
    return f"{name} {caption_number(max(means))} (ξ = {best[0]:g}{others})"


# -- the domain of a ball, on the library's own partition --------------------------------------------------------------

STATE = -0.08  # the state whose relevant balls are shown
VISITED = (-0.62, 0.7)  # state and action of the transitions: they split the ball they fall into


def domains(figure: "Figure") -> str:
    """Three stages of one partition. Returns the caption."""
    from spaql.learners.spaql import SPAQL
    from spaql.plants.problem import cube

    agent = SPAQL(cube(state_dim=1, actions=1, horizon=10), seed=0, xi=1.0)
    stages = [agent.leaves()]
    while len(stages) < 3:
        agent.update([VISITED[0]], [VISITED[1]], 0.5, [VISITED[0]])
        if len(agent.leaves()) > len(stages[-1]):
            stages.append(agent.leaves())
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    relevant = [_domain_panel(axis, leaves) for axis, leaves in zip(axes, stages, strict=True)]
    letters(list(axes), ["the root", "after its split", "one child split again"])
    axes[0].set_ylabel("action")
    splits = len(stages) - 1
    return (
        "dom(B) is B without all balls of strictly smaller radius; state and action have one axis each, from −1 to "
        f"1. The partition of a real agent before, after one and after {splits} splits: a ball that has been split is "
        "covered by its children and has an empty domain, so the domains are the "
        f"{', '.join(str(len(leaves)) for leaves in stages[:-1])} and {len(stages[-1])} leaves. Shaded: the "
        f"{', '.join(map(str, relevant[:-1]))} and {relevant[-1]} balls relevant in the state x, those whose domain "
        "meets the line."
    )


def _domain_panel(axis: "Axes", leaves: Array) -> int:
    from matplotlib.patches import Rectangle

    relevant = 0
    for leaf in leaves:
        (x,), a, radius = leaf["state"], float(np.squeeze(leaf["action"])), float(leaf["radius"])
        meets = x - radius <= STATE < x + radius
        relevant += bool(meets)
        corner, side = (x - radius, a - radius), 2 * radius
        if meets:
            axis.add_patch(Rectangle(corner, side, side, facecolor=COLOURS["SPAQL"], alpha=0.25, linewidth=0))
        axis.add_patch(Rectangle(corner, side, side, facecolor="none", edgecolor=INK, linewidth=0.9))
        size = 6.8 if radius < 0.3 else 8.0
        axis.text(
            x - radius + 0.05, a - radius + 0.05, _label(leaf), ha="left", va="bottom", fontsize=size, linespacing=1.35
        )
    axis.axvline(STATE, color=COLOURS["SPAQL"], linewidth=1.5)
    axis.annotate("x", (STATE, -1.04), ha="center", va="top", annotation_clip=False, style="italic")
    axis.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), xlabel="state", xticks=(-1, 1), yticks=(-1, 1), aspect="equal")
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    return relevant


def _label(leaf: Any) -> str:
    return f"depth {leaf['depth']}\nr = {Fraction(float(leaf['radius']))}"


# -- one episode of each policy: the angle, and what was done about it -------------------------------------------------

POLICIES = ("Random", "AQL", "SPAQL", "SPAQL-TS")
LIMIT = 12.0  # degrees at which CartPole's pole counts as fallen
GUIDE: dict[str, Any] = {"color": INK, "linewidth": 0.9, "alpha": 0.55}


def median_run(runs: Sequence[Run]) -> Run:
    """The run with the median fresh return, of an even number the lower of the two."""
    return sorted(runs, key=lambda run: (run.fresh, run.seed))[(len(runs) - 1) // 2]


def trajectories(figure: "Figure", results: Results, problem: str, title: str) -> str | None:
    """A column per policy. Returns the caption, or None without data."""
    runs = [run for run in (*random_runs(results, problem), *main_runs(results, problem)) if len(run.episode_actions)]
    groups = {name: [run for run in runs if run.algorithm == name] for name in POLICIES}
    shown = {name: median_run(runs) for name, runs in groups.items() if runs}
    if not any(CARDS[name].learns for name in shown):
        return None
    axes = figure.subplots(2, len(shown), sharex=True, sharey="row", squeeze=False, height_ratios=(1.3, 1.0))
    draw = _cartpole if problem.startswith("cartpole") else _pendulum
    for (name, run), (upper, lower) in zip(shown.items(), axes.T, strict=True):
        upper.set_title(f"{name}\n", loc="center", color=COLOURS[name])
        upper.text(
            0.5, 1.04, f"fresh return {caption_number(run.fresh)}", transform=upper.transAxes, ha="center", fontsize=8
        )
        draw(upper, lower, run, COLOURS[name])
        lower.set_xlabel("time step")
    longest = max(len(run.episode_actions) for run in shown.values())
    axes[0, 0].set_xlim(0, max(longest, 20))
    axes[0, 0].set_xticks((0, 100, 200) if longest == 200 else (0, max(longest, 20)))
    words = _cartpole_frame(axes, shown) if problem.startswith("cartpole") else _pendulum_frame(axes, shown)
    seeds = listed([str(run.seed) for run in shown.values()])
    return (
        f"{title}: of each algorithm the agent with the median fresh return, of "
        f"{agents([len(groups[name]) for name in shown])} "
        f"(seed{'s' if len(shown) > 1 else ''} {seeds}), in its episode with the median return. {words}"
    )


def _states(run: Run) -> Array:
    return run.episode_states.reshape(len(run.episode_actions) + 1, -1)


def _angle(run: Run) -> Array:
    """Of the pendulum, 0 upright, counted on over whole turns."""
    states = _states(run)
    return np.unwrap(np.arctan2(states[:, 1], states[:, 0]))


def _pendulum(upper: "Axes", lower: "Axes", run: Run, colour: str) -> None:
    upper.plot(_angle(run), color=colour)
    steps = np.arange(len(run.episode_actions) + 1)
    lower.stairs(run.episode_actions, steps, color=colour, linewidth=0.8, baseline=None)


def _pendulum_frame(axes: Array, shown: dict[str, Run]) -> str:
    """Ticks, reference lines and words, from all panels together."""
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    angles = {name: _angle(run) for name, run in shown.items()}
    low, high = min(a.min() for a in angles.values()), max(a.max() for a in angles.values())
    turns = range(int(np.floor(low / (2 * np.pi) + 0.05)), int(np.ceil(high / (2 * np.pi) - 0.05)) + 1)
    step = np.pi * max(1, 2 * ((len(turns) + 1) // 4))
    for upper in axes[0]:
        for turn in turns:
            upper.axhline(2 * np.pi * turn, linestyle=(0, (4, 3)), zorder=1.5, **GUIDE)
        upper.yaxis.set_major_locator(MultipleLocator(step))
        upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _times_pi(value)))
        upper.set_ylim(min(low, 2 * np.pi * turns[0]) - 0.6, max(high, 2 * np.pi * turns[-1]) + 0.6)
    axes[0, 0].set_ylabel("angle (rad)")
    axes[1, 0].set(ylabel="torque (N m)", ylim=(-2.2, 2.2), yticks=(-2, -1, 0, 1, 2))
    # within a sixth of a turn of the reference in every step of the last quarter
    up = [name for name, angle in angles.items() if np.cos(angle[-len(angle) // 4 :]).min() > 0.5]
    held = f"{listed(up)} hold{'s' if len(up) == 1 else ''}" if up else "None of them holds"
    return f"Dashed lines: upright, at multiples of 2π. {held} the pendulum up in the last quarter of the episode."


def _times_pi(value: float) -> str:
    k = round(value / np.pi)
    return "0" if k == 0 else f"{'−' if k < 0 else ''}{'' if abs(k) == 1 else abs(k)}π"


def _cartpole(upper: "Axes", lower: "Axes", run: Run, colour: str) -> None:
    angle, n = np.degrees(_states(run)[:, 2]), len(run.episode_actions)
    upper.plot(angle, color=colour)
    lower.stairs(2 * run.episode_actions - 1, np.arange(n + 1), color=colour, fill=True)
    if n < 200:
        upper.plot([n], [angle[-1]], color=colour, marker="X", markersize=5.5, linestyle="none", clip_on=False)
        upper.text(
            0.98,
            9,
            f"ends after {n} steps",
            transform=upper.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=7.5,
        )


def _cartpole_frame(axes: Array, shown: dict[str, Run]) -> str:
    widest = max(float(np.abs(np.degrees(_states(run)[:, 2])).max()) for run in shown.values())
    for upper in axes[0]:
        upper.axhline(0, linestyle=(0, (4, 3)), zorder=1.5, **GUIDE)
        for limit in (-LIMIT, LIMIT):
            upper.axhline(limit, linestyle="-", zorder=1.5, **GUIDE)
    axes[0, 0].set(
        ylabel="pole angle (degrees)",
        yticks=(-12, -6, 0, 6, 12),
        ylim=(-max(widest, LIMIT) - 2, max(widest, LIMIT) + 2),
    )
    for lower in axes[1]:
        lower.axhline(0, linestyle="-", zorder=1.5, **GUIDE)
    axes[1, 0].set(ylabel="push", ylim=(-1.3, 1.3))
    axes[1, 0].set_yticks((-0.5, 0.5), ("left", "right"))
    lengths = listed([f"{name} {len(run.episode_actions)}" for name, run in shown.items()])
    lines = f"Dashed line: upright; solid lines: the limits of ±{LIMIT:g}°; a cross: the end of the episode."
    return f"{lines} Steps balanced: {lengths}."
