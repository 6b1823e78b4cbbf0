"""A problem: what is controlled, what is observed, what can be done, for how long."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.checks import real, whole
from spaql.errors import SpaqlError
from spaql.partition.forest import MAX_AXES, MAX_SPLIT, Space
from spaql.plants.chart import AXIS, CLIPPED, LINEAR, SIGMOID, Chart, to_cube

if TYPE_CHECKING:
    import gymnasium

    from spaql.plants.plant import Plant

UNBOUNDED = 1e9  # a declared bound beyond this is no bound


@dataclass(frozen=True)
class Axis:
    """One observed variable: linear between `low` and `high`, or, with a `slope`, through tanh(slope * (value - centre))."""

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
            raise SpaqlError(f"{self.name}: give finite low <= high, or a slope for an unbounded variable (got {self.low}, {self.high})")


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


@dataclass(frozen=True)
class Continuous:
    """Actions in a box; physical units."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for bound in ("low", "high"):
            object.__setattr__(self, bound, _tuple_of_numbers("action bounds", getattr(self, bound)))
        if not (0 < len(self.low) == len(self.high) <= MAX_AXES):
            raise SpaqlError(f"continuous actions have 1 to {MAX_AXES} axes with a low and a high each; got {self.low}, {self.high}")
        if not all(math.isfinite(a) and math.isfinite(b) and a < b for a, b in zip(self.low, self.high, strict=True)):
            raise SpaqlError(f"action bounds must be finite and low < high; got {self.low}, {self.high}")
        _check_labels(self.names, self.units, len(self.low))


@dataclass(frozen=True)
class Finite:
    """A finite set of actions. `box`: the plant takes them as a vector of one number (torques), not as an integer."""

    values: tuple[float, ...]
    box: bool = False
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _tuple_of_numbers("a finite action set", self.values))
        if not self.values or len(set(self.values)) != len(self.values) or not all(math.isfinite(v) for v in self.values):
            raise SpaqlError(f"a finite action set is one or more different finite numbers; got {self.values}")
        _check_labels(self.names, self.units, 1)

    @property
    def consecutive(self) -> bool:
        """Whole numbers in a row: what Gymnasium calls Discrete."""
        return self.values == tuple(range(int(self.values[0]), int(self.values[0]) + len(self.values)))


