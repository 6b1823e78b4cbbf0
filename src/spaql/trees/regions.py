"""The shape of a tree: its leaves as regions, its tests as chains of if and else, and sums from the leaves up."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import LEAF, Tree, bounds_of, walk


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
    on_the_way: dict[int, tuple[tuple[int, bool], ...]] = {0: ()}
    found = []
    for node, _ in walk(tree):
        tests, feature = on_the_way.pop(node), int(tree.nodes["feature"][node])
        if feature == LEAF:
            found.append(LeafRegion(node, low[node], high[node], tests))
            continue
        for side in ("low", "high"):
            more = ((node, side == "high"),) if feature == tree.variables else ()
            on_the_way[int(tree.nodes[side][node])] = tests + more
    return found


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


# What laws come down to: constants, and actions from a value of a weighted sum on. Words and exports ask for these

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
