"""Binary decision trees over physical observations, in flat arrays: what every policy is in the end.

A node tests one variable, `x[feature] >= cut`, or, where `feature` is the number of variables, a weighted sum of all of
them. A point on a cut goes to the high side, as in the partition. Node 0 is the root.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.errors import SpaqlError
from spaql.trees.laws import NO_LAWS, LeafLaws, apply_law, apply_laws, of_nodes

# -- from an observation to its leaf, compiled -------------------------------------------------------------------------
#
# `descend` is the plain form of the walk. Special forms of it for many observations at once stand in
# `training.tree_rollouts` (the lanes of a plant's table) and in `learners.atlas` (episodes in a learned model).

class CompiledTree(NamedTuple):
    """A decision tree as the policy of compiled episodes."""

    nodes: Array  # of NODE
    weights: Array  # (nodes, variables) of oblique tests
    actions: Array  # (nodes, axes) what is applied in each leaf; in a learned model its features, (nodes, p)
    laws: LeafLaws = NO_LAWS  # what is applied instead, where leaves are laws


@inlined
def descend(nodes: Array, weights: Array, table: Array, column: int, first_row: int, root: int = 0) -> int:
    """The leaf of the observation in a column of a table, whose first variable stands in row `first_row`."""
    here, d = root, weights.shape[1]
    while nodes[here].feature >= 0:
        feature = nodes[here].feature
        if feature < d:
            value = table[first_row + feature, column]
        else:
            value = 0.0
            for j in range(d):
                value += weights[here, j] * table[first_row + j, column]
        here = nodes[here].high if value >= nodes[here].cut else nodes[here].low
    return here


@inlined
def has_oblique(nodes: Array, weights: Array) -> bool:
    """Some test is oblique."""
    oblique = False
    for node in range(len(nodes)):
        oblique |= nodes[node].feature == weights.shape[1]
    return oblique


@kernel
def find_leaves(nodes: Array, weights: Array, observations: Array, leaves: Array) -> None:
    """The leaf of every row."""
    columns = observations.T
    for i in range(len(observations)):
        leaves[i] = descend(nodes, weights, columns, i, 0)


@kernel
def decide_row(controller: CompiledTree, observations: Array, row: int, action: Array) -> int:
    """What a tree applies at one row goes into `action`; returns the leaf.

    For loops over the steps of an environment, which call its machine code (`compiling.machine_code`) once per step.
    """
    leaf = descend(controller.nodes, controller.weights, observations.T, row, 0)
    if len(controller.laws.offsets) > 0:
        apply_law(controller.laws, leaf, observations[row], action)
    else:
        for axis in range(len(action)):
            action[axis] = controller.actions[leaf, axis]
    return leaf


NODE = np.dtype([("cut", "f8"), ("feature", "i4"), ("low", "i4"), ("high", "i4")], align=True)
LEAF = -1
PARTS = ("nodes", "actions", "weights")  # of a tree, a row per node
Way = TypeVar("Way")


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree in three arrays, and a fourth part where its leaves are laws instead of constant actions.

    `nodes` of NODE; `actions` (nodes, axes), physical, meant at leaves, zero where there are laws; `weights`
    (nodes, variables) of oblique tests, else zero.
    """

    nodes: Array
    actions: Array
    weights: Array
    laws: LeafLaws | None = None

    @property
    def variables(self) -> int:
        return int(self.weights.shape[1])

    @property
    def oblique(self) -> bool:
        return bool((self.nodes["feature"] == self.variables).any())

    def leaves(self) -> Array:
        """Nodes that are leaves, from left to right."""
        return np.array([node for node, _ in walk(self) if self.nodes["feature"][node] == LEAF], np.int64)

    @property
    def controller(self) -> CompiledTree:
        """The tree as compiled code takes it."""
        return CompiledTree(self.nodes, self.weights, self.actions, NO_LAWS if self.laws is None else self.laws)

    @property
    def n_leaves(self) -> int:
        return int((self.nodes["feature"] == LEAF).sum())

    @property
    def depth(self) -> int:
        return max(depth for _, depth in walk(self))


