"""Two theorems about cells: a set of them that is never left, and the number of steps after which it is reached.

    stay    every cell of a set S, followed for 1 ... k steps within the goal, ends up in cells of S. So from S the goal is
            kept for ever: by induction over the steps.
    reach   a cell has the bound n if, followed for 1 ... k steps, each of its sets ends up, after t steps, in S or in
            cells with bounds of at most n - t. So S is reached after at most n steps: by induction over n.

Neither depends on how S and the bounds were found. S is what is left of all cells in the goal when those that do not stay
are taken away again and again. Cells are tried in the order in which a simulation of their centres arrives.
"""

import base64
import time
import zlib
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.ground.progress import at_work
from spaql.proofs.followed import DONE, Grid, Stack, Task, follow, no_grid, stack_for
from spaql.proofs.machine import run
from spaql.proofs.model import ClosedLoop
from spaql.proofs.sets import Work, work_for

FINE = 200  # cells along a side of the goal
COARSE = 256  # along a side of the states, before cells are cut
LEVELS = 3  # how often cells are cut in halves along every side
STAY_STEPS, REACH_STEPS = 12, 12  # that a cell is followed
LONGEST = 400  # steps of the simulation that tells in which order cells are tried
SIMULATED = 2000  # states that tell where the loop goes
GOAL_PART = (
    0.1  # of where a variable goes: half the width of the goal in variables that it does not name
)
MOST_SETS = 400  # steps of sets for one cell


@kernel
def stay(
    loop: ClosedLoop,
    w: Work,
    st: Stack,
    grid: Grid,
    other: Grid,
    cells: Array,
    task: Task,
    touched: Array,
    box: Array,
) -> int:
    """Tries cells of the grid once; those that do not stay get the bound -1. Returns how many went."""
    d, gone = loop.states, 0
    for n in range(len(cells)):
        cell = rest = cells[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            box[i, 0], box[i, 1] = _side(grid, i, at), _side(grid, i, at + 1)
        if follow(loop, w, st, box, task, grid, other) != DONE:
            grid.bound[cell] = -1
            touched[cell] = 1
            gone += 1
    return gone


@kernel
def induct(
    loop: ClosedLoop,
    w: Work,
    st: Stack,
    fine: Grid,
    grid: Grid,
    blocks: Array,
    size: int,
    task: Task,
    box: Array,
    worst: Array,
) -> int:
    """Tries blocks of size^d cells, given by their first cells, in this order. Those that arrive get their bound.

    Returns how many blocks arrived; `worst` becomes their bounds, or -1.
    """
    d, arrived = loop.states, 0
    for n in range(len(blocks)):
        rest = blocks[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            box[i, 0], box[i, 1] = _side(grid, i, at), _side(grid, i, at + size)
            st.corner[0, i], st.corner[1, i], st.corner[2, i] = at, at + size - 1, at
        worst[n] = -1
        if follow(loop, w, st, box, task, fine, grid) != DONE:
            continue
        worst[n] = int(st.answer[0])
        arrived += 1
        rest = blocks[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            st.corner[0, i], st.corner[1, i], st.corner[2, i] = at, at + size - 1, at
        while True:
            cell = 0
            for i in range(d):
                cell = cell * grid.shape[i] + st.corner[2, i]
            grid.bound[cell] = worst[n]
            i = d - 1
            while i >= 0:
                st.corner[2, i] += 1
                if st.corner[2, i] <= st.corner[1, i]:
                    break
                st.corner[2, i] = st.corner[0, i]
                i -= 1
            if i < 0:
                break
    return arrived


@inlined
def _side(grid: Grid, i: int, at: int) -> float:
    """Where cell number `at` begins along variable i: the same number for the cell before, which ends there."""
    side: float = grid.low[i] + at * grid.step[i]
    return side


@kernel
def arrivals(
    loop: ClosedLoop,
    w: Work,
    fine: Grid,
    states: Array,
    steps: Array,
    lowest: Array,
    highest: Array,
) -> None:
    """By simulation in the middle of ranges: after how many steps a state is in a known cell of `fine`.

    `states` become the last ones, `lowest` and `highest` go around all of them.
    """
    d, m = loop.states, loop.actions
    for n in range(len(states)):
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = states[n, i]
        steps[n] = LONGEST
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
            for i in range(d):
                w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
        for i in range(d):
            states[n, i] = w.shrunk[i, 0]


@apart
def _act(loop: ClosedLoop, w: Work) -> None:
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


# -- the search --------------------------------------------------------------------------------------------------------


class Reached(NamedTuple):
    """What came of it."""

    fine: Grid  # bound 0: the cells of S
    coarse: Grid  # bounds, -1 where nothing is known
    levels: Array  # of every cell: the size of the block it was proven in


def grid_over(box: Array, cells: Array) -> Grid:
    """Cells over a box and a little more, so that rounding does not lead out of it."""
    low, high = box[:, 0], box[:, 1]
    more = 1e-9 * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-3)
    shape = np.asarray(cells, np.int64)
    step = (high - low + 2.0 * more) / shape
    return Grid(low - more, step, shape, np.full(int(np.prod(shape)), -1, np.int32))


def kept(loop: ClosedLoop, goal: Array, seconds: float) -> Grid:
    """S: the cells of the goal that are never left. Those beside cells that went are tried again, until none goes."""
    began, d = time.process_time(), loop.states
    grid = grid_over(goal, np.full(d, FINE))
    # the grid reaches a little beyond the goal, which the task does not allow: outermost cells go first
    grid.bound[:] = 0
    task = Task(STAY_STEPS, goal, np.full(d, np.inf), False, False, True, MOST_SETS)
    w, st, box, none = work_for(loop), stack_for(loop), np.zeros((d, 2)), no_grid(d)
    again = np.arange(len(grid.bound))
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
    """Bounds of cells, in passes: blocks of cells first, then their halves, each in the order of simulated arrival."""
    began, d = time.process_time(), loop.states
    parts = 2 ** (LEVELS - 1)
    grid = grid_over(region, np.full(d, COARSE * parts))
    levels = np.zeros(len(grid.bound), np.int32)
    w, st, box = work_for(loop), stack_for(loop), np.zeros((d, 2))
    widest = (region[:, 1] - region[:, 0]) / 5.0
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
                task = Task(
                    REACH_STEPS * (1 + level), limits, widest, False, False, True, MOST_SETS
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
    return grid.low + (places + 0.5 * size) * grid.step


def surroundings(loop: ClosedLoop, start: Array, goal: Array) -> tuple[Array, Array]:
    """(where the states go, the goal with bounds for variables that it does not name), by simulation.

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
