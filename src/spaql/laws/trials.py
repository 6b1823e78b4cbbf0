"""Episodes in which laws are tried, on a compiled plant or in an environment; every step is counted.

An episode is known by its seed: the same seed gives the same start state and the same noise to every law that is tried
on it, in any order, on the compiled plant as in Gymnasium's loop.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from spaql.compress.arena import MOMENT_EPISODES, Arena, PlantArena, finite
from spaql.ground.arrays import Array
from spaql.ground.compiling import kernel
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import derive, plant_seed
from spaql.ground.workers import parts_of, side_by_side
from spaql.laws.environments import Environments, Job, Rollout, roll_out
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv, open_environment
from spaql.plants.plant import LANES
from spaql.plants.problem import Problem
from spaql.training.closed_loop import STRETCH, tree_steps
from spaql.training.lanes import OK, Episodes, Lanes, bad_reward, bad_state, new_lanes, stage_of
from spaql.training.tree_rollouts import forest_of, run_forest, run_tree
from spaql.trees.tree import Tree, of_one_kind, one_behind_the_other

PER_WORKER = 8  # episodes between two checks for Ctrl-C in an environment, for each of its worker processes
MOST_WATCHED = 160_000  # states that are looked at at once
PLAIN = ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker")  # wrappers that leave steps as they are
STAGE = 650_000  # episodes of a search for one law, about, with all its effort
LADDER = 1_500_000  # the same for more laws: one law on the way, several races, tidying


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


def keys_of(seeds: Array) -> Array:
    """The key of the stream of each episode."""
    keys = np.empty(len(seeds), np.uint64)
    _keys(seeds, keys)
    return keys


def affordable(problem: Problem, samples: float | None, leaves: int, most: float = 1.0) -> float:
    """The effort at which a search takes about so many samples.

    Its cost goes with the third power, and above 1 with the second: there are not many more candidates then.
    """
    if samples is None:
        return most
    share = samples / ((STAGE if leaves == 1 else LADDER) * problem.horizon)
    return min(most, float(share ** (1 / 3)) if share < 1.0 else math.sqrt(share))


class Trials:
    """`left`: samples that may still be used, None without a limit; `stopped` tells that the user wants an end."""

    def __init__(
        self, problem: Problem, left: int | None = None, stopped: Callable[[], bool] = lambda: False, jobs: int = 1
    ) -> None:
        self.problem, self.left, self.stopped, self.samples = problem, left, stopped, 0
        self.effort = 1.0  # candidates, generations and episodes of a search, as a part of the usual ones
        self.tell: Callable[[int], None] = lambda samples: None  # whoever shows how far a search is
        self.reserve = 0  # samples that the search must leave for what comes after it
        self.limit: int | None = None  # `samples` beyond which a part of a search in a slow environment ends
        self.variables, self.uncounted = len(problem.state), np.empty(0, np.int64)
        self.unseen = np.empty((0, self.variables))
        self.environments: Environments | None = None
        self.slow = False  # an environment that is none of our plants
        self.twin: Problem | None = None  # the problem with its compiled plant, which can go on from any state
        self.lanes: list[Lanes] = []  # of a compiled plant, for each thread
        self.on_card = False  # whether returns come from a graphics card (laws/card_trials.py)
        self.together = problem.plant is not None and problem.plant.costly  # a population side by side
        self.open(jobs)

    def open(self, jobs: int) -> None:
        """Get ready for episodes."""
        problem = self.problem
        if not problem.can_run:
            raise SpaqlError(f"{problem.name} has no plant to try laws on")
        self.twin = problem if problem.plant is not None else None
        if problem.plant is None:
            self.environments = Environments(problem, jobs)
            self.slow = not isinstance(self.environments.env.unwrapped, PlantEnv)
            self.twin = _twin(problem, self.environments.env)
        free = [axis.slope is not None or problem.clip or self.slow for axis in problem.state]
        self.low = np.where(free, -HUGE, [axis.low for axis in problem.state])
        self.high = np.where(free, HUGE, [axis.high for axis in problem.state])

    @property
    def env(self) -> Any:
        """An environment of the problem, ours around the plant if it is compiled."""
        return open_environment(self.problem) if self.environments is None else self.environments.env

    def close(self) -> None:
        """End worker processes."""
        if self.environments is not None:
            self.environments.close()

    def roll_out(self, jobs: Sequence[Job]) -> list[Rollout]:
        """Episodes in an environment, one after the other as long as the budget has room for a whole one.

        How many are asked for at once, or are under way at once, makes no difference: none begins unless it would fit
        even if all before it took their whole time.
        """
        done: list[Rollout] = []
        workers, env = 1 if self.environments is None else self.environments.jobs, self.env
        while len(done) < len(jobs):
            most = min(len(jobs) - len(done), PER_WORKER * workers)
            longest = max(job.horizon for job in jobs[len(done) : len(done) + most])
            free = most * longest if self.left is None else self.left - self.reserve
            room = (free if self.limit is None else min(free, self.limit - self.samples)) // longest
            if self.stopped() or room < 1:
                raise Spent
            now = jobs[len(done) : len(done) + min(most, room)]
            if self.environments is not None:
                some = self.environments.roll_out(now)
            else:
                some = [roll_out(self.problem, env, job) for job in now]
            self.count(sum(rollout.steps for rollout in some))
            done += some
        return done

    def returns(self, tree: Tree, seeds: Array) -> Array:
        """The return of each episode; very low where the plant leaves all numbers."""
        horizon = self.problem.horizon
        if self.slow:
            return np.array([run.total for run in self.roll_out([Job(tree, seed, horizon) for seed in seeds.tolist()])])
        self.check(len(seeds) * horizon)
        returns = np.zeros(len(seeds))
        self.count(self._run(tree, seeds, horizon, returns, self.uncounted, self.unseen))
        return finite(returns)

    def returns_of(self, trees: Sequence[Tree], seeds: Array) -> Array:
        """(trees, seeds): `returns` of trees; those of one size and kind of laws run together."""
        if not self.on_card and (not self.together or len(seeds) >= LANES):
            return np.array([self.returns(tree, seeds) for tree in trees])
        returns = np.empty((len(trees), len(seeds)))
        for alike in of_one_kind(trees):
            returns[alike] = self.returns_in(one_behind_the_other([trees[i] for i in alike]), len(alike), seeds)
        return returns

    def returns_in(self, forest: Tree, trees: int, seeds: Array) -> Array:
        """The same of trees one behind the other, with as many nodes each."""
        self.check(trees * len(seeds) * self.problem.horizon)
        returns, each = np.zeros(trees * len(seeds)), np.tile(seeds, trees)
        asked = forest_of(forest, trees, len(seeds))
        self.count(self._on_plant(run_forest, asked, each, self.problem.horizon, returns))
        return finite(returns).reshape(trees, -1)

    def watched(self, tree: Tree, seeds: Array, states: int) -> tuple[Array, Array]:
        """Visits of the nodes, and at most so many states of the closed loop, sorted: loops have different orders.

        Of very long episodes the beginnings.
        """
        horizon = max(1, min(self.problem.horizon, MOST_WATCHED // len(seeds)))
        if not self.slow:
            self.check(len(seeds) * horizon)
        visits, seen = np.zeros(len(tree.nodes), np.int64), np.empty((len(seeds) * horizon, self.variables))
        returns = np.zeros(len(seeds))
        steps = self._run(tree, seeds, horizon, returns, visits, seen)
        self.count(0 if self.slow else steps)  # a slow environment has counted them already
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
        arena = self.arena_of_moments(seed)
        if arena is None:
            return None
        self.check(2 * count * (len(actions) + 2) * self.problem.horizon)
        before, moments = arena.steps, arena.moments(at, count, seed)
        futures = arena.futures(tree, moments, actions, hold)
        self.count(arena.steps - before)
        return moments.states, futures

    def arena_of_moments(self, seed: int) -> Arena | None:
        """Where one can go on from a moment."""
        return None if self.twin is None else PlantArena(self.twin, MOMENT_EPISODES, seed)

    def _complain(self, tree: Tree, seeds: Array) -> None:
        """Say where the plant or environment gives numbers that nobody can learn from."""
        env = self.env
        for seed in seeds.tolist():
            for h, (observation, _, reward, *_) in enumerate(tree_steps(self.problem, tree, env, seed)):
                where = f"reset(seed={seed}), step {h}"
                bad = np.flatnonzero(~((observation >= self.low) & (observation <= self.high)))
                if len(bad):
                    raise bad_state(self.problem, int(bad[0]), float(observation[bad[0]]), where)
                if not abs(reward) <= HUGE:
                    raise bad_reward(self.problem, where)

    def check(self, steps: int) -> None:
        """Raise where the budget, or the patience of the user, ends."""
        if self.stopped() or not self._affords(steps):
            raise Spent

    def _affords(self, steps: int) -> bool:
        return self.left is None or self.left >= steps + self.reserve

    def _run(self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array) -> int:
        if self.environments is None:
            return self._on_plant(run_tree, tree.controller, seeds, horizon, returns, visits, seen)
        return self._in_environment(tree, seeds, horizon, returns, visits, seen)

    def spend(self, tree: Tree, seed: int, purpose: int) -> Array:
        """Use up what is left, to the last step, with a law that is good already; the returns of whole episodes."""
        number, self.reserve = 0, 0
        returns = [np.zeros(0)]
        while self.left:
            whole = min(self.left // self.problem.horizon, STRETCH)
            if whole:
                returns.append(self.returns(tree, seeds_of(seed, purpose, number, whole)))
                number += whole
                continue
            env = self.env
            for _ in tree_steps(self.problem, tree, env, int(plant_seed(seed, purpose, number))):
                self.count(1)
                if self.left == 0:
                    break
            number += 1
        return np.concatenate(returns)

    def count(self, steps: int) -> None:
        self.samples += steps
        self.tell(self.samples)
        self.left = None if self.left is None else self.left - steps

    def _on_plant(self, kernel: Any, who: Any, seeds: Array, horizon: int, returns: Array, *kept: Array) -> int:
        """Episodes side by side; those of a costly plant of which nothing is kept on all cores, with the same bits."""
        plant = self.problem.plant
        assert plant is not None
        together = plant.costly and not any(len(rows) for rows in kept)
        parts = parts_of(len(seeds), LANES // 2) if together else [(0, len(seeds))]
        while len(self.lanes) < len(parts):
            self.lanes.append(new_lanes(plant))
        batch, stage, keys = plant.batch, stage_of(plant, horizon), keys_of(seeds)

        def some(lanes: Lanes, first: int, last: int) -> int:
            steps = kernel(*batch, stage, who, lanes, Episodes(np.uint64(0), returns, first, last, keys), *kept)
            lanes.fault[0] = OK  # a law that drives the plant out of all numbers has lost; the search goes on
            return int(steps)

        return sum(side_by_side([partial(some, lanes, *part) for lanes, part in zip(self.lanes, parts, strict=False)]))

    def _in_environment(
        self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array
    ) -> int:
        assert self.environments is not None
        wanted = [Job(tree, seed, horizon, states=bool(len(visits) or len(seen))) for seed in seeds.tolist()]
        rollouts, steps = (self.roll_out if self.slow else self.environments.roll_out)(wanted), 0
        for i, rollout in enumerate(rollouts):
            returns[i] = rollout.total
            if len(visits):
                visits += np.bincount(rollout.leaves, minlength=len(visits))
            kept = seen[steps : steps + rollout.steps]
            kept[:] = rollout.states[: len(kept)]
            steps += rollout.steps
        return steps


def _twin(problem: Problem, env: Any) -> Problem | None:
    """The problem with its compiled plant, if an environment is one of our plants and nothing around it changes it."""
    while type(env).__name__ in PLAIN:
        env = env.env
    return replace(problem, plant=env.problem.plant) if isinstance(env, PlantEnv) else None
