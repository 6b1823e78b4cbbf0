"""Augmented random search from nothing, for slow and noisy simulators: V2-t of H. Mania, A. Guy and B. Recht,
"Simple random search provides a competitive approach to reinforcement learning" (arXiv 1803.07055).

One episode per direction and sign, the same start state for both; a step along the better half of the directions;
variables in units that follow all that was seen. The law that is judged is the mean of those on the way. It differs
from `ARS` (cma.py) in these units and in having no generation with common episodes: many directions with one noisy
episode each lead further than a few with many.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from spaql.ground.arrays import Array
from spaql.laws.environments import Job, Rollout
from spaql.laws.trials import Trials
from spaql.laws.vector import Free, Units, all_free, everything, numbers_of, with_numbers
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree

DIRECTIONS = 16
BEST = 8  # of them that count
NU = 0.2  # length of the directions that are tried
ALPHA = 0.05  # length of a step
LEAST = 0.01  # of the range that was seen: a variable that varied less is not blown up further


class Running:
    """Mean and deviation of the variables over all episodes so far."""

    def __init__(self, problem: Problem) -> None:
        d = len(problem.state)
        self.problem, self.count = problem, 0
        self.mean, self.squares = np.zeros(d), np.zeros(d)
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, one: Rollout) -> None:
        mean, squares, low, high = one.moments
        total, shift = self.count + one.steps, mean - self.mean
        self.squares = self.squares + squares + shift * shift * self.count * one.steps / total
        self.mean = self.mean + shift * one.steps / total
        self.count, self.low, self.high = total, np.minimum(self.low, low), np.maximum(self.high, high)

    @property
    def units(self) -> Units:
        reach = self.high - self.low
        alive = reach > 1e-9 * np.maximum(np.abs(self.mean), 1e-6)
        deviation = np.maximum(np.sqrt(self.squares / max(self.count - 1, 1)), LEAST * reach)
        return Units(self.mean, np.where(alive, 1.0 / np.where(alive, deviation, 1.0), 0.0), self.problem)


@dataclass
class Walk:
    """A tree on its way. `tree` and `free` say which numbers there are; `x` are the numbers, in `units`."""

    tree: Tree
    free: Free
    x: Array
    units: Units
    rng: np.random.Generator
    seeds: Callable[[int], Array]  # of so many episodes that were not used before
    running: Running  # what the units follow
    passed: list[Array] = field(default_factory=list)  # physical numbers on the way since it was last judged

    @property
    def physical(self) -> Tree:
        return self.units.physical(with_numbers(self.tree, self.free, self.x))

    def average(self) -> Tree:
        """The mean of the laws since this was last asked for: less noise than the last of them has."""
        tree, numbers = self.physical, np.mean(self.passed, axis=0)
        self.passed = []
        return with_numbers(tree, everything(tree), numbers)

    def step(self, trials: Trials, horizon: int) -> None:
        """One generation: 2 episodes per direction."""
        n = DIRECTIONS
        directions = self.rng.normal(size=(n, len(self.x)))
        reach = NU * directions
        laws = [self.units.physical(with_numbers(self.tree, self.free, x)) for x in (*self.x + reach, *self.x - reach)]
        seeds = self.seeds(n).tolist()
        rollouts = trials.roll_out([Job(law, seeds[i % n], horizon) for i, law in enumerate(laws)])
        for one in rollouts:
            self.running.add(one)
        self.units = self.running.units
        returns = np.array([one.total for one in rollouts]).reshape(2, n)
        best = np.argsort(-returns.max(axis=0), kind="stable")[:BEST]
        deviation = float(returns[:, best].std())
        if deviation > 0.0:
            gain = (returns[0, best] - returns[1, best]) @ directions[best]
            self.x = self.x + ALPHA / (BEST * deviation) * gain
        law = self.physical
        self.passed.append(numbers_of(law, everything(law)))


def walk_from(tree: Tree, running: Running, rng: np.random.Generator, seeds: Callable[[int], Array]) -> Walk:
    """A walk of all numbers of a tree in units."""
    free = all_free(tree, np.ones(tree.variables, bool))
    return Walk(tree, free, numbers_of(tree, free), running.units, rng, seeds, running)
