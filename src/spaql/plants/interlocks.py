"""Interlocks: rules that forbid actions while a variable is beyond a threshold."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spaql.ground.checks import bound, real, text
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Continuous, Finite


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
    if isinstance(actuator, Finite):
        left = [float(value) for value in actuator.values if lock.low <= value <= lock.high]
        low, high = (min(left), max(left)) if left else (math.nan, math.nan)
    else:
        low, high = max(lock.low, float(actuator.low[j])), min(lock.high, float(actuator.high[j]))
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
