"""What a controller sees and does: the axes of the observation, and the actions, a box or a finite set."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import FAR, flag, items, real, text
from spaql.ground.errors import SpaqlError, echoed

# -- sizes of a problem, as kernels need them, and how large they may be -----------------------------------------------

MAX_AXES = 4  # continuous action axes of a partition: their key has k * MAX_DEPTH <= 63 bits
MOST_AXES = 16  # continuous action axes of laws
MAX_SPLIT = 1 << 14  # children of one split


class Space(NamedTuple):
    """Sizes of the problem, as the kernels need them."""

    d: int  # state dimensions
    k: int  # continuous action axes, 0 for a finite set
    m: int  # actions of a finite set, 0 if continuous
    horizon: int
    trees: int
    cut: int = 2  # parts a split makes of a list of actions: two halves, or more than 2 for single actions


ROUNDED = 1e-6  # of a period: what low and high may be off
NARROWEST = 1e-12  # part of its bounds that a range has to have: of less, double precision tells no cells apart


@dataclass(frozen=True)
class Axis:
    """One observed variable: linear from `low` to `high`, or with a `slope` through tanh(slope * (value - centre)).

    `period`: of an angle that goes on at `low` where it ends at `high`, the length of its turn.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf
    slope: float | None = None
    centre: float = 0.0
    unit: str = ""
    period: float | None = None

    def __post_init__(self) -> None:
        if not text("the name of a variable", self.name):
            raise SpaqlError("a variable needs a name")
        text(f"{self.name}: unit", self.unit)
        for name, bound in (("low", self.low), ("high", self.high)):
            if not isinstance(bound, float | np.floating) or math.isfinite(bound):  # infinite and NaN are judged below
                real(f"{self.name}: {name}", bound)
        real(f"{self.name}: centre", self.centre)
        if self.slope is not None:
            real(f"{self.name}: the slope of a sigmoid axis", self.slope, 0.0, above=True)
        elif not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            wanted = "give finite low <= high, or a slope for an unbounded variable"
            raise SpaqlError(f"{self.name}: {wanted} (got {self.low}, {self.high})")
        elif self.low < self.high:  # equal: a constant
            _wide(self.name, self.low, self.high)
        if self.period is not None:
            turn = real(f"{self.name}: period", self.period, 0.0, above=True)
            if self.slope is not None or abs(self.high - self.low - turn) > ROUNDED * turn:
                ends = f"{self.low:g} ... {self.high:g}"
                raise SpaqlError(f"{self.name}: one period is the whole range from low to high, not {turn:g} of {ends}")

    @property
    def ends(self) -> tuple[float, float]:
        """What it can be: from the lowest to the highest value, which are infinite where it has a slope."""
        return (self.low, self.high) if self.slope is None else (-math.inf, math.inf)

    @property
    def usual(self) -> tuple[float, float]:
        """What it usually is: the whole range or, of a sigmoid axis, where its map is not flat."""
        if self.slope is None:
            return self.low, self.high
        return self.centre - 1.0 / self.slope, self.centre + 1.0 / self.slope

    @property
    def width(self) -> float:
        """Of what it usually is."""
        return self.high - self.low if self.slope is None else 2.0 / self.slope


def box_of(axes: Sequence[Axis]) -> tuple[Array, Array]:
    """The lowest and the highest observation, as Gymnasium's spaces take them."""
    low, high = np.array([axis.ends for axis in axes], float).T.copy()
    return low, high


class ActionSpace:
    """What a box of actions and a finite set have in common."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    def __post_init__(self) -> None:
        """Names and units as tuples, one text per axis, or none."""
        for what in ("names", "units"):
            given, axes = getattr(self, what), self.axes
            labels = tuple(text(f"{what} of actions: each", label) for label in items(f"{what} of actions", given))
            if len(labels) not in (0, axes):
                raise SpaqlError(f"{what} of actions: one text per action axis ({axes}), or none; got {echoed(given)}")
            object.__setattr__(self, what, labels)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest value of every axis."""
        raise NotImplementedError

    @property
    def axes(self) -> int:
        """Numbers that make one action."""
        return len(self.bounds[0])

    @property
    def axis_names(self) -> list[str]:
        """By axis; those without a name are numbered."""
        unnamed = [f"action {j + 1}" if self.axes > 1 else "action" for j in range(self.axes)]
        return [name or other for name, other in zip(self.names or unnamed, unnamed, strict=True)]

    @property
    def axis_units(self) -> tuple[str, ...]:
        """By axis, empty where there is none."""
        return self.units or ("",) * self.axes

    @property
    def single(self) -> bool:
        """Whether there is nothing to decide."""
        return False

    @property
    def middle(self) -> Array:
        low, high = self.bounds
        return (low + high) / 2

    @property
    def neutral(self) -> tuple[float, ...]:
        """Zero, or what is nearest to it."""
        return tuple(min(max(0.0, low), high) for low, high in zip(*(end.tolist() for end in self.bounds), strict=True))

    def some(self, levels: int, most: int | None = None) -> Array:
        """(n, axes): evenly spaced levels on every axis, at most so many of their combinations."""
        axes = [np.linspace(low, high, levels) for low, high in zip(*self.bounds, strict=True)]
        if most is None or len(axes) <= MAX_AXES:
            return np.column_stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])[:most]
        return np.array(list(itertools.islice(itertools.product(*axes), most)))

    def draw(self, rng: np.random.Generator) -> Array:
        """One action (axes,), each as likely as the others."""
        return np.asarray(rng.uniform(*self.bounds))

    def contain(self, actions: Array) -> bool:
        """All of the actions (n, axes)."""
        low, high = self.bounds
        return bool(((actions >= low) & (actions <= high)).all())


