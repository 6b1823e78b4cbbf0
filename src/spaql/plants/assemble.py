"""A plant put together as text, out of the equations of the catalog or out of a user's functions.

    next state = limit(move(state, action, p) + process noise, p)
    reward, terminated = outcome(state, action, next state, p)
    observation = look(state) + observation noise, within the bounds of its axis
    first state = limit(start(), p), some of its variables drawn from ranges that are given

What the controller sees of a state must not change when it looks twice. So `step` and `reset` draw the errors of
observation and keep them as hidden variables behind the state, where `observe` finds them. Parameters that every
episode draws anew are kept behind them. A plant without noise and with fixed parameters has no hidden variables.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis
from spaql.plants.compile import function_of, listed, names
from spaql.plants.equations import TWO_PI, Between, Equations, Value, drawn
from spaql.plants.known import KnownOutcome
from spaql.plants.plant import Plant, PlantFunction, make_plant

Spreads = Sequence[tuple[int, float]]  # (number of the variable, standard deviation)
Starts = Sequence[tuple[int, Value]]  # (number of the variable, where it begins)


def gaussians(u1: float, u2: float) -> tuple[float, float]:
    """Two independent standard normal numbers from two uniform ones (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - u1))  # 1 - u1 is never zero
    return radius * math.cos(TWO_PI * u2), radius * math.sin(TWO_PI * u2)


def normals(count: int, pairs: int | None = None) -> tuple[list[str], list[str], list[str]]:
    """The uniform numbers that `count` normal ones need, the lines that make these, and their names.

    `pairs`: of normal numbers that are made; with as many as are needed, only the first of each pair is.
    """
    drawn_pairs = (count + 1) // 2 if pairs is None else pairs
    lines = [f"x{2 * k}, x{2 * k + 1} = gaussians(v{2 * k}, v{2 * k + 1})" for k in range(drawn_pairs)]
    used = names("x", count) if pairs is None else [f"x{2 * k}" for k in range(count)]
    return names("v", 2 * drawn_pairs), lines, used


def bounded(value: str, axis: Axis) -> str:
    """Within the bounds of the axis, if it has some."""
    return value if axis.slope is not None else f"min(max({value}, {float(axis.low)!r}), {float(axis.high)!r})"


# -- plants of the catalog ---------------------------------------------------------------------------------------------

