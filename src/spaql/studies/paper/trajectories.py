"""One episode of each policy: the angle, and what was done about it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.numbers import agents, caption_number, listed
from spaql.analysis.style import COLOURS, INK
from spaql.arrays import Array
from spaql.learners.registry import CARDS
from spaql.runs.rows import Run
from spaql.studies.paper.plan import main_runs, random_runs
from spaql.studies.parts import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    shown = {name: median_run(found) for name, found in groups.items() if found}
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
