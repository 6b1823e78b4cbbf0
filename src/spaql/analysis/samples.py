"""Learning curves over samples instead of iterations: agents use different numbers of samples per episode."""

from collections.abc import Sequence

import numpy as np

from spaql.arrays import Array
from spaql.experiments.rows import Run


def samples_of(run: Run, count_evaluation: bool) -> Array:
    """Samples used up to each point of the run's curve: the paper's counting, or all."""
    return run.train_samples_curve + (run.eval_samples_curve if count_evaluation else 0)


def curves_over(runs: Sequence[Run], grid: Array, count_evaluation: bool = False) -> Array:
    """What each agent had reached by each number of samples, (runs, grid). NaN before its first evaluation, and after its last sample."""
    values = np.full((len(runs), len(grid)), np.nan)
    for row, run in zip(values, runs, strict=True):
        at = samples_of(run, count_evaluation)
        index = np.searchsorted(at, grid, side="right") - 1
        inside = (index >= 0) & (grid <= at[-1])
        row[inside] = run.best_seen_curve[index[inside]]
    return values


def overtaken_at(runs: Sequence[Run], rivals: Sequence[Run], step: int = 200, count_evaluation: bool = False) -> int | None:
    """The number of samples from which on the rivals' mean stays ahead; 0 if it always is, None if it never is for good."""
    last = min(int(samples_of(run, count_evaluation)[-1]) for run in [*runs, *rivals])
    first = max(int(samples_of(run, count_evaluation)[0]) for run in [*runs, *rivals])
    grid = np.arange(first, last + 1, step)
    if len(grid) == 0:
        return None
    behind = curves_over(runs, grid, count_evaluation).mean(axis=0) < curves_over(rivals, grid, count_evaluation).mean(axis=0)
    if not behind[-1]:
        return None
    ahead = np.flatnonzero(~behind)
    return 0 if len(ahead) == 0 else int(grid[ahead[-1] + 1])
