"""What laws come down to: constants, and actions from a value of a weighted sum on. Words and exports ask for these."""

import numpy as np

from spaql.arrays import Array
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, Laws
from spaql.trees.tree import LEAF, Tree


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


def constant_of(laws: Laws, leaf: int, axis: int = 0) -> float | None:
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


def neutral_of(laws: Laws, axis: int = 0) -> float:
    """What an export applies where the score is not a number: zero, or the end of the range nearest to it."""
    return min(max(0.0, float(laws.low[axis])), float(laws.high[axis]))


def steps_of(laws: Laws, leaf: int) -> list[tuple[float, float]]:
    """Of thresholds and ordered actions: (cut, action from this value of the weighted sum on), the highest first.

    Below all cuts it is the first of the values. The sum has no offset: that is in the cuts.
    """
    offset = float(laws.offsets[leaf, 0])
    if laws.kind == THRESHOLD:
        return [(0.0 - offset, float(laws.values[-1]))]
    assert laws.kind == ORDERED
    return [(k - 0.5 - offset, float(laws.values[k])) for k in range(len(laws.values) - 1, 0, -1)]
