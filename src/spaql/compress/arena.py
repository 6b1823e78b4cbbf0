"""Where trees are tried: the plant itself, or anything that answers the same questions, such as a learned model.

The search knows an arena only through `Arena`. Everything in an arena is deterministic: the same questions in the same
order get the same bits.
"""

from typing import NamedTuple, Protocol

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import FAR
from spaql.ground.compiling import inlined, kernel
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import derive, uniform
from spaql.plants.chart import HUGE
from spaql.plants.plant import LANES, Batch, Rows
from spaql.plants.problem import Problem
from spaql.training.closed_loop import tree_steps
from spaql.training.lanes import Episodes, Lanes, Stage, book, new_lanes, pad, run_lanes, stage_of
from spaql.training.tree_rollouts import act_tree, run_tree
from spaql.trees.tree import CompiledTree, Tree, has_oblique

# -- compiled: moments of a closed loop, and what would have come of another action there ------------------------------

class MomentBuffer(NamedTuple):
    """Moments of episodes on a plant, a row each: all that is needed to go on from there."""

    places: Array  # (moments, rows.action) state of the plant and observation
    keys: Array  # uint64 (moments,) random stream of the episode
    times: Array  # int64 (moments,) steps of the episode made before


class Sample(NamedTuple):
    """Which moments are kept: a random share of all, as many as there is room for."""

    key: np.uint64
    share: float


class ArenaTrials(NamedTuple):
    """From every moment, each of these actions for `hold` steps, then the tree; last, the tree alone."""

    actions: Array  # (trials, axes)
    hold: int


class SampledActor(NamedTuple):
    """A tree that acts, a sample of whose moments is kept."""

    controller: CompiledTree
    oblique: bool
    sample: Sample
    memory: MomentBuffer
    kept: Array  # (1,) how many


@inlined
def _act(actor: SampledActor, rows: Rows, lanes: Lanes, h: int, steps: int, n: int, padded: int) -> bool:
    sample, memory, kept = actor.sample, actor.memory, actor.kept[0]
    for i in range(n):
        if kept < len(memory.places) and uniform(derive(sample.key, lanes.rollout[i]), h) < sample.share:
            for row in range(rows.action):
                memory.places[kept, row] = lanes.table[row, i]
            memory.keys[kept], memory.times[kept] = lanes.plant_key[i], h
            kept += 1
    actor.kept[0] = kept
    act_tree(actor.controller, actor.oblique, lanes, rows, padded)
    return True


@kernel
def keep_moments(
    reset: Batch, step: Batch, stage: Stage, controller: CompiledTree, lanes: Lanes, episodes: Episodes,
    sample: Sample, memory: MomentBuffer, found: Array,
) -> int:  # fmt: skip
    """Episodes of a tree, a sample of whose moments is kept in `memory`. Returns the steps; `found[0]` were kept."""
    actor = SampledActor(controller, has_oblique(controller.nodes, controller.weights), sample, memory, found)
    return run_lanes(reset, step, _act, actor, stage, lanes, episodes)


@inlined
def _take_up(stage: Stage, lanes: Lanes, memory: MomentBuffer, tries: int, begin: int, n: int) -> int:
    """The moments of rollouts `begin` ... `begin + n - 1` into the lanes. Returns the padded number of lanes."""
    rows = stage.rows
    for i in range(n):
        at = (begin + i) // tries
        for row in range(rows.action):
            lanes.table[row, i] = memory.places[at, row]
        lanes.plant_key[i], lanes.begun[i], lanes.rollout[i] = memory.keys[at], memory.times[at], begin + i
        lanes.table[rows.done, i], lanes.table[rows.total, i] = 0.0, 0.0
    return pad(rows, lanes, n)


@kernel
def run_on(
    step: Batch, stage: Stage, controller: CompiledTree, lanes: Lanes, memory: MomentBuffer, trials: ArenaTrials,
    returns: Array,
) -> int:
    """From kept moments, every trial to the end of the episode. Returns the steps.

    `returns` (moments * (trials + 1)) are the rewards from there on; the noise is that of the moment's episode.
    """
    rows, steps, tries = stage.rows, 0, len(trials.actions) + 1
    done = lanes.table[rows.done]
    oblique = has_oblique(controller.nodes, controller.weights)
    for begin in range(0, len(returns), LANES):
        n = min(LANES, len(returns) - begin)
        padded, h = _take_up(stage, lanes, memory, tries, begin, n), 0
        while n > 0:
            act_tree(controller, oblique, lanes, rows, padded)
            if h < trials.hold:
                for i in range(padded):
                    trial = lanes.rollout[i] % tries
                    if trial < len(trials.actions):
                        for axis in range(controller.actions.shape[1]):
                            lanes.table[rows.action + axis, i] = trials.actions[trial, axis]
            for c in range(stage.step_noise):
                for i in range(padded):
                    offset = stage.reset_noise + (lanes.begun[i] + h) * stage.step_noise + c
                    lanes.table[rows.noise + c, i] = uniform(lanes.plant_key[i], offset)
            step(lanes.flat, padded)
            steps += n
            h += 1
            for i in range(n):
                if lanes.begun[i] + h >= stage.horizon:
                    done[i] = 1.0
            n, padded = book(rows, lanes, returns, n, padded)
    return steps


# -- where trees are tried: the plant itself, or anything that answers the same questions, such as a learned model -----

