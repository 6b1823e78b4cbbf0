"""The closed loop over boxes of states: scores of the controller, and steps of the plant.

A score is an affine function of the state with an error, and has a range. Observations are functions o(x) of the state.
With slopes S over the box, M their middle, and any x in it,

    o(x) = o(c) + S' (x - c)  for some S' in S    (mean value)     so     o(x) in o(c) + M (x - c) +- |S - M| |x - c|
    gains . o + offset  =  base + slope . (x - c) +- error

`error` has what sensors may be off, what a double program may be off, and what the controller's own arithmetic may be
off: (n + 4) roundings of the sum of all sizes, of numbers that are written with fewer digits, of observations, of
products and of sums, twice over.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import kernel
from spaql.proofs.loop_model import ClosedLoop, memory_of
from spaql.proofs.machine import IMPOSSIBLE, Registers, Result, run

ROUND = 2e-13  # bounds the rounding of our own sums, of at most some 1,500 terms, relative to the sum of sizes


class View(NamedTuple):
    """What is seen from a box of states."""

    box: Array  # (seen, 2)
    middle: Array  # (seen, 2) from its centre
    slopes: Array  # (seen, states, 2)
    error: Array  # (seen,)
    point: Array  # (states, 2) memory: the centre as a box


class ScoreBounds(NamedTuple):
    """Results of `score`."""

    slope: Array  # (states,)
    numbers: Array  # base, error, lowest, highest


def view(loop: ClosedLoop) -> View:
    seen, states = loop.seen, loop.states
    box, slopes = np.zeros((2, seen, 2)), np.zeros((seen, states, 2))
    return View(box[0], box[1], slopes, np.zeros(seen), np.zeros((states, 2)))


def empty_score(loop: ClosedLoop) -> ScoreBounds:
    return ScoreBounds(np.zeros(loop.states), np.zeros(4))


@kernel
def look(loop: ClosedLoop, centre: Array, box: Array, r: Registers, out: Result, seen: View) -> bool:
    """Observations over the box and at the centre, which lies in it. False: they are not defined everywhere in it."""
    begin, end = loop.begins[-2], loop.begins[-1]
    run(loop.tape, begin, end, box, True, False, r, out)
    known = out.verdict[2] == 1
    for o in range(loop.seen):
        seen.error[o] = out.error[o]
        for side in range(2):
            seen.box[o, side] = out.box[o, side]
            for j in range(loop.states):
                seen.slopes[o, j, side] = out.slopes[o, j, side]
    for i in range(loop.states):
        seen.point[i, 0] = seen.point[i, 1] = centre[i]
    run(loop.tape, begin, end, seen.point, False, False, r, out)
    for o in range(loop.seen):
        seen.middle[o, 0], seen.middle[o, 1] = out.box[o, 0], out.box[o, 1]
    return bool(known)


@kernel
def score(
    loop: ClosedLoop, seen: View, gains: Array, offset: float, centre: Array, box: Array, out: ScoreBounds
) -> None:
    """The score with these gains: see above."""
    base, error, low, high, size = offset, 0.0, offset, offset, abs(offset)
    for j in range(loop.states):
        out.slope[j] = 0.0
    underflow = loop.absolute
    for o in range(loop.seen):
        gain = gains[o]
        if gain == 0.0:
            continue
        least, most = seen.box[o, 0] - loop.sensors[o], seen.box[o, 1] + loop.sensors[o]
        base += gain * 0.5 * (seen.middle[o, 0] + seen.middle[o, 1])
        size += abs(gain) * max(abs(least), abs(most))
        underflow += loop.absolute * (abs(gain) + max(abs(least), abs(most)))
        error += abs(gain) * ((seen.middle[o, 1] - seen.middle[o, 0]) + seen.error[o] + loop.sensors[o])
        low, high = low + min(gain * least, gain * most), high + max(gain * least, gain * most)
        for j in range(loop.states):
            slope = 0.5 * (seen.slopes[o, j, 0] + seen.slopes[o, j, 1])
            half = 0.5 * (seen.slopes[o, j, 1] - seen.slopes[o, j, 0]) + 1e-15 * abs(slope)
            reach = max(abs(box[j, 1] - centre[j]), abs(box[j, 0] - centre[j]))
            out.slope[j] += gain * slope
            error += abs(gain) * half * reach
            size += abs(gain * slope) * reach
    slack = ((loop.seen + 4) * 2.0 * loop.relative + ROUND) * size + underflow
    out.numbers[0], out.numbers[1] = base, error * (1.0 + ROUND) + slack
    out.numbers[2], out.numbers[3] = low - slack, high + slack
    if not (error < np.inf):
        for j in range(loop.states):
            out.slope[j] = 0.0
        out.numbers[1] = np.inf


# -- steps: where the middle goes, and slopes for the mean value theorem -----------------------------------------------


ANYWHERE, LIMITED = 1e6, 1e5  # what is below the latter when all else is as far as the former is limited by a step
PARTS = 8  # boxes over which slopes are averaged


class Workplace(NamedTuple):
    """Memory, and which variables are held."""

    loop: ClosedLoop
    r: Registers
    out: Result
    seen: View
    score: ScoreBounds
    held: Array  # (states,) bool


def workplace(loop: ClosedLoop, held: Array) -> Workplace:
    return Workplace(loop, *memory_of(loop), view(loop), empty_score(loop), held)


class PlantSteps(NamedTuple):
    """What the plant does over boxes: the hull over all paths that some state of a box may take."""

    after: Array  # (boxes, states, 2) the next state from the middle
    slopes: Array  # (boxes, states, inputs, 2) averaged over boxes that shrink to the middle
    errors: Array  # (boxes, states) of double programs
    reward: Array  # (boxes, 2)
    ends: Array  # (boxes,) whether the episode may end


def plant_steps(place: Workplace, centre: Array, actions: Array, boxes: Array, applied: Array) -> PlantSteps | None:
    """From every box of (boxes, states, 2), with some of these actions; None: nothing is known.

    Held variables are anywhere in their box, at its middle too.
    """
    loop, count, n = place.loop, len(boxes), place.loop.states
    others = np.concatenate([applied, loop.noise])
    whole = np.concatenate([boxes, np.tile(others, (count, 1, 1))], axis=1)
    point = np.concatenate([centre, actions, loop.noise.mean(axis=1)])
    middle = np.tile(point[:, None], (count, 1, 2))
    middle[:, :n][:, place.held] = boxes[:, place.held]
    inputs = whole.shape[1]
    nothing = np.array([math.inf, -math.inf])
    steps = PlantSteps(
        np.tile(nothing, (count, n, 1)), np.tile(nothing, (count, n, inputs, 1)), np.zeros((count, n)),
        np.tile(nothing, (count, 1)), np.zeros(count, np.bool_),
    )  # fmt: skip
    shrunk, mean = np.zeros((inputs, 2)), np.zeros((n, inputs, 2))
    _steps(loop.tape, loop.begins, whole, middle, shrunk, mean, place.r, place.out, steps)
    finite = all(np.isfinite(item).all() for item in (steps.after, steps.slopes, steps.errors))
    return steps if finite else None


def limited(place: Workplace, start: Array) -> Array:
    """(states, 2) where each variable always is, by what a step itself limits, such as an action that is late: from
    any state within ANYWHERE, and in the start."""
    loop, wide = place.loop, np.max(np.abs(start)) + ANYWHERE
    actions = np.stack([loop.pieces[..., 2].min(axis=(0, 2)), loop.pieces[..., 2].max(axis=(0, 2))], axis=1)
    box = np.where(place.held[:, None], start, wide * np.array([[-1.0, 1.0]]))
    whole, bounds = np.concatenate([box, actions, loop.noise]), start.copy()
    for begin, end in itertools.pairwise(loop.begins[:-1]):
        run(loop.tape, begin, end, whole, False, False, place.r, place.out)
        bounds[:, 0] = np.minimum(bounds[:, 0], place.out.box[: loop.states, 0])
        bounds[:, 1] = np.maximum(bounds[:, 1], place.out.box[: loop.states, 1])
    spare = 1e-9 * (1.0 + np.abs(bounds))
    return np.where(np.abs(bounds) < LIMITED, bounds + spare * [-1.0, 1.0], [-np.inf, np.inf])


@kernel
def _steps(
    tape: Array, begins: Array, whole: Array, middle: Array, shrunk: Array, mean: Array, r: Registers, out: Result,
    steps: PlantSteps,
) -> None:  # fmt: skip
    n, inputs = steps.slopes.shape[1], len(shrunk)
    for q in range(len(whole)):
        for path in range(len(begins) - 2):
            begin, end = begins[path], begins[path + 1]
            if run(tape, begin, end, whole[q], False, True, r, out) == IMPOSSIBLE:
                continue
            if out.verdict[2] == 0:  # min(log(x), 0) is bounded where it is not defined
                steps.errors[q, 0] = math.inf
            steps.ends[q] |= out.verdict[1] != 0
            steps.reward[q, 0] = min(steps.reward[q, 0], out.box[n, 0])
            steps.reward[q, 1] = max(steps.reward[q, 1], out.box[n, 1])
            for i in range(n):
                for j in range(inputs):
                    mean[i, j, 0] = mean[i, j, 1] = 0.0
            for part in range(1, PARTS + 1):
                for j in range(inputs):
                    for side in range(2):
                        at, far = middle[q, j, side], whole[q, j, side]
                        far = min(far, at) if side == 0 else max(far, at)
                        at += (far - at) * (part / PARTS)
                        wider = (abs(at) + abs(middle[q, j, side])) * 1e-15 + 1e-300
                        shrunk[j, side] = at - wider if side == 0 else at + wider
                run(tape, begin, end, shrunk, True, False, r, out)
                for i in range(n):
                    steps.errors[q, i] = max(steps.errors[q, i], out.error[i])
                    for j in range(inputs):
                        mean[i, j, 0] += out.slopes[i, j, 0] / PARTS
                        mean[i, j, 1] += out.slopes[i, j, 1] / PARTS
            run(tape, begin, end, middle[q], False, False, r, out)
            for i in range(n):
                steps.after[q, i, 0] = min(steps.after[q, i, 0], out.box[i, 0])
                steps.after[q, i, 1] = max(steps.after[q, i, 1], out.box[i, 1])
                for j in range(inputs):
                    low, high = mean[i, j, 0], mean[i, j, 1]
                    low, high = low - 1e-14 * abs(low), high + 1e-14 * abs(high)
                    steps.slopes[q, i, j, 0] = min(steps.slopes[q, i, j, 0], low)
                    steps.slopes[q, i, j, 1] = max(steps.slopes[q, i, j, 1], high)


def slices(box: Array, held: Array, pieces: Array) -> Array:
    """The box cut across the held variables, each in so many pieces: (slices, states, 2)."""
    ends_of = zip(box[held].tolist(), pieces.tolist(), strict=True)
    cuts = [np.linspace(low, high, count + 1) for (low, high), count in ends_of]
    parts = []
    for ends in itertools.product(*map(itertools.pairwise, cuts)):
        part = box.copy()
        part[held] = np.array(ends).reshape(-1, 2)
        parts.append(part)
    return np.array(parts)
