"""The numbers of a law tree as one vector, which is what optimisers change."""

from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.plants.problem import Problem
from spaql.policy.outputs import kept, ranges_of
from spaql.trees.edits import oblique, simplified
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import LEAF, Tree

INHERITED_STEP = 0.1  # the steps of numbers that come from a good parent, as a part of the usual ones


@dataclass(frozen=True, eq=False)
class Free:
    """Which numbers of a tree may change: masks of the shapes of its arrays."""

    weights: Array  # (nodes, variables)
    cuts: Array  # (nodes,)
    gains: Array  # (nodes, outputs, variables)
    offsets: Array  # (nodes, outputs)


def all_free(tree: Tree, live: Array) -> Free:
    """All numbers that matter: none of variables that do not vary, and none of the first of competing scores."""
    assert tree.laws is not None
    leaf = tree.nodes["feature"] == LEAF
    outputs = np.ones(tree.laws.outputs, bool)
    outputs[0] = tree.laws.kind != SCORES  # scores count against the first action's, which is zero
    law = leaf[:, None] & outputs
    return Free(~leaf[:, None] & live, ~leaf, law[:, :, None] & live, law)


def numbers_of(tree: Tree, free: Free) -> Array:
    """The vector of the free numbers."""
    assert tree.laws is not None
    parts = (
        tree.weights[free.weights], tree.nodes["cut"][free.cuts],
        tree.laws.gains[free.gains], tree.laws.offsets[free.offsets],
    )  # fmt: skip
    return np.concatenate(parts)


def with_numbers(tree: Tree, free: Free, vector: Array) -> Tree:
    """The tree with other numbers."""
    assert tree.laws is not None
    nodes, weights = tree.nodes.copy(), tree.weights.copy()
    gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
    a = int(free.weights.sum())
    b = a + int(free.cuts.sum())
    c = b + int(free.gains.sum())
    weights[free.weights] = vector[:a]
    nodes["cut"][free.cuts] = vector[a:b]
    gains[free.gains] = vector[b:c]
    offsets[free.offsets] = vector[c:]
    return Tree(nodes, tree.actions, weights, tree.laws._replace(gains=gains, offsets=offsets))


def population(tree: Tree, free: Free, vectors: Array) -> Tree:
    """`with_numbers` of every row, all in the arrays of one, one after the other: rows of arrays are changed alike.

    Children are counted from each tree's own root.
    """
    assert tree.laws is not None

    def repeated(array: Array) -> Array:
        return np.tile(array, (len(vectors), *[1] * (array.ndim - 1)))

    masks = (free.weights, free.cuts, free.gains, free.offsets)
    laws = tree.laws._replace(gains=repeated(tree.laws.gains), offsets=repeated(tree.laws.offsets))
    forest = Tree(repeated(tree.nodes), repeated(tree.actions), repeated(tree.weights), laws)
    parts = np.split(vectors, np.cumsum([int(mask.sum()) for mask in masks[:-1]]), axis=1)
    return with_numbers(forest, Free(*map(repeated, masks)), np.concatenate([part.ravel() for part in parts]))


def steps_of(tree: Tree, free: Free, parent: int = 0) -> Array:
    """The standard deviation with which each number begins to move.

    `parent`: so many nodes come from a good parent, and their numbers move little at first: else the parent is
    forgotten before the new part of the tree pays. Leaves of the parent that have become tests are new.
    """
    steps = 0.3 + 0.3 * np.abs(numbers_of(tree, free))
    if parent == 0:
        return steps
    n, node = len(tree.nodes), np.arange(len(tree.nodes))
    became_test = (tree.nodes["feature"] != LEAF) & (tree.nodes["low"] >= parent)
    old = (node < parent) & ~became_test
    masks = (free.weights, free.cuts, free.gains, free.offsets)
    of_node = np.concatenate([np.broadcast_to(node.reshape(n, *[1] * (m.ndim - 1)), m.shape)[m] for m in masks])
    inherited = np.where(old[of_node], INHERITED_STEP, 1.0)
    smaller: Array = steps * inherited
    return smaller


