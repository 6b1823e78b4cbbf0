"""The machine that runs a tape (graph.py) on a box: ranges of all values, derivatives, and how far a double program is
off.

For every value v of the program and all inputs in the box

    range       low <= v <= high, in real arithmetic and in any double program        (intervals.py)
    slopes      dv/dx_j in [slope_low, slope_high]: forward differentiation in interval arithmetic. Of min, max and abs,
                where both sides are possible, the hull of both derivatives: Clarke's generalised derivative, for which
                the mean value theorem holds (Clarke 1983, theorem 2.6.5). Of floor where it jumps: all numbers
    error       |v of a double program - v of real arithmetic| <= error, of the same inputs: every operation hands on
                the errors of its operands by its Lipschitz constant, and adds 2^-52 of its result, twice the half ulp

A mean value form speaks about the real function on the whole way from the centre to a state. On that way the conditions
of a path need not hold, so slopes for it are taken with `asks` off: conditions are not asked, and cut nothing.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.proofs import graph
from spaql.proofs import intervals as iv

ULP = 2.0**-52
MORE = 1.01  # what a bound of first order is enlarged by for terms of second order, where these are below 1 %
IMPOSSIBLE, POSSIBLE, CERTAIN = 0, 1, 2  # whether the conditions of a path hold in the box


class Registers(NamedTuple):
    """Memory `r` of the machine, a row per value of the program."""

    low: Array
    high: Array
    error: Array
    slope_low: Array  # (values, inputs)
    slope_high: Array


class Result(NamedTuple):
    """What the machine finds, a row per output."""

    box: Array  # (outputs, 2)
    slopes: Array  # (outputs, inputs, 2)
    error: Array
    # whether the path is taken; whether its truth holds (0 no, 1 perhaps, 2 yes); whether all values are finite
    verdict: Array


def registers(length: int, inputs: int) -> Registers:
    numbers, slopes = np.zeros((3, length)), np.zeros((2, length, inputs))
    return Registers(numbers[0], numbers[1], numbers[2], slopes[0], slopes[1])


def result(outputs: int, inputs: int) -> Result:
    return Result(np.zeros((outputs, 2)), np.zeros((outputs, inputs, 2)), np.zeros(outputs), np.zeros(3, np.int64))


# -- single operations -------------------------------------------------------------------------------------------------


@inlined
def truth_of(code: int, line: Any, r: Registers) -> tuple[float, float]:
    """(1.0 if surely true, 1.0 if surely false) for any double program and for real arithmetic."""
    a, b = line.a, line.b
    if code == graph.TRUE:
        return 1.0, 0.0
    if code == graph.FALSE:
        return 0.0, 1.0
    if code == graph.AND:
        return min(r.low[a], r.low[b]), max(r.high[a], r.high[b])
    if code == graph.OR:
        return max(r.low[a], r.low[b]), min(r.high[a], r.high[b])
    if code == graph.NOT:
        return r.high[a], r.low[a]
    least, most = r.low[a] - r.error[a], r.high[a] + r.error[a]
    other_least, other_most = r.low[b] - r.error[b], r.high[b] + r.error[b]
    if code == graph.GE:
        return 1.0 if least >= other_most else 0.0, 1.0 if most < other_least else 0.0
    if code == graph.GT:
        return 1.0 if least > other_most else 0.0, 1.0 if most <= other_least else 0.0
    same = (least == most) & (other_least == other_most) & (least == other_least)
    return 1.0 if same else 0.0, 1.0 if (least > other_most) | (most < other_least) else 0.0


@inlined
def _quotient_error(r: Registers, a: int, b: int, size: float) -> float:
    """|a'/b' - a/b| <= (|a' - a| + |a/b| |b' - b|) / |b'|."""
    least = min(abs(r.low[b]), abs(r.high[b])) - r.error[b]
    error: float = (r.error[a] + size * r.error[b]) / least * MORE if least > 0.0 else math.inf
    return error


@inlined
def _chosen_error(first: bool, second: bool, ae: float, be: float) -> float:
    """Of min and max: where every program takes the same operand, it is off by no more than that one is."""
    return ae if first else be if second else max(ae, be)


