"""The linear-quadratic regulator of a plant in a loop: of errors and, if they are weighed, their integrals.

    x' = x0 + A (x - x0) + B (u - u0)        i' = i + dt (r - y)        u = u0 + G (y - r) + H i

The plant alone is linearised, where it stays with the references in the middle of their ranges.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import real
from spaql.errors import SpaqlError
from spaql.plants.loop import extended, stated
from spaql.plants.memory import parsed
from spaql.plants.problem import Continuous, Problem
from spaql.plants.signals import Signals
from spaql.policy.law import law, vector
from spaql.policy.linear import Linear, linear_model
from spaql.policy.policy import Policy
from spaql.policy.regulator import ROUNDED, regulator, weights_of


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
