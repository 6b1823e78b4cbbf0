"""Cells over a box: which a set touches, and what is known of them.

A cell has a bound of steps and a value, whole numbers of 16 bits; a bound below zero: nothing is known. What they mean
stands in proven_cells.py.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.proofs.flow_model import POLYNOMIAL
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import run
from spaql.proofs.sets import SetWork

EDGE = 1e-7  # of a cell: a state so near to its side counts as in both cells; more than in the checker
SPARE = 1e-3  # of a unit of values, for the checker's rounding, which is another one
UNVALUED = -32768  # of a cell: its value is not known
LONGEST = 400  # steps of the simulation that tells in which order cells are tried


class CellGrid(NamedTuple):
    """A grid over a box, counted with the last variable first."""

    low: Array  # (states,)
    step: Array
    shape: Array
    bound: Array  # (cells,) int16: steps after which the state is where it is to be; below 0: not known
    value: Array  # (cells,) int16, in units: the return beyond that of so many steps is never less


class Inner(NamedTuple):
    """A set beside the cells, { x : |rows (x - middle)| <= within }: see contraction.py."""

    middle: Array  # (states,)
    rows: Array  # (states, states)
    within: float  # below zero: there is none


def no_inner(states: int) -> Inner:
    return Inner(np.zeros(states), np.zeros((states, states)), -1.0)


def no_cells(states: int) -> CellGrid:
    return CellGrid(
        np.zeros(states), np.ones(states), np.ones(states, np.int64), np.full(1, -1, np.int16), np.zeros(1, np.int16)
    )  # fmt: skip


def cells_over(box: Array, count: Array, more: float = 1e-9) -> CellGrid:
    """Cells over a box and a little more, so that rounding does not lead out of it; or less."""
    low, high = box[:, 0], box[:, 1]
    margin = more * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-3)
    shape = np.asarray(count, np.int64)
    step, cells = (high - low + 2.0 * margin) / shape, int(np.prod(shape))
    return CellGrid(low - margin, step, shape, np.full(cells, -1, np.int16), np.full(cells, UNVALUED, np.int16))


@inlined
def touched(cells: CellGrid, box: Array, corner: Array) -> bool:
    """First and last of the cells that a box touches; False if it leaves the grid."""
    inside = True
    for i in range(len(cells.low)):
        first = np.floor((box[i, 0] - cells.low[i]) / cells.step[i] - EDGE)
        last = np.floor((box[i, 1] - cells.low[i]) / cells.step[i] + EDGE)
        inside &= (first >= 0.0) & (last < cells.shape[i])
        corner[0, i] = int(min(max(first, 0.0), cells.shape[i] - 1.0))
        corner[1, i] = int(min(max(last, 0.0), cells.shape[i] - 1.0))
    return inside


@apart
def place_in(cells: CellGrid, state: Array) -> int:
    """The cell in which a state is, of which the bounds stand in two columns; -1: in none."""
    cell = 0
    for i in range(len(cells.low)):
        at = np.floor((state[i, 0] - cells.low[i]) / cells.step[i])
        if not (at >= 0.0 and at < cells.shape[i]):
            return -1
        cell = cell * cells.shape[i] + int(at)
    return cell


@inlined
def number_of(cells: CellGrid, place: Array) -> int:
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
def not_known(cells: CellGrid, corner: Array) -> int:
    """A cell from first to last without a bound; -1: there is none. Those in the corners first."""
    d = len(cells.low)
    for which in range(2**d):
        for i in range(d):
            corner[2, i] = corner[(which >> i) & 1, i]
        cell = number_of(cells, corner[2])
        if cells.bound[cell] < 0:
            return cell
    for i in range(d):
        corner[2, i] = corner[0, i]
    while True:
        cell = number_of(cells, corner[2])
        if cells.bound[cell] < 0:
            return cell
        if not following(corner):
            return -1


@apart
def largest(cells: CellGrid, corner: Array) -> int:
    """The largest bound of the cells from first to last; -1 if one is not known."""
    if not_known(cells, corner) >= 0:
        return -1
    bound = 0
    for i in range(len(cells.low)):
        corner[2, i] = corner[0, i]
    while True:
        bound = max(bound, int(cells.bound[number_of(cells, corner[2])]))
        if not following(corner):
            return bound


@apart
def least(cells: CellGrid, corner: Array) -> int:
    """The least value of the cells from first to last."""
    value = 0
    for i in range(len(cells.low)):
        corner[2, i] = corner[0, i]
    while True:
        value = min(value, int(cells.value[number_of(cells, corner[2])]))
        if not following(corner):
            return value


@apart
def paint(cells: CellGrid, corner: Array, bound: int, value: int) -> None:
    for i in range(len(cells.low)):
        corner[2, i] = corner[0, i]
    while True:
        cell = number_of(cells, corner[2])
        cells.bound[cell], cells.value[cell] = bound, value
        if not following(corner):
            return


@inlined
def side(cells: CellGrid, i: int, at: int) -> float:
    """Where cell number `at` begins along variable i: the same number for the cell before, which ends there."""
    end: float = cells.low[i] + at * cells.step[i]
    return end


# -- what is open ----------------------------------------------------------------------------------------------------


def open_boxes(grid: CellGrid, start: Array) -> list[Array]:
    """Cells of the start without a bound, joined along the last variable."""
    unknown = (grid.bound < 0).reshape(tuple(grid.shape.tolist()))
    sides = [low + np.arange(n + 1) * step for low, n, step in zip(grid.low, grid.shape, grid.step, strict=True)]
    # a start on a side is in the cells before and after it
    touched = [np.flatnonzero((s[1:] >= a) & (s[:-1] <= b)) for s, (a, b) in zip(sides, start, strict=True)]
    first, last = (np.array([cells[end] for cells in touched]) for end in (0, -1))
    boxes = []
    for row in np.ndindex(*(last - first + 1)[:-1].tolist()):
        place = tuple((first[:-1] + row).tolist())
        line = np.concatenate([[False], unknown[place][first[-1] : last[-1] + 1], [False]])
        ends = np.flatnonzero(line[1:] != line[:-1]).reshape(-1, 2) + first[-1]
        for begin, end in ends:
            low = grid.low + np.array([*place, begin]) * grid.step
            high = grid.low + np.array([*(at + 1 for at in place), end]) * grid.step
            boxes.append(np.clip(np.stack([low, high], axis=1), start[:, :1], start[:, 1:]))
    return boxes


def share_without(unknown: list[Array], start: Array) -> float:
    """Of the volume of the starts, what is not open."""
    width = np.diff(start, axis=1)[:, 0]
    wide = width > 0.0
    sides = np.diff(np.array(unknown).reshape(-1, *start.shape), axis=2)[:, wide, 0]
    lost = float((sides / width[wide]).prod(axis=1).sum())
    return max(0.0, 1.0 - lost * (1.0 + 1e-9)) if unknown else 1.0


# -- by simulation -----------------------------------------------------------------------------------------------------


@kernel
def arrivals(
    loop: ClosedLoop, w: SetWork, fine: CellGrid, met: CellGrid, inner: Inner, states: Array, steps: Array,
    rewards: Array, lowest: Array, highest: Array,
) -> None:  # fmt: skip
    """After how many steps a state, in the middle of ranges, is in a known cell of `fine` or in the set beside them.

    One that comes to a cell of `met` where others have begun ends there, as it goes on nearly as they do. `states`
    become the last ones, `rewards` their sums, `lowest` and `highest` go around all of them.
    """
    d, m = loop.variables, loop.actions
    for n in range(len(states)):
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = states[n, i]
        steps[n], rewards[n], first = LONGEST, 0.0, -1
        for step in range(LONGEST):
            cell, near = place_in(fine, w.shrunk), 0.0
            for i in range(d):
                lowest[i], highest[i] = min(lowest[i], w.shrunk[i, 0]), max(highest[i], w.shrunk[i, 0])
            for i in range(d):
                along = 0.0
                for j in range(d):
                    along += inner.rows[i, j] * (w.shrunk[j, 0] - inner.middle[j])
                near += along * along
            if (cell >= 0 and fine.bound[cell] >= 0) or (inner.within > 0.0 and near < 0.5 * inner.within):
                steps[n] = step + (max(fine.bound[cell], 0) if cell >= 0 else 0)
                break
            cell = place_in(met, w.shrunk)
            if cell >= 0 and met.bound[cell] >= 0:
                steps[n] = min(step + met.bound[cell], LONGEST)
                break
            first = cell if step == 0 else first
            run(loop.tape, loop.begins[-2], loop.begins[-1], w.shrunk, False, False, w.r, w.out)
            for o in range(loop.seen):
                w.seen.middle[o, 0] = 0.5 * (w.out.box[o, 0] + w.out.box[o, 1])
            _act(loop, w)
            for q in range(m):
                w.shrunk[d + q, 0] = w.shrunk[d + q, 1] = w.applied[q, 0]
            if loop.flow.substeps > 0:
                _simulated(loop, w)
                continue
            for q in range(len(loop.noise)):
                w.shrunk[d + m + q, 0] = w.shrunk[d + m + q, 1] = 0.5
            for path in range(len(loop.begins) - 2):
                if run(loop.tape, loop.begins[path], loop.begins[path + 1], w.shrunk, False, True, w.r, w.out) > 0:
                    break
            rewards[n] += 0.5 * (w.out.box[d, 0] + w.out.box[d, 1])
            for i in range(d):
                w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
        for i in range(d):
            states[n, i] = w.shrunk[i, 0]
        if first >= 0:
            met.bound[first] = steps[n]


@apart
def _simulated(loop: ClosedLoop, w: SetWork) -> None:
    """A sample of a differential equation, from `w.shrunk` into it, without any rest."""
    begin, end, d = loop.flow.begins[POLYNOMIAL], loop.flow.begins[POLYNOMIAL + 1], loop.variables
    w.shrunk[loop.states, 0] = w.shrunk[loop.states, 1] = loop.flow.length[1]
    for _ in range(loop.flow.substeps):
        run(loop.tape, begin, end, w.shrunk, False, False, w.r, w.out)
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])


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
