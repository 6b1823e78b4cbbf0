"""Small changes of trees. None of them changes the tree it is given."""

import heapq
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from spaql.ground.arrays import Array
from spaql.trees.laws import LeafLaws, of_nodes
from spaql.trees.tree import LEAF, NODE, Builder, Tree, bounds_of


def constant(variables: int, action: Any, laws: LeafLaws | None = None) -> Tree:
    """One leaf."""
    return Tree(np.array([(0.0, LEAF, 0, 0)], NODE), np.array([action], float), np.zeros((1, variables)), laws)


def split(tree: Tree, leaf: int, weights: Array, cut: float, low: Array, high: Array) -> Tree:
    """A test in place of a leaf: weights . x >= cut, of one variable if only one weight, a one, is not zero."""
    nodes, rows = _parted(tree, leaf, weights, cut)
    return Tree(nodes, np.concatenate([tree.actions, [low], [high]]), rows)


Law = tuple[Array, Array]  # gains (outputs, variables) and offsets (outputs,) of one leaf


def split_law(tree: Tree, leaf: int, weights: Array, cut: float, low: Law, high: Law) -> Tree:
    """`split` for a tree of laws."""
    assert tree.laws is not None
    nodes, rows = _parted(tree, leaf, weights, cut)
    gains = np.concatenate([tree.laws.gains, [low[0]], [high[0]]])
    offsets = np.concatenate([tree.laws.offsets, [low[1]], [high[1]]])
    gains[leaf], offsets[leaf] = 0.0, 0.0
    actions = np.zeros((len(nodes), tree.actions.shape[1]))
    return Tree(nodes, actions, rows, tree.laws._replace(gains=gains, offsets=offsets))


def _parted(tree: Tree, leaf: int, weights: Array, cut: float) -> tuple[Array, Array]:
    """Nodes and weights of a tree in which a leaf has become a test."""
    n, used = len(tree.nodes), np.flatnonzero(weights)
    plain = len(used) == 1
    nodes = np.zeros(n + 2, NODE)
    nodes[:n] = tree.nodes
    nodes["feature"][n:] = LEAF
    nodes[leaf] = (cut, used[0] if plain else tree.variables, n, n + 1)
    rows = np.concatenate([tree.weights, np.zeros((2, tree.variables))])
    rows[leaf] = 0.0 if plain else weights
    return nodes, rows


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
    return Tree(nodes, tree.actions[kept], tree.weights[kept], of_nodes(tree.laws, kept))


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
    return Tree(nodes, tree.actions, rows, tree.laws)


def with_laws(tree: Tree, gains: Array, offsets: Array) -> Tree:
    """Other numbers in the laws."""
    assert tree.laws is not None
    return Tree(tree.nodes, tree.actions, tree.weights, tree.laws._replace(gains=gains, offsets=offsets))


def with_variables(tree: Tree, places: Sequence[int], variables: int) -> Tree:
    """The same tree among more variables, or in another order: variable j is now at `places[j]`."""
    nodes, weights = tree.nodes.copy(), np.zeros((len(tree.nodes), variables))
    feature, moved = nodes["feature"].copy(), np.array([*places, variables])  # the last one: an oblique test
    nodes["feature"] = np.where(feature == LEAF, LEAF, moved[feature])
    weights[:, list(places)] = tree.weights
    if tree.laws is None:
        return Tree(nodes, tree.actions, weights)
    gains = np.zeros((*tree.laws.gains.shape[:2], variables))
    gains[:, :, list(places)] = tree.laws.gains
    return Tree(nodes, tree.actions, weights, tree.laws._replace(gains=gains))


def uses(tree: Tree, first: int) -> bool:
    """Whether a tree depends on one of its variables from number `first` on."""
    plain = (tree.nodes["feature"] >= first) & (tree.nodes["feature"] < tree.variables)
    gains = False if tree.laws is None else bool(tree.laws.gains[:, :, first:].any())
    return bool(plain.any() or tree.weights[:, first:].any()) or gains


