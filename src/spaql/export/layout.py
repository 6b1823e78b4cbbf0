"""Where the boxes of a tree go.

Every subtree as close to its neighbour as their outlines allow, parents in the middle above.
"""

from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.trees.tree import LEAF, Tree, walk


@dataclass(frozen=True, eq=False)
class Layout:
    """Centres by node; `x` begins at 0 at the left edge of the leftmost box."""

    x: Array
    level: Array
    width: float
    levels: int


def tidy(tree: Tree, widths: Array, gap: float) -> Layout:
    """Places boxes of the given widths, one row per depth."""
    n = len(widths)
    level, shift = np.zeros(n, np.int64), np.zeros(n)  # shift: against the parent
    # outline of the subtree of a node, against the node: left and right ends per level, deepest first, so that adding a
    # row is cheap
    left: dict[int, list[float]] = {}
    right: dict[int, list[float]] = {}
    order = walk(tree)
    for node, depth in order:
        level[node] = depth
    for node, _ in reversed(order):
        half = float(widths[node]) / 2
        if tree.nodes["feature"][node] == LEAF:
            left[node], right[node] = [-half], [half]
            continue
        a, b = int(tree.nodes["low"][node]), int(tree.nodes["high"][node])
        ra, lb = right.pop(a), left.pop(b)
        la, rb = left.pop(a), right.pop(b)
        common = min(len(ra), len(lb))
        apart = max(ra[-k] - lb[-k] for k in range(1, common + 1)) + gap
        shift[a], shift[b] = -apart / 2, apart / 2
        left[node] = _outline(la, lb, -apart / 2, apart / 2)
        right[node] = _outline(rb, ra, apart / 2, -apart / 2)
        left[node].append(-half)
        right[node].append(half)
    x = np.zeros(n)
    x[0] = -min(left[0])
    for node, _ in order:
        if tree.nodes["feature"][node] != LEAF:
            for side in ("low", "high"):
                child = tree.nodes[side][node]
                x[child] = x[node] + shift[child]
    return Layout(x, level, max(right[0]) - min(left[0]), int(level.max()) + 1)


def _outline(near: list[float], far: list[float], near_shift: float, far_shift: float) -> list[float]:
    """The outer side of two subtrees: that of the near one, and below it that of the far one if it is deeper."""
    below = far[: max(len(far) - len(near), 0)]
    return [end + far_shift for end in below] + [end + near_shift for end in near]
