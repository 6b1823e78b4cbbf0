"""Which of a few laws is best, where episodes are dear: all run the same ones, and those go on that may be best.

A law that was found by a search has been lucky in the episodes of the search: the best of fourteen in two episodes each
says next to nothing. So these episodes are others, and more of them go to those laws that are hard to tell apart.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.laws.environments import Job, Rollout
from spaql.laws.trials import Spent, Trials
from spaql.policy.evaluation import paired
from spaql.trees.tree import Tree

FEWEST = 2  # episodes of every law
FIRST = 6  # the same, where there is room
AT_FIRST = 0.4  # of the samples for that
MOST = 100  # episodes of a law
TOLD = 6  # episodes whose differences tell their own deviation
PRIOR = 3.0  # episodes that the usual deviation counts for
APART = 2.0  # standard errors between two laws that decide between them
SURE = 1.0  # standard errors by which a law must be better than the one whose place it takes


@dataclass(frozen=True, eq=False)
class Candidate:
    """A law, physical, with its episodes."""

    tree: Tree
    rollouts: list[Rollout]

    @property
    def returns(self) -> Array:
        return np.array([one.total for one in self.rollouts])

    @property
    def mean(self) -> float:
        """Without an episode it has shown nothing."""
        return float(self.returns.mean()) if self.rollouts else -math.inf

    def better(self, other: "Candidate", sure: float = SURE) -> bool:
        """Whether it earns more in the same episodes, by more than their noise."""
        n = min(len(self.rollouts), len(other.rollouts))
        return n > 0 and clearly_more(self.returns[:n], other.returns[:n], sure)


def clearly_more(returns: Array, reference: Array, sure: float) -> bool:
    """Whether returns are higher than those of the same episodes of another law, by so many standard errors."""
    more, error = paired(returns, reference)
    return more > sure * error


def raced(trials: Trials, trees: Sequence[Tree], seeds: Callable[[int, int], Array], room: float) -> list[Candidate]:
    """The trees with the episodes that each has run, the best first; the last ones are left out where room is short.

    `seeds`: of so many episodes from a number on. `room`: samples. First a few episodes of each; then the one that is
    ahead and the one that may be better run more of them in turn, until nobody may be better.
    """
    trials.limit, horizon = None, trials.problem.horizon
    end = trials.samples + room
    runners = [Candidate(tree, []) for tree in trees[: max(2, int(room / (FEWEST * horizon)))]]

    def run(who: Sequence[Candidate], until: int) -> None:
        asked = [(one, seeds(len(one.rollouts), until - len(one.rollouts)).tolist()) for one in who]
        rollouts = iter(trials.roll_out([Job(one.tree, seed, horizon) for one, some in asked for seed in some]))
        for one, some in asked:
            one.rollouts.extend(next(rollouts) for _ in some)

    with contextlib.suppress(Spent):
        run(runners, max(FEWEST, min(FIRST, int(AT_FIRST * room / (horizon * len(runners))))))
        while (pair := _undecided(runners)) is not None:
            few, many = sorted(len(one.rollouts) for one in pair)
            until = min(MOST, max(few + 1, min(many, 2 * few) if few < many else few + few // 2))
            who = [one for one in pair if len(one.rollouts) < until]
            steps = [float(np.mean([x.steps for x in one.rollouts])) for one in who]
            until = min(until, few + int((end - trials.samples) / sum(steps)) if who else 0)
            if until <= few:
                break
            run([one for one in who if len(one.rollouts) < until], until)
    return _ranked([one for one in runners if one.rollouts])


def _ranked(runners: Sequence[Candidate]) -> list[Candidate]:
    """By what is earned at least, about: a law that was lucky in few episodes is not ahead of one that has run many."""
    doubts = {id(one): doubt for one, doubt in zip(runners, _doubts(runners), strict=True)}
    return sorted(runners, key=lambda one: doubts[id(one)] - one.mean)


def _undecided(runners: Sequence[Candidate]) -> tuple[Candidate, Candidate] | None:
    """The one ahead, and who may still be better than it: the one that would be best if it had bad luck so far."""
    doubts = {id(one): doubt for one, doubt in zip(runners, _doubts(runners), strict=True)}
    lead = _ranked(runners)[0]

    def beaten(one: Candidate) -> bool:
        if min(len(one.rollouts), len(lead.rollouts)) >= TOLD:
            return lead.better(one, APART)
        return lead.mean - one.mean > APART * math.hypot(doubts[id(one)], doubts[id(lead)])

    others = [one for one in runners if one is not lead and not beaten(one)]
    return (lead, max(others, key=lambda one: one.mean + doubts[id(one)])) if others else None


def _doubts(runners: Sequence[Candidate]) -> list[float]:
    """Standard errors; deviations that few episodes tell are drawn to the usual one."""
    usual = float(np.median([one.returns.var(ddof=1) for one in runners if len(one.rollouts) > 1] or [0.0]))
    found = []
    for one in runners:
        n = len(one.rollouts)
        squares = n * float(one.returns.var()) + PRIOR * usual
        found.append(math.sqrt(squares / (n - 1 + PRIOR) / n))
    return found
