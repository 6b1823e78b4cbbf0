"""The checker's power series: a plant's own derivative is run once on them, and gives its coefficients one by one.

The coefficient of t^k of every value is written down when it is asked for (checked_program.py), from those of its
operands: the product rule of Leibniz, and for functions the differential equation that they satisfy, power by power.
"""

from collections.abc import Callable
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql.proofs.checked_program import Recorded

Coefficient = Recorded | float  # exact numbers stay numbers


def _zero(value: Coefficient) -> bool:
    return not isinstance(value, Recorded) and value == 0.0


def _plus(a: Coefficient, b: Coefficient) -> Coefficient:
    return b if _zero(a) else a if _zero(b) else a + b


def _less(a: Coefficient, b: Coefficient) -> Coefficient:
    return a if _zero(b) else a - b


def _times(a: Coefficient, b: Coefficient) -> Coefficient:
    return 0.0 if _zero(a) or _zero(b) else a * b


class PowerSeries:
    """A value along the solution, as a function of time since a sample."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Callable[[int], Coefficient]) -> None:
        self.make, self.known = make, list[Coefficient]()
        self.turned: tuple[PowerSeries, PowerSeries] | None = None  # its sine and cosine, which need each other

    def __getitem__(self, k: int) -> Coefficient:
        while len(self.known) <= k:
            self.known.append(self.make(len(self.known)))
        return self.known[k]

    @staticmethod
    def of(other: Any) -> "PowerSeries":
        if isinstance(other, PowerSeries):
            return other
        number = float(other)
        return PowerSeries(lambda k: number if k == 0 else 0.0)

    def __add__(self, other: Any) -> "PowerSeries":
        b = self.of(other)
        return PowerSeries(lambda k: _plus(self[k], b[k]))

    def __sub__(self, other: Any) -> "PowerSeries":
        return self + (-self.of(other))

    def __neg__(self) -> "PowerSeries":
        return PowerSeries(lambda k: 0.0 if _zero(self[k]) else -self[k])

    def __mul__(self, other: Any) -> "PowerSeries":
        b = self.of(other)
        return PowerSeries(lambda k: _convolved(self, b, k, range(k + 1)))

    def __truediv__(self, other: Any) -> "PowerSeries":
        """q b = a: q[k] b[0] = a[k] less the other products."""
        b = self.of(other)
        ratio = PowerSeries(lambda k: _divided(_less(self[k], _convolved(ratio, b, k, range(k))), b[0]))
        return ratio

    def __radd__(self, other: Any) -> "PowerSeries":
        return self.of(other) + self

    def __rsub__(self, other: Any) -> "PowerSeries":
        return self.of(other) - self

    def __rmul__(self, other: Any) -> "PowerSeries":
        return self.of(other) * self

    def __rtruediv__(self, other: Any) -> "PowerSeries":
        return self.of(other) / self

    def __pos__(self) -> "PowerSeries":
        return self

    def __pow__(self, power: Any) -> "PowerSeries":
        if isinstance(power, PowerSeries) or (float(power) != 0.5 and not 1 <= int(power) == float(power) <= 16):
            raise SpaqlError(f"the power {power!r} cannot be checked")
        if float(power) == 0.5:
            return series_of("sqrt", self)
        result = self
        for _ in range(int(power) - 1):
            result = result * self
        return result

    def _refused(self, *_: Any) -> Any:
        raise SpaqlError("the derivative is not smooth: it cannot be checked")

    __abs__ = __floordiv__ = __mod__ = __bool__ = __float__ = __int__ = __index__ = __round__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refused


def _convolved(a: PowerSeries, b: PowerSeries, k: int, powers: range) -> Coefficient:
    """Of a b, the part of t^k with these powers of a."""
    total: Coefficient = 0.0
    for j in powers:
        total = _plus(total, _times(a[j], b[k - j]))
    return total


def _divided(a: Coefficient, b: Coefficient) -> Coefficient:
    if _zero(b):
        raise SpaqlError("the derivative divides by zero: it cannot be checked")
    return 0.0 if _zero(a) else a / b


def _integral(first: Callable[[], Coefficient], rate: PowerSeries) -> PowerSeries:
    """From the value at the sample, and the rate along the solution."""
    return PowerSeries(lambda k: first() if k == 0 else _divided(rate[k - 1], float(k)))


def _rate(a: PowerSeries) -> PowerSeries:
    return PowerSeries(lambda k: _times(float(k + 1), a[k + 1]))


def series_of(name: str, a: PowerSeries) -> PowerSeries:
    """A function of a series: y' = f'(a) a'."""

    def at_the_sample() -> Coefficient:
        value = a[0]
        if not isinstance(value, Recorded):
            raise SpaqlError(f"{name} of a number that does not depend on the state: work it out outside")
        return value.called(name)

    if name in ("sin", "cos"):
        if a.turned is None:
            at_the_sample()
            rate_of_a = _rate(a)
            sine = _integral(lambda: a[0].called("sin"), PowerSeries(lambda k: forth[k]))  # type: ignore[union-attr]
            cosine = _integral(lambda: a[0].called("cos"), PowerSeries(lambda k: back[k]))  # type: ignore[union-attr]
            forth, back = cosine * rate_of_a, -(sine * rate_of_a)
            a.turned = sine, cosine
        return a.turned[0] if name == "sin" else a.turned[1]
    own: dict[str, Callable[[PowerSeries], PowerSeries]] = {
        "exp": lambda y: y * _rate(a),
        "tanh": lambda y: (1.0 - y * y) * _rate(a),
        "log": lambda y: _rate(a) / a,
        "sqrt": lambda y: _rate(a) / (2.0 * y),
        "atan": lambda y: _rate(a) / (1.0 + a * a),
    }
    if name not in own:
        raise SpaqlError(f"the derivative is not smooth ({name}): it cannot be checked")
    whole = PowerSeries(lambda k: rate[k])
    y = _integral(at_the_sample, whole)
    rate = own[name](y)
    return y


def solution(derivative: Callable[..., Any], state: list[Recorded], held: list[Recorded]) -> list[PowerSeries]:
    """Of x' = f(x, u) from these values: x[k + 1] = f[k] / (k + 1)."""
    rates: list[PowerSeries] = []

    def along(j: int, first: Recorded) -> PowerSeries:
        return PowerSeries(lambda k: first if k == 0 else _divided(rates[j][k - 1], float(k)))

    x = [along(j, first) for j, first in enumerate(state)]
    u = [PowerSeries(lambda k, value=value: value if k == 0 else 0.0) for value in held]  # type: ignore[misc]
    rates += [PowerSeries.of(rate) for rate in derivative(*x, *u)]
    return x
