"""The linear-quadratic regulator of a plant around an operating point, as a policy of one affine law.

In a loop it is of errors and, if they are weighed, their integrals:

    x' = x0 + A (x - x0) + B (u - u0)        i' = i + dt (r - y)        u = u0 + G (y - r) + H i

The plant alone is linearised, where it stays with the references in the middle of their ranges.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import depth, numbers, real
from spaql.ground.errors import SpaqlError
from spaql.plants.loop import extended, stated
from spaql.plants.memory import parsed
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals
from spaql.policy.law import checked_problem, law, one_law, vector
from spaql.policy.linear import ROUNDED, SAME, Linear, linear_model, regulator
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, variable_names
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD


def lqr(
    problem: Problem, Q: Any, R: Any, at: Any = None, action: Any = None, discount: float = 1.0,
    model: Problem | None = None,
) -> Policy:  # fmt: skip
    """The linear-quadratic regulator: the affine law that keeps the sum of y'Qy + u'Ru small around a point.

    y and u are the deviations of observation and action from the operating point. The plant's own step is linearised by
    central differences, and the discrete Riccati equation is solved.

    - `Q`, `R`: weights of observation and action: by name (names that are missing have none), a vector or number for
      the diagonal, or a matrix. R must be positive.
    - `at`: the operating point, an observation, by name or as a vector; default: the problem's reference. A mapping
      takes from the reference what it does not name.
    - `action`: what holds the plant there; if it is not given, it is looked for.
    - `discount`: of a cost one step later. Below 1 where something is observed that no action can change, such as a
      reference.
    - `model`: another problem with the same variables whose plant is linearised: `spaql.from_data(...)` for a Gymnasium
      environment, or the plant without drawn parameters.

    Of finite actions the one nearest to the regulator's is applied.

    Of a problem in a loop (`spaql.loop`) it is a regulator of the errors: Q weights errors, measured variables and
    integrals by name, such as {"speed_error": 1.0, "integral(speed_error)": 5.0}; `at` names measured variables, by
    default those with a reference in the middle of its range; what is not named is where it stays. Delay, noise, rate
    limits and interlocks are not part of the linear model.
    """
    if checked_problem(problem).signals is not None:
        return _tracking(problem, Q, R, at, action, discount, model)
    names, axes = variable_names(problem), action_names(problem)
    source = problem if model is None else checked_problem(model)
    if (variable_names(source), source.actions.axes) != (names, problem.actions.axes):
        raise SpaqlError(
            f"model has other variables or actions than {problem.name}: {', '.join(variable_names(source))}"
        )
    if source.plant is None:
        record = "record steps of it and give model=spaql.from_data(problem, ...)"
        raise SpaqlError(f"{source.name} has no equations to linearise: {record}")
    if isinstance(Q, Mapping) and not Q:
        raise SpaqlError("Q has no weights: say what is to be kept small, such as Q={" + repr(names[0]) + ": 1.0}")
    weights, price = _weights("Q", Q, names), _price(R, axes)
    gamma = real("discount", discount, 0.0, 1.0, above=True)
    point = _point(problem, at, names)
    low, high = problem.actions.bounds
    if (low == high).all():
        raise SpaqlError(f"{problem.name} has one action only: there is nothing to choose")
    held = _held(action, axes)
    if held is not None and ((held < low) | (held > high)).any():
        raise SpaqlError(f"action {held.tolist()} is outside {low.tolist()} ... {high.tolist()}")
    near = linear_model(source, source.plant, point, held)
    gains = regulator(near, weights, price, gamma, names)
    offsets = near.action - gains @ point
    offsets[np.abs(offsets) < ROUNDED * (high - low)] = 0.0
    return _policy(problem, gains, offsets)


def _point(problem: Problem, at: Any, names: Sequence[str]) -> Array:
    reference = problem.reference
    if at is None and reference is None:
        raise SpaqlError(f"{problem.name} has no reference: give the operating point with at=...")
    known = np.full(len(names), np.nan) if reference is None else np.array(reference, float)
    point = known if at is None else vector("at", at, names, missing=known)
    for name, axis, value in zip(names, problem.state, point.tolist(), strict=True):
        if axis.slope is None and not axis.low <= value <= axis.high:
            raise SpaqlError(f"at is outside the axes: {name} = {value:g} is not in {axis.low:g} ... {axis.high:g}")
    return point


def _policy(problem: Problem, gains: Array, offsets: Array) -> Policy:
    """The law; of finite actions the nearest one, which is an affine law, too."""
    actions = problem.actions
    if not actions.values:
        return one_law(problem, gains, offsets, CLIP, "LQR")
    values = np.array(actions.values, float)
    steps = np.diff(values)
    if len(values) == 2:
        sign = np.sign(steps[0])
        return one_law(problem, sign * gains, sign * (offsets - values.mean()), THRESHOLD, "LQR")
    if np.allclose(steps, steps[0], rtol=1e-9):
        return one_law(problem, gains / steps[0], (offsets - values[0]) / steps[0], ORDERED, "LQR")
    # the distance |u - v| is least where u v - v v / 2 is highest
    return one_law(problem, values[:, None] * gains, values * offsets - values * values / 2.0, SCORES, "LQR")


def _weights(what: str, given: Any, names: Sequence[str]) -> Array:
    """A symmetric matrix of weights that are not negative."""
    if isinstance(given, Mapping):
        matrix = np.diag(vector(what, given, names))
    elif isinstance(given, int | float):
        matrix = real(what, given) * np.eye(len(names))
    else:
        square = depth(what, given) == 2
        matrix = numbers(what, given, (len(names),) * (2 if square else 1))
        matrix = matrix if square else np.diag(matrix)
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise SpaqlError(f"{what} must be finite and symmetric")
    least = float(np.linalg.eigvalsh(matrix).min())
    if least < -SAME * max(1.0, float(np.abs(matrix).max())):
        raise SpaqlError(f"{what} must have no negative weights: a regulator would run away from the operating point")
    return matrix


def _price(R: Any, axes: Sequence[str]) -> Array:
    price = _weights("R", R, axes)
    if np.linalg.eigvalsh(price).min() <= 0.0:
        raise SpaqlError(f"R must be positive for every action ({', '.join(axes)}): nothing else limits the gains")
    return price


def _held(action: Any, axes: Sequence[str]) -> Array | None:
    """What holds the plant at the operating point; None: it is looked for."""
    return None if action is None else vector("action", [action] if isinstance(action, int | float) else action, axes)


# -- in a loop ---------------------------------------------------------------------------------------------------------


def _tracking(problem: Problem, Q: Any, R: Any, at: Any, action: Any, discount: float, model: Problem | None) -> Policy:
    """See `lqr`."""
    base, signals, _ = stated(problem)
    source = base if model is None else model
    if signals.increments or signals.actuator.values:
        raise SpaqlError("an LQR in a loop needs continuous actions, neither increments nor a finite set")
    if source.plant is None:
        raise SpaqlError(f"{base.name} has no equations to linearise: give model=spaql.from_data(problem, ...)")
    if [axis.name for axis in source.state] != [axis.name for axis in signals.measured]:
        listed = ", ".join(axis.name for axis in signals.measured)
        raise SpaqlError(f"model must be of what is measured ({listed}): from_data of the problem before spaql.loop")
    if not isinstance(Q, Mapping) or not Q:
        raise SpaqlError(f"Q weights errors, measured variables and integrals by name: {', '.join(signals.axes)}")
    measured, axes = [axis.name for axis in signals.measured], list(signals.action_names)
    integrals = _integrals(Q, signals)
    followed = {j: name for name, (_, j) in signals.errors.items()}
    weights = np.zeros(len(measured) + len(integrals))
    places = {name: j for j, name in enumerate([*measured, *integrals])} | {name: j for j, name in followed.items()}
    for name, weight in Q.items():
        if name not in places:
            choices = [*measured, *signals.errors, *(f"integral({error})" for error in signals.errors)]
            raise SpaqlError(f"Q: {name!r} is neither measured nor an error or its integral: {', '.join(choices)}")
        weights[places[name]] += real(f"Q: {name}", weight, 0.0)
    point = _measured_point(signals, at, measured)
    near = linear_model(source, source.plant, point, _held(action, axes))
    names = [*measured, *integrals]
    joined = _with_integrals(near, [measured.index(of) for of in integrals.values()], signals.dt)
    gamma, price = real("discount", discount, 0.0, 1.0, above=True), _price(R, axes)
    gains = regulator(joined, np.diag(weights), price, gamma, names)
    return _law(problem, signals, near, gains, list(integrals), followed)


def _integrals(Q: Mapping[str, Any], signals: Signals) -> dict[str, str]:
    """Integrals that are weighed: by name, the measured variable of their error."""
    integrals = {}
    for name in Q:
        if name.startswith("integral("):
            item = parsed(name, list(signals.errors), ())[0]
            integrals[item.name] = signals.measured[signals.errors[item.of][1]].name
    return integrals


def _measured_point(signals: Signals, at: Any, names: list[str]) -> Array:
    """NaN where the plant says itself where it stays."""
    middle = np.full(len(names), np.nan)
    for k, j in signals.errors.values():
        middle[j] = signals.references[k].middle
    if at is None:
        return middle
    if not isinstance(at, Mapping) or not set(at) <= set(names):
        raise SpaqlError(f"at names measured variables: {', '.join(names)}")
    return np.array([real(f"at: {name}", at[name]) if name in at else middle[j] for j, name in enumerate(names)])


def _with_integrals(near: Linear, of: list[int], dt: float) -> Linear:
    """The model with the integral of minus each of these variables, which is that of its error."""
    n, count, k = len(near.a), len(of), near.b.shape[1]
    a = np.block([[near.a, np.zeros((n, count))], [-dt * near.c[of], np.eye(count)]])
    c = np.block([[near.c, np.zeros((len(near.c), count))], [np.zeros((count, n)), np.eye(count)]])
    scale = np.concatenate([near.scale, np.ones(count)])
    b, seen = np.concatenate([near.b, np.zeros((count, k))]), np.append(near.seen, np.zeros(count))
    return Linear(np.append(near.state, np.zeros(count)), near.action, a, b, c, seen, scale)


def _law(
    problem: Problem, signals: Signals, near: Linear, gains: Array, integrals: list[str], followed: dict[int, str]
) -> Policy:
    """Errors take the place of the variables that follow a reference."""
    d, axes = len(signals.measured), list(signals.action_names)
    rows: list[dict[str, float]] = []
    offsets = near.action.copy()
    for row in range(len(axes)):
        used: dict[str, float] = {}
        for j, axis in enumerate(signals.measured):
            gain = float(gains[row, j])
            if j in followed:
                used[followed[j]] = -gain
            else:
                used[axis.name] = gain
                offsets[row] -= gain * float(near.seen[j])
        rows.append(used | {name: float(gains[row, d + n]) for n, name in enumerate(integrals)})
    shown = [name for name in rows[0] if any(row[name] != 0.0 for row in rows)] or list(rows[0])[:1]
    in_loop = extended(problem, integrals, shown)
    low, high = signals.actuator.bounds
    offsets[np.abs(offsets) < ROUNDED * (high - low)] = 0.0
    laws = [{name: row[name] for name in shown} for row in rows]
    if len(axes) > 1:
        return law(in_loop, laws, offsets.tolist(), "LQR")
    return law(in_loop, laws[0], float(offsets[0]), "LQR")
