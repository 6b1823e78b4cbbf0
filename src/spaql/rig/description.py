"""`rig.toml`: what the machine is, what is wanted of it, what must hold, and which controller takes over."""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import choice, items, real, text, whole
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis, Continuous
from spaql.plants.limits import Limit
from spaql.plants.loop_plant import Payment, payment_of
from spaql.plants.memory import KINDS
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.plants.signals import Signals, signals_of
from spaql.plants.statements import check_statements
from spaql.policy.law import law
from spaql.policy.policy import Policy
from spaql.rig.formula import check_keys, goal_of, pair_of, pair_within, rewards, table_of, tables_of

EXAMPLE = Path(__file__).with_name("example.toml").read_text("utf-8")
KEYS = {  # of every table of rig.toml
    "rig": ("name", "period", "steps", "chance", "excite", "excited", "laws", "sees", "watchdog"),
    "measured": ("unit", "range", "limit", "turn", "start"),
    "actions": ("unit", "range", "rate", "safe"),
    "references": ("of", "range", "hold", "rate", "values", "unit"),
    "goal": ("reward", "target", "effort"),
}
EXCITED = 1  # trials around the fallback before the first law
PATIENCE = 5  # periods after which the live loop gives up waiting
MOST_STEPS = 100_000  # of a trial


@dataclass(frozen=True)
class Description:
    """What `rig.toml` says, checked."""

    name: str
    period: float  # s
    steps: int  # of a trial
    chance: float  # of touching a limit in a trial, at most
    excite: float  # of the range of an action
    excited: int  # trials around the fallback
    laws: int  # at most
    watchdog: float  # s
    state: tuple[Axis, ...]
    starts: dict[str, tuple[float, float]]  # of measured variables, where rig.toml says it
    actions: Continuous
    limits: tuple[Limit, ...]
    rates: tuple[float, ...]
    safe: tuple[float, ...]
    references: tuple[Reference, ...]
    reward: Callable[..., float] | None
    gains: dict[str, dict[str, float]]  # of the fallback, by action
    offsets: dict[str, float]
    sees: tuple[str, ...]
    memory: tuple[str, ...]

    @property
    def bare(self) -> Problem:
        """The machine alone, as logs show it; without a plant."""
        return Problem(self.name, f"the rig {self.name}", self.state, self.actions, self.steps, dt=self.period)

    def signals(self, more: Sequence[str] = (), excitation: Sequence[Reference] = ()) -> Signals:
        """Around the machine; `more`: memory, and what is measured, that a law also sees."""
        memory = tuple(dict.fromkeys([*self.memory, *(name for name in more if "(" in name)]))
        shown = tuple(dict.fromkeys([*self.sees, *more, *(signal.name for signal in excitation)]))
        return signals_of(
            measured=self.state, actuator=self.actions, references=(*self.references, *excitation), memory=memory,
            shown=shown, dt=self.period, horizon=self.steps, rates=self.rates,
        )  # fmt: skip

    def stated(self, more: Sequence[str] = (), excitation: Sequence[Reference] = ()) -> Problem:
        """The machine in its loop, without a plant: what a controller of it belongs to."""
        signals = self.signals(more, excitation)
        return replace(
            self.bare, state=signals.state, actions=signals.actions, signals=signals, limits=self.shown_limits(signals)
        )

    def shown_limits(self, signals: Signals) -> tuple[Limit, ...]:
        """Those that can be counted by what a law sees; the rig itself counts all."""
        names = {*(axis.name for axis in signals.state), *signals.action_names}
        return tuple(limit for limit in self.limits if limit.variable in names)

    @property
    def payment(self) -> tuple[Signals, Payment]:
        """What is paid, and the signals with all that it may ask for."""
        signals = Signals(**self.signals().parts() | {"shown": ()})
        payment = payment_of(signals, self.reward)
        assert payment is not None
        return signals, payment

    @property
    def names(self) -> list[str]:
        """Of all that is measured and applied."""
        return [*(axis.name for axis in self.state), *self.actions.axis_names]

    def paid(self, y: Array, r: Array, u: Array) -> Array:
        """What steps are paid, by what was measured; r may have the excitation behind the references."""
        signals, payment = self.payment
        return np.array(rewards(signals, payment, y, r[:, : len(self.references)], u))

    def fallback(self, problem: Problem) -> Policy:
        """The engineer's own controller on this problem."""
        return self.law(problem, self.gains)

    def law(self, problem: Problem, gains: dict[str, dict[str, float]]) -> Policy:
        """The fallback with other gains, by action."""
        if len(gains) > 1:
            return law(problem, gains, self.offsets, "fallback")
        (only,), (offset,) = gains.values(), self.offsets.values()
        return law(problem, only, offset, "fallback")