@inlined
def value_of(code: int, line: Any, r: Registers) -> tuple[float, float, float, float, float]:
    """Range and error of an arithmetic value; and, of a function of one operand, the range of its derivative."""
    a, b = line.a, line.b
    low, high, slope_low, slope_high = 0.0, 0.0, 0.0, 0.0
    al, ah, ae, bl, bh, be = r.low[a], r.high[a], r.error[a], r.low[b], r.high[b], r.error[b]
    if code == graph.ADD:
        low, high = iv.plus(al, ah, bl, bh)
        return low, high, ae + be + ULP * iv.magnitude(low, high) + iv.TINY, 0.0, 0.0
    if code == graph.SUB:
        low, high = iv.minus(al, ah, bl, bh)
        return low, high, ae + be + ULP * iv.magnitude(low, high) + iv.TINY, 0.0, 0.0
    if code == graph.MUL:
        low, high = iv.times(al, ah, bl, bh)
        error = iv.magnitude(al, ah) * be + iv.magnitude(bl, bh) * ae + ae * be
        return low, high, error * MORE + ULP * iv.magnitude(low, high) + iv.TINY, 0.0, 0.0
    if code == graph.DIV:
        low, high = iv.over(al, ah, bl, bh)
        size = iv.magnitude(low, high)
        return low, high, _quotient_error(r, a, b, size) + ULP * size + iv.TINY, 0.0, 0.0
    if code == graph.NEG:
        return -ah, -al, ae, -1.0, -1.0
    if code == graph.ABS:
        low, high = iv.absolute(al, ah)
        return low, high, ae, 1.0 if al >= 0.0 else -1.0, -1.0 if ah <= 0.0 else 1.0
    if code == graph.MIN:
        return min(al, bl), min(ah, bh), _chosen_error(ah + ae < bl - be, bh + be < al - ae, ae, be), 0.0, 0.0
    if code == graph.MAX:
        return max(al, bl), max(ah, bh), _chosen_error(al - ae > bh + be, bl - be > ah + ae, ae, be), 0.0, 0.0
    if code == graph.FLOOR:
        low, high = np.floor(al - ae), np.floor(ah + ae)
        if low == high:
            return low, high, 0.0, 0.0, 0.0
        return low, high, math.inf, -math.inf, math.inf
    if code == graph.SQR:
        low, high = iv.square(al, ah)
        slope_low, slope_high = 2.0 * al, 2.0 * ah
        error = (2.0 * iv.magnitude(al, ah) + ae) * ae * MORE
        return low, high, error + ULP * high + iv.TINY, slope_low, slope_high
    if code == graph.SIN:
        low, high = iv.sine(al, ah)
        slope_low, slope_high = iv.cosine(al, ah)
        lipschitz = 1.0
    elif code == graph.COS:
        low, high = iv.cosine(al, ah)
        slope_high, slope_low = iv.sine(al, ah)
        slope_low, slope_high = -slope_low, -slope_high
        lipschitz = 1.0
    elif code == graph.EXP:
        low, high = iv.exponential(al, ah)
        slope_low, slope_high = low, high
        lipschitz = iv.exponential(ah + ae, ah + ae)[1]
    elif code == graph.LOG:
        low, high = iv.logarithm(al, ah)
        slope_low, slope_high = iv.over(1.0, 1.0, al, ah)
        lipschitz = 1.0 / (al - ae) if al - ae > 0.0 else math.inf
    elif code == graph.SQRT:
        low, high = iv.root(al, ah)
        slope_low, slope_high = iv.over(0.5, 0.5, low, high)
        lipschitz = 0.5 / math.sqrt(al - ae) if al - ae > 0.0 else math.inf
    elif code == graph.TANH:
        low, high = iv.tangent(al, ah)
        slope_low, slope_high = iv.square(low, high)
        slope_low, slope_high = iv.minus(1.0, 1.0, slope_low, slope_high)
        lipschitz = 1.0
    else:  # the arctangent
        low, high = iv.arctangent(al, ah)
        slope_low, slope_high = iv.square(al, ah)
        slope_low, slope_high = iv.plus(1.0, 1.0, slope_low, slope_high)
        slope_low, slope_high = iv.over(1.0, 1.0, slope_low, slope_high)
        lipschitz = 1.0
    error = (lipschitz * ae * MORE if ae > 0.0 else 0.0) + iv.FUNCTION * (1.0 + iv.magnitude(low, high))
    return low, high, error, slope_low, slope_high


