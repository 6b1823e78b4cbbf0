"""Two theorems about cells: a set of them that is never left, and the number of steps after which
it is reached.

    stay    every cell of a set S, followed for 1 ... k steps within the goal, ends up in cells of
    S. So from S the goal is
            kept for ever: by induction over the steps.
    reach   a cell has the bound n if, followed for 1 ... k steps, each of its sets ends up, after t
    steps, in S or in
            cells with bounds of at most n - t. So S is reached after at most n steps: by induction
            over n.

Neither depends on how S and the bounds were found. S is what is left of all cells in the goal when
those that do not stay are taken away again and again. Cells are tried in the order in which a
simulation of their centres arrives.
"""

import base64
import time
import zlib
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.proofs.cell_kernels import LONGEST, arrivals, induct, stay
from spaql.proofs.followed import Following, Grid, no_grid, stack_for
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.sets import work_for

FINE = 200  # cells along a side of the goal
COARSE = 256  # along a side of the states, before cells are cut
LEVELS = 3  # how often cells are cut in halves along every side
STAY_STEPS, REACH_STEPS = 12, 12  # that a cell is followed
SIMULATED = 2000  # states that tell where the loop goes
GOAL_PART = (
    0.1  # of where a variable goes: half the width of the goal in variables that it does not name
)
MOST_SETS = 400  # steps of sets for one cell


# -- the search --------------------------------------------------------------------------------------------------------


class Reached(NamedTuple):
    """What came of it."""

    fine: Grid  # bound 0: the cells of S
    coarse: Grid  # bounds, -1 where nothing is known
    levels: Array  # of every cell: the size of the block it was proven in


def grid_over(box: Array, cells: Array, more: float = 1e-9) -> Grid:
    """Cells over a box and a little more, so that rounding does not lead out of it; or less."""
    low, high = box[:, 0], box[:, 1]
    margin = more * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-3)
    shape = np.asarray(cells, np.int64)
    step = (high - low + 2.0 * margin) / shape
    return Grid(low - margin, step, shape, np.full(int(np.prod(shape)), -1, np.int32))


def kept(loop: ClosedLoop, goal: Array, seconds: float) -> Grid:
    """S: the cells of the goal that are never left. Those beside cells that went are tried again,
    until none goes."""
    d = loop.states
    grid = grid_over(goal, np.full(d, FINE), more=-1e-9)  # every cell is inside of the goal
    grid.bound[:] = 0
    task = Following(
        STAY_STEPS, goal, np.full(d, np.inf), True, False, True, MOST_SETS
    )
    w, st, box, none = work_for(loop), stack_for(loop), np.zeros((d, 2)), no_grid(d)
    again, untouched = np.arange(len(grid.bound)), np.zeros(len(grid.bound), np.int8)
    stay(loop, w, st, grid, none, again[:0], task, untouched, box)  # compiling costs none of the seconds
    began = time.process_time()
    while len(again) > 0:
        at_work("taking away cells that do not stay", float((grid.bound < 0).mean()))
        touched = np.zeros(len(grid.bound), np.int8)
        if time.process_time() - began > seconds:
            grid.bound[:] = -1
            return grid
        if stay(loop, w, st, grid, none, again, task, touched, box) == 0:
            if len(again) == (grid.bound >= 0).sum():
                return grid
            again = np.flatnonzero(grid.bound >= 0)  # all once more: the last word
            continue
        again = np.flatnonzero(grid.bound >= 0) if len(again) > 1000 else _near(grid, touched)
    return grid


def _near(grid: Grid, touched: Array) -> Array:
    """Cells in S within three cells of one that went."""
    shape = tuple(grid.shape.tolist())
    near = touched.reshape(shape).astype(bool)
    for axis in range(len(shape)):
        for _ in range(3):
            near = near | np.roll(near, 1, axis) | np.roll(near, -1, axis)
    return np.flatnonzero(near.reshape(-1) & (grid.bound >= 0))


