"""A plant by its differential equation, with actions that are held between samples.

    def swing(angle, rate, torque):                     # the state, then the action -> derivatives
        return rate, 2.0 * math.sin(angle) + 8.0 * torque

For learning a sample is `substeps` steps of the classical Runge-Kutta method, put together as text:

    def step(s0_, s1_, a0_):
        for _ in range(2):
            p0_, p1_ = derivative(s0_, s1_, a0_)
            q0_, q1_ = derivative(s0_ + 0.0125 * p0_, s1_ + 0.0125 * p1_, a0_)
            ...
            s0_ = s0_ + 0.025 / 6.0 * (p0_ + 2.0 * q0_ + 2.0 * r0_ + t0_)
            ...
        return (s0_, s1_), reward(s0_, s1_, a0_), over(s0_, s1_)

Our own names end with an underscore, so that parameters may have any others.

Proofs do not take this step: they integrate `Flow.derivative` with bounds on all errors (see proofs/flow_model.py).
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.checks import items, numbers, real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.assemble import middle, with_parameters
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.compile import check_parameters, function_of, listed, names
from spaql.plants.equations import Between, Value
from spaql.plants.known import called, said
from spaql.plants.limits import Limit
from spaql.plants.make import parameters_by_name, problem_of
from spaql.plants.plant import Plant, PlantFunction
from spaql.plants.problem import SHORTEST, Problem

MOST_SUBSTEPS = 1000
SLOPE = 0.5  # of the map of a variable that nobody has described: any will do for laws

Function = Callable[..., Any]


class Flow(NamedTuple):
    """What the plant is between samples, as functions of its state variables; drawn parameters are among them."""

    derivative: Function  # of the state, then the action
    over: Function | None  # of the state: the episode ends
    names: tuple[str, ...]  # of the state variables that the user gave
    dt: float
    substeps: int
    start: tuple[tuple[float, float], ...] | None  # ranges of these variables, if the user gave ranges


def from_ode(
    derivative: Function,
    *,
    start: Mapping[str, float | tuple[float, float]] | PlantFunction,
    actions: Continuous | Finite,
    dt: float,
    horizon: int,
    reward: Function,
    over: Function | None = None,
    observe: PlantFunction | None = None,
    substeps: int = 2,
    state: Sequence[Axis] | None = None,
    reference: Sequence[float] | None = None,
    name: str = "own plant",
    rollouts: int = 20,
    parameters: Mapping[str, float | Between] | None = None,
    limits: Sequence[Limit] = (),
    ends: str = "",
) -> Problem:
    """A problem from its differential equation, with the action held for `dt` seconds.

    - `derivative(state..., action...)`: a plain function that returns a tuple, a derivative per state variable
    - `start`: where episodes begin: a number or a range (low, high) by name of variable, or a function decorated with
      `@spaql.reset`
    - `reward(state..., action...)`: of a step, at the state that it leads to
    - `over(state...)`: whether the episode ends there; proofs ask it between samples too
    - `substeps`: Runge-Kutta steps per sample in simulation
    - `state`: an `Axis` per observed variable; without it the state variables are observed and have no bounds

    All others as in `from_plant`; functions receive parameters as arguments of their names.
    """
    if not isinstance(actions, Continuous | Finite):
        raise SpaqlError(f"actions is a spaql.Continuous or a spaql.Finite, not {type(actions).__name__}")
    given = parameters_by_name({} if parameters is None else parameters)
    if any(name.endswith("_") for name in given):
        raise SpaqlError("parameters: a name must not end with an underscore, as names inside of a sample do")
    wanted = {"derivative": derivative, "reward": reward} | ({} if over is None else {"over": over})
    for what, function in wanted.items():
        if not inspect.isfunction(function):
            raise SpaqlError(f"{what} must be a plain Python function of numbers, not {echoed(function)}")
        check_parameters(function)
    dt, substeps = real("dt", dt, SHORTEST, 1 / SHORTEST), whole("substeps", substeps, 1, MOST_SUBSTEPS)
    plant = ode_plant(derivative, reward, over, _start(start), observe, actions.axes, dt, substeps, given)
    seen: Sequence[Axis]
    if state is not None:
        seen = items("`state`", state)
    elif observe is None:
        assert plant.flow is not None
        seen = [Axis(variable, slope=SLOPE) for variable in plant.flow.names[: plant.observation_dim]]
    else:
        raise SpaqlError("`state` describes what `observe` shows: give a spaql.Axis for each of its numbers")
    return problem_of(plant, given, seen, actions, horizon, reference, name, rollouts, limits, ends)


def _start(given: Any) -> Any:
    """A reset function, or ((name, low, high), ...)."""
    if isinstance(given, PlantFunction):
        return given
    if not isinstance(given, Mapping) or not given or not all(isinstance(variable, str) for variable in given):
        such = "{'angle': (-0.1, 0.1), 'rate': 0.0}"
        raise SpaqlError(f"start gives a number or a range by name of variable, such as {such}, not {echoed(given)}")
    ranges = []
    for variable, ends in given.items():
        single = isinstance(ends, int | float | np.number)
        low, high = numbers(f"start: {variable}", (ends, ends) if single else ends, (2,)).tolist()
        if not (low <= high and math.isfinite(low) and math.isfinite(high)):
            raise SpaqlError(f"start: {variable}: low must not be above high, both finite: got {low:g} and {high:g}")
        ranges.append((variable, low, high))
    return tuple(ranges)


# -- the plant ---------------------------------------------------------------------------------------------------------


def ode_plant(
    derivative: Function, reward: Function, over: Function | None, start: Any, observe: PlantFunction | None,
    actions: int, dt: float, substeps: int, given: Mapping[str, Value],
) -> Plant:  # fmt: skip
    """The plant with its differential equation beside it; `given`: parameters, numbers or ranges."""
    reset = start if isinstance(start, PlantFunction) else _reset(start)
    free = [name for name in inspect.signature(derivative).parameters if name not in given]
    count = len(free) - actions if isinstance(start, PlantFunction) else len(start)
    if count + actions != len(free) or count < 1:
        wanted = f"{count} state variables and {actions} action{'s' * (actions > 1)}"
        raise SpaqlError(f"derivative {derivative.__name__} takes {len(free)} numbers, but must take {wanted}")
    variables = free[:count] if isinstance(start, PlantFunction) else [variable for variable, _, _ in start]
    s, a = [f"{name}_" for name in names("s", count)], [f"{name}_" for name in names("a", actions)]
    used = {"derivative": derivative, "reward": reward} | ({} if over is None else {"over": over})
    calls = {
        "derivative": _call("derivative", derivative, [*s, *a], given),
        "reward": _call("reward", reward, [*s, *a], given),
        "over": "False" if over is None else _call("over", over, s, given),
    }
    _tried(used, reset, actions, given)
    arguments = {name for function in used.values() for name in inspect.signature(function).parameters}
    taken = [name for name in given if name in arguments]
    lines = _runge_kutta(lambda at: _call("derivative", derivative, [*at, *a], given), s, dt / substeps, substeps)
    lines.append(f"return ({listed(s)}), {calls['reward']}, {calls['over']}")
    step = PlantFunction("step", function_of(dict(used), f"step({listed(s, a, taken)})", lines))
    plant = with_parameters(reset, step, observe, actions, given)
    hidden = [name for name, value in given.items() if isinstance(value, Between)]
    fixed = {name: value for name, value in given.items() if name not in hidden}
    scope = dict(used) | fixed
    line = f"return {calls['derivative']} + ({listed(['0.0'] * len(hidden))})"
    rates = function_of(scope, f"rates({listed(s, hidden, a)})", [line])
    ended = None
    if over is not None:
        ended = function_of(scope, f"ended({listed(s, hidden)})", [f"return {calls['over']}"])
    begun = None
    if not isinstance(start, PlantFunction):
        drawn = [value for value in given.values() if isinstance(value, Between)]
        begun = (*((low, high) for _, low, high in start), *((value.low, value.high) for value in drawn))
    flow = Flow(rates, ended, (*variables, *hidden), dt, substeps, begun)
    made_of = (derivative, reward, over, start, observe, actions, dt, substeps, dict(given))
    return replace(plant, flow=flow, origin=(ode_plant, made_of))


def _reset(start: Sequence[tuple[str, float, float]]) -> PlantFunction:
    """Uniform in a box."""
    values = [f"{low!r} + {high - low!r} * u{j}" if high > low else repr(low) for j, (_, low, high) in enumerate(start)]
    head = f"reset({listed(names('u', len(start)))})"
    return PlantFunction("reset", function_of({}, head, [f"return ({listed(values)})"]))


def _call(what: str, function: Function, free: Sequence[str], given: Mapping[str, Value]) -> str:
    """The call with these arguments, and parameters where it has arguments of their names."""
    taken = list(inspect.signature(function).parameters)
    own = [name for name in taken if name not in given]
    if len(own) != len(free):
        actions = sum(name.startswith("a") for name in free)
        order = "the state" + (", then the action" if actions else "")
        raise SpaqlError(f"{what} {function.__name__} takes {len(own)} numbers, but must take {len(free)}: {order}")
    rest = iter(free)
    return f"{what}({', '.join(name if name in given else next(rest) for name in taken)})"


def _runge_kutta(call: Callable[[list[str]], str], s: list[str], h: float, substeps: int) -> list[str]:
    """Lines of one sample."""
    slopes = {letter: [f"{name}_" for name in names(letter, len(s))] for letter in "pqrt"}
    lines = [f"for _ in range({substeps}):"]
    for letter, before, part in (("p", "", 0.0), ("q", "p", 0.5), ("r", "q", 0.5), ("t", "r", 1.0)):
        at = [f"{variable} + {part * h!r} * {before}{j}_" if before else variable for j, variable in enumerate(s)]
        lines.append(f"    {listed(slopes[letter])} = {call(at)}")
    for j, variable in enumerate(s):
        mean = f"(p{j}_ + 2.0 * q{j}_ + 2.0 * r{j}_ + t{j}_)"
        lines.append(f"    {variable} = {variable} + {h!r} / 6.0 * {mean}")
    return lines


def _tried(used: Mapping[str, Function], reset: PlantFunction, actions: int, given: Mapping[str, Value]) -> None:
    """Every function once, so that its error names it."""
    state = reset.python(*[0.5] * reset.parameters)
    if not isinstance(state, tuple):
        return  # refused with the plant
    for what, function in used.items():
        free = [*state, *[0.0] * (actions if what != "over" else 0)]
        taken = list(inspect.signature(function).parameters)
        if sum(name not in given for name in taken) != len(free):
            raise SpaqlError(f"{what} {function.__name__} takes {len(taken)} numbers, not those of state and action")
        rest = iter(free)
        values = [middle(given[name]) if name in given else next(rest) for name in taken]
        if what != "derivative":
            said(what, function, values)
            continue
        text, rates = called(what, function, values)
        numeric = isinstance(rates, tuple) and all(isinstance(rate, int | float | np.number) for rate in rates)
        if not numeric or len(rates) != len(state) or not all(map(math.isfinite, rates)):
            raise SpaqlError(f"{text} must return a tuple of {len(state)} finite numbers, not {echoed(rates)}")
