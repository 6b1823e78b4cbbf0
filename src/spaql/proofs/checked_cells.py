"""The checker's theorems about start boxes that are followed, and about cells: see followed.py and
proven_cells.py."""

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.checked_sets import Many, box_of, many, reduced, spread_out, together
from spaql.proofs.checked_steps import stepped
from spaql.proofs.checker import CheckedLoop, RefusedError, array_of, covers, require

AT_ONCE = 4096  # boxes that are followed side by side
MOST_CELLS = 2**24
MOST_STEPS = 10_000
COLUMNS = 8  # noise symbols per variable, beside one each, of a start box that is followed
MOST_SETS = 200  # that a start box may be at a time
EDGE = 1e-9  # of a cell: a state so near to its side counts as in both cells


class CheckedCells(NamedTuple):
    """A grid with two numbers per cell: a bound, below zero where nothing is claimed, and a value."""

    low: Array
    step: Array
    bound: Array  # as many axes as there are variables
    value: Array
    unknown: Array  # how many cells before a corner have no bound: one place more along every axis

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bound.shape


NO_VALUE = -32768


def cells_of(low: Array, step: Array, bound: Array, value: Array) -> CheckedCells:
    """With the sums by which unknown cells in any window are counted."""
    unknown = np.zeros(np.array(bound.shape) + 1, np.int32)
    inner = unknown[(slice(1, None),) * bound.ndim]
    inner[:] = bound < 0
    for axis in range(bound.ndim):
        np.cumsum(inner, axis=axis, out=inner)
    return CheckedCells(low, step, bound, value, unknown)


def grid_of(evidence: Any, states: int) -> tuple[Array, Array, tuple[int, ...]]:
    """Low ends, steps and shape, from a certificate."""
    require(isinstance(evidence, Mapping), "the cells are missing")
    sizes = {"low": (states,), "step": (states,), "shape": (states,)}
    low, step, shape = (array_of(evidence, key, sizes) for key in sizes)
    require((step > 0.0) & (shape >= 1.0) & (shape == np.round(shape)), "the cells are damaged")
    require(np.prod(shape) <= MOST_CELLS, "there are too many cells")
    return low, step, tuple(int(count) for count in shape)


def unpacked(text: Any, count: int) -> Array:
    """Whole numbers of 16 bits."""
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), 2 * count + 1)
    except (TypeError, ValueError, zlib.error) as error:
        raise RefusedError("its cells are damaged") from error
    require(len(data) == 2 * count, "its cells are damaged")
    return np.frombuffer(data, "<i2")


def landed(cells: CheckedCells, boxes: Array) -> Iterator[tuple[int, int, int]]:
    """Of the boxes that touch only cells with bounds: (which, the largest bound, the least value)."""
    d, last_cell = boxes.shape[1], np.array(cells.shape)
    with np.errstate(all="ignore"):
        first = np.floor((boxes[..., 0] - cells.low) / cells.step - EDGE)
        last = np.floor((boxes[..., 1] - cells.low) / cells.step + EDGE)
    inside = (first >= 0).all(axis=1) & (last < last_cell).all(axis=1) & (first <= last).all(axis=1)
    rows = np.flatnonzero(inside)
    ends = np.stack([first[rows], last[rows] + 1.0], axis=2).astype(np.int64)
    count = np.zeros(len(rows), np.int64)  # over the corners of each window, with their signs
    for corner in np.ndindex(*[2] * d):
        at = tuple(ends[:, i, side] for i, side in enumerate(corner))
        count += (-1) ** (d - sum(corner)) * cells.unknown[at].astype(np.int64)
    for n, window in zip(rows[count == 0].tolist(), ends[count == 0].tolist(), strict=True):
        place = tuple(slice(a, b) for a, b in window)
        yield n, int(cells.bound[place].max()), int(cells.value[place].min())


# -- start boxes that are followed -------------------------------------------------------------------------------------


def check_followed(
    loop: CheckedLoop, evidence: Mapping[str, Any], steps: int, limits: Array, until_end: bool,
    target: Array | None = None,
) -> tuple[Array, int, Array]:  # fmt: skip
    """(boxes, steps after which all have ended, least and greatest return). Without `until_end`:
    none ends in `steps`, and all are in the target then, if there is one."""
    n = loop.problem.plant.state_dim if loop.problem.plant else 0
    count = len(evidence["boxes"]) if isinstance(evidence.get("boxes"), list) else 0
    boxes = array_of(evidence, "boxes", {"boxes": (count, n, 2)})
    require(count > 0 and (boxes[..., 0] <= boxes[..., 1]).all(), "its boxes are damaged")
    sets, within, returns = many(boxes), 0, np.array([np.inf, -np.inf])
    for step in range(1, steps + 1):
        sets = reduced(stepped(loop, spread_out(sets)), COLUMNS)
        box = box_of(sets)
        require((limits[:, 0] <= box[..., 0]) & (box[..., 1] <= limits[:, 1]), "a set leaves the bounds claimed")
        perhaps, surely = sets.over.T
        if not until_end:
            require(~perhaps, "an episode may end")
            continue
        if perhaps.any():
            within = step
            returns = np.array(
                [min(returns[0], sets.reward[perhaps, 0].min()), max(returns[1], sets.reward[perhaps, 1].max())]
            )
        sets = sets.take(~surely)
        if len(sets.c) == 0:
            return boxes, within, returns
        require(len(sets.c) <= MOST_SETS * count, "there are too many sets")
    require(not until_end, "an episode may go on")
    inside = target is None or ((target[:, 0] <= box[..., 0]) & (box[..., 1] <= target[:, 1])).all()
    require(inside, "a set does not arrive")
    return boxes, steps, np.array([sets.reward[:, 0].min(), sets.reward[:, 1].max()])


