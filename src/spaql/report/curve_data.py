"""The learning curves of the page: averaged, thinned and rounded for its script."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from spaql.analysis.paper_tables import TITLES
from spaql.analysis.tables import half_width
from spaql.arrays import Array
from spaql.experiments.paper import published
from spaql.experiments.plan import LEARNERS, MAIN, PAPER
from spaql.experiments.results import Results
from spaql.experiments.rows import Run
from spaql.report.shell import one_plain, plain

AXES = ("iterations", "train", "all")
METRICS = ("best_seen", "evaluation", "arms")
# As strokes and gaps in pixels. Figures have markers too; here the names stand beside the lines.
DASHES = {"SPAQL-TS": "", "SPAQL": "10 2.5", "AQL": "5 2.5", "TRPO": "12 2.5 2 2.5", "Random": "2 2.5"}
TUNED_DASHES = {"SPAQL-TS": "16 3", "SPAQL": "10 2.5 5 2.5", "AQL": "5 2.5 2 2.5"}
MOST_POINTS, MOST_LINE_POINTS, MOST_LINES = 200, 100, 25


@dataclass(frozen=True)
class Group:
    """Agents that differ in nothing but their seed."""

    label: str
    algorithm: str
    runs: list[Run]
    dashes: str
    told: bool = True  # whether the paper's figure is about these


def groups_of(results: Results, problem: str) -> list[Group]:
    """Everything that has been run on a problem, in the order of the tables."""
    groups = [Group(name, name, results.runs(f"main-{problem}", name), DASHES[name]) for name in LEARNERS]
    groups += [Group(f"{name}, tuned", name, results.runs(f"tuned-{problem}", name), TUNED_DASHES[name], False) for name in LEARNERS]
    low = results.random(problem, 0.0)
    groups.append(Group("Random, torque in [0, 2]", "Random", low, "1.5 5"))
    groups.append(Group("Random, whole range" if low else "Random", "Random", results.random(problem), DASHES["Random"], not low))
    groups.append(Group("TRPO", "TRPO", results.runs(f"trpo-{problem}"), DASHES["TRPO"]))
    return [group for group in groups if group.runs]


def curve_data(results: Results) -> list[dict[str, Any]]:
    """By problem; only problems with something that learns."""
    return [
        {"name": problem, "title": TITLES[problem], "series": [_series(problem, group) for group in groups_of(results, problem)]}
        for problem in MAIN
        if results.main(problem)
    ]


def _series(problem: str, group: Group) -> dict[str, Any]:
    from spaql.analysis.style import COLOURS

    runs = group.runs
    made: dict[str, Any] = {"label": group.label, "colour": COLOURS[group.algorithm], "dashes": group.dashes, "agents": len(runs)}
    if group.algorithm == "Random":  # learns nothing: a level
        fresh = [run.fresh for run in runs]
        half = half_width(fresh)
        made["level"] = [one_plain(fmean(fresh)), None if half is None else one_plain(half, 3)]
    else:
        # an iteration of TRPO is a batch of 4000 samples, not an episode
        axes = AXES[1:] if group.algorithm == "TRPO" else AXES
        made["curves"] = {axis: curve for axis in axes if (curve := _curve(runs, axis)) is not None}
        made["lines"] = _lines(runs[:MOST_LINES], axes)
    if group.told and (group.algorithm == "Random" or runs[0].iterations == PAPER.iterations):
        told = {"best_seen": published(problem, group.algorithm), "arms": published(problem, group.algorithm, "arms")}
        made["paper"] = {name: list(pair) for name, pair in told.items() if pair is not None}
    return made


def places(run: Run, axis: str) -> Array:
    """Where the points of a run's curve lie on an axis."""
    if axis == "iterations":
        return np.arange(1, len(run.best_seen_curve) + 1)
    return run.train_samples_curve + (run.eval_samples_curve if axis == "all" else 0)


def _metrics(runs: Sequence[Run]) -> list[str]:
    return [name for name in METRICS if all(len(getattr(run, f"{name}_curve")) for run in runs)]


def _curve(runs: Sequence[Run], axis: str) -> dict[str, Any] | None:
    """Means over all agents and their intervals, from where all have a value to where the first one ends."""
    at = [places(run, axis) for run in runs]
    first, last = max(int(x[0]) for x in at), min(int(x[-1]) for x in at)
    if first > last:
        return None
    same = all(np.array_equal(x, at[0]) for x in at)
    grid = at[0][spaced(0, len(at[0]) - 1)] if same else spaced(first, last)
    made: dict[str, Any] = {"x": plain(grid, 9)}
    for name in _metrics(runs):
        values = np.array([_read(x, getattr(run, f"{name}_curve"), grid) for run, x in zip(runs, at, strict=True)])
        mean = values.mean(axis=0)
        made[name] = [plain(mean.round() if name == "arms" else mean), _half(values)]
    return made


def _read(x: Array, y: Array, grid: Array) -> Array:
    """Values between those of the run, as in the figures. A batch of TRPO in which no episode ended has none."""
    known = np.isfinite(y)
    return np.interp(grid, x[known], y[known], left=np.nan) if known.any() else np.full(len(grid), np.nan)


def _half(values: Array) -> list[float | int | None] | None:
    from spaql.analysis.style import mean_and_half

    half = mean_and_half(values)[1]
    return None if half is None else plain(half, 4)


def spaced(first: int, last: int, most: int = MOST_POINTS) -> Array:
    """Whole numbers that lie close enough on a linear and on a logarithmic axis."""
    even = np.linspace(first, last, most * 3 // 5)
    shift = int(first == 0)  # an index: its point lies one further on the axis
    dense = np.geomspace(first + shift, last + shift, most - len(even)) - shift
    return np.unique(np.concatenate([even, dense]).round().astype(int))


def _lines(runs: Sequence[Run], axes: Sequence[str]) -> dict[str, Any]:
    """Every agent by itself. What is the same for all is there once; an evaluation that is its own best seen is left out."""
    length = min(len(run.best_seen_curve) for run in runs)
    chosen = spaced(0, length - 1, MOST_LINE_POINTS)
    made: dict[str, Any] = {}
    for axis in axes:
        at = [places(run, axis)[chosen] for run in runs]
        same = all(np.array_equal(x, at[0]) for x in at)
        made[axis] = [plain(at[0], 9)] if same else [plain(x, 9) for x in at]
    for name in _metrics(runs):
        if name == "evaluation" and all(np.array_equal(run.evaluation_curve, run.best_seen_curve, equal_nan=True) for run in runs):
            continue
        made[name] = [plain(getattr(run, f"{name}_curve")[chosen], 5) for run in runs]
    return made
