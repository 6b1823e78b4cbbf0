"""Intervals in compiled code, rounded outwards.

Every operation is done in round-to-nearest. It is off by at most half an ulp, 2^-53 of itself, or
2^-1075 where it is denormal. Its bounds are moved outwards by 2^-51 of themselves and by TINY, four
times as much. So an interval holds the result of real arithmetic and whatever a double program gets
from operands in the intervals, with fused operations or not.

The elementary functions are those of `ground.fastmath`, whose error is below 1e-15 (of exp and log:
relative to 1 + |result|). The bounds are moved outwards by FUNCTION, four times as much. Tests hold
both numbers against arithmetic of 100 digits (tests/proofs/test_enclosures.py).
"""

import math

from spaql.ground import fastmath
from spaql.ground.compiling import inlined

ULPS = 2.0**-51
TINY = 1e-300
FUNCTION = 4e-15
TURN = 2.0 * math.pi
SAFE = 1e-9  # of a turn: how near to an extremum counts as on it
LARGE_ANGLE = 1e5  # beyond it the reduction of the argument costs digits: [-1, 1] is the answer
Interval = tuple[float, float]


@inlined
def down(x: float) -> float:
    return x - abs(x) * ULPS - TINY


@inlined
def up(x: float) -> float:
    return x + abs(x) * ULPS + TINY


@inlined
def magnitude(low: float, high: float) -> float:
    return max(abs(low), abs(high))


@inlined
def plus(a: float, b: float, c: float, d: float) -> Interval:
    return down(a + c), up(b + d)


@inlined
def minus(a: float, b: float, c: float, d: float) -> Interval:
    return down(a - d), up(b - c)


@inlined
def times(a: float, b: float, c: float, d: float) -> Interval:
    """The extremes of a product of intervals are products of their ends. 0 times infinity: nothing is known."""
    ac, ad, bc, bd = a * c, a * d, b * c, b * d
    if math.isnan(ac) or math.isnan(ad) or math.isnan(bc) or math.isnan(bd):
        return -math.inf, math.inf
    return down(min(ac, ad, bc, bd)), up(max(ac, ad, bc, bd))


@inlined
def over(a: float, b: float, c: float, d: float) -> Interval:
    """A divisor that may be zero: nothing is known."""
    if c <= 0.0 <= d:
        return -math.inf, math.inf
    ac, ad, bc, bd = a / c, a / d, b / c, b / d
    if math.isnan(ac) or math.isnan(ad) or math.isnan(bc) or math.isnan(bd):
        return -math.inf, math.inf
    return down(min(ac, ad, bc, bd)), up(max(ac, ad, bc, bd))


@inlined
def square(a: float, b: float) -> Interval:
    aa, bb = a * a, b * b
    if a <= 0.0 <= b:
        return 0.0, up(max(aa, bb))
    return max(0.0, down(min(aa, bb))), up(max(aa, bb))


@inlined
def absolute(a: float, b: float) -> Interval:
    if a >= 0.0:
        return a, b
    if b <= 0.0:
        return -b, -a
    return 0.0, max(-a, b)


@inlined
def cosine(a: float, b: float) -> Interval:
    """Monotone between the multiples of pi: the extremes are at the ends, or 1 and -1 where such a multiple is near."""
    if not (b - a < TURN) or magnitude(a, b) > LARGE_ANGLE:
        return -1.0, 1.0
    at_a, at_b = fastmath.cos(a), fastmath.cos(b)
    low, high = min(at_a, at_b) - FUNCTION, max(at_a, at_b) + FUNCTION
    if math.floor(b / TURN + SAFE) >= math.ceil(a / TURN - SAFE):
        high = 1.0
    if math.floor(b / TURN - 0.5 + SAFE) >= math.ceil(a / TURN - 0.5 - SAFE):
        low = -1.0
    return max(low, -1.0), min(high, 1.0)


@inlined
def sine(a: float, b: float) -> Interval:
    """As the cosine, with the extremes a quarter turn later."""
    if not (b - a < TURN) or magnitude(a, b) > LARGE_ANGLE:
        return -1.0, 1.0
    at_a, at_b = fastmath.sin(a), fastmath.sin(b)
    low, high = min(at_a, at_b) - FUNCTION, max(at_a, at_b) + FUNCTION
    if math.floor(b / TURN - 0.25 + SAFE) >= math.ceil(a / TURN - 0.25 - SAFE):
        high = 1.0
    if math.floor(b / TURN - 0.75 + SAFE) >= math.ceil(a / TURN - 0.75 - SAFE):
        low = -1.0
    return max(low, -1.0), min(high, 1.0)


@inlined
def exponential(a: float, b: float) -> Interval:
    low, high = fastmath.exp(a), fastmath.exp(b)
    return max(0.0, low - FUNCTION * low - TINY), high + FUNCTION * high + TINY


@inlined
def logarithm(a: float, b: float) -> Interval:
    if not a > 0.0:
        return -math.inf, math.inf
    low, high = fastmath.log(a), fastmath.log(b)
    return low - FUNCTION * (1.0 + abs(low)), high + FUNCTION * (1.0 + abs(high))


@inlined
def root(a: float, b: float) -> Interval:
    """IEEE's square root is rounded correctly. Below zero there is none: nothing is known."""
    if not a >= 0.0:
        return -math.inf, math.inf
    return max(0.0, down(math.sqrt(a))), up(math.sqrt(b))


@inlined
def tangent(a: float, b: float) -> Interval:
    """Of the hyperbola."""
    return max(-1.0, fastmath.tanh(a) - FUNCTION), min(1.0, fastmath.tanh(b) + FUNCTION)


@inlined
def arctangent(a: float, b: float) -> Interval:
    return math.atan(a) - FUNCTION, math.atan(b) + FUNCTION
