"""A plant out of its equations, put together with or without noise.

    next state = limit(move(state, action, p) + process noise, p)
    reward, terminated = outcome(state, action, next state, p)
    observation = look(state) + observation noise, within the bounds of its axis

What the controller sees of a state must not change when it looks twice. So `step` and `reset` draw the errors of
observation and keep them as hidden variables behind the state, where `observe` finds them. Parameters that every
episode draws anew are kept there too. A plant without noise and with fixed parameters has no hidden variables.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from spaql.plants.axes import Axis
from spaql.plants.equations import TWO_PI, Equations, clipped
from spaql.plants.known import KnownOutcome
from spaql.plants.parameters import Between, drawn
from spaql.plants.plant import Plant, make_plant, observe, reset, step

Spreads = Sequence[tuple[int, float]]  # (number of the variable, standard deviation)


def gaussians(u1: float, u2: float) -> tuple[float, float]:
    """Two independent standard normal numbers from two uniform ones (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - u1))  # 1 - u1 is never zero
    return radius * math.cos(TWO_PI * u2), radius * math.sin(TWO_PI * u2)


def plain(equations: Equations, p: Any, actions: int) -> Plant:
    """Without noise, with published parameters: `limit` would change nothing. `actions`: number of action axes."""
    return _assembled(equations, p, actions, False, (), (), ())


def changed(
    equations: Equations, p: Any, actions: int, axes: Sequence[Axis], process: Spreads, errors: Spreads
) -> Plant:
    """With noise, or with parameters that may drive the state beyond its bounds in one step."""
    return _assembled(equations, p, actions, True, axes, process, errors)


def _assembled(
    equations: Equations, p: Any, actions: int, limited: bool, axes: Sequence[Axis], process: Spreads, errors: Spreads
) -> Plant:
    """The text of the three functions is ours; the plant enters as functions, parameters and noise as numbers.

    A pendulum, both noises on its velocity, the mass drawn by `reset`:

    def step(s0, s1, e0, d0, a0, u0, u1):
        p = Parameters(10.0, d0, 1.0, 0.05, 8.0, 2.0)
        n0, n1 = move(s0, s1, a0, p)
        z0, z1 = gaussians(u0, u1)
        n1 = n1 + P1 * z0
        n0, n1 = limit(n0, n1, p)
        reward, terminated = outcome(s0, s1, a0, n0, n1, p)
        return (n0, n1, E0 * z1, d0), reward, terminated
    """
    size, ranges = len(equations.variables), [value for value in p if isinstance(value, Between)]
    s, n = _names("s", size), _names("n", size)  # the state, and the next one
    a, c = _names("a", actions), _names("c", equations.chances)
    d, r = _names("d", len(ranges)), _names("r", len(ranges))  # parameters drawn, and the uniform numbers they need
    e = _names("e", len(errors))
    scope: dict[str, Any] = equations._asdict() | {"gaussians": gaussians, "clipped": clipped, "drawn": drawn}
    scope["__name__"] = __name__
    scope |= {f"P{j}": spread for j, spread in process} | {f"E{k}": spread for k, (_, spread) in enumerate(errors)}
    scope["Parameters"] = type(p)
    hidden = iter(range(len(ranges)))
    values = [f"d{next(hidden)}" if isinstance(value, Between) else repr(float(value)) for value in p]
    known = [f"p = Parameters({', '.join(values)})"]
    limit = [f"{n} = limit({n}p)"] if limited else []
    u, noise, normal = _normals(len(process) + len(errors))
    pushed = [f"n{j} = n{j} + P{j} * {z}" for (j, _), z in zip(process, normal, strict=False)]
    error = "".join(f"E{k} * {z}, " for k, z in enumerate(normal[len(process) :]))
    step_lines = [*known, f"{n} = move({s}{a}{c}p)", *noise, *pushed, *limit]
    step_lines += [f"reward, terminated = outcome({s}{a}{n}p)", f"return ({n}{error}{d}), reward, terminated"]
    stepped = _function(scope, f"step({s}{e}{d}{a}{c}{u})", *step_lines)

    first = _names("f", _count(equations.start))
    u, noise, normal = _normals(len(errors))
    error = "".join(f"E{k} * {z}, " for k, z in enumerate(normal))
    draw = [f"d{k} = drawn({value.low!r}, {value.high!r}, r{k})" for k, value in enumerate(ranges)]
    reset_lines = [*draw, *known, f"{n} = start({first})", *limit, *noise]
    started = _function(scope, f"reset({first}{u}{r})", *reset_lines, f"return ({n}{error}{d})")

    observed = equations.look
    if errors or ranges:
        o = _names("o", len(axes))
        looked = f"{o} = look({s})" if equations.look else f"{o} = {s}"
        added = [f"o{j} = " + _bounded(f"o{j} + e{k}", axes[j]) for k, (j, _) in enumerate(errors)]
        observed = _function(scope, f"observe({s}{e}{d})", looked, *added, f"return ({o})")
    return make_plant(reset(started), step(stepped), observe(observed) if observed else None, actions)


def known(equations: Equations, p: Any, seen: int, actions: int) -> KnownOutcome | None:
    """Reward and end of what is seen, without errors of observation; None if it does not decide about them.

    def reward(o0, o1, o2, a0, n0, n1, n2):
        return outcome(*state_of(o0, o1, o2), a0, *state_of(n0, n1, n2), Parameters(10.0, 1.0, 1.0, 0.05, 8.0, 2.0))[0]
    """
    hides = equations.look is not None and equations.state_of is None
    if hides or any(isinstance(value, Between) for value in p):  # what an episode has drawn is not seen
        return None
    o, a, n = _names("o", seen), _names("a", actions), _names("n", seen)
    before, after = (f"*state_of({o}), ", f"*state_of({n}), ") if equations.state_of else (o, n)
    scope: dict[str, Any] = {"outcome": equations.outcome, "state_of": equations.state_of, "Parameters": type(p)}
    scope["__name__"] = __name__
    call = f"outcome({before}{a}{after}Parameters({', '.join(repr(float(value)) for value in p)}))"
    reward = _function(scope, f"reward({o}{a}{n})", f"return {call}[0]")
    terminated = _function(scope, f"terminated({o}{a}{n})", f"return {call}[1]")
    return KnownOutcome(reward, terminated, seen, actions)


def _names(letter: str, count: int) -> str:
    return "".join(f"{letter}{j}, " for j in range(count))


def _count(function: Callable[..., Any]) -> int:
    return function.__code__.co_argcount


def _normals(count: int) -> tuple[str, list[str], list[str]]:
    """The uniform parameters that `count` normal numbers need, the lines that make them, and their names."""
    pairs = (count + 1) // 2
    lines = [f"z{2 * k}, z{2 * k + 1} = gaussians(u{2 * k}, u{2 * k + 1})" for k in range(pairs)]
    return _names("u", 2 * pairs), lines, [f"z{k}" for k in range(count)]


def _bounded(value: str, axis: Axis) -> str:
    return value if axis.slope is not None else f"clipped({value}, {float(axis.low)!r}, {float(axis.high)!r})"


def _function(scope: dict[str, Any], head: str, *lines: str) -> Any:
    exec(compile("\n    ".join([f"def {head}:", *lines]), __file__, "exec"), scope)
    return scope[head.partition("(")[0]]