# -- cells -------------------------------------------------------------------------------------------------------------


class Rate(NamedTuple):
    """Of the theorem about returns: p, and the unit of W."""

    pace: float
    unit: float


def check_cells(loop: CheckedLoop, evidence: Mapping[str, Any], goal: Array) -> tuple[CheckedCells, int, Rate]:
    """(bounds and values of all cells, the largest bound, p and the unit): after so many steps the state is in the
    goal, and stays there for ever; and no return falls below what the values say."""
    plant: Any = loop.problem.plant
    d = plant.state_dim
    rate = Rate(*(float(array_of(evidence, key, {key: ()})) for key in ("pace", "unit")))
    require(rate.unit >= 0.0, "the unit of its values is negative")
    low, step, shape = grid_of(evidence.get("stay"), d)
    count = int(np.prod(shape))
    bound, value = (unpacked(evidence["stay"].get(key), count).reshape(shape) for key in ("bound", "value"))
    stay = cells_of(low, step, bound, value)
    kept = np.argwhere(stay.bound >= 0)
    require(len(kept) > 0 and (stay.bound <= 0).all(), "no cell stays")
    inside = (goal[:, 0] <= _boxes(stay, kept, 1)[..., 0]) & (_boxes(stay, kept, 1)[..., 1] <= goal[:, 1])
    require(inside, "a cell that stays is not in the goal")
    task = Arriving([stay], whole_of(evidence, "stay_steps"), goal, rate)
    _arrive(loop, task, _boxes(stay, kept, 1), np.full(len(kept), MOST_STEPS), value[tuple(kept.T)])

    reach, corners, sizes, bounds = blocks_of(evidence, d)
    blocks = len(bounds)
    values = unpacked(evidence["reach"].get("value"), blocks)
    for first, end, n in zip(corners.tolist(), (corners + sizes).tolist(), range(blocks), strict=True):
        reach.value[tuple(slice(a, b) for a, b in zip(first, end, strict=True))] = values[n]
    task = Arriving([stay, reach], whole_of(evidence, "reach_steps"), np.tile([-np.inf, np.inf], (d, 1)), rate)
    _arrive(loop, task, _boxes(reach, corners, sizes), bounds, values)
    return reach, int(bounds.max(initial=0)), rate


def blocks_of(evidence: Mapping[str, Any], d: int) -> tuple[CheckedCells, Array, Array, Array]:
    """(cells with their bounds, first cells of the blocks, their sizes and bounds), from a certificate."""
    low, step, shape = grid_of(evidence.get("reach"), d)
    blocks = whole_of(evidence, "blocks", MOST_CELLS)
    part = evidence["reach"]
    corners, sizes = (unpacked(part.get(key), blocks * d).reshape(blocks, d).astype(int) for key in ("corner", "size"))
    bounds = unpacked(part.get("bound"), blocks).astype(int)
    require((corners >= 0) & (sizes > 0) & (corners + sizes <= shape), "a block leaves the grid")
    require(bounds >= 0, "a block has no bound")
    bound, value = np.full(shape, -1, np.int16), np.full(shape, NO_VALUE, np.int16)
    for first, end, n in zip(corners.tolist(), (corners + sizes).tolist(), range(blocks), strict=True):
        block = tuple(slice(a, b) for a, b in zip(first, end, strict=True))
        require(bound[block].max() < 0, "two blocks share a cell")
        bound[block] = bounds[n]
    return cells_of(low, step, bound, value), corners, sizes, bounds


def check_blocks(
    loop: CheckedLoop, evidence: Mapping[str, Any], limits: Array, moved: "Moving", rests: Callable[[Many], Array]
) -> tuple[CheckedCells, int]:
    """The same without values, of sets that another step moves, to a set that is left no more."""
    reach, corners, sizes, bounds = blocks_of(evidence, len(limits))
    task = Arriving([reach], whole_of(evidence, "reach_steps"), limits, Rate(0.0, 0.0), moved, rests)
    _arrive(loop, task, _boxes(reach, corners, sizes), bounds, np.zeros(len(bounds), np.int16))
    return reach, int(bounds.max(initial=0))


