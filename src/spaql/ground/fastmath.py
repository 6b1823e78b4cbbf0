"""Branch-free sin, cos, exp, log, tanh and atan2, accurate to a few units in the last place, that LLVM can vectorise.

A call into libm inside a loop over rollouts keeps the loop scalar, four to five times slower. Inside plants `math.sin`
and the like mean these functions (`plants/compile.py`).
"""

import math
from typing import Any

import numpy as np

from spaql.ground.compiling import inlined
from spaql.ground.numba_public import intrinsic, types

# np.floor stays in floating point; numba's math.floor gives an integer, and the conversions cost more than the rest.
# pi/2 in two parts (fdlibm): k * _PIO2_HI is exact for |k| < 2**20, so |x| up to 1.6e6 loses nothing.
_PIO2_HI = float.fromhex("0x1.921fb544p+0")
_PIO2_LO = float.fromhex("0x1.0b4611a626331p-34")
_TWO_OVER_PI = 2.0 / math.pi
# Minimax polynomials on [-pi/4, pi/4] (fdlibm's kernel sine and cosine).
_S = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
      -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
_C = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
      2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip
# ln 2 in two parts (fdlibm).
_LN2_HI = float.fromhex("0x1.62e42feep-1")
_LN2_LO = float.fromhex("0x1.a39ef35793c76p-33")
_LOG2_E = 1.0 / math.log(2.0)
_EXP_MAX = 708.0
# log((1 + s) / (1 - s)) = 2s + s * R(s^2), minimax for mantissas from sqrt(1/2) to sqrt(2) (fdlibm).
_LG = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
       1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)  # fmt: skip
# atan(t) = t + t z P(z) / Q(z) with z = t^2, for |t| <= 0.66 (Cephes); beyond, pi/4 + atan((t - 1) / (t + 1)).
_ATAN_P = (-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
           -1.228866684490136173410e2, -6.485021904942025371773e1)  # fmt: skip
_ATAN_Q = (2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
           4.853903996359136964868e2, 1.945506571482613964425e2)  # fmt: skip
_ATAN_NEAR = 0.66
_PI4_LO = 3.061616997868382943e-17  # pi/4 less its nearest number
_ONE = 0x3FF0000000000000  # the bits of 1.0
_ROOT_HALF = 0x3FE6A09E00000000  # the bits of sqrt(1/2), nearly
_MANTISSA = 0x000FFFFFFFFFFFFF
_SMALLEST = float.fromhex("0x1p-1022")  # of the normal numbers


