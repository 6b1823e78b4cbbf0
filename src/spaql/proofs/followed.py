"""Start boxes followed step by step, until all the sets they have become are done.

A set is done when its episode has surely ended, or after the last step. A box that cannot be
followed is cut in halves, along the noise symbol that did most where it went wrong.
"""

import itertools
import math
import time
from collections import deque
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, kernel
from spaql.ground.progress import at_work
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.sets import Sets, SetWork, box_of, copy_set, room, work_for
from spaql.proofs.steps_of_sets import Advance, advancing

STACKED = 200  # sets that one start box may be at a time
DONE, TOO_WIDE, UNSAFE, TOO_MANY, TOO_LATE, UNKNOWN = 1, -1, -2, -3, -4, -5


class Following(NamedTuple):
    """What is asked of a start box."""

    steps: int
    limits: Array  # (states, 2) never outside
    widest: Array  # (states,) sets that are wider are given up
    goes_on: bool  # no episode may end
    until_end: bool  # done when the episode has ended
    most: int  # steps of sets
    times: Array = np.zeros((0, 2), np.int64)  # (windows, 2) first and last step
    within: Array = np.zeros((0, 0, 2))  # (windows, states, 2) where the state is during these


class Stack(NamedTuple):
    """Sets that are not done, with their ages and returns so far."""

    sets: Sets
    age: Array
    returns: Array  # (sets, 2)
    box: Array  # (states, 2)
    answer: Array  # steps at most; return at least, at most; steps of sets; where to cut


def stack_for(loop: ClosedLoop) -> Stack:
    d = loop.states
    return Stack(
        room(loop, STACKED), np.zeros(STACKED, np.int64), np.zeros((STACKED, 2)), np.zeros((d, 2)), np.zeros(5),
    )  # fmt: skip


@kernel
def follow(advance: Advance, loop: ClosedLoop, w: SetWork, st: Stack, start: Array, task: Following) -> int:
    """One start box until all its sets are done. What came of it stands in `st.answer`."""
    d, sets, answer = loop.states, st.sets, st.answer
    for i in range(d):
        centre = 0.5 * (start[i, 0] + start[i, 1])
        half = 0.5 * (start[i, 1] - start[i, 0])
        sets.centre[0, i], sets.rest[0, i] = centre, 1e-15 * (abs(start[i, 0]) + abs(start[i, 1])) + 1e-300
        sets.box[0, i, 0], sets.box[0, i, 1] = start[i, 0], start[i, 1]
        for k in range(sets.shape.shape[2]):
            sets.shape[0, i, k] = half if i == k else 0.0
    st.age[0] = 0
    st.returns[0, 0] = st.returns[0, 1] = 0.0
    answer[0], answer[1], answer[2], answer[3], answer[4] = 0.0, math.inf, -math.inf, 0.0, 0.0
    count = 1
    while count > 0:
        last = count - 1
        age, least_return, most_return = st.age[last], st.returns[last, 0], st.returns[last, 1]
        if age >= task.steps:
            if task.until_end:
                return _failed(st, last, task, TOO_LATE)
            answer[0], answer[1], answer[2] = (
                max(answer[0], age),
                min(answer[1], least_return),
                max(answer[2], most_return),
            )
            count = last
            continue
        came = advance(loop, w, sets, last)
        answer[3] += 1.0
        if came < 0 or answer[3] > task.most:
            return _failed(st, last, task, UNKNOWN if came == -2 else TOO_MANY)
        count = last
        for k in range(came):
            if not box_of(w.after, k, st.box):
                continue
            over = w.after.over[k]
            flows = loop.flow.substeps > 0
            for i in range(d):
                low, high = st.box[i, 0], st.box[i, 1]
                if flows:
                    low, high = min(low, w.after.way[k, i, 0]), max(high, w.after.way[k, i, 1])
                safe = low >= task.limits[i, 0] and high <= task.limits[i, 1]
                for at in range(len(task.times)):
                    if task.times[at, 0] <= age + 1 <= task.times[at, 1]:
                        entered = age + 1 == task.times[at, 0]  # only its end is in the window
                        least, most = (st.box[i, 0], st.box[i, 1]) if entered else (low, high)
                        safe &= least >= task.within[at, i, 0] and most <= task.within[at, i, 1]
                if not safe:
                    copy_set(w.after, k, sets, last)
                    return _failed(st, last, task, UNSAFE)
                if not st.box[i, 1] - st.box[i, 0] <= task.widest[i]:
                    copy_set(w.after, k, sets, last)
                    return _failed(st, last, task, TOO_WIDE)
            if task.goes_on and over != 0:
                copy_set(w.after, k, sets, last)
                return _failed(st, last, task, UNSAFE)
            low, high = least_return + w.after.reward[k, 0], most_return + w.after.reward[k, 1]
            low, high = low - 1e-15 * abs(low), high + 1e-15 * abs(high)
            if over > 0 and task.until_end:
                answer[0] = max(answer[0], age + 1)
                answer[1], answer[2] = min(answer[1], low), max(answer[2], high)
                if over == 2:
                    continue
            if count >= STACKED - 1:
                return _failed(st, last, task, TOO_MANY)
            copy_set(w.after, k, sets, count)
            st.age[count], st.returns[count, 0], st.returns[count, 1] = age + 1, low, high
            count += 1
    return DONE


