"""Cells that stay, and their values: see proven_cells.py. S is what is left of all cells in the goal when those that do
not stay are taken away again and again."""

import time
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import kernel
from spaql.ground.progress import at_work
from spaql.proofs.cell_grid import SPARE, UNVALUED, CellGrid, cells_over, largest, least, no_cells, no_inner, side
from spaql.proofs.cell_kernels import Journey, Trail, follow_cell, trail_for
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.sets import SetWork, work_for
from spaql.proofs.steps_of_sets import Advance, advancing

FINE, FINE_CELLS = 100, 10_000  # cells along a side of the goal, and in all, at most
PACES = 12  # that are tried
SWEEPS = 300  # over all cells that stay, for their values
STAY_STEPS = 12  # that a cell of the goal is followed
MOST_SETS = 400  # steps of sets for one cell


class StayingCells(NamedTuple):
    """Cells that stay."""

    cells: CellGrid  # bound 0: those of S
    pace: float
    unit: float  # of values; 0: there are none


@kernel
def stay(
    advance: Advance, loop: ClosedLoop, w: SetWork, t: Trail, grid: CellGrid, none: CellGrid, cells: Array,
    task: Journey, ways: Array, begins: Array, used: int,
) -> int:  # fmt: skip
    """Tries these cells once; those that do not stay get the bound -1, the others have where they land in `ways`.

    Rows of `ways`: first and last cells, steps, gained, least. Returns how many rows are used, or -1: too many.
    """
    d = len(grid.low)
    for n in range(len(cells)):
        cell = rest = cells[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            t.start[i, 0], t.start[i, 1] = side(grid, i, at), side(grid, i, at + 1)
        begins[cell, 0] = begins[cell, 1] = used
        if not follow_cell(advance, loop, w, t, t.start, task, grid, none):
            grid.bound[cell] = -1
            continue
        if used + t.counts[0] > len(ways):
            return -1
        for at in range(t.counts[0]):
            for i in range(d):
                ways[used, 2 * i], ways[used, 2 * i + 1] = t.landed[at, i, 0], t.landed[at, i, 1]
            ways[used, 2 * d] = t.known[at, 1]
            ways[used, 2 * d + 1], ways[used, 2 * d + 2] = t.reward[at, 0], t.reward[at, 1]
            used += 1
        begins[cell, 1] = used
    return used


@kernel
def broken(grid: CellGrid, corner: Array, cells: Array, ways: Array, begins: Array, again: Array) -> None:
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
    grid: CellGrid, corner: Array, cells: Array, ways: Array, begins: Array, pace: float, unit: float, sweeps: int
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


def kept(loop: ClosedLoop, goal: Array, steps: int, scale: float, seconds: float) -> StayingCells:
    """S: the cells of the goal that are never left. Those that landed in cells that went are tried again, until none
    goes. Then their values, for returns of so many steps, of which one is about -`scale`."""
    d = loop.states
    side = min(FINE, round(FINE_CELLS ** (1.0 / d)))
    grid = cells_over(goal, np.full(d, side), more=-1e-9)  # every cell is inside of the goal
    if not (grid.step > 0.0).all():  # the goal has no inside
        return StayingCells(grid, 0.0, 0.0)
    grid.bound[:] = 0
    task = Journey(STAY_STEPS, goal, np.full(d, np.inf), MOST_SETS, 0.0, 0.0, no_inner(d))
    w, t, corner, none = work_for(loop), trail_for(loop, STAY_STEPS), np.zeros((3, d), np.int64), no_cells(d)
    ways, begins, used = np.zeros((16 * len(grid.bound), 2 * d + 3)), np.zeros((len(grid.bound), 2), np.int64), 0
    again = np.arange(len(grid.bound))
    advance = advancing(loop, w)
    stay(advance, loop, w, t, grid, none, again[:0], task, ways, begins, 0)  # compiling does not count
    began = time.process_time()
    while len(again) > 0:
        for some in np.array_split(again, max(1, len(again) // 1000)):
            at_work("taking away cells that do not stay", float((grid.bound < 0).mean()))
            late = time.process_time() - began > seconds
            used = -1 if late else stay(advance, loop, w, t, grid, none, some, task, ways, begins, used)
            if used < 0:
                grid.bound[:] = -1
                return StayingCells(grid, 0.0, 0.0)
        left = np.flatnonzero(grid.bound >= 0)
        gone = np.zeros(len(left), bool)
        broken(grid, corner, left, ways, begins, gone)
        again = left[gone]
    left = np.flatnonzero(grid.bound >= 0)
    return _valued(grid, left, ways, begins, steps, scale)


def _valued(grid: CellGrid, left: Array, ways: Array, begins: Array, steps: int, scale: float) -> StayingCells:
    """With the pace for which the worst return of so many steps is highest, of those tried: between the worst reward
    of a step and the best one."""
    d, best, chosen = len(grid.low), -np.inf, StayingCells(grid, 0.0, 0.0)
    rows = np.concatenate([np.arange(*begins[cell]) for cell in left.tolist()]) if len(left) else np.zeros(0, int)
    rates = ways[rows, 2 * d + 1] / ways[rows, 2 * d]
    if len(rates) == 0 or not np.isfinite(rates).all():
        return chosen
    top, bottom = rates.max().item(), rates.min().item()
    for pace in (top - (top - bottom) * 2.0 ** (np.arange(PACES) - PACES + 1)).tolist():
        unit = (scale + steps * (abs(pace) + abs(bottom))) / -UNVALUED
        grid.value[left] = 0
        corner = np.zeros((3, d), np.int64)
        if unit > 0.0 and settle(grid, corner, left, ways, begins, pace, unit, SWEEPS):
            worst = steps * pace + float(grid.value[left].mean()) * unit
            if worst > best:
                best, chosen = worst, StayingCells(grid._replace(value=grid.value.copy()), pace, unit)
    return chosen
