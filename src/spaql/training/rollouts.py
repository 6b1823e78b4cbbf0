"""Lock-step rollouts: many episodes advance together, one array operation after the other, in loops that LLVM vectorises.

Every rollout has its own random streams, so its bits do not depend on which others run beside it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import entry, inlined
from spaql.fastmath import SMALL, tanh, tanh_small
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH, Space
from spaql.partition.greedy import LOW_HALF, Greedy, coordinates
from spaql.partition.search import cell_of
from spaql.plants.chart import CLIPPED, EDGE, HUGE, LINEAR, Chart
from spaql.plants.plant import LANES, Rows
from spaql.streams import derive, uniform

Batch = Callable[[Array, int], None]

WIDTH = 4  # lanes are filled up to a multiple of this: the rest of a vector loop runs one by one
OK, BAD_OBSERVATION, BAD_REWARD = 0, 1, 2


class Lanes(NamedTuple):
    """Arrays with one column per rollout under way."""

    flat: Array  # the table of the plant, as its batch functions take it
    table: Array  # the same memory, (rows, LANES)
    cell: Array  # int32 (d, LANES): position in the finest grid
    node: Array  # int32: cell of the merged tree
    plant_key: Array  # uint64
    action_key: Array
    rollout: Array  # int64: which rollout the lane carries
    code: Array  # int64: the orthants of all levels
    spreading: Array  # int64 (2, 4): shifts and masks that spread the bits of an index d apart
    fault: Array  # int64: [code, rollout, step, dimension] of the first bad number


def new_lanes(d: int, rows: Rows) -> Lanes:
    table = np.zeros((rows.end, LANES))
    return Lanes(
        table.reshape(-1),
        table,
        np.zeros((d, LANES), np.int32),
        np.zeros(LANES, np.int32),
        np.zeros(LANES, np.uint64),
        np.zeros(LANES, np.uint64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
        spreading(d),
        np.zeros(4, np.int64),
    )


def spreading(d: int) -> Array:
    """Four rounds x = (x | x << shift) & mask move bit b of a 16-bit index to position b * d, as far as 63 bits go."""
    rounds = np.zeros((2, 4), np.int64)
    for at, group in enumerate((8, 4, 2, 1)):  # groups of so many bits move apart
        mask = sum(((1 << group) - 1) << (g * group * d) for g in range(16 // group))
        fits = group * (d - 1) < 63  # else the index has no bits beyond the first group
        rounds[:, at] = group * (d - 1) if fits else 0, mask & (2**63 - 1) if fits else (1 << group) - 1
    return rounds


@inlined
def fill_noise(lanes: Lanes, first_row: int, count: int, offset: int, n: int) -> None:
    """Uniform numbers `offset`, `offset + 1`, ... of every lane's stream into the noise rows."""
    for c in range(count):
        row = lanes.table[first_row + c]
        for i in range(n):
            row[i] = uniform(lanes.plant_key[i], offset + c)


@inlined
def _place(value: float, finite: bool, cell: Array, i: int) -> int:
    """The grid cell of a cube coordinate. Returns 1 if it has none."""
    good = finite & (abs(value) <= EDGE)
    cell[i] = cell_of(value if good else 0.0)
    return 0 if good else 1


@inlined
def locate(chart: Chart, lanes: Lanes, first_row: int, n: int) -> int:
    """Observations to grid cells. Returns how many are bad."""
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
            if large > 0:  # some lane needs the full formula; each lane chooses for itself, so none depends on its neighbours
                for i in range(n):
                    finite = abs(row[i]) <= HUGE
                    value = ((row[i] if finite else 0.0) - centre) * scale
                    bad += _place(tanh_small(value) if abs(value) <= SMALL else tanh(value), finite, cell, i)
    return bad


@inlined
def descend_lanes(lanes: Lanes, greedy: Greedy, tree: int, n: int) -> None:
    """Find every lane's leaf of the merged tree; n is a multiple of WIDTH, which is 4."""
    d, depth = lanes.cell.shape[0], greedy.depth[tree]
    if d * depth > 63:
        _descend_one_by_one(lanes, greedy, tree, n)
        return
    _encode(lanes, d, depth, n)
    jump, code, node = greedy.jump, lanes.code, lanes.node
    bits = d if jump[tree] >> 32 == (1 << d) - 1 else 1  # that one level of the merged tree decides
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
    """Many dimensions and a deep tree: the code would need more than 63 bits."""
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
def act_lanes(
    space: Space, chart: Chart, lanes: Lanes, first_row: int, greedy: Greedy, tree: int, step: int, deterministic: bool, n: int
) -> None:
    """The greedy ball's action: uniform inside the ball, as the paper plays, or its centre."""
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
def _copy_lane(rows: Rows, lanes: Lanes, source: int, target: int) -> None:
    for row in range(rows.action):  # state and observation
        lanes.table[row, target] = lanes.table[row, source]
    lanes.table[rows.done, target] = lanes.table[rows.done, source]
    lanes.table[rows.total, target] = lanes.table[rows.total, source]
    lanes.plant_key[target] = lanes.plant_key[source]
    lanes.action_key[target] = lanes.action_key[source]
    lanes.rollout[target] = lanes.rollout[source]


