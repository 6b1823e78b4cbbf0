"""The learned model: next state and reward. One quadratic system for all states, an affine
correction in every cell, and where episodes end.

All states are in the metric of the data, z of (10), so that distances do not depend on units.
Equation numbers: docs/atlas-table.md.
"""

from typing import NamedTuple

import numpy as np

from spaql.gp.circles import shortest
from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined
from spaql.learners.atlas.cell_fit import Examples, design, fit_base, fit_cells
from spaql.learners.atlas.cells import grow
from spaql.learners.atlas.endings import ending_tree
from spaql.trees.tree import LEAF, find_leaves

# outputs that are computed together: the maps have this number of columns, or a multiple of it
BLOCK_OUTPUTS = 4
CUT_TRANSITIONS = 12  # in a cell that may be cut, at least


class CellModel(NamedTuple):
    """Arrays the kernels read."""

    nodes: Array  # tree of model cells
    # (terms, width) the quadratic system: change of state and reward, by the terms of `fit.design`
    base: Array
    # (nodes, 1 + d + p, width) the affine part: that of the base and the cell's correction, added
    maps: Array
    features: Array  # (actions, p) of the actions the planner chooses from
    low: Array  # (d,) lower corner of the box that predictions are clipped to: all states seen
    high: Array  # (d,) its upper corner
    # (d,) length of a turn of an angle, which goes on at `low` where it ends; 0 of other variables
    turn: Array
    rewards: Array  # (2,) lowest and highest reward seen within an episode
    ends: Array  # tree over next states
    ending: Array  # by node of `ends`: 1 where the episode ends
    last_reward: Array  # by node of `ends`: what the last step earns beyond an ordinary one


def fit_model(
    examples: Examples, choices: Array, most: int, turns: Array | None = None
) -> CellModel:  # fmt: skip
    """`choices` (actions, p): features of the actions the planner chooses from; at most `most`
    cells.

    `turns` (2, d): where the turn of an angle begins, and its length; 0 of other variables.
    """
    turns = np.zeros((2, examples.states.shape[1])) if turns is None else turns
    z, features, rewards, after, ended = examples
    cells = grow(z, most, CUT_TRANSITIONS, by_count=True)
    change, angles = after - z, turns[1] > 0.0
    change[:, angles] = shortest(change[:, angles], turns[1, angles])
    left = np.column_stack([change, rewards])
    base = fit_base(examples, left)
    maps = fit_cells(examples, left, _parents(cells.nodes), cells)
    k = maps.shape[1]
    maps += base[:k]  # (13)
    ordinary = rewards[~ended] if not ended.all() else np.zeros(1)
    limits = np.array([ordinary.min(), ordinary.max()])
    terms = design(z[ended], features[ended])
    affine = (terms[:, :k] * maps[leaves_of(cells.nodes, z[ended]), :, -1]).sum(axis=1)
    expected = affine + (terms[:, k:] * base[k:, -1]).sum(axis=1)
    extra = rewards[ended] - np.clip(expected, *limits)  # (23)
    low = np.minimum(z.min(axis=0), after.min(axis=0))
    high = np.maximum(z.max(axis=0), after.max(axis=0))
    low, high = np.where(angles, turns[0], low), np.where(angles, turns.sum(axis=0), high)
    wide = width_of(z.shape[1]) - maps.shape[2]
    base, maps = np.pad(base, ((0, 0), (0, wide))), np.pad(maps, ((0, 0), (0, 0), (0, wide)))
    ends = ending_tree(after, ended, extra)
    return CellModel(cells.nodes, base, maps, choices, low, high, turns[1], limits, *ends)


