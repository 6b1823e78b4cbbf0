"""Return and arms over the training episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.numbers import agents, caption_number, listed
from spaql.analysis.style import (
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
from spaql.arrays import Array
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
