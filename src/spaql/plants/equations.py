"""The equations of a plant of the catalog, as plain functions of plain numbers, its entry there, and its parameters."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.checks import real
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis, Continuous, Finite

TWO_PI = 2.0 * math.pi


class Equations(NamedTuple):
    """A state is as many numbers as `variables` has names. Functions with `p` take the parameters as last argument.

    next state = limit(move(state, action, p), p)        reward, terminated = outcome(state, action, next state, p)
    """

    variables: tuple[str, ...]
    start: Callable[..., Any]  # uniform numbers in [0, 1) -> first state
    move: Callable[..., Any]  # state, action, `chances` uniform numbers, p -> next state
    limit: Callable[..., Any]  # state, p -> the state within bounds; leaves alone what `move` gives without noise
    outcome: Callable[..., Any]  # state, action, next state, p -> reward, terminated
    look: Callable[..., Any] | None = None  # state -> observation, if the observation is not the state itself
    chances: int = 0  # uniform numbers that one step of the plant itself draws
    state_of: Callable[..., Any] | None = None  # observation -> state, if there is `look` and nothing is hidden by it


def clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def wrapped(angle: float) -> float:
    """The same angle within half a turn."""
    turns = np.floor((angle + math.pi) / TWO_PI)
    return angle - TWO_PI * turns if abs(angle) > math.pi else angle


# -- what the catalog knows of a problem: the entries that stand at the end of every plant's file ----------------------

class Interface(NamedTuple):
    """What the controller sees, what it can do, and the state it shall hold (physical units)."""

    state: tuple[Axis, ...]
    actions: Continuous | Finite
    reference: tuple[float, ...]


class Known(NamedTuple):
    """The best mean return that anyone has published or that can be computed: a score of 1.

    `value` is None where there is none to compare with; `source` then says why, and there are no scores.
    """

    value: float | None
    source: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A problem of the catalog: a plant with the settings under which results are published."""

    title: str  # in tables and figures
    summary: str  # the line of `spaql problems`
    env_id: str  # the plant as a Gymnasium environment
    gym_id: str | None = None  # Gymnasium's own environment with the same equations
    equations: Equations
    parameters: Any  # a named tuple of numbers, as published
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # allowed values, where not the usual ones
    fixed: tuple[str, ...] = ()  # parameters that no episode may draw anew, because the actions depend on them
    interface: Callable[[Any], Interface]  # of the parameters
    horizon: int
    ends: str = ""  # what it means that the plant ends an episode: "failure" or "success"
    rollouts: int = 20  # evaluations per iteration
    xi: Mapping[str, float] = field(default_factory=dict)  # default scale of the bonus by learner, the paper's or tuned
    study_xi: Mapping[str, float] = field(default_factory=dict)  # the scale in the studies, where there is no default
    samples: int = 5_000  # that the study of every learner gives to Atlas
    best_known: Known
    drawing: str | None = None  # how the page of an explanation draws the plant

    @property
    def step_time(self) -> float | None:
        """Seconds per step as published, if the plant has a clock."""
        dt = getattr(self.parameters, "dt", None)
        return None if dt is None else float(dt)


# -- domain randomisation: a parameter that is another one in every episode --------------------------------------------

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


# -- the parameters of a plant and its noise, checked: what a user, a file or the command line gives -------------------

USUAL = (1e-6, 1e6)  # the range of a parameter whose file does not say another
MOST_NOISE = 1e6  # standard deviation
MOST_AWAY = 1e6  # a start
OTHERS = ("horizon", "start", "process_noise", "observation_noise")


