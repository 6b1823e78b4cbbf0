"""Compiled work on cells: a box followed until all its sets are in known cells."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.proofs.cell_grid import (
    SPARE,
    UNVALUED,
    CellGrid,
    Inner,
    largest,
    least,
    not_known,
    number_of,
    paint,
    side,
    touched,
)
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.over_boxes import ROUND
from spaql.proofs.sets import Sets, SetWork, box_of, copy_set, room
from spaql.proofs.steps_of_sets import Advance, begin, widest_symbol

STACKED = 100  # sets that a cell may be at a time
LANDINGS = 400  # and where they may come to lie
MARGIN = 0.02  # of a set of a differential equation, which the checker encloses a little differently
NEITHER, FINE, COARSE, INNER = -1, 0, 1, 2  # in which of two grids a landing lies, or in the set beside them


class Journey(NamedTuple):
    """What is asked of a cell that is followed."""

    steps: int
    limits: Array  # (states, 2) never outside
    widest: Array  # (states,) sets that are wider are given up
    most: int  # steps of sets
    pace: float  # reward per step to which returns are compared
    unit: float  # of values; 0: no values are asked
    inner: Inner


class Trail(NamedTuple):
    """Memory `t`: sets that are not done, and where the others came to lie."""

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
    counts: Array  # landings, length of the chain, steps of sets, the variable along which a cut helps


def trail_for(loop: ClosedLoop, steps: int) -> Trail:
    d, z = loop.variables, np.zeros
    return Trail(
        sets=room(loop, STACKED), age=z(STACKED, np.int64), gained=z((STACKED, 2)), box=z((loop.states, 2)),
        start=z((d, 2)), corner=z((3, d), np.int64), chain=z((steps + 1, d, 2), np.int16),
        landed=z((LANDINGS, d, 2), np.int16), known=z((LANDINGS, 2), np.int64), reward=z((LANDINGS, 2)),
        counts=z(4, np.int64),
    )  # fmt: skip


# -- a cell followed ---------------------------------------------------------------------------------------------------


@apart
def lands_inside(inner: Inner, sets: Sets, at: int) -> bool:
    """Whether a set lies in the one beside the cells."""
    d, total = len(inner.middle), 0.0
    for i in range(d):
        middle, away, size = 0.0, 0.0, 0.0
        for j in range(d):
            row = inner.rows[i, j]
            middle += row * (sets.centre[at, j] - inner.middle[j])
            away += abs(row) * sets.rest[at, j]
            size += abs(row) * (abs(sets.centre[at, j]) + abs(inner.middle[j]))
        for k in range(sets.shape.shape[2]):
            symbol = 0.0
            for j in range(d):
                product = inner.rows[i, j] * sets.shape[at, j, k]
                symbol += product
                size += abs(product)
            away += abs(symbol)
        total += (abs(middle) + away * (1.0 + ROUND) + ROUND * size) ** 2
    return inner.within > 0.0 and total * (1.0 + 1e-12) <= inner.within * inner.within


@apart
def follow_cell(
    advance: Advance, loop: ClosedLoop, w: SetWork, t: Trail, start: Array, task: Journey, fine: CellGrid,
    coarse: CellGrid,
) -> bool:  # fmt: skip
    """Whether all sets that the box becomes land in known cells; where, stands in `t`.

    If not, `t.chain` has the cells of the set that went wrong and of those it comes from: while none of these are all
    known, it would go wrong again.
    """
    d, sets, flows = loop.variables, t.sets, loop.flow.substeps > 0
    begin(sets, start, 1.0)  # the sides of a cell are rounded
    t.age[0], t.gained[0, 0], t.gained[0, 1] = 0, 0.0, 0.0
    t.counts[0] = t.counts[1] = t.counts[2] = 0
    count = 1
    while count > 0:
        last = count - 1
        age, total, lowest = t.age[last], t.gained[last, 0], t.gained[last, 1]
        if age > 0:
            box_of(sets, last, t.box)
            for i in range(d if flows else 0):
                more = MARGIN * (t.box[i, 1] - t.box[i, 0])
                t.box[i, 0], t.box[i, 1] = t.box[i, 0] - more, t.box[i, 1] + more
            where, bound = NEITHER, -1
            if lands_inside(task.inner, sets, last):
                bound, where = 0, INNER
            elif touched(fine, t.box, t.corner):
                bound = largest(fine, t.corner)
                where = FINE if bound >= 0 else NEITHER
            if bound < 0:
                inside = touched(coarse, t.box, t.corner)
                for i in range(d):
                    t.chain[age, i, 0] = t.corner[0, i] if inside else -1
                    t.chain[age, i, 1] = t.corner[1, i]
                t.counts[1] = age
                bound = largest(coarse, t.corner) if inside else -1
                where = COARSE if bound >= 0 else NEITHER
            if where != NEITHER:
                if t.counts[0] >= LANDINGS:
                    return False
                at = t.counts[0]
                for i in range(d):
                    t.landed[at, i, 0], t.landed[at, i, 1] = t.corner[0, i], t.corner[1, i]
                t.known[at, 0], t.known[at, 1] = where, age
                t.reward[at, 0], t.reward[at, 1] = total, lowest
                t.counts[0] += 1
                count = last
                continue
        if age >= task.steps or t.counts[2] >= task.most:
            t.counts[3] = widest_symbol(sets, last, task.widest)
            return False
        came = advance(loop, w, sets, last)
        t.counts[2] += 1
        if came < 0:
            return False
        count = last
        for k in range(came):
            if not box_of(w.after, k, t.box):
                continue
            for i in range(d):
                low, high = t.box[i, 0], t.box[i, 1]
                if flows:
                    low, high = min(low, w.after.way[k, i, 0]), max(high, w.after.way[k, i, 1])
                if not (low >= task.limits[i, 0] and high <= task.limits[i, 1]):
                    return False
                if not t.box[i, 1] - t.box[i, 0] <= task.widest[i]:
                    t.counts[3] = widest_symbol(w.after, k, task.widest)
                    return False
            if w.after.over[k] != 0 or count >= STACKED - 1:
                return False
            copy_set(w.after, k, sets, count)
            # more than the rounding of two sums
            sum_ = total + (w.after.reward[k, 0] - task.pace)
            sum_ -= 1e-15 * (abs(total) + abs(w.after.reward[k, 0]) + abs(task.pace))
            t.age[count], t.gained[count, 0], t.gained[count, 1] = age + 1, sum_, min(lowest, sum_)
            count += 1
    return bool(t.counts[0] > 0)  # a cell without states is none


@inlined
def worth(t: Trail, task: Journey, fine: CellGrid, coarse: CellGrid) -> int:
    """The value of a cell that has landed, in units, rounded down: see proven_cells.py."""
    if task.unit == 0.0:
        return UNVALUED
    value = 0.0
    for at in range(t.counts[0]):
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
    advance: Advance, loop: ClosedLoop, w: SetWork, t: Trail, fine: CellGrid, coarse: CellGrid, corners: Array,
    sizes: Array, task: Journey, rows: Array, bounds: Array, axes: Array, chains: Array, lengths: Array,
) -> int:  # fmt: skip
    """These blocks, given by their first cells and sizes, in this order: those that arrive get a bound and a value.

    Returns how many arrived. Of the others, `chains` says which cells are to be known before another try is worth it.
    """
    d, arrived = loop.variables, 0
    for n in rows:
        for i in range(d):
            t.start[i, 0] = side(coarse, i, corners[n, i])
            t.start[i, 1] = side(coarse, i, corners[n, i] + sizes[n, i])
        if not follow_cell(advance, loop, w, t, t.start, task, fine, coarse):
            axes[n], lengths[n] = t.counts[3], t.counts[1]
            for step in range(t.counts[1]):
                for i in range(d):
                    chains[n, step, i, 0], chains[n, step, i, 1] = t.chain[step + 1, i, 0], t.chain[step + 1, i, 1]
            continue
        bound = 0
        for at in range(t.counts[0]):
            for i in range(d):
                t.corner[0, i], t.corner[1, i] = t.landed[at, i, 0], t.landed[at, i, 1]
            there = 0
            if t.known[at, 0] != INNER:
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
def stirred(
    cells: CellGrid, corner: Array, chains: Array, lengths: Array, bounds: Array, watched: Array, again: Array,
    near: Array,
) -> None:  # fmt: skip
    """Of blocks that have not arrived: whether all cells of a set on the way are known by now, or one in a corner.

    `watched`: of each set a cell that was not known, as long as it is not, nothing else needs to be looked at; -1: none
    was looked for. `near` stays true.
    """
    d = len(cells.low)
    for n in range(len(chains)):
        again[n] = False
        for step in range(lengths[n] if bounds[n] < 0 else 0):
            if chains[n, step, 0, 0] < 0 or (near[n] and watched[n, step] >= 0 and cells.bound[watched[n, step]] < 0):
                continue
            for i in range(d):
                corner[0, i], corner[1, i] = chains[n, step, i, 0], chains[n, step, i, 1]
            for which in range(2**d if not near[n] else 0):
                for i in range(d):
                    corner[2, i] = corner[(which >> i) & 1, i]
                near[n] |= cells.bound[number_of(cells, corner[2])] >= 0
            if watched[n, step] < 0 or cells.bound[watched[n, step]] >= 0:
                watched[n, step] = not_known(cells, corner)
                if watched[n, step] < 0:
                    again[n] = True
                    break