@dataclass(frozen=True)
class Continuous(ActionSpace):
    """Actions in a box; physical units."""

    box: ClassVar[bool] = True  # the plant takes an action as an array, of numbers of this type
    number: ClassVar[type[float]] = float
    values: ClassVar[tuple[float, ...]] = ()  # of a finite set only
    low: tuple[float, ...]
    high: tuple[float, ...]
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for bound in ("low", "high"):
            object.__setattr__(self, bound, _tuple_of_numbers("action bounds", getattr(self, bound)))
        if not (0 < len(self.low) == len(self.high) <= MOST_AXES):
            ends = f"{len(self.low)} and {len(self.high)} numbers"
            raise SpaqlError(f"continuous actions have 1 to {MOST_AXES} axes with a low and a high each; got {ends}")
        if not all(math.isfinite(a) and math.isfinite(b) and a < b for a, b in zip(self.low, self.high, strict=True)):
            raise SpaqlError(f"action bounds must be finite and low < high; got {self.low}, {self.high}")
        for low, high in zip(self.low, self.high, strict=True):
            _wide("an action", low, high)
        super().__post_init__()

    @property
    def axes(self) -> int:
        return len(self.low)

    @property
    def bounds(self) -> tuple[Array, Array]:
        return np.array(self.low, float), np.array(self.high, float)


@dataclass(frozen=True)
class Finite(ActionSpace):
    """A finite set of actions. `box`: the plant takes them as a vector of one number (torques), not as an integer."""

    values: tuple[float, ...]
    box: bool = False
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _tuple_of_numbers("a finite action set", self.values))
        different = len(set(map(float, self.values))) == len(self.values)
        if not self.values or not different or not all(abs(v) <= FAR for v in self.values):
            what = f"one or more different finite numbers, at most {FAR:g} and different in double precision"
            raise SpaqlError(f"a finite action set is {what}; got {echoed(self.values)}")
        flag("box", self.box)
        super().__post_init__()

    @property
    def bounds(self) -> tuple[Array, Array]:
        return np.array([min(self.values)], float), np.array([max(self.values)], float)

    @property
    def single(self) -> bool:
        return len(self.values) == 1

    @property
    def middle(self) -> Array:
        return np.array([sorted(self.values)[len(self.values) // 2]], float)

    @property
    def neutral(self) -> tuple[float, ...]:
        return (float(min(self.values, key=abs)),)

    def some(self, levels: int = 0, most: int | None = None) -> Array:
        """(n, 1): all of the set, or so many of it, evenly spaced in its order."""
        values = np.array(self.values, float)[:, None]
        return values if most is None else values[np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))]

    def draw(self, rng: np.random.Generator) -> Array:
        return np.array([self.values[rng.integers(len(self.values))]])

    def contain(self, actions: Array) -> bool:
        return bool(np.isin(actions, np.array(self.values, float)).all())

    @property
    def consecutive(self) -> bool:
        """Whole numbers in a row: what Gymnasium calls Discrete."""
        first = int(self.values[0]) if self.number is int else 0
        return self.values == tuple(range(first, first + len(self.values)))

    @property
    def number(self) -> type[int] | type[float]:
        """The type of the values: `int` if all are whole and fit into 64 bits."""
        return int if all(value == round(value) and abs(value) < 2**63 for value in self.values) else float


def _tuple_of_numbers(name: str, given: Any) -> tuple[float, ...]:
    """Plain Python numbers, whole ones whole, from a number or a sequence."""
    try:
        array = np.atleast_1d(np.asarray(given))
    except ValueError:  # ragged
        array = np.empty((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise SpaqlError(f"{name} must be numbers, not {echoed(given)}")
    return tuple(array.tolist())


def _wide(name: str, low: float, high: float) -> None:
    """A range that can be cut into cells: neither of astronomic width nor of a rounding."""
    if max(abs(low), abs(high)) > FAR:
        wanted = f"bounds are at most {FAR:g}; give another unit, or a slope for an unbounded variable"
        raise SpaqlError(f"{name}: {wanted} (got {low:g}, {high:g})")
    if high - low < max(NARROWEST * max(abs(low), abs(high)), 1 / FAR):
        wanted = "the range is too narrow for double precision; give its difference from a constant"
        raise SpaqlError(f"{name}: {wanted} (got {echoed(float(low))}, {echoed(float(high))})")
