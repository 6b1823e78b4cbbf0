"""The checker's arithmetic in compiled code: intervals of numbers, and series of its own for functions.

Nothing here is shared with the prover. Operations are IEEE's, correctly rounded, and every bound moves to the next
double or the one after it, by fl(x + fl(f |x| + 2^-1074)) with f = 2^-53 (1 + 2^-50) (Rump, Zimmermann, Boldo,
Melquiond 2009), so they hold the real result and that of a double program. sin, cos and exp are Taylor polynomials with
a bound on what they leave out, after a reduction of the argument by constants of 100 bits; log and atan correct an
estimate by exp and tan. What a program's own sin, cos ... may be off, LIBRARY, is added to their ranges.
"""

import math
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel

LIBRARY = 2e-15  # absolute error of a program's sin, cos, tanh, atan; of exp and log relative to 1 + |result|
NEXT, LEAST = 2.0**-53 * (1.0 + 2.0**-50), 2.0**-1074
# pi / 2 and ln 2, each as two doubles; what is left is below REST
PI_HIGH, PI_LOW = 1.5707963267948966, 6.123233995736766e-17
LN_HIGH, LN_LOW = 0.6931471805599453, 2.3190468138462996e-17
REST = 2e-33
SERIES = 4e-15  # more than what the polynomials of sine, cosine and exponential may be off
FAR = 1e5  # arguments of sin and cos beyond it: [-1, 1]
TURN, NEAR = 4.0 * PI_HIGH, 1e-9  # how near to an extreme, in turns, counts as on it
SINE = np.array([(-1.0) ** (k // 2) / math.factorial(k) for k in range(1, 22, 2)])
COSINE = np.array([(-1.0) ** (k // 2) / math.factorial(k) for k in range(0, 21, 2)])
POWERS = np.array([1.0 / math.factorial(k) for k in range(20)])
SIN, COS, EXP, LOG, SQRT, TANH, ATAN = range(7)
NAMES = ("sin", "cos", "exp", "log", "sqrt", "tanh", "atan")
Two = tuple[float, float]
Pair = tuple[Array, Array]


@inlined
def outward(low: float, high: float) -> Two:
    """NaN, where infinities met, to everything."""
    low, high = low - (NEXT * abs(low) + LEAST), high + (NEXT * abs(high) + LEAST)
    if low <= high:
        return low, high
    return -np.inf, np.inf


@inlined
def _around(p: float, q: float, r: float, s: float) -> Two:
    """Four numbers; everything if one is NaN, of which their sum is NaN, too, or if infinite ones have both signs."""
    if math.isnan((p + q) + (r + s)):
        return -np.inf, np.inf
    a, b = (p, q) if p < q else (q, p)
    c, d = (r, s) if r < s else (s, r)
    return outward(a if a < c else c, b if b > d else d)


@inlined
def product(a: float, b: float, c: float, d: float) -> Two:
    return _around(a * c, a * d, b * c, b * d)


@apart
def quotient(a: float, b: float, c: float, d: float) -> Two:
    if not (c > 0.0 or d < 0.0):
        return -np.inf, np.inf
    return _around(a / c, a / d, b / c, b / d)


@apart
def square(a: float, b: float) -> Two:
    low, high = outward(min(a * a, b * b), max(a * a, b * b))
    if (a <= 0.0 <= b) or low < 0.0:
        return 0.0, high
    return low, high


@inlined
def _reduced(x: float, high: float, low: float) -> tuple[float, float, float]:
    """(k, x - k c) for a constant c of two parts."""
    k = np.rint(x / high)
    a, b = outward(k * high, k * high)
    a, b = outward(x - b, x - a)
    p, q = outward(k * low, k * low)
    a, b = outward(a - q, b - p)
    left = abs(k) * REST
    a, b = outward(a - left, b + left)
    return k, a, b


@inlined
def _horner(terms: Array, z: float) -> float:
    """A polynomial in z, |z| <= 0.64 of sine and cosine, |z| <= 0.35 of the exponential.

    Its partial sums are below 1.5. A coefficient, a product and a sum are off by 2^-53 of them each, and what step k is
    off is multiplied by |z|^k: together less than 5 * 1.2e-16 * 1.5 / 0.36 < 3e-15. What is left out is below
    0.8^22 / 22! < 1e-23 and 0.35^20 / 20! < 1e-27. SERIES is more.
    """
    total = 0.0
    for k in range(len(terms) - 1, -1, -1):
        total = terms[k] + z * total
    return total


@apart
def sine_at(x: float, quarters: float) -> Two:
    """Of sin(x + quarters * pi / 2), for |x| <= FAR."""
    k, a, b = _reduced(x, PI_HIGH, PI_LOW)
    r = 0.5 * (a + b)
    off = (b - a) + SERIES  # sine and cosine are Lipschitz with 1
    turned = (k + quarters) - 4.0 * np.floor((k + quarters) / 4.0)
    value = r * _horner(SINE, r * r) if turned * (turned - 2.0) == 0.0 else _horner(COSINE, r * r)
    value = value if turned <= 1.0 else -value
    return value - off, value + off


@apart
def sine(a: float, b: float, quarters: float) -> Two:
    """Of an interval: extremes at the ends, or 1 and -1 where those of the function are near. One quarter: cosine."""
    if not (b - a <= 6.28 and max(abs(a), abs(b)) <= FAR):
        return -1.0, 1.0
    p, q = sine_at(a, quarters)
    r, s = sine_at(b, quarters)
    low, high = min(p, r) - LIBRARY, max(q, s) + LIBRARY
    later = 0.25 * (1.0 - quarters)
    if np.floor(b / TURN - later + NEAR) >= np.ceil(a / TURN - later - NEAR):
        high = 1.0
    if np.floor(b / TURN - later - 0.5 + NEAR) >= np.ceil(a / TURN - later - 0.5 - NEAR):
        low = -1.0
    return max(low, -1.0), min(high, 1.0)


@apart
def exp_at(x: float) -> Two:
    """Infinite above 700, from zero below -700."""
    if not x <= 700.0:
        return 0.0, np.inf
    if x < -700.0:
        return 0.0, 1e-304
    k, a, b = _reduced(x, LN_HIGH, LN_LOW)
    r = 0.5 * (a + b)
    value, off = _horner(POWERS, r), 2.0 * (b - a) + SERIES  # exp is Lipschitz with 2 there
    scale = math.ldexp(1.0, int(k))  # exact
    low, high = outward((value - off) * scale, (value + off) * scale)
    return max(low, 0.0), high


@inlined
def _log_at(x: float) -> Two:
    """log x = y + log(1 + t) with t = x exp(-y) - 1 and t - t^2 <= log(1 + t) <= t for |t| <= 1/2."""
    y = math.log(x)
    p, q = exp_at(-y)
    p, q = product(x, x, p, q)
    p, q = outward(p - 1.0, q - 1.0)
    p, q = outward(p - max(p * p, q * q) * (1.0 + 1e-15), q)
    return outward(y + p, y + q)


@inlined
def _tanh_at(x: float) -> Two:
    """1 - 2 / (exp(2 x) + 1), which is monotone."""
    p, q = exp_at(2.0 * min(max(x, -300.0), 300.0))
    p, q = outward(p + 1.0, q + 1.0)
    p, q = quotient(2.0, 2.0, p, q)
    return outward(1.0 - q, 1.0 - p)


@inlined
def _atan_at(x: float) -> Two:
    """atan x = y + atan(t) with t = (x - tan y) / (1 + x tan y), multiplied by cos y, and |atan t| <= |t|."""
    y = math.atan(x)
    sl, sh = sine_at(y, 0.0)
    cl, ch = sine_at(y, 1.0)
    p, q = product(x, x, cl, ch)
    p, q = outward(p - sh, q - sl)
    r, s = product(x, x, sl, sh)
    r, s = outward(cl + r, ch + s)
    p, q = quotient(p, q, r, s)
    away = max(abs(p), abs(q))
    return outward(y - away, y + away)


@apart
def function(code: int, a: float, b: float) -> Two:
    """Its range over an interval; everything where it is not defined."""
    if code in (SIN, COS):
        return sine(a, b, 0.0 if code == SIN else 1.0)
    if code == EXP:
        low, high = exp_at(a)[0], exp_at(b)[1]
        low, high = outward(low - LIBRARY * low, high + LIBRARY * high)
        return max(low, 0.0), high
    if code == LOG:
        if not (a > 1e-300 and b < 1e300):
            return -np.inf, np.inf
        low, high = _log_at(a)[0], _log_at(b)[1]
        return low - LIBRARY * (1.0 + abs(low)), high + LIBRARY * (1.0 + abs(high))
    if code == SQRT:
        if not a >= 0.0:
            return -np.inf, np.inf
        low, high = outward(math.sqrt(a), math.sqrt(b))
        return max(low, 0.0), high
    if code == TANH:
        return max(_tanh_at(a)[0] - LIBRARY, -1.0), min(_tanh_at(b)[1] + LIBRARY, 1.0)
    return _atan_at(a)[0] - LIBRARY, _atan_at(b)[1] + LIBRARY


@kernel
def over(code: int, low: Array, high: Array) -> None:
    """Functions of intervals, in their place."""
    for n in range(len(low)):
        low[n], high[n] = function(code, low[n], high[n])


# -- arrays of intervals, for matrices: moved by `nextafter` ----------------------------------------------------------


def outwards(low: Any, high: Any) -> Pair:
    """To the next doubles; NaN, where infinities met, to everything."""
    low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    unknown = ~(low <= high)
    if not np.any(unknown):
        return low, high
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def add(a: Pair, b: Pair) -> Pair:
    return outwards(a[0] + b[0], a[1] + b[1])


def sub(a: Pair, b: Pair) -> Pair:
    return outwards(a[0] - b[1], a[1] - b[0])


def _hull(p: Array, q: Array, r: Array, s: Array, unknown: Any) -> Pair:
    """Around four products or quotients of ends."""
    low, high = np.minimum(np.minimum(p, q), np.minimum(r, s)), np.maximum(np.maximum(p, q), np.maximum(r, s))
    return outwards(np.where(unknown, np.nan, low), np.where(unknown, np.nan, high))


def mul(a: Pair, b: Pair) -> Pair:
    """NumPy's minimum hands NaN on, which `outwards` takes for unknown."""
    return _hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1], False)


def div(a: Pair, b: Pair) -> Pair:
    return _hull(a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1], (b[0] <= 0.0) & (b[1] >= 0.0))


def sqr(a: Pair) -> Pair:
    ends = np.stack([a[0] * a[0], a[1] * a[1]])
    low, high = outwards(ends.min(axis=0), ends.max(axis=0))
    return np.where((a[0] <= 0.0) & (a[1] >= 0.0), 0.0, np.maximum(low, 0.0)), high


def size(a: Pair) -> Array:
    return np.asarray(np.maximum(np.abs(a[0]), np.abs(a[1])))


def exactly(x: Any) -> Pair:
    point = np.asarray(x, float)
    return point, point
