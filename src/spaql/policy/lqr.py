"""The linear-quadratic regulator of a plant around an operating point, as a policy of one affine law."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import real
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Continuous, Problem
from spaql.policy.law import checked_problem, one_law, vector
from spaql.policy.linear import linear_model
from spaql.policy.policy import Policy
from spaql.policy.tracking import ROUNDED, regulator, tracking, weights_of
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
        return tracking(problem, Q, R, at, action, discount, model)
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
    weights, price = weights_of("Q", Q, names), weights_of("R", R, axes)
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
