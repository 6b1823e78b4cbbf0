"""A problem: what is controlled, what is observed, what can be done, for how long."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import choice, flag, items, real, text, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import MAX_AXES, MAX_SPLIT, Axis, Continuous, Finite, Space
from spaql.plants.chart import AXIS, CLIPPED, LINEAR, SIGMOID, Chart, to_cube
from spaql.plants.limits import Limit, checked_limits
from spaql.plants.problem_text import problem_text

if TYPE_CHECKING:
    import gymnasium

    from spaql.plants.features import Features
    from spaql.plants.known import KnownOutcome
    from spaql.plants.plant import Plant
    from spaql.plants.signals import Signals
    from spaql.policy.outputs import GainRanges

__all__ = [  # axes are part of it
    "UNBOUNDED", "Axis", "Continuous", "Finite", "Problem", "cube", "random_action", "reference_in_cube",
]  # fmt: skip

UNBOUNDED = 1e9  # a declared bound beyond this is no bound
SHORTEST = 1e-12  # s, of a step; the longest is its inverse
MOST_VARIABLES = 64
MOST_CONSTANT = 16  # actions, and corners of a box of actions, that are tried as constants
LEVELS = 5  # of a single continuous action, the same
ENDS = ("", "failure", "success")


@dataclass(frozen=True, eq=False)
class Problem:
    """A plant with its observed variables and actions: `spaql.make`, `from_gym`, `from_plant`, `loop`, `cube`, ..."""

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
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of a plant of the catalog, where not as published
    known: "KnownOutcome | None" = None  # reward and end of an episode as functions; files do not hold them
    signals: "Signals | None" = None  # of a plant in a loop: from what is measured to what is seen
    limits: Sequence[Limit] = ()  # on variables and actions, counted in every evaluation
    seen: tuple[tuple[float, float], ...] = ()  # of a plant learned from data: where each variable was in them
    dt: float | None = None  # s, of a step, where the plant has a clock of its own
    ends: str = ""  # what it means that the plant ends an episode: "failure" or "success"; "": nobody has said
    features: "Features | None" = None  # formulas: the last of the variables
    looked_at: tuple[str, ...] = ()  # of a problem in a search: the variables that laws may look at; (): all
    gains: "GainRanges | None" = None  # the same: what is known of the gains of laws

    def __post_init__(self) -> None:
        text("the name of a problem", self.name), text("the summary of a problem", self.summary)
        object.__setattr__(self, "state", tuple(items("`state`", self.state)))  # as files have it
        object.__setattr__(self, "horizon", whole("horizon", self.horizon, 1, 10**6))
        choice("ends", self.ends, ENDS)
        whole("rollouts", self.rollouts, 1, 10**6), flag("clip", self.clip), whole("map_samples", self.map_samples, 0)
        if not self.state or not all(isinstance(axis, Axis) for axis in self.state):
            raise SpaqlError("`state` describes every observed variable with a spaql.Axis")
        if not isinstance(self.actions, Continuous | Finite):
            raise SpaqlError("`actions` is a spaql.Continuous or a spaql.Finite")
        if self.plant is not None and isinstance(self.actions, Finite) and not self.actions.consecutive:
            # as an environment it takes these numbers, not their index
            object.__setattr__(self, "actions", replace(self.actions, box=True))
        if len(self.state) > MOST_VARIABLES:
            many = f"{len(self.state)} observed variables are more than {MOST_VARIABLES}"
            raise SpaqlError(f"{many}: select or combine variables (gymnasium.wrappers.TransformObservation)")
        for part, member in (("plant", "step"), ("env", "step"), ("known", "functions"), ("signals", "state")):
            given = getattr(self, part)
            if given is not None and not hasattr(given, member):
                raise SpaqlError(f"{part} of a problem is made by from_plant, from_gym or loop, not {echoed(given)}")
        if self.env_id is not None:
            text("env_id", self.env_id)
        if self.dt is not None:
            real("dt", self.dt, SHORTEST, 1 / SHORTEST)
        sizes = (len(self.state), self.actions.axes)
        if self.plant is not None and (self.plant.observation_dim, self.plant.action_dim) != sizes:
            shown, taken = self.plant.observation_dim, self.plant.action_dim
            raise SpaqlError(f"the plant shows {shown} variables and takes {taken} actions")
        if self.features is not None and not 0 < self.features.raw < len(self.state):
            raise SpaqlError("the features are not the last of the variables")
        if self.signals is not None and (self.signals.state, self.signals.actions) != (self.measured, self.actions):
            raise SpaqlError("the signals of the loop are not those of the variables and actions")
        if self.known is not None and (self.known.observation_dim, self.known.action_dim) != sizes:
            shown, taken = self.known.observation_dim, self.known.action_dim
            raise SpaqlError(f"the known outcome is of {shown} variables and {taken} actions")
        if self.reference is not None:
            reference_in_cube(self, self.reference)
            object.__setattr__(self, "reference", tuple(map(float, self.reference)))
        object.__setattr__(self, "limits", checked_limits(self.limits, self.state, self.actions))

    def space(self, trees: int = 1) -> Space:
        """Sizes for a partition, of which every split makes 2^d cells."""
        if not self.actions.values and self.actions.axes > MAX_AXES:
            many = f"{self.actions.axes} continuous actions, and tables have at most {MAX_AXES}"
            raise SpaqlError(f"{self.name} has {many}: learn Laws, or Atlas with controller='laws'")
        children = (1 << len(self.state)) * (1 << self.actions.axes)
        if children > MAX_SPLIT:
            raise SpaqlError(
                f"{len(self.state)} observed variables make {children} cells per split, more than {MAX_SPLIT}: select "
                "or combine variables (gymnasium.wrappers.TransformObservation), or learn Laws"
            )
        m = len(self.actions.values)
        return Space(len(self.state), 0 if m else self.actions.axes, m, int(self.horizon), trees)

    def chart(self) -> Chart:
        axes = np.zeros(len(self.state), AXIS)
        for row, axis in zip(axes, self.state, strict=True):
            if axis.slope is not None:
                row["centre"], row["scale"], row["kind"] = axis.centre, axis.slope, SIGMOID
            else:
                width = axis.high - axis.low  # 0: a constant variable sits at the centre
                row["centre"], row["scale"] = axis.low + width / 2, 2 / width if width > 0 else 0.0
                row["kind"] = CLIPPED if self.clip else LINEAR
        if self.actions.values:
            return Chart(axes, np.zeros(1, AXIS), np.array(self.actions.values, float))
        acts, (low, high) = np.zeros(self.actions.axes, AXIS), self.actions.bounds
        acts["centre"] = (low + high) / 2
        acts["scale"] = (high - low) / 2
        return Chart(axes, acts, np.zeros(1))

    @property
    def action_dtype(self) -> Any:
        """Of the environment's action space; float64 for compiled plants."""
        return np.float64 if self.env is None else self.env.action_space.dtype

    def native(self, actions: Array) -> Any:
        """Physical actions, one (axes,) or many (n, axes), as the environment takes them.

        An action is an array, or, of a finite set that is no box, a number, whole if all of the set are.
        """
        if actions.ndim == 1:
            return self.native_one()(actions)
        if self.actions.box:
            return actions.astype(self.action_dtype)
        return actions[:, 0].astype(np.int64 if self.actions.number is int else float)

    def native_one(self) -> Callable[[Array], Any]:
        """`native` of one action, everything looked up once: for loops over the steps of an environment."""
        number, dtype = self.actions.number, self.action_dtype
        if self.actions.box:
            return lambda action: action.astype(dtype)
        return lambda action: number(action[0])

    @property
    def measured(self) -> tuple[Axis, ...]:
        """The variables that are observed; behind them come features."""
        return self.state if self.features is None else self.state[: self.features.raw]

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
            opened = gymnasium.make(str(self.env_id), **self.parameters)
            object.__setattr__(self, "env", opened if self.features is None else self.features.around(opened))
        assert self.env is not None
        return self.env

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {self.summary}>"

    def __str__(self) -> str:
        return problem_text(self)


