"""Plants from FMUs, the files in which modelling tools export their models (https://fmi-standard.org)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.equations import Between, Value, drawn, value_of
from spaql.plants.fmu_model import COUNTS, FMU, FmuModel, read_fmu
from spaql.plants.gym import MEASURE, from_gym
from spaql.plants.known import known_outcome, said
from spaql.plants.problem import UNBOUNDED, Problem
from spaql.plants.problem_text import UNPAID

Bounds = tuple[float, float]


def from_fmu(
    path: str | PathLike[str],
    *,
    observe: Sequence[str],
    actions: "Mapping[str, Bounds | Finite | None] | Sequence[str]",
    horizon: int,
    reward: Callable[..., float] | None = None,
    dt: float | None = None,
    terminated: Callable[..., bool] | None = None,
    ends: str = "",
    start: Mapping[str, Value] | None = None,
    parameters: Mapping[str, Value] | None = None,
    name: str | None = None,
    state_low: Sequence[float | None] | None = None,
    state_high: Sequence[float | None] | None = None,
    slopes: Sequence[float | None] | None = None,
    reference: Sequence[float] | None = None,
    clip: bool = False,
    rollouts: int | None = None,
    measure: int = MEASURE,
    features: Any = None,
) -> Problem:
    """A problem from an FMU for co-simulation, FMI 2 or 3. Needs FMPy: `pip install "spaql[fmi]"`.

    - `observe`: the variables a controller sees, by name: outputs, or whatever else the FMU shows
    - `actions`: inputs by name, with (lowest, highest) value, None for the bounds the FMU declares, or for a single
      input a `spaql.Finite` set; a list of names takes all bounds from the FMU. Other inputs keep their start value
    - `reward`, `terminated`: plain functions of numbers, those observed, the actions, those observed next. An FMU pays
      nothing by itself: give a reward here, or state one in `spaql.loop`; learners know both (`problem.known`)
    - `ends`: "failure" or "success", what it means that `terminated` ends an episode
    - `dt`: seconds per step, one communication step (default: what the FMU suggests); `horizon`: steps per episode
    - `start`, `parameters`: start values and parameters by name, numbers or a `spaql.Between` drawn at every reset
    - the rest as for `from_gym`. Names, units and bounds (min, max) are those of the FMU
    """
    fmu = read_fmu(path)
    seen = [_observed(fmu, name) for name in _names("observe", observe)]
    inputs, space = _actions(fmu, actions)
    step, values = _step(fmu, dt), _start(fmu, start, parameters)
    known_outcome(reward, terminated, seen, space)  # before the first step calls them
    low, high = [axis.low for axis in seen], [axis.high for axis in seen]
    env = FMUEnv(str(fmu.path), [axis.name for axis in seen], low, high, inputs, reward, terminated, step, values)
    try:
        problem = from_gym(
            env, whole("horizon", horizon, 1, 10**6), state_low, state_high, slopes=slopes, reference=reference,
            clip=clip, rollouts=rollouts, reward=reward, terminated=terminated, ends=ends, measure=measure,
            names=[axis.name for axis in seen], units=[axis.unit for axis in seen], features=features,
        )  # fmt: skip
    except SpaqlError:
        env.close()
        raise
    paid = "" if reward is not None else UNPAID
    about = fmu.description.description or fmu.description.modelName or fmu.path.stem
    summary = f"{' '.join(about.split())}; {fmu.path.name}, FMI {fmu.description.fmiVersion}, steps of {step:g} s{paid}"
    return replace(problem, name=fmu.path.stem if name is None else str(name), summary=summary, actions=space)


def _names(what: str, given: Any) -> list[str]:
    """Texts, one or more, all different."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence | Mapping) else []
    if not names or len(set(map(str, names))) != len(names):
        raise SpaqlError(f"{what} lists names of variables of the FMU, each once, not {echoed(given)}")
    return names


def _observed(fmu: FMU, name: str) -> Axis:
    variable = fmu.variable(name, "observe")
    low, high = _declared(variable)
    bounded = low is not None and high is not None and low < high and max(-low, high) < UNBOUNDED
    unit = _attribute(variable, "unit") or ""
    if bounded:
        return Axis(name, low, high, unit=unit)  # type: ignore[arg-type]
    return Axis(name, slope=1.0, unit=unit)  # to be measured; -inf and inf are what from_gym shall see


