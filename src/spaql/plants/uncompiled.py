"""Why a user's function fails or does not compile, in one line: which function, which line, what numba missed."""

import inspect
import linecache
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from spaql.errors import one_line
from spaql.numba_version import numba

OTHERS = (str(Path(numba.__file__).parent), str(Path(__file__).parents[1]))  # no lines of the user are there
PLACE = re.compile(r"(?:\bat|[Rr]aised from) (\S.*?) \((\d+)\)")
BEHIND = re.compile(r",? (?:for '\$|defined at|found for signature|[Rr]aised from)")  # numba's names and places
CALLED = re.compile(r"\((?:Inside|CPUDispatcher)\(<function (\S+) at ")


def subject(name: str, parts: Mapping[str, Callable[..., Any]]) -> str:
    """A function as messages name it. The reward of a loop stands as `pay` where its step is put together."""
    short = name.rpartition(".")[2]
    for key, part in parts.items():
        told = {"reward": part if key == "reward" else part.__globals__.get("pay"), "terminated": part}
        for role, function in told.items():
            if role in (key, "reward") and getattr(function, "__qualname__", None) == name:
                return f"the {role}" if short in ("<lambda>", "tracking", role) else f"the {role} {short}"
    return short


def why(error: Exception, parts: Mapping[str, Callable[..., Any]]) -> str:
    """ "go, line 7 of motor.py (x = d["k"]): lists, dictionaries, arrays and texts do not compile"."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    places = [found for found in PLACE.finditer(text) if not found[1].startswith(OTHERS)]
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
            told = ", ".join(f"{name} = {value:.6g}" for name, value in given.items())
            who = subject(pay.__qualname__, {"act": function})
            return f"{who} failed with {told}: {error!r}"
        trace = trace.tb_next
    return f"{function.__name__}{tuple(arguments)} failed: {error!r}"
