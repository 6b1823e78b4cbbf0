"""The learned model: what happens next. One quadratic system for all, an affine correction in every cell, and where episodes end.

All states here are in the metric of the data, z = (observation - centre) / (4 standard deviations), so that distances mean something
whatever the units.
"""

from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined
from spaql.explain.playing import find_leaves
from spaql.explain.tree import LEAF
from spaql.learners.atlas.endings import ending_tree
from spaql.learners.atlas.fitting import design, fit_base, fit_cells
from spaql.learners.atlas.growing import grow

SMALLEST = 12  # transitions in a cell that may be cut


class Model(NamedTuple):
    """Arrays the kernels read."""

    nodes: Array  # tree of model cells
    base: Array  # (terms, d + 1) the quadratic system: change of state and reward, by the terms of `fitting.design`
    maps: Array  # (nodes, 1 + d + p, d + 1) affine part, base and cell's correction together
    features: Array  # (actions, p) of the actions the planner chooses from
    low: Array  # (d,) box that predictions are clipped to: all states seen
    high: Array
    rewards: Array  # (2,) lowest and highest reward seen within an episode
    ends: Array  # tree over next states
    ending: Array  # by node of `ends`: 1 where the episode ends
    last_reward: Array  # by node of `ends`: what the last step earns beyond an ordinary one


def fit_model(z: Array, features: Array, rewards: Array, after: Array, ended: Array, choices: Array, most: int) -> Model:
    """`features` (n, p) of the actions played, `choices` (actions, p) of those to choose from; at most `most` cells."""
    nodes, order, ranges = grow(z, most, SMALLEST, by_count=True)
    left = np.column_stack([after - z, rewards])
    base = fit_base(z, features, left, ended)
    maps = fit_cells(z, features, left, ended, _parents(nodes), order, ranges)
    k = maps.shape[1]
    maps += base[:k]
    ordinary = rewards[~ended] if not ended.all() else np.zeros(1)
    limits = np.array([ordinary.min(), ordinary.max()])
    terms = design(z[ended], features[ended])
    expected = (terms[:, :k] * maps[leaves_of(nodes, z[ended]), :, -1]).sum(axis=1) + (terms[:, k:] * base[k:, -1]).sum(axis=1)
    extra = rewards[ended] - np.clip(expected, *limits)
    low, high = np.minimum(z.min(axis=0), after.min(axis=0)), np.maximum(z.max(axis=0), after.max(axis=0))
    return Model(nodes, base, maps, choices, low, high, limits, *ending_tree(after, ended, extra))


def _parents(nodes: Array) -> Array:
    parents = np.full(len(nodes), -1, np.int64)
    inner = np.flatnonzero(nodes["feature"] != LEAF)
    parents[nodes["low"][inner]] = inner
    parents[nodes["high"][inner]] = inner
    return parents


def leaves_of(nodes: Array, states: Array) -> Array:
    """The leaf of every state."""
    found = np.zeros(len(states), np.int64)
    find_leaves(nodes, np.zeros((len(nodes), states.shape[1])), np.ascontiguousarray(states), found)
    return found


@inlined
def cell_of(nodes: Array, z: Array) -> int:
    """The leaf of a state."""
    here = 0
    while nodes[here].feature != LEAF:
        here = nodes[here].high if z[nodes[here].feature] >= nodes[here].cut else nodes[here].low
    return here


@inlined
def predict(model: Model, cell: int, z: Array, action: Array, after: Array) -> float:
    """Next state for the features of an action, into `after`, clipped to the box. Returns the reward."""
    d, p, maps = len(z), len(action), model.maps
    reward = maps[cell, 0, d]
    for c in range(d):
        after[c] = z[c] + maps[cell, 0, c]
    for j in range(d):
        reward += maps[cell, 1 + j, d] * z[j]
        for c in range(d):
            after[c] += maps[cell, 1 + j, c] * z[j]
    for j in range(p):
        if action[j] != 0.0:
            reward += maps[cell, 1 + d + j, d] * action[j]
            for c in range(d):
                after[c] += maps[cell, 1 + d + j, c] * action[j]
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
            term = z[i] * action[j]
            if term != 0.0:
                reward += model.base[row, d] * term
                for c in range(d):
                    after[c] += model.base[row, c] * term
            row += 1
    for c in range(d):
        after[c] = min(max(after[c], model.low[c]), model.high[c])
    bounded: float = min(max(reward, model.rewards[0]), model.rewards[1])
    return bounded
