"""From a law that a search in a slow simulator has found to one that people read: tidied, and confirmed."""

import contextlib
import math

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_CONFIRMED, LAWS_REST
from spaql.laws.race import Candidate, clearly_more
from spaql.laws.search import CHOICE, FEW, FRESH, GROWN, POPULATION, SCREENED
from spaql.laws.thrift import Measure, Thrift, mean_steps, rounded_tree, same
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import Units, without_dust
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import Laws
from spaql.trees.tree import Tree

TOLERANCE = 0.0005  # of the way from the best constant action to the best law
# parts of the samples
CONFIRMING = 0.09  # of up to four laws, each
FEW_CONFIRMING = 0.35  # the same, where that would be less than so many episodes
WANTED = 30
TIDYING = 0.6
DIGITS = (2, 3)  # where tidying was too much
MOST_CONFIRMED = 100  # episodes
SURE = 2.0  # standard errors by which a law must be better than a confirmed one whose place it takes


def adopt(agent: Laws, trials: Trials, found: Candidate, stage: int, budget: float) -> bool:
    """Make a law readable and confirm it on other episodes; what was tidied too much is only rounded.

    It takes the place of a law that is no larger only if it is better on the same episodes by more than their noise.
    The episodes are new ones in every stage: a law that had luck in them has no luck next time. Whether it was adopted.
    """
    state, steps = agent.state, mean_steps(found.rollouts)
    best = max(found.mean, *(entry.mean for entry in state.frontier.tidy.values()))
    tolerance = TOLERANCE * max(best - state.floor, 0.0)
    room = max(CONFIRMING * budget, min(FEW_CONFIRMING * budget, WANTED * steps))
    count = max(2, min(MOST_CONFIRMED, int(room / steps)))
    confirm = Measure(trials, agent.seed, LAWS_CONFIRMED, count, stage * 2**32)
    units = Units(state.middle, state.inverse, agent.searched)
    held = [entry for size, entry in state.frontier.tidy.items() if size <= found.tree.n_leaves]
    rival = max(held, key=lambda entry: entry.mean)
    new, adopted = rival.tree is not found.tree, False
    with contextlib.suppress(Spent):
        against = confirm(rival.tree) if new else None
        before = confirm(found.tree)
        tree = found.tree
        if against is not None:
            if not clearly_more(before.whole, against.whole, SURE):
                return False
            _rescale(agent, against.mean - rival.mean)
        _put(agent, tree, before.whole)
        adopted = True
        tidying = min(TIDYING * budget, budget - 2 * count * steps)
        trials.limit = trials.samples + int(max(tidying, 0.0))
        tidy, _ = Thrift(trials, tree, tolerance, agent.seed, stage, tidying, steps, units).run()
        trials.limit = None
        for simple in (tidy, *(without_dust(rounded_tree(tree, digits), units) for digits in DIGITS)):
            after = before if same(simple, tree) else confirm(simple)
            if after.no_worse(before, 2 * tolerance) and (against is None or after.better(against)):
                _put(agent, simple, after.whole, instead=tree)
                break
    trials.limit = None
    _examine(agent, trials, stage)
    return adopted


def confirm_more(agent: Laws, trials: Trials, stage: int) -> None:
    """Use up what is left, to the last step: the law that is returned in more episodes, which nothing is chosen by."""
    with contextlib.suppress(Spent):
        more = trials.spend(agent.tree, agent.seed + stage, LAWS_REST)
        agent.state.confirmed = np.concatenate([agent.state.confirmed, more])


def _rescale(agent: Laws, change: float) -> None:
    """Returns of other laws as they would be in the episodes of this stage: by what the best of them has changed."""
    tidy = agent.state.frontier.tidy
    for size, entry in list(tidy.items()):
        tidy[size] = ScoredTree(entry.tree, entry.mean + change)


def _put(agent: Laws, tree: Tree, returns: Array, instead: Tree | None = None) -> None:
    """Into the frontier, with its returns in the episodes of the confirmation; `instead` of what it was made from."""
    tidy = agent.state.frontier.tidy
    for size in [size for size, entry in tidy.items() if entry.tree is instead]:
        del tidy[size]
    tidy[tree.n_leaves] = ScoredTree(tree, float(returns.mean()))
    if agent.tree is tree:
        agent.state.confirmed = returns


def _examine(agent: Laws, trials: Trials, stage: int) -> None:
    """The returns of what is returned now in the episodes in which its teacher was judged."""
    state = agent.state
    if len(state.exams) == 0:
        return
    if stage == 0:  # these are the first ones of the confirmation
        state.own = state.confirmed[: len(state.exams)]
        return
    state.own = state.own[:0]  # those of another tree say nothing
    with contextlib.suppress(Spent):
        state.own = trials.returns(agent.tree, seeds_of(agent.seed, LAWS_CONFIRMED, 0, len(state.exams)))


# -- how much of a search for trees a budget of samples allows in a slow simulator -------------------------------------

LATEST = 0.4  # of the samples that are left, for a later stage
GROWING = 0.7  # of that for the search
EFFORTS = [0.8**i for i in range(16)]


def affordable_effort(samples: float, steps: float) -> float | None:
    """The effort of a fresh search with so many samples, episodes having so many steps; None: too few for any."""
    return next((effort for effort in EFFORTS if _episodes(effort) * steps <= samples), None)


def _episodes(effort: float) -> float:
    """Episodes of a fresh search, about."""

    def count(number: float, least: int) -> int:
        return max(least, round(number * effort))

    screened = count(SCREENED, 4) * count(FEW, 1) + count(GROWN, 4) * count(2 * FEW, 1)
    population = count(POPULATION * 4 * math.e, 4)
    rounds = sum(count(a, 2) * (count(b, 1) * count(c, 2) * population + count(CHOICE, 4)) for a, b, c in FRESH)
    return screened + rounds