@apart
def _failed(st: Stack, at: int, task: Following, why: int) -> int:
    """Where to cut: the noise symbol, which still is the variable of the start, that makes the set
    widest."""
    d, widest, axis = len(task.widest), -1.0, 0
    for k in range(d):
        effect = 0.0
        for i in range(d):
            effect += abs(st.sets.shape[at, i, k]) / task.widest[i]
        if effect > widest:
            widest, axis = effect, k
    st.answer[4] = axis
    return why


# -- boxes cut until they can be followed ------------------------------------------------------------------------------


class Followed(NamedTuple):
    """Start boxes, and what came of them."""

    boxes: list[Array]
    answers: list[Array]
    open: list[Array]
    share: float


def followed(loop: ClosedLoop, start: Array, task: Following, seconds: float, pieces: int, smallest: float) -> Followed:
    """The start in `pieces` along its longest side, each cut in halves until it can be followed."""
    w, st = work_for(loop), stack_for(loop)
    advance = advancing(loop, w)
    follow(advance, loop, w, st, start, task._replace(steps=0))  # compiling does not count
    began = time.process_time()
    width = np.diff(start, axis=1)[:, 0]
    axis = int(np.argmax(width / task.widest))
    edges = np.linspace(start[axis, 0], start[axis, 1], pieces + 1)
    pending = deque[tuple[Array, float]]()
    for low, high in itertools.pairwise(edges):
        box = start.copy()
        box[axis] = low, high
        pending.append((box, 1.0 / pieces))
    boxes, answers, unknown, share = list[Array](), list[Array](), list[Array](), 0.0
    while pending:
        box, volume = pending.popleft()  # large ones first: what time is left for is small
        at_work("following start states", share)
        late = time.process_time() - began >= seconds
        why = TOO_LATE if late else follow(advance, loop, w, st, box, task)
        if why == DONE:
            boxes.append(box)
            answers.append(st.answer.copy())
            share += volume
            continue
        cut = int(st.answer[4])
        if box[cut, 1] - box[cut, 0] <= 0.0:
            cut = int(np.argmax(np.diff(box, axis=1)[:, 0] / task.widest))
        if late or volume < smallest or box[cut, 1] - box[cut, 0] <= 0.0:
            unknown.append(box)
            continue
        middle = 0.5 * (box[cut, 0] + box[cut, 1])
        for low, high in ((box[cut, 0], middle), (middle, box[cut, 1])):
            half = box.copy()
            half[cut] = low, high
            pending.append((half, volume / 2.0))
    return Followed(boxes, answers, unknown, share)
