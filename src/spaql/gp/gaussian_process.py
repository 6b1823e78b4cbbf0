"""Gaussian processes: one per output, with a linear part and an RBF kernel with a length scale per
input.

    k(x, x') = x.x' + 1 + s^2 exp(-1/2 sum_k (x_k - x'_k)^2 / l_k^2) + n^2 [x = x']   (G1)

Inputs and outputs are in units of their spread. Length scales l, signal s and noise n are those
with the greatest evidence, under weak priors.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular
from scipy.optimize import minimize

from spaql.ground.arrays import Array

JITTER = 1e-7  # of variances: a kernel matrix must have an inverse
LOG_LENGTH = 1.0  # mean of the prior of log l
LOG_SPREAD = 1.5  # spread of the priors of log l and log s
WITHIN = 2  # of these spreads from the mean: bounds of the search
MAX_SNR = 500.0  # signal over noise: beyond it nothing is believed
IRRELEVANT = math.log(50.0)  # log l from which on an input has no part in the kernel
FIRST_NOISE = -3.0  # log n at which the search begins; s begins at 1, l at the mean of its prior
ITERATIONS = 60
LEAST_SIGNAL = -WITHIN * LOG_SPREAD
LEAST_NOISE = -math.log(MAX_SNR)


class Scales(NamedTuple):
    """Of one output, logarithms."""

    length: Array  # (inputs,)
    signal: float
    noise: float

    @property
    def inverse(self) -> Array:
        """One over the length scales; zero where an input has no part."""
        inverse: Array = np.where(self.length > IRRELEVANT, 0.0, np.exp(-self.length))
        return inverse


def rbf(a: Array, b: Array, scales: Scales) -> Array:
    """The squared-exponential kernel, of height one: the exponential in (G1)."""
    x, y = a * scales.inverse, b * scales.inverse
    square = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None] - 2.0 * x @ y.T
    height: Array = np.exp(-0.5 * np.maximum(square, 0.0))
    return height


def kernel(a: Array, b: Array, scales: Scales, base: float = 0.0) -> Array:
    """(G1) without noise; `base`: of a quadratic part."""
    product = a @ b.T
    linear = product + 1.0 + base * product * product
    covariance: Array = math.exp(2.0 * scales.signal) * rbf(a, b, scales) + linear
    return covariance


def factor(x: Array, scales: Scales, base: float = 0.0) -> tuple[Array, bool]:
    """Of the kernel matrix of the data, with noise."""
    matrix = kernel(x, x, scales, base)
    matrix[np.diag_indices(len(x))] += math.exp(2.0 * scales.noise) + JITTER
    triangle: tuple[Array, bool] = cho_factor(matrix, lower=True)
    return triangle


def leave_one_out_error(x: Array, y: Array, scales: Scales, base: float = 0.0) -> float:
    """The error with which each output in units is predicted from all others."""
    inverse = cho_solve(factor(x, scales, base), np.eye(len(x)))
    errors = (inverse @ y) / np.diag(inverse)
    return float(np.sqrt((errors**2).mean()))


def mean_at(at: Array, x: Array, y: Array, scales: Scales) -> Array:
    """What is to be expected at other inputs."""
    mean: Array = kernel(at, x, scales) @ cho_solve(factor(x, scales), y)
    return mean


def fit_scales(x: Array, y: Array, base: float = 0.0) -> tuple[Scales, float]:
    """The scales with the greatest evidence, and the negative logarithm of the evidence."""
    inputs = x.shape[1]
    reach = WITHIN * LOG_SPREAD
    lengths, signals = (LOG_LENGTH - reach, LOG_LENGTH + reach), (-reach, reach)
    product = x @ x.T
    linear = product + 1.0 + base * product * product
    fit = minimize(
        _evidence, np.r_[np.full(inputs, LOG_LENGTH), 0.0, FIRST_NOISE], args=(x, y, linear), jac=True,
        method="L-BFGS-B", bounds=[*[lengths] * inputs, signals, (LEAST_NOISE, 0.0)],
        options={"maxiter": ITERATIONS},
    )  # fmt: skip
    return Scales(fit.x[:inputs], float(fit.x[inputs]), float(fit.x[inputs + 1])), float(fit.fun)


def _evidence(theta: Array, x: Array, y: Array, linear: Array) -> tuple[float, Array]:
    """Negative log evidence with priors, and its gradient."""
    n, inputs = x.shape
    signal, noise = theta[inputs], theta[inputs + 1]
    scaled = x * np.exp(-theta[:inputs])
    square = (scaled * scaled).sum(axis=1)
    apart = np.maximum(square[:, None] + square[None] - 2.0 * scaled @ scaled.T, 0.0)
    correlated = np.exp(2.0 * signal - 0.5 * apart)
    matrix = correlated + linear
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
    prior = (theta - np.r_[np.full(inputs, LOG_LENGTH), 0.0, noise]) / LOG_SPREAD  # none of the noise
    beyond = max((noise - signal) / LEAST_NOISE, 0.0)
    value += 0.5 * prior @ prior + beyond**20
    slope += prior / LOG_SPREAD
    slope[inputs] -= 20.0 * beyond**19 / LEAST_NOISE
    slope[inputs + 1] += 20.0 * beyond**19 / LEAST_NOISE
    return float(value), slope


# -- a Gaussian process on a few points: the weights that the data gives it, and functions drawn from its posterior ---
#
#     f(x) = sum_p c_p exp(-1/2 sum_k (x_k - Z_pk)^2 / l_k^2) + w.x + w_0 + x.Wx   (G2)
#
# with c ~ N(0, s^2 E^-1), E the kernel (rbf) of the inducing points among themselves, and w ~ N(0,
# 1) before any data. If the points are the data this is (G1) to the last digit; fewer do where
# kernels overlap. All data counts, however few the points are, so that the cost of a step does not
# grow with the data, and noise is averaged out.


class Posterior(NamedTuple):
    """Of the weights, in the order c, w, w_0, W."""

    mean: Array
    root: Array  # triangular: root^T root is the inverse of the covariance


def inducing_points(x: Array, at: Array, scales: Scales, most: int, enough: float) -> Array:
    """Rows of x, and then of `at`, from whose kernels those of all others follow, up to the
    variance `enough`.

    Greedily the one that follows least from those before it (Cholesky with pivots).
    """
    everything, n = np.concatenate([x, at]), len(x)
    limit = enough * np.exp(-2.0 * scales.signal)
    variance, rows = np.ones(len(everything)), np.zeros((min(most, n) + len(at), len(everything)))
    picked: list[int] = []
    for begin, end, room in ((0, n, min(most, n)), (n, len(everything), len(at))):
        for _ in range(room):
            best = begin + int(variance[begin:end].argmax())
            if variance[begin:end].mean() <= limit or variance[best] <= JITTER:
                break
            count = len(picked)
            row = rbf(everything[[best]], everything, scales)[0] - rows[:count, best] @ rows[:count]
            rows[count] = row / np.sqrt(variance[best])
            variance = np.maximum(variance - rows[count] ** 2, 0.0)
            variance[best] = 0.0
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
    """`base`: prior variance of the quadratic part; `still`: inputs along it do nothing."""
    phi, m, d = features(x, points, scales, base > 0.0), len(points), x.shape[1]
    noise = np.exp(2.0 * scales.noise) + JITTER
    prior = np.zeros((phi.shape[1], phi.shape[1]))
    inducing = rbf(points, points, scales) + JITTER * np.eye(m)
    prior[:m, :m] = inducing * np.exp(-2.0 * scales.signal)
    others = np.ones(phi.shape[1] - m)
    if base > 0.0:  # x_a x_b stands for itself and x_b x_a
        a, b = np.triu_indices(d)
        others[d + 1 :] = 1.0 / np.where(a == b, base, 2.0 * base)
    prior[np.arange(m, len(prior)), np.arange(m, len(prior))] = others
    if still is not None:
        prior[m : m + d, m : m + d] += still.T @ still / JITTER
    inner = phi.T @ phi / noise + prior
    inner[np.diag_indices(len(inner))] *= 1.0 + 1e-10
    lower, _ = cho_factor(inner, lower=True)
    lower = np.tril(lower)
    return Posterior(cho_solve((lower, True), phi.T @ y / noise), lower.T)


def posterior_samples(weights: Posterior, count: int, rng: np.random.Generator) -> Array:
    """(count, weights): functions at random."""
    chance = rng.standard_normal((len(weights.mean), count))
    samples: Array = weights.mean[:, None] + solve_triangular(weights.root, chance)
    return samples.T
