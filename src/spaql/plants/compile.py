"""Plain Python to compiled: `math` means `fastmath`, helpers are compiled along."""

import dis
import functools
import hashlib
import inspect
import linecache
import math
import random
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from spaql.ground import fastmath
from spaql.ground.compiling import callback, inlined
from spaql.ground.errors import SpaqlError, named, one_line
from spaql.ground.numba_public import errors, numba

# -- why a user's function fails or does not compile, in one line: which function, which line, what numba missed -------

OTHERS = (str(Path(numba.__file__).parent), str(Path(__file__).parents[1]))  # no lines of the user are there
PLACE = re.compile(r"(?:\bat|[Rr]aised from) (\S.*?) \((\d+)\)")
BEHIND = re.compile(r",? (?:for '\$|defined at|found for signature|[Rr]aised from)")  # numba's names and places
CALLED = re.compile(r"\((?:Inside|CPUDispatcher)\(<function (\S+) at ")


def subject(name: str, parts: Mapping[str, Callable[..., Any]]) -> str:
    """A function as messages name it. The reward of a loop stands as `pay` where its step is put together."""
    short = name.rpartition(".")[2]
    for key, part in parts.items():
        roles = {"reward": part if key == "reward" else part.__globals__.get("pay"), "terminated": part}
        for role, function in roles.items():
            if role in (key, "reward") and getattr(function, "__qualname__", None) == name:
                return f"the {role}" if short in ("<lambda>", "tracking", role) else f"the {role} {short}"
    return short


