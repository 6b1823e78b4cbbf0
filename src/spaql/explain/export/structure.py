"""The shape of a tree: as chains of if and else, and as regions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.explain.tree import LEAF, Tree, bounds_of, walk


@dataclass(frozen=True, eq=False)
class Region:
    """The region of a leaf: a box (lower ends inclusive, upper ends exclusive), and the oblique tests on the way: (node, went high)."""

    leaf: int
    low: Array
    high: Array
    oblique: tuple[tuple[int, bool], ...]


def branches(tree: Tree) -> Iterator[tuple[str, int, int]]:
    """(what, level, node) of a program that decides as the tree: "if" and "elif" (the high side follows), "else", "end", and "leaf".

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


def weighted_sum(tree: Tree, node: int, words: list[str], literal: Callable[[float], str]) -> str:
    """Summed from left to right, as the policy does. A product with a negative weight is subtracted, which is the same to the bit."""
    text = ""
    for weight, word in zip(tree.weights[node].tolist(), words, strict=True):
        if weight != 0:
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += f"{sign}{literal(abs(weight))} * {word}"
    return text or literal(0.0)


def regions(tree: Tree) -> list[Region]:
    """The regions of all leaves that some state can reach, from left to right."""
    low, high = bounds_of(tree)
    on_the_way: dict[int, tuple[tuple[int, bool], ...]] = {0: ()}
    found = []
    for node, _ in walk(tree):
        tests, feature = on_the_way.pop(node), int(tree.nodes["feature"][node])
        if feature == LEAF:
            if np.all(low[node] < high[node]):
                found.append(Region(node, low[node], high[node], tests))
            continue
        for side in ("low", "high"):
            more = ((node, side == "high"),) if feature == tree.variables else ()
            on_the_way[int(tree.nodes[side][node])] = tests + more
    return found
