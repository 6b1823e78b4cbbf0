"""The linear-quadratic regulator of a plant in a loop: of errors and, if they are weighed, their integrals.

    x' = x0 + A (x - x0) + B (u - u0)        i' = i + dt (r - y)        u = u0 + G (y - r) + H i

The plant alone is linearised, where it stays with the references in the middle of their ranges.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from spaql.ground.arrays import Array
from spaql.ground.checks import depth, numbers, real
from spaql.ground.errors import SpaqlError
from spaql.plants.loop import extended, stated
from spaql.plants.memory import parsed
from spaql.plants.problem import Continuous, Problem
from spaql.plants.signals import Signals
from spaql.policy.law import law, vector
from spaql.policy.linear import Linear, linear_model
from spaql.policy.policy import Policy

# -- the regulator of a linear model: the discrete Riccati equation, and its gains in what is observed -----------------

SAME = 1e-8  # of the largest: a smaller part of a linear model is an error of its differences
NEEDED = 1e-5  # of the gains: so much may be lost where they are told in what is observed
ROUNDED = 1e-7  # of the largest part of an action: less is no part of the law


def regulator(near: Linear, weights: Array, price: Array, gamma: float, names: Sequence[str]) -> Array:
    """Gains (actions, variables) of what is observed: u - u0 = gains (y - y0)."""
    a, b, c = _kept(near)
    a, b, basis = _reachable(a, b)
    c = c @ basis
    cost = c.T @ weights @ c
    gain = riccati_gain(a, b, (cost + cost.T) / 2.0, price, gamma)
    if gain is None:
        fade = np.sqrt(gamma)
        raise SpaqlError(_why_not(fade * a, fade * b, c, weights, gamma, names))
    gains: Array = np.linalg.lstsq(c.T, gain.T, rcond=SAME)[0].T
    if np.abs(gains @ c - gain).max() > NEEDED * np.abs(gain).max():
        raise SpaqlError(
            "the observed variables do not determine the state that the regulator needs: observe more, for instance "
            f"differences from step to step (observed: {', '.join(names)})"
        )
    parts = np.abs(gains) * np.linalg.norm(c, axis=1)
    gains[parts < ROUNDED * parts.max(axis=1, keepdims=True)] = 0.0
    return gains


def riccati_gain(a: Array, b: Array, cost: Array, price: Array, gamma: float = 1.0) -> Array | None:
    """u = gain x, which keeps the sum of x' cost x + u' price u small; None where nothing can hold the model."""
    fade = np.sqrt(gamma)
    try:
        p = solve_discrete_are(fade * a, fade * b, cost, price)
        gain = -np.linalg.solve(price + gamma * b.T @ p @ b, gamma * b.T @ p @ a)
    except (LinAlgError, ValueError):
        return None
    return gain if np.isfinite(gain).all() else None


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
            return f"Q gives no weight to {worst}, which is not stable by itself: give it one, or a discount below 1"
    return "the Riccati equation has no finite solution: weight other variables in Q, or choose Q closer to R"


def weights_of(what: str, given: Any, names: Sequence[str]) -> Array:
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


# -- the linear-quadratic regulator of a plant in a loop: of errors and, if they are weighed, their integrals ----------

def tracking(problem: Problem, Q: Any, R: Any, at: Any, action: Any, discount: float, model: Problem | None) -> Policy:
    """See `lqr`."""
    base, signals, _ = stated(problem)
    source = base if model is None else model
    if signals.increments or not isinstance(signals.actuator, Continuous):
        raise SpaqlError("an LQR in a loop needs continuous actions, neither increments nor a finite set")
    if source.plant is None:
        raise SpaqlError(f"{base.name} has no equations to linearise: give model=spaql.from_data(problem, ...)")
    if [axis.name for axis in source.state] != [axis.name for axis in signals.measured]:
        told = ", ".join(axis.name for axis in signals.measured)
        raise SpaqlError(f"model must be of what is measured ({told}): from_data of the problem before spaql.loop")
    if not isinstance(Q, Mapping) or not Q:
        raise SpaqlError(f"Q weights errors, measured variables and integrals by name: {', '.join(signals.axes)}")
    measured, axes = [axis.name for axis in signals.measured], list(signals.action_names)
    integrals = _integrals(Q, signals)
    followed = {j: name for name, (_, j) in signals.errors.items()}
    weights = np.zeros(len(measured) + len(integrals))
    for name, weight in Q.items():
        error = {error: j for j, error in followed.items()}
        place = measured.index(name) if name in measured else error.get(name, -1)
        place = len(measured) + list(integrals).index(name) if name in integrals else place
        if place < 0:
            choices = [*measured, *signals.errors, *(f"integral({error})" for error in signals.errors)]
            raise SpaqlError(f"Q: {name!r} is neither measured nor an error or its integral: {', '.join(choices)}")
        weights[place] += real(f"Q: {name}", weight, 0.0)
    point = _point(signals, at, measured)
    given = None if action is None else vector("action", [action] if isinstance(action, int | float) else action, axes)
    near = linear_model(source, source.plant, point, given)
    names = [*measured, *integrals]
    joined = _with_integrals(near, [measured.index(of) for of in integrals.values()], signals.dt)
    gamma, price = real("discount", discount, 0.0, 1.0, above=True), weights_of("R", R, axes)
    if np.linalg.eigvalsh(price).min() <= 0.0:
        raise SpaqlError(f"R must be positive for every action ({', '.join(axes)}): nothing else limits the gains")
    gains = regulator(joined, np.diag(weights), price, gamma, names)
    return _law(problem, signals, near, gains, list(integrals), followed)


def _integrals(Q: Mapping[str, Any], signals: Signals) -> dict[str, str]:
    """Integrals that are weighed: by name, the measured variable of their error."""
    found = {}
    for name in Q:
        if name.startswith("integral("):
            item = parsed(name, list(signals.errors), ())[0]
            found[item.name] = signals.measured[signals.errors[item.of][1]].name
    return found


def _point(signals: Signals, at: Any, names: list[str]) -> Array:
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
    made = extended(problem, integrals, shown)
    low, high = signals.actuator.bounds
    offsets[np.abs(offsets) < ROUNDED * (high - low)] = 0.0
    told: Any = [{name: row[name] for name in shown} for row in rows]
    return law(
        made, told if len(axes) > 1 else told[0], offsets.tolist() if len(axes) > 1 else float(offsets[0]), "LQR"
    )
