"""Two optimisers that maximise, with ask and tell: CMA-ES (covariance matrix adaptation evolution strategy), and ARS
(augmented random search).
"""

import math

import numpy as np

from spaql.ground.arrays import Array

MAX_FULL_NUMBERS = 80  # beyond, only the diagonal of the covariance is adapted
MIN_VARIANCE = 1e-20


class CMA:
    """After N. Hansen, "The CMA Evolution Strategy: A Tutorial" (arXiv 1604.00772): names and constants of pages 28-29.

    `x`: where to begin; `scale`: the standard deviation of each number there.
    """

    def __init__(self, x: Array, scale: Array, rng: np.random.Generator, population: int) -> None:
        n = self.n = len(x)
        self.mean, self.rng, self.population = x.copy(), rng, population
        self.sigma, self.generation = 1.0, 0
        parents = population // 2
        weights = np.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
        self.weights = weights / weights.sum()
        mu = self.mu_eff = 1.0 / float((self.weights**2).sum())
        self.diagonal = n > MAX_FULL_NUMBERS
        self.c_c = (4 + mu / n) / (n + 4 + 2 * mu / n)
        self.c_sigma = (mu + 2) / (n + mu + 5)
        faster = (n + 2) / 3 if self.diagonal else 1.0  # a diagonal has fewer numbers to learn
        self.c_1 = min(1.0, faster * 2 / ((n + 1.3) ** 2 + mu))
        self.c_mu = min(1 - self.c_1, faster * 2 * (mu - 2 + 1 / mu) / ((n + 2) ** 2 + mu))
        self.damping = 1 + 2 * max(0.0, math.sqrt((mu - 1) / (n + 1)) - 1) + self.c_sigma
        self.expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # length of a standard normal vector
        self.p_c, self.p_sigma = np.zeros(n), np.zeros(n)
        self.covariance = scale**2 if self.diagonal else np.diag(scale**2)
        self.deviations, self.axes = scale.copy(), np.eye(0 if self.diagonal else n)
        self.steps = np.zeros((0, n))

    @property
    def spread(self) -> float:
        """The largest standard deviation of the next population."""
        return float(self.sigma * self.deviations.max())

    def ask(self) -> Array:
        """The next population, a row each."""
        z = self.rng.normal(size=(self.population, self.n)) * self.deviations
        self.steps = z if self.diagonal else z @ self.axes.T
        asked: Array = self.mean + self.sigma * self.steps
        return asked

    def tell(self, values: Array) -> None:
        """What each row of the population is worth."""
        best = self.steps[np.argsort(-values, kind="stable")[: len(self.weights)]]
        step = self.weights @ best
        self.mean = self.mean + self.sigma * step
        white = step / self.deviations if self.diagonal else self.axes @ ((self.axes.T @ step) / self.deviations)
        rate = math.sqrt(self.c_sigma * (2 - self.c_sigma) * self.mu_eff)
        self.p_sigma = (1 - self.c_sigma) * self.p_sigma + rate * white
        length = float(np.linalg.norm(self.p_sigma))
        self.generation += 1
        settled = math.sqrt(1 - (1 - self.c_sigma) ** (2 * self.generation))
        short = length / settled / self.expected < 1.4 + 2 / (self.n + 1)
        self.p_c = (1 - self.c_c) * self.p_c + short * math.sqrt(self.c_c * (2 - self.c_c) * self.mu_eff) * step
        kept = 1 - self.c_1 - self.c_mu
        if self.diagonal:
            self.covariance = kept * self.covariance + self.c_1 * self.p_c**2 + self.c_mu * (self.weights @ best**2)
            self.deviations = np.sqrt(np.maximum(self.covariance, MIN_VARIANCE))
        else:
            rank_mu = (best.T * self.weights) @ best
            self.covariance = kept * self.covariance + self.c_1 * np.outer(self.p_c, self.p_c) + self.c_mu * rank_mu
            if self.generation % max(1, int(1 / (10 * self.n * (self.c_1 + self.c_mu)))) == 0:
                self.covariance = (self.covariance + self.covariance.T) / 2
                values_, self.axes = np.linalg.eigh(self.covariance)
                self.deviations = np.sqrt(np.maximum(values_, MIN_VARIANCE))
        self.sigma *= math.exp(min(1.0, (self.c_sigma / self.damping) * (length / self.expected - 1)))


# -- augmented random search: steps along random directions, weighted by what the two ends of each are worth -----------

STEP_LENGTH = 0.3  # of the directions that are tried and of a step, in standard deviations
STEP_DECAY = 0.99  # of both, per generation
MIN_STEP_SHARE = 0.1  # of the first length


class ARS:
    """After H. Mania, A. Guy and B. Recht, "Simple random search provides a competitive approach to reinforcement
    learning" (arXiv 1803.07055), with a step that shrinks. Where returns are noisy it goes on when CMA-ES adapts to the
    noise.

    It has the interface of `CMA`. `nu`: length of the directions that are tried, `alpha`: of a step.
    """

    def __init__(
        self, x: Array, scale: Array, rng: np.random.Generator, population: int, nu: float = STEP_LENGTH,
        alpha: float = STEP_LENGTH, decay: float = STEP_DECAY,
    ) -> None:  # fmt: skip
        self.mean, self.scale, self.rng, self.nu, self.alpha, self.decay = x.copy(), scale, rng, nu, alpha, decay
        self.directions, self.sigma = max(population // 2, 2), 1.0
        self.population = 2 * self.directions
        self.steps = np.zeros((0, len(x)))

    @property
    def spread(self) -> float:
        return float(self.nu * self.sigma * self.scale.max())

    def ask(self) -> Array:
        self.steps = self.rng.normal(size=(self.directions, len(self.mean))) * self.scale
        reach = self.nu * self.sigma * self.steps
        return np.concatenate([self.mean + reach, self.mean - reach])

    def tell(self, values: Array) -> None:
        ahead, back = values[: self.directions], values[self.directions :]
        best = np.argsort(-np.maximum(ahead, back), kind="stable")[: max(self.directions // 2, 1)]
        deviation = float(np.concatenate([ahead[best], back[best]]).std())
        if deviation > 0.0:
            step = (ahead[best] - back[best]) @ self.steps[best]
            self.mean = self.mean + self.alpha * self.sigma / (len(best) * deviation) * step
        self.sigma = max(MIN_STEP_SHARE, self.sigma * self.decay)
