"""Units in which laws are searched for: observations in standard deviations, scores in halves of the action's range.

A tree "in units" has oblique tests only, on z = (x - middle) / deviation, and laws whose scores -1 and 1 are the ends
of the action's range. `physical` is the same tree as the plant sees it.
"""

from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.plants.problem import Problem
from spaql.policy.outputs import ranges_of
from spaql.trees.edits import oblique
from spaql.trees.laws import SCORES, THRESHOLD
from spaql.trees.tree import Tree

ROUNDING = 1e-13  # of the numbers that are added: less is not told from zero
DEAD = 1e-9  # of its size: a variable that varies less is taken as constant


@dataclass(frozen=True, eq=False)
class Units:
    """`inverse` is zero for variables that do not vary: no test and no law looks at them."""

    middle: Array  # (variables,)
    inverse: Array  # (variables,) 1 / standard deviation
    problem: Problem

    @property
    def live(self) -> Array:
        """Whether a variable varies."""
        return self.inverse > 0.0

    def of(self, states: Array) -> Array:
        """States in units."""
        z: Array = (states - self.middle) * self.inverse
        return z

    def physical(self, tree: Tree) -> Tree:
        """The tree in physical units."""
        assert tree.laws is not None
        nodes, weights = tree.nodes.copy(), tree.weights * self.inverse
        nodes["cut"] = _settled(nodes["cut"] + weights @ self.middle, self._size(nodes["cut"], weights))
        centre, half = self.scores(tree.laws.kind)
        gains = tree.laws.gains * self.inverse
        offsets = centre + half * (tree.laws.offsets - gains @ self.middle)
        offsets = _settled(offsets, np.abs(centre) + half * self._size(tree.laws.offsets, gains))
        leaf = (tree.nodes["feature"] < 0)[:, None]
        laws = tree.laws._replace(gains=gains * half[:, None], offsets=np.where(leaf, offsets, 0.0))
        return Tree(nodes, tree.actions, weights, laws)

    def _size(self, constant: Array, factors: Array) -> Array:
        """Of the terms whose sum is the constant part of an affine function in physical units."""
        size: Array = np.abs(constant) + np.abs(factors) @ np.abs(self.middle)
        return size

    def in_units(self, tree: Tree) -> Tree:
        """The tree in units that has `tree` as its physical form, as far as variables vary."""
        assert tree.laws is not None
        tree = oblique(tree)
        assert tree.laws is not None
        deviation = np.divide(1.0, self.inverse, out=np.zeros_like(self.inverse), where=self.live)
        nodes = tree.nodes.copy()
        nodes["cut"] -= tree.weights @ self.middle
        centre, half = self.scores(tree.laws.kind)
        gains = tree.laws.gains / half[:, None]
        leaf = (tree.nodes["feature"] < 0)[:, None]
        offsets = np.where(leaf, (tree.laws.offsets - centre) / half + gains @ self.middle, 0.0)
        laws = tree.laws._replace(gains=gains * deviation, offsets=offsets)
        return Tree(nodes, tree.actions, tree.weights * deviation, laws)

    def scores(self, kind: int) -> tuple[Array, Array]:
        """The middle and half the width of the range of each score; 0 and 1 where scores have no range."""
        low, high = ranges_of(self.problem.actions, kind)
        if kind in (SCORES, THRESHOLD):
            return np.zeros(len(low)), np.ones(len(low))
        return (low + high) / 2, (high - low) / 2


def _settled(sums: Array, sizes: Array) -> Array:
    """Exactly zero where only rounding is left of numbers of these sizes, which a reader would take for a number."""
    return np.where(np.abs(sums) <= ROUNDING * sizes, 0.0, sums)


def declared_units(problem: Problem) -> Units:
    """Units from the declared bounds, before anything was seen."""
    middle = np.array([axis.centre if axis.slope is not None else (axis.low + axis.high) / 2 for axis in problem.state])
    width = [1 / axis.slope if axis.slope is not None else (axis.high - axis.low) / 4 for axis in problem.state]
    return Units(middle, np.array([1.0 / one if one > 0 else 0.0 for one in width]), problem)


def measured_units(problem: Problem, states: Array, least: Array | float = 0.0) -> Units:
    """Units from states that were visited; `least`: the deviation of each variable below which it does not vary."""
    middle, deviation = states.mean(axis=0), states.std(axis=0)
    alive = deviation > np.maximum(DEAD * np.maximum(np.abs(middle), 1e-6), least)
    return Units(middle, np.where(alive, 1.0 / np.where(alive, deviation, 1.0), 0.0), problem)