def width_of(d: int) -> int:
    """Columns of the maps: next state, reward, and zeros up to whole blocks."""
    return -(-(d + 1) // BLOCK_OUTPUTS) * BLOCK_OUTPUTS


def _parents(nodes: Array) -> Array:
    """The parent of every node; -1 for the root."""
    parents = np.full(len(nodes), -1, np.int64)
    inner = np.flatnonzero(nodes["feature"] != LEAF)
    parents[nodes["low"][inner]] = inner
    parents[nodes["high"][inner]] = inner
    return parents


def leaves_of(nodes: Array, states: Array) -> Array:
    """The leaf of every state."""
    leaves = np.zeros(len(states), np.int64)
    no_weights = np.zeros((len(nodes), states.shape[1]))
    find_leaves(nodes, no_weights, np.ascontiguousarray(states), leaves)
    return leaves


@inlined
def cell_of(nodes: Array, z: Array) -> int:
    """The leaf of a state: the walk of `trees.descend` in a tree without oblique tests."""
    here = 0
    while nodes[here].feature != LEAF:
        here = nodes[here].high if z[nodes[here].feature] >= nodes[here].cut else nodes[here].low
    return here


@inlined
def predict(model: CellModel, cell: int, z: Array, action: Array, after: Array) -> float:
    """(13) Next state for the features of an action, into `after`. Returns the reward."""
    d, p, maps, base = len(z), len(action), model.maps, model.base
    for c in range(0, maps.shape[2], BLOCK_OUTPUTS):  # four outputs at a time stay in registers
        s0, s1 = maps[cell, 0, c], maps[cell, 0, c + 1]
        s2, s3 = maps[cell, 0, c + 2], maps[cell, 0, c + 3]
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
    reward: float = min(max(after[d], model.rewards[0]), model.rewards[1])  # (15)
    for c in range(d):
        value = z[c] + after[c]
        if model.turn[c] > 0.0:
            value -= model.turn[c] * np.floor((value - model.low[c]) / model.turn[c])
        after[c] = min(max(value, model.low[c]), model.high[c])  # (14)
    return reward


@inlined
def descend_lanes(nodes: Array, x: Array, node: Array, n: int) -> None:
    """`cell_of` for the n columns of `x`, level by level. Leaves into `node`."""
    for i in range(n):
        node[i] = 0
    moved = True
    while moved:
        moved = False
        for i in range(n):
            here = nodes[node[i]]
            below = here.high if x[max(here.feature, 0), i] >= here.cut else here.low
            node[i] = node[i] if here.feature == LEAF else below
            moved = moved or here.feature != LEAF


@inlined
def predict_lanes(model: CellModel, x: Array, cell: Array, out: Array, p: int, n: int) -> None:
    """`predict` for n states at once, to the same bits: sums over the columns vectorise.

    `x` (d + p, columns): states, which become the next ones, and features of actions. `cell`: the
    cell of each state. `out` (width, columns): row d becomes the rewards.
    """
    d, maps, base = x.shape[0] - p, model.maps, model.base
    for i in range(n):
        here = cell[i]
        for c in range(0, maps.shape[2], BLOCK_OUTPUTS):
            s0, s1 = maps[here, 0, c], maps[here, 0, c + 1]
            s2, s3 = maps[here, 0, c + 2], maps[here, 0, c + 3]
            for j in range(d + p):
                value = x[j, i]
                s0 += maps[here, 1 + j, c] * value
                s1 += maps[here, 1 + j, c + 1] * value
                s2 += maps[here, 1 + j, c + 2] * value
                s3 += maps[here, 1 + j, c + 3] * value
            out[c, i], out[c + 1, i], out[c + 2, i], out[c + 3, i] = s0, s1, s2, s3
    row = 1 + d + p
    for a in range(d):
        for b in range(a, d):
            for c in range(d + 1):
                weight = base[row, c]
                for i in range(n):
                    out[c, i] += weight * (x[a, i] * x[b, i])
            row += 1
    for a in range(d):
        for b in range(d, d + p):
            for c in range(d + 1):
                weight = base[row, c]
                for i in range(n):
                    out[c, i] += weight * (x[a, i] * x[b, i])
            row += 1
    least, most = model.rewards[0], model.rewards[1]
    for i in range(n):
        out[d, i] = min(max(out[d, i], least), most)  # (15)
    for c in range(d):
        low, high, turn = model.low[c], model.high[c], model.turn[c]
        if turn > 0.0:
            for i in range(n):
                out[c, i] -= turn * np.floor((x[c, i] + out[c, i] - low) / turn)
        for i in range(n):
            x[c, i] = min(max(x[c, i] + out[c, i], low), high)  # (14)
