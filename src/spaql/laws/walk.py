"""Augmented random search from nothing, for slow and noisy simulators: V2-t of H. Mania, A. Guy and B. Recht,
"Simple random search provides a competitive approach to reinforcement learning" (arXiv 1803.07055).

One episode per direction and sign, the same start state for both; a step along the better half of the directions;
variables in units that follow all that was seen. It differs from ars.py in these units and in having no generation with
common episodes: many directions with one noisy episode each lead further than a few with many.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.laws.environments import Job, Played
from spaql.laws.trials import Trials
from spaql.laws.units import Units
from spaql.laws.vector import Free, all_free, numbers_of, with_numbers
from spaql.plants.problem import Problem
from spaql.trees.tree import LEAF, Tree

DIRECTIONS = 16
BEST = 8  # of them that count
NU = 0.2  # length of the directions that are tried
ALPHA = 0.05  # length of a step
SHORTER = 0.5  # both, for a law that is good already
LEAST = 0.01  # of the range that was seen: a variable that varied less is not blown up further


class Running:
    """Mean and deviation of the variables over all episodes so far."""

    def __init__(self, problem: Problem) -> None:
        d = len(problem.state)
        self.problem, self.count = problem, 0
        self.mean, self.squares = np.zeros(d), np.zeros(d)
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, one: Played) -> None:
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
    running: Running | None = None  # what the units follow
    scale: float = 1.0  # of both lengths

    @property
    def physical(self) -> Tree:
        return self.units.physical(with_numbers(self.tree, self.free, self.x))

    def step(self, trials: Trials) -> None:
        """One generation: 2 episodes per direction."""
        horizon, n = trials.problem.horizon, DIRECTIONS
        directions = self.rng.normal(size=(n, len(self.x)))
        reach = NU * self.scale * directions
        laws = [self.units.physical(with_numbers(self.tree, self.free, x)) for x in (*self.x + reach, *self.x - reach)]
        seeds = self.seeds(n).tolist()
        played = trials.play([Job(law, seeds[i % n], horizon) for i, law in enumerate(laws)])
        if self.running is not None:
            for one in played:
                self.running.add(one)
            self.units = self.running.units
        returns = np.array([one.total for one in played]).reshape(2, n)
        best = np.argsort(-returns.max(axis=0), kind="stable")[:BEST]
        deviation = float(returns[:, best].std())
        if deviation > 0.0:
            gain = (returns[0, best] - returns[1, best]) @ directions[best]
            self.x = self.x + ALPHA * self.scale / (BEST * deviation) * gain


def walk_from(tree: Tree, running: Running, rng: np.random.Generator, seeds: Callable[[int], Array]) -> Walk:
    """A walk of all numbers of a tree in units."""
    free = all_free(tree, np.ones(tree.variables, bool))
    return Walk(tree, free, numbers_of(tree, free), running.units, rng, seeds, running)


def walk_on(tree: Tree, units: Units, rng: np.random.Generator, seeds: Callable[[int], Array]) -> Walk:
    """A walk with shorter steps of those numbers of a physical tree that are not zero."""
    centred = Units(np.zeros_like(units.middle), units.inverse, units.problem)  # a zero stays a zero
    inside = centred.in_units(tree)
    assert inside.laws is not None
    assert tree.laws is not None
    leaf = (tree.nodes["feature"] == LEAF)[:, None]
    free = Free(inside.weights != 0.0, ~leaf[:, 0], inside.laws.gains != 0.0, leaf & (tree.laws.offsets != 0.0))
    return Walk(inside, free, numbers_of(inside, free), centred, rng, seeds, scale=SHORTER)
