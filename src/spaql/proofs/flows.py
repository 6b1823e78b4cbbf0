"""Sets through a differential equation, from one sample to the next, with every state between them.

A set has the state and the action that is held. Over a substep of length h from x in the set X, with held action u:

    B with X + [0, h] f(B, u) in B holds the way x(t), 0 <= t <= h               (Picard's operator maps B into itself)
    x(t) in P(x, u, t) + t^K R(B, u)        P, R: flow_model.py                           (Taylor, with Lagrange's rest)

P is taken in mean value form: at t = h for the next set, and over [0, h], with the time as one more variable around its
middle, for a set around the whole way. What must never happen is asked of that set, its correlations included: a gap
a - b of `over` has the mean value form g(c) + J d, with d the noise symbols of the set.
"""

import math

from spaql.ground.compiling import apart
from spaql.proofs import intervals as iv
from spaql.proofs.flow_model import GAPS, LOGIC, ORDER, POLYNOMIAL, RATES, REST
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import IMPOSSIBLE, run
from spaql.proofs.over_boxes import ROUND
from spaql.proofs.sets import UNKNOWN, Sets, SetWork, average_slopes, box_of, carry, copy_set, mean_value, tighten

TRIES, FINER = 20, 2  # of a box around the way, and how often it is made smaller
NOW, BETWEEN, NEXT = 0, 1, 2  # rows of `w.moving`
WIDE = 1e6  # a way that is wider is not followed
NO, PERHAPS, SURELY = 0, 1, 2


@apart
def flow_on(loop: ClosedLoop, w: SetWork, last: int, to: int) -> int:
    """Set `last` of those to do, with its line as the action that is held, a sample on. Returns how many sets that
    makes: 1, or 0 if it is empty; below zero: it cannot be told."""
    states = loop.states
    if not _hold(loop, w, last):
        return UNKNOWN
    for i in range(states):
        w.after.way[to, i, 0], w.after.way[to, i, 1] = math.inf, -math.inf
    w.after.over[to] = NO
    for _ in range(loop.flow.substeps):
        if not _look_around(w, NOW):
            return 0
        if not _enclosed_way(loop, w):
            return UNKNOWN
        if not loop.flow.watched:
            for i in range(states):
                w.after.way[to, i, 0], w.after.way[to, i, 1] = -math.inf, math.inf
        else:
            _flow(loop, w, BETWEEN, 0.0)
            if not _look_around(w, BETWEEN):
                return 0
            if _is_over(loop, w, BETWEEN) != NO:
                w.after.over[to] = PERHAPS
            for i in range(states):
                w.after.way[to, i, 0] = min(w.after.way[to, i, 0], w.box[i, 0])
                w.after.way[to, i, 1] = max(w.after.way[to, i, 1], w.box[i, 1])
        if not _look_around(w, NOW):
            return 0
        _flow(loop, w, NEXT, loop.flow.length[0])
        copy_set(w.moving, NEXT, w.moving, NOW)
    if not _look_around(w, NOW):
        return 0
    if w.after.over[to] != NO and _is_over(loop, w, NOW) == SURELY:
        w.after.over[to] = SURELY
    copy_set(w.moving, NOW, w.after, to)
    w.after.node[to], w.after.reward[to, 0], w.after.reward[to, 1] = 0, 0.0, 0.0
    return 1


@apart
def _hold(loop: ClosedLoop, w: SetWork, last: int) -> bool:
    """The set with the action that its line gives: u = u_c + g d, off by at most e."""
    d, states = loop.states - loop.actions, loop.states
    for i in range(states):
        axis = i - d
        for j in range(states):
            w.step[i, j] = w.line[axis, j] if axis >= 0 else 1.0 if i == j else 0.0
        w.moving.rest[NOW, i] = w.applied[axis, 1] if axis >= 0 else 0.0
        w.moving.centre[NOW, i] = w.applied[axis, 0] if axis >= 0 else w.todo.centre[last, i]
        for side in range(2):
            w.moving.box[NOW, i, side] = w.applied[axis, 2 + side] if axis >= 0 else w.box[i, side]
    known = carry(w, w.todo, last, w.moving, NOW)
    if known:
        tighten(w.moving, NOW)
    return known