@dataclass(frozen=True, eq=False)
class Problem:
    """What is controlled. Made by `spaql.make`, `spaql.from_gym`, `spaql.from_plant` or `spaql.cube`."""

    name: str
    summary: str
    state: tuple[Axis, ...]
    actions: Continuous | Finite
    horizon: int
    reference: tuple[float, ...] | None = None  # physical units
    xi: Mapping[str, float] = field(default_factory=dict)  # the paper's bonus scale per algorithm
    rollouts: int = 20  # evaluation rollouts per iteration
    plant: "Plant | None" = None
    env: "gymnasium.Env[Any, Any] | None" = None
    env_id: str | None = None
    env_options: Mapping[str, Any] = field(default_factory=dict)
    clip: bool = False
    map_samples: int = 0  # environment steps spent on measuring the map
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of a plant of the catalog, where they are not the published ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", whole("horizon", self.horizon, 1, 10**6))
        whole("rollouts", self.rollouts, 1, 10**6)
        if not self.state or not all(isinstance(axis, Axis) for axis in self.state):
            raise SpaqlError("`state` describes every observed variable with a spaql.Axis")
        if not isinstance(self.actions, Continuous | Finite):
            raise SpaqlError("`actions` is a spaql.Continuous or a spaql.Finite")
        if len(self.state) > 20:
            raise SpaqlError(f"{len(self.state)} observed variables make 2^{len(self.state)} cells per split: select or combine variables")
        children = (1 << len(self.state)) * (1 << len(self.actions.low) if isinstance(self.actions, Continuous) else 2)
        if children > MAX_SPLIT:
            raise SpaqlError(
                f"{len(self.state)} observed variables make {children} cells per split, more than {MAX_SPLIT}: "
                "select or combine variables (gymnasium.wrappers.TransformObservation)"
            )
        axes = len(self.actions.low) if isinstance(self.actions, Continuous) else 1
        if self.plant is not None and (self.plant.observation_dim, self.plant.action_dim) != (len(self.state), axes):
            raise SpaqlError(f"the plant shows {self.plant.observation_dim} variables and takes {self.plant.action_dim} actions")
        if self.reference is not None:
            reference_in_cube(self, self.reference)

    def space(self, trees: int = 1) -> Space:
        finite = isinstance(self.actions, Finite)
        k = 0 if finite else len(self.actions.low)  # type: ignore[union-attr]
        m = len(self.actions.values) if finite else 0  # type: ignore[union-attr]
        return Space(len(self.state), k, m, int(self.horizon), trees)

    def chart(self) -> Chart:
        axes = np.zeros(len(self.state), AXIS)
        for row, axis in zip(axes, self.state, strict=True):
            if axis.slope is not None:
                row["centre"], row["scale"], row["kind"] = axis.centre, axis.slope, SIGMOID
            else:
                width = axis.high - axis.low  # 0: a constant variable sits at the centre
                row["centre"], row["scale"] = axis.low + width / 2, 2 / width if width > 0 else 0.0
                row["kind"] = CLIPPED if self.clip else LINEAR
        if isinstance(self.actions, Finite):
            return Chart(axes, np.zeros(1, AXIS), np.array(self.actions.values, float))
        acts = np.zeros(len(self.actions.low), AXIS)
        acts["centre"] = (np.array(self.actions.low) + self.actions.high) / 2
        acts["scale"] = (np.array(self.actions.high) - self.actions.low) / 2
        return Chart(axes, acts, np.zeros(1))

    @property
    def action_dtype(self) -> Any:
        """Of the environment's action space; float64 for compiled plants."""
        return np.float64 if self.env is None else self.env.action_space.dtype

    @property
    def can_run(self) -> bool:
        """There is a plant or an environment to act in."""
        return self.plant is not None or self.env is not None or self._known_id

    @property
    def _known_id(self) -> bool:
        """An id that Gymnasium knows already: a loaded file must not make it import anything."""
        import gymnasium

        return self.env_id is not None and self.env_id in gymnasium.registry

    def open_env(self) -> "gymnasium.Env[Any, Any]":
        """The Gymnasium environment of the problem."""
        if self.env is None:
            import gymnasium

            if not self._known_id:
                raise SpaqlError(f"{self.name} has no environment here: give problem=spaql.from_gym(...) when loading")
            object.__setattr__(self, "env", gymnasium.make(str(self.env_id), **self.parameters))
        assert self.env is not None
        return self.env

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {self.summary}>"


def reference_in_cube(problem: Problem, reference: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A reference state in cube coordinates."""
    try:
        point = np.asarray(reference, float)
    except (TypeError, ValueError) as error:
        raise SpaqlError(f"the reference must be {len(problem.state)} numbers, not {reference!r}") from error
    if point.shape != (len(problem.state),):
        raise SpaqlError(f"the reference must be {len(problem.state)} numbers, not {reference!r}")
    x = np.empty(len(point))
    bad = to_cube(problem.chart(), point, x)
    if bad >= 0:
        axis = problem.state[bad]
        raise SpaqlError(f"the reference is outside the map: {axis.name} = {point[bad]:g}, allowed {axis.low:g} to {axis.high:g}")
    return x


def cube(state_dim: int, actions: int | Sequence[float], horizon: int) -> Problem:
    """A problem without a plant: data comes from elsewhere, in cube coordinates.

    `actions`: the number of continuous action axes, or the list of a finite set.
    """
    state = tuple(Axis(f"x{j}", -1.0, 1.0) for j in range(whole("state_dim", state_dim, 1)))
    made: Continuous | Finite
    if isinstance(actions, int | np.integer):
        axes = whole("the number of action axes", actions, 1, MAX_AXES)
        made = Continuous((-1.0,) * axes, (1.0,) * axes)
        said = f"{actions} action axes"
    else:
        try:
            made = Finite(tuple(actions))
        except TypeError as error:
            raise SpaqlError(f"actions is a number of axes or a list of actions, not {actions!r}") from error
        said = f"{len(made.values)} actions"
    return Problem("cube", f"{state_dim} states and {said}, no plant: learn with update()", state, made, horizon)
