"""Atlas and everybody it is compared with on a problem, over the same samples: the numbers behind its figures and
tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.learners.registry import CARDS, learners, rivals
from spaql.runs.rows import Run
from spaql.studies.atlas.plan import CONTESTS
from spaql.studies.parts import Results

ENTRANTS = [
    *(card.name for card in learners() if card.model_based),
    *(card.name for card in sorted(rivals(), key=lambda card: card.in_paper)),  # first what a user would pick today
    *(card.name for card in reversed(learners()) if card.keeps_best),
]
TRPO_POINTS, TRPO_WINDOW = 40, 0.12


@dataclass(frozen=True, eq=False)
class Line:
    """The agents of one algorithm at its checkpoints: one row per agent. A tree that was not made is not a number."""

    algorithm: str
    nominal: tuple[int, ...]  # samples as planned
    samples: Array  # samples used, evaluation counted: the mean over the agents
    returns: Array
    seconds: Array
    tree_leaves: Array
    tree_returns: Array
    tree_seconds: Array
    fresh: bool = True  # TRPO's curve is the return of the episodes it has learned from; the rest are fresh episodes


def contest_of(results: Results, problem: str) -> list[Line]:
    """Everybody with runs on the problem; nobody without runs of Atlas and its contest."""
    runs = results.runs("atlas", problem)
    if not runs:
        return []
    runs = [*runs, *results.runs("rivals", problem)]
    made = [line_of_runs(problem, name, [run for run in runs if run.algorithm == name]) for name in ENTRANTS]
    made.append(_trpo(results.runs("trpo", problem)))
    return sorted((line for line in made if line is not None), key=lambda line: ENTRANTS.index(line.algorithm))


def line_of_runs(problem: str, algorithm: str, runs: Sequence[Run]) -> Line | None:
    if not runs:
        return None
    contest = CONTESTS[problem]
    planned = contest.atlas if CARDS[algorithm].model_based else contest.rivals.get(algorithm, contest.spaql)
    length = min(len(run.checkpoints) for run in runs)
    names = ("checkpoints", "checkpoint_returns", "cpu_curve", "tree_leaves", "tree_returns", "tree_cpu_curve")
    samples, *rest = (np.array([getattr(run, name)[:length] for run in runs], float) for name in names)
    returns, seconds, *trees = rest
    return Line(algorithm, planned[:length], samples.mean(axis=0), returns, seconds, trees[0], trees[1], trees[2])


def _trpo(runs: Sequence[Run]) -> Line | None:
    """As published: returns of training episodes, and beside them the fresh returns of the end.

    Seconds are those of the clock.
    """
    if not runs:
        return None
    samples = runs[0].train_samples_curve
    grid = np.geomspace(samples[0], samples[-1], TRPO_POINTS)
    # The batches of all agents meet similar start states at the same time: single ones go up and down together, which
    # no interval shows
    near = [np.abs(np.log(samples / x)) <= max(TRPO_WINDOW, np.abs(np.log(samples / x)).min()) for x in grid]
    curves = np.array([[np.nanmean(run.evaluation_curve[chosen]) for chosen in near] for run in runs])
    returns = np.concatenate([curves, np.array([[run.fresh] for run in runs])], axis=1)
    at = np.append(grid, samples[-1])
    seconds = np.array([run.seconds * at / run.train_samples for run in runs])
    nothing = np.full(returns.shape, np.nan)
    return Line(
        "TRPO", tuple(at.astype(int).tolist()), at, returns, seconds, 0 * nothing, nothing, nothing, fresh=False
    )
