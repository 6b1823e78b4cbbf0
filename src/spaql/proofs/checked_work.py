"""The checker's programs worked out over many boxes at a time.

Of every line and all inputs in a box there are a range; derivatives by the inputs, in interval arithmetic, of min, max
and abs the hull of both where either may be it (Clarke 1983, theorem 2.6.5); and a bound of how far a double program
may be from real arithmetic. A comparison surely holds, surely does not, or neither.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, callback, inlined, kernel
from spaql.ground.numba_public import numba
from spaql.ground.numba_public import types as nb
from spaql.proofs import checked_functions as en
from spaql.proofs import checked_program as op
from spaql.proofs.checked_program import Program

ROWS = 512  # boxes at a time, so that memory stays small
MORE = 1.01  # what a bound of first order is enlarged by for terms of second order
ULP, TINY = 2.0**-52, 1e-300
Five = tuple[float, float, float, float, float]


class Worked(NamedTuple):
    """Results over boxes; without results, of all lines. Of truths `low` and `high` are 1 where they surely hold and
    surely do not."""

    low: Array  # (results, boxes)
    high: Array
    slope_low: Array  # (results, inputs, boxes)
    slope_high: Array
    error: Array  # (results, boxes)
    finite: Array  # (boxes,) whether all numbers on the way are
    possible: Array  # (boxes,) whether the answers of this way are


def worked(program: Program, boxes: Array, slopes: bool, asks: bool = False) -> Worked:
    """Over (boxes, inputs, 2). `asks`: only what can go this way, ranges cut by its answers."""
    if len(boxes) <= ROWS:
        return _some(program, boxes, slopes, asks)
    parts = [_some(program, boxes[k : k + ROWS], slopes, asks) for k in range(0, len(boxes), ROWS)]
    return Worked(*(np.concatenate([part[k] for part in parts], axis=-1) for k in range(7)))


def _some(program: Program, boxes: Array, slopes: bool, asks: bool) -> Worked:
    count, lines, width = len(boxes), program.lines, program.inputs if slopes else 0
    numbers, slope = np.empty((3, len(lines), count)), np.zeros((2, len(lines), width, count))
    said = np.ones((2, count), np.bool_)
    work_all(working(), lines, np.ascontiguousarray(boxes), asks, numbers, slope, said)
    low, high, error = numbers
    if not program.results:
        return Worked(low, high, slope[0], slope[1], error, said[0], said[1])
    at = np.array(program.results)
    first, last = (part.take(at, axis=0) for part in slope) if slopes else slope
    low, high, error = numbers.take(at, axis=1)
    return Worked(low, high, first, last, error, said[0], said[1])


@inlined
def _extreme(largest: bool, a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return max(a, b) if largest else min(a, b)


@apart
def _called(code: int, a: float, b: float, error: float) -> Five:
    """A function's range, that of its derivative, and what a program is off."""
    low, high = en.function(code, a, b)
    first, last, lipschitz = 0.0, 0.0, 1.0
    if code == en.SIN:
        first, last = en.function(en.COS, a, b)
    elif code == en.COS:
        last, first = en.function(en.SIN, a, b)
        first, last = -first, -last
    elif code == en.EXP:
        first, last = low, high
        lipschitz = en.function(en.EXP, b + error, b + error)[1] if error > 0.0 else 0.0
    elif code == en.LOG:
        first, last = en.quotient(1.0, 1.0, a, b)
        lipschitz = 1.0 / (a - error) if a > error else np.inf
    elif code == en.SQRT:
        first, last = en.quotient(0.5, 0.5, low, high)
        lipschitz = 0.5 / math.sqrt(a - error) if a > error else np.inf
    elif code == en.TANH:
        first, last = en.square(low, high)
        first, last = en.outward(1.0 - last, 1.0 - first)
    elif code == en.ATAN:
        first, last = en.square(a, b)
        first, last = en.outward(1.0 + first, 1.0 + last)
        first, last = en.quotient(1.0, 1.0, first, last)
    off = lipschitz * error * MORE if error > 0.0 else 0.0
    return low, high, first, last, off + 2.0 * en.LIBRARY * (1.0 + max(abs(low), abs(high)))


