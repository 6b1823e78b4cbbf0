"""The learned model: what happens next. Cells with an affine system each, and where episodes end.

All states here are in the metric of the data: z = (observation - centre) / (4 standard deviations), so that distances mean something.
"""

from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.explain.tree import LEAF
from spaql.streams import uniform


class Model(NamedTuple):
    """Arrays the kernels read."""

    nodes: Array  # tree of model cells
    base: Array  # (terms, d + 1) the quadratic system: change of state and reward from `fitting.design`
    maps: Array  # (nodes, 1 + d + p, d + 1) the base and the cell's correction from 1, state and action features; quadratic terms are the base's
    features: Array  # (actions, p)
    low: Array  # (d,) box of all states seen
    high: Array
    rewards: Array  # (2,) lowest and highest reward seen within an episode
    ends: Array  # tree over next states: where episodes end
    ending: Array  # by node of `ends`: 1 where the episode ends
    last_reward: Array  # by node of `ends`: what the last step earns beyond an ordinary one


@inlined
def cell_of(nodes: Array, z: Array) -> int:
    """The leaf of a state."""
    here = 0
    while nodes[here].feature != LEAF:
        here = nodes[here].high if z[nodes[here].feature] >= nodes[here].cut else nodes[here].low
    return here


@inlined
def predict(model: Model, cell: int, z: Array, action: int, after: Array) -> float:
    """Next state into `after`, clipped to the box of the data. Returns the reward."""
    d, p, maps = len(z), model.features.shape[1], model.maps
    reward = maps[cell, 0, d]
    for c in range(d):
        after[c] = z[c] + maps[cell, 0, c]
    for j in range(d):
        reward += maps[cell, 1 + j, d] * z[j]
        for c in range(d):
            after[c] += maps[cell, 1 + j, c] * z[j]
    for j in range(p):
        term = model.features[action, j]
        if term != 0.0:
            reward += maps[cell, 1 + d + j, d] * term
            for c in range(d):
                after[c] += maps[cell, 1 + d + j, c] * term
    row = 1 + d + p
    for i in range(d):
        for j in range(i, d):
            term = z[i] * z[j]
            reward += model.base[row, d] * term
            for c in range(d):
                after[c] += model.base[row, c] * term
            row += 1
    for i in range(d):
        for j in range(p):
            term = z[i] * model.features[action, j]
            if term != 0.0:
                reward += model.base[row, d] * term
                for c in range(d):
                    after[c] += model.base[row, c] * term
            row += 1
    for c in range(d):
        after[c] = min(max(after[c], model.low[c]), model.high[c])
    return min(max(reward, model.rewards[0]), model.rewards[1])


@kernel
def imagine(model: Model, starts: Array, length: int, longest: int, key: np.uint64, states: Array, work: Array) -> int:
    """Model rollouts with random actions, each held 1 to `longest` steps; fills `states`, returns how many."""
    n, made, d = len(starts), 0, starts.shape[1]
    z, after = work[0, :d], work[1, :d]
    actions = len(model.features)
    for i in range(n):
        for j in range(d):
            z[j] = starts[i, j]
        action, held, drawn = 0, 0, i * 2 * length
        for _ in range(length):
            if held == 0:
                action = int(uniform(key, drawn) * actions)
                held = 1 + int(uniform(key, drawn + 1) * longest)
                drawn += 2
            held -= 1
            predict(model, cell_of(model.nodes, z), z, action, after)
            for j in range(d):
                z[j] = after[j]
                states[made, j] = z[j]
            made += 1
            if model.ending[cell_of(model.ends, z)] == 1:
                break
    return made
