"""Learning a tree from its own alternatives: policy iteration with rollouts.

At moments of the closed loop every action is tried for a few steps, then the present tree goes on. What each action costs there
teaches the next tree; where that one strays, the next lessons are taken.
"""

import numpy as np

from spaql.arrays import Array
from spaql.explain.arena import Moments
from spaql.explain.choices import Actions, Cuts
from spaql.explain.judging import Judge, Scored
from spaql.explain.regret import taught

ROUNDS = 10
REMEMBERED = 6  # rounds whose moments are taught again
PER_ROUND = 0.01  # of the budget
MOST_SPENT = 0.15  # of the budget, in all rounds
FEWEST, MOST = 40, 2000  # moments per round
EXTREME = 0.95  # quantile of the costs above which they are cut: a single lost episode must not outweigh everything else
HOLD = 5  # steps for which an action is tried: a single one hardly matters
TOLERANCE = 0.3  # by which a teacher may be worse than the best: to follow the latest is faster, but may lead astray


def teach(judge: Judge, begin: Scored, leaves: int, actions: Actions, cuts: Cuts, rng: np.random.Generator) -> list[Scored]:
    """All trees made on the way, in order, each taught by the one before, or by the best if that one is much worse."""
    best, latest, made = begin, begin, [begin]
    memory: list[Moments] = []
    before = judge.arena.steps
    judge.score(begin.tree)
    each = (judge.arena.steps - before) / judge.arena.starts * (len(actions.tried) + 1) / 2  # steps to go on from a moment, about
    count = int(np.clip(PER_ROUND * judge.budget / (REMEMBERED * each), FEWEST, MOST))
    for _ in range(ROUNDS):
        if judge.spent or judge.arena.steps - before > MOST_SPENT * judge.budget:
            break
        memory = [*memory[1 - REMEMBERED :], judge.arena.moments(latest.tree, count, int(rng.integers(2**62)))]
        moments = together(memory)
        teacher = latest if latest.mean >= best.mean - TOLERANCE * abs(best.mean) else best
        futures = judge.arena.futures(teacher.tree, moments, actions.tried, HOLD)[:, :-1]
        latest = judge.score(taught(moments.states, costs_of(futures), actions.tried, leaves, cuts.scale, cuts.oblique))
        made.append(latest)
        if latest.mean > best.mean:
            best = latest
    return made


def together(moments: list[Moments]) -> Moments:
    memory = tuple(np.concatenate(parts) for parts in zip(*(one.memory for one in moments), strict=True))
    return Moments(np.concatenate([one.states for one in moments]), memory)


def costs_of(futures: Array) -> Array:
    """What each action loses against the best."""
    costs: Array = futures.max(axis=1, keepdims=True) - futures
    cut: Array = np.minimum(costs, np.quantile(costs.max(axis=1), EXTREME))
    return cut
