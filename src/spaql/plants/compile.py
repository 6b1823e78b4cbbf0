"""Plain Python to compiled: `math` means `fastmath`, helpers are compiled along."""

import dis
import hashlib
import inspect
import math
import random
import types
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from spaql import fastmath
from spaql.compiling import callback, inlined
from spaql.errors import SpaqlError
from spaql.numba_version import errors
from spaql.plants.uncompiled import why

TAKE_NUMBERS = "Let it take uniform numbers as parameters instead, one per number it needs"

_FAST = {name: getattr(fastmath, name) for name in ("sin", "cos", "exp", "log", "tanh")}


def _fast_module(module: types.ModuleType) -> types.ModuleType:
    fast = types.ModuleType(module.__name__)
    fast.__dict__.update(_FAST)
    fast.__dict__["__getattr__"] = lambda name: getattr(module, name)
    return fast


_MODULES = {math: _fast_module(math), np: _fast_module(np)}


_compiled: dict[bytes, Any] = {}


def check_parameters(function: Callable[..., Any]) -> None:
    """Compiled code is called with numbers in their order, and with all of them."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            wanted = "its parameters must be plain numbers without defaults"
            raise SpaqlError(f"{function.__name__}({parameter}): {wanted}")


def assembled(
    kind: str, head: str, lines: str, parts: Mapping[str, Callable[..., Any]], signature: Any,
    ours: Mapping[str, Any] = MappingProxyType({}), wide: bool = False,
) -> Any:  # fmt: skip
    """A callback out of our own text, in which the user's functions stand, compiled, under the names of `parts`.

    - `ours`: compiled functions of the package that the text uses
    - `wide`: the loop of the text is over lanes that do not depend on each other
    """
    key = hashlib.sha256((head + lines).encode() + b"".join(digest(part) for part in parts.values())).hexdigest()[:16]
    name = f"{kind}_{key}"
    scope: dict[str, Any] = {"__name__": __name__, "nan": math.nan, "np": np, **ours}
    scope |= {part: scalar(function) for part, function in parts.items()}
    exec(compile(f"def {name}{head}:\n{lines}", __file__, "exec"), scope)
    try:
        return callback(scope[name], signature, wide)
    except (errors.NumbaError, errors.UnsupportedBytecodeError) as error:
        if "OptionalType" in str(error):  # what numba calls a value that may be None
            names = " or ".join(part.__name__ for part in parts.values())
            raise SpaqlError(f"{names} returns nothing in some branch: return a value in each of them") from error
        raise SpaqlError(f"{why(error, parts)}; use numbers, math and if/else only") from error


def scalar(function: Callable[..., Any], callers: tuple[Callable[..., Any], ...] = ()) -> Any:
    """The function, with the plain helper functions it calls, compiled with fast mathematics and today's constants."""
    if function in callers:
        raise SpaqlError(f"{function.__name__} calls itself: a plant is written without recursion")
    if any(instruction.opname == "RAISE_VARARGS" for instruction in dis.get_instructions(function)):
        cannot = "raises or asserts: compiled code cannot; end the episode (terminated) instead"
        raise SpaqlError(f"{function.__name__} {cannot}")
    if _draws(function):
        raise SpaqlError(
            f"{function.__name__} draws random numbers of its own, which no seed determines. {TAKE_NUMBERS}"
        )
    key = digest(function)
    if key not in _compiled:

        def fast(value: Any) -> Any:
            if isinstance(value, types.ModuleType) and value in _MODULES:
                return _MODULES[value]
            if getattr(value, "__module__", None) in ("math", "numpy") and str(getattr(value, "__name__", "")) in _FAST:
                return _FAST[value.__name__]  # from math import sin
            return scalar(value, (*callers, function)) if inspect.isfunction(value) else value

        # the name of our module: the code on disk must load where the user's module is not to be found
        scope = dict(function.__globals__) | {"__name__": __name__}
        scope |= {name: fast(scope[name]) for name in _names(function.__code__) if name in scope}
        cells = tuple(types.CellType(fast(cell.cell_contents)) for cell in function.__closure__ or ())
        name, defaults = function.__name__, function.__defaults__
        _compiled[key] = inlined(types.FunctionType(function.__code__, scope, name, defaults, cells or None))
    return _compiled[key]


def _draws(function: Callable[..., Any]) -> bool:
    """Whether it calls Python's or NumPy's random numbers, which compile but follow no seed of ours."""
    names = _names(function.__code__)
    used = [function.__globals__[name] for name in names if name in function.__globals__]
    used += [cell.cell_contents for cell in function.__closure__ or ()]
    if any(value is np for value in used) and "random" in names and "random" not in function.__globals__:
        return True  # np.random.normal()
    homes = (random, np.random)
    return any(value in homes if isinstance(value, types.ModuleType) else _is_drawing(value) for value in used)


def _is_drawing(value: Any) -> bool:
    """from random import gauss"""
    return isinstance(getattr(value, "__self__", None), random.Random | np.random.RandomState)


def _names(code: types.CodeType) -> set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*(_names(c) for c in inner))


def digest(function: Callable[..., Any]) -> bytes:
    """Everything the compiled function depends on, so that a changed constant never meets old machine code."""
    made = hashlib.sha256()
    pending: list[Any] = [function]
    seen: dict[Any, int] = {}

    def add(kind: str, data: bytes) -> None:
        made.update(f"{kind} {len(data)} ".encode() + data)  # with its length, so that no two sequences look alike

    while pending:
        item = pending.pop()
        if inspect.isfunction(item):
            again = item in seen
            add("function", str(seen.setdefault(item, len(seen))).encode())
            if again:
                continue  # written already; its number tells which it was
            names = sorted(_names(item.__code__))
            used = [item.__globals__[n] for n in names if n in item.__globals__]
            own = [module for module in used if isinstance(module, types.ModuleType) and module not in _MODULES]
            cells = [cell.cell_contents for cell in item.__closure__ or ()]
            pending += [item.__code__, item.__defaults__, *used, *cells]
            pending += [getattr(module, n) for module in own for n in names if hasattr(module, n)]  # par.G
        elif isinstance(item, types.CodeType):
            names_used = (item.co_argcount, item.co_varnames, item.co_names, item.co_freevars)
            add("code", item.co_code + repr(names_used).encode())
            pending += item.co_consts
        elif isinstance(item, np.ndarray):
            add(f"array {item.dtype} {item.shape}", np.ascontiguousarray(item).tobytes())
        elif hasattr(item, "py_func"):
            pending.append(item.py_func)
        elif isinstance(item, tuple | list):
            add("sequence", str(len(item)).encode())
            pending += item
        elif isinstance(item, types.ModuleType):
            add("module", item.__name__.encode())
        else:
            add("value", repr(item).encode())
    return made.digest()
