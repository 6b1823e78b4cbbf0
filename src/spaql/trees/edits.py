"""Small changes of trees. None of them changes the tree it is given."""

from collections.abc import Collection
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.trees.tree import LEAF, NODE, Builder, Tree, bounds_of


def constant(variables: int, action: Any) -> Tree:
    """One leaf."""
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    return Tree(nodes, np.array([action], float), np.zeros((1, variables)))


def split(tree: Tree, leaf: int, weights: Array, cut: float, low: Array, high: Array) -> Tree:
    """A test in place of a leaf: weights .

    x >= cut, of one variable if only one weight is not zero (which then is one).
    """
    n, used = len(tree.nodes), np.flatnonzero(weights)
    plain = len(used) == 1
    nodes = np.zeros(n + 2, NODE)
    nodes[:n] = tree.nodes
    nodes["feature"][n:] = LEAF
    nodes[leaf] = (cut, used[0] if plain else tree.variables, n, n + 1)
    rows = np.concatenate([tree.weights, np.zeros((2, tree.variables))])
    rows[leaf] = 0.0 if plain else weights
    return Tree(nodes, np.concatenate([tree.actions, [low], [high]]), rows)


def without(tree: Tree, leaves: Collection[int]) -> Tree:
    """The tree in which some leaves, but not all, are given up: the other side of the test above takes over."""
    feature, low, high = (tree.nodes[name].tolist() for name in ("feature", "low", "high"))
    stands: list[int] = list(range(len(feature)))  # what stands in the place of a node; -1: nothing
    for leaf in leaves:
        stands[leaf] = -1
    for node in range(len(feature) - 1, -1, -1):  # children come after their parents
        if feature[node] != LEAF:
            below, above = stands[low[node]], stands[high[node]]
            stands[node] = node if below >= 0 and above >= 0 else max(below, above)
    kept = np.array(stands) == np.arange(len(stands))
    number, nodes = (np.cumsum(kept) - 1)[np.array(stands)], tree.nodes[kept]
    for side in ("low", "high"):
        nodes[side] = np.where(nodes["feature"] == LEAF, 0, number[nodes[side]])
    return Tree(nodes, tree.actions[kept], tree.weights[kept])


def with_action(tree: Tree, leaf: int, action: Array) -> Tree:
    actions = tree.actions.copy()
    actions[leaf] = action
    return Tree(tree.nodes, actions, tree.weights)


def with_test(tree: Tree, node: int, cut: float, weights: Array | None = None) -> Tree:
    """Another cut, and other weights in an oblique test."""
    nodes, rows = tree.nodes.copy(), tree.weights
    nodes["cut"][node] = cut
    if weights is not None:
        rows = rows.copy()
        rows[node] = weights
    return Tree(nodes, tree.actions, rows)


def simplified(tree: Tree) -> Tree:
    """The same decisions without tests that decide nothing: one side cannot be reached, or both sides do the same."""
    low, high = bounds_of(tree)
    empty = np.flatnonzero((tree.nodes["feature"] == LEAF) & (low >= high).any(axis=1)).tolist()
    return merged(without(tree, empty) if empty else tree)


def merged(tree: Tree) -> Tree:
    """Without tests whose two sides do the same."""
    feature, low, high = (tree.nodes[name].tolist() for name in ("feature", "low", "high"))
    action: list[tuple[float, ...] | None] = [None] * len(feature)  # of nodes that decide nothing
    for node in range(len(feature) - 1, -1, -1):  # children come after their parents
        if feature[node] == LEAF:
            action[node] = tuple(tree.actions[node])
        elif action[low[node]] is not None and action[low[node]] == action[high[node]]:
            action[node] = action[low[node]]
    builder = Builder(tree.variables, tree.actions.shape[1])
    children: dict[int, list[int]] = {}
    stack = [(0, -1, 0)]
    while stack:
        node, parent, side = stack.pop()
        if action[node] is not None:
            made = builder.leaf(action[node])
        else:
            made = builder.test(feature[node], float(tree.nodes["cut"][node]), tree.weights[node])
            children[made] = [0, 0]
            stack += [(high[node], made, 1), (low[node], made, 0)]
        if parent >= 0:
            children[parent][side] = made
    for made, (below, above) in children.items():
        builder.join(made, below, above)
    return builder.tree()
