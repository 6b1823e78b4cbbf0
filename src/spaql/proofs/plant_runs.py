"""A plant's own Python functions on quantities: every way through them, and mathematics in the
place of modules."""

import builtins
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs.checked_series import PowerSeries, series_of
from spaql.proofs.quantities import Quantity, function
from spaql.proofs.ways import Way

MOST_WAYS = 256


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
    # where every program takes the same one, it is off by no more than that one is
    sign = 1.0 if largest else -1.0
    above = np.minimum(sign * a.low, sign * a.high) - np.maximum(sign * b.low, sign * b.high)
    below = np.minimum(sign * b.low, sign * b.high) - np.maximum(sign * a.low, sign * a.high)
    off = (a.error + b.error) * 1.01
    error = np.where(above > off, a.error, np.where(below > off, b.error, np.maximum(a.error, b.error)))
    return Quantity(a.way, range_, slope, error, a.way.number(largest, a.key, b.key))


OF_ONE = ("sin", "cos", "exp", "log", "sqrt", "tanh", "atan", "floor")


def _of_one(name: str) -> Callable[[Any], Any]:
    def of_any(x: Any) -> Any:
        if isinstance(x, PowerSeries):
            return series_of(name, x)
        return function(name, x) if isinstance(x, Quantity) else getattr(math, name)(x)

    return of_any


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
    "hypot": lambda x, y: NAMES["sqrt"](x * x + y * y),
    "radians": lambda x: x * (math.pi / 180.0),
    "degrees": lambda x: x * (180.0 / math.pi),
}
MIN, MAX = _folded(False), _folded(True)
MORE = {
    "abs": abs,
    "absolute": abs,
    "minimum": MIN,
    "maximum": MAX,
    "arctan": NAMES["atan"],
    "clip": lambda x, low, high: MIN(MAX(x, low), high),
    "sign": lambda x: 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0,
}
PLAIN = {"min": MIN, "max": MAX, "float": lambda x: x if isinstance(x, Quantity | PowerSeries) else float(x)}


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
    plain: Any, boxes: Array, slopes: bool, cutting: bool, answers: list[bool] | None = None, narrow: Any = None
) -> Iterator[tuple[Way, Any]]:
    """Every way through a function on these boxes, with its result. `answers`: this way alone; `narrow`: what more is
    known of a difference that is compared with zero."""
    copy, pending, count = runnable(plain), [answers or []], 0
    while pending:
        way = Way(pending.pop(), len(boxes), cutting, narrow)
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