@inlined
def slope_of(code: int, line: Any, r: Registers, j: int, low: float, high: float) -> tuple[float, float]:
    """The derivative by input j of a value of two operands, or by way of the derivative in low ... high of one."""
    n, a, b = line.to, line.a, line.b
    pa, qa, pb, qb = r.slope_low[a, j], r.slope_high[a, j], r.slope_low[b, j], r.slope_high[b, j]
    if code == graph.ADD:
        return iv.plus(pa, qa, pb, qb)
    if code == graph.SUB:
        return iv.minus(pa, qa, pb, qb)
    if code == graph.MUL:
        p, q = iv.times(pa, qa, r.low[b], r.high[b])
        u, v = iv.times(pb, qb, r.low[a], r.high[a])
        return iv.plus(p, q, u, v)
    if code == graph.DIV:  # (a' - (a / b) b') / b
        p, q = iv.times(r.low[n], r.high[n], pb, qb)
        p, q = iv.minus(pa, qa, p, q)
        return iv.over(p, q, r.low[b], r.high[b])
    if code in (graph.MIN, graph.MAX):
        least = code == graph.MIN
        if r.high[a] <= r.low[b] if least else r.low[a] >= r.high[b]:
            return pa, qa
        if r.high[b] <= r.low[a] if least else r.low[b] >= r.high[a]:
            return pb, qb
        return min(pa, pb), max(qa, qb)
    return iv.times(low, high, pa, qa)


@inlined
def refine(code: int, line: Any, r: Registers) -> None:
    """Of two values that were compared: a >= b, or a == b, in real arithmetic or in a double program."""
    a, b = line.a, line.b
    error = r.error[a] + r.error[b]
    r.low[a] = max(r.low[a], r.low[b] - error)
    if code == graph.CUT:
        r.high[b] = min(r.high[b], r.high[a] + error)
    else:
        r.high[a] = min(r.high[a], r.high[b] + error)


# -- programs ----------------------------------------------------------------------------------------------------------


@kernel
def run(tape: Array, begin: int, end: int, x: Array, slopes: bool, asks: bool, r: Registers, out: Result) -> int:
    """The instructions begin ... end on the box x, (inputs, 2). Returns whether the path is taken."""
    inputs, possible = len(x), CERTAIN
    out.verdict[1], out.verdict[2] = 0, 1
    for at in range(begin, end):
        line = tape[at]
        code, n, a = line.code, line.to, line.a
        if code <= graph.CONST:
            r.low[n] = x[a, 0] if code == graph.X else line.constant
            r.high[n] = x[a, 1] if code == graph.X else line.constant
            r.error[n] = 0.0
            if slopes:
                for j in range(inputs):
                    r.slope_low[n, j] = r.slope_high[n, j] = 1.0 if (code == graph.X) & (j == a) else 0.0
        elif code < graph.TRUE:
            low, high, error, slope_low, slope_high = value_of(code, line, r)
            known = low <= high  # NaN where infinities met: nothing is known
            r.low[n], r.high[n] = low if known else -math.inf, high if known else math.inf
            if not (r.low[n] > -math.inf and r.high[n] < math.inf):
                out.verdict[2] = 0
            r.error[n] = error if error >= 0.0 else math.inf
            for j in range(inputs if slopes else 0):
                low, high = 0.0, 0.0
                if (line.inputs >> np.uint64(j)) & np.uint64(1):
                    low, high = slope_of(code, line, r, j, slope_low, slope_high)
                known = low <= high
                r.slope_low[n, j], r.slope_high[n, j] = low if known else -math.inf, high if known else math.inf
        elif code <= graph.NOT:
            r.low[n], r.high[n] = truth_of(code, line, r)
        elif code == graph.OUT:
            out.box[n, 0], out.box[n, 1], out.error[n] = r.low[a], r.high[a], r.error[a]
            for j in range(inputs if slopes else 0):
                out.slopes[n, j, 0], out.slopes[n, j, 1] = r.slope_low[a, j], r.slope_high[a, j]
        elif code == graph.TRUTH:
            out.verdict[1] = 2 if r.low[a] == 1.0 else 0 if r.high[a] == 1.0 else 1
        elif asks and code == graph.ASK:
            answer = line.b == 1
            if (r.high[a] if answer else r.low[a]) == 1.0:
                out.verdict[0] = IMPOSSIBLE
                return IMPOSSIBLE
            if (r.low[a] if answer else r.high[a]) != 1.0:
                possible = POSSIBLE
        elif asks:
            refine(code, line, r)
    out.verdict[0] = possible
    return possible