@inlined
def pad(rows: Rows, lanes: Lanes, n: int) -> int:
    """Fill up the last vector with copies of lane 0, which stay in range because it does."""
    padded = -(-n // WIDTH) * WIDTH
    for i in range(n, padded):
        _copy_lane(rows, lanes, 0, i)
    return padded


@inlined
def _find_fault(chart: Chart, lanes: Lanes, first_row: int, step: int, n: int) -> None:
    for i in range(n):
        for j in range(len(chart.axes)):
            value, axis = lanes.table[first_row + j, i], chart.axes[j]
            if not abs(value) <= HUGE or (axis.kind == LINEAR and not abs((value - axis.centre) * axis.scale) <= EDGE):
                lanes.fault[0], lanes.fault[1], lanes.fault[2], lanes.fault[3] = BAD_OBSERVATION, lanes.rollout[i], step, j
                return


@inlined
def start_lanes(
    reset: Batch, rows: Rows, reset_noise: int, lanes: Lanes,
    plant_seed: np.uint64, action_key: np.uint64, rollout: int, n: int,
) -> int:  # fmt: skip
    """Start states of rollouts `rollout` ... `rollout + n - 1`. Returns the padded number of lanes."""
    for i in range(n):
        lanes.rollout[i] = rollout + i
        lanes.plant_key[i] = derive(plant_seed, rollout + i)
        lanes.action_key[i] = derive(action_key, rollout + i)
        lanes.table[rows.total, i] = 0.0
    padded = pad(rows, lanes, n)
    fill_noise(lanes, rows.noise, reset_noise, 0, padded)
    reset(lanes.flat, padded)
    return padded


@inlined
def retire(rows: Rows, lanes: Lanes, returns: Array, n: int) -> int:
    """Book finished lanes and fill each gap with the last lane. Returns how many go on."""
    i = 0
    while i < n:
        if lanes.table[rows.done, i] == 0.0:
            i += 1
            continue
        returns[lanes.rollout[i]] = lanes.table[rows.total, i]
        n -= 1
        if i < n:
            _copy_lane(rows, lanes, n, i)
    return n


@inlined
def book(rows: Rows, lanes: Lanes, returns: Array, n: int, padded: int) -> tuple[int, int]:
    """Add the rewards of a step; episodes that have ended leave. Returns how many go on, and so many with padding."""
    reward, done, total = lanes.table[rows.reward], lanes.table[rows.done], lanes.table[rows.total]
    for i in range(padded):
        total[i] += reward[i]
    ended = 0
    for i in range(n):
        ended += 0 if done[i] == 0.0 else 1
    if ended > 0:
        n = retire(rows, lanes, returns, n)
        padded = pad(rows, lanes, n)
    return n, padded


@inlined
def finish(rows: Rows, lanes: Lanes, returns: Array, n: int) -> None:
    """Book the lanes that have reached the horizon."""
    for i in range(n):
        returns[lanes.rollout[i]] = lanes.table[rows.total, i]


@inlined
def check_returns(lanes: Lanes, returns: Array, first: int, last: int) -> None:
    for j in range(first, last):
        if not abs(returns[j]) <= HUGE:
            lanes.fault[0], lanes.fault[1], lanes.fault[2], lanes.fault[3] = BAD_REWARD, j, -1, -1


@inlined
def rollouts(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int], space: Space, chart: Chart, greedy: Greedy, lanes: Lanes,
    plant_seed: np.uint64, action_key: np.uint64, deterministic: bool, returns: Array, first: int, last: int,
) -> int:  # fmt: skip
    """Play episodes `first` ... `last - 1` of the greedy policy. Returns the number of steps; `lanes.fault[0]` tells if it went wrong."""
    steps = 0
    for begin in range(first, last, LANES):
        n = min(LANES, last - begin)
        padded = start_lanes(reset, rows, noise[0], lanes, plant_seed, action_key, begin, n)
        for h in range(space.horizon):
            if n == 0:
                break
            if locate(chart, lanes, rows.observation, padded) > 0:
                _find_fault(chart, lanes, rows.observation, h, n)
                return steps
            tree = h if space.trees > 1 else 0
            descend_lanes(lanes, greedy, tree, padded)
            act_lanes(space, chart, lanes, rows.action, greedy, tree, h, deterministic, padded)
            fill_noise(lanes, rows.noise, noise[1], noise[0] + h * noise[1], padded)
            step(lanes.flat, padded)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        finish(rows, lanes, returns, n)
    check_returns(lanes, returns, first, last)
    return steps


@entry
def mean_return(returns: Array) -> float:
    """In order of the rollouts: the Gymnasium loop adds in the same order and gets the same bits."""
    total = 0.0
    for j in range(len(returns)):
        total += returns[j]
    return total / len(returns)
