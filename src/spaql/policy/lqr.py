"""The linear-quadratic regulator of a plant around an operating point, as a policy of one affine law."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from spaql.arrays import Array
from spaql.checks import numbers, real
from spaql.errors import SpaqlError
from spaql.plants.problem import Continuous, Problem
from spaql.policy.law import checked_problem, one_law, vector
from spaql.policy.linear import Linear, linear_model
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, variable_names
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD

SAME = 1e-8  # of the largest: a smaller part of a linear model is an error of its differences
NEEDED = 1e-5  # of the gains: so much may be lost where they are told in what is observed
ROUNDED = 1e-7  # of the largest part of an action: less is no part of the law


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
    """
    names, axes = variable_names(checked_problem(problem)), action_names(problem)
    source = problem if model is None else checked_problem(model)
    if (variable_names(source), source.actions.axes) != (names, problem.actions.axes):
        raise SpaqlError(
            f"model has other variables or actions than {problem.name}: {', '.join(variable_names(source))}"
        )
    if source.plant is None:
        record = "record steps of it and give model=spaql.from_data(problem, ...)"
        raise SpaqlError(f"{source.name} has no equations to linearise: {record}")
    if isinstance(Q, Mapping) and not Q:
        raise SpaqlError("Q has no weights: say what shall be kept small, such as Q={" + repr(names[0]) + ": 1.0}")
    weights, price = _weights("Q", Q, names), _weights("R", R, axes)
    if np.linalg.eigvalsh(price).min() <= 0.0:
        raise SpaqlError(f"R must be positive for every action ({', '.join(axes)}): nothing else limits the gains")
    gamma = real("discount", discount, 0.0, 1.0, above=True)
    point = _point(problem, at, names)
    low, high = problem.actions.bounds
    if (low == high).all():
        raise SpaqlError(f"{problem.name} has one action only: there is nothing to choose")
    given = None if action is None else vector("action", [action] if isinstance(action, int | float) else action, axes)
    if given is not None and ((given < low) | (given > high)).any():
        raise SpaqlError(f"action {given.tolist()} is outside {low.tolist()} ... {high.tolist()}")
    near = linear_model(source, source.plant, point, given)
    gains = regulator(near, weights, price, gamma, names)
    offsets = near.action - gains @ point
    offsets[np.abs(offsets) < ROUNDED * (high - low)] = 0.0
    return _policy(problem, gains, offsets)


def regulator(near: Linear, weights: Array, price: Array, gamma: float, names: Sequence[str]) -> Array:
    """Gains (actions, variables) of what is observed: u - u0 = gains (y - y0)."""
    a, b, c = _kept(near)
    a, b, basis = _reachable(a, b)
    c = c @ basis
    cost = c.T @ weights @ c
    fade = np.sqrt(gamma)
    try:
        p = solve_discrete_are(fade * a, fade * b, (cost + cost.T) / 2.0, price)
        gain = -np.linalg.solve(price + gamma * b.T @ p @ b, gamma * b.T @ p @ a)
        found = bool(np.isfinite(gain).all())
    except (LinAlgError, ValueError):
        found = False
    if not found:
        raise SpaqlError(_why_not(fade * a, fade * b, c, weights, gamma, names))
    gains: Array = np.linalg.lstsq(c.T, gain.T, rcond=SAME)[0].T
    if np.abs(gains @ c - gain).max() > NEEDED * np.abs(gain).max():
        raise SpaqlError(
            "what is observed does not tell all that a regulator needs: observe the rest, for instance its "
            f"differences from step to step (observed: {', '.join(names)})"
        )
    parts = np.abs(gains) * np.linalg.norm(c, axis=1)
    gains[parts < ROUNDED * parts.max(axis=1, keepdims=True)] = 0.0
    return gains


