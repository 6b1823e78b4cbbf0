"""Return and arms over the training episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.numbers import agents, caption_number, listed
from spaql.analysis.style import (
    COLOURS,
    INK,
    ORDER,
    entry,
    episodes,
    fresh_strip,
    legend,
    letters,
    line_of,
    plain_log,
    plot_band,
    thinned,
)
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS
from spaql.runs.rows import Run
from spaql.studies.paper.plan import main_runs, random_runs
from spaql.studies.parts import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

@dataclass(frozen=True, eq=False)
class Series:
    """The agents of one algorithm: one row per agent, one column per iteration; and the fresh mean of each kept
    agent."""

    algorithm: str
    seen: Array
    arms: Array
    fresh: Array


@dataclass(frozen=True)
class Level:
    """A policy that does not learn."""

    label: str
    value: float
    dashes: Any = None


def series_of(runs: Sequence[Run]) -> list[Series]:
    found = []
    for name in ORDER:
        chosen = [run for run in runs if run.algorithm == name]
        if chosen:
            length = min(len(run.best_seen_curve) for run in chosen)
            seen, arms = (
                np.array([getattr(run, f"{curve}_curve")[:length] for run in chosen], float)
                for curve in ("best_seen", "arms")
            )
            found.append(Series(name, seen, arms, np.array([run.fresh for run in chosen])))
    return found


def levels_of(results: Results, problem: str) -> list[Level]:
    """Random over the whole range and, where there is one, the paper's, which applies no negative torque."""
    kinds = (("Random", None, None), ("Random, torque ≥ 0", 0.0, (0, (1, 3))))
    found = [(label, random_runs(results, problem, low), dashes) for label, low, dashes in kinds]
    return [Level(label, float(np.mean([run.fresh for run in runs])), dashes) for label, runs, dashes in found if runs]


def learning(figure: "Figure", results: Results, problem: str, title: str) -> str | None:
    """Returns the caption, or None without data."""
    runs = main_runs(results, problem)
    if not runs:
        return None
    series, levels = series_of(runs), levels_of(results, problem)
    axes = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
    draw_returns(axes[0], series, levels)
    draw_arms(axes[1], series)
    letters(list(axes), ["return", "size"])
    learning_legend(figure, series, levels)
    return _caption(title, runs, series)


def draw_returns(axis: "Axes", series: Sequence[Series], levels: Sequence[Level]) -> None:
    """The curves, and beside them the fresh returns of the kept agents."""
    for one in series:
        chosen = thinned(one.seen.shape[1])
        plot_band(axis, one.algorithm, chosen + 1, one.seen[:, chosen])
    strip = fresh_strip(axis, [(one.algorithm, one.fresh) for one in series])
    for level in levels:
        for panel in (axis, strip):
            panel.axhline(level.value, **_look(level), zorder=3.5)
    axis.set_ylabel("best average return seen")
    episodes(axis, max(one.seen.shape[1] for one in series))


def draw_arms(axis: "Axes", series: Sequence[Series]) -> None:
    for one in series:
        chosen = thinned(one.arms.shape[1])
        plot_band(axis, one.algorithm, chosen + 1, one.arms[:, chosen], floor=1.0)  # nobody has fewer
    axis.set_yscale("log")
    plain_log(axis, "y")
    lowest = min(float(one.arms.mean(axis=0).min()) for one in series)
    bottom = 10 ** np.floor(np.log10(max(lowest, 1.0)))
    axis.set_ylim(bottom, max(axis.get_ylim()[1], 10.5 * bottom))  # with two labels at least
    axis.set_ylabel("arms")
    episodes(axis, max(one.arms.shape[1] for one in series))


def learning_legend(figure: "Figure", series: Sequence[Series], levels: Sequence[Level]) -> None:
    legend(
        figure,
        [entry(one.algorithm) for one in series] + [entry("Random", level.label, **_look(level)) for level in levels],
    )


def _look(level: Level) -> dict[str, Any]:
    return line_of("Random", **({} if level.dashes is None else {"linestyle": level.dashes}))


def _caption(title: str, runs: Sequence[Run], series: Sequence[Series]) -> str:
    counts = [len(one.fresh) for one in series]
    bands = ", means with 95 % intervals" if max(counts) > 1 else ""
    xi = {run.algorithm: run.xi for run in runs}
    told = f"{title}, {agents(counts)} "
    told += f"({listed([f'{one.algorithm} with ξ = {xi[one.algorithm]:g}' for one in series])}): best evaluation "
    told += f"average seen (AQL: the last one) and number of arms over the training episodes{bands}; in the strip "
    told += "the kept agents on "
    told += f"{runs[0].episodes:,} fresh episodes."
    seen, fresh = (
        [float(values.mean()) for values in found]
        for found in ([s.seen[:, -1] for s in series], [s.fresh for s in series])
    )
    widest = int(np.argmax(np.subtract(seen, fresh)))
    if seen[widest] > fresh[widest]:
        told += f" Seen is above fresh, most so for {series[widest].algorithm}: "
        told += f"{caption_number(seen[widest])} to {caption_number(fresh[widest])}."
    arms = sorted((float(one.arms[:, -1].mean()), one.algorithm) for one in series)
    if len(arms) > 1:
        (few, small), (many, large) = arms[0], arms[-1]
        told += f" {large} ends with {many:,.0f} arms, {many / few:,.0f} times as many as {small} ({few:,.0f})."
    return told


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