@apart
def _value(code: int, which: int, a: float, b: float, e: float, c: float, d: float, f: float) -> Five:
    """Of operands [a, b] and [c, d], off by at most e and f: range, the derivative by the first one, and what a program
    is off without the rounding of this operation."""
    if code == op.ADD:
        low, high = en.outward(a + c, b + d)
        return low, high, 0.0, 0.0, e + f
    if code == op.SUB:
        low, high = en.outward(a - d, b - c)
        return low, high, 0.0, 0.0, e + f
    if code == op.MUL:
        low, high = en.product(a, b, c, d)
        first, second = max(abs(a), abs(b)), max(abs(c), abs(d))
        return low, high, 0.0, 0.0, (first * f + second * e + e * f) * MORE
    if code == op.DIV:
        low, high = en.quotient(a, b, c, d)
        least = min(abs(c), abs(d)) - f
        off = (e + max(abs(low), abs(high)) * f) / least * MORE if least > 0.0 else np.inf
        return low, high, 0.0, 0.0, off
    if code == op.SQR:
        low, high = en.square(a, b)
        return low, high, 2.0 * a, 2.0 * b, (2.0 * max(abs(a), abs(b)) + e) * e * MORE
    if code == op.ABS:
        low, high = a if a >= 0.0 else -b if b <= 0.0 else 0.0, max(abs(a), abs(b))
        return low, high, 1.0 if a >= 0.0 else -1.0, -1.0 if b <= 0.0 else 1.0, e
    if code in (op.MIN, op.MAX):
        low, high = _extreme(code == op.MAX, a, c), _extreme(code == op.MAX, b, d)
        # where every program takes the same one, it is off by no more than that one is
        off = (e + f) * MORE
        above, below = (a - d > off, c - b > off) if code == op.MAX else (c - b > off, a - d > off)
        return low, high, 0.0, 0.0, e if above else f if below else max(e, f)
    if code == op.FLOOR:
        low, high = np.floor(a - e), np.floor(b + e)
        if low == high:
            return low, high, 0.0, 0.0, 0.0
        return low, high, -np.inf, np.inf, np.inf
    return _called(which, a, b, e)


@apart
def _holds(code: int, a: float, b: float, e: float, c: float, d: float, f: float) -> tuple[float, float]:
    """Whether a comparison surely holds, and surely does not: of real numbers, and in every double program."""
    error = (e + f) * (1.0 + 1e-15)
    if error > 0.0:  # else the ends themselves are compared
        a, b = en.outward(a - error, b + error)
    if code == op.EQ:
        return 1.0 if a == b and c == d and a == c else 0.0, 1.0 if a > d or b < c else 0.0
    if code == op.GE:
        return 1.0 if a >= d else 0.0, 1.0 if b < c else 0.0
    return 1.0 if a > d else 0.0, 1.0 if b <= c else 0.0