LOST = -FAR  # the return of a tree that drives the plant out of all numbers
MOMENT_EPISODES = 64  # start states that moments are taken from
MOMENTS = 2000  # of a round of lessons, at most
HELD_STEPS = 5  # for which an action is tried at a moment: a single one hardly matters
MAX_COST_QUANTILE = 0.95  # costs are cut there: a single lost episode must not outweigh everything else


class Moments(NamedTuple):
    """Moments of closed loops, a row each."""

    states: Array  # (moments, variables) what the controller sees
    memory: tuple[Array, ...] = ()  # what the arena needs to go on from there; `MomentBuffer` on a plant


class Arena(Protocol):
    """What the search asks. `tree.actions` are physical, `tree.variables` = `variables`.

    - `steps` counts every simulated step so far: the unit of the search's budget. `samples` counts the steps of the
      plant among them: none in a model.
    - `starts`: how many start states there are. Start number i is always the same, noise included (common random
      numbers), so that trees can be compared start by start, on a few first and on more later.
    - `branches`: whether `futures` can be asked. An environment that cannot be set to a state says no.
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
        """The return from each of the start states `first` ... `last - 1`; finite, very low where the plant leaves all
        numbers."""

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        """About `count` moments of the closed loop, evenly over the time, at most 2 * count; `seed` chooses which."""

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        """(moments, len(actions) + 1): the rest of the episode's return if each of `actions` (n, axes) is held for
        `hold` steps, and the tree goes on; in the last column the tree alone."""


class PlantArena:
    """A compiled plant. A moment's memory: `MomentBuffer`."""

    branches = True

    def __init__(self, problem: Problem, starts: int, seed: int = 0) -> None:
        if problem.plant is None:
            raise SpaqlError(f"{problem.name} has no compiled plant: use EnvironmentArena")
        self.starts, self.samples, self.variables = starts, 0, len(problem.state)
        self.key = np.uint64(streams.plant_seed(streams.ARENA_SEED + seed, streams.SELECT_PLANT, 0))
        self.reset, self.step = problem.plant.batch
        self.stage, self.lanes = stage_of(problem.plant, problem.horizon), new_lanes(problem.plant)
        self._returns = np.zeros(starts)
        # empty arrays where no visits and no states are wanted
        self._uncounted, self._unseen = np.empty(0, np.int64), np.empty((0, self.variables))

    @property
    def steps(self) -> int:
        return self.samples

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        episodes = Episodes(self.key, self._returns, first, last)
        self.samples += run_tree(
            self.reset, self.step, self.stage, tree.controller, self.lanes, episodes, self._uncounted, self._unseen
        )
        return finite(self._returns[first:last].copy())

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        rows, room = self.stage.rows, 2 * count
        memory = MomentBuffer(np.empty((room, rows.action)), np.empty(room, np.uint64), np.empty(room, np.int64))
        returns, count_kept = np.zeros(min(MOMENT_EPISODES, self.starts)), np.zeros(1, np.int64)
        before = self.samples
        self.returns(tree, 0, len(returns))  # how long episodes are decides which share of the moments is wanted
        sample = Sample(np.uint64(seed), count / (self.samples - before))
        episodes = Episodes(self.key, returns, 0, len(returns))
        self.samples += keep_moments(
            self.reset, self.step, self.stage, tree.controller, self.lanes, episodes, sample, memory, count_kept
        )
        kept = MomentBuffer(*(part[: int(count_kept[0])] for part in memory))
        return Moments(np.ascontiguousarray(kept.places[:, rows.observation : rows.action]), kept)

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        returns = np.zeros(len(moments.states) * (len(actions) + 1))
        trials = ArenaTrials(np.ascontiguousarray(actions, float), hold)
        self.samples += run_on(
            self.step, self.stage, tree.controller, self.lanes, MomentBuffer(*moments.memory), trials, returns
        )
        return finite(returns).reshape(len(moments.states), -1)


class EnvironmentArena:
    """A Gymnasium environment: slow, and it cannot be set to a state."""

    branches = False

    def __init__(self, problem: Problem, starts: int, seed: int = 0) -> None:
        self.problem, self.starts, self.samples = problem, starts, 0
        self.variables, self.env = len(problem.state), problem.open_env()
        self.seed = int(streams.plant_seed(streams.ARENA_SEED + seed, streams.SELECT_PLANT, 0))

    @property
    def steps(self) -> int:
        return self.samples

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        return finite(np.array([self._episode(tree, start)[0] for start in range(first, last)]))

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        states: list[Array] = []
        for start in range(self.starts):
            states += self._episode(tree, start)[1]
            if len(states) >= 2 * count:
                break
        chosen = np.random.default_rng(seed).permutation(len(states))[:count]
        return Moments(np.array(states)[np.sort(chosen)])

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        raise SpaqlError(f"{self.problem.name} cannot be set to a state")

    def _episode(self, tree: Tree, start: int) -> tuple[float, list[Array]]:
        total, states = 0.0, []
        for observation, _, reward, *_ in tree_steps(self.problem, tree, self.env, (self.seed + start) % 2**31):
            total += reward
            states.append(observation)
        self.samples += len(states)
        return total, states


def arena_of(problem: Problem, starts: int, seed: int = 0) -> Arena:
    """The plant of a problem."""
    return PlantArena(problem, starts, seed) if problem.plant is not None else EnvironmentArena(problem, starts, seed)


def finite(returns: Array) -> Array:
    """A tree may drive a plant to where nothing is finite: then the tree has lost, and the search goes on."""
    returns[~(np.abs(returns) <= HUGE)] = LOST
    return returns