def make_tree(nodes: Any, actions: Any, variables: int, weights: Any = None, laws: LeafLaws | None = None) -> Tree:
    """A checked tree: compiled code will trust it."""
    nodes, actions = np.ascontiguousarray(nodes, NODE), np.ascontiguousarray(actions, float)
    n = len(nodes)
    weights = np.zeros((n, variables)) if weights is None else np.ascontiguousarray(weights, float)
    if n == 0 or actions.ndim != 2 or len(actions) != n or weights.shape != (n, variables):
        raise SpaqlError("a tree needs at least one node, and an action and a row of weights per node")
    inner = nodes["feature"] != LEAF
    if not np.all((nodes["feature"] >= LEAF) & (nodes["feature"] <= variables)):
        raise SpaqlError("a node of the tree tests a variable that does not exist")
    children = np.sort(np.concatenate([nodes["low"][inner], nodes["high"][inner]]))
    parents = np.flatnonzero(inner)
    ahead = np.all(nodes["low"][inner] > parents) and np.all(nodes["high"][inner] > parents)  # so no cycle
    if not ahead or not np.array_equal(children, np.arange(1, n)):
        raise SpaqlError(
            "the nodes do not form a tree: every node but the first must be the child of one node before it"
        )
    if not all(np.isfinite(part).all() for part in (nodes["cut"][inner], actions[~inner], weights)):
        raise SpaqlError("cuts, actions and weights of a tree must be finite")
    if laws is not None and laws.gains.shape[::2] != (n, variables):
        raise SpaqlError("laws need a row of gains per node and variable")
    return Tree(nodes, actions, weights, laws)


def walk(tree: Tree) -> list[tuple[int, int]]:
    """(node, depth) of all nodes, each before its children, the low side first."""
    order, stack = [], [(0, 0)]
    while stack:
        node, depth = stack.pop()
        order.append((node, depth))
        if tree.nodes["feature"][node] != LEAF:
            stack += [(int(tree.nodes["high"][node]), depth + 1), (int(tree.nodes["low"][node]), depth + 1)]
    return order


def carried(tree: Tree, first: Way, beyond: Callable[[Way, int, bool], Way]) -> Iterator[tuple[int, Way]]:
    """All nodes in the order of `walk`, each with what was collected on the way to it.

    `beyond(way, node, high)`: what is collected on one side of a test.
    """
    ways = {0: first}
    for node, _ in walk(tree):
        way = ways.pop(node)
        yield node, way
        if tree.nodes["feature"][node] != LEAF:
            for side in ("low", "high"):
                ways[int(tree.nodes[side][node])] = beyond(way, node, side == "high")


