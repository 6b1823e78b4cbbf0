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

BLOCK = 4  # outputs that are computed together: the maps are that many columns wide, or a multiple
SMALLEST = 12  # transitions in a cell that may be cut


class Model(NamedTuple):
    """Arrays the kernels read."""

    nodes: Array  # tree of model cells
    base: Array  # (terms, width) the quadratic system: change of state and reward, by the terms of `fitting.design`
    maps: Array  # (nodes, 1 + d + p, width) affine part, base and cell's correction together
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
    wide = width_of(z.shape[1]) - maps.shape[2]
    base, maps = np.pad(base, ((0, 0), (0, wide))), np.pad(maps, ((0, 0), (0, 0), (0, wide)))
    return Model(nodes, base, maps, choices, low, high, limits, *ending_tree(after, ended, extra))


def width_of(d: int) -> int:
    """Columns of the maps: next state, reward, and zeros up to whole blocks."""
    return -(-(d + 1) // BLOCK) * BLOCK


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
    """Next state for the features of an action, into `after` (as wide as the maps), clipped to the box. Returns the reward."""
    d, p, maps, base = len(z), len(action), model.maps, model.base
    for c in range(0, maps.shape[2], BLOCK):  # four outputs at a time stay in registers
        s0, s1, s2, s3 = maps[cell, 0, c], maps[cell, 0, c + 1], maps[cell, 0, c + 2], maps[cell, 0, c + 3]
        for j in range(d):
            x = z[j]
            s0 += maps[cell, 1 + j, c] * x
            s1 += maps[cell, 1 + j, c + 1] * x
            s2 += maps[cell, 1 + j, c + 2] * x
            s3 += maps[cell, 1 + j, c + 3] * x
        row = 1 + d
        for j in range(p):
            u = action[j]
            s0 += maps[cell, row, c] * u
            s1 += maps[cell, row, c + 1] * u
            s2 += maps[cell, row, c + 2] * u
            s3 += maps[cell, row, c + 3] * u
            row += 1
        for i in range(d):
            for j in range(i, d):
                x = z[i] * z[j]
                s0 += base[row, c] * x
                s1 += base[row, c + 1] * x
                s2 += base[row, c + 2] * x
                s3 += base[row, c + 3] * x
                row += 1
        for i in range(d):
            for j in range(p):
                x = z[i] * action[j]
                s0 += base[row, c] * x
                s1 += base[row, c + 1] * x
                s2 += base[row, c + 2] * x
                s3 += base[row, c + 3] * x
                row += 1
        after[c], after[c + 1], after[c + 2], after[c + 3] = s0, s1, s2, s3
    reward: float = min(max(after[d], model.rewards[0]), model.rewards[1])
    for c in range(d):
        after[c] = min(max(z[c] + after[c], model.low[c]), model.high[c])
    return reward
