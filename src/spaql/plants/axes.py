"""What a controller sees and does: the axes of the observation, and the actions, a box or a finite set."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spaql.arrays import Array
from spaql.checks import real
from spaql.errors import SpaqlError
from spaql.plants.space import MAX_AXES


@dataclass(frozen=True)
class Axis:
    """One observed variable: linear from `low` to `high`, or with a `slope` through tanh(slope * (value - centre))."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    slope: float | None = None
    centre: float = 0.0
    unit: str = ""

    def __post_init__(self) -> None:
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, float | np.floating) or math.isfinite(bound):  # infinite and NaN are judged below
                real(f"{self.name}: {name}", bound)
        real(f"{self.name}: centre", self.centre)
        if self.slope is not None:
            real(f"{self.name}: the slope of a sigmoid axis", self.slope, 0.0, above=True)
        elif not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            wanted = "give finite low <= high, or a slope for an unbounded variable"
            raise SpaqlError(f"{self.name}: {wanted} (got {self.low}, {self.high})")


@dataclass(frozen=True)
class Continuous:
    """Actions in a box; physical units."""

    box: ClassVar[bool] = True  # the plant takes an action as an array, of numbers of this type
    number: ClassVar[type[float]] = float
    low: tuple[float, ...]
    high: tuple[float, ...]
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for bound in ("low", "high"):
            object.__setattr__(self, bound, _tuple_of_numbers("action bounds", getattr(self, bound)))
        if not (0 < len(self.low) == len(self.high) <= MAX_AXES):
            raise SpaqlError(
                f"continuous actions have 1 to {MAX_AXES} axes with a low and a high each; got {self.low}, {self.high}"
            )
        if not all(math.isfinite(a) and math.isfinite(b) and a < b for a, b in zip(self.low, self.high, strict=True)):
            raise SpaqlError(f"action bounds must be finite and low < high; got {self.low}, {self.high}")
        _check_labels(self.names, self.units, self.axes)

    @property
    def axes(self) -> int:
        """Numbers that make one action."""
        return len(self.low)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest value of every axis."""
        return np.array(self.low, float), np.array(self.high, float)


@dataclass(frozen=True)
class Finite:
    """A finite set of actions. `box`: the plant takes them as a vector of one number (torques), not as an integer."""

    values: tuple[float, ...]
    box: bool = False
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _tuple_of_numbers("a finite action set", self.values))
        different = len(set(self.values)) == len(self.values)
        if not self.values or not different or not all(math.isfinite(v) for v in self.values):
            raise SpaqlError(f"a finite action set is one or more different finite numbers; got {self.values}")
        _check_labels(self.names, self.units, self.axes)

    @property
    def axes(self) -> int:
        """Numbers that make one action."""
        return 1

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest value of the one axis."""
        return np.array([min(self.values)], float), np.array([max(self.values)], float)

    @property
    def consecutive(self) -> bool:
        """Whole numbers in a row: what Gymnasium calls Discrete."""
        return self.values == tuple(range(int(self.values[0]), int(self.values[0]) + len(self.values)))

    @property
    def number(self) -> type[int] | type[float]:
        """The type of the values: `int` if all are whole."""
        return int if all(value == round(value) for value in self.values) else float


def _tuple_of_numbers(name: str, given: Any) -> tuple[float, ...]:
    """Plain Python numbers, whole ones whole, from a number or a sequence."""
    try:
        array = np.atleast_1d(np.asarray(given))
    except ValueError:  # ragged
        array = np.empty((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise SpaqlError(f"{name} must be numbers, not {given!r}")
    return tuple(array.tolist())


def _check_labels(names: tuple[str, ...], units: tuple[str, ...], axes: int) -> None:
    for what, labels in (("names", names), ("units", units)):
        if len(labels) not in (0, axes) or not all(isinstance(label, str) for label in labels):
            raise SpaqlError(f"{what} of actions: one text per action axis ({axes}), or none; got {labels!r}")
