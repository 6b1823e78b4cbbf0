"""A plant's Python functions as straight-line programs, one per path through their branches.

The functions are run with symbols in the place of numbers. No source text is needed, so that
functions made with `exec` are traced too. Every `if` on a condition is answered both ways, by one
run for each sequence of answers. `math`, `numpy`, `min`, `max`, `abs` and `float` are replaced in
the globals of the function and of its helpers.

What cannot be stated as arithmetic is refused with its line: `int(x)`, a symbol as an index,
functions that are not known, loops whose end depends on the state, more than MOST_PATHS paths.
"""

import builtins
import linecache
import math
import types
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import numpy as np

from spaql.ground.errors import SpaqlError, one_line
from spaql.proofs.graph import Condition, Graph, Node, Path, Symbol, TraceError

MOST_PATHS = 64
UNARY = ("sin", "cos", "exp", "log", "sqrt", "tanh", "floor", "atan")
OWN_FILES = (__file__, Graph.answer.__code__.co_filename)


# -- mathematics on symbols --------------------------------------------------------------------------------------------


def _unary(name: str) -> Callable[[Any], Any]:
    plain = getattr(math, name)
    return lambda x: x.made(name, x.place) if isinstance(x, Symbol) else plain(x)


def _extreme(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max` as Python has them, from the first value on."""

    def extreme(*values: Any) -> Any:
        rest = list(values) if len(values) > 1 else list(values[0])
        best = rest.pop(0)
        for value in rest:
            symbol = next((x for x in (best, value) if isinstance(x, Symbol)), None)
            best = plain(best, value) if symbol is None else symbol.made(name, symbol.of(best), symbol.of(value))
        return best

    return extreme


def _sign(x: Any) -> float:
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


MIN, MAX = _extreme("min", builtins.min), _extreme("max", builtins.max)
KNOWN: dict[str, Any] = {name: _unary(name) for name in UNARY}
KNOWN["tan"] = lambda x: KNOWN["sin"](x) / KNOWN["cos"](x)
KNOWN["fabs"] = abs
KNOWN["pow"] = lambda x, power: x**power
KNOWN["hypot"] = lambda x, y: KNOWN["sqrt"](x * x + y * y)
KNOWN["radians"] = lambda x: x * (math.pi / 180.0)
KNOWN["degrees"] = lambda x: x * (180.0 / math.pi)
OF_NUMPY = {
    "abs": abs, "absolute": abs, "minimum": MIN, "maximum": MAX, "sign": _sign, "arctan": KNOWN["atan"],
    "clip": lambda x, low, high: MIN(MAX(x, low), high),
}  # fmt: skip


def _isinstance(value: Any, kinds: Any) -> bool:
    if isinstance(value, Symbol | Condition):
        raise TraceError("isinstance() of a symbol")
    return builtins.isinstance(value, kinds)


OF_BUILTINS = {
    "min": MIN,
    "max": MAX,
    "float": lambda x: x if isinstance(x, Symbol) else builtins.float(x),
    "isinstance": _isinstance,
    "bool": lambda x: x if isinstance(x, Condition) else builtins.bool(x),
}


def _module(module: types.ModuleType, names: dict[str, Any]) -> types.ModuleType:
    """The module as traced functions see it."""
    replaced = types.ModuleType(module.__name__)
    replaced.__dict__.update(KNOWN | names)
    replaced.__dict__["__getattr__"] = lambda name: getattr(module, name)
    return replaced


MODULES = {math: _module(math, {}), np: _module(np, OF_NUMPY)}


def rewired(function: Any, known: dict[Any, Any] | None = None) -> Any:
    """The function with this mathematics in its globals and closures, its helpers too."""
    known = {} if known is None else known
    if function in known:
        return known[function]

    def ours(value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return MODULES.get(value, value)
        if getattr(value, "__module__", None) in ("math", "numpy") and getattr(value, "__name__", "") in KNOWN:
            return KNOWN[value.__name__]
        if value is builtins.min or value is builtins.max:
            return OF_BUILTINS[value.__name__]
        plain = getattr(value, "python", getattr(value, "py_func", value))  # decorated by spaql or by numba
        return rewired(plain, known) if isinstance(plain, types.FunctionType) else value

    code, scope = function.__code__, dict(function.__globals__)
    if code.co_exceptiontable:
        raise SpaqlError(f"{function.__name__} cannot be traced: it has `try` or `with`, which may hide a refusal")
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(code, scope, function.__name__, function.__defaults__, cells or None)
    copy.__kwdefaults__ = function.__kwdefaults__
    known[function] = copy
    names = _names(code)
    scope |= {name: ours(scope[name]) for name in names if name in scope}
    scope |= {name: OF_BUILTINS[name] for name in names if name in OF_BUILTINS and name not in function.__globals__}
    for cell, given in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = ours(given.cell_contents)
    return copy


def _names(code: types.CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


# -- all paths ---------------------------------------------------------------------------------------------------------


def paths(function: Callable[..., Any], inputs: int, graph: Graph) -> list[Path]:
    """All paths of a function of `inputs` numbers. Its result is taken apart: numbers into `outputs`, a truth."""
    traced, pending, ways = rewired(function), [list[bool]()], list[Path]()
    symbols = [Symbol(graph, graph.node("x", j)) for j in range(inputs)]
    while pending:
        graph.given, graph.answers = pending.pop(), []
        try:
            outputs, truth = _taken_apart(traced(*symbols), graph)
        except (Exception, TraceError) as error:  # whatever the user's function does with what is no number
            raise SpaqlError(f"{function.__name__} cannot be traced{_line(error)}: {_cause(error)}") from error
        if truth in dict(graph.answers):  # it was asked on this path
            truth = graph.node("true" if dict(graph.answers)[truth] else "false")
        answers = [answer for _, answer in graph.answers]
        pending += [[*answers[:k], not answers[k]] for k in range(len(graph.given), len(answers))]
        ways.append(Path(tuple(graph.answers), tuple(outputs), truth))
        if len(ways) + len(pending) > MOST_PATHS:
            raise SpaqlError(f"{function.__name__} cannot be traced: it has more than {MOST_PATHS} paths")
    return ways


def _taken_apart(result: Any, graph: Graph) -> tuple[list[Node], Node | None]:
    outputs: list[Node] = []
    truth = None
    pending = [result]
    while pending:
        value = pending.pop(0)
        if isinstance(value, tuple):
            pending = [*value, *pending]
        elif isinstance(value, Condition):
            truth = value.place
        elif isinstance(value, bool | np.bool_):
            truth = graph.node("true" if value else "false")
        else:
            outputs.append(value.place if isinstance(value, Symbol) else graph.constant(value))
    return outputs, truth


def _line(error: BaseException) -> str:
    """ ", line 7 of motor.py (n = int(x))" of the last place that is not ours."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file, number = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        if file not in OWN_FILES:
            source = one_line(linecache.getline(file, number).strip(), 80)
            place = f", line {number} of {File(file).name}" + (f" ({source})" if source else "")
        trace = trace.tb_next
    return place


def _cause(error: BaseException) -> str:
    return str(error) if isinstance(error, TraceError) else f"{type(error).__name__}: {error}"
