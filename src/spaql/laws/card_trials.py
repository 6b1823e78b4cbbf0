"""Episodes of laws on a graphics card: the same as `Trials` runs, with the same returns, many at a time."""

from collections.abc import Callable, Sequence

import numpy as np

from spaql.compress.arena import finite
from spaql.cuda.card_rollouts import CardRollouts, Leaves, leaves_of, plant_for, returns_on_card
from spaql.ground.arrays import Array
from spaql.laws.trials import Trials, keys_of
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree, one_behind_the_other


class CardTrials(Trials):
    """`on_card` may be switched off: what is confirmed and reported comes from the CPU."""

    def __init__(self, problem: Problem, left: int | None = None, stopped: Callable[[], bool] = lambda: False) -> None:
        plant_for(problem)
        super().__init__(problem, left, stopped)
        self.on_card = True
        self.rollouts: dict[Leaves, CardRollouts] = {}

    def returns(self, tree: Tree, seeds: Array) -> Array:
        return self.returns_in(tree, 1, seeds)[0] if self.on_card else super().returns(tree, seeds)

    def returns_of(self, trees: Sequence[Tree], seeds: Array) -> Array:
        """Trees of one size and kind at a time, all together."""
        if not self.on_card:
            return super().returns_of(trees, seeds)
        kinds = [(len(tree.nodes), leaves_of(tree)) for tree in trees]
        returns = np.empty((len(trees), len(seeds)))
        for kind in dict.fromkeys(kinds):
            alike = [i for i, other in enumerate(kinds) if other == kind]
            returns[alike] = self.returns_in(one_behind_the_other([trees[i] for i in alike]), len(alike), seeds)
        return returns

    def returns_in(self, forest: Tree, trees: int, seeds: Array) -> Array:
        """(trees, seeds): `returns` of trees one behind the other, with as many nodes each."""
        self.check(trees * len(seeds) * self.problem.horizon)
        kind = leaves_of(forest)
        if kind not in self.rollouts:
            self.rollouts[kind] = CardRollouts(self.problem, forest, watched=False)
        returns, steps = returns_on_card(self.rollouts[kind], forest, trees, keys_of(seeds))
        self.count(steps)
        return finite(returns)
