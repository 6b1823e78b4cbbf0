"""Comparing trees in an arena: on a few start states first, on all of them if it is close."""

from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.compress.arena import Arena
from spaql.trees.tree import Tree

RACE = 24  # start states after which a bad candidate is given up
CLEAR = 1.0  # standard errors that count as clearly worse in a race


@dataclass(frozen=True, eq=False)
class Scored:
    """A tree and its returns from all start states of an arena."""

    tree: Tree
    returns: Array
    mean: float

    @property
    def leaves(self) -> int:
        return self.tree.n_leaves


class Judge:
    """Start states stay the same, so that trees differ by what they do and not by luck."""

    def __init__(self, arena: Arena, budget: int) -> None:
        self.arena, self.budget = arena, budget
        self.race = min(RACE, arena.starts)

    @property
    def spent(self) -> bool:
        return self.arena.steps >= self.budget

    def score(self, tree: Tree) -> Scored:
        returns = self.arena.returns(tree, 0, self.arena.starts)
        return Scored(tree, returns, float(returns.mean()))

    def challenge(self, tree: Tree, holder: Scored, slack: float = 0.0) -> Scored | None:
        """The tree with its score, if it is not worse than the holder by more than `slack`.

        Given up early where that is clear, and where none of the first episodes notices the change.
        """
        race, starts = self.race, self.arena.starts
        returns = self.arena.returns(tree, 0, race)
        if race < starts:
            lead = returns - holder.returns[:race] + slack
            mean = lead.mean()
            if mean < 0 and mean < -CLEAR * lead.std() / np.sqrt(race):
                return None
            if np.array_equal(returns, holder.returns[:race]):
                return None
            returns = np.concatenate([returns, self.arena.returns(tree, race, starts)])
        mean = float(returns.mean())
        return Scored(tree, returns, mean) if mean >= holder.mean - slack else None

    def best(self, trees: list[Tree], keep: int, first: int = RACE, second: int = 2) -> list[Scored]:
        """The best few that differ.

        All are tried on the `first` start states, `second` times as many as are kept on all.
        """
        tried, first = [], min(first, self.race)
        for tree in trees:
            tried.append((tree, self.arena.returns(tree, 0, first)))
            if self.spent:
                break
        tried.sort(key=lambda one: -one[1].mean())
        scored: dict[bytes, Scored] = {}
        for tree, begun in tried[: second * keep]:
            returns = np.concatenate([begun, self.arena.returns(tree, first, self.arena.starts)])
            scored.setdefault(returns.tobytes(), Scored(tree, returns, float(returns.mean())))
        return sorted(scored.values(), key=lambda one: -one.mean)[:keep]
