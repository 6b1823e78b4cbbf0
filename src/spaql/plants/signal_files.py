"""Signals of a loop and limits in files: plain data, read with distrust. A controller from a file keeps its memory."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.limits import Interlock, Limit
from spaql.plants.problem_text import IN_LOOP
from spaql.plants.references import Reference
from spaql.plants.signals import Signals, signals_of

MOST = 1000  # entries of a list
LONGEST = 1000  # letters of a name


def signals_for_file(signals: Signals) -> dict[str, Any]:
    """Plain data; what is infinite is null."""
    data = signals.parts()
    data |= {name: [_plain(asdict(part)) for part in data[name]] for name in ("measured", "references", "interlocks")}
    kind = "finite" if signals.actuator.values else "continuous"
    return data | {"actuator": {"kind": kind} | _plain(asdict(signals.actuator))}


def _plain(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in entries.items()}


def actions_of_file(entries: Any) -> Continuous | Finite:
    """An action space by its kind."""
    actions = _tuples(entries)
    kind = actions.pop("kind", None)
    if kind not in ("finite", "continuous"):
        raise ValueError("actions must be of kind 'finite' or 'continuous'")
    return (Finite if kind == "finite" else Continuous)(**actions)


def signals_of_file(entries: Any, summary: str) -> Signals | None:
    """What `signals_for_file` has written; None if nothing was. `summary`: of the problem, which names its loop."""
    if entries is None:
        if IN_LOOP in summary:  # without them, interlocks and memory would be lost in silence
            raise ValueError("its controller is for a loop, and the signals of the loop are missing")
        return None
    names = {part.name for part in fields(Signals)}
    if not isinstance(entries, dict) or set(entries) != names:
        raise ValueError(f"signals must be an object with {', '.join(sorted(names))}")
    parts: dict[str, Any] = {
        "measured": _list(entries["measured"], lambda entry: Axis(**_open(entry))),
        "references": _list(entries["references"], lambda entry: Reference(**_tuples(entry))),
        "interlocks": _list(entries["interlocks"], lambda entry: Interlock(**_open(entry))),
        "actuator": actions_of_file(entries["actuator"]),
        "memory": _list(entries["memory"], _text), "shown": _list(entries["shown"], _text),
        "increments": _list(entries["increments"], _positive), "rates": _list(entries["rates"], _positive),
        "dt": _positive(entries["dt"]), "horizon": int(_positive(entries["horizon"])),
    }  # fmt: skip
    for per_action in (parts["increments"], parts["rates"]):
        if len(per_action) not in (0, parts["actuator"].axes):
            raise ValueError("increments and rates are a number per action axis, or none")
    return signals_of(**parts)


def limits_for_file(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """Plain data; an open end is null."""
    return [_plain(asdict(limit)) for limit in limits]


def limits_of_file(entries: Any) -> tuple[Limit, ...]:
    """What `limits_for_file` has written."""
    if not isinstance(entries, list) or len(entries) > MOST:
        raise SpaqlError(f"limits must be a list of at most {MOST}")
    for limit in entries:
        if not isinstance(limit, dict) or limit.keys() != {"variable", "low", "high"}:
            raise SpaqlError("a limit must be an object with variable, low and high")
    return tuple(Limit(limit["variable"], **_open({end: limit[end] for end in ("low", "high")})) for limit in entries)


def check_loop(signals: Signals | None, given: Signals | None) -> None:
    """A controller goes on with another problem only if that has a loop, too, where the loop restricts actions."""
    if signals is not None and given is None and (signals.interlocks or signals.rates):
        raise ValueError("its controller has interlocks or rate limits: give the problem in its loop, spaql.loop(...)")


def _list(entries: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    if not isinstance(entries, list | tuple) or len(entries) > MOST:
        raise ValueError(f"signals have lists of at most {MOST}")
    return tuple(read(value) for value in entries)


def _open(entries: Any) -> dict[str, Any]:
    """Without what is null: its default is infinite."""
    kept = {key: value for key, value in dict(entries).items() if value is not None}
    for key in ("name", "unit", "when", "action"):
        if key in kept:
            _text(kept[key])
    return kept


def _tuples(entries: Any) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in _open(entries).items()}


def _text(name: Any) -> str:
    if not isinstance(name, str) or len(name) > LONGEST:
        raise ValueError(f"a name must be text of at most {LONGEST} letters")
    name.encode()  # half of a pair of surrogates is no text
    return name


def _positive(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
        raise ValueError(f"signals have numbers above 0, not {number!r}")
    return float(number)
