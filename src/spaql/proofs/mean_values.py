"""The mean value form of a program over a set: see sets.py."""

import math

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import run
from spaql.proofs.score_bounds import ROUND
from spaql.proofs.sets import Sets, SetWork

PARTS = 2  # boxes over which slopes are averaged


@apart
def average_slopes(loop: ClosedLoop, w: SetWork, begin: int, end: int) -> None:
    """Slopes of a program into `w.mean`, averaged over boxes that grow from `w.middle` to `w.whole`."""
    d, inputs = loop.states, len(w.whole)
    for i in range(d):
        for j in range(inputs):
            w.mean[i, j, 0] = w.mean[i, j, 1] = 0.0
    for part in range(PARTS):
        share = (part + 1.0) / PARTS
        for i in range(inputs):
            low, high = min(w.whole[i, 0], w.middle[i]), max(w.whole[i, 1], w.middle[i])
            low, high = w.middle[i] + share * (low - w.middle[i]), w.middle[i] + share * (high - w.middle[i])
            # the way to the middle and back loses digits of the middle's size
            lost = 1e-15 * abs(w.middle[i]) + 1e-300
            w.shrunk[i, 0], w.shrunk[i, 1] = low - 1e-15 * abs(low) - lost, high + 1e-15 * abs(high) + lost
        run(loop.tape, begin, end, w.shrunk, True, False, w.r, w.out)
        for i in range(d):
            for j in range(inputs):
                w.mean[i, j, 0] += w.out.slopes[i, j, 0] / PARTS
                w.mean[i, j, 1] += w.out.slopes[i, j, 1] / PARTS


@apart
def mean_value(
    loop: ClosedLoop, w: SetWork, source: Sets, at: int, target: Sets, to: int, begin: int, end: int, actions: int
) -> None:
    """What the program makes of a set, with the slopes in `w.mean`; its rest is added to that of the target.

    Inputs are the state, then `actions` actions with lines, then what is independent of both. Where slopes are not
    known the box of the target, which must be there, is all that is known.
    """
    d = loop.states
    for i in range(len(w.whole)):
        w.shrunk[i, 0] = w.shrunk[i, 1] = w.middle[i]
    run(loop.tape, begin, end, w.shrunk, False, False, w.r, w.out)
    known = True
    for i in range(d):
        rest = target.rest[to, i] + (w.out.box[i, 1] - w.out.box[i, 0])
        size = abs(0.5 * (w.out.box[i, 0] + w.out.box[i, 1]))
        for j in range(d):
            w.step[i, j] = 0.5 * (w.mean[i, j, 0] + w.mean[i, j, 1])
        for j in range(len(w.whole)):
            middle, half = 0.5 * (w.mean[i, j, 0] + w.mean[i, j, 1]), 0.5 * (w.mean[i, j, 1] - w.mean[i, j, 0])
            reach = max(w.whole[j, 1] - w.middle[j], w.middle[j] - w.whole[j, 0], 0.0)
            rest += (half + ROUND * abs(middle)) * reach
            if d <= j < d + actions:
                rest += abs(middle) * w.applied[j - d, 1]
                for k in range(d):
                    w.step[i, k] += middle * w.line[j - d, k]
            elif j >= d + actions:
                rest += abs(middle) * reach
        for k in range(d):
            size += abs(w.step[i, k]) * abs(w.around[k, 1] - w.around[k, 0])
        target.centre[to, i] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
        target.rest[to, i] = rest * (1.0 + ROUND) + ROUND * size + 1e-300
        known &= rest < math.inf and size < math.inf
    if known:
        known = carry(w, source, at, target, to)
    if not known:
        for i in range(d):
            low, high = target.box[to, i, 0], target.box[to, i, 1]
            target.centre[to, i] = 0.5 * (low + high)
            target.rest[to, i] = 0.5 * (high - low) * (1.0 + ROUND) + ROUND * max(abs(low), abs(high)) + 1e-300
            for k in range(target.shape.shape[2]):
                target.shape[to, i, k] = 0.0


@apart
def carry(w: SetWork, source: Sets, at: int, target: Sets, to: int) -> bool:
    """G and R through the matrix `w.step`: the next G is A G, and A R goes to columns of its own, or to the next R.

    Of all columns beside those of the start, the largest stay; the others are wrapped in R (Girard 2005), measured
    against the size of the set. False: infinite.
    """
    d, columns = source.centre.shape[1], source.shape.shape[2]
    for i in range(d):
        size = 0.0
        for k in range(columns):
            total = 0.0
            for j in range(d):
                product = w.step[i, j] * source.shape[at, j, k]
                total += product
                size += abs(product)
            target.shape[to, i, k] = total
        for k in range(d):
            size += abs(w.step[i, k] * source.rest[at, k])
        target.rest[to, i] += ROUND * size
        if not size < math.inf:
            return False
    for k in range(d):
        slot = -1
        if columns > d:
            slot = d
            least = math.inf
            for other in range(d, columns):
                measured = _measure(w, target.shape[to], other)
                if measured < least:
                    slot, least = other, measured
                if measured == 0.0:
                    break
            for i in range(d):
                w.column[i] = w.step[i, k] * source.rest[at, k]
            new = 0.0
            for i in range(d):
                new += abs(w.column[i]) / (w.around[i, 1] - w.around[i, 0] + 1e-30)
            if new <= least:
                slot = -1
        for i in range(d):
            if slot >= 0:
                target.rest[to, i] += abs(target.shape[to, i, slot]) * (1.0 + ROUND)
                target.shape[to, i, slot] = w.column[i]
            else:
                target.rest[to, i] += abs(w.step[i, k]) * source.rest[at, k] * (1.0 + ROUND)
    for i in range(d):
        target.rest[to, i] *= 1.0 + ROUND
    return True


@apart
def _measure(w: SetWork, shape: Array, k: int) -> float:
    """Of a column, in parts of the set's sides."""
    total = 0.0
    for i in range(len(w.around)):
        total += abs(shape[i, k]) / (w.around[i, 1] - w.around[i, 0] + 1e-30)
    return total
