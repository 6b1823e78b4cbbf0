"""Compiled work on cells: a box followed until all its sets are in known cells, and where a simulation leads.

Cells have a bound of steps and a value, whole numbers of 16 bits; a bound below zero: nothing is known. What they mean
stands in proven_cells.py.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import run
from spaql.proofs.sets import Sets, SetWork, box_of, copy_set, room
from spaql.proofs.steps_of_sets import advance

LONGEST = 400  # steps of the simulation that tells in which order cells are tried
STACKED = 100  # sets that a cell may be at a time
LANDINGS = 400  # and where they may come to lie
EDGE = 2e-9  # of a cell: a state so near to its side counts as in both cells; more than in the checker
SPARE = 1e-3  # of a unit of values, for the checker's rounding, which is another one
UNVALUED = -32768  # of a cell: its value is not known
NEITHER, FINE, COARSE = -1, 0, 1  # in which of two grids a landing lies


class Cells(NamedTuple):
    """A grid over a box, counted with the last variable first."""

    low: Array  # (states,)
    step: Array
    shape: Array
    bound: Array  # (cells,) int16: steps after which the state is where it is to be; below 0: not known
    value: Array  # (cells,) int16, in units: the return beyond that of so many steps is never less


class Journey(NamedTuple):
    """What is asked of a cell that is followed."""

    steps: int
    limits: Array  # (states, 2) never outside
    widest: Array  # (states,) sets that are wider are given up
    most: int  # steps of sets
    pace: float  # reward per step to which returns are compared
    unit: float  # of values; 0: no values are asked


class Trail(NamedTuple):
    """Memory: sets that are not done, and where the others came to lie."""

    sets: Sets
    age: Array
    gained: Array  # (sets, 2) the sum of rewards beyond the pace so far at least, and its least on the way
    box: Array  # (states, 2)
    start: Array  # (states, 2) of the cell
    corner: Array  # (3, states) of cells: first, last, here
    chain: Array  # (steps, states, 2) int16: first and last cell of a set and of those it comes from
    landed: Array  # (landings, states, 2) int16
    known: Array  # (landings, 2) in which grid, after how many steps
    reward: Array  # (landings, 2) as `gained`
    count: Array  # landings, length of the chain, steps of sets, the variable along which a cut helps


def trail_for(loop: ClosedLoop, steps: int) -> Trail:
    d, z = loop.states, np.zeros
    return Trail(
        room(loop, STACKED), z(STACKED, np.int64), z((STACKED, 2)), z((d, 2)), z((d, 2)), z((3, d), np.int64),
        z((steps + 1, d, 2), np.int16), z((LANDINGS, d, 2), np.int16), z((LANDINGS, 2), np.int64), z((LANDINGS, 2)),
        z(4, np.int64),
    )  # fmt: skip


def no_cells(states: int) -> Cells:
    return Cells(
        np.zeros(states), np.ones(states), np.ones(states, np.int64), np.full(1, -1, np.int16), np.zeros(1, np.int16)
    )  # fmt: skip


# -- which cells -------------------------------------------------------------------------------------------------------


@inlined
def touched(cells: Cells, box: Array, corner: Array) -> bool:
    """First and last of the cells that a box touches; False if it leaves the grid."""
    inside = True
    for i in range(len(cells.low)):
        first = np.floor((box[i, 0] - cells.low[i]) / cells.step[i] - EDGE)
        last = np.floor((box[i, 1] - cells.low[i]) / cells.step[i] + EDGE)
        inside &= (first >= 0.0) & (last < cells.shape[i])
        corner[0, i] = int(min(max(first, 0.0), cells.shape[i] - 1.0))
        corner[1, i] = int(min(max(last, 0.0), cells.shape[i] - 1.0))
    return inside


@inlined
def number_of(cells: Cells, place: Array) -> int:
    cell = 0
    for i in range(len(cells.low)):
        cell = cell * cells.shape[i] + place[i]
    return cell


@inlined
def following(corner: Array) -> bool:
    """The next cell between the first and the last one in `corner[2]`; False if that was the last one."""
    for i in range(corner.shape[1] - 1, -1, -1):
        corner[2, i] += 1
        if corner[2, i] <= corner[1, i]:
            return True
        corner[2, i] = corner[0, i]
    return False


@apart
def largest(cells: Cells, corner: Array) -> int:
    """The largest bound of the cells from first to last; -1 if one is not known. Those in the corners first."""
    d = len(cells.low)
    for which in range(2**d):
        for i in range(d):
            corner[2, i] = corner[(which >> i) & 1, i]
        if cells.bound[number_of(cells, corner[2])] < 0:
            return -1
    bound = 0
    for i in range(d):
        corner[2, i] = corner[0, i]
    while True:
        here = int(cells.bound[number_of(cells, corner[2])])
        if here < 0:
            return -1
        bound = max(bound, here)
        if not following(corner):
            return bound


@apart
def least(cells: Cells, corner: Array) -> int:
    """The least value of the cells from first to last."""
    value = 0
    for i in range(len(cells.low)):
        corner[2, i] = corner[0, i]
    while True:
        value = min(value, int(cells.value[number_of(cells, corner[2])]))
        if not following(corner):
            return value


@apart
def paint(cells: Cells, corner: Array, bound: int, value: int) -> None:
    for i in range(len(cells.low)):
        corner[2, i] = corner[0, i]
    while True:
        cell = number_of(cells, corner[2])
        cells.bound[cell], cells.value[cell] = bound, value
        if not following(corner):
            return


@inlined
def side(cells: Cells, i: int, at: int) -> float:
    """Where cell number `at` begins along variable i: the same number for the cell before, which ends there."""
    end: float = cells.low[i] + at * cells.step[i]
    return end


# -- a cell followed ---------------------------------------------------------------------------------------------------


@inlined
def widest_symbol(sets: Sets, at: int, widest: Array) -> int:
    """The noise symbol, which still is a variable of the cell, that makes a set widest."""
    symbol, most = 0, -1.0
    for k in range(len(widest)):
        effect = 0.0
        for i in range(len(widest)):
            effect += abs(sets.shape[at, i, k]) / widest[i]
        if effect > most:
            symbol, most = k, effect
    return symbol


@apart
def follow_cell(
    loop: ClosedLoop, w: SetWork, t: Trail, start: Array, task: Journey, fine: Cells, coarse: Cells
) -> bool:
    """Whether all sets that the box becomes land in known cells; where, stands in `t`.

    If not, `t.chain` has the cells of the set that went wrong and of those it comes from: while none of these are all
    known, it would go wrong again.
    """
    d, sets = loop.states, t.sets
    for i in range(d):
        half = 0.5 * (start[i, 1] - start[i, 0])
        sets.centre[0, i] = 0.5 * (start[i, 0] + start[i, 1])
        sets.rest[0, i] = 1e-15 * (abs(start[i, 0]) + abs(start[i, 1])) + 1e-300
        sets.box[0, i, 0], sets.box[0, i, 1] = start[i, 0], start[i, 1]
        for k in range(sets.shape.shape[2]):
            sets.shape[0, i, k] = half if i == k else 0.0
    t.age[0], t.gained[0, 0], t.gained[0, 1] = 0, 0.0, 0.0
    t.count[0] = t.count[1] = t.count[2] = 0
    count = 1
    while count > 0:
        last = count - 1
        age, total, lowest = t.age[last], t.gained[last, 0], t.gained[last, 1]
        if age > 0:
            box_of(sets, last, t.box)
            where, bound = NEITHER, -1
            if touched(fine, t.box, t.corner):
                bound = largest(fine, t.corner)
                where = FINE if bound >= 0 else NEITHER
            if bound < 0:
                inside = touched(coarse, t.box, t.corner)
                for i in range(d):
                    t.chain[age, i, 0] = t.corner[0, i] if inside else -1
                    t.chain[age, i, 1] = t.corner[1, i]
                t.count[1] = age
                bound = largest(coarse, t.corner) if inside else -1
                where = COARSE if bound >= 0 else NEITHER
            if where != NEITHER:
                if t.count[0] >= LANDINGS:
                    return False
                at = t.count[0]
                for i in range(d):
                    t.landed[at, i, 0], t.landed[at, i, 1] = t.corner[0, i], t.corner[1, i]
                t.known[at, 0], t.known[at, 1] = where, age
                t.reward[at, 0], t.reward[at, 1] = total, lowest
                t.count[0] += 1
                count = last
                continue
        if age >= task.steps or t.count[2] >= task.most:
            t.count[3] = widest_symbol(sets, last, task.widest)
            return False
        came = advance(loop, w, sets, last)
        t.count[2] += 1
        if came < 0:
            return False
        count = last
        for k in range(came):
            if not box_of(w.after, k, t.box):
                continue
            for i in range(d):
                low, high = t.box[i, 0], t.box[i, 1]
                if not (low >= task.limits[i, 0] and high <= task.limits[i, 1]):
                    return False
                if not high - low <= task.widest[i]:
                    t.count[3] = widest_symbol(w.after, k, task.widest)
                    return False
            if w.after.over[k] != 0 or count >= STACKED - 1:
                return False
            copy_set(w.after, k, sets, count)
            # more than the rounding of two sums
            sum_ = total + (w.after.reward[k, 0] - task.pace)
            sum_ -= 1e-15 * (abs(total) + abs(w.after.reward[k, 0]) + abs(task.pace))
            t.age[count], t.gained[count, 0], t.gained[count, 1] = age + 1, sum_, min(lowest, sum_)
            count += 1
    return True


@inlined
def worth(t: Trail, task: Journey, fine: Cells, coarse: Cells) -> int:
    """The value of a cell that has landed, in units, rounded down: see proven_cells.py."""
    if task.unit == 0.0:
        return UNVALUED
    value = 0.0
    for at in range(t.count[0]):
        for i in range(len(fine.low)):
            t.corner[0, i], t.corner[1, i] = t.landed[at, i, 0], t.landed[at, i, 1]
        there = least(fine, t.corner) if t.known[at, 0] == FINE else least(coarse, t.corner)
        if there == UNVALUED:
            return UNVALUED
        rest = t.reward[at, 0] + there * task.unit
        value = min(value, rest - 1e-15 * (abs(rest) + abs(t.reward[at, 0])), t.reward[at, 1])
    whole = np.floor(value / task.unit - SPARE)
    return int(whole) if whole > UNVALUED else UNVALUED


@kernel
def induct(
    loop: ClosedLoop, w: SetWork, t: Trail, fine: Cells, coarse: Cells, corners: Array, sizes: Array, task: Journey,
    rows: Array, bounds: Array, axes: Array, chains: Array, lengths: Array,
) -> int:  # fmt: skip
    """These blocks, given by their first cells and sizes, in this order: those that arrive get a bound and a value.

    Returns how many arrived. Of the others, `chains` says which cells are to become known before another try is worth it.
    """
    d, arrived = loop.states, 0
    for n in rows:
        for i in range(d):
            t.start[i, 0] = side(coarse, i, corners[n, i])
            t.start[i, 1] = side(coarse, i, corners[n, i] + sizes[n, i])
        if not follow_cell(loop, w, t, t.start, task, fine, coarse):
            axes[n], lengths[n] = t.count[3], t.count[1]
            for step in range(t.count[1]):
                for i in range(d):
                    chains[n, step, i, 0], chains[n, step, i, 1] = t.chain[step + 1, i, 0], t.chain[step + 1, i, 1]
            continue
        bound = 0
        for at in range(t.count[0]):
            for i in range(d):
                t.corner[0, i], t.corner[1, i] = t.landed[at, i, 0], t.landed[at, i, 1]
            there = largest(fine, t.corner) if t.known[at, 0] == FINE else largest(coarse, t.corner)
            bound = max(bound, there + t.known[at, 1])
        value = worth(t, task, fine, coarse)
        for i in range(d):
            t.corner[0, i], t.corner[1, i] = corners[n, i], corners[n, i] + sizes[n, i] - 1
        bounds[n] = bound
        paint(coarse, t.corner, bound, value)
        arrived += 1
    return arrived


@kernel
def stirred(cells: Cells, corner: Array, chains: Array, lengths: Array, bounds: Array, again: Array, near: Array) -> None:
    """Of blocks that have not arrived: whether all cells of a set on the way are known by now, or one of a corner is."""
    d = len(cells.low)
    for n in range(len(chains)):
        again[n] = near[n] = False
        for step in range(lengths[n] if bounds[n] < 0 else 0):
            if chains[n, step, 0, 0] < 0:
                continue
            for i in range(d):
                corner[0, i], corner[1, i] = chains[n, step, i, 0], chains[n, step, i, 1]
            for which in range(2**d if not near[n] else 0):
                for i in range(d):
                    corner[2, i] = corner[(which >> i) & 1, i]
                near[n] |= cells.bound[number_of(cells, corner[2])] >= 0
            if near[n] and largest(cells, corner) >= 0:
                again[n] = True
                break


# -- cells that stay ---------------------------------------------------------------------------------------------------


@kernel
def stay(
    loop: ClosedLoop, w: SetWork, t: Trail, grid: Cells, none: Cells, cells: Array, task: Journey, ways: Array,
    begins: Array, used: int,
) -> int:  # fmt: skip
    """Tries these cells once; those that do not stay get the bound -1, the others have where they land in `ways`.

    Rows of `ways`: first and last cells, steps, gained, least. Returns how many rows are used, or -1: too many.
    """
    d = loop.states
    for n in range(len(cells)):
        cell = rest = cells[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            t.start[i, 0], t.start[i, 1] = side(grid, i, at), side(grid, i, at + 1)
        begins[cell, 0] = begins[cell, 1] = used
        if not follow_cell(loop, w, t, t.start, task, grid, none):
            grid.bound[cell] = -1
            continue
        if used + t.count[0] > len(ways):
            return -1
        for at in range(t.count[0]):
            for i in range(d):
                ways[used, 2 * i], ways[used, 2 * i + 1] = t.landed[at, i, 0], t.landed[at, i, 1]
            ways[used, 2 * d], ways[used, 2 * d + 1], ways[used, 2 * d + 2] = t.known[at, 1], t.reward[at, 0], t.reward[at, 1]
            used += 1
        begins[cell, 1] = used
    return used


@kernel
def broken(grid: Cells, corner: Array, cells: Array, ways: Array, begins: Array, again: Array) -> None:
    """Which cells have landed in cells that went since."""
    d = len(grid.low)
    for n in range(len(cells)):
        again[n] = False
        for row in range(begins[cells[n], 0], begins[cells[n], 1]):
            for i in range(d):
                corner[0, i], corner[1, i] = int(ways[row, 2 * i]), int(ways[row, 2 * i + 1])
            if largest(grid, corner) < 0:
                again[n] = True
                break


@kernel
def settle(
    grid: Cells, corner: Array, cells: Array, ways: Array, begins: Array, pace: float, unit: float, sweeps: int
) -> bool:
    """Values of cells that stay, for rewards beyond `pace`: lowered until all inequalities hold; False: they do not."""
    d = len(grid.low)
    for _ in range(sweeps):
        changed = False
        for n in range(len(cells)):
            value = 0.0
            for row in range(begins[cells[n], 0], begins[cells[n], 1]):
                for i in range(d):
                    corner[0, i], corner[1, i] = int(ways[row, 2 * i]), int(ways[row, 2 * i + 1])
                steps, gained, lowest = ways[row, 2 * d], ways[row, 2 * d + 1], ways[row, 2 * d + 2]
                rest = gained - steps * pace + least(grid, corner) * unit
                # r_1 + ... + r_s - s p >= the least sum - t p for p > 0, and >= the least sum for p <= 0
                value = min(value, rest, lowest - max(steps * pace, 0.0))
            whole = np.floor(value / unit - SPARE)
            if whole < UNVALUED + 1:
                return False
            if whole < grid.value[cells[n]]:
                grid.value[cells[n]] = int(whole)
                changed = True
        if not changed:
            return True
    return False


# -- by simulation -----------------------------------------------------------------------------------------------------


@kernel
def arrivals(
    loop: ClosedLoop,
    w: SetWork,
    fine: Cells,
    states: Array,
    steps: Array,
    rewards: Array,
    lowest: Array,
    highest: Array,
) -> None:
    """By simulation in the middle of ranges: after how many steps a state is in a known cell of
    `fine`.

    `states` become the last ones, `rewards` their sums, `lowest` and `highest` go around all of them.
    """
    d, m = loop.states, loop.actions
    for n in range(len(states)):
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = states[n, i]
        steps[n], rewards[n] = LONGEST, 0.0
        for step in range(LONGEST):
            inside, cell = True, 0
            for i in range(d):
                at = np.floor((w.shrunk[i, 0] - fine.low[i]) / fine.step[i])
                inside &= (at >= 0.0) & (at < fine.shape[i])
                cell = cell * fine.shape[i] + (int(at) if inside else 0)
                lowest[i], highest[i] = (
                    min(lowest[i], w.shrunk[i, 0]),
                    max(highest[i], w.shrunk[i, 0]),
                )
            if inside and fine.bound[cell] >= 0:
                steps[n] = step
                break
            run(loop.tape, loop.begins[-2], loop.begins[-1], w.shrunk, False, False, w.r, w.out)
            for o in range(loop.seen):
                w.seen.middle[o, 0] = 0.5 * (w.out.box[o, 0] + w.out.box[o, 1])
            _act(loop, w)
            for q in range(m):
                w.shrunk[d + q, 0] = w.shrunk[d + q, 1] = w.applied[q, 0]
            for q in range(len(loop.noise)):
                w.shrunk[d + m + q, 0] = w.shrunk[d + m + q, 1] = 0.5
            for path in range(len(loop.begins) - 2):
                if (
                    run(
                        loop.tape,
                        loop.begins[path],
                        loop.begins[path + 1],
                        w.shrunk,
                        False,
                        True,
                        w.r,
                        w.out,
                    )
                    > 0
                ):
                    break
            rewards[n] += 0.5 * (w.out.box[d, 0] + w.out.box[d, 1])
            for i in range(d):
                w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
        for i in range(d):
            states[n, i] = w.shrunk[i, 0]


@apart
def _act(loop: ClosedLoop, w: SetWork) -> None:
    """The action at what is seen, in `w.applied`."""
    node = 0
    while loop.feature[node] >= 0:
        total = -loop.cut[node]
        for o in range(loop.seen):
            total += loop.weights[node, o] * w.seen.middle[o, 0]
        node = loop.high[node] if total >= 0.0 else loop.low[node]
    for q in range(loop.actions):
        total = loop.offsets[node, q]
        for o in range(loop.seen):
            total += loop.gains[node, q, o] * w.seen.middle[o, 0]
        for k in range(loop.pieces.shape[2]):
            if loop.pieces[node, q, k, 0] <= total:
                w.applied[q, 0] = loop.pieces[node, q, k, 2] + loop.pieces[node, q, k, 3] * total
    if loop.scored == 1:
        best, highest = 0, -np.inf
        for k in range(len(loop.values)):
            total = loop.offsets[node, k]
            for o in range(loop.seen):
                total += loop.gains[node, k, o] * w.seen.middle[o, 0]
            if total > highest:
                best, highest = k, total
        w.applied[0, 0] = loop.values[best]