def share_of(cells: CheckedCells, whole: Array, unknown: list[Array]) -> float:
    """Of a box, what is in cells with a bound; all the others must be told."""
    sides = [cells.low[j] + np.arange(n + 1) * cells.step[j] for j, n in enumerate(cells.bound.shape)]
    outside = any(whole[j, 0] < side[0] or whole[j, 1] > side[-1] for j, side in enumerate(sides))
    require(not outside or covers(whole, unknown), "starts are outside of its cells")
    stated = np.zeros(cells.bound.shape, bool)
    for box in unknown:
        near = 1e-9 * cells.step  # boxes end at sides of cells, or of the starts
        first = np.ceil((np.where(box[:, 0] <= whole[:, 0], -np.inf, box[:, 0]) - cells.low) / cells.step - 1e-9)
        last = np.floor((np.where(box[:, 1] >= whole[:, 1], np.inf, box[:, 1]) - cells.low) / cells.step + 1e-9)
        first, last = np.maximum(first, 0), np.minimum(last, np.array(cells.bound.shape))
        stated[tuple(slice(int(a), max(int(a), int(b))) for a, b in zip(first, last, strict=True))] = True
        require(near > 0.0, "the cells are damaged")
    share, touched = shares_of(cells, whole)
    require((cells.bound >= 0) | stated | ~touched, "starts without a bound are not told")
    return float(share[cells.bound >= 0].sum())


def shares_of(cells: CheckedCells, whole: Array) -> tuple[Array, Array]:
    """Of every cell its share of a box, and whether it touches it."""
    sides = [cells.low[j] + np.arange(n + 1) * cells.step[j] for j, n in enumerate(cells.bound.shape)]
    parts = []
    for (low, high), side in zip(whole, sides, strict=True):
        overlap = np.maximum(np.minimum(side[1:], high) - np.maximum(side[:-1], low), 0.0)
        touched = (side[1:] >= low) & (side[:-1] <= high)
        parts.append((overlap / (high - low) if high > low else touched / max(touched.sum(), 1), touched))
    share, touched = np.ones(()), np.ones((), bool)
    for part, at in parts:
        share, touched = share[..., None] * part, touched[..., None] & at
    return share, touched


def whole_of(evidence: Mapping[str, Any], key: str, most: int = MOST_STEPS) -> int:
    number = array_of(evidence, key, {key: ()})
    require(number == np.round(number) and 1 <= number <= most, f"{key} is damaged")
    return int(number)


def _boxes(cells: CheckedCells, corners: Array, sizes: Any) -> Array:
    """Blocks of cells. Their sides are worked out with rounding: with all that they may be."""
    boxes = np.stack([cells.low + corners * cells.step, cells.low + (corners + sizes) * cells.step], axis=2)
    wider: Array = boxes + (1e-15 * (np.abs(boxes) + np.abs(cells.low)[:, None]) + 1e-300) * [-4.0, 4.0]
    return wider


Moving = Callable[[Many], tuple[Many, Array]]  # a step on, and boxes around all states of it


class Arriving(NamedTuple):
    """What is to be shown of boxes."""

    grids: list[CheckedCells]
    steps: int
    limits: Array
    rate: Rate
    moved: Moving | None = None
    rests: Callable[[Many], Array] | None = None


def _arrive(loop: CheckedLoop, task: Arriving, boxes: Array, bounds: Array, values: Array) -> None:
    """Every box, followed within the limits, ends up in cells with what is left of its bound; and its value is below
    the sums of rewards on the way less the pace, and below such a sum and the value where it ends up."""
    require((values <= 0) | (task.rate.unit == 0.0), "a value is above zero")
    stated = (values != NO_VALUE) & (task.rate.unit > 0.0)
    worth, unit = np.where(stated, values * task.rate.unit, -np.inf), task.rate.unit * (1.0 + 1e-15)
    sets, begun = many(boxes[:0]), 0
    while begun < len(boxes) or len(sets.c) > 0:
        if len(sets.c) < AT_ONCE // 2 and begun < len(boxes):  # steps of few sets cost as much as those of many
            more = many(boxes[begun : begun + AT_ONCE])
            sets = together([sets, more._replace(owner=more.owner + begun)])
            begun += AT_ONCE
        if task.moved is None:
            sets = stepped(loop, sets)
            way = box_of(sets)
        else:
            sets, way = task.moved(sets)
        owner, box = sets.owner, box_of(sets)
        step = sets.age
        require((task.limits[:, 0] <= way[..., 0]) & (way[..., 1] <= task.limits[:, 1]), "a cell leaves the goal")
        require(~sets.over[:, 0], "an episode may end on the way")
        gained = sets.reward[:, 0] - step * task.rate.pace
        gained -= (np.abs(sets.reward[:, 0]) + np.abs(step * task.rate.pace)) * 1e-15
        require(~(gained < worth[owner]), "a return falls below its value on the way")
        done = np.zeros(len(sets.c), bool) if task.rests is None else task.rests(sets) & (step <= bounds[owner])
        for grid in task.grids:
            for n, bound, value in landed(grid, box):
                least = -np.inf if value == NO_VALUE else gained[n] + value * unit
                done[n] |= step[n] + bound <= bounds[owner[n]] and not least < worth[owner[n]]
        sets = sets.take(~done)
        require(sets.age < task.steps, "a cell does not arrive where its bound or its value says")
