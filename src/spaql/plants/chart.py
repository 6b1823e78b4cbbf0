"""Charts: the map between physical units and the standard cube [-1, 1]^d, as arrays the kernels read.

Linear axes: x = (o - centre) * scale.
Sigmoid axes: x = tanh(scale * (o - centre)), the paper's phi_m with slope m = scale.
Actions: u = centre + scale * a, or the values of a finite set.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry
from spaql.ground.fastmath import SMALL, tanh, tanh_small

LINEAR, SIGMOID, CLIPPED = 0, 1, 2  # clipped: linear, and what is outside moves to the edge
EDGE = 1.0 + 1e-6  # float32 observations may leave their own box by a rounding
HUGE = 1e300

AXIS = np.dtype([("centre", "f8"), ("scale", "f8"), ("kind", "i4")], align=True)


class Chart(NamedTuple):
    axes: Array  # of AXIS, one per state dimension
    acts: Array  # of AXIS, one per continuous action
    values: Array  # of a finite action set


@entry
def to_cube(chart: Chart, observation: Array, x: Array) -> int:
    """One observation into the cube. Returns -1, or the first bad dimension (NaN, infinite, outside)."""
    bad = -1
    for j in range(len(x)):
        o, axis = observation[j], chart.axes[j]
        finite = abs(o) <= HUGE
        value = ((o if finite else 0.0) - axis.centre) * axis.scale
        if axis.kind == SIGMOID:
            value = tanh_small(value) if abs(value) <= SMALL else tanh(value)
        elif axis.kind == CLIPPED:
            value = min(max(value, -1.0), 1.0)
        if not (finite and abs(value) <= EDGE):
            bad = j if bad < 0 else bad
            value = 0.0
        x[j] = value
    return bad
