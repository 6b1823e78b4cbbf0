"""Episodes of laws on a graphics card: the same as `Trials` runs, with the same returns, many at a time."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from spaql.compress.arena import finite
from spaql.cuda.card import opened
from spaql.cuda.card_rollouts import CardRollouts, plant_for, returns_on_card
from spaql.cuda.card_text import Leaves, leaves_of
from spaql.ground.arrays import Array
from spaql.laws.trials import Trials, keys_of
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree, one_behind_the_other


class Asked(NamedTuple):
    """Episodes of some trees, the same for each."""

    forest: Tree  # trees one behind the other, with as many nodes each
    trees: int
    seeds: Array


def trials_on(
    device: str, problem: Problem, left: int | None, stopped: Callable[[], bool], jobs: int = 1
) -> Trials:
    """Trials on a card, which is looked for at once, or on the CPU."""
    if device == "cpu":
        return Trials(problem, left, stopped, jobs)
    plant_for(problem)
    opened()
    return CardTrials(problem, left, stopped)


class CardTrials(Trials):
    """`on_card` may be switched off: what is confirmed and reported comes from the CPU."""

    def __init__(self, problem: Problem, left: int | None = None, stopped: Callable[[], bool] = lambda: False) -> None:
        plant_for(problem)
        super().__init__(problem, left, stopped)
        self.on_card = True
        self.rollouts: dict[Leaves, CardRollouts] = {}

    def returns(self, tree: Tree, seeds: Array) -> Array:
        return self.returns_in(tree, 1, seeds)[0] if self.on_card else super().returns(tree, seeds)

    def returns_in(self, forest: Tree, trees: int, seeds: Array) -> Array:
        """(trees, seeds): `returns` of trees one behind the other, with as many nodes each."""
        self.check(trees * len(seeds) * self.problem.horizon)
        returns, steps = returns_on_card(self._rollouts(forest), forest, trees, len(seeds), keys_of(seeds))
        self.count(int(steps.sum()))
        return finite(returns)

    def side_by_side(self, asked: Sequence[Asked]) -> list[tuple[Array, int]]:
        """`returns_in` of each, and its steps, which are not counted: in a launch for all that are alike."""
        kinds = [(len(forest.nodes) // trees, leaves_of(forest), len(seeds)) for forest, trees, seeds in asked]
        came: dict[int, tuple[Array, int]] = {}
        for kind in dict.fromkeys(kinds):
            alike = [i for i, other in enumerate(kinds) if other == kind]
            forest, counts = one_behind_the_other([asked[i].forest for i in alike]), [asked[i].trees for i in alike]
            keys = np.concatenate([np.tile(keys_of(asked[i].seeds), asked[i].trees) for i in alike])
            both = returns_on_card(self._rollouts(forest), forest, sum(counts), kind[2], keys)
            parts = zip(*(np.split(array, np.cumsum(counts)[:-1]) for array in both), strict=True)
            came |= {i: (finite(returns), int(steps.sum())) for i, (returns, steps) in zip(alike, parts, strict=True)}
        return [came[i] for i in range(len(asked))]

    def _rollouts(self, like: Tree) -> CardRollouts:
        kind = leaves_of(like)
        if kind not in self.rollouts:
            self.rollouts[kind] = CardRollouts(self.problem, like, watched=False)
        return self.rollouts[kind]