def _fused(_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of single precision, rounded once: the same bits in a scalar and in a vector, on every CPU."""

    def generated(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generated


fused: Any = intrinsic(_fused)


@inlined
def _sin_cos_quarter(r: float) -> tuple[float, float]:
    z = r * r
    s = r + r * z * (_S[0] + z * (_S[1] + z * (_S[2] + z * (_S[3] + z * (_S[4] + z * _S[5])))))
    c = 1.0 - (0.5 * z - z * z * (_C[0] + z * (_C[1] + z * (_C[2] + z * (_C[3] + z * (_C[4] + z * _C[5]))))))
    return s, c


@inlined
def sin_cos(x: float) -> tuple[float, float]:
    """(sin x, cos x). Absolute error below 1e-15 up to |x| = 1.6e6; beyond, that of x's own last bit."""
    k = np.floor(x * _TWO_OVER_PI + 0.5)
    r = (x - k * _PIO2_HI) - k * _PIO2_LO
    s, c = _sin_cos_quarter(r)
    quarter = k - 4.0 * np.floor(k * 0.25)  # k mod 4
    odd = (quarter == 1.0) | (quarter == 3.0)
    sine = c if odd else s
    cosine = s if odd else c
    sine = -sine if quarter >= 2.0 else sine
    cosine = -cosine if (quarter == 1.0) | (quarter == 2.0) else cosine
    return sine, cosine


@inlined
def sin(x: float) -> float:
    return sin_cos(x)[0]


@inlined
def cos(x: float) -> float:
    return sin_cos(x)[1]


@inlined
def exp(x: float) -> float:
    """e**x; zero below -708, infinite above 708."""
    y = min(max(x, -_EXP_MAX), _EXP_MAX)
    k = np.floor(y * _LOG2_E + 0.5)
    r = (y - k * _LN2_HI) - k * _LN2_LO
    p = 1 / 479001600 + r * (1 / 6227020800)
    p = 1 / 3628800 + r * (1 / 39916800 + r * p)
    p = 1 / 40320 + r * (1 / 362880 + r * p)
    p = 1 / 720 + r * (1 / 5040 + r * p)
    p = 1 / 24 + r * (1 / 120 + r * p)
    p = 1.0 + r * (1.0 + r * (0.5 + r * (1 / 6 + r * p)))
    scaled = p * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
    scaled = math.inf if x > _EXP_MAX else scaled
    scaled = 0.0 if x < -_EXP_MAX else scaled
    return x if math.isnan(x) else scaled


@inlined
def log(x: float) -> float:
    """Natural logarithm; minus infinity at zero, NaN below."""
    tiny = x < _SMALLEST
    bits = np.float64(x * 18014398509481984.0 if tiny else x).view(np.int64) + (_ONE - _ROOT_HALF)  # 2**54
    k = float(np.int32(bits >> 52)) - (1077.0 if tiny else 1023.0)
    f = np.int64((bits & _MANTISSA) + _ROOT_HALF).view(np.float64) - 1.0
    s, half = f / (2.0 + f), 0.5 * f * f
    z = s * s
    r = z * (_LG[0] + z * (_LG[1] + z * (_LG[2] + z * (_LG[3] + z * (_LG[4] + z * (_LG[5] + z * _LG[6]))))))
    y: float = k * _LN2_HI - ((half - (s * (half + r) + k * _LN2_LO)) - f)
    y = y if x < math.inf else x
    y = y if x > 0.0 else -math.inf
    return y if x >= 0.0 else math.nan


@inlined
def tanh(x: float) -> float:
    """Hyperbolic tangent. Absolute error below 1e-15."""
    e = exp(-2.0 * min(abs(x), 20.0))
    t = (1.0 - e) / (1.0 + e)
    t = t if x >= 0.0 else -t
    return x if math.isnan(x) else t


@inlined
def atan2(y: float, x: float) -> float:
    """Angle of the point (x, y), from -pi to pi, signs of zeros as in C. Error below 1e-15."""
    a, b = abs(x), abs(y)
    low, high = min(a, b), max(a, b)
    t = low / (high if high > 0.0 else 1.0)
    t = 1.0 if low == math.inf else t
    far = t > _ATAN_NEAR
    t = (t - 1.0) / (t + 1.0) if far else t
    z = t * t
    p = _ATAN_P[4] + z * (_ATAN_P[3] + z * (_ATAN_P[2] + z * (_ATAN_P[1] + z * _ATAN_P[0])))
    q = _ATAN_Q[4] + z * (_ATAN_Q[3] + z * (_ATAN_Q[2] + z * (_ATAN_Q[1] + z * (_ATAN_Q[0] + z))))
    angle = t + t * (z * p / q)
    angle = 0.25 * math.pi + (angle + _PI4_LO) if far else angle
    angle = 0.5 * math.pi - (angle - 2.0 * _PI4_LO) if b > a else angle
    angle = math.pi - (angle - 4.0 * _PI4_LO) if math.copysign(1.0, x) < 0.0 else angle
    angle = math.copysign(angle, y)
    return x + y if math.isnan(x) or math.isnan(y) else angle


SMALL = 0.4  # largest argument of `tanh_small`


@inlined
def tanh_small(x: float) -> float:
    """Padé approximation, for |x| <= SMALL: error below 1e-16 at a third of the cost."""
    z = x * x
    return x * (135135.0 + z * (17325.0 + z * (378.0 + z))) / (135135.0 + z * (62370.0 + z * (3150.0 + z * 28.0)))
