"""One step of the closed loop on a set: which leaves and pieces of the controller its states reach, a line around the
action there, and the mean value form of sets.py for each way through the plant."""

import math
from collections.abc import Callable
from typing import Any

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, callback
from spaql.ground.numba_public import numba
from spaql.ground.numba_public import types as nb
from spaql.proofs.flows import flow_on
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import IMPOSSIBLE, run
from spaql.proofs.over_boxes import ROUND, look, score
from spaql.proofs.sets import MOST, SLACK, UNKNOWN, Sets, SetWork, average_slopes, box_of, copy_set, keep, mean_value

Advance = Callable[[ClosedLoop, SetWork, Sets, int], int]
_made: dict[Any, Advance] = {}


def advancing(loop: ClosedLoop, w: SetWork) -> Advance:
    """`advance`, called by pointer: so long a function would be compiled anew in every kernel that calls it."""
    kinds = tuple(numba.typeof(part) for part in (loop, w, w.todo))  # type: ignore[no-untyped-call]
    if kinds not in _made:
        _made[kinds] = callback(advance, nb.int64(*kinds, nb.int64))
    return _made[kinds]


def advance(loop: ClosedLoop, w: SetWork, sets: Sets, at: int) -> int:
    """Set number `at` a step on, into `w.after`. Returns how many sets it becomes; below zero: it cannot be told."""
    copy_set(sets, at, w.todo, 0)
    w.todo.node[0] = 0
    count, came = 1, 0
    while count > 0:
        last = count - 1
        looked = see(loop, w, w.todo, last)
        if looked < 0:
            return UNKNOWN
        if looked == 0:
            count = last
            continue
        if w.todo.node[last] >= 0:
            node = w.todo.node[last]
            several = decided(loop, w, last)
            if several < 0 or several >= MOST - 4:
                return UNKNOWN
            if several != last + 1 or w.todo.node[last] != node:
                count = several
                continue
        line_of(loop, w, last)
        for axis in range(loop.actions):
            for k in range(4):
                if not abs(w.applied[axis, k]) < math.inf:  # min and max of NaN are not known
                    return UNKNOWN
        count = last
        flows = loop.flow.substeps > 0
        for path in range(1 if flows else len(loop.begins) - 2):
            if came >= MOST - 1:
                return UNKNOWN
            outcome = flow_on(loop, w, last, came) if flows else step_of(loop, w, last, path, came)
            if outcome < 0:
                return UNKNOWN
            came += outcome
    return came


@apart
def step_of(loop: ClosedLoop, w: SetWork, last: int, path: int, to: int) -> int:
    """Set `last` of those to do, with its line, one step on along a path of the plant. 0: it does not go there."""
    d, m, begin, end = loop.states, loop.actions, loop.begins[path], loop.begins[path + 1]
    inputs = len(w.whole)
    for i in range(inputs):
        if i < d:
            w.middle[i], w.whole[i, 0], w.whole[i, 1] = w.todo.centre[last, i], w.box[i, 0], w.box[i, 1]
        elif i < d + m:
            w.middle[i], w.whole[i, 0], w.whole[i, 1] = w.applied[i - d, 0], w.applied[i - d, 2], w.applied[i - d, 3]
        else:
            w.middle[i], w.whole[i, 0], w.whole[i, 1] = 0.5, loop.noise[i - d - m, 0], loop.noise[i - d - m, 1]
    if run(loop.tape, begin, end, w.whole, False, True, w.r, w.out) == IMPOSSIBLE:
        return 0
    if w.out.verdict[2] == 0:
        return UNKNOWN
    for i in range(d):
        w.after.box[to, i, 0], w.after.box[to, i, 1] = w.out.box[i, 0], w.out.box[i, 1]
        if not w.out.box[i, 1] - w.out.box[i, 0] < 1e6:
            return UNKNOWN
    w.after.reward[to, 0], w.after.reward[to, 1] = w.out.box[d, 0], w.out.box[d, 1]
    if not (w.out.box[d, 0] > -math.inf and w.out.box[d, 1] < math.inf):  # a constant is not asked by the machine
        return UNKNOWN
    w.after.over[to] = w.out.verdict[1]
    average_slopes(loop, w, begin, end)
    for i in range(d):
        w.after.rest[to, i] = w.out.error[i]  # the last part is the whole set
    mean_value(loop, w, w.todo, last, w.after, to, begin, end, m)
    w.after.node[to] = 0
    return 1


@apart
def begin(sets: Sets, box: Array, blurred: float) -> None:
    """The first set becomes a box of the state; a held action is chosen later. `blurred`: 1.0 if the sides of the box
    are rounded themselves, else 0.0."""
    d = len(box)
    for i in range(sets.centre.shape[1]):
        low, high = (box[i, 0], box[i, 1]) if i < d else (0.0, 0.0)
        rest = 1e-15 * (abs(low) + abs(high)) + 1e-300
        sets.centre[0, i], sets.rest[0, i] = 0.5 * (low + high), rest
        sets.box[0, i, 0], sets.box[0, i, 1] = low - blurred * rest, high + blurred * rest
        for k in range(sets.shape.shape[2]):
            sets.shape[0, i, k] = 0.5 * (high - low) if i == k else 0.0


