"""Sets of states, and one step of the closed loop on them.

A set is the image of a cube, in a box:   { c + G xi + r :  |xi_k| <= 1, |r_i| <= R_i }  cut with  B.

With x = c + d, the line u_c + g d of the controller, off by at most e, and slopes J averaged over boxes that shrink to c,

    f(x, u)  in  f(c, u_c) + (J_x + J_u g) d + J_u e           (mean value form, as in linear.py)

so the next c is f(c, u_c), the next G is A G with A = mid J_x + mid J_u g, and the next R is |A| R, |J_u| e, what slopes
differ from their middle times |d|, and rounding. The range of the program itself over the set, values cut by what the
answers to the plant's conditions say, is the next B: it knows of walls and of limits of speed. Where slopes are not known
(a jump), B alone is the next set.

Where a test, a threshold or a condition of the plant can go both ways, the set is taken twice, each time with the bounds
of xi that its side allows: of a . xi >= b follows a_k xi_k >= b - sum of |a_j|, j not k.
"""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined
from spaql.proofs.machine import IMPOSSIBLE, Registers, Result, run
from spaql.proofs.model import ClosedLoop, memory_of
from spaql.proofs.scores import ROUND, Score, View, empty_score, look, score, view

MOST = 40  # sets that one set may become in a step
TOO_MANY, UNKNOWN = -1, -2
PARTS = 2  # boxes over which slopes are averaged
SLACK = 1e-9  # of a noise symbol: more than the rounding of a cut


class Sets(NamedTuple):
    """Room for sets, a row each."""

    centre: Array  # (sets, states)
    shape: Array  # (sets, states, states) G
    rest: Array  # (sets, states) R
    box: Array  # (sets, states, 2) B
    node: Array  # of the tree at which the set stands; -1: its action is decided
    action: Array  # (sets,)
    reward: Array  # (sets, 2) of the step that led to it
    over: Array  # whether the episode ended in that step: 0 no, 1 perhaps, 2 surely


class Work(NamedTuple):
    """Memory for one thread. `after`: what a step makes of a set."""

    r: Registers
    out: Result
    seen: View
    score: Score
    todo: Sets
    after: Sets
    box: Array  # (states, 2) of the set
    around: Array  # (states, 2) of the set and its centre
    whole: Array  # (inputs, 2)
    middle: Array  # (inputs,)
    shrunk: Array  # (inputs, 2)
    mean: Array  # (states, inputs, 2)
    symbols: Array  # (states,) a row times G
    line: Array  # (actions, states) g
    applied: Array  # (actions, 4): u_c, e, least, most
    step: Array  # (states, states) A
    difference: Array  # (seen,) of two rows of gains


def room(loop: ClosedLoop, sets: int) -> Sets:
    d, z = loop.states, np.zeros
    return Sets(
        z((sets, d)), z((sets, d, d)), z((sets, d)), z((sets, d, 2)), z(sets, np.int64), z(sets), z((sets, 2)),
        z(sets, np.int64),
    )  # fmt: skip


def work_for(loop: ClosedLoop) -> Work:
    d, m, z = loop.states, loop.actions, np.zeros
    inputs = d + m + len(loop.noise)
    return Work(
        *memory_of(loop), view(loop), empty_score(loop), room(loop, MOST), room(loop, MOST), z((d, 2)), z((d, 2)),
        z((inputs, 2)), z(inputs), z((inputs, 2)), z((d, inputs, 2)), z(d), z((m, d)), z((m, 4)), z((d, d)),
        z(loop.seen),
    )  # fmt: skip


@inlined
def copy_set(source: Sets, at: int, target: Sets, to: int) -> None:
    for i in range(source.centre.shape[1]):
        target.centre[to, i], target.rest[to, i] = source.centre[at, i], source.rest[at, i]
        target.box[to, i, 0], target.box[to, i, 1] = source.box[at, i, 0], source.box[at, i, 1]
        for k in range(source.centre.shape[1]):
            target.shape[to, i, k] = source.shape[at, i, k]
    target.node[to], target.action[to] = source.node[at], source.action[at]


