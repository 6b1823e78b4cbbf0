"""Numbers that change nothing are zero before a law is confirmed: what is printed, applied and exported is one law."""

import numpy as np

from spaql.arrays import Array
from spaql.laws.units import Units
from spaql.trees.laws import CLIP, ORDERED
from spaql.trees.tree import LEAF, Tree

NEGLIGIBLE = 1e-6  # of the range of the action; of the largest term, where only the sign of a sum counts
DEVIATIONS = 10.0  # of a variable, from its mean: so far it may come


def without_dust(tree: Tree, units: Units) -> Tree:
    """The tree without coefficients, offsets and cuts that move nothing, wherever the variables may come."""
    laws = tree.laws
    assert laws is not None
    reach = reach_of(units)
    terms, offsets = np.abs(laws.gains) * reach, np.abs(laws.offsets)
    if laws.kind in (CLIP, ORDERED):
        sizes = np.broadcast_to(laws.high - laws.low, offsets.shape)
    else:  # scores count against each other
        largest = np.maximum(terms.max(axis=(1, 2)), offsets.max(axis=1))
        sizes = np.broadcast_to(largest[:, None], offsets.shape)
    gains = np.where(terms <= NEGLIGIBLE * sizes[:, :, None], 0.0, laws.gains)
    laws = laws._replace(gains=gains, offsets=np.where(offsets <= NEGLIGIBLE * sizes, 0.0, laws.offsets))
    nodes, shares = tree.nodes.copy(), np.abs(tree.weights) * reach
    plain = np.flatnonzero((nodes["feature"] != LEAF) & (nodes["feature"] < tree.variables))
    shares[plain, nodes["feature"][plain]] = reach[nodes["feature"][plain]]
    least = NEGLIGIBLE * shares.max(axis=1)
    weights = np.where(shares <= least[:, None], 0.0, tree.weights)
    nodes["cut"] = np.where(np.abs(nodes["cut"]) <= least, 0.0, nodes["cut"])
    return Tree(nodes, tree.actions, weights, laws)


def reach_of(units: Units) -> Array:
    """How far from zero each variable may come: as seen, or as declared of one that has not varied yet."""
    deviation = np.divide(1.0, units.inverse, out=np.zeros_like(units.inverse), where=units.live)
    declared = [
        max(abs(axis.low), abs(axis.high)) if axis.slope is None else abs(axis.centre) + DEVIATIONS / axis.slope
        for axis in units.problem.state
    ]
    reach: Array = np.where(units.live, np.abs(units.middle) + DEVIATIONS * deviation, np.array(declared))
    return reach
