"""The checker's theorems about start boxes that are followed, and about cells: see followed.py and
proven_cells.py."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.checked_sets import box_of, many
from spaql.proofs.checked_steps import stepped
from spaql.proofs.checker import CheckedLoop, RefusedError, array_of, require

AT_ONCE = 2048  # boxes that are followed side by side
MOST_CELLS = 2**24
MOST_STEPS = 10_000


class CheckedCells(NamedTuple):
    """A grid with a number per cell, below zero where nothing is claimed."""

    low: Array
    step: Array
    bound: Array  # as many axes as there are variables


def cells_of(evidence: Any, states: int) -> CheckedCells:
    """From a certificate."""
    require(isinstance(evidence, Mapping), "the cells are missing")
    sizes = {"low": (states,), "step": (states,), "shape": (states,)}
    low, step, shape = (array_of(evidence, key, sizes) for key in sizes)
    require((step > 0.0) & (shape >= 1.0) & (shape == np.round(shape)), "the cells are damaged")
    require(np.prod(shape) <= MOST_CELLS, "there are too many cells")
    bound = unpacked(evidence.get("bound"), int(np.prod(shape)))
    return CheckedCells(low, step, bound.reshape(shape.astype(int)))


def unpacked(text: Any, count: int) -> Array:
    """Whole numbers of 16 bits."""
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), 2 * count + 1)
    except (TypeError, ValueError, zlib.error) as error:
        raise RefusedError("its cells are damaged") from error
    require(len(data) == 2 * count, "its cells are damaged")
    return np.frombuffer(data, "<i2").astype(np.int64)


def largest(cells: CheckedCells, boxes: Array) -> Array:
    """Of the cells that each box touches, the largest number; -1 where one is not known or the box
    leaves the grid."""
    known = np.full(len(boxes), -1)
    with np.errstate(all="ignore"):
        first = np.floor((boxes[..., 0] - cells.low) / cells.step - 1e-9)
        last = np.floor((boxes[..., 1] - cells.low) / cells.step + 1e-9)
    inside = (first >= 0).all(axis=1) & (last < cells.bound.shape).all(axis=1)
    for n in np.flatnonzero(inside):
        window = cells.bound[
            tuple(slice(int(a), int(b) + 1) for a, b in zip(first[n], last[n], strict=True))
        ]
        known[n] = -1 if window.min() < 0 else window.max()
    return known


# -- start boxes that are followed -------------------------------------------------------------------------------------


def check_followed(
    loop: CheckedLoop, evidence: Mapping[str, Any], steps: int, limits: Array, until_end: bool
) -> tuple[Array, int, Array]:
    """(boxes, steps after which all have ended, least and greatest return). Without `until_end`:
    none ends in `steps`."""
    n = loop.problem.plant.state_dim if loop.problem.plant else 0
    count = len(evidence["boxes"]) if isinstance(evidence.get("boxes"), list) else 0
    boxes = array_of(evidence, "boxes", {"boxes": (count, n, 2)})
    require(count > 0 and (boxes[..., 0] <= boxes[..., 1]).all(), "its boxes are damaged")
    sets, within, returns = many(boxes), 0, np.array([np.inf, -np.inf])
    for step in range(1, steps + 1):
        sets = stepped(loop, sets)
        box = box_of(sets)
        require(
            (limits[:, 0] <= box[..., 0]) & (box[..., 1] <= limits[:, 1]),
            "a set leaves the bounds claimed",
        )
        perhaps, surely = sets.over.T
        if not until_end:
            require(~perhaps, "an episode may end")
            continue
        if perhaps.any():
            within = step
            returns = np.array(
                [
                    min(returns[0], sets.reward[perhaps, 0].min()),
                    max(returns[1], sets.reward[perhaps, 1].max()),
                ]
            )
        sets = sets.take(~surely)
        if len(sets.c) == 0:
            return boxes, within, returns
        require(len(sets.c) < 100_000, "there are too many sets")
    require(not until_end, "an episode may go on")
    return boxes, steps, np.array([sets.reward[:, 0].min(), sets.reward[:, 1].max()])


# -- cells -------------------------------------------------------------------------------------------------------------


def check_cells(
    loop: CheckedLoop, evidence: Mapping[str, Any], goal: Array
) -> tuple[CheckedCells, int]:
    """(bounds of all cells, their largest): after so many steps the state is in the goal, and stays
    there for ever."""
    plant: Any = loop.problem.plant
    d = plant.state_dim
    stay, reach = cells_of(evidence.get("stay"), d), cells_of(evidence.get("reach"), d)
    kept = np.argwhere(stay.bound >= 0)
    require(len(kept) > 0 and (stay.bound <= 0).all(), "no cell stays")
    own = stay.low + kept * stay.step
    boxes = np.stack([own, own + stay.step], axis=2)
    inside = (goal[:, 0] <= _wider(boxes)[..., 0]) & (_wider(boxes)[..., 1] <= goal[:, 1])
    require(inside, "a cell that stays is not in the goal")
    _arrive(
        loop,
        _wider(boxes),
        [stay],
        np.full(len(boxes), MOST_STEPS),
        int(whole_of(evidence, "stay_steps")),
        goal,
    )
    level = unpacked(evidence.get("level"), reach.bound.size).reshape(reach.bound.shape)
    corners = np.argwhere(level > 0)
    sizes = level[tuple(corners.T)]
    claimed = np.full(reach.bound.shape, -1)
    for corner, size in zip(corners, sizes, strict=True):
        block = tuple(slice(a, a + size) for a in corner)
        require(corner + size <= reach.bound.shape, "a block leaves the grid")
        claimed[block] = reach.bound[tuple(corner)]
    require(claimed == reach.bound, "its blocks are not its cells")
    bounds = reach.bound[tuple(corners.T)]
    own = reach.low + corners * reach.step
    boxes = np.stack([own, reach.low + (corners + sizes[:, None]) * reach.step], axis=2)
    anywhere = np.tile([-np.inf, np.inf], (d, 1))
    _arrive(
        loop, _wider(boxes), [stay, reach], bounds, int(whole_of(evidence, "reach_steps")), anywhere
    )
    return reach, int(bounds.max(initial=0))


def whole_of(evidence: Mapping[str, Any], key: str) -> int:
    number = array_of(evidence, key, {key: ()})
    require(number == np.round(number) and 1 <= number <= MOST_STEPS, f"{key} is damaged")
    return int(number)


def _wider(boxes: Array) -> Array:
    """Sides are worked out with rounding: the box with all its sides."""
    return boxes + (1e-15 * np.abs(boxes) + 1e-300) * [-4.0, 4.0]


def _arrive(
    loop: CheckedLoop,
    boxes: Array,
    grids: list[CheckedCells],
    bounds: Array,
    steps: int,
    limits: Array,
) -> None:
    """Every box, followed within the limits, ends up in cells with what is left of its bound."""
    for first in range(0, len(boxes), AT_ONCE):
        sets = many(boxes[first : first + AT_ONCE])
        allowed = bounds[first : first + AT_ONCE]
        for step in range(1, steps + 1):
            sets = stepped(loop, sets)
            box = box_of(sets)
            require(
                (limits[:, 0] <= box[..., 0]) & (box[..., 1] <= limits[:, 1]),
                "a cell leaves the goal",
            )
            require(~sets.over[:, 0], "an episode may end on the way")
            done = np.zeros(len(sets.c), bool)
            for grid in grids:
                number = largest(grid, box)
                done |= (number >= 0) & (step + number <= allowed[sets.owner])
            sets = sets.take(~done)
            if len(sets.c) == 0:
                break
        require(len(sets.c) == 0, "a cell does not arrive where its bound says")
