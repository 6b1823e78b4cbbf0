"""From a law that a search in a slow simulator has found to one that people read: tidied, and confirmed."""

import contextlib
from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.laws.environments import Rollout
from spaql.laws.thrift import Measure, Thrift, mean_steps, rounded_tree, same
from spaql.laws.trials import Spent, Trials
from spaql.laws.units import Units
from spaql.learners.law_frontier import Entry
from spaql.learners.laws import Laws
from spaql.streams import LAWS_CONFIRMED
from spaql.trees.tree import Tree

TOLERANCE = 0.0005  # of the way from the best constant action to the best law
# parts of the samples
CONFIRMING = 0.09  # of up to four laws, each
TIDYING = 0.6
DIGITS = (2, 3)  # where tidying was too much
MOST_CONFIRMED = 100  # episodes


@dataclass(frozen=True, eq=False)
class Candidate:
    """A law, physical, with its episodes of the choice."""

    tree: Tree
    rollouts: list[Rollout]

    @property
    def returns(self) -> Array:
        return np.array([one.total for one in self.rollouts])

    @property
    def mean(self) -> float:
        return float(self.returns.mean())


def adopt(agent: Laws, trials: Trials, found: Candidate, stage: int, budget: float) -> None:
    """Make a law readable and confirm it on other episodes; what was tidied too much is only rounded.

    It takes the place of a law that is no larger only if it is better on the same episodes by more than their noise.
    """
    state, steps = agent.state, mean_steps(found.rollouts)
    best = max(found.mean, *(entry.mean for entry in state.frontier.tidy.values()))
    tolerance = TOLERANCE * max(best - state.floor, 0.0)
    confirm = Measure(trials, agent.seed, LAWS_CONFIRMED, max(2, min(MOST_CONFIRMED, int(CONFIRMING * budget / steps))))
    units = Units(state.middle, state.inverse, agent.problem)
    held = [entry for size, entry in state.frontier.tidy.items() if size <= found.tree.n_leaves]
    rival = max(held, key=lambda entry: entry.mean)
    new = rival.tree is not found.tree
    with contextlib.suppress(Spent):
        against = confirm(rival.tree) if new else None
        before = result = confirm(found.tree)
        tree = found.tree
        if against is not None and not before.better(against):
            return
        _put(agent, tree, result.mean)
        trials.limit = trials.samples + int(TIDYING * budget)
        tidy, _ = Thrift(trials, tree, tolerance, agent.seed, stage, TIDYING * budget, steps, units).run()
        trials.limit = None
        for simple in (tidy, *(rounded_tree(tree, digits) for digits in DIGITS)):
            after = before if same(simple, tree) else confirm(simple)
            if after.no_worse(before, 2 * tolerance) and (against is None or after.better(against)):
                _put(agent, simple, after.mean, instead=tree)
                return


def _put(agent: Laws, tree: Tree, mean: float, instead: Tree | None = None) -> None:
    """Into the frontier; `instead` of what it was made from."""
    tidy = agent.state.frontier.tidy
    for size in [size for size, entry in tidy.items() if entry.tree is instead]:
        del tidy[size]
    tidy[tree.n_leaves] = Entry(tree, mean)
