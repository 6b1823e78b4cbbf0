"""What an action may be: what a controller says is held within the range, or must be one of the set."""

from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.plants.axes import Continuous, Finite
from spaql.plants.chart import HUGE

NEAR = 1e-9  # of its size, or of one: so far beside an action of a finite set is taken as rounding


class Allowed(NamedTuple):
    """What an action may be."""

    low: Array  # (axes,)
    high: Array  # (axes,)
    values: Array  # the finite actions; empty where they are continuous


def allowed_by(actions: Continuous | Finite) -> Allowed:
    return Allowed(*actions.bounds, np.array(getattr(actions, "values", ()), float))


@inlined
def settled(allowed: Allowed, axis: int, value: float) -> float:
    """The action that is applied: held within the range, or the one of the set. NaN: there is none."""
    if not abs(value) <= HUGE:
        return np.nan
    if len(allowed.values) == 0:
        held: float = min(max(value, allowed.low[axis]), allowed.high[axis])
        return held
    for j in range(len(allowed.values)):
        one: float = allowed.values[j]
        if abs(value - one) <= NEAR * max(1.0, abs(one)):
            return one
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
