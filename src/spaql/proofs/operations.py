"""Single operations of the machine: range, error and derivative of a value from those of its
operands (see machine.py)."""

import math
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined
from spaql.proofs import intervals as iv
from spaql.proofs.tape import (
    ABS,
    ADD,
    AND,
    COS,
    CUT,
    DIV,
    EXP,
    FALSE,
    FLOOR,
    GE,
    GT,
    LOG,
    MAX,
    MIN,
    MUL,
    NEG,
    NOT,
    OR,
    SIN,
    SQR,
    SQRT,
    SUB,
    TANH,
    TRUE,
)  # fmt: skip

ULP = 2.0**-52


MORE = 1.01  # what a bound of first order is enlarged by for terms of second order, where these are below 1 %


class Registers(NamedTuple):
    """Memory of the machine, a row per value of the program."""

    low: Array
    high: Array
    error: Array
    slope_low: Array  # (values, inputs)
    slope_high: Array


@inlined
def truth_of(code: int, line: Any, r: Registers) -> tuple[float, float]:
    """(1.0 if surely true, 1.0 if surely false) for any double program and for real arithmetic."""
    a, b = line.a, line.b
    if code == TRUE:
        return 1.0, 0.0
    if code == FALSE:
        return 0.0, 1.0
    if code == AND:
        return min(r.low[a], r.low[b]), max(r.high[a], r.high[b])
    if code == OR:
        return max(r.low[a], r.low[b]), min(r.high[a], r.high[b])
    if code == NOT:
        return r.high[a], r.low[a]
    least, most = r.low[a] - r.error[a], r.high[a] + r.error[a]
    other_least, other_most = r.low[b] - r.error[b], r.high[b] + r.error[b]
    if code == GE:
        return 1.0 if least >= other_most else 0.0, 1.0 if most < other_least else 0.0
    if code == GT:
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
    """Range and error of an arithmetic value; and, of a function of one operand, the range of its
    derivative."""
    a, b = line.a, line.b
    low, high, slope_low, slope_high = 0.0, 0.0, 0.0, 0.0
    al, ah, ae, bl, bh, be = r.low[a], r.high[a], r.error[a], r.low[b], r.high[b], r.error[b]
    if code == ADD:
        low, high = iv.plus(al, ah, bl, bh)
        return low, high, ae + be + ULP * iv.magnitude(low, high) + iv.TINY, 0.0, 0.0
    if code == SUB:
        low, high = iv.minus(al, ah, bl, bh)
        return low, high, ae + be + ULP * iv.magnitude(low, high) + iv.TINY, 0.0, 0.0
    if code == MUL:
        low, high = iv.times(al, ah, bl, bh)
        error = iv.magnitude(al, ah) * be + iv.magnitude(bl, bh) * ae + ae * be
        return low, high, error * MORE + ULP * iv.magnitude(low, high) + iv.TINY, 0.0, 0.0
    if code == DIV:
        low, high = iv.over(al, ah, bl, bh)
        size = iv.magnitude(low, high)
        return low, high, _quotient_error(r, a, b, size) + ULP * size + iv.TINY, 0.0, 0.0
    if code == NEG:
        return -ah, -al, ae, -1.0, -1.0
    if code == ABS:
        low, high = iv.absolute(al, ah)
        return low, high, ae, 1.0 if al >= 0.0 else -1.0, -1.0 if ah <= 0.0 else 1.0
    if code == MIN:
        return min(al, bl), min(ah, bh), _chosen_error(ah + ae < bl - be, bh + be < al - ae, ae, be), 0.0, 0.0
    if code == MAX:
        return max(al, bl), max(ah, bh), _chosen_error(al - ae > bh + be, bl - be > ah + ae, ae, be), 0.0, 0.0
    if code == FLOOR:
        low, high = np.floor(al - ae), np.floor(ah + ae)
        if low == high:
            return low, high, 0.0, 0.0, 0.0
        return low, high, math.inf, -math.inf, math.inf
    if code == SQR:
        low, high = iv.square(al, ah)
        slope_low, slope_high = 2.0 * al, 2.0 * ah
        error = (2.0 * iv.magnitude(al, ah) + ae) * ae * MORE
        return low, high, error + ULP * high + iv.TINY, slope_low, slope_high
    if code == SIN:
        low, high = iv.sine(al, ah)
        slope_low, slope_high = iv.cosine(al, ah)
        lipschitz = 1.0
    elif code == COS:
        low, high = iv.cosine(al, ah)
        slope_high, slope_low = iv.sine(al, ah)
        slope_low, slope_high = -slope_low, -slope_high
        lipschitz = 1.0
    elif code == EXP:
        low, high = iv.exponential(al, ah)
        slope_low, slope_high = low, high
        lipschitz = iv.exponential(ah + ae, ah + ae)[1]
    elif code == LOG:
        low, high = iv.logarithm(al, ah)
        slope_low, slope_high = iv.over(1.0, 1.0, al, ah)
        lipschitz = 1.0 / (al - ae) if al - ae > 0.0 else math.inf
    elif code == SQRT:
        low, high = iv.root(al, ah)
        slope_low, slope_high = iv.over(0.5, 0.5, low, high)
        lipschitz = 0.5 / math.sqrt(al - ae) if al - ae > 0.0 else math.inf
    elif code == TANH:
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
    """The derivative by input j of a value of two operands, or by way of the derivative in low ...
    high of one."""
    n, a, b = line.to, line.a, line.b
    pa, qa, pb, qb = r.slope_low[a, j], r.slope_high[a, j], r.slope_low[b, j], r.slope_high[b, j]
    if code == ADD:
        return iv.plus(pa, qa, pb, qb)
    if code == SUB:
        return iv.minus(pa, qa, pb, qb)
    if code == MUL:
        p, q = iv.times(pa, qa, r.low[b], r.high[b])
        u, v = iv.times(pb, qb, r.low[a], r.high[a])
        return iv.plus(p, q, u, v)
    if code == DIV:  # (a' - (a / b) b') / b
        p, q = iv.times(r.low[n], r.high[n], pb, qb)
        p, q = iv.minus(pa, qa, p, q)
        return iv.over(p, q, r.low[b], r.high[b])
    if code in (MIN, MAX):
        sign = 1.0 if code == MIN else -1.0
        if sign * (r.high[a] if code == MIN else r.low[a]) <= sign * (r.low[b] if code == MIN else r.high[b]):
            return pa, qa
        if sign * (r.high[b] if code == MIN else r.low[b]) <= sign * (r.low[a] if code == MIN else r.high[a]):
            return pb, qb
        return min(pa, pb), max(qa, qb)
    return iv.times(low, high, pa, qa)


@inlined
def refine(code: int, line: Any, r: Registers) -> None:
    """Of two values that were compared: a >= b, or a == b, in real arithmetic or in a double
    program."""
    a, b = line.a, line.b
    error = r.error[a] + r.error[b]
    r.low[a] = max(r.low[a], r.low[b] - error)
    if code == CUT:
        r.high[b] = min(r.high[b], r.high[a] + error)
    else:
        r.high[a] = min(r.high[a], r.high[b] + error)
