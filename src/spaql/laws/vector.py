"""The numbers of a law tree as one vector, which is what optimisers change."""

from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.trees.laws import SCORES
from spaql.trees.tree import LEAF, Tree

INHERITED = 0.1  # the steps of numbers that come from a good parent, as a part of the usual ones


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
    inherited = np.where(old[of_node], INHERITED, 1.0)
    made: Array = steps * inherited
    return made


def everything(tree: Tree) -> Free:
    """All entries of the arrays, meant or not: weights, cuts, gains, offsets, one after the other."""
    assert tree.laws is not None
    parts = (tree.weights, tree.nodes["cut"], tree.laws.gains, tree.laws.offsets)
    return Free(*(np.ones(part.shape, bool) for part in parts))