def catalog_plant(
    equations: Equations, p: Any, actions: int, axes: Sequence[Axis], limited: tuple[bool, bool], starts: Starts,
    process: Spreads, errors: Spreads,
) -> Plant:  # fmt: skip
    """`actions`: number of action axes; `limited`: whether a start, and a step, may lead beyond the state's bounds.

    A pendulum, both noises on its velocity, the mass drawn by `reset` (see `with_parameters`):

    def step(s0, s1, e0, a0, v0, v1, m):
        p = Parameters(10.0, m, 1.0, 0.05, 8.0, 2.0)
        n0, n1 = move(s0, s1, a0, p)
        x0, x1 = gaussians(v0, v1)
        n1 = n1 + P1 * x0
        n0, n1 = limit(n0, n1, p)
        reward, terminated = outcome(s0, s1, a0, n0, n1, p)
        return (n0, n1, E0 * x1), reward, terminated
    """
    ranges = {name: value for name, value in p._asdict().items() if isinstance(value, Between)}
    s, n = names("s", len(equations.variables)), names("n", len(equations.variables))  # the state, and the next one
    a, c, e = names("a", actions), names("c", equations.chances), names("e", len(errors))
    scope: dict[str, Any] = equations._asdict() | {"gaussians": gaussians, "drawn": drawn, "Parameters": type(p)}
    scope |= {f"P{j}": spread for j, spread in process} | {f"E{k}": spread for k, (_, spread) in enumerate(errors)}
    known_p = f"p = {_parameters(p)}"
    first_limit, limit = ([f"{listed(n)} = limit({listed(n)}p)"] if may else [] for may in limited)
    v, noise, normal = normals(len(process) + len(errors))
    pushed = [f"n{j} = n{j} + P{j} * {x}" for (j, _), x in zip(process, normal, strict=False)]
    blurred = [f"E{k} * {x}" for k, x in enumerate(normal[len(process) :])]
    lines = [known_p, f"{listed(n)} = move({listed(s, a, c)}p)", *noise, *pushed, *limit]
    lines.append(f"reward, terminated = outcome({listed(s, a, n)}p)")
    lines.append(f"return ({listed(n, blurred)}), reward, terminated")
    step = PlantFunction("step", function_of(scope, f"step({listed(s, e, a, c, v, ranges)})", lines))

    first = names("f", equations.start.__code__.co_argcount)
    ranged = [(j, value) for j, value in starts if isinstance(value, Between)]
    begun = [f"n{j} = {value!r}" for j, value in starts if not isinstance(value, Between)]
    begun += [f"n{j} = drawn({value.low!r}, {value.high!r}, b{k})" for k, (j, value) in enumerate(ranged)]
    first += names("b", len(ranged))
    v, noise, normal = normals(len(errors))
    blurred = [f"E{k} * {x}" for k, x in enumerate(normal)]
    uniform = first[: len(first) - len(ranged)]
    lines = [known_p, f"{listed(n)} = start({listed(uniform)})", *begun, *first_limit, *noise]
    lines.append(f"return ({listed(n, blurred)})")
    reset = PlantFunction("reset", function_of(scope, f"reset({listed(first, v, ranges)})", lines))

    observe = None if equations.look is None else PlantFunction("observe", equations.look)
    if errors:
        o = names("o", len(axes))
        lines = [f"{listed(o)} = look({listed(s)})" if equations.look else f"{listed(o)} = {listed(s)}"]
        lines += [f"o{j} = {bounded(f'o{j} + e{k}', axes[j])}" for k, (j, _) in enumerate(errors)]
        lines.append(f"return ({listed(o)})")
        observe = PlantFunction("observe", function_of(scope, f"observe({listed(s, e)})", lines))
    return with_parameters(reset, step, observe, actions, ranges)


def known_by(equations: Equations, p: Any, seen: int, actions: int) -> KnownOutcome | None:
    """Reward and end of what is seen, without errors of observation; None if it does not decide about them.

    def reward(o0, o1, o2, a0, n0, n1, n2):
        return outcome(*state_of(o0, o1, o2), a0, *state_of(n0, n1, n2), Parameters(10.0, 1.0, 1.0, 0.05, 8.0, 2.0))[0]
    """
    hides = equations.look is not None and equations.state_of is None
    if hides or any(isinstance(value, Between) for value in p):  # what an episode has drawn is not seen
        return None
    o, a, n = names("o", seen), names("a", actions), names("n", seen)
    before, after = ([f"*state_of({listed(part)})"] if equations.state_of else part for part in (o, n))
    scope = {"outcome": equations.outcome, "state_of": equations.state_of, "Parameters": type(p)}
    call = f"outcome({listed(before, a, after)}{_parameters(p)})"
    reward = function_of(scope, f"reward({listed(o, a, n)})", [f"return {call}[0]"])
    terminated = function_of(scope, f"terminated({listed(o, a, n)})", [f"return {call}[1]"])
    return KnownOutcome(reward, terminated, seen, actions)


def _parameters(p: Any) -> str:
    values = [name if isinstance(value, Between) else repr(float(value)) for name, value in p._asdict().items()]
    return f"Parameters({', '.join(values)})"


# -- functions with parameters: arguments that are named like a parameter receive it -----------------------------------
#
#     def fall(angle, rate, torque, u, mass):       # from_plant(..., parameters={"mass": spaql.Between(0.4, 0.6)})
#         ...
#
# What `reset` draws is kept as a hidden variable behind the state, so that it stays the same for a whole episode.