def _work(
    lines: Array, boxes: Array, asks: bool, low: Array, high: Array, error: Array, sl: Array, sh: Array, finite: Array,
    possible: Array,
) -> None:  # fmt: skip
    """All lines over all boxes; `sl`, `sh`: slopes, of no inputs if they are not asked."""
    count, width = boxes.shape[0], sl.shape[1]
    for k in range(len(lines)):
        code, a, b = lines[k].code, lines[k].a, lines[k].b
        if code in (op.INPUT, op.CONST):
            for n in range(count):
                low[k, n] = boxes[n, a, 0] if code == op.INPUT else lines[k].constant
                high[k, n] = boxes[n, a, 1] if code == op.INPUT else lines[k].constant
                error[k, n] = 0.0
                finite[n] &= low[k, n] == low[k, n] and high[k, n] == high[k, n]  # not NaN
            for n in range(count if width > 0 and code == op.INPUT else 0):
                sl[k, a, n] = sh[k, a, n] = 1.0
            continue
        if code >= op.GE:
            for n in range(count):
                if code <= op.EQ:
                    one, other = (low[a, n], high[a, n], error[a, n]), (low[b, n], high[b, n], error[b, n])
                    low[k, n], high[k, n] = _holds(code, *one, *other)
                elif code == op.AND:
                    low[k, n], high[k, n] = min(low[a, n], low[b, n]), max(high[a, n], high[b, n])
                elif code == op.OR:
                    low[k, n], high[k, n] = max(low[a, n], low[b, n]), min(high[a, n], high[b, n])
                elif code == op.NOT:
                    low[k, n], high[k, n] = high[a, n], low[a, n]
                elif asks and code <= op.NO:
                    possible[n] &= (high[a, n] if code == op.YES else low[a, n]) == 0.0
                elif asks and code == op.LARGER:
                    off = (error[a, n] + error[b, n]) * (1.0 + 1e-15)
                    least, most = low[b, n], high[a, n]
                    if off > 0.0:
                        least, most = least - off - en.NEXT * abs(least), most + off + en.NEXT * abs(most)
                    low[a, n], high[b, n] = max(low[a, n], least), min(high[b, n], most)
                    possible[n] &= low[a, n] <= high[a, n] and low[b, n] <= high[b, n]
            continue
        two = code <= op.DIV or code in (op.MIN, op.MAX)
        for n in range(count):
            c, d, f = (low[b, n], high[b, n], error[b, n]) if two else (0.0, 0.0, 0.0)
            x, y, first, last, off = _value(code, b, low[a, n], high[a, n], error[a, n], c, d, f)
            known = x <= y
            low[k, n], high[k, n] = x if known else -np.inf, y if known else np.inf
            finite[n] &= low[k, n] > -np.inf and high[k, n] < np.inf
            if code <= op.SQR or code == op.CALL:  # the others round nothing
                off += ULP * max(abs(low[k, n]), abs(high[k, n])) + TINY
            error[k, n] = off if off >= 0.0 else np.inf
            for j in range(width):
                if not (lines[k].inputs >> j) & 1:
                    continue
                p, q, r, s = sl[a, j, n], sh[a, j, n], 0.0, 0.0
                if two:
                    r, s = sl[b, j, n], sh[b, j, n]
                if code == op.ADD:
                    p, q = en.outward(p + r, q + s)
                elif code == op.SUB:
                    p, q = en.outward(p - s, q - r)
                elif code == op.MUL:
                    p, q = en.product(p, q, c, d)
                    r, s = en.product(r, s, low[a, n], high[a, n])
                    p, q = en.outward(p + r, q + s)
                elif code == op.DIV:
                    r, s = en.product(low[k, n], high[k, n], r, s)
                    p, q = en.outward(p - s, q - r)
                    p, q = en.quotient(p, q, c, d)
                elif code in (op.MIN, op.MAX):
                    only_a = low[a, n] >= d if code == op.MAX else high[a, n] <= c
                    only_b = c >= high[a, n] if code == op.MAX else d <= low[a, n]
                    p, q = p if only_a else r if only_b else min(p, r), q if only_a else s if only_b else max(q, s)
                else:
                    p, q = en.product(first, last, p, q)
                sl[k, j, n], sh[k, j, n] = p, q


Work = Callable[..., None]


@functools.cache
def working() -> Work:
    """`_work`, called by pointer: so long a en.function would be compiled anew in every kernel that calls it."""
    two, three, bits = (numba.typeof(array) for array in (np.zeros((1, 1)), np.zeros((1, 1, 1)), np.ones(1, np.bool_)))  # type: ignore[no-untyped-call]
    lines = numba.typeof(np.zeros(1, op.LINE))  # type: ignore[no-untyped-call]
    made: Work = callback(_work, nb.void(lines, three, nb.boolean, two, two, two, three, three, bits, bits))
    return made


@kernel
def work_all(work: Work, lines: Array, boxes: Array, asks: bool, numbers: Array, slopes: Array, said: Array) -> None:
    """All lines over all boxes, from Python."""
    work(lines, boxes, asks, numbers[0], numbers[1], numbers[2], slopes[0], slopes[1], said[0], said[1])