@apart
def box_of(sets: Sets, at: int, box: Array) -> bool:
    """The smallest box around the set; False if it is empty."""
    d = sets.centre.shape[1]
    for i in range(d):
        size = sets.rest[at, i]
        for k in range(d):
            size += abs(sets.shape[at, i, k])
        centre = sets.centre[at, i]
        size += ROUND * (size + abs(centre)) + 1e-300
        box[i, 0], box[i, 1] = (
            max(centre - size, sets.box[at, i, 0]),
            min(centre + size, sets.box[at, i, 1]),
        )
        if not box[i, 0] <= box[i, 1]:
            return False
    return True


@apart
def keep(sets: Sets, at: int, row: Array, sign: float, least: float) -> None:
    """Cuts the noise symbols to where sign * row . xi >= least."""
    d, total = sets.centre.shape[1], 0.0
    for k in range(d):
        total += abs(row[k])
    for k in range(d):
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
            sets.rest[at, i] += 4e-16 * (
                abs(sets.centre[at, i]) + abs(moved) + abs(sets.shape[at, i, k])
            )
            sets.centre[at, i] += moved
            sets.shape[at, i, k] *= half


@apart
def tighten(sets: Sets, at: int) -> None:
    """What the box of a set cuts off, its noise symbols need not reach either."""
    d = sets.centre.shape[1]
    for i in range(d):
        size = sets.rest[at, i]
        for k in range(d):
            size += abs(sets.shape[at, i, k])
        row, rest = (
            sets.shape[at, i],
            sets.rest[at, i] * (1.0 + ROUND) + ROUND * abs(sets.centre[at, i]),
        )
        if sets.box[at, i, 0] > sets.centre[at, i] - size:
            keep(sets, at, row, 1.0, sets.box[at, i, 0] - sets.centre[at, i] - rest)
        if sets.box[at, i, 1] < sets.centre[at, i] + size:
            keep(sets, at, row, -1.0, sets.centre[at, i] - sets.box[at, i, 1] - rest)


@apart
def spread(w: Work, sets: Sets, at: int) -> tuple[float, float, float]:
    """The score in `w.score` over a set: (lowest, highest, what is no noise symbol in it). Its row goes to `w.symbols`."""
    d, total, loose = sets.centre.shape[1], 0.0, 0.0
    for k in range(d):
        symbol = 0.0
        for j in range(d):
            symbol += w.score.slope[j] * sets.shape[at, j, k]
        w.symbols[k] = symbol
        total += abs(symbol)
        loose += abs(w.score.slope[k]) * sets.rest[at, k]
    base = w.score.numbers[0]
    loose = loose + w.score.numbers[1] + ROUND * (total + loose + abs(base))
    low, high = (
        max(w.score.numbers[2], base - loose - total),
        min(w.score.numbers[3], base + loose + total),
    )
    if not low <= high:  # infinities met: nothing is known
        return -math.inf, math.inf, math.inf
    return low, high, loose


@apart
def see(loop: ClosedLoop, w: Work, sets: Sets, at: int) -> bool:
    """The box of a set, and what is seen from it; False if the set is empty."""
    if not box_of(sets, at, w.box):
        return False
    for i in range(loop.states):
        w.around[i, 0] = min(w.box[i, 0], sets.centre[at, i])
        w.around[i, 1] = max(w.box[i, 1], sets.centre[at, i])
    look(loop, sets.centre[at], w.around, w.r, w.out, w.seen)
    return True