Parameters = Mapping[str, Value]


def with_parameters(
    reset: PlantFunction, step: PlantFunction, observe: PlantFunction | None, action_dim: int, given: Parameters
) -> Plant:
    """The plant with its parameters put in; ranges are drawn by `reset`, from the plant's own random stream.

    def reset(x0, x1, r0):                      def step(x0, x1, d0, x2, x3):
        d0 = drawn(0.4, 0.6, r0)                    after, reward, terminated = act(x0, x1, x2, x3, d0)
        return act(x0, x1, d0) + (d0,)              return after + (d0,), reward, terminated
    """
    if not given:
        return make_plant(reset, step, observe, action_dim)
    functions = [function for function in (reset, step, observe) if isinstance(function, PlantFunction)]
    for name in given:
        if not any(name in _arguments(function) for function in functions):
            called = ", ".join(function.python.__name__ for function in functions)
            raise SpaqlError(
                f"no function of the plant takes the parameter {echoed(name)}: name an argument of {called} like it"
            )
    means = {name: middle(value) for name, value in given.items()}
    seen_by = None if observe is None else _filled(observe, means)
    plant = make_plant(_filled(reset, means), _filled(step, means), seen_by, action_dim)
    ranges = [value for value in given.values() if isinstance(value, Between)]
    if ranges:
        size, hidden, r = plant.state_dim, names("d", len(ranges)), names("r", len(ranges))
        free, call = _call(reset, given)
        draws = [f"d{k} = drawn({value.low!r}, {value.high!r}, r{k})" for k, value in enumerate(ranges)]
        started = _wrapped(reset, [*free, *r], *draws, f"return {call} + ({listed(hidden)})")
        free, call = _call(step, given)
        acted = [f"after, reward, terminated = {call}", f"return after + ({listed(hidden)}), reward, terminated"]
        stepped = _wrapped(step, [*free[:size], *hidden, *free[size:]], *acted)
        free, call = (names("x", size), f"({listed(names('x', size))})") if observe is None else _call(observe, given)
        seen = PlantFunction("observe", drawn) if observe is None else observe  # of the former, only the kind
        plant = make_plant(started, stepped, _wrapped(seen, [*free, *hidden], f"return {call}"), action_dim)
    return replace(plant, origin=(with_parameters, (reset, step, observe, action_dim, dict(given))))


def middle(value: Value) -> float:
    return 0.5 * (value.low + value.high) if isinstance(value, Between) else value


def _arguments(function: PlantFunction) -> list[str]:
    return list(inspect.signature(function.python).parameters)


def _filled(function: Any, given: Parameters) -> Any:
    """The function of the arguments that are no parameters. What is no plant function `make_plant` will refuse."""
    if not isinstance(function, PlantFunction):
        return function
    free, call = _call(function, given)
    return _wrapped(function, free, f"return {call}")


def _call(function: PlantFunction, given: Parameters) -> tuple[list[str], str]:
    """The arguments that are no parameters, and the call with numbers in the place of the parameters."""
    free: list[str] = []
    values: list[str] = []
    hidden = [name for name, value in given.items() if isinstance(value, Between)]
    for name in _arguments(function):
        if name not in given:
            free.append(f"x{len(free)}")
            values.append(free[-1])
        else:
            values.append(f"d{hidden.index(name)}" if name in hidden else repr(given[name]))
    return free, f"act({', '.join(values)})"


def _wrapped(function: PlantFunction, arguments: list[str], *lines: str) -> PlantFunction:
    """The text is ours; messages shall name the user's function."""
    scope: dict[str, Any] = {"act": function.python, "drawn": drawn}
    wrapped = function_of(scope, f"wrapped({', '.join(arguments)})", lines)
    wrapped.__name__ = wrapped.__qualname__ = function.python.__name__
    return PlantFunction(function.kind, wrapped)
