"""The signals of a loop in files: memory, references and rules travel with agents and policies."""

import math
from dataclasses import asdict, replace
from typing import Any

from spaql.checks import flag, real, whole
from spaql.errors import SpaqlError
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.interlocks import Interlock
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.plants.signals import Signals, signals_of

MOST = 1000  # entries of a list that are read
LONGEST = 1000  # letters of a name
AXIS = ("name", "low", "high", "slope", "centre", "unit")
REFERENCE = ("name", "low", "high", "of", "hold", "rate", "values", "unit")
INTERLOCK = ("when", "above", "below", "action", "low", "high")
PARTS = (
    "measured", "actuator", "references", "memory", "shown", "dt", "increments", "rates", "interlocks", "horizon",
)  # fmt: skip


def signals_for_file(signals: Signals) -> dict[str, Any]:
    """Plain data; open ends are null."""
    actuator = {"kind": "finite" if isinstance(signals.actuator, Finite) else "continuous"} | asdict(signals.actuator)
    return {
        "measured": [_closed(asdict(axis)) for axis in signals.measured],
        "actuator": actuator,
        "references": [asdict(one) for one in signals.references],
        "memory": list(signals.memory),
        "shown": list(signals.shown),
        "dt": signals.dt,
        "increments": list(signals.increments),
        "rates": list(signals.rates),
        "interlocks": [_closed(asdict(one)) for one in signals.interlocks],
        "horizon": int(signals.horizon),
    }


def _closed(told: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in told.items()}


def with_signals_of_file(problem: Problem, told: Any) -> Problem:
    """The problem of a file in the loop that stands there, read with distrust; `told` is None if there is none."""
    if told is None:
        return problem
    signals = _signals(told)
    if (signals.state, signals.actions) != (problem.state, problem.actions):
        raise SpaqlError("its loop shows other variables or takes other actions than it says")
    return replace(problem, signals=signals)


def _signals(told: Any) -> Signals:
    parts = _fields("a loop", told, PARTS)
    actuator = _actuator(parts["actuator"])
    return signals_of(
        measured=tuple(_axis(one) for one in _list("measured", parts["measured"])),
        actuator=actuator,
        references=tuple(_reference(one) for one in _list("references", parts["references"])),
        memory=tuple(_text("memory", one) for one in _list("memory", parts["memory"])),
        shown=tuple(_text("shown", one) for one in _list("shown", parts["shown"])),
        dt=real("dt", parts["dt"], 0.0, above=True),
        increments=_steps("increments", parts["increments"], actuator),
        rates=_steps("rates", parts["rates"], actuator),
        interlocks=tuple(_interlock(one) for one in _list("interlocks", parts["interlocks"])),
        horizon=whole("horizon", parts["horizon"], 1),
    )


def _axis(told: Any) -> Axis:
    one = _fields("a measured variable", told, AXIS)
    low, high = _open(one["low"], -math.inf), _open(one["high"], math.inf)
    slope = None if one["slope"] is None else real("slope", one["slope"])
    return Axis(_text("name", one["name"]), low, high, slope, real("centre", one["centre"]), _text("unit", one["unit"]))


def _actuator(told: Any) -> Continuous | Finite:
    kind = told.get("kind") if isinstance(told, dict) else None
    keys = ("values", "box") if kind == "finite" else ("low", "high")
    one = _fields("the actuator", told, ("kind", *keys, "names", "units"))
    names, units = (tuple(_text(key, word) for word in _list(key, one[key])) for key in ("names", "units"))
    if kind == "finite":
        return Finite(_numbers("values", one["values"]), flag("box", one["box"]), names, units)
    if kind == "continuous":
        return Continuous(_numbers("low", one["low"]), _numbers("high", one["high"]), names, units)
    raise SpaqlError("the actuator of a loop is finite or continuous")


def _reference(told: Any) -> Reference:
    one = _fields("a reference", told, REFERENCE)
    of = None if one["of"] is None else _text("of", one["of"])
    hold: Any = None if one["hold"] is None else tuple(_list("hold", one["hold"]))
    name, unit = _text("name", one["name"]), _text("unit", one["unit"])
    return Reference(name, one["low"], one["high"], of, hold, one["rate"], _numbers("values", one["values"]), unit)


def _interlock(told: Any) -> Interlock:
    one = _fields("an interlock", told, INTERLOCK)
    action = None if one["action"] is None else _text("action", one["action"])
    low, high = _open(one["low"], -math.inf), _open(one["high"], math.inf)
    return Interlock(_text("when", one["when"]), one["above"], one["below"], action, low, high)


def _steps(name: str, told: Any, actuator: Continuous | Finite) -> tuple[float, ...]:
    """One per axis of the action, or none."""
    many = tuple(real(name, value, 0.0, above=True) for value in _list(name, told))
    if many and len(many) != actuator.axes:
        raise SpaqlError(f"{name}: {len(many)} numbers do not fit {actuator.axes} actions")
    return many


def _fields(name: str, told: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(told, dict) or told.keys() != set(keys):
        raise SpaqlError(f"{name} must be an object with {', '.join(keys)}")
    return told


def _list(name: str, told: Any) -> list[Any]:
    if not isinstance(told, list) or len(told) > MOST:
        raise SpaqlError(f"{name} must be a list of at most {MOST}")
    return told


def _numbers(name: str, told: Any) -> tuple[float, ...]:
    for value in _list(name, told):
        real(name, value)
    return tuple(told)


def _text(name: str, told: Any) -> str:
    if not isinstance(told, str) or len(told) > LONGEST:
        raise SpaqlError(f"{name} must be text of at most {LONGEST} letters")
    return told


def _open(told: Any, end: float) -> float:
    return end if told is None else real("an end", told)
