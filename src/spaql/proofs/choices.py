"""What the controller does on a set: which leaves and pieces its states reach, and a line around
the action there."""

import math

from spaql.ground.compiling import apart
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.score_bounds import ROUND, look, score
from spaql.proofs.sets import MOST, SLACK, TOO_MANY, UNKNOWN, Sets, SetWork, box_of, copy_set, keep


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
                return TOO_MANY
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