def _actions(fmu: FMU, given: Any) -> tuple[dict[str, Bounds], Continuous | Finite]:
    names = _names("actions", given)
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(names)
    units, inputs = [], {}
    for name, bounds in wanted.items():
        variable = fmu.variable(name, "actions")
        if variable.causality != "input":
            others = [other.name for other in fmu.variables.values() if other.causality == "input"]
            said = f"{name} of {fmu.path.name} is not an input (it is: {variable.causality})"
            raise SpaqlError(f"actions: {said}; inputs are {', '.join(others) or 'not there'}")
        if isinstance(bounds, Finite) and len(wanted) > 1:
            raise SpaqlError(f"actions: {name} has a finite set of values: then it must be the only action")
        if variable.type in COUNTS and not isinstance(bounds, Finite):
            kind = f"{name} of {fmu.path.name} takes whole numbers ({variable.type})"
            raise SpaqlError(f"actions: {kind}: give a set, {{{echoed(name)}: spaql.Finite((0, 1))}}")
        inputs[name] = _range(name, bounds, variable)
        units.append(_attribute(variable, "unit") or "")
    only = wanted[names[0]]
    if isinstance(only, Finite):
        if variable.type in COUNTS and only.number is not int:
            raise SpaqlError(f"actions: {names[0]} takes whole numbers, not {only.values}")
        return inputs, replace(only, box=True, names=tuple(names), units=tuple(units))
    low, high = (tuple(bounds[end] for bounds in inputs.values()) for end in (0, 1))
    return inputs, Continuous(low, high, tuple(names), tuple(units))


def _range(name: str, given: Any, variable: Any) -> Bounds:
    """The lowest and highest value of an input, given or declared."""
    if isinstance(given, Finite):
        return float(min(given.values)), float(max(given.values))
    pair = _declared(variable) if given is None else given
    if given is None and None in pair:
        raise SpaqlError(f"actions: the FMU declares no min and max of {name}: give {{{name!r}: (lowest, highest)}}")
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise SpaqlError(f"actions: {name} takes (lowest, highest), None or a spaql.Finite, not {echoed(given)}")
    low, high = (real(f"actions: {name}", end) for end in pair)
    if not low < high:
        raise SpaqlError(f"actions: {name}: the lowest value must be below the highest, not {low:g} and {high:g}")
    return low, high


def _step(fmu: FMU, given: float | None) -> float:
    """Seconds of one step."""
    usual = fmu.description.defaultExperiment
    if given is None and usual is not None and usual.stepSize is not None:
        given = float(usual.stepSize)
    if given is None:
        raise SpaqlError(f"{fmu.path.name} does not say how long a step is: give dt=..., in seconds")
    dt = real("dt", given, 0.0, above=True)
    inner, free = (getattr(fmu.description.coSimulation, name) for name in INNER)
    if inner is not None and not free:
        steps = dt / float(inner)
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-6 * steps:
            raise SpaqlError(f"dt = {dt:g} s: {fmu.path.name} takes only multiples of its own step, {float(inner):g} s")
    return dt


INNER = ("fixedInternalStepSize", "canHandleVariableCommunicationStepSize")


def _start(fmu: FMU, start: Any, parameters: Any) -> dict[str, Value]:
    """What is set at every reset, parameters first."""
    values: dict[str, Value] = {}
    for what, given in (
        ("parameters", {} if parameters is None else parameters),
        ("start", {} if start is None else start),
    ):
        if not isinstance(given, Mapping):
            raise SpaqlError(f"{what} are values by name, such as {{'speed': 0.0}}, not {echoed(given)}")
        for name, value in given.items():
            variable = fmu.variable(name, what)
            free = variable.causality == "input" or variable.initial in ("exact", "approx")
            if variable.variability == "constant" or not free:
                why = variable.variability if variable.variability == "constant" else "computed by the FMU"
                raise SpaqlError(f"{what}: {name} of {fmu.path.name} cannot be set: it is {why}")
            if name in values:
                raise SpaqlError(f"{name} is given twice, in parameters and in start")
            values[name] = _value(f"{what}: {name}", value, variable)
    return values


