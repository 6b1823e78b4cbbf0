"""Episodes in which laws are tried, on a compiled plant or in an environment; every step is counted.

An episode is known by its seed: the same seed gives the same start state and the same noise to every law that is tried
on it, in any order, on the compiled plant as in Gymnasium's loop.
"""

import itertools
from collections.abc import Callable

import numpy as np

from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.compress.arena import MOMENT_EPISODES, PlantArena
from spaql.errors import SpaqlError
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv
from spaql.plants.problem import Problem
from spaql.streams import derive, plant_seed
from spaql.training.lanes import OK, Episodes, new_lanes, stage_of
from spaql.training.plant_errors import bad_reward, bad_state
from spaql.training.tree_episodes import episode_in
from spaql.training.tree_rollouts import run_tree
from spaql.trees.tree import Tree

MOST_AT_ONCE = 4096  # episodes between two checks for Ctrl-C
MOST_WATCHED = 160_000  # states that are looked at at once
NO_VISITS = np.empty(0, np.int64)
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
        self.problem, self.left, self.stopped, self.samples = problem, left, stopped, 0
        self.reserve = 0  # samples that the search must leave for what comes after it
        self.variables, self.unseen = len(problem.state), np.empty((0, len(problem.state)))
        free = [axis.slope is not None or problem.clip for axis in problem.state]
        self.low = np.where(free, -HUGE, [axis.low for axis in problem.state])
        self.high = np.where(free, HUGE, [axis.high for axis in problem.state])
        self.open()

    def open(self) -> None:
        """Get ready for episodes."""
        problem = self.problem
        if not problem.can_run:
            raise SpaqlError(f"{problem.name} has no plant to try laws on")
        self.env = problem.open_env() if problem.plant is None else None
        if problem.plant is not None:
            self.lanes = new_lanes(self.variables, problem.plant.rows)

    def returns(self, tree: Tree, seeds: Array) -> Array:
        """The return of each episode; very low where the plant leaves all numbers."""
        horizon = self.problem.horizon
        self._check(len(seeds) * horizon)
        returns = np.zeros(len(seeds))
        self.count(self._run(tree, seeds, horizon, returns, NO_VISITS, self.unseen))
        returns[~(np.abs(returns) <= HUGE)] = LOST
        return returns

    def watched(self, tree: Tree, seeds: Array, states: int) -> tuple[Array, Array]:
        """Visits of the nodes, and at most so many states of the closed loop, in an order of their own.

        Of very long episodes the beginnings. On the plant episodes go side by side, in an environment one after the
        other: without an order of their own, the states would be those of the loop.
        """
        horizon = max(1, min(self.problem.horizon, MOST_WATCHED // len(seeds)))
        self._check(len(seeds) * horizon)
        visits, seen = np.zeros(len(tree.nodes), np.int64), np.empty((len(seeds) * horizon, self.variables))
        returns = np.zeros(len(seeds))
        steps = self._run(tree, seeds, horizon, returns, visits, seen)
        self.count(steps)
        seen = seen[:steps]
        if not (np.abs(returns) <= HUGE).all() or not ((seen >= self.low) & (seen <= self.high)).all():
            self._complain(tree, seeds)
        seen = seen[np.lexsort(seen.T)]
        chosen = np.linspace(0, len(seen) - 1, min(states, len(seen))).round().astype(int)
        return visits, seen[chosen]

    def alternatives(
        self, tree: Tree, at: Tree, actions: Array, count: int, hold: int, seed: int
    ) -> tuple[Array, Array] | None:
        """About `count` states of the closed loop of `at`, and what is earned from there on, (states, actions + 1).

        If each of `actions` is held for some steps, and `tree` goes on; last, `tree` alone. None where nothing can go
        on from a moment, in an environment.
        """
        if self.env is not None:
            return None
        self._check(2 * count * (len(actions) + 2) * self.problem.horizon)
        arena = PlantArena(self.problem, MOMENT_EPISODES, seed)
        moments = arena.moments(at, count, seed)
        futures = arena.futures(tree, moments, actions, hold)
        self.count(arena.samples)
        return moments.states, futures

    def _complain(self, tree: Tree, seeds: Array) -> None:
        """Say where the plant or environment gives numbers that nobody can learn from."""
        env = self.env if self.env is not None else PlantEnv(self.problem)
        for seed in seeds.tolist():
            for h, (observation, _, reward) in enumerate(episode_in(self.problem, tree, env, seed)):
                where = f"reset(seed={seed}), step {h}"
                bad = np.flatnonzero(~((observation >= self.low) & (observation <= self.high)))
                if len(bad):
                    raise bad_state(self.problem, int(bad[0]), float(observation[bad[0]]), where)
                if not abs(reward) <= HUGE:
                    raise bad_reward(self.problem, where)

    def _check(self, steps: int) -> None:
        """Raise where the budget, or the patience of the user, ends."""
        if self.stopped() or (self.left is not None and self.left < steps + self.reserve):
            raise Spent

    def _run(self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array) -> int:
        run = self._on_plant if self.env is None else self._in_environment
        return run(tree, seeds, horizon, returns, visits, seen)

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
                self.count(1)
                if self.left == 0:
                    break
            number += 1

    def count(self, steps: int) -> None:
        self.samples += steps
        self.left = None if self.left is None else self.left - steps

    def _on_plant(self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array) -> int:
        assert self.problem.plant is not None
        stage = stage_of(self.problem.plant, horizon)
        keys = np.empty(len(seeds), np.uint64)
        _keys(seeds, keys)
        episodes = Episodes(np.uint64(0), returns, 0, len(seeds), keys)
        steps = run_tree(*self.problem.plant.batch, stage, tree.controller, self.lanes, episodes, visits, seen)
        self.lanes.fault[0] = OK  # a law that drives the plant out of all numbers has lost; the search goes on
        return int(steps)

    def _in_environment(
        self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array
    ) -> int:
        steps = 0
        for i, seed in enumerate(seeds.tolist()):
            episode = itertools.islice(episode_in(self.problem, tree, self.env, seed), horizon)
            for h, (observation, leaf, reward) in enumerate(episode):
                self._sound(observation, reward, seed, h)
                if steps < len(seen):
                    seen[steps] = observation
                if len(visits):
                    visits[leaf] += 1
                returns[i] += reward
                steps += 1
        return steps

    def _sound(self, observation: Array, reward: float, seed: int, step: int) -> None:
        """Raise if an environment gives numbers nobody can learn from."""
        where = f"reset(seed={seed}), step {step}"
        if not abs(reward) <= HUGE:
            raise SpaqlError(f"the environment returned the reward {reward}: rewards must be finite ({where})")
        if len(observation) != self.variables or not (np.abs(observation) <= HUGE).all():
            said = np.array2string(observation, threshold=20)
            raise SpaqlError(f"the environment's observation ({where}) is {said}: {self.variables} finite numbers")