def reached(loop: ClosedLoop, fine: Grid, region: Array, limits: Array, seconds: float) -> Reached:
    """Bounds of cells, in passes: blocks of cells first, then their halves, each in the order of
    simulated arrival."""
    d = loop.states
    parts = 2 ** (LEVELS - 1)
    grid = grid_over(region, np.full(d, COARSE * parts))
    levels = np.zeros(len(grid.bound), np.int32)
    w, st, box = work_for(loop), stack_for(loop), np.zeros((d, 2))
    widest = (region[:, 1] - region[:, 0]) / 5.0
    none = np.zeros(0, np.int64)
    task = Following(REACH_STEPS, limits, widest, True, False, True, MOST_SETS)
    induct(loop, w, st, fine, grid, none, parts, task, box, none)  # compiling costs none of the seconds
    began = time.process_time()
    for level in range(LEVELS):
        size = parts >> level
        for _ in range(3):
            firsts = _first_cells(grid, size)
            open_ = firsts[grid.bound[firsts] < 0]
            states = _centres(grid, open_, size)
            steps = np.zeros(len(open_), np.int64)
            arrivals(loop, w, fine, states, steps, np.zeros(d), np.zeros(d))
            order = np.argsort(steps, kind="stable")
            open_ = open_[order][steps[order] < LONGEST]
            arrived = 0
            for some in np.array_split(open_, max(1, len(open_) // 2000)):
                at_work("proving cell by cell", float((grid.bound >= 0).mean()))
                if time.process_time() - began > seconds:
                    return Reached(fine, grid, levels)
                worst = np.full(len(some), -1, np.int64)
                task = Following(
                    REACH_STEPS * (1 + level), limits, widest, True, False, True, MOST_SETS
                )
                arrived += induct(loop, w, st, fine, grid, some, size, task, box, worst)
                levels[some[worst >= 0]] = size
            if arrived < 0.02 * len(open_):
                break
    return Reached(fine, grid, levels)


def _first_cells(grid: Grid, size: int) -> Array:
    """The first cell of every block."""
    axes = [np.arange(0, count, size) for count in grid.shape.tolist()]
    return np.ravel_multi_index(
        tuple(part.ravel() for part in np.meshgrid(*axes, indexing="ij")), tuple(grid.shape)
    )


def _centres(grid: Grid, firsts: Array, size: int) -> Array:
    places = np.stack(np.unravel_index(firsts, tuple(grid.shape.tolist())), axis=1)
    centres: Array = grid.low + (places + 0.5 * size) * grid.step
    return centres


def surroundings(loop: ClosedLoop, start: Array, goal: Array) -> tuple[Array, Array]:
    """(where the states go, the goal with bounds for variables that it does not name), by
    simulation.

    Only to choose cells: states that go elsewhere leave the grid, and are open.
    """
    states = (
        start[:, 0]
        + np.random.default_rng(0).random((SIMULATED, loop.states)) * np.diff(start, axis=1)[:, 0]
    )
    low, high = start[:, 0].copy(), start[:, 1].copy()
    steps = np.zeros(len(states), np.int64)
    arrivals(loop, work_for(loop), no_grid(loop.states), states, steps, low, high)
    around = 0.01 * (high - low) * [(low < start[:, 0]), (high > start[:, 1])]
    region = np.stack([low - around[0], high + around[1]], axis=1)
    inside = ((states >= goal[:, 0]) & (states <= goal[:, 1])).all(axis=1)
    middle = np.median(states[inside], axis=0) if inside.any() else region.mean(axis=1)
    half = GOAL_PART * (high - low)
    free = np.stack([middle - half, middle + half], axis=1)
    return region, np.where(np.isfinite(goal), goal, free)


def open_boxes(grid: Grid, start: Array) -> list[Array]:
    """Cells of the start without a bound, joined along the last variable."""
    unknown = (grid.bound < 0).reshape(tuple(grid.shape.tolist()))
    first = np.maximum(np.floor((start[:, 0] - grid.low) / grid.step).astype(int), 0)
    last = np.minimum(np.floor((start[:, 1] - grid.low) / grid.step).astype(int), grid.shape - 1)
    boxes = []
    for row in np.ndindex(*(last - first + 1)[:-1].tolist()):
        place = tuple((first[:-1] + row).tolist())
        line = np.concatenate([[False], unknown[place][first[-1] : last[-1] + 1], [False]])
        ends = np.flatnonzero(line[1:] != line[:-1]).reshape(-1, 2) + first[-1]
        for begin, end in ends:
            low = grid.low + np.array([*place, begin]) * grid.step
            high = grid.low + np.array([*(at + 1 for at in place), end]) * grid.step
            boxes.append(
                np.stack([np.maximum(low, start[:, 0]), np.minimum(high, start[:, 1])], axis=1)
            )
    return boxes


def packed(numbers: Array) -> str:
    """Whole numbers of 16 bits, as text."""
    return base64.b64encode(zlib.compress(numbers.astype("<i2").tobytes(), 9)).decode()


def evidence_of(cells: Reached) -> dict[str, Any]:
    """As the certificate has it."""
    grids = {
        name: {
            "low": grid.low.tolist(),
            "step": grid.step.tolist(),
            "shape": grid.shape.tolist(),
            "bound": packed(grid.bound),
        }
        for name, grid in (("stay", cells.fine), ("reach", cells.coarse))
    }
    steps = {"stay_steps": STAY_STEPS, "reach_steps": REACH_STEPS * LEVELS}
    return {"kind": "cells", **grids, "level": packed(cells.levels), **steps}
