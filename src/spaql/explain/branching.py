"""Compiled: moments of a closed loop, and what would have come of another action there."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.explain.playing import act_tree, tests_sums
from spaql.plants.plant import LANES, Rows
from spaql.streams import derive, uniform
from spaql.training.rollouts import Batch, Lanes, book, fill_noise, finish, pad, start_lanes


@kernel
def keep_moments(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int], horizon: int, nodes: Array, weights: Array, actions: Array,
    lanes: Lanes, plant_seed: np.uint64, returns: Array, key: np.uint64, share: float, places: Array, keys: Array, times: Array,
    found: Array,
) -> int:  # fmt: skip
    """Episodes of a tree, of which a random share of all moments is kept: plant state and observation, random stream, time.

    Returns the steps; `found[0]` moments were kept, as many as there is room for.
    """
    steps, kept = 0, 0
    oblique = tests_sums(nodes, weights)
    for begin in range(0, len(returns), LANES):
        n = min(LANES, len(returns) - begin)
        padded = start_lanes(reset, rows, noise[0], lanes, plant_seed, np.uint64(0), begin, n)
        for h in range(horizon):
            if n == 0:
                break
            for i in range(n):
                if kept < len(places) and uniform(derive(key, lanes.rollout[i]), h) < share:
                    for row in range(rows.action):
                        places[kept, row] = lanes.table[row, i]
                    keys[kept], times[kept] = lanes.plant_key[i], h
                    kept += 1
            act_tree(nodes, weights, actions, oblique, lanes, rows, padded)
            fill_noise(lanes, rows.noise, noise[1], noise[0] + h * noise[1], padded)
            step(lanes.flat, padded)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        finish(rows, lanes, returns, n)
    found[0] = kept
    return steps


@kernel
def play_on(
    step: Batch, rows: Rows, noise: tuple[int, int], horizon: int, nodes: Array, weights: Array, actions: Array, lanes: Lanes,
    places: Array, keys: Array, times: Array, trial: Array, hold: int, returns: Array,
) -> int:  # fmt: skip
    """From kept moments: every `trial` action for `hold` steps, then the tree, to the end of the episode; last, the tree alone.

    Returns the steps. `returns` (moments times (trials + 1)) are the rewards from there on; noise is that of the moment's episode.
    """
    steps, tries = 0, len(trial) + 1
    done = lanes.table[rows.done]
    oblique = tests_sums(nodes, weights)
    for begin in range(0, len(returns), LANES):
        n = min(LANES, len(returns) - begin)
        for i in range(n):
            at = (begin + i) // tries
            for row in range(rows.action):
                lanes.table[row, i] = places[at, row]
            # trees draw no random actions: the place of the action's stream carries the time
            lanes.plant_key[i], lanes.action_key[i], lanes.rollout[i] = keys[at], np.uint64(times[at]), begin + i
            done[i], lanes.table[rows.total, i] = 0.0, 0.0
        padded, h = pad(rows, lanes, n), 0
        while n > 0:
            act_tree(nodes, weights, actions, oblique, lanes, rows, padded)
            if h < hold:
                for i in range(padded):
                    what = lanes.rollout[i] % tries
                    if what < len(trial):
                        for axis in range(actions.shape[1]):
                            lanes.table[rows.action + axis, i] = trial[what, axis]
            for c in range(noise[1]):
                for i in range(padded):
                    offset = noise[0] + (int(lanes.action_key[i]) + h) * noise[1] + c
                    lanes.table[rows.noise + c, i] = uniform(lanes.plant_key[i], offset)
            step(lanes.flat, padded)
            steps += n
            h += 1
            for i in range(n):
                if int(lanes.action_key[i]) + h >= horizon:
                    done[i] = 1.0
            n, padded = book(rows, lanes, returns, n, padded)
    return steps
