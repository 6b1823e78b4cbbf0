"""Two theorems about cells: a set of them that is never left, and the number of steps after which it is reached; and
a third about returns.

    stay    every cell of a set S, followed for 1 ... k steps within the goal, ends up in cells of S. So from S the goal
            is kept for ever: by induction over the steps.
    reach   a cell has the bound n if, followed for 1 ... k steps, each of its sets ends up, after t steps, in S or in
            cells with bounds of at most n - t. So S is reached after at most n steps: by induction over n.
    return  numbers p, the pace, and W(c) <= 0 of every cell c, such that of each of its sets, with rewards r_1, r_2 ...
            on the way and ending up after t steps in cells c',

                r_1 + ... + r_s - s p  >=  W(c)          for s = 1 ... t                                        (1)
                r_1 + ... + r_t - t p + W(c')  >=  W(c)                                                         (2)

            So the return of N steps is at least N p + W(c), for every N: by (2) from landing to landing, and by (1)
            from the last landing before N on, because W of where it lies is at most 0 there.

None depends on how S, the bounds, p and W were chosen. S is what is left of all cells in the goal when those that do
not stay are taken away again and again. Blocks of cells are tried in the order in which a simulation of their centres
arrives. Of one that does not arrive is kept through which cells it went: only when one of these sets is known, another
try is worth it; and only where such a set touches what is known, its halves are.
"""

import base64
import math
import time
import zlib
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.proofs.cell_grid import LONGEST, UNVALUED, CellGrid, Inner, arrivals, cells_over, no_cells, no_inner
from spaql.proofs.cell_kernels import Journey, induct, stirred, trail_for
from spaql.proofs.contraction import Contraction
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.sets import work_for
from spaql.proofs.staying_cells import MOST_SETS, STAY_STEPS, StayingCells
from spaql.proofs.steps_of_sets import advancing

COARSE = 256  # blocks along a side of the states, before they are cut
BITS = 24  # of the number of cells, at most
HALVINGS = 4  # of a side of a block
REACH_STEPS = 40  # that a cell is followed
SIMULATED = 2000  # states that tell where the loop goes
WIDEST = 6  # blocks: sets that are wider are given up
GOAL_PART = 0.1  # of where a variable goes: half the width of the goal in variables that it does not name
WAITS = 10.0  # steps later than it arrives is a block cut, for each time that it was cut before
BATCH = 256  # blocks that are cut before others are tried again
ROOM = 5.0  # for returns that are worse than simulated ones
SHARES = 0.99, 0.9, 0.5  # of the starts, of which is told what they return at least


# -- the search --------------------------------------------------------------------------------------------------------


class Reached(NamedTuple):
    """What came of it."""

    kept: StayingCells
    inner: Inner
    coarse: CellGrid  # bounds, -1 where nothing is known
    corners: Array  # (blocks, states) of the proven ones
    sizes: Array  # (blocks, states)


class Blocks(NamedTuple):
    """Blocks that are tried, in the order in which a simulation of their centres arrives."""

    corners: Array  # (blocks, states) their first cells
    sizes: Array  # (blocks, states) in cells
    depth: Array  # how often each was cut
    arrival: Array
    bounds: Array  # of those that have arrived; -1: not yet; -2: cut
    axes: Array  # along which a cut helps
    chains: Array  # (blocks, steps, states, 2) int16: see `follow_cell`
    lengths: Array
    watched: Array  # (blocks, steps) and whether one touches what is known: see `stirred`
    near: Array

    def take(self, rows: Array) -> "Blocks":
        return Blocks(*(part[rows] for part in self))


class CellSearch(NamedTuple):
    """What the search for bounds works on."""

    loop: ClosedLoop
    kept: StayingCells
    cells: CellGrid
    met: CellGrid  # where simulations have been, with the steps they took from there
    task: Journey
    ends: float  # process time
    w: Any
    t: Any

    @property
    def late(self) -> bool:
        return time.process_time() > self.ends


