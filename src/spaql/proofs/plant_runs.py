"""A plant's own Python functions on boxes: every way through them is written down once (checked_program.py), with
mathematics in the place of modules."""

import builtins
import functools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.proofs.checked_program import MAX, MIN, Program, Recorded, Truth, Written, program_of, whole_program
from spaql.proofs.checked_series import PowerSeries, series_of, solution
from spaql.proofs.checked_work import worked

MOST_WAYS = 256
DEGREE = 5  # of the remainder of Taylor's series


def extreme(a: Any, b: Any, largest: bool) -> Any:
    """max or min of two."""
    if not isinstance(a, Recorded) and not isinstance(b, Recorded):
        return builtins.max(a, b) if largest else builtins.min(a, b)
    a, b = (a, a.of(b)) if isinstance(a, Recorded) else (b.of(a), b)
    return a.with_(MAX if largest else MIN, b)


OF_ONE = ("sin", "cos", "exp", "log", "sqrt", "tanh", "atan", "floor")


def _of_one(name: str) -> Callable[[Any], Any]:
    def of_any(x: Any) -> Any:
        if isinstance(x, PowerSeries):
            return series_of(name, x)
        return x.called(name) if isinstance(x, Recorded) else getattr(math, name)(x)

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
LEAST, MOST = _folded(False), _folded(True)
MORE = {
    "abs": abs,
    "absolute": abs,
    "minimum": LEAST,
    "maximum": MOST,
    "arctan": NAMES["atan"],
    "clip": lambda x, low, high: LEAST(MOST(x, low), high),
    "sign": lambda x: 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0,
}
PLAIN = {"min": LEAST, "max": MOST, "float": lambda x: x if isinstance(x, Recorded | PowerSeries) else float(x)}


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
        if getattr(value, "__module__", "") in ("math", "numpy") and getattr(value, "__name__", "") in NAMES:
            return NAMES[value.__name__]
        inner = getattr(value, "python", getattr(value, "py_func", value))
        return runnable(inner, done) if isinstance(inner, types.FunctionType) else value

    scope: dict[str, Any] = {}
    cells = tuple(types.CellType() for _ in plain.__closure__ or ())
    copy = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__, cells or None)
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


class Value(NamedTuple):
    """Of a number over boxes: its range, derivatives (boxes, inputs) if they were asked, what a program is off."""

    low: Array
    high: Array
    slope: tuple[Array, Array] | None
    error: Array
    place: int  # that of input j is j


class ForSure(NamedTuple):
    """Of a truth: where it surely holds, and where it surely does not."""

    surely: Array
    surely_not: Array


class Way(NamedTuple):
    """One way through a function, over boxes."""

    taken: tuple[bool, ...]  # the answers
    possible: Array  # which boxes can go this way
    finite: Array  # where all values are: a quotient by zero has none, nor has log(-1)


class Recording(NamedTuple):
    """One way as it was written down."""

    written: Written
    program: Program
    result: Any


@functools.lru_cache(maxsize=64)
def recordings(plain: Any, inputs: int) -> dict[tuple[bool, ...], Recording]:
    """Every way through a function of so many numbers, by its answers."""
    copy, pending, ways = runnable(plain), [list[bool]()], dict[tuple[bool, ...], Recording]()
    while pending:
        written = Written(pending.pop())
        result = copy(*written.inputs(inputs))
        taken, first = written.taken, len(written.given)
        ways[tuple(taken)] = Recording(written, whole_program(written, inputs), _answered(result, written))
        pending += [[*taken[:k], not taken[k]] for k in range(first, len(taken))]
        if len(ways) > MOST_WAYS:
            raise SpaqlError(f"more than {MOST_WAYS} ways through the plant: it cannot be checked")
    return ways


def _answered(result: Any, written: Written) -> Any:
    """What was asked on this way has its answer."""
    if isinstance(result, tuple | list):
        return tuple(_answered(item, written) for item in result)
    return written.answers.get(result.place, result) if isinstance(result, Truth) else result


def runs(
    plain: Any, boxes: Array, slopes: bool, cutting: bool, answers: tuple[bool, ...] | None = None
) -> Iterator[tuple[Way, Any]]:
    """Every way through a function on these boxes, (boxes, inputs, 2), with its result. `answers`: this way alone, and
    nothing is asked on it; `cutting`: ranges are cut by the answers."""
    ways = recordings(plain, boxes.shape[1])
    for taken, (_, program, result) in ways.items() if answers is None else [(answers, ways[answers])]:
        over = worked(program, boxes, slopes, cutting)

        def filled(item: Any, over: Any = over) -> Any:
            if isinstance(item, tuple):
                return tuple(filled(part) for part in item)
            if isinstance(item, Truth):
                return ForSure(over.low[item.place] == 1.0, over.high[item.place] == 1.0)
            if not isinstance(item, Recorded):
                return item
            k = item.place
            slope = (over.slope_low[k].T, over.slope_high[k].T) if slopes else None
            return Value(over.low[k], over.high[k], slope, over.error[k], k)

        yield Way(taken, over.possible, over.finite), filled(result)


# -- a differential equation -------------------------------------------------------------------------------------------


class Taylor(NamedTuple):
    """Of the solution, as functions of state, action and the time since: f, the polynomial and action, x[K]."""

    rates: Program
    polynomial: Program
    rest: Program


@functools.lru_cache(maxsize=4)
def taylor(derivative: Any, d: int, m: int) -> Taylor:
    written = Written()
    *numbers, time = written.inputs(d + m + 1)
    held = numbers[d:]
    x, ends = solution(runnable(derivative), numbers[:d], held), []
    for j in range(d):
        total: Any = x[j][DEGREE - 1]
        for k in reversed(range(DEGREE - 1)):
            total = x[j][k] + (0.0 if isinstance(total, float) and total == 0.0 else total * time)
        ends.append(total)
    programs = [x[j][1] for j in range(d)], [*ends, *held], [x[j][DEGREE] for j in range(d)]
    return Taylor(*(program_of(results, written, d + m + 1) for results in programs))


def taylor_of(plant: Any) -> Taylor:
    return taylor(plant.flow.derivative, plant.state_dim, plant.action_dim)


def without_time(boxes: Array) -> Array:
    return np.concatenate([boxes, np.zeros((len(boxes), 1, 2))], axis=1)