def everything(tree: Tree) -> Free:
    """All entries of the arrays, meant or not: weights, cuts, gains, offsets, one after the other."""
    assert tree.laws is not None
    parts = (tree.weights, tree.nodes["cut"], tree.laws.gains, tree.laws.offsets)
    return Free(*(np.ones(part.shape, bool) for part in parts))


# Units in which laws are searched for: observations in standard deviations, scores in halves of the action's range
#
# A tree "in units" has oblique tests only, on z = (x - middle) / deviation, and laws whose scores -1 and 1 are the ends
# of the action's range. `physical` is the same tree as the plant sees it.

ROUNDING_SHARE = 1e-13  # of the numbers that are added: less is not told from zero
DUST_SHARE = 1e-6  # of the range of the action; of the largest term, where only the sign of a sum counts


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

    @property
    def deviation(self) -> Array:
        """Of every variable; 0 of one that does not vary."""
        return np.divide(1.0, self.inverse, out=np.zeros_like(self.inverse), where=self.live)

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
        return kept(self.problem, Tree(nodes, tree.actions, weights, laws))

    def _size(self, constant: Array, factors: Array) -> Array:
        """Of the terms whose sum is the constant part of an affine function in physical units."""
        size: Array = np.abs(constant) + np.abs(factors) @ np.abs(self.middle)
        return size

    def in_units(self, tree: Tree) -> Tree:
        """The tree in units that has `tree` as its physical form, as far as variables vary."""
        assert tree.laws is not None
        tree = oblique(tree)
        assert tree.laws is not None
        deviation, nodes = self.deviation, tree.nodes.copy()
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
    return np.where(np.abs(sums) <= ROUNDING_SHARE * sizes, 0.0, sums)


def declared_units(problem: Problem) -> Units:
    """Units from the declared bounds, before anything was seen."""
    middle = np.array([axis.centre if axis.slope is not None else (axis.low + axis.high) / 2 for axis in problem.state])
    width = [1 / axis.slope if axis.slope is not None else (axis.high - axis.low) / 4 for axis in problem.state]
    return Units(middle, np.array([1.0 / size if size > 0 else 0.0 for size in width]) * looked_at(problem), problem)


def measured_units(problem: Problem, states: Array, least: Array | float = 0.0) -> Units:
    """Units from states that were visited; `least`: the deviation of each variable below which it does not vary."""
    middle, deviation = states.mean(axis=0), states.std(axis=0)
    alive = varies(deviation, middle, least)
    return Units(middle, np.where(alive, 1.0 / np.where(alive, deviation, 1.0), 0.0) * looked_at(problem), problem)


def looked_at(problem: Problem) -> Array:
    """Whether laws may look at a variable: 1 or 0."""
    return np.array([float(not problem.looked_at or axis.name in problem.looked_at) for axis in problem.state])


def varies(deviation: Array, middle: Array, least: Array | float = 0.0) -> Array:
    """Whether variables vary by more than rounding, and by more than `least`."""
    alive: Array = deviation > np.maximum(ROUNDING * np.maximum(np.abs(middle), DUST_SHARE), least)
    return alive


# Numbers that change nothing are zero before a law is confirmed: what is printed, applied and exported is one law

MAX_DEVIATIONS = 10.0  # of a variable, from its mean: so far it may come


def without_dust(tree: Tree, units: Units) -> Tree:
    """The tree without coefficients, offsets and cuts that move nothing, wherever the variables may come."""
    laws = tree.laws
    assert laws is not None
    reach = reach_of(units)
    terms, offsets = np.abs(laws.gains) * reach, np.abs(laws.offsets)
    if laws.kind in (CLIP, ORDERED):
        sizes = np.broadcast_to(laws.high - laws.low, offsets.shape)
    else:  # scores count against each other
        largest = np.maximum(terms.max(axis=(1, 2)), offsets.max(axis=1))
        sizes = np.broadcast_to(largest[:, None], offsets.shape)
    gains = np.where(terms <= DUST_SHARE * sizes[:, :, None], 0.0, laws.gains)
    laws = laws._replace(gains=gains, offsets=np.where(offsets <= DUST_SHARE * sizes, 0.0, laws.offsets))
    nodes, shares = tree.nodes.copy(), np.abs(tree.weights) * reach
    plain = np.flatnonzero((nodes["feature"] != LEAF) & (nodes["feature"] < tree.variables))
    shares[plain, nodes["feature"][plain]] = reach[nodes["feature"][plain]]
    least = DUST_SHARE * shares.max(axis=1)
    weights = np.where(shares <= least[:, None], 0.0, tree.weights)
    nodes["cut"] = np.where(np.abs(nodes["cut"]) <= least, 0.0, nodes["cut"])
    return Tree(nodes, tree.actions, weights, laws)