def completed(problem: Problem, described: Problem) -> Problem:
    """The problem with what is stated in a file and not in the problem: limits, and what an end means."""
    stated = {name: getattr(described, name) for name in ("limits", "ends") if not getattr(problem, name)}
    return replace(problem, **stated) if any(stated.values()) else problem


def reference_in_cube(problem: Problem, reference: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A reference state in cube coordinates."""
    try:
        point = np.asarray(reference, float)
    except (TypeError, ValueError) as error:
        raise SpaqlError(f"the reference must be {len(problem.state)} numbers, not {echoed(reference)}") from error
    if point.shape != (len(problem.state),):
        raise SpaqlError(f"the reference must be {len(problem.state)} numbers, not {echoed(reference)}")
    x = np.empty(len(point))
    bad = to_cube(problem.chart(), point, x)
    if bad >= 0:
        axis = problem.state[bad]
        allowed = f"allowed {axis.low:g} to {axis.high:g}"
        raise SpaqlError(f"the reference is outside the map: {axis.name} = {point[bad]:g}, {allowed}")
    return x


def constant_actions(problem: Problem) -> list[Array]:
    """Constant actions to compare a controller with: all of a few finite ones, levels or corners of continuous ones."""
    actions = problem.actions
    if actions.axes == 1:
        return list(actions.some(LEVELS, MOST_CONSTANT))
    return [actions.middle, *actions.some(2, MOST_CONSTANT)]


def random_action(problem: Problem, rng: np.random.Generator) -> Any:
    """One that the environment takes, each as likely as the others."""
    return problem.native(problem.actions.draw(rng))


def cube(state_dim: int, actions: int | Sequence[float], horizon: int) -> Problem:
    """A problem without a plant: the data come from elsewhere, in cube coordinates.

    `actions`: the number of continuous action axes, or the list of a finite set.
    """
    state = tuple(Axis(f"x{j}", -1.0, 1.0) for j in range(whole("state_dim", state_dim, 1)))
    space: Continuous | Finite
    if isinstance(actions, int | np.integer):
        axes = whole("the number of action axes", actions, 1, MAX_AXES)
        space = Continuous((-1.0,) * axes, (1.0,) * axes)
        said = f"{actions} action axes"
    else:
        try:
            space = Finite(tuple(actions))
        except TypeError as error:
            raise SpaqlError(f"actions is a number of axes or a list of actions, not {echoed(actions)}") from error
        said = f"{len(space.values)} actions"
    return Problem("cube", f"{state_dim} states and {said}, no plant: learn with update()", state, space, horizon)