def of_one_kind(trees: Sequence[Tree]) -> list[list[int]]:
    """Which of the trees, by their place, can stand in one forest: they have one size and one kind of laws."""
    kinds = [(len(tree.nodes), tree.laws and tree.laws.kind) for tree in trees]
    return [[i for i, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(kinds)]


def one_behind_the_other(trees: Sequence[Tree]) -> Tree:
    """Trees with as many nodes each, and laws of one kind, in the arrays of one; children as in each tree alone."""
    laws = [tree.laws for tree in trees if tree.laws is not None]
    joined = laws[0]._replace(
        gains=np.concatenate([law.gains for law in laws]), offsets=np.concatenate([law.offsets for law in laws])
    ) if laws else None  # fmt: skip
    nodes, actions, weights = (np.concatenate([getattr(tree, part) for tree in trees]) for part in PARTS)
    return Tree(nodes, actions, weights, joined)


def bounds_of(tree: Tree) -> tuple[Array, Array]:
    """For every node the smallest box that contains its region: lower ends (inclusive) and upper ends (exclusive).

    Oblique tests do not narrow the box.
    """
    n, d = len(tree.nodes), tree.variables
    low, high = np.full((n, d), -np.inf), np.full((n, d), np.inf)
    for node, _ in walk(tree):
        feature, cut = int(tree.nodes["feature"][node]), tree.nodes["cut"][node]
        if feature == LEAF:
            continue
        for child, bound, better in ((tree.nodes["low"][node], high, min), (tree.nodes["high"][node], low, max)):
            low[child], high[child] = low[node], high[node]
            if feature < d:
                bound[child, feature] = better(bound[child, feature], cut)
    return low, high


def path_to(tree: Tree, leaf: int) -> list[tuple[int, bool]]:
    """The tests on the way to a node: (node, went high)."""
    inner = np.flatnonzero(tree.nodes["feature"] != LEAF)
    parent = {int(tree.nodes[side][node]): (int(node), side == "high") for node in inner for side in ("low", "high")}
    path: list[tuple[int, bool]] = []
    while leaf != 0:
        node, high = parent[leaf]
        path.append((node, high))
        leaf = node
    return path[::-1]


def leaf_of(tree: Tree, observations: Array) -> Array:
    """The leaf of every observation (n, variables)."""
    leaves = np.empty(len(observations), np.int64)
    find_leaves(tree.nodes, tree.weights, np.ascontiguousarray(observations, float), leaves)
    return leaves


def decide(tree: Tree, observations: Array) -> Array:
    """What the tree applies at every observation (n, variables), physical: (n, axes)."""
    leaf = leaf_of(tree, observations)
    actions: Array = tree.actions[leaf]
    if tree.laws is not None:
        apply_laws(tree.laws, leaf, np.ascontiguousarray(observations, float), actions)
    return actions


class Builder:
    """Grows a tree node by node, parents before children. Leaves may take the laws of another tree's leaves.

    A node is told where it stands: `under` a test, on its low (0) or high (1) side; or tests are joined later.
    """

    def __init__(self, variables: int, axes: int, laws: LeafLaws | None = None) -> None:
        self.variables, self.axes, self.laws = variables, axes, laws
        self.taken: list[int] = []  # by node: whose row of the laws it has; of a test any
        self.nodes: list[list[Any]] = []
        self.actions: list[Any] = []
        self.weights: list[Any] = []

    def leaf(self, action: Any, taken: int = 0, under: tuple[int, int] | None = None) -> int:
        """A leaf with an action, or with the law of node `taken`."""
        return self._added([0.0, LEAF, 0, 0], np.broadcast_to(action, (self.axes,)), None, taken, under)

    def test(self, feature: int, cut: float, weights: Any = None, under: tuple[int, int] | None = None) -> int:
        """A test whose children come later."""
        return self._added([cut, feature, 0, 0], np.zeros(self.axes), weights, 0, under)

    def _added(self, node: list[Any], action: Any, weights: Any, taken: int, under: tuple[int, int] | None) -> int:
        if under is not None:
            self.nodes[under[0]][2 + under[1]] = len(self.nodes)
        self.nodes.append(node)
        self.actions.append(action)
        self.weights.append(np.zeros(self.variables) if weights is None else weights)
        self.taken.append(taken)
        return len(self.nodes) - 1

    def join(self, parent: int, low: int, high: int) -> None:
        self.nodes[parent][2:] = low, high

    def tree(self) -> Tree:
        nodes = np.array([tuple(node) for node in self.nodes], NODE)
        laws = of_nodes(self.laws, np.array(self.taken))
        if laws is not None:
            laws.gains[nodes["feature"] != LEAF], laws.offsets[nodes["feature"] != LEAF] = 0.0, 0.0
        actions, weights = np.array(self.actions, float), np.array(self.weights, float)
        return make_tree(nodes, actions, self.variables, weights, laws)
