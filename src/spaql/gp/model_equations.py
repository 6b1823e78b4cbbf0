"""The equations of a learned model, compiled: reset and step over a table of lanes.

Gaussian processes, one per output, each with points of its own: (G2) of gaussian_process.py. T is
the table of the plant, N and S are the model's numbers of double and of single precision, B is the
memory of the table as single precision. Inner loops go over lanes, so that LLVM vectorises them
without changing the order of any sum.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from spaql.gp.kernel_sums import BLOCK, F, filled, summed
from spaql.ground import fastmath
from spaql.ground.compiling import apart, inlined
from spaql.plants.plant import LANES, Rows


class Header(NamedTuple):
    """The numbers before the others."""

    singles: float  # address of those of single precision
    functions: float
    starts: float


class RewardBounds(NamedTuple):
    """How a reward is made of its process, and what is believed of it; in memory in this order."""

    of_next: float = 0.0  # 1: a function of the next state
    logarithm: float = 0.0  # 1: the process explains the logarithm
    least: float = 0.0
    most: float = 0.0
    stray: float = math.inf  # beyond the data no step pays more
    last: float = math.nan  # what the last step of an episode pays; nan: it is learned


OF_NEXT, LOGARITHM, LEAST, MOST, STRAY, LAST = range(len(RewardBounds._fields))


class Sizes(NamedTuple):
    """What the compiled functions are told with every call."""

    d: int  # observed variables
    axes: int  # of the action
    learned: bool  # the reward is an output of the model
    ends: bool  # the end of an episode is one, the last

    @property
    def inputs(self) -> int:
        return self.d + self.axes

    @property
    def outputs(self) -> int:
        return self.d + self.learned + self.ends

    @property
    def scratch(self) -> int:
        """Rows: function of a lane; inputs, own part, kernels, sums, strays; address of the numbers."""
        return 1 + -(-(self.inputs + filled(self.inputs) + BLOCK + 3) // 2) + 1


class Places(NamedTuple):
    """Places in N, in the order of `Numbers`, and of rows in B."""

    centre: int
    scale: int
    low: int
    high: int
    middle: int
    half: int
    reward: int
    angle: int
    turn: int
    radius: int
    begin: int
    length: int
    shift: int
    noise: int
    blur: int
    inverse: int
    blocks: int
    first: int
    linear: int
    z: int  # in B: inputs in units
    stray: int  # 1 where a lane has left the box of the data
    work: int  # the sum, the kernels of a block, the own part of the inputs and these themselves: KERNEL, OWN, X


def places(sizes: Sizes, rows: Rows) -> Places:
    d, axes, inputs, outputs = sizes.d, sizes.axes, sizes.inputs, sizes.outputs
    bounds = len(RewardBounds._fields)
    counts = [d, d, d, d, axes, axes, bounds, *[d] * 8, outputs * inputs, outputs, outputs]
    at = [len(Header._fields) + sum(counts[:i]) for i in range(len(counts) + 1)]
    z = 2 * LANES * (rows.end - sizes.scratch + 1)
    stray = z + LANES * inputs
    return Places(*[*at, z, stray, stray + LANES])


@apart
def begin(T: Any, N: Any, sizes: Sizes, rows: Rows, at: Places, n: int) -> None:
    """A start and a function, at random."""
    functions, starts, d, inputs = int(N[1]), int(N[2]), sizes.d, sizes.d + sizes.axes
    first = at.linear + functions * ((d + int(sizes.learned) + int(sizes.ends)) * (inputs + 1) + inputs * inputs)
    for i in range(n):
        start = int(min(T[rows.noise * LANES + i] * starts, starts - 1.0))
        T[(rows.state + d) * LANES + i] = min(np.floor(T[(rows.noise + 1) * LANES + i] * functions), functions - 1.0)
        for j in range(d):
            T[(rows.state + j) * LANES + i] = T[(rows.observation + j) * LANES + i] = N[first + d * start + j]


@apart
def advance(T: Any, N: Any, S: Any, B: Any, place: Any, sizes: Sizes, rows: Rows, at: Places, n: int) -> None:
    """What comes next, in the place of the observation, and what is learned of reward and end.

    The state stays as it was: what is known of reward and end is still to be computed from both.
    """
    d, axes, inputs, functions = sizes.d, sizes.axes, sizes.d + sizes.axes, int(N[1])
    outputs = d + int(sizes.learned) + int(sizes.ends)
    for i in range(n):
        place[i] = np.int64(T[(rows.state + d) * LANES + i])
        B[at.stray + i] = F(0.0)
    _in_units(T, N, B, rows.state, d, at, n)
    for k in range(axes):
        for i in range(n):
            u = (T[(rows.action + k) * LANES + i] - N[at.middle + k]) / N[at.half + k]
            B[at.z + (d + k) * LANES + i] = F(u)
    for j in range(outputs):
        ending = sizes.ends and j == outputs - 1
        if j < d and N[at.turn + j] < 0.0:  # a sine
            continue
        if j < d and N[at.shift + j] > 0.0:
            _remembered(T, int(N[at.shift + j]) - 1, j, d, rows, n)
            continue
        if j >= d and (ending or N[at.reward + OF_NEXT] > 0.0):  # of the next state
            _in_units(T, N, B, rows.observation, d, at, n)
        if j == d and not ending:
            _turned(T, N, B, rows.observation if N[at.reward + OF_NEXT] > 0.0 else rows.state, d, at, n)
        summed(N, S, B, place, inputs, j, at, functions, n)
        row = rows.observation + j if j < d else (rows.done if ending else rows.reward)
        _add_line(T, N, B, place, row, outputs, inputs, j, at, n)
        if j < d and N[at.turn + j] > 0.0:
            _turn(T, N, rows, j, at, n)
        elif j < d:
            _move(T, N, B, rows, j, at, n)
        elif ending:
            for i in range(n):
                T[row * LANES + i] = 1.0 if T[row * LANES + i] > 0.0 else 0.0
        else:
            _pay(T, N, B, place, row, at.linear + functions * outputs * (inputs + 1), inputs, at, n)
    if sizes.learned and sizes.ends and N[at.reward + LAST] == N[at.reward + LAST]:  # it is a number
        _pay_ends(T, N, rows, at, n)


@inlined
def _remembered(T: Any, k: int, j: int, d: int, rows: Rows, n: int) -> None:
    """To the last bit: a law may tell an action at the end of its range from one beyond it."""
    row = rows.state + k if k < d else rows.action + k - d
    for i in range(n):
        T[(rows.observation + j) * LANES + i] = T[row * LANES + i]


@inlined
def _pay_ends(T: Any, N: Any, rows: Rows, at: Places, n: int) -> None:
    """What the last step of an episode pays, if that is always the same."""
    last = N[at.reward + LAST]
    for i in range(n):
        if T[rows.done * LANES + i] > 0.5:
            T[rows.reward * LANES + i] = last


@inlined
def _in_units(T: Any, N: Any, B: Any, row: int, d: int, at: Places, n: int) -> None:
    for j in range(d):
        for i in range(n):
            B[at.z + j * LANES + i] = F((T[(row + j) * LANES + i] - N[at.centre + j]) / N[at.scale + j])


@apart
def _add_line(
    T: Any, N: Any, B: Any, place: Any, row: int, outputs: int, inputs: int, j: int, at: Places, n: int
) -> None:
    """The linear part of each lane's function, added to the sum over the kernels."""
    for i in range(n):
        w = at.linear + (place[i] * outputs + j) * (inputs + 1)
        s = np.float64(B[at.work + i]) + N[w + inputs]
        for k in range(inputs):
            s += N[w + k] * B[at.z + k * LANES + i]
        T[row * LANES + i] = s