@apart
def decided(loop: ClosedLoop, w: Work, last: int) -> int:
    """Set `last` of those to do goes one test or one choice of action on, both ways where both are possible.

    Returns how many are to do then, with the same number if nothing was to be chosen: the leaf is reached and its action
    is a line. A copy of the set stays behind the last one while the others are made of it.
    """
    node, leaf = w.todo.node[last], loop.feature[w.todo.node[last]] < 0
    spare = MOST - 1
    copy_set(w.todo, last, w.todo, spare)
    count = last
    if not leaf:
        score(
            loop,
            w.seen,
            loop.weights[node],
            -loop.cut[node],
            w.todo.centre[spare],
            w.around,
            w.score,
        )
        low, high, loose = spread(w, w.todo, spare)
        base = w.score.numbers[0]
        for side in range(2):
            if (high >= 0.0) if side == 1 else (low <= 0.0):
                copy_set(w.todo, spare, w.todo, count)
                w.todo.node[count] = loop.high[node] if side == 1 else loop.low[node]
                sign = 1.0 if side == 1 else -1.0
                if (low < 0.0) if side == 1 else (high > 0.0):
                    keep(w.todo, count, w.symbols, sign, -sign * base - loose)
                count += 1
        return count
    if loop.scored == 1:
        for k in range(len(loop.values)):
            possible = True
            for other in range(len(loop.values)):
                for o in range(loop.seen):
                    w.difference[o] = loop.gains[node, k, o] - loop.gains[node, other, o]
                offset = loop.offsets[node, k] - loop.offsets[node, other]
                score(loop, w.seen, w.difference, offset, w.todo.centre[spare], w.around, w.score)
                slack = (
                    4.0 * loop.relative * abs(w.score.numbers[3]) + loop.absolute
                )  # two sums, rounded each
                possible &= (other == k) | (spread(w, w.todo, spare)[1] + slack >= 0.0)
            if possible:
                copy_set(w.todo, spare, w.todo, count)
                w.todo.node[count], w.todo.action[count] = -1, loop.values[k]
                count += 1
        return count
    pieces = loop.pieces.shape[2]
    constant = True
    for k in range(pieces):
        constant &= loop.pieces[node, 0, k, 3] == 0.0
    if pieces == 1 or not constant:
        return last + 1
    score(
        loop,
        w.seen,
        loop.gains[node, 0],
        loop.offsets[node, 0],
        w.todo.centre[spare],
        w.around,
        w.score,
    )
    low, high, loose = spread(w, w.todo, spare)
    base = w.score.numbers[0]
    for k in range(pieces):
        first, end = loop.pieces[node, 0, k, 0], loop.pieces[node, 0, k, 1]
        if high < first - SLACK or low > end + SLACK:
            continue
        if count >= spare:
            return TOO_MANY
        copy_set(w.todo, spare, w.todo, count)
        w.todo.node[count], w.todo.action[count] = -1, loop.pieces[node, 0, k, 2]
        if low < first:
            spread(w, w.todo, count)
            keep(w.todo, count, w.symbols, 1.0, first - SLACK - base - loose)
        if high > end:  # the first cut has moved the centre and changed the noise symbols
            moved, size = base, abs(base)
            for j in range(loop.states):
                away = w.score.slope[j] * (w.todo.centre[count, j] - w.todo.centre[spare, j])
                moved, size = moved + away, size + abs(away)
            spread(w, w.todo, count)
            keep(w.todo, count, w.symbols, -1.0, moved - end - SLACK - loose - ROUND * size)
        count += 1
    return count


