"""Where trees are tried: the plant itself, or anything that answers the same questions, such as a learned model.

The search knows an arena only through `Arena`. Everything in it is deterministic: the same questions in the same order get the same bits.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.explain.branching import keep_moments, play_on
from spaql.explain.playing import play_tree
from spaql.explain.rolling import play_in
from spaql.explain.tree import Tree
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.training.rollouts import new_lanes

SEARCH_SEED = 2**42  # of the start states of searches
LOST = -1e100  # the return of a tree that drives the plant out of all numbers
MOMENT_EPISODES = 64  # start states that moments are taken from


class Moments(NamedTuple):
    """Moments of closed loops: what the controller sees, and what the arena needs to go on from there (a row per moment each)."""

    states: Array  # (moments, variables)
    memory: tuple[Array, ...] = ()


class Arena(Protocol):
    """What the search asks. `tree.actions` are physical, `tree.variables` = `variables`.

    - `steps` counts every simulated step so far: the search's budget is in them. `samples` are those of them that were steps of the
      plant: none in a model.
    - `starts`: how many start states there are. Start number i is always the same, noise included (common random numbers), so that
      trees can be compared start by start, on a few first and on more later.
    - `branches`: whether `futures` can be asked. An environment that cannot be put back into a state says no.
    """

    @property
    def variables(self) -> int: ...

    @property
    def starts(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def samples(self) -> int: ...

    @property
    def branches(self) -> bool: ...

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        """The return from each of the start states `first` ... `last - 1`; finite, very low where the plant leaves all numbers."""

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        """About `count` moments of the closed loop, evenly over the time spent; `seed` chooses which. Not more than 2 * count."""

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        """(moments, len(actions) + 1): the rest of the episode's return if each of `actions` (n, axes) is held for `hold` steps, and
        the tree goes on; in the last column the tree alone."""


class PlantArena:
    """A compiled plant. A moment's memory: plant state and observation, key of its random stream, time."""

    branches = True

    def __init__(self, problem: Problem, starts: int, seed: int = 0) -> None:
        if problem.plant is None:
            raise SpaqlError(f"{problem.name} has no compiled plant: use EnvironmentArena")
        self.problem, self.plant, self.starts, self.samples = problem, problem.plant, starts, 0
        self.variables = len(problem.state)
        self.key = np.uint64(streams.plant_seed(SEARCH_SEED + seed, streams.SELECT_PLANT, 0))
        self.lanes: Any = new_lanes(self.variables, self.plant.rows)
        self._noise = self.plant.reset_noise, self.plant.step_noise
        self._returns, self._uncounted, self._unseen = np.zeros(starts), np.empty(0, np.int64), np.empty((0, self.variables))

    @property
    def steps(self) -> int:
        return self.samples

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        record: Any = (self.key, self._returns, first, last, self._uncounted, self._unseen)
        self.samples += play_tree(*(*self.plant.batch, *self._world(tree), *record))
        return _finite(self._returns[first:last].copy())

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        rows, room = self.plant.rows, 2 * count
        places, keys, times = np.empty((room, rows.action)), np.empty(room, np.uint64), np.empty(room, np.int64)
        returns, found = np.zeros(min(MOMENT_EPISODES, self.starts)), np.zeros(1, np.int64)
        before = self.samples
        self.returns(tree, 0, len(returns))  # how long episodes are decides which share of the moments is wanted
        share = count / (self.samples - before)
        record: Any = (self.key, returns, np.uint64(seed), share, places, keys, times, found)
        self.samples += keep_moments(*(*self.plant.batch, *self._world(tree), *record))
        n = int(found[0])
        states = np.ascontiguousarray(places[:n, rows.observation : rows.action])
        return Moments(states, (places[:n], keys[:n], times[:n]))

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        returns = np.zeros(len(moments.states) * (len(actions) + 1))
        record: Any = (*moments.memory, np.ascontiguousarray(actions, float), hold, returns)
        self.samples += play_on(*(self.plant.batch[1], *self._world(tree), *record))
        return _finite(returns).reshape(len(moments.states), -1)

    def _world(self, tree: Tree) -> Any:
        return self.plant.rows, self._noise, self.problem.horizon, tree.nodes, tree.weights, tree.actions, self.lanes


class EnvironmentArena:
    """A Gymnasium environment: slow, and it cannot be put back into a state."""

    branches = False

    def __init__(self, problem: Problem, starts: int, seed: int = 0) -> None:
        self.problem, self.starts, self.samples = problem, starts, 0
        self.variables, self.env = len(problem.state), problem.open_env()
        self.seed = int(streams.plant_seed(SEARCH_SEED + seed, streams.SELECT_PLANT, 0))

    @property
    def steps(self) -> int:
        return self.samples

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        return _finite(np.array([self._episode(tree, start)[0] for start in range(first, last)]))

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        states: list[Array] = []
        for start in range(self.starts):
            states += self._episode(tree, start)[1]
            if len(states) >= 2 * count:
                break
        chosen = np.random.default_rng(seed).permutation(len(states))[:count]
        return Moments(np.array(states)[np.sort(chosen)])

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        raise SpaqlError(f"{self.problem.name} cannot be put back into a state")

    def _episode(self, tree: Tree, start: int) -> tuple[float, list[Array]]:
        total, states = 0.0, []
        for observation, _, reward in play_in(self.problem, tree, self.env, (self.seed + start) % 2**31):
            total += reward
            states.append(observation)
        self.samples += len(states)
        return total, states


def arena_of(problem: Problem, starts: int, seed: int = 0) -> Arena:
    """The plant of a problem."""
    return PlantArena(problem, starts, seed) if problem.plant is not None else EnvironmentArena(problem, starts, seed)


def _finite(returns: Array) -> Array:
    """A tree may drive a plant to where nothing is finite: then it has lost, and the search goes on."""
    bad = ~(np.abs(returns) <= HUGE)
    if bad.any():
        returns[bad] = LOST
    return returns