def physical(
    name: str, given: Mapping[str, Any], defaults: Any, ranges: Mapping[str, tuple[float, float]], fixed: Sequence[str]
) -> Any:
    """The defaults, a named tuple, with what is given in their place: numbers, or ranges to draw from."""
    known = [*defaults._fields, *OTHERS]
    if not isinstance(given, Mapping):
        raise SpaqlError(f"the parameters of {name} are names with values ({', '.join(known)}), not {echoed(given)}")
    for key in given:
        if key not in known:
            raise SpaqlError(f"{name} has no parameter {echoed(key)}: choose among {', '.join(known)}")
    values = {key: value_of(key, given[key], *ranges.get(key, USUAL)) for key in defaults._fields if key in given}
    for key in fixed:
        if isinstance(values.get(key), Between):
            reason = f"is the range of the actions of {name}, the same in every episode"
            raise SpaqlError(f"{key} {reason}: give one number, not {values[key]}")
    return defaults._replace(**values)


def widest(p: Any) -> Any:
    """The named tuple with the high end of every range: axes made for it hold the states of every episode."""
    return p._replace(**{key: value.high for key, value in p._asdict().items() if isinstance(value, Between)})


def starts(given: Mapping[str, Any], variables: Sequence[str]) -> dict[str, Value]:
    """Where episodes begin, by state variable: a number or a range; the others begin as published."""
    return _by_name(
        "start", given.get("start", {}), variables, "numbers or ranges",
        lambda name, value: value_of(f"start of {name}", value, -MOST_AWAY, MOST_AWAY),
    )  # fmt: skip


def process_noise(given: Mapping[str, Any], variables: Sequence[str]) -> dict[str, float]:
    """Standard deviations by state variable, zeros left out."""
    return _spreads("process_noise", given.get("process_noise", {}), variables)


def observation_noise(given: Mapping[str, Any], axes: Sequence[Axis]) -> dict[str, float]:
    """Standard deviations by observed variable, zeros left out; from a number, that fraction of every range."""
    spreads, names = given.get("observation_noise", {}), [axis.name for axis in axes]
    if isinstance(spreads, Mapping):
        return _spreads("observation_noise", spreads, names)
    either = f"a fraction of the ranges, or standard deviations by name ({', '.join(names)})"
    fraction = real(f"observation_noise, {either},", spreads, 0.0, 1.0)
    unbounded = [axis.name for axis in axes if axis.slope is not None]
    if unbounded:
        raise SpaqlError(
            f"observation_noise={fraction:g}: {' and '.join(unbounded)} have no range to take a fraction of; "
            f"give standard deviations by name, observation_noise={{{echoed(names[0])}: ...}} ({', '.join(names)})"
        )
    return {axis.name: fraction * (axis.high - axis.low) for axis in axes if fraction > 0.0}


def _spreads(what: str, spreads: Any, names: Sequence[str]) -> dict[str, float]:
    by_name = _by_name(
        what, spreads, names, "standard deviations",
        lambda name, value: real(f"{what} of {name}, a standard deviation,", value, 0.0, MOST_NOISE),
    )  # fmt: skip
    return {name: spread for name, spread in by_name.items() if spread > 0.0}


def _by_name(
    what: str, given: Any, names: Sequence[str], wanted: str, checked: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """In the order of the variables; angular_velocity means 'angular velocity'."""
    if not isinstance(given, Mapping):
        raise SpaqlError(f"{what} gives {wanted} by name ({', '.join(names)}), not {echoed(given)}")
    by_name: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("_", " ") if isinstance(key, str) else key
        if name not in names or name in by_name:
            reason = "twice the variable" if name in names else "no variable"
            raise SpaqlError(f"{what}: {reason} {echoed(key)}; choose among {', '.join(names)}")
        by_name[name] = checked(name, value)
    return {name: by_name[name] for name in names if name in by_name}


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """In one line: m=2, l=0.9..1.1, process_noise(velocity=0.1)."""
    return ", ".join(f"{key}{_value_text(value)}" for key, value in parameters.items())


def _value_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({parameter_text(value)})"
    return f"={value}" if isinstance(value, Between) else f"={value:.6g}"


def plain(value: Any) -> Any:
    """What JSON cannot write, as it is written in files: a range, a number of NumPy."""
    if isinstance(value, Between):
        return asdict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a file")
