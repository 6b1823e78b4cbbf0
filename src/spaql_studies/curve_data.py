"""The learning curves of the page: averaged, thinned and rounded for its script."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS
from spaql.report.shell import one_plain, plain
from spaql_studies.parts import Results, studies
from spaql_studies.runs.rows import Run
from spaql_studies.study import Agents
from spaql_studies.tables import half_width

AXES = ("iterations", "train", "all")
METRICS = ("best_seen", "evaluation", "arms")
MOST_POINTS = 200  # of a mean curve
MOST_LINE_POINTS = 100  # of the curve of a single agent
MOST_LINES = 25  # single agents


def curve_data(results: Results) -> list[dict[str, Any]]:
    """The curves by problem; only problems with a learner that learns."""
    return [
        {"name": compared.problem, "title": compared.title, "series": [_series(group) for group in compared.groups]}
        for study in studies()
        for compared in study.compared(results)
        if compared.curves
    ]


def _series(group: Agents) -> dict[str, Any]:
    from spaql.analysis.style import COLOURS

    runs = group.runs
    series: dict[str, Any] = {
        "label": group.label,
        "colour": COLOURS[group.algorithm],
        "dashes": group.dashes,
        "agents": len(runs),
    }
    if not CARDS[group.algorithm].learns:  # drawn as a level
        fresh = [run.fresh for run in runs]
        half = half_width(fresh)
        series["level"] = [one_plain(fmean(fresh)), None if half is None else one_plain(half, 3)]
    else:
        # an iteration of a rival is a batch of samples, not an episode
        axes = AXES[1:] if CARDS[group.algorithm].rival else AXES
        series["curves"] = {axis: curve for axis in axes if (curve := _curve(runs, axis)) is not None}
        series["lines"] = _lines(runs[:MOST_LINES], axes)
    if group.paper:
        series["paper"] = {name: list(pair) for name, pair in group.paper.items()}
    return series


def places(run: Run, axis: str) -> Array:
    """Where the points of a run's curve lie on an axis."""
    if axis == "iterations":
        return np.arange(1, len(run.best_seen_curve) + 1)
    return run.train_samples_curve + (run.eval_samples_curve if axis == "all" else 0)


def _metrics(runs: Sequence[Run]) -> list[str]:
    return [name for name in METRICS if all(len(getattr(run, f"{name}_curve")) for run in runs)]


def _curve(runs: Sequence[Run], axis: str) -> dict[str, Any] | None:
    """Means over all agents and their intervals, from where all agents have a value to where the first agent ends."""
    at = [places(run, axis) for run in runs]
    first, last = max(int(x[0]) for x in at), min(int(x[-1]) for x in at)
    if first > last:
        return None
    same = all(np.array_equal(x, at[0]) for x in at)
    grid = at[0][spaced(0, len(at[0]) - 1)] if same else spaced(first, last)
    curve: dict[str, Any] = {"x": plain(grid, 9)}
    for name in _metrics(runs):
        values = np.array([_read(x, getattr(run, f"{name}_curve"), grid) for run, x in zip(runs, at, strict=True)])
        mean = values.mean(axis=0)
        curve[name] = [plain(mean.round() if name == "arms" else mean), _half(values)]
    return curve


def _read(x: Array, y: Array, grid: Array) -> Array:
    """Values between the points of the run, as in the figures. A batch of TRPO in which no episode ended has none."""
    known = np.isfinite(y)
    return np.interp(grid, x[known], y[known], left=np.nan) if known.any() else np.full(len(grid), np.nan)


def _half(values: Array) -> list[float | int | None] | None:
    from spaql.analysis.style import mean_and_half

    half = mean_and_half(values)[1]
    return None if half is None else plain(half, 4)


def spaced(first: int, last: int, most: int = MOST_POINTS) -> Array:
    """Whole numbers that lie close enough on a linear and on a logarithmic axis."""
    even = np.linspace(first, last, most * 3 // 5)
    shift = int(first == 0)  # indices from 0: the point of an index lies one further on the axis
    dense = np.geomspace(first + shift, last + shift, most - len(even)) - shift
    return np.unique(np.concatenate([even, dense]).round().astype(int))


def _lines(runs: Sequence[Run], axes: Sequence[str]) -> dict[str, Any]:
    """Every agent by itself.

    A value that is the same for all agents stands once; an evaluation that is equal to best seen is left out.
    """
    length = min(len(run.best_seen_curve) for run in runs)
    chosen = spaced(0, length - 1, MOST_LINE_POINTS)
    lines: dict[str, Any] = {}
    for axis in axes:
        at = [places(run, axis)[chosen] for run in runs]
        same = all(np.array_equal(x, at[0]) for x in at)
        lines[axis] = [plain(at[0], 9)] if same else [plain(x, 9) for x in at]
    for name in _metrics(runs):
        if name == "evaluation" and all(
            np.array_equal(run.evaluation_curve, run.best_seen_curve, equal_nan=True) for run in runs
        ):
            continue
        lines[name] = [plain(getattr(run, f"{name}_curve")[chosen], 5) for run in runs]
    return lines