def first_variables(tree: Tree, variables: int) -> Tree:
    """The same tree among its first variables, if it depends on no other."""
    nodes = tree.nodes.copy()
    nodes["feature"][nodes["feature"] == tree.variables] = variables
    weights, laws = np.ascontiguousarray(tree.weights[:, :variables]), tree.laws
    if laws is not None:
        laws = laws._replace(gains=np.ascontiguousarray(laws.gains[:, :, :variables]))
    return Tree(nodes, tree.actions, weights, laws)


def oblique(tree: Tree) -> Tree:
    """The same tree with every test as a weighted sum, so that the search can turn it."""
    d = tree.variables
    plain = np.flatnonzero((tree.nodes["feature"] != LEAF) & (tree.nodes["feature"] < d))
    if len(plain) == 0:
        return tree
    nodes, weights = tree.nodes.copy(), tree.weights.copy()
    weights[plain, nodes["feature"][plain]] = 1.0
    nodes["feature"][plain] = d
    return Tree(nodes, tree.actions, weights, tree.laws)


def simplified(tree: Tree) -> Tree:
    """The same decisions without tests that decide nothing: one side cannot be reached, or both sides do the same."""
    low, high = bounds_of(tree)
    empty = np.flatnonzero((tree.nodes["feature"] == LEAF) & (low >= high).any(axis=1)).tolist()
    return merged(without(tree, empty) if empty else tree)


def merged(tree: Tree) -> Tree:
    """Without tests whose two sides do the same."""
    feature, low, high = (tree.nodes[name].tolist() for name in ("feature", "low", "high"))
    does: list[tuple[float, ...] | None] = [None] * len(feature)  # of nodes that decide nothing
    first = list(range(len(feature)))  # the first leaf below a node
    for node in range(len(feature) - 1, -1, -1):  # children come after their parents
        if feature[node] == LEAF:
            law = () if tree.laws is None else (*tree.laws.gains[node].ravel(), *tree.laws.offsets[node])
            does[node] = (*tree.actions[node], *law)
            continue
        first[node] = first[low[node]]
        if does[low[node]] is not None and does[low[node]] == does[high[node]]:
            does[node] = does[low[node]]
    builder = Builder(tree.variables, tree.actions.shape[1], tree.laws)
    stack: list[tuple[int, tuple[int, int] | None]] = [(0, None)]
    while stack:
        node, under = stack.pop()
        if does[node] is not None:
            builder.leaf(tree.actions[first[node]], first[node], under)
            continue
        test = builder.test(feature[node], float(tree.nodes["cut"][node]), tree.weights[node], under)
        stack += [(high[node], (test, 1)), (low[node], (test, 0))]
    return builder.tree()


# -- growing a tree best first: the part that gains most by a split is split next --------------------------------------
#
# Cells of Atlas (`learners.atlas.cells`) are grown in the same order by a compiled loop, because there are thousands of
# them per plan.

Part = TypeVar("Part")
Split = TypeVar("Split")


def best_first(
    root: Part,
    offer: Callable[[Part], tuple[float, Split] | None],
    divide: Callable[[Part, Split], tuple[Part, Part] | None],
) -> Iterator[None]:
    """Yields after every split; of equal gains, the part that was offered first is split first.

    `offer`: the gain of a part and its best split, None if it is to stay whole; `divide`: its two parts, None if the
    split does not divide it after all.
    """
    heap: list[tuple[float, int, Part, Split]] = []
    offered = itertools.count()

    def push(part: Part) -> None:
        best = offer(part)
        if best is not None:
            heapq.heappush(heap, (-best[0], next(offered), part, best[1]))

    push(root)
    while heap:
        _, _, part, split = heapq.heappop(heap)
        halves = divide(part, split)
        if halves is not None:
            for half in halves:
                push(half)
            yield
