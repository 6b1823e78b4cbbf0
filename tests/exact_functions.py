"""Elementary functions to 60 digits, from Python's decimal arithmetic: what enclosures are held against."""

import math
from decimal import Decimal, getcontext, localcontext

DIGITS = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")


def exact(name, x):
    """The value at a double, correct to some 50 digits for |x| up to 1e6."""
    with localcontext() as context:
        context.prec = DIGITS + 10
        return OF[name](Decimal(float(x)))


def _cos(x):
    x = abs(x) % (2 * PI)
    total, term, k = Decimal(1), Decimal(1), 0
    while abs(term) > Decimal(10) ** -(getcontext().prec + 2):
        k += 2
        term = -term * x * x / (k * (k - 1))
        total += term
    return total


def _sin(x):
    return _cos(x - PI / 2)


def _tanh(x):
    plus, minus = x.exp(), (-x).exp()
    return (plus - minus) / (plus + minus)


def _atan(x):
    y = Decimal(math.atan(float(x)))
    for _ in range(4):  # Newton: tan y = x
        s, c = _sin(y), _cos(y)
        y -= (s - x * c) * c
    return y


OF = {"sin": _sin, "cos": _cos, "exp": Decimal.exp, "log": Decimal.ln, "sqrt": Decimal.sqrt, "tanh": _tanh, "atan": _atan}
