"""Domain randomisation: a parameter that is another one in every episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spaql.checks import real
from spaql.errors import SpaqlError


@dataclass(frozen=True)
class Between:
    """A parameter drawn uniformly at every reset: `spaql.make("pendulum", m=spaql.Between(0.8, 1.2))`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            object.__setattr__(self, end, real(f"Between: {end}", getattr(self, end)))
        if self.low > self.high:
            raise SpaqlError(f"Between: low must not be above high, got {self.low:g} and {self.high:g}")

    def __str__(self) -> str:
        return f"{self.low:.6g}..{self.high:.6g}"


Value = float | Between


def value_of(name: str, given: Any, low: float, high: float) -> Value:
    """A number or a range, checked. Files hold a range as {"low": ..., "high": ...}."""
    if isinstance(given, Mapping) and set(given) == {"low", "high"}:
        given = Between(**given)
    if not isinstance(given, Between):
        return real(name, given, low, high)
    for end in (given.low, given.high):
        real(f"{name}, drawn from {given},", end, low, high)
    return given


def drawn(low: float, high: float, u: float) -> float:
    """A number of a range from a uniform one; rounding must not lead beyond its end."""
    return min(low + (high - low) * u, high)