def _value(name: str, given: Any, variable: Any) -> Value:
    if variable.type in COUNTS:
        if isinstance(given, Between):
            raise SpaqlError(f"{name} is a whole number, which cannot be drawn from {given}")
        return float(whole(name, int(given) if isinstance(given, bool) else given, -(2**53), 2**53))
    low, high = _declared(variable)
    return value_of(name, given, -math.inf if low is None else low, math.inf if high is None else high)


def _attribute(variable: Any, what: str) -> Any:
    """An attribute of a variable, which may stand with its declared type."""
    own = getattr(variable, what)
    return own if own is not None or variable.declaredType is None else getattr(variable.declaredType, what)


def _declared(variable: Any) -> tuple[float | None, float | None]:
    """What a variable declares; None where it declares nothing."""
    if variable.type == "Boolean":
        return 0.0, 1.0
    ends = (_attribute(variable, "min"), _attribute(variable, "max"))
    low, high = (None if end is None or not math.isfinite(float(end)) else float(end) for end in ends)
    return low, high


def _beyond(fmu: FMU, inputs: Mapping[str, tuple[float, float]]) -> str:
    """Inputs that are given more range than the FMU declares: the first thing to suspect if it fails."""
    for name, (low, high) in inputs.items():
        least, most = _declared(fmu.variables[name])
        if (least is not None and low < least) or (most is not None and high > most):
            ends = f"{'-∞' if least is None else f'{least:g}'} to {'∞' if most is None else f'{most:g}'}"
            return f"; it declares {name} from {ends}, and actions go from {low:g} to {high:g}"
    return ""


# -- an FMU as a Gymnasium environment: one step is one communication step of co-simulation ----------------------------

class FMUEnv(gymnasium.Env[Array, Array]):
    """Made by `spaql.from_fmu`, which checks the arguments. Pickled by its arguments: a copy opens the file again.

    - `observe`: observed variables, `low` and `high` their bounds
    - `inputs`: those that actions set, with their lowest and highest value; all others keep their start value
    - `start`: values set at every reset, numbers or ranges to draw from
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (Gymnasium's own declaration)

    def __init__(
        self, path: str, observe: Sequence[str], low: Sequence[float], high: Sequence[float],
        inputs: Mapping[str, tuple[float, float]], reward: Callable[..., float] | None,
        terminated: Callable[..., bool] | None, dt: float, start: Mapping[str, Value],
    ) -> None:  # fmt: skip
        self.arguments = (path, observe, low, high, inputs, reward, terminated, dt, start)
        self.reward, self.terminated, self.dt, self.start = reward, terminated, dt, dict(start)
        self.observation_space = gymnasium.spaces.Box(np.array(low, float), np.array(high, float), dtype=np.float64)
        bounds = np.array(list(inputs.values()), float)
        self.action_space: Any = gymnasium.spaces.Box(bounds[:, 0], bounds[:, 1], dtype=np.float64)
        fmu = read_fmu(path)
        self.model = FmuModel(fmu, _beyond(fmu, inputs))
        self.seen, self.driven = self.model.group(observe), self.model.group(list(inputs))
        self.values, self.before, self.steps = self.model.group(list(start)), np.zeros(len(observe)), -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        values = [
            drawn(value.low, value.high, self.np_random.random()) if isinstance(value, Between) else value
            for value in self.start.values()
        ]
        self.model.begin(self.values, values)
        self.steps = 0
        self.before = self._observation()
        return self.before.copy(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        if self.steps < 0:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        applied = np.clip(np.asarray(action, float), self.action_space.low, self.action_space.high)
        self.model.put(self.driven, applied.tolist())
        self.model.step(self.steps * self.dt, self.dt)
        self.steps += 1
        after = self._observation()
        numbers = [*self.before.tolist(), *applied.tolist(), *after.tolist()]
        reward = 0.0 if self.reward is None else said("reward", self.reward, numbers)
        ended = self.terminated is not None and bool(said("terminated", self.terminated, numbers))
        self.before = after
        return after.copy(), reward, ended, False, {}

    def _observation(self) -> Array:
        values = self.model.get(self.seen)
        for name, value in zip(self.arguments[1], values, strict=True):
            if not math.isfinite(value):
                when = f"{self.steps * self.dt:g} s"
                raise SpaqlError(f"{self.model.name}: {name} is {value} at {when}, in step {self.steps} of an episode")
        return np.array(values)

    def close(self) -> None:
        self.steps = -1
        self.model.close()

    def __reduce__(self) -> Any:
        return FMUEnv, self.arguments