@apart
def line_of(loop: ClosedLoop, w: Work, last: int) -> None:
    """The controller as a line with an error, for a set whose action is decided or whose leaf is reached.

    A clipped law that is partly held is enclosed by its chord over the range of scores, and a band.
    """
    node = w.todo.node[last]
    for axis in range(loop.actions):
        for j in range(loop.states):
            w.line[axis, j] = 0.0
        if node < 0:
            value = w.todo.action[last]
            error = 2.0 * loop.relative * abs(value)
            w.applied[axis, 0], w.applied[axis, 1] = value, error
            w.applied[axis, 2], w.applied[axis, 3] = value - error, value + error
            continue
        score(
            loop,
            w.seen,
            loop.gains[node, axis],
            loop.offsets[node, axis],
            w.todo.centre[last],
            w.around,
            w.score,
        )
        low, high, _ = spread(w, w.todo, last)
        base, loose = w.score.numbers[0], w.score.numbers[1]
        pieces = loop.pieces.shape[2]
        held_low, held_high = loop.pieces[node, axis, 0, 2], loop.pieces[node, axis, pieces - 1, 2]
        if pieces == 1:  # a constant: its score is zero, and so is its slope
            least, most, slope, middle, band = held_low, held_low, 0.0, held_low, 0.0
        else:
            least, most = min(max(low, held_low), held_high), min(max(high, held_low), held_high)
            slope, middle, band = 1.0, 0.0, 0.0
            if high <= held_low or low >= held_high:
                slope, middle = 0.0, least
            elif low < held_low or high > held_high:
                slope = (most - least) / (high - low)
                # the clipped line less the chord's direction: extremes at the ends and at the corners
                off, away = least - slope * low, most - slope * high
                bottom, top = min(off, away), max(off, away)
                if low < held_low:
                    bottom, top = (
                        min(bottom, held_low - slope * held_low),
                        max(top, held_low - slope * held_low),
                    )
                if high > held_high:
                    bottom, top = (
                        min(bottom, held_high - slope * held_high),
                        max(top, held_high - slope * held_high),
                    )
                middle, band = 0.5 * (bottom + top), 0.5 * (top - bottom)
        for j in range(loop.states):
            w.line[axis, j] = slope * w.score.slope[j]
        rounding = (
            ROUND
            * (abs(slope * base) + abs(middle) + band + abs(low) + abs(high))
            * (1.0 if slope > 0.0 else 0.0)
        )
        rounding += 4.0 * loop.relative * max(abs(least), abs(most))
        w.applied[axis, 0] = slope * base + middle
        w.applied[axis, 1] = (slope * loose + band) * (1.0 + ROUND) + rounding
        w.applied[axis, 2], w.applied[axis, 3] = least - rounding, most + rounding


@apart
def advance(loop: ClosedLoop, w: Work, sets: Sets, at: int) -> int:
    """Set number `at` a step on, into `w.after`. Returns how many sets it becomes; below zero: it cannot be told."""
    copy_set(sets, at, w.todo, 0)
    w.todo.node[0] = 0
    count, made = 1, 0
    while count > 0:
        last = count - 1
        if not see(loop, w, w.todo, last):
            count = last
            continue
        if w.todo.node[last] >= 0:
            node = w.todo.node[last]
            several = decided(loop, w, last)
            if several < 0 or several >= MOST - 4:
                return TOO_MANY
            if several != last + 1 or w.todo.node[last] != node:
                count = several
                continue
        line_of(loop, w, last)
        count = last
        for path in range(len(loop.begins) - 2):
            if made >= MOST - 1:
                return TOO_MANY
            outcome = step_of(loop, w, last, path, made)
            if outcome < 0:
                return outcome
            made += outcome
    return made


