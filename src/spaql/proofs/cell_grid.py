"""Cells over a box: which a set touches, and what is known of them.

A cell has a bound of steps and a value, whole numbers of 16 bits; a bound below zero: nothing is known. What they mean
stands in proven_cells.py.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined

EDGE = 1e-7  # of a cell: a state so near to its side counts as in both cells; more than in the checker
SPARE = 1e-3  # of a unit of values, for the checker's rounding, which is another one
UNVALUED = -32768  # of a cell: its value is not known


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
