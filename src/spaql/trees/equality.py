"""Whether two trees do the same, decided over all of space, not by sampling."""

from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import numbers, real, whole
from spaql.errors import SpaqlError
from spaql.trees.law_differences import gaps
from spaql.trees.tree import LEAF, Tree


def differences(
    a: Tree, b: Tree, most: int = 10, tolerance: float = 0.0, low: Any = None, high: Any = None
) -> list[tuple[Array, Array]]:
    """Boxes in which the two trees apply different actions, at most `most` of them: an empty list is a proof.

    Lower ends are inclusive, upper ends exclusive. `tolerance`: actions that differ by no more count as the same;
    finite actions of laws are the same or not. `low`, `high`: the range of every variable, if not all numbers are
    asked for.

    Of trees with constant actions and tests of single variables, every cell of the common refinement is visited, and
    the trees differ all over the boxes. Else each box is the smallest around a convex part of the states in which the
    trees differ, by linear programs over pairs of leaves; ends are infinite where the part is unbounded. Parts thinner
    than 1e-9, such as the planes of the tests themselves, do not count.
    """
    most, tolerance = whole("most", most, 0), real("tolerance", tolerance, 0.0)
    box = _range(a, b, low, high)
    if a.laws is not None or b.laws is not None or a.oblique or b.oblique:
        found: list[tuple[Array, Array]] = []
        for gap in gaps(a, b, tolerance, *box) if most > 0 else ():
            found.append((gap.low, gap.high))
            if len(found) == most:
                break
        return found
    return _of_cells(a, b, most, tolerance, box[0], np.where(np.isfinite(box[1]), np.nextafter(box[1], np.inf), np.inf))


def largest_difference(a: Tree, b: Tree, low: Any = None, high: Any = None) -> tuple[float, Array | None]:
    """How far the actions of two trees are apart at most, along the axis where they are furthest apart, and where.

    None: they do the same everywhere.
    """
    found = max(gaps(a, b, 0.0, *_range(a, b, low, high)), key=lambda gap: gap.by, default=None)
    return (0.0, None) if found is None else (found.by, found.state)


def _range(a: Tree, b: Tree, low: Any, high: Any) -> tuple[Array, Array]:
    if not isinstance(a, Tree) or not isinstance(b, Tree):
        raise SpaqlError("two trees are compared, such as policy.rules of two policies")
    if a.variables != b.variables or a.actions.shape[1] != b.actions.shape[1]:
        raise SpaqlError("the two trees have different variables or actions: they cannot be compared")
    d = a.variables
    ends = (
        np.full(d, -np.inf) if low is None else numbers("low", low, (d,)),
        np.full(d, np.inf) if high is None else numbers("high", high, (d,)),
    )
    if np.isnan(ends).any() or (ends[0] > ends[1]).any():
        raise SpaqlError("low must not be above high, for any variable")
    return ends


def _of_cells(a: Tree, b: Tree, most: int, tolerance: float, low: Array, high: Array) -> list[tuple[Array, Array]]:
    """Visits every cell of the common refinement of two partitions into boxes."""
    found: list[tuple[Array, Array]] = []
    stack = [(0, 0, low, high)]
    while stack and len(found) < most:
        node_a, node_b, low, high = stack.pop()
        tree, node = (a, node_a) if a.nodes["feature"][node_a] != LEAF else (b, node_b)
        feature, cut = int(tree.nodes["feature"][node]), tree.nodes["cut"][node]
        if feature == LEAF:
            if np.any(np.abs(a.actions[node_a] - b.actions[node_b]) > tolerance):
                found.append((low, high))
            continue
        for side, begin, end in (
            ("low", low[feature], min(high[feature], cut)),
            ("high", max(low[feature], cut), high[feature]),
        ):
            if begin < end:
                box = low.copy(), high.copy()
                box[0][feature], box[1][feature] = begin, end
                child = int(tree.nodes[side][node])
                stack.append((child, node_b, *box) if tree is a else (node_a, child, *box))
    return found
