"""Compiled: moments of a closed loop, and what would have come of another action there."""

from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.plants.plant import LANES, Batch
from spaql.streams import derive, uniform
from spaql.training.lanes import Episodes, Lanes, Stage, book, finish, pad, start_lanes, step_lanes
from spaql.training.tree_rollouts import act_tree
from spaql.trees.descend import Controller, has_oblique


class Memory(NamedTuple):
    """Moments of episodes on a plant, a row each: all that is needed to go on from there."""

    places: Array  # (moments, rows.action) state of the plant and observation
    keys: Array  # uint64 (moments,) random stream of the episode
    times: Array  # int64 (moments,) steps of the episode made before


class Sample(NamedTuple):
    """Which moments are kept: a random share of all, as many as there is room for."""

    key: np.uint64
    share: float


class Trials(NamedTuple):
    """From every moment, each of these actions for `hold` steps, then the tree; last, the tree alone."""

    actions: Array  # (trials, axes)
    hold: int


@kernel
def keep_moments(
    reset: Batch, step: Batch, stage: Stage, controller: Controller, lanes: Lanes, episodes: Episodes,
    sample: Sample, memory: Memory, found: Array,
) -> int:  # fmt: skip
    """Episodes of a tree, a sample of whose moments is kept in `memory`. Returns the steps; `found[0]` were kept."""
    rows, returns, steps, kept = stage.rows, episodes.returns, 0, 0
    oblique = has_oblique(controller.nodes, controller.weights)
    for begin in range(episodes.first, episodes.last, LANES):
        n = min(LANES, episodes.last - begin)
        padded = start_lanes(reset, stage, lanes, episodes.plant_seed, np.uint64(0), begin, n)
        for h in range(stage.horizon):
            if n == 0:
                break
            for i in range(n):
                if kept < len(memory.places) and uniform(derive(sample.key, lanes.rollout[i]), h) < sample.share:
                    for row in range(rows.action):
                        memory.places[kept, row] = lanes.table[row, i]
                    memory.keys[kept], memory.times[kept] = lanes.plant_key[i], h
                    kept += 1
            act_tree(controller, oblique, lanes, rows, padded)
            step_lanes(step, stage, lanes, h, padded)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        finish(rows, lanes, returns, n)
    found[0] = kept
    return steps


@inlined
def _take_up(stage: Stage, lanes: Lanes, memory: Memory, tries: int, begin: int, n: int) -> int:
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
    step: Batch, stage: Stage, controller: Controller, lanes: Lanes, memory: Memory, trials: Trials, returns: Array
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
