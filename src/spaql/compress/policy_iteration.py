"""Policy iteration with rollouts: a better tree from the alternatives of the present one.

At moments of the closed loop every action is tried for a few steps, then the present tree goes on. The next tree is
grown from what each action costs there; at the moments of its own closed loop the actions are tried next.
"""

import numpy as np

from spaql.arrays import Array
from spaql.compress.arena import Moments
from spaql.compress.cost_tree import cost_tree
from spaql.compress.proposals import Actions, Cuts
from spaql.compress.score import Judge, Scored

ROUNDS = 10  # trees made one from the other, at most
REMEMBERED = 6  # rounds whose moments are used again
PER_ROUND = 0.01  # of the budget
MOST_SPENT = 0.15  # of the budget, in all rounds
FEWEST = 40  # moments per round, at least
MOST = 2000  # moments per round, at most
EXTREME = (
    0.95  # quantile of the costs above which they are cut: a single lost episode must not outweigh everything else
)
HOLD = 5  # steps for which an action is tried: a single one hardly matters
TOLERANCE = 0.3  # of the best return: to go on from the latest tree is faster, unless it is worse than the best by more


def iterate(
    judge: Judge, begin: Scored, leaves: int, actions: Actions, cuts: Cuts, rng: np.random.Generator
) -> list[Scored]:
    """All trees made on the way, in order.

    Each from the one before, or from the best if the one before is much worse.
    """
    best, latest, made = begin, begin, [begin]
    memory: list[Moments] = []
    before = judge.arena.steps
    judge.score(begin.tree)
    # steps to go on from a moment, about
    each = (judge.arena.steps - before) / judge.arena.starts * (len(actions.tried) + 1) / 2
    count = int(np.clip(PER_ROUND * judge.budget / (REMEMBERED * each), FEWEST, MOST))
    for _ in range(ROUNDS):
        if judge.spent or judge.arena.steps - before > MOST_SPENT * judge.budget:
            break
        memory = [*memory[1 - REMEMBERED :], judge.arena.moments(latest.tree, count, int(rng.integers(2**62)))]
        moments = together(memory)
        present = latest if latest.mean >= best.mean - TOLERANCE * abs(best.mean) else best
        futures = judge.arena.futures(present.tree, moments, actions.tried, HOLD)[:, :-1]
        latest = judge.score(
            cost_tree(moments.states, costs_of(futures), actions.tried, leaves, cuts.scale, cuts.oblique)
        )
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