def read_description(path: Path) -> Description:
    """What a file says."""
    try:
        return description_of(path.read_text("utf-8"), path.name)
    except OSError as error:
        raise SpaqlError(f"cannot read {path}: {error.strerror}; make a rig with spaql.Rig.new(...)") from error
    except UnicodeDecodeError as error:
        raise SpaqlError(f"cannot read {path}: it is not a text in UTF-8") from error


def description_of(written: str, file: str = "rig.toml") -> Description:
    """What a text says, with the name of its file for messages."""
    try:
        tables = tomllib.loads(text("rig.toml", written))
    except tomllib.TOMLDecodeError as error:
        raise SpaqlError(f"{file} is no TOML: {error}") from error
    try:
        return _described(tables)
    except SpaqlError as error:
        raise SpaqlError(f"{file}: {error}") from error


def _described(tables: dict[str, Any]) -> Description:
    check_keys("rig.toml", tables, (*KEYS, "fallback"))
    rig, goal = table_of("rig", tables.get("rig", {})), table_of("goal", tables.get("goal", {}))
    check_keys("[rig]", rig, KEYS["rig"])
    measured, acting, following = (
        tables_of(kind, tables, KEYS[kind]) for kind in ("measured", "actions", "references")
    )
    for kind, entries in (("measured", measured), ("actions", acting)):
        if not entries:
            raise SpaqlError(f"there is no [{kind}.NAME]: name what is {'measured' if kind == 'measured' else 'moved'}")
    period = real("[rig] period", rig.get("period"), 0.0, above=True)
    steps = whole("[rig] steps", rig.get("steps", 100), 10, MOST_STEPS)
    state = tuple(_axis(name, entry) for name, entry in measured.items())
    ends = [pair_of(f"[actions.{name}] range", entry.get("range")) for name, entry in acting.items()]
    units = tuple(text(f"[actions.{name}] unit", entry.get("unit", "")) for name, entry in acting.items())
    low, high = (tuple(end[k] for end in ends) for k in (0, 1))
    actions = Continuous(low, high, tuple(acting), units)
    safe = tuple(
        real(f"[actions.{name}] safe", entry.get("safe", neutral), *end)
        for (name, entry), end, neutral in zip(acting.items(), ends, actions.neutral, strict=True)
    )
    limits = [_limit(axis, measured[axis.name]["limit"]) for axis in state if "limit" in measured[axis.name]]
    starts = {
        name: pair_of(f"[measured.{name}] start", entry["start"])
        for name, entry in measured.items()
        if "start" in entry
    }
    references = tuple(_reference(name, entry, state) for name, entry in following.items())
    rates = _rates(acting, ends)
    gains, offsets = _fallback(tables.get("fallback"), acting, ends)
    errors = [f"{signal.of}_error" for signal in references if signal.of is not None]
    others = [axis.name for axis in state if f"{axis.name}_error" not in errors]
    usual = [*errors, *(f"integral({name})" for name in errors), *others]
    sees = [text("[rig] sees", name) for name in items("[rig] sees", rig.get("sees", usual))]
    limited = [f"previous({name})" for name in acting if rates]  # what a rate limit keeps is a part of the state
    sees = list(dict.fromkeys([*sees, *(name for law in gains.values() for name in law), *limited]))
    check_keys("[goal]", goal, KEYS["goal"])
    paid, wanted = goal_of(goal, state, references, [*errors, *(axis.name for axis in state)], list(acting))
    called = [name for name in (*sees, *wanted) if name.partition("(")[0] in KINDS and name.endswith(")")]
    described = Description(
        name=text("[rig] name", rig.get("name", "rig")),
        period=period,
        steps=steps,
        chance=real("[rig] chance", rig.get("chance", 0.01), 0.0, 1.0),
        excite=real("[rig] excite", rig.get("excite", 0.2), 0.0, 1.0),
        excited=whole("[rig] excited", rig.get("excited", EXCITED), 1, 100),
        laws=whole("[rig] laws", rig.get("laws", 1), 1, 8),
        watchdog=real("[rig] watchdog", rig.get("watchdog", PATIENCE * period), period),
        state=state,
        starts=starts,
        actions=actions,
        limits=tuple(limits),
        rates=rates,
        safe=safe,
        references=references,
        reward=paid,
        gains=gains,
        offsets=offsets,
        sees=tuple(sees),
        memory=tuple(dict.fromkeys(called)),
    )
    described.fallback(described.stated())  # here signals and limits are checked
    check_statements(described.signals(), described.limits, ())
    described.payment  # noqa: B018
    return described


