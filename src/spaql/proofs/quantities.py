"""Numbers with which the checker runs a plant's own Python functions: no tracing, no tape, nothing of the prover.

A Quantity stands for an array of values, one per box: a range, derivatives by the inputs, and a bound of how far a
double program may be from real arithmetic. Functions of the plant are run as they are, with `math`, `numpy`, `min` and
`max` replaced, once for every sequence of answers to its conditions.
"""

import builtins
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs import enclosures as en

ULP = 2.0**-52
MOST_WAYS = 256


class Way:
    """The answers to conditions on one run, and which boxes can go this way."""

    def __init__(self, given: list[bool], boxes: int, cutting: bool) -> None:
        self.given, self.taken, self.cutting = given, list[bool](), cutting
        self.possible, self.known = np.ones(boxes, bool), dict[int, bool]()
        self.numbers: dict[Any, int] = {}

    def number(self, *what: Any) -> int:
        """The same for the same operation on the same operands, so that equal conditions have equal answers."""
        return self.numbers.setdefault(what, len(self.numbers))

    def ask(self, condition: "Question") -> bool:
        if condition.key in self.known:
            return self.known[condition.key]
        answer = self.given[len(self.taken)] if len(self.taken) < len(self.given) else True
        self.taken.append(answer)
        self.known[condition.key] = answer
        if len(self.taken) > 60:
            raise SpaqlError("the plant asks more than 60 questions: it cannot be checked")
        self.possible &= ~(condition.surely_not if answer else condition.surely)
        if self.cutting:
            condition.cut(answer)
        return answer


