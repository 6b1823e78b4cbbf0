"""Whether two trees do the same, decided over all of space, not by sampling."""

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.trees.tree import LEAF, Tree


def differences(a: Tree, b: Tree, most: int = 10) -> list[tuple[Array, Array]]:
    """Boxes in which the two trees apply different actions, at most `most` of them.

    Lower ends are inclusive, upper ends exclusive.

    Visits every cell of the common refinement of the two partitions: an empty list is a proof.
    """
    if a.oblique or b.oblique:
        raise SpaqlError("only trees with axis-aligned tests can be compared exhaustively")
    found: list[tuple[Array, Array]] = []
    d = a.variables
    stack = [(0, 0, np.full(d, -np.inf), np.full(d, np.inf))]
    while stack and len(found) < most:
        node_a, node_b, low, high = stack.pop()
        tree, node = (a, node_a) if a.nodes["feature"][node_a] != LEAF else (b, node_b)
        feature, cut = int(tree.nodes["feature"][node]), tree.nodes["cut"][node]
        if feature == LEAF:
            if not np.array_equal(a.actions[node_a], b.actions[node_b]):
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
