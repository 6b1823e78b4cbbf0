"""A Gaussian process on a few points: the weights that the data gives it, and functions drawn from its posterior.

    f(x) = sum_p c_p exp(-1/2 sum_k (x_k - Z_pk)^2 / l_k^2) + w.x + w_0 + x.Wx   (G2)

with c ~ N(0, s^2 E^-1), E the bumps of the points at each other, and w ~ N(0, 1) before any data. If the points are the
data this is (G1) to the last digit; fewer points do where bumps overlap. All data counts, however few the points are,
so that the cost of a step does not grow with the data, and noise is averaged out.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from spaql.arrays import Array
from spaql.gp.fit import Widths

CERTAIN = 1e8  # one over the variance of a weight that is known to be nothing
JITTER = 1e-7  # of the bumps at each other: their matrix must have an inverse


class Posterior(NamedTuple):
    """Of the weights, in the order c, w, w_0, W."""

    mean: Array
    root: Array  # triangular: root^T root is the inverse of the covariance


def bumps(x: Array, points: Array, widths: Widths) -> Array:
    """Of height one."""
    a, b = x * widths.inverse, points * widths.inverse
    square = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None] - 2.0 * a @ b.T
    found: Array = np.exp(-0.5 * np.maximum(square, 0.0))
    return found


def points_of(x: Array, at: Array, widths: Widths, most: int, enough: float) -> Array:
    """Rows of x, and then of `at`, from whose bumps those of all others follow, up to the variance `enough`.

    Greedily the one that follows least from those before it (Cholesky with pivots).
    """
    everything, n = np.concatenate([x, at]), len(x)
    limit = enough * np.exp(-2.0 * widths.signal)
    left, rows = np.ones(len(everything)), np.zeros((min(most, n) + len(at), len(everything)))
    picked: list[int] = []
    for begin, end, room in ((0, n, min(most, n)), (n, len(everything), len(at))):
        for _ in range(room):
            best = begin + int(left[begin:end].argmax())
            if left[begin:end].mean() <= limit or left[best] <= JITTER:
                break
            count = len(picked)
            row = bumps(everything[[best]], everything, widths)[0] - rows[:count, best] @ rows[:count]
            rows[count] = row / np.sqrt(left[best])
            left = np.maximum(left - rows[count] ** 2, 0.0)
            left[best] = 0.0
            picked.append(best)
    return everything[picked]


def features(x: Array, points: Array, widths: Widths, quadratic: bool) -> Array:
    """(n, weights) what the weights are multiplied with."""
    parts = [bumps(x, points, widths), x, np.ones((len(x), 1))]
    if quadratic:
        a, b = np.triu_indices(x.shape[1])
        parts.append(x[:, a] * x[:, b])
    return np.concatenate(parts, axis=1)


def posterior(
    x: Array, y: Array, points: Array, widths: Widths, base: float = 0.0, still: Array | None = None
) -> Posterior:
    """Of the data, in units; `base`: the prior variance of the quadratic part; `still`: inputs along it do nothing."""
    phi, m, d = features(x, points, widths, base > 0.0), len(points), x.shape[1]
    noise = np.exp(2.0 * widths.noise) + 1e-8
    prior = np.zeros((phi.shape[1], phi.shape[1]))
    prior[:m, :m] = (bumps(points, points, widths) + JITTER * np.eye(m)) * np.exp(-2.0 * widths.signal)
    others = np.ones(phi.shape[1] - m)
    if base > 0.0:  # x_a x_b stands for itself and x_b x_a
        a, b = np.triu_indices(d)
        others[d + 1 :] = 1.0 / np.where(a == b, base, 2.0 * base)
    prior[np.arange(m, len(prior)), np.arange(m, len(prior))] = others
    if still is not None:
        prior[m : m + d, m : m + d] += CERTAIN * still.T @ still
    inner = phi.T @ phi / noise + prior
    inner[np.diag_indices(len(inner))] *= 1.0 + 1e-10
    lower, _ = cho_factor(inner, lower=True)
    lower = np.tril(lower)
    return Posterior(cho_solve((lower, True), phi.T @ y / noise), lower.T)


def drawn(found: Posterior, count: int, rng: np.random.Generator) -> Array:
    """(count, weights): functions at random."""
    chance = rng.standard_normal((len(found.mean), count))
    others: Array = found.mean[:, None] + solve_triangular(found.root, chance)
    return others.T
