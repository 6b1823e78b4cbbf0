"""The checker's arithmetic: arrays of intervals with derivatives, rounded by `nextafter`, with
series of its own.

Nothing here is shared with the prover. Every operation is IEEE's, correctly rounded, and its bounds
move to the next double outwards, so they hold the real result and that of a double program. sin,
cos and exp are Taylor polynomials with a bound on what they leave out, after a reduction of the
argument by constants of 100 bits; log and atan correct an estimate by exp and tan. What a program's
own sin, cos ... may be off, LIBRARY, is added to their ranges and errors.
"""

import functools
import math
from typing import Any

import numpy as np

from spaql.ground.arrays import Array

LIBRARY = 2e-15  # absolute error of a program's sin, cos, tanh, atan; of exp and log relative to 1 + |result|
Pair = tuple[Array, Array]
# pi / 2 and ln 2, each as two doubles; what is left is below REST
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
LN2 = (0.6931471805599453, 2.3190468138462996e-17)
REST = 2e-33
SERIES = 1e-14  # what the polynomials of sine and cosine may be off
FAR = 1e5  # arguments of sin and cos beyond it: [-1, 1]


def outward(low: Any, high: Any) -> Pair:
    """To the next doubles; NaN, where infinities met, to everything."""
    low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    unknown = ~(low <= high)
    if not np.any(unknown):
        return low, high
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def add(a: Pair, b: Pair) -> Pair:
    return outward(a[0] + b[0], a[1] + b[1])


def sub(a: Pair, b: Pair) -> Pair:
    return outward(a[0] - b[1], a[1] - b[0])


def _hull(p: Array, q: Array, r: Array, s: Array, unknown: Any) -> Pair:
    """Around four products or quotients of ends."""
    low, high = (
        np.minimum(np.minimum(p, q), np.minimum(r, s)),
        np.maximum(np.maximum(p, q), np.maximum(r, s)),
    )
    return (
        outward(np.where(unknown, np.nan, low), np.where(unknown, np.nan, high))
        if np.any(unknown)
        else outward(low, high)
    )


def mul(a: Pair, b: Pair) -> Pair:
    """NumPy's minimum hands NaN on, which `outward` takes for unknown."""
    return _hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1], False)


def div(a: Pair, b: Pair) -> Pair:
    return _hull(a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1], (b[0] <= 0.0) & (b[1] >= 0.0))


def sqr(a: Pair) -> Pair:
    ends = np.stack([a[0] * a[0], a[1] * a[1]])
    low, high = outward(ends.min(axis=0), ends.max(axis=0))
    return np.where((a[0] <= 0.0) & (a[1] >= 0.0), 0.0, np.maximum(low, 0.0)), high


def size(a: Pair) -> Array:
    return np.asarray(np.maximum(np.abs(a[0]), np.abs(a[1])))


def exactly(x: Any) -> Pair:
    point = np.asarray(x, float)
    return point, point


@functools.cache
def _coefficient(k: int, sign: float) -> tuple[float, float]:
    """sign / k!"""
    low, high = div(exactly(sign), exactly(float(math.factorial(k))))
    return float(low), float(high)


def _series(r: Pair, first: int, degree: int, signs: float) -> Pair:
    """sum over k = first, first + 2, ... of signs^j r^k / k!, with what is left: the next term,
    both ways."""
    z = sqr(r)
    terms = list(range(first, degree + 1, 2))
    total = exactly(np.zeros_like(r[0]))
    for at in reversed(range(len(terms))):
        low, high = _coefficient(terms[at], signs if at % 2 else 1.0)
        total = add((np.asarray(low), np.asarray(high)), mul(z, total))
    left = size(r) ** (degree + 2) * (1.001 / math.factorial(degree + 2)) + 1e-300
    total = total if first == 0 else mul(r, total)
    return outward(total[0] - left, total[1] + left)


def _reduced(x: Array, parts: tuple[float, float]) -> tuple[Array, Pair]:
    """(k, x - k c) for the constant c of two parts."""
    k = np.round(x / parts[0])
    r = sub(exactly(x), mul(exactly(k), exactly(parts[0])))
    r = sub(r, mul(exactly(k), exactly(parts[1])))
    left = np.abs(k) * REST
    return k, outward(r[0] - left, r[1] + left)


