"""The equations of a learned model, compiled: reset and step over a table of lanes.

Gaussian processes, one per output, each with points of its own: (G2) of basis.py. T is the table of the plant, N and S
are the model's numbers of double and of single precision, B is the memory of the table as single precision.

Inner loops go over lanes, so that LLVM vectorises them without changing the order of any sum. Points come in blocks,
and the inputs that matter to an output in chunks, so that what a lane has is read once for several; what a block or a
chunk lacks is filled up with zeros.
"""

from typing import Any, NamedTuple

import numpy as np

from spaql import fastmath
from spaql.compiling import apart, inlined
from spaql.plants.plant import LANES, Rows

BLOCK = 4  # points
CHUNK = 4  # inputs
HEADER = 3  # numbers before the others: address of those of single precision, functions, starts
F = np.float32
HALF = F(-0.5 / 16)  # exp(y) = exp(y / 16)^16
END = F(-1.0)  # y / 16 at least
C0, C2, C3, C4, C5 = F(1.0), F(0.5), F(1 / 6), F(1 / 24), F(1 / 120)  # of the exponential function


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
    def chunked(self) -> int:
        """Inputs, filled up."""
        return -(-self.inputs // CHUNK) * CHUNK

    @property
    def scratch(self) -> int:
        """Rows of the table: function of a lane; inputs, bumps, sums, strays; address of the numbers."""
        return 1 + -(-(self.inputs + self.chunked + BLOCK + 2) // 2) + 1


class Places(NamedTuple):
    """Where the numbers of a model stand in N, in the order of `Numbers`, and where rows stand in B."""

    centre: int
    scale: int
    low: int
    high: int
    middle: int
    half: int
    reward: int
    noise: int
    blur: int
    inverse: int
    blocks: int
    first: int
    linear: int
    z: int  # in B: inputs in units
    x: int  # those of an output over their length scales
    bump: int
    total: int
    stray: int  # 1 where a lane has left the box of the data


def places(sizes: Sizes, rows: Rows) -> Places:
    d, axes, inputs, outputs = sizes.d, sizes.axes, sizes.inputs, sizes.outputs
    counts = [d, d, d, d, axes, axes, 6, d, d, outputs * inputs, outputs, outputs]
    at = [HEADER + sum(counts[:i]) for i in range(len(counts) + 1)]
    z = 2 * LANES * (rows.end - sizes.scratch + 1)
    x = z + LANES * inputs
    bump = x + LANES * sizes.chunked
    total = bump + LANES * BLOCK
    return Places(*[*at, z, x, bump, total, total + LANES])


@apart
def begin(T: Any, N: Any, sizes: Sizes, rows: Rows, at: Places, n: int) -> None:
    """A start and a function, at random."""
    functions, starts, d, inputs = int(N[1]), int(N[2]), sizes.d, sizes.d + sizes.axes
    outputs = d + int(sizes.learned) + int(sizes.ends)
    first = at.linear + functions * (outputs * (inputs + 1) + inputs * inputs)
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
        if j >= d and (ending or N[at.reward] > 0.0):  # of the next state
            _in_units(T, N, B, rows.observation, d, at, n)
        _bumps(N, S, B, place, inputs, j, at, functions, n)
        for i in range(n):
            w = at.linear + (place[i] * outputs + j) * (inputs + 1)
            s = np.float64(B[at.total + i]) + N[w + inputs]
            for k in range(inputs):
                s += N[w + k] * B[at.z + k * LANES + i]
            if j < d:
                s += N[at.noise + j] * (T[(rows.noise + j) * LANES + i] - 0.5) + B[at.z + j * LANES + i]
                held = min(max(s, N[at.low + j]), N[at.high + j])
                if held != s:
                    B[at.stray + i] = F(1.0)
                T[(rows.observation + j) * LANES + i] = N[at.centre + j] + N[at.scale + j] * held
            elif ending:
                T[rows.done * LANES + i] = 1.0 if s > 0.0 else 0.0
            else:
                q = at.linear + functions * outputs * (inputs + 1) + place[i] * inputs * inputs
                paid = _paid(N, B, s, q, inputs, at, i)
                T[rows.reward * LANES + i] = paid if B[at.stray + i] == F(0.0) else min(paid, N[at.reward + 4])
    if sizes.learned and sizes.ends and N[at.reward + 5] == N[at.reward + 5]:  # it is a number
        _pay_ends(T, N, rows, at, n)


@inlined
def _pay_ends(T: Any, N: Any, rows: Rows, at: Places, n: int) -> None:
    """What the last step of an episode pays, if that is always the same."""
    last = N[at.reward + 5]
    for i in range(n):
        if T[rows.done * LANES + i] > 0.5:
            T[rows.reward * LANES + i] = last


@inlined
def _in_units(T: Any, N: Any, B: Any, row: int, d: int, at: Places, n: int) -> None:
    for j in range(d):
        for i in range(n):
            B[at.z + j * LANES + i] = F((T[(row + j) * LANES + i] - N[at.centre + j]) / N[at.scale + j])


@inlined
def _paid(N: Any, B: Any, s: float, q: int, inputs: int, at: Places, i: int) -> float:
    """The quadratic part, what was seen as a bound, and perhaps the logarithm undone."""
    for a in range(inputs):
        for b in range(a, inputs):
            s += N[q + a * inputs + b] * B[at.z + a * LANES + i] * B[at.z + b * LANES + i]
    s = min(max(s, N[at.reward + 2]), N[at.reward + 3])
    return float(fastmath.exp(s) if N[at.reward + 1] > 0.0 else s)


@inlined
def _bumps(N: Any, S: Any, B: Any, place: Any, inputs: int, j: int, at: Places, functions: int, n: int) -> None:
    """The sum over all points, with the weights of each lane's function.

    In S stand, block by block, the inputs of its points and then their weights in all functions.
    """
    used = 0
    for k in range(inputs):
        inverse = F(N[at.inverse + j * inputs + k])
        if inverse > F(0.0):
            for i in range(n):
                B[at.x + used * LANES + i] = B[at.z + k * LANES + i] * inverse
            used += 1
    while used % CHUNK > 0:
        for i in range(n):
            B[at.x + used * LANES + i] = F(0.0)
        used += 1
    for i in range(n):
        B[at.total + i] = F(0.0)
    here, size = int(N[at.first + j]), BLOCK * (used + functions)
    for block in range(int(N[at.blocks + j])):
        points = here + block * size
        _squares(S, B, points, at.x, at.bump, n, True)
        for chunk in range(1, used // CHUNK):
            _squares(S, B, points + chunk * CHUNK * BLOCK, at.x + chunk * CHUNK * LANES, at.bump, n, False)
        weights = points + BLOCK * used
        if functions == 1:
            _heights(S, B, weights, at.bump, at.total, n)
        else:
            _exponentials(B, at.bump, n)
            _weighed(S, B, place, weights, at.bump, at.total, functions, n)


@apart
def _squares(S: Any, B: Any, p: int, x: int, bump: int, n: int, anew: bool) -> None:
    """Squared distances of a chunk of inputs from a block of points, added to those before."""
    a0, a1, a2, a3 = S[p], S[p + 1], S[p + 2], S[p + 3]
    b0, b1, b2, b3 = S[p + 4], S[p + 5], S[p + 6], S[p + 7]
    c0, c1, c2, c3 = S[p + 8], S[p + 9], S[p + 10], S[p + 11]
    d0, d1, d2, d3 = S[p + 12], S[p + 13], S[p + 14], S[p + 15]
    keep = F(0.0) if anew else F(1.0)
    for i in range(n):
        a, b, c, d = B[x + i], B[x + LANES + i], B[x + 2 * LANES + i], B[x + 3 * LANES + i]
        y0 = (a0 - a) * (a0 - a) + (b0 - b) * (b0 - b) + (c0 - c) * (c0 - c) + (d0 - d) * (d0 - d)
        y1 = (a1 - a) * (a1 - a) + (b1 - b) * (b1 - b) + (c1 - c) * (c1 - c) + (d1 - d) * (d1 - d)
        y2 = (a2 - a) * (a2 - a) + (b2 - b) * (b2 - b) + (c2 - c) * (c2 - c) + (d2 - d) * (d2 - d)
        y3 = (a3 - a) * (a3 - a) + (b3 - b) * (b3 - b) + (c3 - c) * (c3 - c) + (d3 - d) * (d3 - d)
        B[bump + i] = keep * B[bump + i] + y0
        B[bump + LANES + i] = keep * B[bump + LANES + i] + y1
        B[bump + 2 * LANES + i] = keep * B[bump + 2 * LANES + i] + y2
        B[bump + 3 * LANES + i] = keep * B[bump + 3 * LANES + i] + y3


@inlined
def _exponential(square: Any) -> Any:
    """exp(-square / 2), near enough for single precision."""
    y = HALF * square
    y = y if y > END else END
    e = C0 + y * (C0 + y * (C2 + y * (C3 + y * (C4 + y * C5))))
    e = e * e
    e = e * e
    e = e * e
    return e * e


@apart
def _heights(S: Any, B: Any, w: int, bump: int, total: int, n: int) -> None:
    """Bumps of a block, weighed with the weights of the only function."""
    w0, w1, w2, w3 = S[w], S[w + 1], S[w + 2], S[w + 3]
    for i in range(n):
        s = B[total + i] + w0 * _exponential(B[bump + i])
        s = s + w1 * _exponential(B[bump + LANES + i])
        s = s + w2 * _exponential(B[bump + 2 * LANES + i])
        B[total + i] = s + w3 * _exponential(B[bump + 3 * LANES + i])


@apart
def _exponentials(B: Any, bump: int, n: int) -> None:
    for i in range(n):
        B[bump + i] = _exponential(B[bump + i])
        B[bump + LANES + i] = _exponential(B[bump + LANES + i])
        B[bump + 2 * LANES + i] = _exponential(B[bump + 2 * LANES + i])
        B[bump + 3 * LANES + i] = _exponential(B[bump + 3 * LANES + i])


@apart
def _weighed(S: Any, B: Any, place: Any, w: int, bump: int, total: int, functions: int, n: int) -> None:
    for i in range(n):
        own = w + place[i]
        s = B[total + i] + S[own] * B[bump + i]
        s = s + S[own + functions] * B[bump + LANES + i]
        s = s + S[own + 2 * functions] * B[bump + 2 * LANES + i]
        B[total + i] = s + S[own + 3 * functions] * B[bump + 3 * LANES + i]
