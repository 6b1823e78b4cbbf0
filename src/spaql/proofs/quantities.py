"""Numbers with which the checker runs a plant's own Python functions: no tracing, no tape, nothing
of the prover.

A Quantity stands for an array of values, one per box: a range, derivatives by the inputs, and a
bound of how far a double program may be from real arithmetic. Functions of the plant are run as
they are, with `math`, `numpy`, `min` and `max` replaced, once for every sequence of answers to its
conditions.
"""

from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs import enclosures as en
from spaql.proofs.ways import Undecided, Way

ULP = 2.0**-52


class Quantity:
    """A value of a plant's program on many boxes."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, way: Way, range_: en.Pair, slope: en.Pair | None, error: Array, key: int
    ) -> None:
        self.way, self.low, self.high, self.slope, self.error, self.key = (
            way,
            *range_,
            slope,
            error,
            key,
        )

    @property
    def range(self) -> en.Pair:
        return self.low, self.high

    def of(self, other: Any) -> "Quantity":
        if isinstance(other, Quantity):
            return other
        if isinstance(other, Undecided):
            raise SpaqlError("arithmetic with a condition cannot be checked")
        value = np.full(len(self.low), float(other))
        flat = (
            None
            if self.slope is None
            else (np.zeros_like(self.slope[0]), np.zeros_like(self.slope[0]))
        )
        return Quantity(
            self.way, (value, value), flat, np.zeros(len(value)), self.way.number(float(other))
        )

    def new(
        self, name: str, other: Any, range_: en.Pair, slope: en.Pair | None, error: Array
    ) -> "Quantity":
        with np.errstate(all="ignore"):
            rounding = ULP * en.size(range_) + 1e-300
        error = np.where(error >= 0.0, error, np.inf)
        self.way.finite &= np.isfinite(range_[0]) & np.isfinite(range_[1])
        return Quantity(
            self.way,
            range_,
            slope,
            error + rounding,
            self.way.number(name, self.key, getattr(other, "key", other)),
        )

    def __add__(self, other: Any) -> "Quantity":
        b = self.of(other)
        slope = None if self.slope is None else en.add(self.slope, b.slope)  # type: ignore[arg-type]
        return self.new("+", b, en.add(self.range, b.range), slope, self.error + b.error)

    def __sub__(self, other: Any) -> "Quantity":
        b = self.of(other)
        slope = None if self.slope is None else en.sub(self.slope, b.slope)  # type: ignore[arg-type]
        return self.new("-", b, en.sub(self.range, b.range), slope, self.error + b.error)

    def __mul__(self, other: Any) -> "Quantity":
        b = self.of(other)
        if b is self or b.key == self.key:
            slope = self._by((2.0 * self.low, 2.0 * self.high))
            return self.new(
                "*",
                b,
                en.sqr(self.range),
                slope,
                (2.0 * en.size(self.range) + self.error) * self.error * 1.01,
            )
        slope = None
        if self.slope is not None:
            assert b.slope is not None
            slope = en.add(
                en.mul(self.slope, _column(b.range)), en.mul(b.slope, _column(self.range))
            )
        error = en.size(self.range) * b.error + en.size(b.range) * self.error + self.error * b.error
        return self.new("*", b, en.mul(self.range, b.range), slope, error * 1.01)

    def __truediv__(self, other: Any) -> "Quantity":
        b = self.of(other)
        ratio = en.div(self.range, b.range)
        slope = None
        if self.slope is not None:
            assert b.slope is not None
            slope = en.div(en.sub(self.slope, en.mul(_column(ratio), b.slope)), _column(b.range))
        least = np.minimum(np.abs(b.low), np.abs(b.high)) - b.error
        error = np.where(
            least > 0.0,
            (self.error + en.size(ratio) * b.error) / np.where(least > 0, least, 1.0),
            np.inf,
        )
        return self.new("/", b, ratio, slope, error * 1.01)

    def __radd__(self, other: Any) -> "Quantity":
        return self.of(other) + self

    def __rsub__(self, other: Any) -> "Quantity":
        return self.of(other) - self

    def __rmul__(self, other: Any) -> "Quantity":
        return self.of(other) * self

    def __rtruediv__(self, other: Any) -> "Quantity":
        return self.of(other) / self

    def __neg__(self) -> "Quantity":
        return self.of(0.0) - self

    def __pos__(self) -> "Quantity":
        return self

    def __abs__(self) -> "Quantity":
        low, high = self.range
        range_ = np.where(low >= 0, low, np.where(high <= 0, -high, 0.0)), en.size(self.range)
        side = np.where(low >= 0, 1.0, -1.0), np.where(high <= 0, -1.0, 1.0)
        return self.new("abs", None, range_, self._by(side), self.error)

    def __pow__(self, power: Any) -> "Quantity":
        if power == 0.5:
            return function("sqrt", self)
        if isinstance(power, Quantity) or float(power) != int(power) or not 1 <= int(power) <= 16:
            raise SpaqlError(f"the power {power!r} cannot be checked")
        return (
            self
            if power == 1
            else self ** (int(power) - 1) * self
            if power % 2
            else (self * self) ** (int(power) // 2)
        )

    def __floordiv__(self, other: Any) -> "Quantity":
        return function("floor", self / other)

    def __mod__(self, other: Any) -> "Quantity":
        turns: Quantity = other * (self // other)
        return self - turns

    def _by(self, derivative: en.Pair) -> en.Pair | None:
        return None if self.slope is None else en.mul(self.slope, _column(derivative))

    def _compared(self, other: Any, strict: bool) -> Undecided:
        """self >= other, or self > other."""
        b = self.of(other)
        error = self.error + b.error
        narrow = self.way.narrow
        gap_low, gap_high = en.sub(self.range, b.range) if narrow is None else narrow(self - b)
        sure = (gap_low > error) if strict else (gap_low >= error)
        sure_not = (gap_high <= -error) if strict else (gap_high < -error)

        def cut(answer: bool) -> None:
            large, small = (self, b) if answer else (b, self)
            large.low = np.maximum(large.low, small.low - error)
            small.high = np.minimum(small.high, large.high + error)

        return Undecided(
            self.way, self.way.number(">" if strict else ">=", self.key, b.key), sure, sure_not, cut
        )

    def __ge__(self, other: Any) -> Undecided:
        return self._compared(other, False)

    def __gt__(self, other: Any) -> Undecided:
        return self._compared(other, True)

    def __le__(self, other: Any) -> Undecided:
        return self.of(other)._compared(self, False)

    def __lt__(self, other: Any) -> Undecided:
        return self.of(other)._compared(self, True)

    def __eq__(self, other: Any) -> Undecided:  # type: ignore[override]
        b = self.of(other)
        apart = (self.low - self.error > b.high + b.error) | (
            self.high + self.error < b.low - b.error
        )

        def cut(answer: bool) -> None:
            if answer:
                error = self.error + b.error
                self.low, self.high = (
                    np.maximum(self.low, b.low - error),
                    np.minimum(self.high, b.high + error),
                )

        points = (self.low == self.high) & (b.low == b.high) & (self.error + b.error == 0.0)
        same = points & (self.low == b.low)
        return Undecided(self.way, self.way.number("==", self.key, b.key), same, apart, cut)

    def __ne__(self, other: Any) -> Undecided:  # type: ignore[override]
        same: Undecided = self == other
        return ~same

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def _refused(self, *_: Any) -> Any:
        raise SpaqlError(
            "the plant needs the value of a number that is not known: it cannot be checked"
        )

    __float__ = __int__ = __index__ = __round__ = __trunc__ = _refused


def _column(pair: en.Pair) -> en.Pair:
    return pair[0][:, None], pair[1][:, None]


def function(name: str, a: Quantity) -> Quantity:
    """A function of one number: its range, its derivative, and its Lipschitz constant for
    errors."""
    unit, x, error = en.exactly(1.0), a.range, a.error
    if name == "floor":
        range_ = np.floor(a.low - error), np.floor(a.high + error)
        same = range_[0] == range_[1]
        slopes = a._by((np.where(same, 0.0, -np.inf), np.where(same, 0.0, np.inf)))
        return Quantity(
            a.way, range_, slopes, np.where(same, 0.0, np.inf), a.way.number(name, a.key)
        )
    lipschitz: Any = 1.0
    if name in ("sin", "cos"):
        sine, cosine = en.sin_and_cos(x)
        range_, slope = (sine, cosine) if name == "sin" else (cosine, (-sine[1], -sine[0]))
    else:
        range_ = getattr(en, name)(x)
    if name == "exp":
        slope, lipschitz = range_, en.exp((x[1] + error, x[1] + error))[1]
    elif name == "log":
        slope, lipschitz = (
            en.div(unit, x),
            np.where(x[0] > error, 1.0 / np.maximum(x[0] - error, 1e-300), np.inf),
        )
    elif name == "sqrt":
        slope = en.div(en.exactly(0.5), range_)
        lipschitz = np.where(x[0] > error, 0.5 / np.sqrt(np.maximum(x[0] - error, 1e-300)), np.inf)
    elif name == "tanh":
        slope = en.sub(unit, en.sqr(range_))
    elif name == "atan":
        slope = en.div(unit, en.add(unit, en.sqr(x)))
    off = np.where(error > 0.0, lipschitz * error, 0.0) * 1.01 + 2.0 * en.LIBRARY * (
        1.0 + en.size(range_)
    )
    return a.new(name, None, range_, a._by(slope), off)