def _axis(name: str, entry: Mapping[str, Any]) -> Axis:
    low, high = pair_of(f"[measured.{name}] range", entry.get("range"))
    if "start" in entry:
        pair_within(f"[measured.{name}] start", entry["start"], entry.get("limit", [low, high]), "the limit")
    turn = (high - low) if entry.get("turn", False) is True else None
    return Axis(name, low, high, unit=text(f"[measured.{name}] unit", entry.get("unit", "")), period=turn)


def _limit(axis: Axis, given: Any) -> Limit:
    """Open at the end of the sensor's range."""
    low, high = pair_within(f"[measured.{axis.name}] limit", given, [axis.low, axis.high], "the range of the sensor")
    if (low, high) == (axis.low, axis.high):
        raise SpaqlError(f"[measured.{axis.name}] limit is the range of the sensor, which could not see it violated")
    return Limit(axis.name, -math.inf if low == axis.low else low, math.inf if high == axis.high else high)


def _reference(name: str, entry: Mapping[str, Any], state: Sequence[Axis]) -> Reference:
    of = choice(f"[references.{name}] of", entry["of"], [axis.name for axis in state]) if "of" in entry else None
    own = next((axis.unit for axis in state if axis.name == of), "")
    unit = text(f"[references.{name}] unit", entry.get("unit", own))
    if of is not None and unit != own:
        raise SpaqlError(
            f"[references.{name}] is in {unit or 'no unit'}, and {of} in {own or 'no unit'}: give it in that"
        )
    low, high = pair_of(f"[references.{name}] range", entry.get("range"))
    hold = tuple(entry["hold"]) if isinstance(entry.get("hold"), list) else entry.get("hold")
    values = tuple(items(f"[references.{name}] values", entry.get("values", ())))
    return Reference(name, low, high, of, hold, entry.get("rate"), values, unit)


def _rates(acting: Mapping[str, Any], ends: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Of all actions, where one has a rate; () where none has."""
    if not any("rate" in entry for entry in acting.values()):
        return ()
    return tuple(
        real(f"[actions.{name}] rate", entry.get("rate", high - low), 0.0, above=True)
        for (name, entry), (low, high) in zip(acting.items(), ends, strict=True)
    )


def _fallback(
    given: Any, acting: Mapping[str, Any], ends: Sequence[tuple[float, float]]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Gains and offsets by action."""
    if given is None:
        raise SpaqlError(
            "there is no [fallback]: give your own controller, or a constant that does no harm, voltage = 0.0"
        )
    check_keys("[fallback]", table_of("fallback", given), tuple(acting))
    gains: dict[str, dict[str, float]] = {}
    offsets: dict[str, float] = {}
    for (name, _), (low, high) in zip(acting.items(), ends, strict=True):
        if name not in given:
            raise SpaqlError(
                f"[fallback] does not say what {name} shall be: a constant, or [fallback.{name}] with gains"
            )
        entry = given[name] if isinstance(given[name], dict) else {"offset": given[name]}
        offsets[name] = real(f"[fallback] {name}: offset", entry.get("offset", 0.0))
        gains[name] = {of: real(f"[fallback] {name}: {of}", value) for of, value in entry.items() if of != "offset"}
        if not gains[name] and not low <= offsets[name] <= high:
            raise SpaqlError(
                f"[fallback] {name} = {offsets[name]:g} is outside its range {low:g} ... {high:g}: it would be cut"
            )
    return gains, offsets
