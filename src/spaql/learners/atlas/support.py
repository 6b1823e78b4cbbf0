"""Support points of the value function, one per planning cell: at states of the data, and at states
that the model can reach.

From data alone there are too few of them where a good controller goes, which the data may not have
reached yet; on a grid there are too many where no controller goes. Equation numbers:
docs/atlas-table.md.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.streams import uniform
from spaql.learners.atlas.cell_fit import Examples
from spaql.learners.atlas.cell_model import CellModel, cell_of, leaves_of, predict, width_of
from spaql.learners.atlas.cells import grow
from spaql.learners.atlas.experience import evenly
from spaql.trees.tree import LEAF, NODE

SEEN_STATES = 5000  # states, and next states, of the data in the pool, evenly over time
WANDERINGS = 500  # rollouts of the model with random actions
WANDERING_STEPS = 20  # their steps
HELD_STEPS = 4  # steps for which one of their actions is held, at most
GUIDED_ROLLOUTS = 50  # rollouts of the last table in the model
RANDOM_SHARE = 0.2  # share of random actions in them
GUIDED_STATES = 10_000  # states kept of them
GUIDED_STEPS = 2000  # their steps, at most: planning time stays bounded whatever the horizon
CROWD_EXPONENT = 0.5  # exponent of the number of states in (20)
ENDED_PART = 4  # support points where episodes have ended: at most the n-th part of the cells


class Support(NamedTuple):
    """Arrays the kernels read."""

    cells: Array  # tree of planning cells
    of_cell: Array  # by node of `cells`: its support point
    # (m, d) support points: first those of the cells, then states in which episodes have ended
    points: Array
    ended: Array  # (m,) 1 where the episode has ended
    nodes: Array  # tree over the support points, one in each leaf, for finding neighbours
    of_node: Array  # by node of `nodes`: its support point
    low: Array  # (nodes, d) lower corner of the box of the support points below each node
    high: Array  # (nodes, d) its upper corner


class Guide(NamedTuple):
    """The table of an earlier plan. The state z is ratio * z + offset in the metric of that plan.
    """

    cells: Array
    action: Array  # by node of `cells`
    ratio: Array  # (d,)
    offset: Array  # (d,)


def support_points(
    model: CellModel, examples: Examples, starts: Array, horizon: int, guide: Guide | None,
    most: int, key: int
) -> Support:  # fmt: skip
    """At most `most` cells, and a quarter as many support points where episodes have ended."""
    z, after, d = examples.states, examples.nexts, examples.states.shape[1]
    wandered, work = np.zeros((WANDERINGS * WANDERING_STEPS, d)), np.zeros((3, width_of(d)))
    begin = z[np.random.default_rng(key).integers(0, len(z), WANDERINGS)]
    nobody = Guide(np.zeros(0, NODE), np.zeros(0, np.int64), np.zeros(d), np.zeros(d))
    steps = roll(model, nobody, begin, WANDERING_STEPS, HELD_STEPS, 1.0, np.uint64(key), wandered, work)
    pool = [evenly(z, SEEN_STATES), evenly(after, SEEN_STATES), wandered[:steps]]
    if guide is not None:
        begin = np.ascontiguousarray(starts[np.arange(GUIDED_ROLLOUTS) % len(starts)])
        length = min(horizon, GUIDED_STEPS)
        guided = np.zeros((GUIDED_ROLLOUTS * length, d))
        steps = roll(model, guide, begin, length, HELD_STEPS, RANDOM_SHARE, np.uint64(key + 1), guided, work)
        pool.append(evenly(guided[:steps], GUIDED_STATES))
    states = np.concatenate(pool)
    over = model.ending[leaves_of(model.ends, states)] == 1
    going_on = states if over.all() else np.ascontiguousarray(states[~over])
    cells, of_cell, alive = _cover(going_on, most, CROWD_EXPONENT)
    gone = np.zeros((0, d))
    if over.any():
        gone = _cover(np.ascontiguousarray(states[over]), max(1, most // ENDED_PART), 0.0)[2]
    points = np.concatenate([alive, gone])
    ended = (np.arange(len(points)) >= len(alive)).astype(np.int64)
    return Support(cells, of_cell, points, ended, *_neighbour_tree(points))


def _cover(states: Array, most: int, crowd: float) -> tuple[Array, Array, Array]:
    """Cells, the index of the support point of each leaf, and the support points: in every cell the
    state nearest to the mean of its states.
    """
    cells, order, ranges = grow(states, most, 2, by_count=False, crowd=crowd)
    leaves = np.flatnonzero(cells["feature"] == LEAF)
    middle = np.zeros(len(leaves), np.int64)
    _nearest_to_mean(states, order, ranges[leaves], middle, np.zeros(states.shape[1]))
    of_cell = np.full(len(cells), -1, np.int64)
    of_cell[leaves] = np.arange(len(leaves))
    return cells, of_cell, states[middle]


@kernel
def _nearest_to_mean(
    states: Array, order: Array, ranges: Array, middle: Array, mean: Array
) -> None:  # fmt: skip
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
    """A tree for `nearest`. Of support points that coincide, one leaf stands for the first."""
    nodes, order, ranges = grow(points, len(points), 2, by_count=False, narrow=0.0)
    of_node = np.where(nodes["feature"] == LEAF, order[ranges[:, 0]], -1)
    low, high = points[np.maximum(of_node, 0)], points[np.maximum(of_node, 0)]
    for node in range(len(nodes) - 1, -1, -1):
        if nodes["feature"][node] != LEAF:
            sides = [nodes["low"][node], nodes["high"][node]]
            low[node], high[node] = low[sides].min(axis=0), high[sides].max(axis=0)
    return nodes, of_node, low, high


@inlined
def _step(model: CellModel, action: int, z: Array, after: Array, seen: Array) -> bool:
    """One step of the model: the next state into `z` and `seen`. True if the episode ends there."""
    predict(model, cell_of(model.nodes, z), z, model.features[action], after)
    for j in range(len(z)):
        z[j] = after[j]
        seen[j] = after[j]
    return bool(model.ending[cell_of(model.ends, z)] == 1)


@kernel
def roll(
    model: CellModel, guide: Guide, starts: Array, length: int, longest: int, chance: float, key: np.uint64,
    states: Array, work: Array,
) -> int:  # fmt: skip
    """Rollouts of the model; next states into `states`; returns how many.

    By the table of the guide, with the probability `chance` of a random action; or, if it has no cells, with random
    actions, each held for 1 to `longest` steps.
    """
    steps, d, actions, guided = 0, starts.shape[1], len(model.features), len(guide.cells) > 0
    z, after, earlier = work[0, :d], work[1], work[2, :d]
    for i in range(len(starts)):
        for j in range(d):
            z[j] = starts[i, j]
        action, held, drawn = 0, 0, 2 * i * length
        for t in range(length):
            if guided:
                for j in range(d):
                    earlier[j] = guide.ratio[j] * z[j] + guide.offset[j]
                action, drawn = guide.action[cell_of(guide.cells, earlier)], 2 * (i * length + t)
                if uniform(key, drawn) < chance:
                    action = int(uniform(key, drawn + 1) * actions)
            elif held == 0:
                action = int(uniform(key, drawn) * actions)
                held = 1 + int(uniform(key, drawn + 1) * longest)
                drawn += 2
            held -= 1
            ended = _step(model, action, z, after, states[steps])
            steps += 1
            if ended:
                break
    return steps