def reached(
    loop: ClosedLoop, kept: StayingCells, inner: Inner, region: Array, limits: Array, seconds: float,
    blocks_along: int | None = None,
) -> Reached:  # fmt: skip
    """Bounds of cells: blocks first, and then their halves where it helps, early ones first."""
    size, d = 2**HALVINGS, len(region)
    cells = cells_over(region, np.full(d, min((blocks_along or COARSE) * size, 2 ** (BITS // d))))
    task = Journey(REACH_STEPS, limits, WIDEST * size * cells.step, MOST_SETS, kept.pace, kept.unit, inner)
    met = cells_over(region, cells.shape // size)
    search = CellSearch(loop, kept, cells, met, task, math.inf, work_for(loop), trail_for(loop, REACH_STEPS))
    nothing = np.zeros((0, d), np.int64)
    _try(search, _new(search, nothing, nothing, nothing[:, 0]), np.zeros(0, np.int64))  # compiling does not count
    search = search._replace(ends=time.process_time() + seconds)
    axes = np.meshgrid(*(np.arange(0, count, size) for count in cells.shape.tolist()), indexing="ij")
    corners = np.stack([part.ravel() for part in axes], axis=1)
    blocks = _new(search, corners, np.full_like(corners, size), np.zeros(len(corners), np.int64))
    _try(search, blocks, np.arange(len(blocks.depth)))
    arrived, more = [blocks.take(np.zeros(0, np.int64))], True
    while more and _try_again(search, blocks):
        arrived.append(blocks.take(np.flatnonzero(blocks.bounds >= 0)))
        blocks, more = _cut(search, blocks.take(np.flatnonzero(blocks.bounds < 0)))
    arrived.append(blocks.take(np.flatnonzero(blocks.bounds >= 0)))
    return Reached(kept, inner, cells, *(np.concatenate([part[at] for part in arrived]) for at in range(2)))


def _new(search: CellSearch, corners: Array, sizes: Array, depth: Array) -> Blocks:
    """Blocks that were not tried before; those from which no simulation arrives are left out."""
    loop, cells = search.loop, search.cells
    states = cells.low + (corners + 0.5 * sizes) * cells.step
    steps, unused = np.full(len(corners), LONGEST - 1), np.zeros((2, len(cells.low)))
    fine, met = (cells, no_cells(len(cells.low))) if depth.any() else (search.kept.cells, search.met)
    until = 0.5 * (time.process_time() + search.ends)  # what is not simulated by then is tried last
    for rows in np.array_split(np.arange(len(corners)), max(1, len(corners) // 1000)):
        if time.process_time() > until:
            break
        some, after = states[rows], steps[rows]
        arrivals(loop, search.w, fine, met, search.task.inner, some, after, np.zeros(len(rows)), *unused)
        steps[rows] = after
    order = np.argsort(steps, kind="stable")
    order = order[steps[order] < LONGEST]
    n = len(order)
    return Blocks(
        corners[order], sizes[order], depth[order], steps[order], np.full(n, -1, np.int64), np.zeros(n, np.int64),
        np.zeros((n, REACH_STEPS, len(cells.low), 2), np.int16), np.zeros(n, np.int64),
        np.full((n, REACH_STEPS), -1, np.int32), np.zeros(n, bool),
    )  # fmt: skip


def _try(search: CellSearch, blocks: Blocks, rows: Array) -> int:
    """These rows; how many have arrived."""
    b, arrived = blocks, 0
    b.watched[rows], b.near[rows] = -1, False
    for part in np.array_split(rows, max(1, len(rows) // 1000)):
        if search.late:
            return arrived
        at_work("proving cell by cell", float((search.cells.bound[::97] >= 0).mean()))
        arrived += induct(
            advancing(search.loop, search.w), search.loop, search.w, search.t, search.kept.cells, search.cells,
            b.corners, b.sizes, search.task, part, b.bounds, b.axes, b.chains, b.lengths,
        )  # fmt: skip
    return arrived


def _try_again(search: CellSearch, blocks: Blocks) -> bool:
    """All blocks of which a set on the way is known by now, until there are none; False if it is too late."""
    arrived = 1
    while arrived > 0 and not search.late:
        arrived = _try(search, blocks, np.flatnonzero(_stirred(search, blocks)))
    return not search.late


def _stirred(search: CellSearch, b: Blocks) -> Array:
    again = np.zeros(len(b.depth), bool)
    stirred(search.cells, search.t.corner, b.chains, b.lengths, b.bounds, b.watched, again, b.near)
    return again


def _cut(search: CellSearch, blocks: Blocks) -> tuple[Blocks, bool]:
    """The earliest blocks that touch what is known, in halves; False if there are none.

    Where many others go through they are cut as often as it takes; one that was cut often waits, as it may lie where
    two ways part.
    """
    rows = np.flatnonzero(blocks.near & (blocks.depth < HALVINGS * len(search.cells.low)))
    rows = rows[np.argsort(blocks.arrival[rows] + WAITS * blocks.depth[rows], kind="stable")]
    rows = rows[: max(BATCH, len(rows) // 8)]
    if len(rows) == 0:
        return blocks, False
    axes, every = blocks.axes[rows], np.arange(len(rows))
    axes = np.where(blocks.sizes[rows, axes] > 1, axes, blocks.sizes[rows].argmax(axis=1))
    sizes, corners = blocks.sizes[rows].copy(), blocks.corners[rows]
    sizes[every, axes] //= 2
    others = corners.copy()
    others[every, axes] += sizes[every, axes]
    blocks.bounds[rows] = -2
    depth = np.tile(blocks.depth[rows] + 1, 2)
    halves = _new(search, np.concatenate([corners, others]), np.concatenate([sizes, sizes]), depth)
    _try(search, halves, np.arange(len(halves.depth)))
    blocks = blocks.take(np.flatnonzero(blocks.bounds != -2))
    return Blocks(*(np.concatenate(pair) for pair in zip(blocks, halves, strict=True))), True


def surroundings(loop: ClosedLoop, start: Array, goal: Array, inner: Inner | None = None) -> tuple[Array, Array, float]:
    """(where the states go, the goal with bounds for variables that it does not name, how large a return is), by
    simulation.

    Only to choose cells: states that go elsewhere leave the grid, and are open.
    """
    d = len(start)
    states = start[:, 0] + np.random.default_rng(0).random((SIMULATED, d)) * np.diff(start, axis=1)[:, 0]
    low, high = start[:, 0].copy(), start[:, 1].copy()
    steps, rewards = np.zeros(len(states), np.int64), np.zeros(len(states))
    if inner is not None:  # of those alone that come there
        w, around = work_for(loop), (low.copy(), high.copy())
        arrivals(loop, w, no_cells(d), no_cells(d), inner, states.copy(), steps, rewards, *around)
        states, steps, rewards = states[steps < LONGEST], steps[steps < LONGEST], rewards[steps < LONGEST]
    inner = no_inner(d) if inner is None else inner
    arrivals(loop, work_for(loop), no_cells(d), no_cells(d), inner, states, steps, rewards, low, high)
    more = 0.01 * (high - low) * [(low < start[:, 0]), (high > start[:, 1])]
    region = np.stack([low - more[0], high + more[1]], axis=1)
    inside = ((states >= goal[:, 0]) & (states <= goal[:, 1])).all(axis=1)
    middle = np.median(states[inside], axis=0) if inside.any() else region.mean(axis=1)
    half = GOAL_PART * (high - low)
    free = np.stack([middle - half, middle + half], axis=1)
    return region, np.where(np.isfinite(goal), goal, free), ROOM * float(np.abs(rewards).max())


def packed(numbers: Array) -> str:
    """Whole numbers of 16 bits, as text."""
    return base64.b64encode(zlib.compress(numbers.astype("<i2").tobytes(), 9)).decode()


def evidence_of(search: Reached) -> dict[str, Any]:
    """As the certificate has it."""
    stays, steps = search.kept.cells, {"stay_steps": STAY_STEPS} | _blocks_of(search)
    steps["stay"] = _grid_of(stays) | {"bound": packed(stays.bound), "value": packed(stays.value)}
    steps["reach"]["value"] = packed(_of_blocks(search, search.coarse.value))
    return {"kind": "cells", **steps, "pace": search.kept.pace, "unit": search.kept.unit}


def attraction_evidence(search: Reached, loop: ClosedLoop, held: Contraction) -> dict[str, Any]:
    """Of a differential equation."""
    parts = {"substeps": loop.flow.substeps, "centre": held.centre.tolist(), "sides": held.sides.tolist()}
    return {"kind": "attraction", **parts, **_blocks_of(search)}


def _grid_of(cells: CellGrid) -> dict[str, Any]:
    return {"low": cells.low.tolist(), "step": cells.step.tolist(), "shape": cells.shape.tolist()}


def _of_blocks(search: Reached, numbers: Array) -> Array:
    return np.asarray(numbers.reshape(tuple(search.coarse.shape.tolist()))[tuple(search.corners.T)])


def _blocks_of(search: Reached) -> dict[str, Any]:
    reach = _grid_of(search.coarse) | {"corner": packed(search.corners), "size": packed(search.sizes)}
    reach["bound"] = packed(_of_blocks(search, search.coarse.bound))
    return {"reach": reach, "reach_steps": REACH_STEPS, "blocks": len(search.sizes)}


def sooner(search: Reached, most: float) -> Reached:
    """Without the cells that may take longer; none of the others goes through them."""
    search.coarse.bound[search.coarse.bound > most] = -1
    rows = _of_blocks(search, search.coarse.bound) >= 0
    return search._replace(corners=search.corners[rows], sizes=search.sizes[rows])


def returns_of(search: Reached, start: Array, steps: int) -> tuple[float, tuple[tuple[float, float], ...]]:
    """(the return of so many steps, from the proven starts, is never less; the same from some shares of the starts);
    (NaN, none) where it is not known."""
    grid, parts = search.coarse, []
    for (low, high), first, step, count in zip(start, grid.low, grid.step, grid.shape, strict=True):
        sides = first + np.arange(count + 1) * step
        inside = np.minimum(sides[1:], high) - np.maximum(sides[:-1], low)
        near = inside >= -1e-6 * step  # a start on a side is in the cells before and after it
        share = np.maximum(inside, 0.0) / (high - low) if high > low else near / near.sum()
        parts.append(np.where(near, share, -1.0))
    known = grid.bound.reshape(tuple(grid.shape.tolist())) >= 0
    weight, touched = np.ones(()), np.ones((), bool)
    for part in parts:
        weight, touched = weight[..., None] * np.maximum(part, 0.0), touched[..., None] & (part >= 0.0)
    at = (known & touched).ravel()
    values = grid.value[at].astype(int)
    if search.kept.unit == 0.0 or len(values) == 0 or values.min() == UNVALUED:
        return float("nan"), ()

    def bound_of(value: float) -> float:
        total = steps * search.kept.pace + value * search.kept.unit
        return total - 1e-9 * (abs(total) - UNVALUED * search.kept.unit)  # what sums lose, those of the checker too

    by_value = np.bincount(-values, np.broadcast_to(weight, known.shape).ravel()[at])  # the best value first
    reached, shares = np.cumsum(by_value), []
    for share in SHARES:
        if reached[-1] > share + 1e-9:
            shares.append((share, bound_of(-float(np.argmax(reached > share + 1e-9)))))
    return bound_of(float(values.min())), tuple(shares)
