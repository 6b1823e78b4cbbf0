"""Limits: what a variable or an action shall not exceed, counted in every evaluation. Interlocks: rules that forbid
actions while a variable is beyond a threshold."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import bound, real, text
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis, Continuous, Finite


@dataclass(frozen=True)
class Limit:
    """From `low` to `high`: a limit on an observed variable or on an action axis, by its name, in physical units."""

    variable: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not text("a limit names an observed variable or an action axis, which", self.variable):
            raise SpaqlError("a limit names an observed variable or an action axis")
        for end in ("low", "high"):
            object.__setattr__(self, end, bound(f"the limit on {self.variable}: {end}", getattr(self, end)))
        if math.isinf(self.low) and math.isinf(self.high):
            raise SpaqlError(f"the limit on {self.variable} has no bound: give low, high or both")
        if self.low >= self.high:
            raise SpaqlError(f"the limit on {self.variable}: low = {self.low:g} must be below high = {self.high:g}")

    def text(self, unit: str = "") -> str:
        """ "|angle| ≤ 0.2 rad", "0 ≤ level ≤ 1.5 m", "level ≥ 0 m"."""
        behind = f" {unit}" if unit else ""
        if math.isinf(self.low):
            return f"{self.variable} ≤ {self.high:.6g}{behind}"
        if math.isinf(self.high):
            return f"{self.variable} ≥ {self.low:.6g}{behind}"
        if self.low == -self.high:
            return f"|{self.variable}| ≤ {self.high:.6g}{behind}"
        return f"{self.low:.6g} ≤ {self.variable} ≤ {self.high:.6g}{behind}"


def limited_names(state: Sequence[Axis], actions: Continuous | Finite) -> list[str]:
    """What a limit can be on: the observed variables, then the axes of the action."""
    return [*(axis.name for axis in state), *actions.axis_names]


def checked_limits(limits: Any, state: Sequence[Axis], actions: Continuous | Finite) -> tuple[Limit, ...]:
    """One limit at most per name, each of a name that is there once; angular_velocity means 'angular velocity'."""
    given = tuple(limits) if isinstance(limits, Iterable) else (limits,)
    names, checked = limited_names(state, actions), dict[str, Limit]()
    for limit in given:
        if not isinstance(limit, Limit):
            raise SpaqlError(f"limits are a list of spaql.Limit(variable, low, high), not {echoed(limit)}")
        spoken = limit.variable.replace("_", " ")
        name = limit.variable if limit.variable in names or spoken not in names else spoken
        if name not in names:
            raise SpaqlError(f"a limit on {name!r}: there is no such variable or action; choose among {_listed(names)}")
        if names.count(name) > 1:
            raise SpaqlError(f"a limit on {echoed(name)}: several variables or actions have this name; rename them")
        _satisfiable(limit, names.index(name), state, actions)
        if name in checked:
            raise SpaqlError(f"two limits on {echoed(name)}: give one, with low and high")
        checked[name] = Limit(name, limit.low, limit.high)
    return tuple(checked.values())


def _satisfiable(limit: Limit, place: int, state: Sequence[Axis], actions: Continuous | Finite) -> None:
    """Something of what the axis can be must be within the limit."""
    low, high = [*(axis.ends for axis in state), *zip(*(end.tolist() for end in actions.bounds), strict=True)][place]
    if limit.low > high or limit.high < low:
        raise SpaqlError(f"the limit {limit.text()} can never hold: its range is {low:g} to {high:g}")


def limit_table(limits: Sequence[Limit], state: Sequence[Axis], actions: Continuous | Finite) -> Array:
    """As compiled code reads them: (limits, 3) place in observation and action one behind the other, low, high."""
    names = limited_names(state, actions)
    rows = [(names.index(limit.variable), limit.low, limit.high) for limit in limits]
    return np.array(rows, float).reshape(-1, 3)


def limit_units(limits: Sequence[Limit], state: Sequence[Axis], actions: Continuous | Finite) -> tuple[str, ...]:
    units = [*(axis.unit for axis in state), *actions.axis_units]
    names = limited_names(state, actions)
    return tuple(units[names.index(limit.variable)] for limit in limits)


def _listed(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


# -- interlocks -------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Interlock:
    """While `when` is at least `above` (or at most `below`), the action is kept within `low` ... `high`.

    spaql.Interlock("current", above=8.0, action="voltage", high=0.0): no more voltage while the current is too high.
    """

    when: str
    above: float | None = None
    below: float | None = None
    action: str | None = None  # None: the only one
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        text("the variable of an interlock", self.when)
        if self.action is not None:
            text(f"the interlock on {self.when}: action", self.action)
        if (self.above is None) == (self.below is None):
            raise SpaqlError(f"the interlock on {echoed(self.when)} takes one threshold: above=... or below=...")
        for name in ("above", "below"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real(f"interlock on {self.when}: {name}", getattr(self, name)))
        for name in ("low", "high"):
            object.__setattr__(self, name, bound(f"interlock on {self.when}: {name}", getattr(self, name)))
        if not self.low <= self.high or (math.isinf(self.low) and math.isinf(self.high)):
            raise SpaqlError(f"the interlock on {self.when!r} keeps the action within low=... and high=...: give them")

    def __str__(self) -> str:
        condition = f"{self.when} >= {self.above:g}" if self.above is not None else f"{self.when} <= {self.below:g}"
        span = f"within {self.low:g} ... {self.high:g}"
        if math.isinf(self.low):
            span = f"at most {self.high:g}"
        elif math.isinf(self.high):
            span = f"at least {self.low:g}"
        return f"while {condition}: {self.action or 'the action'} {span}"


class Bounds(NamedTuple):
    """An interlock in symbols: while `symbol` `sign` `at` holds, `action` stays from `low` to `high`."""

    action: str
    symbol: str
    sign: str
    at: float
    low: float
    high: float


def within(
    lock: Interlock, actions: Sequence[str], symbols: Mapping[str, str], actuator: Continuous | Finite
) -> Bounds:
    """What an interlock does, with the actions that are left."""
    if lock.when not in symbols:
        raise SpaqlError(f"interlock: there is no variable {echoed(lock.when)}: choose {', '.join(symbols)}")
    if lock.action is None and len(actions) > 1:
        raise SpaqlError(f"the interlock on {echoed(lock.when)} must name its action: {', '.join(actions)}")
    name = lock.action or actions[0]
    if name not in actions:
        raise SpaqlError(f"interlock: there is no action {echoed(name)}: choose {', '.join(actions)}")
    j = actions.index(name)
    if actuator.values:
        left = [float(value) for value in actuator.values if lock.low <= value <= lock.high]
        low, high = (min(left), max(left)) if left else (math.nan, math.nan)
    else:
        least, most = actuator.bounds
        low, high = max(lock.low, float(least[j])), min(lock.high, float(most[j]))
    if not low <= high:
        raise SpaqlError(f"{lock}: no action is left")
    sign, at = (">=", lock.above) if lock.above is not None else ("<=", lock.below)
    assert at is not None
    return Bounds(f"u{j}", symbols[lock.when], sign, at, low, high)


def excludes(bounds: Bounds, other: Bounds) -> bool:
    """Whether no action satisfies both."""
    return bounds.action == other.action and max(bounds.low, other.low) > min(bounds.high, other.high)


def check_together(locks: Sequence[Interlock], bounds: Sequence[Bounds]) -> None:
    """Whichever of the interlocks are active at a time, they leave an action. Of intervals all have a point in common
    if every two have one, so that pairs decide; conditions on different variables can always hold together."""
    for (lock, a), (other, b) in itertools.combinations(zip(locks, bounds, strict=True), 2):
        opposed = a.symbol == b.symbol and a.sign != b.sign
        apart = opposed and (a.at > b.at if a.sign == ">=" else b.at > a.at)
        if not apart and excludes(a, b):
            raise SpaqlError(f"two interlocks contradict each other, {lock}; {other}: both can hold, no action is left")