# Rows are cut out before a loop goes over them: LLVM vectorises it, because no index can be negative then.

@apart
def _move(T: Any, N: Any, B: Any, rows: Rows, j: int, at: Places, n: int) -> None:
    """The next value of a variable whose change is known; beyond the box of the data it is held."""
    after = T[(rows.observation + j) * LANES : (rows.observation + j + 1) * LANES]
    noise = T[(rows.noise + j) * LANES : (rows.noise + j + 1) * LANES]
    z, stray = at.z + j * LANES, at.stray
    width, low, high, centre, scale = N[at.noise + j], N[at.low + j], N[at.high + j], N[at.centre + j], N[at.scale + j]
    begin, length = N[at.begin + j], N[at.length + j]
    for i in range(n):
        after[i] += width * (noise[i] - 0.5) + B[z + i]
    if length > 0.0:
        for i in range(n):
            after[i] -= length * np.floor((after[i] - begin) / length)
    for i in range(n):
        held = min(max(after[i], low), high)
        B[stray + i] = B[stray + i] if held == after[i] else F(1.0)
        after[i] = centre + scale * held


@apart
def _turn(T: Any, N: Any, rows: Rows, j: int, at: Places, n: int) -> None:
    """Cosine and sine of an angle whose change is known."""
    other, width, radius = int(N[at.turn + j]) - 1, N[at.noise + j], N[at.radius + j]
    cosine = T[(rows.state + j) * LANES : (rows.state + j + 1) * LANES]
    sine = T[(rows.state + other) * LANES : (rows.state + other + 1) * LANES]
    new_cosine = T[(rows.observation + j) * LANES : (rows.observation + j + 1) * LANES]
    new_sine = T[(rows.observation + other) * LANES : (rows.observation + other + 1) * LANES]
    noise = T[(rows.noise + j) * LANES : (rows.noise + j + 1) * LANES]
    for i in range(n):
        longer = radius / max(np.sqrt(cosine[i] * cosine[i] + sine[i] * sine[i]), 1e-300)
        b, a = fastmath.sin_cos(new_cosine[i] + width * (noise[i] - 0.5))
        new_cosine[i] = longer * (cosine[i] * a - sine[i] * b)
        new_sine[i] = longer * (sine[i] * a + cosine[i] * b)


@inlined
def _turned(T: Any, N: Any, B: Any, row: int, d: int, at: Places, n: int) -> None:
    """Angles, for a reward that depends on them, in the place of what their cosines were."""
    for j in range(d):
        if N[at.angle + j] != 0.0:
            sign = 1.0 if N[at.angle + j] > 0.0 else -1.0
            other = int(abs(N[at.angle + j])) - 1
            for i in range(n):
                sine, cosine = T[(row + other) * LANES + i], T[(row + j) * LANES + i]
                B[at.z + j * LANES + i] = F(fastmath.atan2(sign * sine, sign * cosine))


@apart
def _pay(T: Any, N: Any, B: Any, place: Any, row: int, quadratic: int, inputs: int, at: Places, n: int) -> None:
    """The quadratic part, what was seen as a bound, and perhaps the logarithm undone."""
    for i in range(n):
        q, s = quadratic + place[i] * inputs * inputs, T[row * LANES + i]
        for a in range(inputs):
            for b in range(a, inputs):
                s += N[q + a * inputs + b] * B[at.z + a * LANES + i] * B[at.z + b * LANES + i]
        T[row * LANES + i] = s
    least, most = N[at.reward + LEAST], N[at.reward + MOST]
    for i in range(n):
        T[row * LANES + i] = min(max(T[row * LANES + i], least), most)
    if N[at.reward + LOGARITHM] > 0.0:
        for i in range(n):
            T[row * LANES + i] = fastmath.exp(T[row * LANES + i])