def reach_of(units: Units) -> Array:
    """How far from zero each variable may come: as seen, or as declared of one that has not varied yet."""
    declared = [
        max(abs(axis.low), abs(axis.high)) if axis.slope is None else abs(axis.centre) + MAX_DEVIATIONS / axis.slope
        for axis in units.problem.state
    ]
    reach: Array = np.where(units.live, np.abs(units.middle) + MAX_DEVIATIONS * units.deviation, np.array(declared))
    return reach


# -- digits ------------------------------------------------------------------------------------------------------------

MAX_DIGITS = 3  # unless a number needs all of them


def with_digits(tree: Tree, digits: int) -> Tree:
    """All numbers with so many digits."""
    free = everything(tree)
    return with_numbers(tree, free, np.array([float(f"{x:.{digits}g}") for x in numbers_of(tree, free)]))


def plain(tree: Tree) -> Tree:
    """Tests and thresholds of one variable as such, constants within the range; negative tests are turned around."""
    nodes, weights, d = tree.nodes.copy(), tree.weights.copy(), tree.variables
    for node in range(len(nodes)):
        used = np.flatnonzero(weights[node])
        if nodes["feature"][node] == d and len(used) == 1:
            weight = weights[node, used[0]]
            nodes["feature"][node], nodes["cut"][node] = used[0], nodes["cut"][node] / weight
            if weight < 0:
                nodes["low"][node], nodes["high"][node] = nodes["high"][node], nodes["low"][node]
            weights[node] = 0.0
    laws = tree.laws
    if laws is not None and laws.kind == THRESHOLD:
        scale = np.abs(laws.gains).sum(axis=2)
        alone = ((laws.gains != 0.0).sum(axis=2) == 1) & (scale != 1.0)
        scale = np.where(alone, scale, 1.0)
        laws = laws._replace(gains=laws.gains / scale[:, :, None], offsets=laws.offsets / scale)
    if laws is not None and laws.kind == CLIP:  # a constant beyond the range is one of its ends, as it is printed
        still = (laws.gains == 0.0).all(axis=2)
        laws = laws._replace(offsets=np.where(still, np.clip(laws.offsets, laws.low, laws.high), laws.offsets))
    return Tree(nodes, tree.actions, weights, laws)


def readable(tree: Tree, units: Units) -> Tree:
    """The tree as people get it."""
    return simplified(plain(kept(units.problem, without_dust(tree, units))))


def least_first(tree: Tree, units: Units) -> Array:
    """Places of the coefficients and offsets, and of weights that tests can spare, by how much each moves its sum."""
    assert tree.laws is not None
    gains, weights = np.abs(tree.laws.gains) * units.deviation, np.abs(tree.weights) * units.deviation
    sizes = np.maximum(gains.sum(axis=2, keepdims=True), 1e-300)
    spared = weights < weights.max(axis=1, keepdims=True)
    weights = np.where(spared, weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300), np.inf)
    offsets, cuts = np.abs(tree.laws.offsets) / sizes[:, :, 0], np.full(len(weights), np.inf)
    worth = np.concatenate([weights.ravel(), cuts, (gains / sizes).ravel(), offsets.ravel()])
    live = np.flatnonzero((numbers_of(tree, everything(tree)) != 0.0) & np.isfinite(worth))
    return live[np.argsort(worth[live], kind="stable")]
