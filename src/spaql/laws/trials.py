"""Episodes in which laws are tried, on a compiled plant or in an environment; every step is counted.

An episode is known by its seed: the same seed gives the same start state and the same noise to every law that is tried
on it, in any order, on the compiled plant as in Gymnasium's loop.
"""

from collections.abc import Callable

import numpy as np

from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.errors import SpaqlError
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv
from spaql.plants.problem import Problem
from spaql.streams import derive, plant_seed
from spaql.training.lanes import OK, Episodes, new_lanes, stage_of
from spaql.training.tree_episodes import episode_in
from spaql.training.tree_rollouts import run_tree
from spaql.trees.tree import Tree

MOST_AT_ONCE = 4096  # episodes between two checks for Ctrl-C
LOST = -1e100  # the return of a law that drives the plant out of all numbers


class Spent(Exception):  # noqa: N818  (no error: the budget ends the search)
    """The samples that were given, or the patience of the user, are at an end."""


@kernel
def _seeds(seed: int, purpose: int, first: int, seeds: Array) -> None:
    for i in range(len(seeds)):
        seeds[i] = np.int64(plant_seed(seed, purpose, first + i))


@kernel
def _keys(seeds: Array, keys: Array) -> None:
    for i in range(len(seeds)):
        keys[i] = derive(np.uint64(seeds[i]), 0)


def seeds_of(seed: int, purpose: int, first: int, count: int) -> Array:
    """Seeds of episodes number `first`, `first + 1`, ... of a purpose."""
    seeds = np.empty(count, np.int64)
    _seeds(seed, purpose, first, seeds)
    return seeds


class Trials:
    """`left`: samples that may still be used, None without a limit; `stopped` tells that the user wants an end."""

    def __init__(self, problem: Problem, left: int | None = None, stopped: Callable[[], bool] = lambda: False) -> None:
        if not problem.can_run:
            raise SpaqlError(f"{problem.name} has no plant to try laws on")
        self.problem, self.left, self.stopped, self.samples = problem, left, stopped, 0
        self.reserve = 0  # samples that the search must leave for what comes after it
        self.variables = len(problem.state)
        self.env = problem.open_env() if problem.plant is None else None
        if problem.plant is not None:
            self.stage = stage_of(problem.plant, problem.horizon)
            self.lanes = new_lanes(self.variables, problem.plant.rows)

    def returns(self, tree: Tree, seeds: Array) -> Array:
        """The return of each episode."""
        return self.watched(tree, seeds, 0)[0]

    def watched(self, tree: Tree, seeds: Array, states: int) -> tuple[Array, Array, Array]:
        """Returns, visits of the nodes, and the first so many states."""
        if self.stopped() or (self.left is not None and self.left < len(seeds) * self.problem.horizon + self.reserve):
            raise Spent
        returns, visits = np.zeros(len(seeds)), np.zeros(len(tree.nodes), np.int64)
        seen = np.empty((states, self.variables))
        run = self._on_plant if self.env is None else self._in_environment
        steps = run(tree, seeds, returns, visits if states else visits[:0], seen)
        self._count(steps)
        bad = ~(np.abs(returns) <= HUGE)
        returns[bad] = LOST
        return returns, visits, seen[: min(steps, states)]

    def spend(self, tree: Tree, seed: int, purpose: int) -> None:
        """Use up what is left, to the last step: episodes of a law that is good already, the last one cut short."""
        number, self.reserve = 0, 0
        while self.left:
            whole = min(self.left // self.problem.horizon, MOST_AT_ONCE)
            if whole:
                self.returns(tree, seeds_of(seed, purpose, number, whole))
                number += whole
                continue
            env = self.env if self.env is not None else PlantEnv(self.problem)
            for _ in episode_in(self.problem, tree, env, int(plant_seed(seed, purpose, number))):
                self._count(1)
                if self.left == 0:
                    break
            number += 1

    def _count(self, steps: int) -> None:
        self.samples += steps
        self.left = None if self.left is None else self.left - steps

    def _on_plant(self, tree: Tree, seeds: Array, returns: Array, visits: Array, seen: Array) -> int:
        assert self.problem.plant is not None
        keys = np.empty(len(seeds), np.uint64)
        _keys(seeds, keys)
        episodes = Episodes(np.uint64(0), returns, 0, len(seeds), keys)
        steps = run_tree(*self.problem.plant.batch, self.stage, tree.controller, self.lanes, episodes, visits, seen)
        self.lanes.fault[0] = OK  # a law that drives the plant out of all numbers has lost; the search goes on
        return int(steps)

    def _in_environment(self, tree: Tree, seeds: Array, returns: Array, visits: Array, seen: Array) -> int:
        steps = 0
        for i, seed in enumerate(seeds.tolist()):
            for observation, leaf, reward in episode_in(self.problem, tree, self.env, seed):
                if steps < len(seen):
                    seen[steps] = observation
                if len(visits):
                    visits[leaf] += 1
                returns[i] += reward
                steps += 1
        return steps