def why(error: Exception, parts: Mapping[str, Callable[..., Any]]) -> str:
    """ "go, line 7 of motor.py (x = d["k"]): lists, dictionaries, arrays and texts do not compile"."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    places = [place for place in PLACE.finditer(text) if not place[1].startswith(OTHERS)]
    names = CALLED.findall(text[places[0].end() :] if places else text)
    who = subject(names[0], parts) if names else " or ".join(part.__name__ for part in parts.values())
    return f"{who}{_line(places[0]) if places else ''} does not compile: {_cause(text)}"


def _line(place: "re.Match[str]") -> str:
    file, number = place[1], int(place[2])
    source = one_line(linecache.getline(file, number).strip(), 80)
    return f", line {number} of {Path(file).name}" + (f" ({source})" if source else "")


def _cause(text: str) -> str:
    if "NRT required" in text or "unicode_type" in text:
        return "lists, dictionaries, arrays and texts cannot be compiled"
    lines = [line.strip() for line in text.splitlines()]
    plain = [line for line in lines if line and not line.startswith(("Failed in", "During", "File ", "<source", "---"))]
    said = BEHIND.split(plain[0] if plain else "it fails")[0]
    called = [line.removeprefix(">>> ") for line in plain[:3] if line.startswith(">>> ")]
    return one_line(f"no {called[0]} is known" if called else said.rstrip(".:"), 160)


def failed(error: Exception, function: Callable[..., Any], arguments: Iterable[float]) -> str:
    """ "step go(0.5, 0.0)", or the reward with its arguments if the error comes from there."""
    pay = function.__globals__.get("pay")
    trace = error.__traceback__
    while trace is not None and inspect.isfunction(pay):
        if trace.tb_frame.f_code is pay.__code__:
            given = {name: trace.tb_frame.f_locals[name] for name in inspect.signature(pay).parameters}
            who = subject(pay.__qualname__, {"act": function})
            return f"{who} failed with {named(given, given.values())}: {error!r}"
        trace = trace.tb_next
    return f"{function.__name__}{tuple(arguments)} failed: {error!r}"


TAKE_NUMBERS = "Let it take uniform numbers as parameters instead, one per number it needs"

_FAST = {name: getattr(fastmath, name) for name in ("sin", "cos", "exp", "log", "tanh", "atan2")}


def _fast_module(module: types.ModuleType) -> types.ModuleType:
    fast = types.ModuleType(module.__name__)
    fast.__dict__.update(_FAST)
    fast.__dict__["__getattr__"] = lambda name: getattr(module, name)
    return fast


_MODULES = {math: _fast_module(math), np: _fast_module(np)}


_compiled: dict[bytes, Any] = {}
_callbacks: dict[str, Any] = {}  # by what they are put together from: to load one from the disk takes 20 ms


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
    if name in _callbacks:
        return _callbacks[name]
    scope: dict[str, Any] = {"__name__": __name__, "nan": math.nan, "np": np, **ours}
    scope |= {part: scalar(function) for part, function in parts.items()}
    exec(compile(f"def {name}{head}:\n{lines}", __file__, "exec"), scope)
    try:
        _callbacks[name] = callback(scope[name], signature, wide)
    except (errors.NumbaError, errors.UnsupportedBytecodeError) as error:
        if "OptionalType" in str(error):  # what numba calls a value that may be None
            names = " or ".join(part.__name__ for part in parts.values())
            raise SpaqlError(f"{names} returns nothing in some branch: return a value in each of them") from error
        raise SpaqlError(f"{why(error, parts)}; use numbers, math and if/else only") from error
    return _callbacks[name]


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
        _compiled[key] = inlined(rewired(function, fast, {"__name__": __name__}))
    return _compiled[key]


def rewired(function: Callable[..., Any], other: Callable[[Any], Any], scope: Mapping[str, Any]) -> Any:
    """The function with `other(value)` in the place of every value that it uses, and with the names of `scope`."""
    used = {name: function.__globals__[name] for name in names_in(function.__code__) if name in function.__globals__}
    own = {**function.__globals__, **scope, **{name: other(value) for name, value in used.items()}}
    cells = tuple(types.CellType(other(cell.cell_contents)) for cell in function.__closure__ or ())
    return types.FunctionType(function.__code__, own, function.__name__, function.__defaults__, cells or None)


def _draws(function: Callable[..., Any]) -> bool:
    """Whether it calls Python's or NumPy's random numbers, which compile but follow no seed of ours."""
    names = names_in(function.__code__)
    used = [function.__globals__[name] for name in names if name in function.__globals__]
    used += [cell.cell_contents for cell in function.__closure__ or ()]
    if any(value is np for value in used) and "random" in names and "random" not in function.__globals__:
        return True  # np.random.normal()
    homes = {id(random), id(np.random)}
    owners = [getattr(value, "__self__", None) for value in used]  # from random import gauss
    drawing = any(isinstance(owner, random.Random | np.random.RandomState) for owner in owners)
    return drawing or any(id(value) in homes for value in used)


def names_in(code: types.CodeType) -> set[str]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*(names_in(c) for c in inner))


def digest(function: Callable[..., Any]) -> bytes:
    """Everything the compiled function depends on, so that a changed constant never meets old machine code."""
    hashed = hashlib.sha256()
    pending: list[Any] = [function]
    seen: dict[Any, int] = {}

    def add(kind: str, data: bytes) -> None:
        hashed.update(f"{kind} {len(data)} ".encode() + data)  # with its length, so that no two sequences look alike

    while pending:
        item = pending.pop()
        if inspect.isfunction(item):
            again = item in seen
            add("function", str(seen.setdefault(item, len(seen))).encode())
            if again:
                continue  # written already; its number tells which it was
            names = sorted(names_in(item.__code__))
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
    return hashed.digest()


# -- functions put together as text: plants in loops are made of them. What users wrote enters by name -----------------

def function_of(scope: dict[str, Any], head: str, lines: Sequence[str]) -> Any:
    """The function with this head and these lines, which may call what is in the scope."""
    own = scope | {"__name__": __name__}
    exec(compile("\n    ".join([f"def {head}:", *lines]), __file__, "exec"), own)
    return own[head.partition("(")[0]]


def names(letter: str, count: int) -> list[str]:
    """["s0", "s1", ...]"""
    return [f"{letter}{j}" for j in range(count)]


def listed(*parts: Iterable[str]) -> str:
    """Names as arguments or as a tuple."""
    return "".join(f"{name}, " for part in parts for name in part)


class Remade:
    """What holds such functions: found by no name when it is pickled, and compiled ones are not copied."""

    origin: tuple[Callable[..., Any], tuple[Any, ...]] | None  # who made it, and of what

    def __reduce_ex__(self, protocol: Any) -> Any:
        return super().__reduce_ex__(protocol) if self.origin is None else self.origin

    def __getstate__(self) -> dict[str, Any]:
        """Without what was computed from the rest: it has compiled code in it."""
        parts = [part for kind in type(self).__mro__ for part in vars(kind).items()]
        computed = {name for name, part in parts if isinstance(part, functools.cached_property)}
        return {name: value for name, value in vars(self).items() if name not in computed}

    def __deepcopy__(self, memo: Any) -> Any:
        return self  # nothing in it changes