class Question:
    """A comparison, or several joined: where it surely holds, and where it surely does not."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, way: Way, key: int, surely: Array, surely_not: Array, cut: Callable[[bool], None]
    ) -> None:
        self.way, self.key, self.surely, self.surely_not, self.cut = (
            way,
            key,
            surely,
            surely_not,
            cut,
        )

    def __bool__(self) -> bool:
        return self.way.ask(self)

    def __invert__(self) -> "Question":
        return Question(
            self.way,
            self.way.number("not", self.key),
            self.surely_not,
            self.surely,
            lambda answer: self.cut(not answer),
        )

    def _joined(self, other: Any, both: bool) -> Any:
        if not isinstance(other, Question):
            return (self if other else False) if both else (True if other else self)

        def cut(answer: bool) -> None:
            if answer == both:
                self.cut(answer)
                other.cut(answer)

        if both:
            sure, not_sure = self.surely & other.surely, self.surely_not | other.surely_not
        else:
            sure, not_sure = self.surely | other.surely, self.surely_not & other.surely_not
        return Question(self.way, self.way.number(both, self.key, other.key), sure, not_sure, cut)

    def __and__(self, other: Any) -> Any:
        return self._joined(other, True)

    def __or__(self, other: Any) -> Any:
        return self._joined(other, False)

    __rand__, __ror__ = __and__, __or__


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
        if isinstance(other, Question):
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
        return self - other * (self // other)

    def _by(self, derivative: en.Pair) -> en.Pair | None:
        return None if self.slope is None else en.mul(self.slope, _column(derivative))

    def _compared(self, other: Any, strict: bool) -> Question:
        """self >= other, or self > other."""
        b = self.of(other)
        error = self.error + b.error
        gap_low, gap_high = en.sub(self.range, b.range)
        sure = (gap_low > error) if strict else (gap_low >= error)
        sure_not = (gap_high <= -error) if strict else (gap_high < -error)

        def cut(answer: bool) -> None:
            large, small = (self, b) if answer else (b, self)
            large.low = np.maximum(large.low, small.low - error)
            small.high = np.minimum(small.high, large.high + error)

        return Question(
            self.way, self.way.number(">" if strict else ">=", self.key, b.key), sure, sure_not, cut
        )

    def __ge__(self, other: Any) -> Question:
        return self._compared(other, False)

    def __gt__(self, other: Any) -> Question:
        return self._compared(other, True)

    def __le__(self, other: Any) -> Question:
        return self.of(other)._compared(self, False)

    def __lt__(self, other: Any) -> Question:
        return self.of(other)._compared(self, True)

    def __eq__(self, other: Any) -> Question:  # type: ignore[override]
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

        return Question(
            self.way,
            self.way.number("==", self.key, b.key),
            np.zeros(len(self.low), bool),
            apart,
            cut,
        )

    def __ne__(self, other: Any) -> Question:  # type: ignore[override]
        return ~(self == other)

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
    """A function of one number: its range, its derivative, and its Lipschitz constant for errors."""
    one, x, error = en.exactly(1.0), a.range, a.error
    if name == "floor":
        range_ = np.floor(a.low - error), np.floor(a.high + error)
        same = range_[0] == range_[1]
        slope = a._by((np.where(same, 0.0, -np.inf), np.where(same, 0.0, np.inf)))
        return Quantity(
            a.way, range_, slope, np.where(same, 0.0, np.inf), a.way.number(name, a.key)
        )
    range_ = getattr(en, name)(x)
    lipschitz: Any = 1.0
    if name == "sin":
        slope = en.cos(x)
    elif name == "cos":
        slope = (-en.sin(x)[1], -en.sin(x)[0])
    elif name == "exp":
        slope, lipschitz = range_, en.exp((x[1] + error, x[1] + error))[1]
    elif name == "log":
        slope, lipschitz = (
            en.div(one, x),
            np.where(x[0] > error, 1.0 / np.maximum(x[0] - error, 1e-300), np.inf),
        )
    elif name == "sqrt":
        slope = en.div(en.exactly(0.5), range_)
        lipschitz = np.where(x[0] > error, 0.5 / np.sqrt(np.maximum(x[0] - error, 1e-300)), np.inf)
    elif name == "tanh":
        slope = en.sub(one, en.sqr(range_))
    else:
        slope = en.div(one, en.add(one, en.sqr(x)))
    off = np.where(error > 0.0, lipschitz * error, 0.0) * 1.01 + 2.0 * en.LIBRARY * (
        1.0 + en.size(range_)
    )
    return a.new(name, None, range_, a._by(slope), off)


def extreme(a: Any, b: Any, largest: bool) -> Any:
    """max or min of two; where either may be it, the hull of both derivatives."""
    if not isinstance(a, Quantity) and not isinstance(b, Quantity):
        return builtins.max(a, b) if largest else builtins.min(a, b)
    a, b = (a, a.of(b)) if isinstance(a, Quantity) else (b.of(a), b)
    pick = np.maximum if largest else np.minimum
    slope = None
    if a.slope is not None:
        only_a = (a.low >= b.high) if largest else (a.high <= b.low)
        only_b = (b.low >= a.high) if largest else (b.high <= a.low)
        low = np.where(
            only_a[:, None],
            a.slope[0],
            np.where(only_b[:, None], b.slope[0], np.minimum(a.slope[0], b.slope[0])),
        )
        high = np.where(
            only_a[:, None],
            a.slope[1],
            np.where(only_b[:, None], b.slope[1], np.maximum(a.slope[1], b.slope[1])),
        )
        slope = low, high
    range_ = pick(a.low, b.low), pick(a.high, b.high)
    return Quantity(
        a.way, range_, slope, np.maximum(a.error, b.error), a.way.number(largest, a.key, b.key)
    )


# -- running a plant's functions ---------------------------------------------------------------------------------------

OF_ONE = ("sin", "cos", "exp", "log", "sqrt", "tanh", "atan", "floor")


def _of_one(name: str) -> Callable[[Any], Any]:
    return lambda x: function(name, x) if isinstance(x, Quantity) else getattr(math, name)(x)


def _folded(largest: bool) -> Callable[..., Any]:
    def fold(*values: Any) -> Any:
        items = values if len(values) > 1 else values[0]
        best, *rest = items
        for value in rest:
            best = extreme(best, value, largest)
        return best

    return fold


NAMES: dict[str, Any] = {name: _of_one(name) for name in OF_ONE}
NAMES |= {
    "fabs": abs,
    "pow": lambda x, power: x**power,
    "tan": lambda x: NAMES["sin"](x) / NAMES["cos"](x),
}
NAMES |= {
    "hypot": lambda x, y: NAMES["sqrt"](x * x + y * y),
    "radians": lambda x: x * (math.pi / 180.0),
}
NAMES |= {"degrees": lambda x: x * (180.0 / math.pi)}
MIN, MAX = _folded(False), _folded(True)
MORE = {"abs": abs, "absolute": abs, "minimum": MIN, "maximum": MAX, "arctan": NAMES["atan"]}
MORE |= {"clip": lambda x, low, high: MIN(MAX(x, low), high)}
MORE |= {"sign": lambda x: 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0}
PLAIN = {"min": MIN, "max": MAX, "float": lambda x: x if isinstance(x, Quantity) else float(x)}


class _Mathematics:
    """In the place of a module."""

    def __init__(self, module: types.ModuleType, names: dict[str, Any]) -> None:
        self._module, self._own = module, names

    def __getattr__(self, name: str) -> Any:
        return self._own[name] if name in self._own else getattr(self._module, name)


PLACES: dict[Any, Any] = {math: _Mathematics(math, NAMES), np: _Mathematics(np, NAMES | MORE)}


def runnable(plain: Any, done: dict[int, Any] | None = None) -> Any:
    """The function, its helpers and what they close over, with mathematics on quantities."""
    done = {} if done is None else done
    if id(plain) in done:
        return done[id(plain)]

    def replaced(value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return PLACES.get(value, value)
        if (
            getattr(value, "__module__", "") in ("math", "numpy")
            and getattr(value, "__name__", "") in NAMES
        ):
            return NAMES[value.__name__]
        inner = getattr(value, "python", getattr(value, "py_func", value))
        return runnable(inner, done) if isinstance(inner, types.FunctionType) else value

    scope: dict[str, Any] = {}
    cells = tuple(types.CellType() for _ in plain.__closure__ or ())
    copy = types.FunctionType(
        plain.__code__, scope, plain.__name__, plain.__defaults__, cells or None
    )
    done[id(plain)] = copy
    for name in _used(plain.__code__):
        if name in plain.__globals__:
            scope[name] = replaced(plain.__globals__[name])
        elif name in PLAIN:
            scope[name] = PLAIN[name]
    for cell, given in zip(cells, plain.__closure__ or (), strict=True):
        cell.cell_contents = replaced(given.cell_contents)
    return copy


def _used(code: types.CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return {*code.co_names, *(name for part in inner for name in _used(part))}


def inputs(way: Way, boxes: Array, slopes: bool) -> list[Quantity]:
    """One quantity per column of (boxes, inputs, 2)."""
    count, width = boxes.shape[:2]
    unit = np.broadcast_to(np.eye(width), (count, width, width))
    return [
        Quantity(way, (boxes[:, j, 0].copy(), boxes[:, j, 1].copy()), (unit[:, j], unit[:, j]) if slopes else None,
                 np.zeros(count), way.number("input", j))
        for j in range(width)
    ]  # fmt: skip


def runs(
    plain: Any, boxes: Array, slopes: bool, cutting: bool, answers: list[bool] | None = None
) -> Iterator[tuple[Way, Any]]:
    """Every way through a function on these boxes, with its result. `answers`: this way alone."""
    copy, pending, count = runnable(plain), [answers or []], 0
    while pending:
        way = Way(pending.pop(), len(boxes), cutting)
        with np.errstate(all="ignore"):
            result = copy(*inputs(way, boxes, slopes))
        if answers is None:
            pending += [
                [*way.taken[:k], not way.taken[k]] for k in range(len(way.given), len(way.taken))
            ]
        count += 1
        if count > MOST_WAYS:
            raise SpaqlError(f"more than {MOST_WAYS} ways through the plant: it cannot be checked")
        yield way, result
