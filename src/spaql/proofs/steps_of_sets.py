"""One step of the closed loop on a set: the mean value form of sets.py, path by path of the
plant."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, callback, kernel
from spaql.ground.numba_public import numba
from spaql.ground.numba_public import types as nb
from spaql.proofs.cell_grid import Inner, place_in
from spaql.proofs.choices import decided, line_of, see
from spaql.proofs.flow_model import POLYNOMIAL
from spaql.proofs.flows import flow_on
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import IMPOSSIBLE, run
from spaql.proofs.mean_values import average_slopes, mean_value
from spaql.proofs.sets import MOST, TOO_MANY, UNKNOWN, Sets, SetWork, copy_set, tighten

LONGEST = 400  # steps of the simulation that tells in which order cells are tried


Advance = Callable[[ClosedLoop, SetWork, Sets, int], int]
_made: dict[Any, Advance] = {}


def advancing(loop: ClosedLoop, w: SetWork) -> Advance:
    """`advance`, called by pointer: so long a function would be compiled anew in every kernel that calls it."""
    kinds = tuple(numba.typeof(part) for part in (loop, w, w.todo))  # type: ignore[no-untyped-call]
    if kinds not in _made:
        _made[kinds] = callback(advance, nb.int64(*kinds, nb.int64))
    return _made[kinds]


def advance(loop: ClosedLoop, w: SetWork, sets: Sets, at: int) -> int:
    """Set number `at` a step on, into `w.after`. Returns how many sets it becomes; below zero: it
    cannot be told."""
    copy_set(sets, at, w.todo, 0)
    w.todo.node[0] = 0
    count, came = 1, 0
    while count > 0:
        last = count - 1
        looked = see(loop, w, w.todo, last)
        if looked < 0:
            return looked
        if looked == 0:
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
        for axis in range(loop.actions):
            for k in range(4):
                if not abs(w.applied[axis, k]) < math.inf:  # min and max of NaN are not known
                    return UNKNOWN
        count = last
        if loop.flow.substeps > 0:
            outcome = flow_on(loop, w, last, came)
            if outcome < 0:
                return outcome
            came += outcome
            if came >= MOST - 1:
                return TOO_MANY
        for path in range(len(loop.begins) - 2):
            if came >= MOST - 1:
                return TOO_MANY
            outcome = step_of(loop, w, last, path, came)
            if outcome < 0:
                return outcome
            came += outcome
    return came


@apart
def step_of(loop: ClosedLoop, w: SetWork, last: int, path: int, to: int) -> int:
    """Set `last` of those to do, with its line, one step on along a path of the plant. 0: it does
    not go there."""
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
    tighten(w.after, to)
    w.after.node[to] = 0
    return 1


# -- by simulation -----------------------------------------------------------------------------------------------------


@kernel
def arrivals(
    loop: ClosedLoop,
    w: SetWork,
    fine: Any,
    met: Any,
    inner: Inner,
    states: Array,
    steps: Array,
    rewards: Array,
    lowest: Array,
    highest: Array,
) -> None:
    """By simulation in the middle of ranges: after how many steps a state is in a known cell of
    `fine`, or in the set beside the cells.

    One that comes to a cell of `met` where others have begun ends there, as it goes on nearly as they do. `states`
    become the last ones, `rewards` their sums, `lowest` and `highest` go around all of them.
    """
    d, m = loop.variables, loop.actions
    for n in range(len(states)):
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = states[n, i]
        steps[n], rewards[n], first = LONGEST, 0.0, -1
        for step in range(LONGEST):
            cell, near = place_in(fine, w.shrunk), 0.0
            for i in range(d):
                lowest[i], highest[i] = min(lowest[i], w.shrunk[i, 0]), max(highest[i], w.shrunk[i, 0])
            for i in range(d):
                along = 0.0
                for j in range(d):
                    along += inner.rows[i, j] * (w.shrunk[j, 0] - inner.middle[j])
                near += along * along
            if (cell >= 0 and fine.bound[cell] >= 0) or (inner.within > 0.0 and near < 0.5 * inner.within):
                steps[n] = step + (max(fine.bound[cell], 0) if cell >= 0 else 0)
                break
            cell = place_in(met, w.shrunk)
            if cell >= 0 and met.bound[cell] >= 0:
                steps[n] = min(step + met.bound[cell], LONGEST)
                break
            first = cell if step == 0 else first
            run(loop.tape, loop.begins[-2], loop.begins[-1], w.shrunk, False, False, w.r, w.out)
            for o in range(loop.seen):
                w.seen.middle[o, 0] = 0.5 * (w.out.box[o, 0] + w.out.box[o, 1])
            _act(loop, w)
            for q in range(m):
                w.shrunk[d + q, 0] = w.shrunk[d + q, 1] = w.applied[q, 0]
            if loop.flow.substeps > 0:
                _simulated(loop, w)
                continue
            for q in range(len(loop.noise)):
                w.shrunk[d + m + q, 0] = w.shrunk[d + m + q, 1] = 0.5
            for path in range(len(loop.begins) - 2):
                if run(loop.tape, loop.begins[path], loop.begins[path + 1], w.shrunk, False, True, w.r, w.out) > 0:
                    break
            rewards[n] += 0.5 * (w.out.box[d, 0] + w.out.box[d, 1])
            for i in range(d):
                w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
        for i in range(d):
            states[n, i] = w.shrunk[i, 0]
        if first >= 0:
            met.bound[first] = steps[n]


@apart
def _simulated(loop: ClosedLoop, w: SetWork) -> None:
    """A sample of a differential equation, from `w.shrunk` into it, without any rest."""
    begin, end, d = loop.flow.begins[POLYNOMIAL], loop.flow.begins[POLYNOMIAL + 1], loop.variables
    w.shrunk[loop.states, 0] = w.shrunk[loop.states, 1] = loop.flow.length[1]
    for _ in range(loop.flow.substeps):
        run(loop.tape, begin, end, w.shrunk, False, False, w.r, w.out)
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])


@apart
def _act(loop: ClosedLoop, w: SetWork) -> None:
    """The action at what is seen, in `w.applied`."""
    node = 0
    while loop.feature[node] >= 0:
        total = -loop.cut[node]
        for o in range(loop.seen):
            total += loop.weights[node, o] * w.seen.middle[o, 0]
        node = loop.high[node] if total >= 0.0 else loop.low[node]
    for q in range(loop.actions):
        total = loop.offsets[node, q]
        for o in range(loop.seen):
            total += loop.gains[node, q, o] * w.seen.middle[o, 0]
        for k in range(loop.pieces.shape[2]):
            if loop.pieces[node, q, k, 0] <= total:
                w.applied[q, 0] = loop.pieces[node, q, k, 2] + loop.pieces[node, q, k, 3] * total
    if loop.scored == 1:
        best, highest = 0, -np.inf
        for k in range(len(loop.values)):
            total = loop.offsets[node, k]
            for o in range(loop.seen):
                total += loop.gains[node, k, o] * w.seen.middle[o, 0]
            if total > highest:
                best, highest = k, total
        w.applied[0, 0] = loop.values[best]
