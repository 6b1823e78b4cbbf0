"""The shape of a tree: its leaves as regions, its tests as chains of if and else, and sums from the leaves up."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import LEAF, Tree, bounds_of, carried, walk


@dataclass(frozen=True, eq=False)
class LeafRegion:
    """The region of a leaf: a box, and the oblique tests on the way: (node, went high).

    Lower ends are inclusive, upper ends exclusive.
    """

    leaf: int
    low: Array
    high: Array
    oblique: tuple[tuple[int, bool], ...]

    @property
    def empty(self) -> bool:
        """Whether no state can reach it, by the box alone."""
        return not bool(np.all(self.low < self.high))


def regions(tree: Tree) -> list[LeafRegion]:
    """The regions of all leaves, from left to right."""
    low, high = bounds_of(tree)
    oblique = (tree.nodes["feature"] == tree.variables).tolist()
    ways: Iterator[tuple[int, tuple[tuple[int, bool], ...]]] = carried(
        tree, (), lambda tests, node, above: (*tests, (node, above)) if oblique[node] else tests
    )
    return [LeafRegion(node, low[node], high[node], way) for node, way in ways if tree.nodes["feature"][node] == LEAF]


def branches(tree: Tree) -> Iterator[tuple[str, int, int]]:
    """The tree as a program: (what, level, node).

    `what` is "if" or "elif" (the high side follows), "else", "end", or "leaf".

    A low side that is a test again continues the chain, so that `level`, the indentation, stays small.
    """
    feature, low, high = (tree.nodes[name].tolist() for name in ("feature", "low", "high"))
    stack = [("node", 0, 0)]
    while stack:
        what, level, node = stack.pop()
        here = low[node] if what == "below" else node
        if feature[here] == LEAF:
            if what == "below":
                yield "else", level, node
                yield "leaf", level + 1, here
                yield "end", level, node
            else:
                yield "leaf", level, here
            continue
        yield ("elif" if what == "below" else "if"), level, here
        stack += [("below", level, here), ("node", level + 1, high[here])]


def deepest_level(tree: Tree) -> int:
    """The largest indentation of `branches`."""
    return max(level for _, level, _ in branches(tree))


def summed(tree: Tree, of_leaves: Array) -> Array:
    """By node: the sum over all leaves below it.

    Of the share of time, it is the share in which the state passes through the node.
    """
    total = np.where(tree.nodes["feature"] == LEAF, of_leaves, 0.0)
    for node, _ in reversed(walk(tree)):
        if tree.nodes["feature"][node] != LEAF:
            total[node] = total[tree.nodes["low"][node]] + total[tree.nodes["high"][node]]
    return total


# -- what laws come down to: constants, and actions from a value of a weighted sum on ----------------------------------


def rows_of(tree: Tree) -> Array:
    """A structured array with a row per leaf: gains and offset of every output; of a constant leaf its action."""
    laws, leaves = tree.laws, np.flatnonzero(tree.nodes["feature"] == LEAF)
    outputs = tree.actions.shape[1] if laws is None else laws.outputs
    fields = [("gains", "f8", (outputs, tree.variables)), ("offset", "f8", (outputs,))]
    rows = np.zeros(len(leaves), np.dtype(fields))
    rows["offset"] = tree.actions[leaves] if laws is None else laws.offsets[leaves]
    if laws is not None:
        rows["gains"] = laws.gains[leaves]
    return rows


def constant_of(laws: LeafLaws, leaf: int, axis: int = 0) -> float | None:
    """What a leaf applies along an axis of the action if it does not depend on the observation, else None."""
    depends = laws.gains[leaf].any() if laws.kind == SCORES else laws.gains[leaf, axis].any()
    if depends and len(laws.values) != 1:
        return None
    offsets = laws.offsets[leaf]
    if laws.kind == CLIP:
        return float(min(max(offsets[axis], laws.low[axis]), laws.high[axis]))
    if laws.kind == SCORES:
        return float(laws.values[int(offsets.argmax())])
    if laws.kind == THRESHOLD:
        return float(laws.values[-1] if offsets[0] >= 0.0 else laws.values[0])
    return float(laws.values[int(min(max(offsets[0], laws.low[0]), laws.high[0]) + 0.5)])


def neutral_of(laws: LeafLaws, axis: int = 0) -> float:
    """What an export applies where the score is not a number: zero, or the end of the range nearest to it."""
    return min(max(0.0, float(laws.low[axis])), float(laws.high[axis]))


def steps_of(laws: LeafLaws, leaf: int) -> list[tuple[float, float]]:
    """Of thresholds and ordered actions: (cut, action from this value of the weighted sum on), the highest first.

    Below all cuts it is the first of the values. The sum has no offset: that is in the cuts.
    """
    offset = float(laws.offsets[leaf, 0])
    if laws.kind == THRESHOLD:
        return [(0.0 - offset, float(laws.values[-1]))]
    assert laws.kind == ORDERED
    return [(k - 0.5 - offset, float(laws.values[k])) for k in range(len(laws.values) - 1, 0, -1)]


# -- parts of the states in which a tree does one thing, between planes ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Halfspace:
    """The weighted sum of a state is at least the cut, or, if not `high`, below it."""

    weights: Array
    cut: float
    high: bool


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of the states in which a tree does one thing: one action, or one clipped law."""

    sides: tuple[Halfspace, ...]
    gains: Array  # (outputs, variables); zero where it applies one action
    offsets: Array  # (outputs,) the action, if the gains are zero


