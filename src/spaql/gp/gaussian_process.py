"""Gaussian processes: one per output, with a linear part and an RBF kernel with a length scale per input.

    k(x, x') = x.x' + 1 + s^2 exp(-1/2 sum_k (x_k - x'_k)^2 / l_k^2) + n^2 [x = x']   (G1)

Inputs and outputs are in units of their spread. Length scales l, signal s and noise n are those with the greatest
evidence, under weak priors.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular
from scipy.optimize import minimize

from spaql.ground.arrays import Array

JITTER = 1e-8  # of the noise: a kernel matrix must have an inverse
LENGTH = (1.0, 1.5)  # prior of log l: mean and spread
SIGNAL = 1.5  # spread of the prior of log s
RATIO = math.log(500.0)  # of signal and noise: beyond it nothing is believed
BOUNDS_LENGTH, BOUNDS_SIGNAL, BOUNDS_NOISE = (-2.0, 4.0), (-4.0, 3.0), (-6.5, 0.5)  # of the logarithms
BEGIN = (1.0, 0.0, -3.0)  # log l, log s, log n
IRRELEVANT = 3.9  # log l from which on an input has no part in the kernel
ITERATIONS = 60


class Scales(NamedTuple):
    """Of one output, logarithms."""

    length: Array  # (inputs,)
    signal: float
    noise: float

    @property
    def inverse(self) -> Array:
        """One over the length scales; zero where an input has no part."""
        found: Array = np.where(self.length > IRRELEVANT, 0.0, np.exp(-self.length))
        return found


def rbf(a: Array, b: Array, scales: Scales) -> Array:
    """The squared-exponential kernel, of height one: the exponential in (G1)."""
    x, y = a * scales.inverse, b * scales.inverse
    square = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None] - 2.0 * x @ y.T
    found: Array = np.exp(-0.5 * np.maximum(square, 0.0))
    return found


def kernel(a: Array, b: Array, scales: Scales, base: float = 0.0) -> Array:
    """(G1) without noise; `base`: of a quadratic part."""
    product = a @ b.T
    found: Array = math.exp(2.0 * scales.signal) * rbf(a, b, scales) + product + 1.0 + base * product * product
    return found


def factor(x: Array, scales: Scales, base: float = 0.0) -> tuple[Array, bool]:
    """Of the kernel matrix of the data, with noise."""
    matrix = kernel(x, x, scales, base)
    matrix[np.diag_indices(len(x))] += math.exp(2.0 * scales.noise) + JITTER
    found: tuple[Array, bool] = cho_factor(matrix, lower=True)
    return found


def leave_one_out_error(x: Array, y: Array, scales: Scales, base: float = 0.0, few: float = 0.0) -> float:
    """The error with which each output in units is predicted from all others, as a part of their spread.

    `few`: the part of the outputs that do not count, since their errors are the largest.
    """
    squares = np.sort(leave_one_out(x, y, scales, base) ** 2)
    return float(np.sqrt(squares[: math.ceil((1.0 - few) * len(y))].mean()))


def leave_one_out(x: Array, y: Array, scales: Scales, base: float = 0.0) -> Array:
    """The error with which each output is predicted from all others."""
    inverse = cho_solve(factor(x, scales, base), np.eye(len(x)))
    found: Array = (inverse @ y) / np.diag(inverse)
    return found


def mean_at(at: Array, x: Array, y: Array, scales: Scales) -> Array:
    """What is to be expected at other inputs."""
    found: Array = kernel(at, x, scales) @ cho_solve(factor(x, scales), y)
    return found


def fit_scales(x: Array, y: Array, base: float = 0.0) -> tuple[Scales, float]:
    """The scales with the greatest evidence, and the negative logarithm of the evidence."""
    inputs = x.shape[1]
    start = np.r_[np.full(inputs, BEGIN[0]), BEGIN[1:]]
    bounds = [BOUNDS_LENGTH] * inputs + [BOUNDS_SIGNAL, BOUNDS_NOISE]
    product = x @ x.T
    fixed = product + 1.0 + base * product * product
    found = minimize(
        _evidence, start, args=(x, y, fixed), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": ITERATIONS},
    )  # fmt: skip
    return Scales(found.x[:inputs], float(found.x[inputs]), float(found.x[inputs + 1])), float(found.fun)


def _evidence(theta: Array, x: Array, y: Array, fixed: Array) -> tuple[float, Array]:
    """Negative log evidence with priors, and its gradient."""
    n, inputs = x.shape
    signal, noise = theta[inputs], theta[inputs + 1]
    scaled = x * np.exp(-theta[:inputs])
    square = (scaled * scaled).sum(axis=1)
    correlated = np.exp(2.0 * signal - 0.5 * np.maximum(square[:, None] + square[None] - 2.0 * scaled @ scaled.T, 0.0))
    matrix = correlated + fixed
    matrix[np.diag_indices(n)] += math.exp(2.0 * noise) + JITTER
    lower, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        return 1e10, np.zeros_like(theta)
    inverse, _ = lapack.dpotri(lower, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    a = inverse @ y
    value = 0.5 * y @ a + np.log(np.diag(lower)).sum()
    slope = np.empty_like(theta)
    part = (np.outer(a, a) - inverse) * correlated
    sums = part.sum(axis=1)
    for k in range(inputs):
        column = scaled[:, k]
        slope[k] = -(sums @ (column * column) - column @ part @ column)
    slope[inputs] = -part.sum()
    slope[inputs + 1] = -(a @ a - np.trace(inverse)) * math.exp(2.0 * noise)
    mean, spread = LENGTH
    value += 0.5 * (((theta[:inputs] - mean) / spread) ** 2).sum() + 0.5 * (signal / SIGNAL) ** 2
    slope[:inputs] += (theta[:inputs] - mean) / spread**2
    slope[inputs] += signal / SIGNAL**2
    beyond = max((signal - noise) / RATIO, 0.0)
    value += beyond**20
    slope[inputs] += 20.0 * beyond**19 / RATIO
    slope[inputs + 1] -= 20.0 * beyond**19 / RATIO
    return float(value), slope


# -- a Gaussian process on a few points: the weights that the data gives it, and functions drawn from its posterior ----
#
#     f(x) = sum_p c_p exp(-1/2 sum_k (x_k - Z_pk)^2 / l_k^2) + w.x + w_0 + x.Wx   (G2)
#
# with c ~ N(0, s^2 E^-1), E the kernel (rbf) of the inducing points among themselves, and w ~ N(0, 1) before any data.
# If the points are the data this is (G1) to the last digit; fewer do where kernels overlap. All data counts, however
# few the points are, so that the cost of a step does not grow with the data, and noise is averaged out.

CERTAIN = 1e8  # one over the variance of a weight that is known to be nothing
POINT_JITTER = 1e-7  # of the kernel of the inducing points: their matrix must have an inverse


class Posterior(NamedTuple):
    """Of the weights, in the order c, w, w_0, W."""

    mean: Array
    root: Array  # triangular: root^T root is the inverse of the covariance


def inducing_points(x: Array, at: Array, scales: Scales, most: int, enough: float) -> Array:
    """Rows of x, and then of `at`, from whose kernels those of all others follow, up to the variance `enough`.

    Greedily the one that follows least from those before it (Cholesky with pivots).
    """
    everything, n = np.concatenate([x, at]), len(x)
    limit = enough * np.exp(-2.0 * scales.signal)
    left, rows = np.ones(len(everything)), np.zeros((min(most, n) + len(at), len(everything)))
    picked: list[int] = []
    for begin, end, room in ((0, n, min(most, n)), (n, len(everything), len(at))):
        for _ in range(room):
            best = begin + int(left[begin:end].argmax())
            if left[begin:end].mean() <= limit or left[best] <= POINT_JITTER:
                break
            count = len(picked)
            row = rbf(everything[[best]], everything, scales)[0] - rows[:count, best] @ rows[:count]
            rows[count] = row / np.sqrt(left[best])
            left = np.maximum(left - rows[count] ** 2, 0.0)
            left[best] = 0.0
            picked.append(best)
    return everything[picked]


def features(x: Array, points: Array, scales: Scales, quadratic: bool) -> Array:
    """(n, weights) what the weights are multiplied with."""
    parts = [rbf(x, points, scales), x, np.ones((len(x), 1))]
    if quadratic:
        a, b = np.triu_indices(x.shape[1])
        parts.append(x[:, a] * x[:, b])
    return np.concatenate(parts, axis=1)


def posterior(
    x: Array, y: Array, points: Array, scales: Scales, base: float = 0.0, still: Array | None = None
) -> Posterior:
    """Of the data, in units; `base`: the prior variance of the quadratic part; `still`: inputs along it do nothing."""
    phi, m, d = features(x, points, scales, base > 0.0), len(points), x.shape[1]
    noise = np.exp(2.0 * scales.noise) + 1e-8
    prior = np.zeros((phi.shape[1], phi.shape[1]))
    prior[:m, :m] = (rbf(points, points, scales) + POINT_JITTER * np.eye(m)) * np.exp(-2.0 * scales.signal)
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


def posterior_samples(found: Posterior, count: int, rng: np.random.Generator) -> Array:
    """(count, weights): functions at random."""
    chance = rng.standard_normal((len(found.mean), count))
    others: Array = found.mean[:, None] + solve_triangular(found.root, chance)
    return others.T
