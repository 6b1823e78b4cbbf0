"""What laws put out: which kinds of laws an action space allows, and where their scores are held."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Continuous, Finite
from spaql.plants.chart import HUGE
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import LEAF, NODE, Tree


def make_laws(gains: Array, offsets: Array, actions: Continuous | Finite, kind: int) -> LeafLaws:
    """Checked laws for an action space: compiled code will trust them."""
    if kind not in (CLIP, ORDERED, SCORES, THRESHOLD) or (kind == CLIP) == bool(actions.values):
        raise SpaqlError("the kind of the laws does not fit the actions")
    values = np.array(actions.values, float)
    outputs = len(values) if kind == SCORES else actions.axes
    gains, offsets = np.ascontiguousarray(gains, float), np.ascontiguousarray(offsets, float)
    if gains.ndim != 3 or offsets.shape != gains.shape[:2] or gains.shape[1] != outputs:
        raise SpaqlError(f"laws need {outputs} rows of gains and offsets per node")
    if not np.isfinite(gains).all() or not np.isfinite(offsets).all():
        raise SpaqlError("gains and offsets of laws must be finite")
    low, high = ranges_of(actions, kind)
    return LeafLaws(gains, offsets, low, high, values, kind)


def leaf(actions: Continuous | Finite, gains: Array, offsets: Array, kind: int) -> Tree:
    """The tree of one law: gains (outputs, variables) and offsets (outputs,) of a kind of trees/laws.py."""
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    laws = make_laws(gains[None], offsets[None], actions, kind)
    return Tree(nodes, np.zeros((1, actions.axes)), np.zeros((1, gains.shape[1])), laws)


def ranges_of(actions: Continuous | Finite, kind: int) -> tuple[Array, Array]:
    """Where the scores of laws are held: by the range of a continuous action, by the number of finite ones."""
    if not actions.values:
        return actions.bounds
    if kind == ORDERED:
        return np.zeros(1), np.array([len(actions.values) - 1.0])
    outputs = len(actions.values) if kind == SCORES else 1
    return np.full(outputs, -np.inf), np.full(outputs, np.inf)


def kinds_of(actions: Continuous | Finite) -> tuple[int, ...]:
    """The kinds of laws that an action space allows.

    Whether finite actions have an order is not known: where there are more than two, all kinds are tried.
    """
    if not actions.values:
        return (CLIP,)
    return (THRESHOLD,) if len(actions.values) <= 2 else (ORDERED, THRESHOLD, SCORES)


# -- what an action may be: what a controller says is held within the range, or must be one of the set -----------------

NEAR = 1e-9  # of its size, or of one: so far beside an action of a finite set is taken as rounding


class Allowed(NamedTuple):
    """What an action may be."""

    low: Array  # (axes,)
    high: Array  # (axes,)
    values: Array  # the finite actions; empty where they are continuous


def allowed_by(actions: Continuous | Finite) -> Allowed:
    return Allowed(*actions.bounds, np.array(actions.values, float))


@inlined
def settled(allowed: Allowed, axis: int, value: float) -> float:
    """The action that is applied: held within the range, or the one of the set. NaN: there is none."""
    if not abs(value) <= HUGE:
        return np.nan
    if len(allowed.values) == 0:
        held: float = min(max(value, allowed.low[axis]), allowed.high[axis])
        return held
    for j in range(len(allowed.values)):
        known: float = allowed.values[j]
        if abs(value - known) <= NEAR * max(1.0, abs(known)):
            return known
    return np.nan


@kernel
def settle(allowed: Allowed, actions: Array) -> int:
    """`settled` for actions (n, axes), in place, up to the first row in which one is not allowed: that row, or -1."""
    for i in range(len(actions)):
        for axis in range(actions.shape[1]):
            value = settled(allowed, axis, actions[i, axis])
            if np.isnan(value):
                return i
            actions[i, axis] = value
    return -1
