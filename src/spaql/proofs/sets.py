"""Sets of states, and one step of the closed loop on them.

A set is the image of a cube, in a box:   { c + G xi + r :  |xi_k| <= 1, |r_i| <= R_i }  cut with
B. It has a noise symbol per variable, those of the start. A set that is followed for long has more of
them. They take R in each step, and the smallest of them are wrapped in R (`carry`).

With x = c + d, the line u_c + g d of the controller, off by at most e, and slopes J averaged over
boxes that shrink to c,

    f(x, u)  in  f(c, u_c) + (J_x + J_u g) d + J_u e           (mean value form, as in linear_loop.py)

so the next c is f(c, u_c), the next G is A G with A = mid J_x + mid J_u g, and the next R is |A| R,
|J_u| e, what slopes differ from their middle times |d|, and rounding. The range of the program
itself over the set, values cut by what the answers to the plant's conditions say, is the next B: it
knows of walls and of limits of speed. Where slopes are not known (a jump), B alone is the next set.

Where a test, a threshold or a condition of the plant can go both ways, the set is taken twice, each
time with the bounds of xi that its side allows: of a . xi >= b follows a_k xi_k >= b - sum of
|a_j|, j not k.

Everywhere `d` is the number of state variables (with those that are held), `m` that of actions.
"""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined
from spaql.proofs.loop_model import ClosedLoop, memory_of
from spaql.proofs.machine import Registers, Result, run
from spaql.proofs.over_boxes import ROUND, ScoreBounds, View, empty_score, view

MOST = 40  # sets that one set may become in a step
UNKNOWN = -1  # instead of a number of sets
PARTS = 2  # boxes over which slopes are averaged
SLACK = 1e-9  # of a noise symbol: more than the rounding of a cut


class Sets(NamedTuple):
    """Room for sets, a row each."""

    centre: Array  # (sets, states)
    shape: Array  # (sets, states, symbols) G
    rest: Array  # (sets, states) R
    box: Array  # (sets, states, 2) B
    way: Array  # (sets, states, 2) around all states during the step that led to it, of a differential equation
    node: Array  # of the tree at which the set stands; -1: its action is decided
    action: Array  # (sets,)
    reward: Array  # (sets, 2) of the step that led to it
    over: Array  # whether the episode ended in that step: 0 no, 1 perhaps, 2 surely


class SetWork(NamedTuple):
    """Memory for one thread, `w` in what follows. `after`: what a step makes of a set."""

    r: Registers
    out: Result
    seen: View
    score: ScoreBounds
    todo: Sets
    after: Sets
    box: Array  # (states, 2) of the set
    around: Array  # (states, 2) of the set and its centre
    whole: Array  # (inputs, 2)
    middle: Array  # (inputs,)
    shrunk: Array  # (inputs, 2)
    mean: Array  # (states, inputs, 2)
    symbols: Array  # (symbols,) a row times G
    line: Array  # (actions, states) g
    applied: Array  # (actions, 4): u_c, e, least, most
    step: Array  # (states, states) A
    difference: Array  # (seen,) of two rows of gains
    moving: Sets  # within a step of a differential equation: the set, and those of a substep
    around_way: Array  # (states, 2) box around all states during a substep
    lagrange: Array  # (states, 2)
    gaps: Array  # (gaps, 2)
    centres: Array  # (gaps, 2) at the centre of a set
    column: Array  # (states,) of a shape


def room(loop: ClosedLoop, sets: int) -> Sets:
    d, z = loop.states, np.zeros
    return Sets(
        centre=z((sets, d)), shape=z((sets, d, loop.columns)), rest=z((sets, d)), box=z((sets, d, 2)),
        way=z((sets, d, 2)), node=z(sets, np.int64), action=z(sets), reward=z((sets, 2)), over=z(sets, np.int64),
    )  # fmt: skip