@apart
def _look_around(w: SetWork, row: int) -> bool:
    """The box of a set into `w.box`, with its centre into `w.around`, and both as inputs. False: it is empty."""
    if not box_of(w.moving, row, w.box):
        return False
    for i in range(len(w.box)):
        centre = w.moving.centre[row, i]
        w.around[i, 0], w.around[i, 1] = min(w.box[i, 0], centre), max(w.box[i, 1], centre)
        w.whole[i, 0], w.whole[i, 1], w.middle[i] = w.box[i, 0], w.box[i, 1], centre
    return True


@apart
def _enclosed_way(loop: ClosedLoop, w: SetWork) -> bool:
    """Picard: a box around all states of a substep into `w.around_way`, and t^K R over it into `w.lagrange`."""
    d, states, h = loop.states - loop.actions, loop.states, loop.flow.length[1]
    begins, way = loop.flow.begins, w.around_way
    w.whole[states, 0], w.whole[states, 1] = 0.0, h
    for i in range(states):
        way[i, 0], way[i, 1] = w.box[i, 0], w.box[i, 1]
    holds, finer = False, 0
    for trial in range(TRIES):
        for i in range(d):
            w.whole[i, 0], w.whole[i, 1] = way[i, 0], way[i, 1]
        run(loop.tape, begins[RATES], begins[RATES + 1], w.whole, False, False, w.r, w.out)
        if w.out.verdict[2] == 0:  # sin(1 / x) is bounded where it is not defined
            return False
        inside = trial > 0
        for i in range(d):
            least, most = iv.times(0.0, h, w.out.box[i, 0], w.out.box[i, 1])
            low, high = iv.plus(w.box[i, 0], w.box[i, 1], min(least, 0.0), max(most, 0.0))
            inside &= (way[i, 0] <= low) & (high <= way[i, 1])
            w.lagrange[i, 0], w.lagrange[i, 1] = low, high
        holds |= inside
        if holds and not inside:  # smaller by rounding only: the last one holds
            break
        for i in range(d):
            low, high = w.lagrange[i, 0], w.lagrange[i, 1]
            if not high - low < WIDE:
                return False
            if holds:
                way[i, 0], way[i, 1] = max(low, way[i, 0]), min(high, way[i, 1])
            else:
                more = 0.1 * (high - low) + 1e-12 * (abs(low) + abs(high)) + 1e-15
                way[i, 0], way[i, 1] = min(low - more, way[i, 0]), max(high + more, way[i, 1])
        finer += 1 if holds else 0
        if finer > FINER:
            break
    if not holds:
        return False
    for i in range(d):
        w.whole[i, 0], w.whole[i, 1] = way[i, 0], way[i, 1]
    run(loop.tape, begins[REST], begins[REST + 1], w.whole, False, False, w.r, w.out)
    power = h
    for _ in range(ORDER - 1):
        power = iv.up(power * h)
    finite = True
    for i in range(d):
        # from zero, where t = 0: over the whole way, and so at its end too
        least, most = iv.times(0.0, power, w.out.box[i, 0], w.out.box[i, 1])
        w.lagrange[i, 0], w.lagrange[i, 1] = min(least, 0.0), max(most, 0.0)
        w.whole[i, 0], w.whole[i, 1] = w.box[i, 0], w.box[i, 1]
        finite &= most - least < WIDE
    return finite


@apart
def _flow(loop: ClosedLoop, w: SetWork, to: int, first: float) -> None:
    """The set around x(t) for t from `first` to h into row `to`."""
    d, states = loop.states - loop.actions, loop.states
    begin, end = loop.flow.begins[POLYNOMIAL], loop.flow.begins[POLYNOMIAL + 1]
    h = loop.flow.length[1]
    w.whole[states, 0], w.whole[states, 1], w.middle[states] = first, h, 0.5 * (first + h)
    run(loop.tape, begin, end, w.whole, False, False, w.r, w.out)
    for i in range(states):
        low, high = w.out.box[i, 0], w.out.box[i, 1]
        w.moving.rest[to, i] = 0.0
        if i < d:
            low, high = iv.plus(low, high, w.lagrange[i, 0], w.lagrange[i, 1])
            low, high = max(low, w.around_way[i, 0]), min(high, w.around_way[i, 1])
        w.moving.box[to, i, 0], w.moving.box[to, i, 1] = low, high
    average_slopes(loop, w, begin, end)
    for i in range(d):
        w.moving.rest[to, i] = max(-w.lagrange[i, 0], w.lagrange[i, 1])
    mean_value(loop, w, w.moving, NOW, w.moving, to, begin, end, 0)


