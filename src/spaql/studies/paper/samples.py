"""Learning curves over samples instead of iterations: agents use different numbers of samples per episode."""

from collections.abc import Sequence

import numpy as np

from spaql.arrays import Array
from spaql.runs.rows import Run

POINTS = 250

Curve = tuple[Array, Array]  # samples, agents x samples (or their mean)


def curve_of(runs: Sequence[Run], evaluation: bool) -> Curve:
    """All agents on the same numbers of samples, equidistant on a logarithmic axis, as far as all of them come."""
    samples = [run.train_samples_curve + (run.eval_samples_curve if evaluation else 0) for run in runs]
    low, high = max(float(x[0]) for x in samples), min(float(x[-1]) for x in samples)
    grid = np.geomspace(low, max(high, low), POINTS)
    curves = []
    for x, run in zip(samples, runs, strict=True):
        known = np.isfinite(run.best_seen_curve)  # a batch in which no episode ended has no return
        curves.append(np.interp(grid, x[known], run.best_seen_curve[known]))
    return grid, np.array(curves)


def takeover(ours: Curve, rival: Curve) -> float | None:
    """The number of samples from which on the rival's mean is above ours for good, as far as both are known.

    Zero: wherever both are known; None: not even at the end of that range.
    """
    low, high = max(ours[0][0], rival[0][0]), min(ours[0][-1], rival[0][-1])
    if low >= high:
        return None
    grid = np.geomspace(low, high, 2000)
    ahead = np.interp(grid, *rival) > np.interp(grid, *ours)
    if not ahead[-1]:
        return None
    behind = np.flatnonzero(~ahead)
    return float(grid[behind[-1] + 1]) if len(behind) else 0.0


def overtaken_at(runs: Sequence[Run], rivals: Sequence[Run], evaluation: bool = False) -> float | None:
    """When the mean of the rivals is above that of the runs for good; see `takeover`."""
    (x, ours), (y, theirs) = curve_of(runs, evaluation), curve_of(rivals, evaluation)
    return takeover((x, ours.mean(axis=0)), (y, theirs.mean(axis=0)))
