"""Scores of a controller over a box of states: an affine function of the state with an error, and a
range.

Observations are functions o(x) of the state. With slopes S over the box, M their middle, and any x
in it,

    o(x) = o(c) + S' (x - c)  for some S' in S     (mean value)      so     o(x) in o(c) + M (x - c)
    +- |S - M| |x - c|

    gains . o + offset  =  base + slope . (x - c) +- error

`error` has what sensors may be off, what a double program may be off, and what the controller's own
arithmetic may be off: (n + 4) roundings of the sum of all sizes, of numbers that are written with
fewer digits, of observations, of products and of sums, twice over.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, kernel
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import Result, run
from spaql.proofs.operations import Registers

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


@apart
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


@apart
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


@kernel
def look_from(loop: ClosedLoop, centre: Array, box: Array, r: Registers, out: Result, seen: View) -> bool:
    """`look`, called from Python."""
    return look(loop, centre, box, r, out, seen)


@kernel
def score_over(
    loop: ClosedLoop, seen: View, gains: Array, offset: float, centre: Array, box: Array, out: ScoreBounds
) -> None:
    """`score`, called from Python."""
    score(loop, seen, gains, offset, centre, box, out)