@apart
def widest_symbol(sets: Sets, at: int, widest: Array) -> int:
    """The noise symbol, which still is a variable of the start, that makes a set widest."""
    symbol, most = 0, -1.0
    for k in range(len(widest)):
        effect = 0.0
        for i in range(len(widest)):
            effect += abs(sets.shape[at, i, k]) / widest[i]
        if effect > most:
            symbol, most = k, effect
    return symbol


# -- the controller ----------------------------------------------------------------------------------------------------


@apart
def spread(w: SetWork, sets: Sets, at: int) -> tuple[float, float, float]:
    """The score in `w.score` over a set: (lowest, highest, what is no noise symbol in it). Its row
    goes to `w.symbols`."""
    d, total, loose = sets.centre.shape[1], 0.0, 0.0
    for k in range(sets.shape.shape[2]):
        symbol = 0.0
        for j in range(d):
            symbol += w.score.slope[j] * sets.shape[at, j, k]
        w.symbols[k] = symbol
        total += abs(symbol)
    for j in range(d):
        loose += abs(w.score.slope[j]) * sets.rest[at, j]
    base = w.score.numbers[0]
    loose = loose + w.score.numbers[1] + ROUND * (total + loose + abs(base))
    low, high = max(w.score.numbers[2], base - loose - total), min(w.score.numbers[3], base + loose + total)
    if not low <= high:  # infinities met: nothing is known
        return -math.inf, math.inf, math.inf
    return low, high, loose


@apart
def see(loop: ClosedLoop, w: SetWork, sets: Sets, at: int) -> int:
    """The box of a set, and what is seen from it: 1; 0 if the set is empty; below zero: what is seen is not defined."""
    if not box_of(sets, at, w.box):
        return 0
    for i in range(loop.states):
        w.around[i, 0] = min(w.box[i, 0], sets.centre[at, i])
        w.around[i, 1] = max(w.box[i, 1], sets.centre[at, i])
    return 1 if look(loop, sets.centre[at], w.around, w.r, w.out, w.seen) else UNKNOWN


@apart
def decided(loop: ClosedLoop, w: SetWork, last: int) -> int:
    """Set `last` of those to do goes one test or one choice of action on, both ways where both are
    possible.

    Returns how many are to do then, with the same number if nothing was to be chosen: the leaf is
    reached and its action is a line. A copy of the set stays behind the last one while the others
    are made of it.
    """
    node, leaf = w.todo.node[last], loop.feature[w.todo.node[last]] < 0
    spare = MOST - 1
    copy_set(w.todo, last, w.todo, spare)
    count = last
    if not leaf:
        score(loop, w.seen, loop.weights[node], -loop.cut[node], w.todo.centre[spare], w.around, w.score)
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
                # the controller rounds two sums, each of its own size
                size = abs(loop.offsets[node, k]) + abs(loop.offsets[node, other])
                for o in range(loop.seen):
                    gain, rival = loop.gains[node, k, o], loop.gains[node, other, o]
                    w.difference[o] = gain - rival
                    most = max(abs(w.seen.box[o, 0]), abs(w.seen.box[o, 1])) + loop.sensors[o]
                    size += (abs(gain) + abs(rival)) * most
                offset = loop.offsets[node, k] - loop.offsets[node, other]
                score(loop, w.seen, w.difference, offset, w.todo.centre[spare], w.around, w.score)
                slack = (4.0 * (loop.seen + 4) * loop.relative + ROUND) * size
                slack += loop.absolute * (loop.seen + 4) * (1.0 + size)
                lower = spread(w, w.todo, spare)[1] + slack < 0.0  # NaN: nothing is known
                possible &= (other == k) | (not lower)
            if possible and count >= spare:
                return UNKNOWN
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
    score(loop, w.seen, loop.gains[node, 0], loop.offsets[node, 0], w.todo.centre[spare], w.around, w.score)
    low, high, loose = spread(w, w.todo, spare)
    base = w.score.numbers[0]
    for k in range(pieces):
        first, end = loop.pieces[node, 0, k, 0], loop.pieces[node, 0, k, 1]
        if high < first - SLACK or low > end + SLACK:
            continue
        if count >= spare:
            return UNKNOWN
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
def line_of(loop: ClosedLoop, w: SetWork, last: int) -> None:
    """The controller as a line with an error, for a set whose action is decided or whose leaf is
    reached.

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
        score(loop, w.seen, loop.gains[node, axis], loop.offsets[node, axis], w.todo.centre[last], w.around, w.score)
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
                    bottom, top = min(bottom, held_low - slope * held_low), max(top, held_low - slope * held_low)
                if high > held_high:
                    bottom, top = min(bottom, held_high - slope * held_high), max(top, held_high - slope * held_high)
                middle, band = 0.5 * (bottom + top), 0.5 * (top - bottom)
        for j in range(loop.states):
            w.line[axis, j] = slope * w.score.slope[j]
        rounding = (
            ROUND * (abs(slope * base) + abs(middle) + band + abs(low) + abs(high)) * (1.0 if slope > 0.0 else 0.0)
        )
        rounding += 4.0 * loop.relative * max(abs(least), abs(most))
        w.applied[axis, 0] = slope * base + middle
        w.applied[axis, 1] = (slope * loose + band) * (1.0 + ROUND) + rounding
        w.applied[axis, 2], w.applied[axis, 3] = least - rounding, most + rounding
