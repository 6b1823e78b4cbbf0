"""Support points of the value function, one per planning cell: where data fell, and where the model says one can get to.

With data alone they are too few where it matters; with a grid too many where it does not.
"""

from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.explain.tree import LEAF
from spaql.learners.atlas.growing import grow
from spaql.learners.atlas.model import Model, cell_of, leaves_of, predict, width_of
from spaql.streams import uniform

SEEN = 5000  # states of the data taken into account, evenly over time
WANDERINGS, LENGTH, HELD = 500, 20, 4  # rollouts of the model with random actions, their steps, and for how many an action is held at most
GUIDED, CHANCE, KEPT = 50, 0.2, 10_000  # rollouts of the last table with so many random actions; states kept of them
LONGEST = 2000  # steps of these rollouts, so that planning time stays bounded whatever the horizon
CROWD = 0.5  # a cell is cut for its width times its number of states to this power


class Support(NamedTuple):
    """Arrays the kernels read."""

    cells: Array  # tree of planning cells
    of_cell: Array  # by node of `cells`: its support point
    points: Array  # (m, d) of the cells, then of those states in which episodes have ended
    ended: Array  # (m,) 1 where the episode has ended
    nodes: Array  # tree over the points, one in each leaf, for finding neighbours
    of_node: Array  # by node of `nodes`: its point
    low: Array  # (nodes, d) box of the points below each node
    high: Array


class Guide(NamedTuple):
    """The table of an earlier plan, which knows states as ratio * z + offset."""

    cells: Array
    action: Array  # by node of `cells`
    ratio: Array
    offset: Array


def support_points(model: Model, z: Array, after: Array, starts: Array, horizon: int, guide: Guide | None, most: int, key: int) -> Support:
    """At most `most` cells, and a quarter as many points where episodes have ended."""
    d = z.shape[1]
    wandered, work = np.zeros((WANDERINGS * LENGTH, d)), np.zeros((3, width_of(d)))
    begin = z[np.random.default_rng(key).integers(0, len(z), WANDERINGS)]
    pool = [_some(z, SEEN), _some(after, SEEN), wandered[: wander(model, begin, LENGTH, HELD, np.uint64(key), wandered, work)]]
    if guide is not None:
        begin = np.ascontiguousarray(starts[np.arange(GUIDED) % len(starts)])
        length = min(horizon, LONGEST)
        states = np.zeros((GUIDED * length, d))
        pool.append(_some(states[: follow(model, guide, begin, length, CHANCE, np.uint64(key + 1), states, work)], KEPT))
    states = np.concatenate(pool)
    over = model.ending[leaves_of(model.ends, states)] == 1
    cells, of_cell, alive = _cover(np.ascontiguousarray(states[~over]) if not over.all() else states, most, CROWD)
    gone = _cover(np.ascontiguousarray(states[over]), max(1, most // 4), 0.0)[2] if over.any() else np.zeros((0, d))
    points = np.concatenate([alive, gone])
    ended = (np.arange(len(points)) >= len(alive)).astype(np.int64)
    return Support(cells, of_cell, points, ended, *_neighbour_tree(points))


def _some(states: Array, most: int) -> Array:
    return states if len(states) <= most else states[np.arange(most) * len(states) // most]


def _cover(states: Array, most: int, crowd: float) -> tuple[Array, Array, Array]:
    """Cells, the point of each leaf, and the points: in every cell the state nearest to the mean."""
    cells, order, ranges = grow(states, most, 2, by_count=False, crowd=crowd)
    leaves = np.flatnonzero(cells["feature"] == LEAF)
    middle = np.zeros(len(leaves), np.int64)
    _nearest_to_mean(states, order, ranges[leaves], middle, np.zeros(states.shape[1]))
    of_cell = np.full(len(cells), -1, np.int64)
    of_cell[leaves] = np.arange(len(leaves))
    return cells, of_cell, states[middle]


@kernel
def _nearest_to_mean(states: Array, order: Array, ranges: Array, middle: Array, mean: Array) -> None:
    for cell in range(len(ranges)):
        begin, end = ranges[cell, 0], ranges[cell, 1]
        for j in range(len(mean)):
            mean[j] = 0.0
            for t in range(begin, end):
                mean[j] += states[order[t], j]
            mean[j] /= end - begin
        best = np.inf
        for t in range(begin, end):
            distance = 0.0
            for j in range(len(mean)):
                gap = states[order[t], j] - mean[j]
                distance += gap * gap
            if distance < best:
                best, middle[cell] = distance, order[t]


def _neighbour_tree(points: Array) -> tuple[Array, Array, Array, Array]:
    """Points that coincide share a leaf, of which the first is found: they are neighbours only once."""
    nodes, order, ranges = grow(points, len(points), 2, by_count=False, narrow=0.0)
    of_node = np.where(nodes["feature"] == LEAF, order[ranges[:, 0]], -1)
    low, high = points[np.maximum(of_node, 0)], points[np.maximum(of_node, 0)]
    for node in range(len(nodes) - 1, -1, -1):
        if nodes["feature"][node] != LEAF:
            sides = [nodes["low"][node], nodes["high"][node]]
            low[node], high[node] = low[sides].min(axis=0), high[sides].max(axis=0)
    return nodes, of_node, low, high


@inlined
def _step(model: Model, action: int, z: Array, after: Array, seen: Array) -> bool:
    """One step of the model, in place; the new state is written down. True if the episode ends there."""
    predict(model, cell_of(model.nodes, z), z, model.features[action], after)
    for j in range(len(z)):
        z[j] = after[j]
        seen[j] = after[j]
    return bool(model.ending[cell_of(model.ends, z)] == 1)


@kernel
def wander(model: Model, starts: Array, length: int, longest: int, key: np.uint64, states: Array, work: Array) -> int:
    """Rollouts of the model with random actions, each held 1 to `longest` steps. Fills `states`, returns how many."""
    made, d, actions = 0, starts.shape[1], len(model.features)
    z, after = work[0, :d], work[1]
    for i in range(len(starts)):
        for j in range(d):
            z[j] = starts[i, j]
        action, held, drawn = 0, 0, 2 * i * length
        for _ in range(length):
            if held == 0:
                action = int(uniform(key, drawn) * actions)
                held = 1 + int(uniform(key, drawn + 1) * longest)
                drawn += 2
            held -= 1
            ended = _step(model, action, z, after, states[made])
            made += 1
            if ended:
                break
    return made


@kernel
def follow(
    model: Model, guide: Guide, starts: Array, length: int, chance: float, key: np.uint64, states: Array, work: Array
) -> int:  # fmt: skip
    """Rollouts of an earlier table in the model, now and then a random action. Fills `states`, returns how many."""
    made, d, actions = 0, starts.shape[1], len(model.features)
    z, after, seen = work[0, :d], work[1], work[2, :d]
    for i in range(len(starts)):
        for j in range(d):
            z[j] = starts[i, j]
        for t in range(length):
            for j in range(d):
                seen[j] = guide.ratio[j] * z[j] + guide.offset[j]
            drawn = 2 * (i * length + t)
            action = guide.action[cell_of(guide.cells, seen)]
            if uniform(key, drawn) < chance:
                action = int(uniform(key, drawn + 1) * actions)
            ended = _step(model, action, z, after, states[made])
            made += 1
            if ended:
                break
    return made
