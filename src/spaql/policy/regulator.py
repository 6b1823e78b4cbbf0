"""The regulator of a linear model: the discrete Riccati equation, and its gains in what is observed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from spaql.arrays import Array
from spaql.checks import depth, numbers, real
from spaql.errors import SpaqlError
from spaql.policy.law import vector
from spaql.policy.linear import Linear

SAME = 1e-8  # of the largest: a smaller part of a linear model is an error of its differences
NEEDED = 1e-5  # of the gains: so much may be lost where they are told in what is observed
ROUNDED = 1e-7  # of the largest part of an action: less is no part of the law


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
            "the observed variables do not determine the state that the regulator needs: observe more, for instance "
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