def _kept(near: Linear) -> tuple[Array, Array, Array]:
    """The linear model in units of the state's scale, without what stays as it is and is not observed.

    Such are drawn parameters and counters: the law cannot know them.
    """
    scale = near.scale
    a, b, c = near.a * scale / scale[:, None], near.b / scale[:, None], near.c * scale
    own = np.abs(a - np.eye(len(a))).max(axis=1) <= SAME
    constant = own & (np.abs(near.b).max(axis=1) == 0.0) & (np.abs(c).max(axis=0) <= SAME * np.abs(c).max())
    kept = ~constant
    return a[np.ix_(kept, kept)], b[kept], c[:, kept]


def _reachable(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """The model on the states that there are after some steps, and a basis of them.

    What is drawn anew at every step, such as the error of a sensor, and the memory of a start are gone by then.
    """
    basis = np.eye(len(a))
    size = np.abs(b).max(axis=0)
    for _ in range(len(a)):
        spanned = np.concatenate([a @ basis, b / np.where(size > 0.0, size, 1.0)], axis=1)
        left, values, _ = np.linalg.svd(spanned, full_matrices=False)
        basis = left[:, values > SAME * max(float(values[0]), 1.0)]
    return basis.T @ a @ basis, basis.T @ b, basis


def _why_not(a: Array, b: Array, c: Array, weights: Array, gamma: float, names: Sequence[str]) -> str:
    """Which direction keeps the Riccati equation from having a solution."""
    values, left = np.linalg.eig(a.T)
    for value, vector_of in zip(values, left.T, strict=True):
        if abs(value) >= 1.0 - SAME and np.abs(vector_of @ b).max() < 1e-6 * np.linalg.norm(vector_of):
            worst = names[int(np.argmax(np.abs(np.linalg.pinv(c.T) @ vector_of)))]
            if abs(value) < 1.0 + 1e-6 and gamma == 1.0:
                return f"no action brings {worst} back: give a discount below 1, such as discount=0.99, or leave it out"
            return f"the plant cannot be held at the operating point: no action changes what moves {worst}"
    values, right = np.linalg.eig(a)
    for value, vector_of in zip(values, right.T, strict=True):
        seen = c @ vector_of
        if abs(abs(value) - 1.0) < 1e-6 and abs(np.conj(seen) @ weights @ seen) < 1e-9:
            worst = names[int(np.argmax(np.abs(seen)))]
            return (
                f"Q gives no weight to {worst}, which does not come back by itself: give it one, or a discount below 1"
            )
    return "the Riccati equation has no finite solution: weigh other variables in Q, or more nearly equal to R"


def _weights(what: str, given: Any, names: Sequence[str]) -> Array:
    """A symmetric matrix of weights that are not negative."""
    if isinstance(given, Mapping):
        matrix = np.diag(vector(what, given, names))
    elif isinstance(given, int | float):
        matrix = real(what, given) * np.eye(len(names))
    else:
        square = np.ndim(given) == 2
        matrix = numbers(what, given, (len(names),) * (2 if square else 1))
        matrix = matrix if square else np.diag(matrix)
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise SpaqlError(f"{what} must be finite and symmetric")
    least = float(np.linalg.eigvalsh(matrix).min())
    if least < -SAME * max(1.0, float(np.abs(matrix).max())):
        raise SpaqlError(f"{what} must have no negative weights: a regulator would run away from the operating point")
    return matrix


def _point(problem: Problem, at: Any, names: Sequence[str]) -> Array:
    reference = problem.reference
    if at is None and reference is None:
        raise SpaqlError(f"{problem.name} has no reference: say with at=... where it shall be held")
    known = np.full(len(names), np.nan) if reference is None else np.array(reference, float)
    point = known if at is None else vector("at", at, names, missing=known)
    for name, axis, value in zip(names, problem.state, point.tolist(), strict=True):
        if axis.slope is None and not axis.low <= value <= axis.high:
            raise SpaqlError(f"at is outside the axes: {name} = {value:g} is not in {axis.low:g} ... {axis.high:g}")
    return point


def _policy(problem: Problem, gains: Array, offsets: Array) -> Policy:
    """The law; of finite actions the nearest one, which is an affine law, too."""
    actions = problem.actions
    if isinstance(actions, Continuous):
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