@apart
def _is_over(loop: ClosedLoop, w: SetWork, row: int) -> int:
    """Whether `over` says yes of states of a set, whose box and centre are the inputs."""
    programs, sets, count = loop.flow.begins, w.moving, loop.flow.gaps
    ways = len(programs) - LOGIC - 1
    if ways <= 0:
        return NO
    states = loop.states
    w.whole[states, 0] = w.whole[states, 1] = w.middle[states] = 0.0
    for i in range(states):
        w.shrunk[i, 0], w.shrunk[i, 1] = w.around[i, 0], w.around[i, 1]
    w.shrunk[states, 0] = w.shrunk[states, 1] = 0.0
    run(loop.tape, programs[GAPS], programs[GAPS + 1], w.whole, False, False, w.r, w.out)
    if w.out.verdict[2] == 0:  # log(x) > 2 says no where it is not defined
        return PERHAPS
    for q in range(count):
        w.gaps[q, 0], w.gaps[q, 1] = w.out.box[q, 0], w.out.box[q, 1]
    for i in range(states):
        w.shrunk[i, 0] = w.shrunk[i, 1] = w.middle[i]
    run(loop.tape, programs[GAPS], programs[GAPS + 1], w.shrunk, False, False, w.r, w.out)
    for q in range(count):
        w.centres[q, 0], w.centres[q, 1] = w.out.box[q, 0], w.out.box[q, 1]
    for i in range(states):
        w.shrunk[i, 0], w.shrunk[i, 1] = w.around[i, 0], w.around[i, 1]
    run(loop.tape, programs[GAPS], programs[GAPS + 1], w.shrunk, True, False, w.r, w.out)
    for q in range(count):
        low, high = _correlated(w, sets, row, q)
        if low <= high:  # else nothing is known: infinities met
            w.gaps[q, 0], w.gaps[q, 1] = max(low, w.gaps[q, 0]), min(high, w.gaps[q, 1])
    no, yes = True, True
    for way in range(ways):
        begin, end = programs[LOGIC + way], programs[LOGIC + way + 1]
        if run(loop.tape, begin, end, w.gaps, False, True, w.r, w.out) == IMPOSSIBLE:
            continue
        no &= w.out.verdict[1] == 0
        yes &= w.out.verdict[1] == 2
    return NO if no else SURELY if yes else PERHAPS


@apart
def _correlated(w: SetWork, sets: Sets, row: int, q: int) -> tuple[float, float]:
    """Gap q over a set: g(c) + J d, with J the slopes in `w.out` and g(c) in `w.centres`."""
    states = len(w.around)
    loose, size = 0.0, abs(w.centres[q, 0]) + abs(w.centres[q, 1])
    for j in range(states):
        middle = 0.5 * (w.out.slopes[q, j, 0] + w.out.slopes[q, j, 1])
        half = 0.5 * (w.out.slopes[q, j, 1] - w.out.slopes[q, j, 0])
        reach = max(w.around[j, 1] - sets.centre[row, j], sets.centre[row, j] - w.around[j, 0])
        loose += abs(middle) * sets.rest[row, j] + (half + ROUND * abs(middle)) * reach
        w.column[j] = middle
    total = 0.0
    for k in range(sets.shape.shape[2]):
        symbol = 0.0
        for j in range(states):
            product = w.column[j] * sets.shape[row, j, k]
            symbol += product
            size += abs(product)
        total += abs(symbol)
    away = (total + loose) * (1.0 + ROUND) + ROUND * size + 1e-300
    return w.centres[q, 0] - away, w.centres[q, 1] + away