@apart
def step_of(loop: ClosedLoop, w: Work, last: int, path: int, to: int) -> int:
    """Set `last` of those to do, with its line, one step on along a path of the plant. 0: it does not go there."""
    d, m, begin, end = loop.states, loop.actions, loop.begins[path], loop.begins[path + 1]
    inputs = len(w.whole)
    for i in range(inputs):
        if i < d:
            w.middle[i], w.whole[i, 0], w.whole[i, 1] = (
                w.todo.centre[last, i],
                w.box[i, 0],
                w.box[i, 1],
            )
        elif i < d + m:
            w.middle[i], w.whole[i, 0], w.whole[i, 1] = (
                w.applied[i - d, 0],
                w.applied[i - d, 2],
                w.applied[i - d, 3],
            )
        else:
            w.middle[i], w.whole[i, 0], w.whole[i, 1] = (
                0.5,
                loop.noise[i - d - m, 0],
                loop.noise[i - d - m, 1],
            )
    if run(loop.tape, begin, end, w.whole, False, True, w.r, w.out) == IMPOSSIBLE:
        return 0
    for i in range(d):
        w.after.box[to, i, 0], w.after.box[to, i, 1] = w.out.box[i, 0], w.out.box[i, 1]
        if not w.out.box[i, 1] - w.out.box[i, 0] < 1e6:
            return UNKNOWN
        for j in range(inputs):
            w.mean[i, j, 0] = w.mean[i, j, 1] = 0.0
    w.after.reward[to, 0], w.after.reward[to, 1] = w.out.box[d, 0], w.out.box[d, 1]
    w.after.over[to] = w.out.verdict[1]
    for part in range(PARTS):
        share = (part + 1.0) / PARTS
        for i in range(inputs):
            low, high = min(w.whole[i, 0], w.middle[i]), max(w.whole[i, 1], w.middle[i])
            low, high = (
                w.middle[i] + share * (low - w.middle[i]),
                w.middle[i] + share * (high - w.middle[i]),
            )
            w.shrunk[i, 0], w.shrunk[i, 1] = (
                low - 1e-15 * abs(low) - 1e-300,
                high + 1e-15 * abs(high) + 1e-300,
            )
        run(loop.tape, begin, end, w.shrunk, True, False, w.r, w.out)
        for i in range(d):
            for j in range(inputs):
                w.mean[i, j, 0] += w.out.slopes[i, j, 0] / PARTS
                w.mean[i, j, 1] += w.out.slopes[i, j, 1] / PARTS
    for i in range(d):
        w.after.rest[to, i] = w.out.error[i]  # the last part is the whole set
    for i in range(inputs):
        w.shrunk[i, 0] = w.shrunk[i, 1] = w.middle[i]
    run(loop.tape, begin, end, w.shrunk, False, False, w.r, w.out)
    known = True
    for i in range(d):
        known &= _row(loop, w, last, to, i)
    for i in range(d):
        if not known:
            low, high = w.after.box[to, i, 0], w.after.box[to, i, 1]
            w.after.centre[to, i] = 0.5 * (low + high)
            w.after.rest[to, i] = (
                0.5 * (high - low) * (1.0 + ROUND) + ROUND * max(abs(low), abs(high)) + 1e-300
            )
        for k in range(d if not known else 0):
            w.after.shape[to, i, k] = 0.0
    if known:
        tighten(w.after, to)
    w.after.node[to] = 0
    return 1


@inlined
def _row(loop: ClosedLoop, w: Work, last: int, to: int, i: int) -> bool:
    """Variable i of the next set; False if its slopes are not known."""
    d, m = loop.states, loop.actions
    rest = w.after.rest[to, i] + (w.out.box[i, 1] - w.out.box[i, 0])
    for j in range(d):
        w.step[i, j] = 0.5 * (w.mean[i, j, 0] + w.mean[i, j, 1])
    for j in range(len(w.whole)):
        middle, half = (
            0.5 * (w.mean[i, j, 0] + w.mean[i, j, 1]),
            0.5 * (w.mean[i, j, 1] - w.mean[i, j, 0]),
        )
        reach = max(w.whole[j, 1] - w.middle[j], w.middle[j] - w.whole[j, 0])
        rest += (half + ROUND * abs(middle)) * max(reach, 0.0)
        if d <= j < d + m:
            rest += abs(middle) * w.applied[j - d, 1]
            for k in range(d):
                w.step[i, k] += middle * w.line[j - d, k]
        elif j >= d + m:
            rest += abs(middle) * 0.5
    size = abs(0.5 * (w.out.box[i, 0] + w.out.box[i, 1]))
    for k in range(d):
        total = 0.0
        for j in range(d):
            total += w.step[i, j] * w.todo.shape[last, j, k]
            size += abs(w.step[i, j] * w.todo.shape[last, j, k])
        w.after.shape[to, i, k] = total
        rest += abs(w.step[i, k]) * w.todo.rest[last, k]
        size += abs(w.step[i, k]) * abs(w.around[k, 1] - w.around[k, 0])
    w.after.centre[to, i] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
    w.after.rest[to, i] = rest * (1.0 + ROUND) + ROUND * size + 1e-300
    return rest < math.inf and size < math.inf
