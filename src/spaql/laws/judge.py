"""Who judges trees in a learned model: all in the same episodes, which no search has seen."""

import math

import numpy as np

from spaql.compress.frontier import FRESH
from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_CONFIRMED
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.law_files import ScoredTree
from spaql.plants.problem import Problem, constant_actions
from spaql.trees.edits import constant
from spaql.trees.tree import Tree

LAWS = 3  # at most; what has more leaves is a table
WORTH = 0.003  # of the scale of a return: what a leaf must bring, and tidying may cost
JUDGED_EPISODES = 200  # that choose among trees
UNREADABLE = 0.02  # of the scale: what a table must bring, since nobody can read it
MISSING = 10.0  # the scale is at most so many times what is missing, and UNREADABLE of the way


def scale_of(mean: float, floor: float, most: float) -> float:
    """What differences of a return are measured by: the way from the best constant action, where
    that is not too long.

    On a plant that falls without a controller, a thousandth of this way may be all that laws have
    still to lose.
    """
    way = max(mean - floor, 0.0)
    return min(way, MISSING * max(most - mean, 0.0) + UNREADABLE * way)


def best_constant(trials: Trials, seeds: Array) -> ScoredTree:
    """The constant action that earns most."""
    problem = trials.problem
    trees = [constant(len(problem.state), action) for action in constant_actions(problem)]
    scored = [ScoredTree(tree, float(trials.returns(tree, seeds).mean())) for tree in trees]
    return max(scored, key=lambda entry: entry.mean)


class Judge:
    """Trees on the same episodes, which no search has seen; more leaves must be worth it."""

    def __init__(self, problem: Problem, seed: int, number: int, most: float) -> None:
        self.problem, self.trials, self.floor, self.most = problem, Trials(problem), -np.inf, most
        self.seeds = seeds_of(seed, LAWS_CONFIRMED, number * 2**20, JUDGED_EPISODES)
        self.more = seeds_of(seed, LAWS_CONFIRMED, number * 2**20 + JUDGED_EPISODES, FRESH)
        self.best: Tree
        self.returns = np.full(1, -np.inf)

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def scale(self) -> float:
        """Of the return of the best tree; 0 if it is no better than a constant action."""
        return scale_of(self.mean, self.floor, self.most) if np.isfinite(self.floor) else 0.0

    def returns_of(self, tree: Tree) -> Array:
        return self.trials.returns(tree, self.seeds)

    def offer(self, tree: Tree, allowance: float = 0.0) -> bool:
        """Taken if it is better; `allowance`: even if it is worse by so much of the scale."""
        returns = self.returns_of(tree)
        more = 0.0 if not np.isfinite(self.mean) else WORTH * (tree.n_leaves > self.best.n_leaves)
        taken = bool(returns.mean() > self.mean + (more - allowance) * self.scale)
        if taken:
            self.best, self.returns = tree, returns
        return taken

    def offer_table(self, table: Tree) -> None:
        """Taken if it is surely better than laws, and worth it."""
        gained = self.trials.returns(table, self.more) - self.trials.returns(self.best, self.more)
        surely = 2.0 * gained.std() / math.sqrt(len(gained))
        if gained.mean() > max(surely, UNREADABLE * self.scale):
            self.best, self.returns = table, self.returns_of(table)