def _polynomial(r: Array, first: int) -> Array:
    """Taylor's of sine (1) or cosine (0) up to the powers 21 and 20, for |r| <= 0.8; off by less
    than SERIES.

    Horner's scheme of 11 terms in r^2 does 23 operations and rounds 11 coefficients. Each is off by
    2^-53 of a partial sum, all of which are below cosh(0.8) = 1.34: together less than 6e-15. What
    is left out is below 0.8^22 / 22! < 1e-23.
    """
    z = r * r
    total = np.zeros_like(r)
    for k in reversed(range(first, first + 21, 2)):
        total = 1.0 / math.factorial(k) * (-1.0) ** (k // 2) + z * total
    return total if first == 0 else r * total


def sin_cos_at(x: Array) -> tuple[Pair, Pair]:
    """At points."""
    k, (low, high) = _reduced(x, HALF_PI)
    r = 0.5 * (low + high)
    off = (high - low) + SERIES  # both are Lipschitz with 1
    quarter = np.mod(k, 4.0)
    sine, cosine = ((value - off, value + off) for value in (_polynomial(r, 1), _polynomial(r, 0)))
    turned = [sine, cosine, (-sine[1], -sine[0]), (-cosine[1], -cosine[0])]

    def chosen(shift: int) -> Pair:
        low, high = turned[shift][0], turned[shift][1]
        for at in (1, 2, 3):
            here, (other_low, other_high) = quarter == at, turned[(shift + at) % 4]
            low, high = np.where(here, other_low, low), np.where(here, other_high, high)
        return low, high

    return chosen(0), chosen(1)


def sin_and_cos(a: Pair) -> tuple[Pair, Pair]:
    """Of intervals: extremes at the ends, or 1 and -1 where those of the function are near."""
    far = (size(a) > FAR) | ~np.isfinite(a[0]) | ~np.isfinite(a[1]) | (a[1] - a[0] > 6.28)
    low, high = np.where(far, 0.0, a[0]), np.where(far, 0.0, a[1])
    results, turn, near = [], 4.0 * HALF_PI[0], 1e-9
    # the extremes of the sine come a quarter turn later
    for at_low, at_high, later in zip(sin_cos_at(low), sin_cos_at(high), (0.25, 0.0), strict=True):
        least = np.minimum(at_low[0], at_high[0]) - LIBRARY
        most = np.maximum(at_low[1], at_high[1]) + LIBRARY
        for shift, best in ((later, True), (0.5 + later, False)):
            inside = np.floor(high / turn - shift + near) >= np.ceil(low / turn - shift - near)
            most = np.where(inside, 1.0, most) if best else most
            least = least if best else np.where(inside, -1.0, least)
        results.append((np.where(far, -1.0, np.maximum(least, -1.0)), np.where(far, 1.0, np.minimum(most, 1.0))))
    return results[0], results[1]


def sin(a: Pair) -> Pair:
    return sin_and_cos(a)[0]


def cos(a: Pair) -> Pair:
    return sin_and_cos(a)[1]


def exp_at(x: Array) -> Pair:
    """At points from -700 to 700; infinite above, from zero below."""
    held = np.clip(x, -700.0, 700.0)
    k, r = _reduced(held, LN2)
    even, odd = _series(r, 0, 18, 1.0), _series(r, 1, 19, 1.0)
    total = add(even, odd)
    scale = np.exp2(k)  # exact
    low, high = outward(total[0] * scale, total[1] * scale)
    return np.where(x < -700.0, 0.0, np.maximum(low, 0.0)), np.where(x > 700.0, np.inf, high)


def exp(a: Pair) -> Pair:
    low, high = exp_at(a[0])[0], exp_at(a[1])[1]
    return outward(np.maximum(low - LIBRARY * low, 0.0), high + LIBRARY * high)


def _log_at(x: Array) -> Pair:
    """log x = y + log(1 + t) with t = x exp(-y) - 1 and t - t^2 <= log(1 + t) <= t for |t| <=
    1/2."""
    y = np.log(x)
    t = sub(mul(exactly(x), exp_at(-y)), exactly(1.0))
    t = (t[0] - sqr(t)[1], t[1])
    return add(exactly(y), outward(*t))


def log(a: Pair) -> Pair:
    bad = ~(a[0] > 1e-300) | ~(a[1] < 1e300)
    low, high = _log_at(np.where(bad, 1.0, a[0]))[0], _log_at(np.where(bad, 1.0, a[1]))[1]
    low, high = low - LIBRARY * (1.0 + np.abs(low)), high + LIBRARY * (1.0 + np.abs(high))
    return np.where(bad, -np.inf, low), np.where(bad, np.inf, high)


def sqrt(a: Pair) -> Pair:
    bad = ~(a[0] >= 0.0)
    low, high = outward(np.sqrt(np.where(bad, 0.0, a[0])), np.sqrt(np.where(bad, 0.0, a[1])))
    return np.where(bad, -np.inf, np.maximum(low, 0.0)), np.where(bad, np.inf, high)


def tanh(a: Pair) -> Pair:
    """1 - 2 / (exp(2 x) + 1), which is monotone."""

    def at(x: Array) -> Pair:
        return sub(
            exactly(1.0),
            div(exactly(2.0), add(exp_at(2.0 * np.clip(x, -300.0, 300.0)), exactly(1.0))),
        )

    return np.maximum(at(a[0])[0] - LIBRARY, -1.0), np.minimum(at(a[1])[1] + LIBRARY, 1.0)


def atan(a: Pair) -> Pair:
    """atan x = y + atan(t) with t = (x - tan y) / (1 + x tan y), and |atan t| <= |t|."""

    def at(x: Array) -> Pair:
        y = np.arctan(x)
        sine, cosine = sin_cos_at(y)
        # multiplied by cos y: no division by a cosine near zero
        top = sub(mul(exactly(x), cosine), sine)
        t = div(top, add(cosine, mul(exactly(x), sine)))
        away = size(t)
        return outward(y - away, y + away)

    return at(a[0])[0] - LIBRARY, at(a[1])[1] + LIBRARY
