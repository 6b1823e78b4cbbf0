"""Augmented random search: steps along random directions, weighted by what the two ends of each are worth.

After H. Mania, A. Guy and B. Recht, "Simple random search provides a competitive approach to reinforcement learning"
(arXiv 1803.07055), with a step that shrinks. Where returns are noisy it goes on when CMA-ES adapts to the noise.
"""

import numpy as np

from spaql.arrays import Array

NU = 0.3  # length of the directions that are tried, in standard deviations
ALPHA = 0.3  # length of a step
SHRINKING = 0.99  # of both, per generation
SMALLEST = 0.1  # part of the first length that is kept


class ARS:
    """`x`: where to begin; `scale`: the standard deviation of each number there. It has the interface of `CMA`."""

    def __init__(self, x: Array, scale: Array, rng: np.random.Generator, population: int) -> None:
        self.mean, self.scale, self.rng = x.copy(), scale, rng
        self.directions, self.sigma = max(population // 2, 2), 1.0
        self.population = 2 * self.directions
        self.steps = np.zeros((0, len(x)))

    @property
    def spread(self) -> float:
        return float(NU * self.sigma * self.scale.max())

    def ask(self) -> Array:
        self.steps = self.rng.normal(size=(self.directions, len(self.mean))) * self.scale
        reach = NU * self.sigma * self.steps
        return np.concatenate([self.mean + reach, self.mean - reach])

    def tell(self, values: Array) -> None:
        ahead, back = values[: self.directions], values[self.directions :]
        best = np.argsort(-np.maximum(ahead, back), kind="stable")[: max(self.directions // 2, 1)]
        deviation = float(np.concatenate([ahead[best], back[best]]).std())
        if deviation > 0.0:
            step = (ahead[best] - back[best]) @ self.steps[best]
            self.mean = self.mean + ALPHA * self.sigma / (len(best) * deviation) * step
        self.sigma = max(SMALLEST, self.sigma * SHRINKING)
