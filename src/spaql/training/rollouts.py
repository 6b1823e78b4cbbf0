"""Lock-step rollouts of a greedy policy: many episodes advance together, in loops that LLVM vectorises.

One step of all lanes: observations to grid cells (`locate`), to cells of the merged tree (`descend_lanes`), to actions
(`act_lanes`), and the plant's step (`lanes.step_lanes`). `learners.act.act` does the same for one observation, to the
bit.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry, inlined, kernel
from spaql.ground.fastmath import SMALL, tanh, tanh_small
from spaql.ground.streams import uniform
from spaql.learners.act import Actor
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH
from spaql.partition.greedy import LOW_HALF, Greedy, cell_of, coordinates
from spaql.plants.chart import CLIPPED, EDGE, HUGE, LINEAR, Chart
from spaql.plants.plant import Batch, Rows
from spaql.training.lanes import BAD_OBSERVATION, WIDTH, Episodes, Lanes, Stage, run_lanes


@inlined
def _place(value: float, finite: bool, cell: Array, i: int) -> int:
    """The grid cell of a cube coordinate. Returns 1 if the coordinate has none."""
    good = finite & (abs(value) <= EDGE)
    cell[i] = cell_of(value if good else 0.0)
    return 0 if good else 1


@inlined
def locate(chart: Chart, lanes: Lanes, first_row: int, n: int) -> int:
    """Observations to grid cells. Returns the number of bad coordinates."""
    bad = 0
    for j in range(len(chart.axes)):
        row, cell = lanes.table[first_row + j], lanes.cell[j]
        centre, scale, kind = chart.axes[j].centre, chart.axes[j].scale, chart.axes[j].kind
        if kind == LINEAR:
            for i in range(n):
                bad += _place((row[i] - centre) * scale, True, cell, i)
        elif kind == CLIPPED:
            for i in range(n):
                bad += _place(min(max((row[i] - centre) * scale, -1.0), 1.0), abs(row[i]) <= HUGE, cell, i)
        else:
            large = 0
            for i in range(n):
                value = (row[i] - centre) * scale
                large += 0 if abs(value) <= SMALL else 1
                _place(tanh_small(value), True, cell, i)
            if large > 0:  # some lane needs the full formula; each lane chooses its own, whatever its neighbours need
                for i in range(n):
                    finite = abs(row[i]) <= HUGE
                    value = ((row[i] if finite else 0.0) - centre) * scale
                    bad += _place(tanh_small(value) if abs(value) <= SMALL else tanh(value), finite, cell, i)
    return bad


@inlined
def descend_lanes(lanes: Lanes, greedy: Greedy, tree: int, n: int) -> None:
    """Every lane's leaf of the merged tree; n is a multiple of WIDTH, which is 4.

    The special form of `partition.greedy.descend` for many lanes: all levels of all coordinates are one code of at most
    63 bits.
    """
    d, depth = lanes.cell.shape[0], greedy.depth[tree]
    if d * depth > 63:
        _descend_one_by_one(lanes, greedy, tree, n)
        return
    _encode(lanes, d, depth, n)
    jump, code, node = greedy.jump, lanes.code, lanes.node
    bits = d if jump[tree] >> 32 == (1 << d) - 1 else 1  # of the code, per level of the merged tree
    for i in range(0, n, WIDTH):  # several lanes at once: each waits for its own chain of loads
        first, second, third, fourth = tree, tree, tree, tree
        at = depth * d - bits
        while at >= 0:  # leaves lead to themselves: no branch to mispredict
            first, second = _below(jump, first, code[i] >> at), _below(jump, second, code[i + 1] >> at)
            third, fourth = _below(jump, third, code[i + 2] >> at), _below(jump, fourth, code[i + 3] >> at)
            at -= bits
        node[i], node[i + 1], node[i + 2], node[i + 3] = first, second, third, fourth


@inlined
def _below(jump: Array, here: int, orthant: int) -> int:
    """The sub-cell, or the cell itself if it is a leaf."""
    target: int = jump[np.uint32(here)]
    return (target & LOW_HALF) + (orthant & (target >> 32))


@inlined
def _encode(lanes: Lanes, d: int, depth: int, n: int) -> None:
    """Interleave the bits of a lane's grid cells: the orthant of every level, the top level highest."""
    code, spread = lanes.code, lanes.spreading
    s8, s4, s2, s1 = spread[0, 0], spread[0, 1], spread[0, 2], spread[0, 3]
    m8, m4, m2, m1 = spread[1, 0], spread[1, 1], spread[1, 2], spread[1, 3]
    for i in range(n):
        code[i] = 0
    for j in range(d):
        cell = lanes.cell[j]
        for i in range(n):
            bits = np.int64(cell[i] >> (MAX_DEPTH - depth))
            if depth > 8:
                bits = (bits | (bits << s8)) & m8
            if depth > 4:
                bits = (bits | (bits << s4)) & m4
            bits = (bits | (bits << s2)) & m2
            bits = (bits | (bits << s1)) & m1
            code[i] = (code[i] << 1) | bits