def pieces_of(tree: Tree) -> list[Piece]:
    """Pieces that fill the states, from left to right. Finite laws are cut up by their actions."""

    def beyond(sides: tuple[Halfspace, ...], node: int, high: bool) -> tuple[Halfspace, ...]:
        feature = int(tree.nodes["feature"][node])
        weights = np.eye(tree.variables)[feature] if feature < tree.variables else tree.weights[node]
        return (*sides, Halfspace(weights, float(tree.nodes["cut"][node]), high))

    everywhere: tuple[Halfspace, ...] = ()
    ways = ((node, way) for node, way in carried(tree, everywhere, beyond) if tree.nodes["feature"][node] == LEAF)
    return [Piece(way + more, *does) for leaf, way in ways for more, does in _parts(tree, leaf)]


def _parts(tree: Tree, leaf: int) -> list[tuple[tuple[Halfspace, ...], tuple[Array, Array]]]:
    """The parts of a leaf, each with what is applied there."""
    laws, axes = tree.laws, tree.actions.shape[1]
    still = np.zeros((axes, tree.variables))
    if laws is None:
        return [((), (still, tree.actions[leaf]))]
    if laws.kind == CLIP:
        return [((), (laws.gains[leaf], laws.offsets[leaf]))]
    chosen = _best_of_scores(laws, leaf) if laws.kind == SCORES else _between_steps(laws, leaf)
    return [(sides, (still, np.array([action]))) for sides, action in chosen]


def _between_steps(laws: LeafLaws, leaf: int) -> list[tuple[tuple[Halfspace, ...], float]]:
    gains, pieces = laws.gains[leaf, 0], []
    below: tuple[Halfspace, ...] = ()
    for cut, action in steps_of(laws, leaf):
        pieces.append(((*below, Halfspace(gains, cut, True)), action))
        below = (Halfspace(gains, cut, False),)
    return [*pieces, (below, float(laws.values[0]))]


def _best_of_scores(laws: LeafLaws, leaf: int) -> list[tuple[tuple[Halfspace, ...], float]]:
    gains, offsets, pieces = laws.gains[leaf], laws.offsets[leaf], []
    for k, action in enumerate(laws.values.tolist()):
        sides = []
        for i in range(laws.outputs):
            if i < k:  # the first of equal ones wins: below it, the score of i - k must be negative
                sides.append(Halfspace(gains[i] - gains[k], float(offsets[k] - offsets[i]), False))
            elif i > k:
                sides.append(Halfspace(gains[k] - gains[i], float(offsets[i] - offsets[k]), True))
        pieces.append((tuple(sides), action))
    return pieces
