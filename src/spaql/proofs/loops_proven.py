"""Where the theorem of the linear loop applies: lines are tried, and parts of the starts and of the
parameters.

The box of parameters is cut in halves where nothing is found, across the parameter of most effect.
What stays open when time runs out or the parts get small is unknown.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.proofs.linear_loop import SLOPES, invariant, powers_of
from spaql.proofs.loop_model import ClosedLoop, held_states
from spaql.proofs.over_boxes import Workplace, plant_steps, workplace
from spaql.proofs.questions import Question
from spaql.proofs.remainders import Frame, LinearRegion, Remainder, frame_at

NEWTON = 5  # steps to the equilibrium of the linear loop
SMALLEST = 1.0 / 64.0  # part of a side that is not cut again
NO_REGION = 1e6  # more than any part
HALVES = 12  # of the interval of parts
NEIGHBOURS = 1.5  # slopes to each side of a known one
MOST_PUSHED = 2.5  # above 2 no region exists for a threshold


class ProvenPart(NamedTuple):
    """A proven part of the starts."""

    start: Array
    frame: Frame
    region: LinearRegion
    left: Remainder


class LoopSearch(NamedTuple):
    """What came of it."""

    parts: list[ProvenPart]
    open: list[Array]
    share: float


def equilibrium(place: Workplace, start: Array, slope: float) -> Array:
    """The state that the linear loop holds, from the middle of the starts on; held parameters in
    the middle of theirs."""
    middle: Array = start.mean(axis=1)
    centre = middle.copy()
    moving = ~place.held
    for _ in range(NEWTON):
        frame = frame_at(place, centre, slope, start)
        if frame is None:
            return middle
        point, actions = (np.stack([x, x], axis=1) for x in (centre, frame.actions))
        steps = plant_steps(place, centre, frame.actions, point[None], actions)
        if steps is None:
            return middle
        n, drift = place.loop.states, steps.after[0].mean(axis=1) - centre
        if not drift[moving].any():
            break
        matrix = np.eye(n)[np.ix_(moving, moving)] - frame.matrix[np.ix_(moving, moving)]
        if not np.isfinite(drift).all() or abs(np.linalg.det(matrix)) < 1e-12:
            return middle
        centre[moving] += np.linalg.solve(matrix, drift[moving])
    return centre if np.isfinite(centre).all() and np.abs(centre).max() < 1e6 else middle


def best_part(
    place: Workplace, start: Array, limits: Array, steps: int | None, slopes: list[float], guess: Array | None = None,
) -> tuple[ProvenPart | None, float]:  # fmt: skip
    """Of these lines, the one with the smallest region, and its slope."""
    best, chosen, smallest = None, slopes[0], math.inf
    for slope in slopes:
        centre = equilibrium(place, start, slope)
        frame = frame_at(place, centre, slope, start)
        held = None if frame is None else invariant(place, frame, start, limits, steps, guess)
        if frame is None or held is None:
            continue
        sides = np.diff(held[0].box, axis=1)[:, 0] / np.maximum(np.diff(start, axis=1)[:, 0], 1e-3)
        measure = float(np.sum(sides[~place.held]))
        if measure < smallest:
            best, chosen, smallest = ProvenPart(start, frame, *held), slope, measure
    return best, chosen


def room_used(loop: ClosedLoop, asked: Question, near: float | None) -> tuple[float, float | None]:
    """The part of its room, until an episode may end, that the loop fills from its starts, for ever; and the slope of
    the line by which it is least, of all or of those near a known one.

    Where no region is proven, NO_REGION times what the pushes do to the line: sum_t |g A^t b|. For parameters in the
    middle of their ranges.
    """
    place = workplace(loop, held_states(asked.problem))
    start = np.where(place.held[:, None], asked.start.mean(axis=1, keepdims=True), asked.start)
    best: tuple[float, float | None] = math.inf, near
    apart = NEIGHBOURS * math.log(SLOPES[1] / SLOPES[0])
    slopes = SLOPES if near is None else SLOPES[np.abs(np.log(SLOPES / near)) < apart]
    for slope in slopes.tolist():
        frame = frame_at(place, equilibrium(place, start, slope), slope, start)
        powers = None if frame is None else powers_of(frame.matrix, None)
        if frame is None or powers is None:
            continue
        pushed = float(np.abs(frame.gains @ powers @ frame.columns).sum(axis=0).max())
        held = invariant(place, frame, start, asked.limits, None) if pushed < MOST_PUSHED else None
        used = NO_REGION * pushed if held is None else _part_of_room(place, frame, held[0], asked.limits)
        best = min(best, (used, slope), key=lambda pair: pair[0])
    return best


def _part_of_room(place: Workplace, frame: Frame, region: LinearRegion, limits: Array) -> float:
    """1 / f for the largest f, by halves, for which no episode may end in f times the region."""
    low, high = 0.0, 1.0
    away = np.where(place.held[:, None], 0.0, region.box - frame.centre[:, None])
    actions = np.stack([place.loop.pieces[..., 2].min(axis=(0, 2)), place.loop.pieces[..., 2].max(axis=(0, 2))], axis=1)
    for _ in range(HALVES):
        part = 0.5 * (low + high)
        box = region.box + away * (1.0 / part - 1.0)
        steps = plant_steps(place, frame.centre, frame.actions, box[None], actions)
        inside = (box[:, 0] >= limits[:, 0]).all() and (box[:, 1] <= limits[:, 1]).all()
        if steps is not None and inside and not steps.ends.any():
            high = part
        else:
            low = part
    return high


def prove_loop(place: Workplace, start: Array, limits: Array, steps: int | None, seconds: float) -> LoopSearch:
    """Parts of the starts from which nothing leaves the limits and no episode ends.

    The line is chosen for the middle of the parameters; parts try it and its neighbours.
    """
    began, parts, unknown, share = time.process_time(), list[ProvenPart](), list[Array](), 0.0
    width = np.diff(start, axis=1)[:, 0]
    nominal = np.where(place.held[:, None], start.mean(axis=1, keepdims=True), start)
    part, slope = best_part(place, nominal, limits, steps, SLOPES.tolist())
    if part is None:
        return LoopSearch([], [start], 0.0)
    if (nominal == start).all():
        return LoopSearch([part], [], 1.0)
    pending, size = [(start, 1.0)], _size(place, part)
    while pending:
        box, volume = pending.pop()
        at_work("proving a linear loop", share)
        late = time.process_time() - began >= seconds
        part = None if late else best_part(place, box, limits, steps, [slope], size)[0]
        if part is not None:
            parts.append(part)
            share, size = share + volume, _size(place, part)
            continue
        axis = _of_most_effect(place, box, slope)
        if late or box[axis, 1] - box[axis, 0] <= SMALLEST * width[axis]:
            unknown.append(box)
            continue
        middle = 0.5 * (box[axis, 0] + box[axis, 1])
        for low, high in ((box[axis, 0], middle), (middle, box[axis, 1])):
            half = box.copy()
            half[axis] = low, high
            pending.append((half, volume / 2.0))
    return LoopSearch(parts, unknown, share)


def _size(place: Workplace, part: ProvenPart) -> Array:
    """How far its region goes: what to begin with in its neighbours."""
    away = np.abs(part.region.box - part.frame.centre[:, None]).max(axis=1)
    return np.concatenate([np.where(place.held, 0.0, away), part.region.lines])


def _of_most_effect(place: Workplace, box: Array, slope: float) -> int:
    """The held parameter whose columns, at the largest action, move the loop most in the end."""
    held, width = np.flatnonzero(place.held), np.diff(box, axis=1)[:, 0]
    frame = frame_at(place, equilibrium(place, box, slope), slope, box)
    powers = None if frame is None else powers_of(frame.matrix, None)
    if frame is None or powers is None:
        return int(np.argmax(width * place.held))
    actions = np.ptp(place.loop.pieces[..., 2])
    reach = np.append(np.where(place.held, 0.0, width), [actions] * place.loop.actions)
    moved = [np.abs(powers @ spread).sum(axis=0) @ reach for spread in frame.spread]
    size = np.maximum(width, 1e-9)
    effect = [float((move / size).max()) * width[j] for move, j in zip(moved, held, strict=True)]
    return int(held[np.argmax(effect)])


def evidence_of(part: ProvenPart, held: Array) -> dict[str, Any]:
    """The part as the certificate has it."""
    frame, region, left = part.frame, part.region, part.left
    return {
        "kind": "linear loop", "start": part.start.tolist(), "centre": frame.centre.tolist(),
        "gains": frame.gains.tolist(), "actions": frame.actions.tolist(), "matrix": frame.matrix.tolist(),
        "columns": frame.columns.tolist(), "spread": frame.spread.tolist(),
        "pieces": frame.pieces.tolist(), "box": region.box.tolist(), "lines": region.lines.tolist(),
        "band": left.band.tolist(), "rest": left.rest.tolist(), "held": held.astype(float).tolist(),
        **({"reward": left.reward.tolist()} if np.isfinite(left.reward).all() else {}),
    }  # fmt: skip