def work_for(loop: ClosedLoop) -> SetWork:
    d, m, gaps, z = loop.states, loop.actions, loop.flow.gaps, np.zeros
    inputs = d + 1 if loop.flow.substeps > 0 else d + m + len(loop.noise)
    r, out = memory_of(loop)
    return SetWork(
        r=r, out=out, seen=view(loop), score=empty_score(loop), todo=room(loop, MOST), after=room(loop, MOST),
        box=z((d, 2)), around=z((d, 2)), whole=z((inputs, 2)), middle=z(inputs), shrunk=z((inputs, 2)),
        mean=z((d, inputs, 2)), symbols=z(loop.columns), line=z((m, d)), applied=z((m, 4)), step=z((d, d)),
        difference=z(loop.seen), moving=room(loop, 3), around_way=z((d, 2)), lagrange=z((d, 2)), gaps=z((gaps, 2)),
        centres=z((gaps, 2)), column=z(d),
    )  # fmt: skip


@inlined
def copy_set(source: Sets, at: int, target: Sets, to: int) -> None:
    for i in range(source.centre.shape[1]):
        target.centre[to, i], target.rest[to, i] = source.centre[at, i], source.rest[at, i]
        target.box[to, i, 0], target.box[to, i, 1] = source.box[at, i, 0], source.box[at, i, 1]
        for k in range(source.shape.shape[2]):
            target.shape[to, i, k] = source.shape[at, i, k]
    target.node[to], target.action[to] = source.node[at], source.action[at]


@apart
def box_of(sets: Sets, at: int, box: Array) -> bool:
    """The smallest box around the set; False if it is empty."""
    d = sets.centre.shape[1]
    for i in range(d):
        size = sets.rest[at, i]
        for k in range(sets.shape.shape[2]):
            size += abs(sets.shape[at, i, k])
        centre = sets.centre[at, i]
        size += ROUND * (size + abs(centre)) + 1e-300
        box[i, 0], box[i, 1] = max(centre - size, sets.box[at, i, 0]), min(centre + size, sets.box[at, i, 1])
        if box[i, 0] > box[i, 1]:
            return False
        if not box[i, 0] <= box[i, 1]:  # infinities met: nothing is known
            box[i, 0], box[i, 1] = -np.inf, np.inf
    return True


@apart
def keep(sets: Sets, at: int, row: Array, sign: float, least: float) -> None:
    """Cuts the noise symbols to where sign * row . xi >= least."""
    d, total = sets.centre.shape[1], 0.0
    for k in range(len(row)):
        total += abs(row[k])
    for k in range(len(row)):
        size = abs(row[k])
        if size <= 1e-9 * total:
            continue
        bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK
        if not bound > -1.0:
            continue
        bound = min(bound, 1.0)
        middle, half = 0.5 * (1.0 + bound), 0.5 * (1.0 - bound) + SLACK
        up = 1.0 if sign * row[k] > 0.0 else -1.0
        for i in range(d):
            moved = up * middle * sets.shape[at, i, k]
            sets.rest[at, i] += 4e-16 * (abs(sets.centre[at, i]) + abs(moved) + abs(sets.shape[at, i, k]))
            sets.centre[at, i] += moved
            sets.shape[at, i, k] *= half


@apart
def tighten(sets: Sets, at: int) -> None:
    """What the box of a set cuts off, its noise symbols need not reach either."""
    d = sets.centre.shape[1]
    for i in range(d):
        size = sets.rest[at, i]
        for k in range(sets.shape.shape[2]):
            size += abs(sets.shape[at, i, k])
        row, rest = sets.shape[at, i], sets.rest[at, i] * (1.0 + ROUND) + ROUND * abs(sets.centre[at, i])
        if sets.box[at, i, 0] > sets.centre[at, i] - size:
            keep(sets, at, row, 1.0, sets.box[at, i, 0] - sets.centre[at, i] - rest)
        if sets.box[at, i, 1] < sets.centre[at, i] + size:
            keep(sets, at, row, -1.0, sets.centre[at, i] - sets.box[at, i, 1] - rest)


# -- the mean value form -----------------------------------------------------------------------------------------------


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
    """What the program makes of a set, with the slopes in `w.mean`, cut with the target's box; its rest is added to
    that of the target.

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
    tighten(target, to)


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