@inlined
def _descend_one_by_one(lanes: Lanes, greedy: Greedy, tree: int, n: int) -> None:
    """As `partition.greedy.descend`, from grid cells: in many dimensions a deep tree's code has more than 63 bits."""
    d = lanes.cell.shape[0]
    for i in range(n):
        here, level, next_j = tree, MAX_DEPTH - 1, 0
        while greedy.jump[here] >> 32 != 0:
            first_j, next_j = coordinates(greedy.jump[here] >> 32, d, next_j)
            orthant = 0
            for j in range(first_j, next_j):
                orthant = (orthant << 1) | ((lanes.cell[j, i] >> level) & 1)
            here = (greedy.jump[here] & LOW_HALF) + orthant
            if next_j == d:
                level, next_j = level - 1, 0
        lanes.node[i] = here


@inlined
def act_lanes(actor: Actor, lanes: Lanes, first_row: int, tree: int, step: int, deterministic: bool, n: int) -> None:
    """The greedy ball's action: uniform inside the ball, as in the paper, or the centre of the ball."""
    space, chart, greedy = actor.space, actor.chart, actor.greedy
    node = lanes.node
    if space.k > 0:
        for axis in range(space.k):
            action, scale = lanes.table[first_row + axis], chart.acts[axis].scale
            for i in range(n):
                at = np.uint32(node[i])
                offset = 0.0 if deterministic else 2.0 * uniform(lanes.action_key[i], step * space.k + axis) - 1.0
                action[i] = greedy.centre[axis, at] + scale * (greedy.cells[at].spread * offset)
    elif greedy.undecided[tree] == 0 or deterministic:
        for i in range(n):
            lanes.table[first_row, i] = greedy.centre[0, np.uint32(node[i])]
    else:
        for i in range(n):
            cell = greedy.cells[np.uint32(node[i])]
            offset = int(uniform(lanes.action_key[i], step) * cell.spread)
            lanes.table[first_row, i] = chart.values[(cell.key >> COUNT_BITS) + offset]


@inlined
def _find_fault(chart: Chart, lanes: Lanes, first_row: int, step: int, n: int) -> None:
    for i in range(n):
        for j in range(len(chart.axes)):
            value, axis = lanes.table[first_row + j, i], chart.axes[j]
            if not abs(value) <= HUGE or (axis.kind == LINEAR and not abs((value - axis.centre) * axis.scale) <= EDGE):
                lanes.fault[0], lanes.fault[1] = BAD_OBSERVATION, lanes.rollout[i]
                lanes.fault[2], lanes.fault[3] = step, j
                return


class GreedyActor(NamedTuple):
    """A greedy policy that acts."""

    actor: Actor
    deterministic: bool


@inlined
def _act(greedy: GreedyActor, rows: Rows, lanes: Lanes, h: int, steps: int, n: int, padded: int) -> bool:
    actor = greedy.actor
    if locate(actor.chart, lanes, rows.observation, padded) > 0:
        _find_fault(actor.chart, lanes, rows.observation, h, n)
        return False
    tree = h if actor.space.trees > 1 else 0
    descend_lanes(lanes, actor.greedy, tree, padded)
    act_lanes(actor, lanes, rows.action, tree, h, greedy.deterministic, padded)
    return True


@kernel
def greedy_rollouts(
    reset: Batch, step: Batch, stage: Stage, actor: Actor, lanes: Lanes, episodes: Episodes, deterministic: bool
) -> int:
    """Episodes of the greedy policy. Returns the steps; `lanes.fault` says if something was wrong with the plant."""
    return run_lanes(reset, step, _act, GreedyActor(actor, deterministic), stage, lanes, episodes)


@entry
def mean_return(returns: Array) -> float:
    """The mean, added in the order of the rollouts: the Gymnasium loop adds in the same order, to the same bits."""
    total = 0.0
    for j in range(len(returns)):
        total += returns[j]
    return total / len(returns)
