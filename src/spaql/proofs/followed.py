"""Start boxes followed step by step, until all the sets they have become are done, or in a region never left.

A set is done when its episode has surely ended, or after the last step. A box that cannot be followed is cut in halves,
along the noise symbol that did most where it went wrong.

Around the state that the loop holds is a box from which the linear loop (linear_loop.py) leaves a region never. All
starts are followed (followed.py) for so many steps until all of their sets are in the box. So the bounds hold for ever
if they hold on the way and in the region, and what holds in the region is reached.

Each part of what is held, such as a reference, has a box and a region of its own.
"""

import itertools
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import kernel
from spaql.ground.progress import at_work
from spaql.proofs.counterexamples import visited
from spaql.proofs.linear_loop import SLOPES
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.loops_proven import ProvenPart, best_part, equilibrium
from spaql.proofs.over_boxes import Workplace
from spaql.proofs.questions import Question
from spaql.proofs.sets import Sets, SetWork, box_of, copy_set, room, work_for
from spaql.proofs.steps_of_sets import Advance, advancing, begin, widest_symbol
from spaql.trees.tree import Tree

STACKED = 200  # sets that one start box may be at a time
SYMBOLS = 6  # noise symbols per variable


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
    """Memory `st`: sets that are not done, with their ages and returns so far."""

    sets: Sets
    age: Array
    returns: Array  # (sets, 2)
    box: Array  # (states, 2)
    answer: Array  # steps at most; return at least, at most; steps of sets; where to cut


def with_symbols(loop: ClosedLoop) -> ClosedLoop:
    """For sets that are followed for long."""
    return loop._replace(columns=SYMBOLS * loop.states)


def stack_for(loop: ClosedLoop) -> Stack:
    z = np.zeros
    return Stack(room(loop, STACKED), z(STACKED, np.int64), z((STACKED, 2)), z((loop.states, 2)), z(5))


@kernel
def follow(advance: Advance, loop: ClosedLoop, w: SetWork, st: Stack, start: Array, task: Following) -> bool:
    """Whether all that is asked is true of a start box. What came of it, or where to cut it, stands in `st.answer`."""
    d, sets, answer, flows = loop.variables, st.sets, st.answer, loop.flow.substeps > 0
    begin(sets, start, 0.0)
    st.age[0] = 0
    st.returns[0, 0] = st.returns[0, 1] = 0.0
    answer[0], answer[1], answer[2], answer[3], answer[4] = 0.0, math.inf, -math.inf, 0.0, 0.0
    count = 1
    while count > 0:
        last = count - 1
        age, least_return, most_return = st.age[last], st.returns[last, 0], st.returns[last, 1]
        answer[4] = widest_symbol(sets, last, task.widest)
        if age >= task.steps:
            if task.until_end:
                return False
            answer[0] = max(answer[0], age)
            answer[1], answer[2] = min(answer[1], least_return), max(answer[2], most_return)
            count = last
            continue
        came = advance(loop, w, sets, last)
        answer[3] += 1.0
        if came < 0 or answer[3] > task.most:
            return False
        count = last
        for k in range(came):
            if not box_of(w.after, k, st.box):
                continue
            over = w.after.over[k]
            safe = over == 0 or not task.goes_on
            for i in range(d):
                first, end = st.box[i, 0], st.box[i, 1]
                low, high = first, end
                if flows:
                    low, high = min(low, w.after.way[k, i, 0]), max(high, w.after.way[k, i, 1])
                safe &= low >= task.limits[i, 0] and high <= task.limits[i, 1] and end - first <= task.widest[i]
                for at in range(len(task.times)):
                    if task.times[at, 0] < age + 1 <= task.times[at, 1]:
                        safe &= low >= task.within[at, i, 0] and high <= task.within[at, i, 1]
                    elif task.times[at, 0] == age + 1:  # only its end is in the window
                        safe &= first >= task.within[at, i, 0] and end <= task.within[at, i, 1]
            if not safe:
                answer[4] = widest_symbol(w.after, k, task.widest)
                return False
            low, high = least_return + w.after.reward[k, 0], most_return + w.after.reward[k, 1]
            low, high = low - 1e-15 * abs(low), high + 1e-15 * abs(high)
            if over > 0 and task.until_end:
                answer[0] = max(answer[0], age + 1)
                answer[1], answer[2] = min(answer[1], low), max(answer[2], high)
                if over == 2:
                    continue
            if count >= STACKED - 1:
                return False
            copy_set(w.after, k, sets, count)
            st.age[count], st.returns[count, 0], st.returns[count, 1] = age + 1, low, high
            count += 1
    return True


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
        if not late and follow(advance, loop, w, st, box, task):
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


# -- until they are in a region that is never left ---------------------------------------------------------------------


TRIED = 24  # steps at which a box is tried
EPISODES = 20  # simulated, to know when starts arrive
WIDER = 1.4  # than where these are, a box is
LONG = 3  # horizons in which starts may arrive
LATER = (1.0, 1.5, 2.0)  # times the steps of these: sets arrive later than episodes
LEAST = 1e-3  # of where they begin
SPARE = 0.85  # of the box: where sets must be, for the checker's are a little wider
SMALLEST = 1.0 / 64.0  # part of what is held that is not cut again, and of the starts
MOST_SET_STEPS = 4  # for a box, for each step


class SettledPart(NamedTuple):
    """Starts that are in the box of a region after so many steps."""

    steps: int
    boxes: list[Array]
    region: ProvenPart


@dataclass
class Settling:
    """What came of it."""

    parts: list[SettledPart]
    open: list[Array]
    share: float = 0.0


def settled(place: Workplace, rules: Tree, asked: Question, goal: Array, seconds: float) -> Settling:
    """`goal`: bounds that are kept for ever from some step on."""
    loop, held = with_symbols(place.loop), np.flatnonzero(place.held)
    nowhere = np.zeros((1, 2), np.int64), asked.limits[None]
    none = Following(0, asked.limits, np.ones(len(asked.start)), True, False, 0, *nowhere)
    followed(loop, asked.start, none, 0.0, 1, 1.0)  # compiling does not count
    began, result = time.process_time(), Settling([], [])
    width, pending = np.diff(asked.start, axis=1)[:, 0], [(asked.start, 1.0)]
    while pending:
        start, volume = pending.pop()
        at_work("looking for regions that starts arrive in", result.share)
        left = seconds - (time.process_time() - began)
        part = asked._replace(start=start)
        states = visited(part._replace(steps=float(_most(asked))), rules, EPISODES, corners=True)
        near = None if left <= 0.0 else region_near(place, part, goal, states)
        if near is not None:
            region, steps = near
            within = np.where(place.held[:, None], start, _around(region.start, SPARE))
            passed = states[:, : steps + 1].reshape(-1, len(start))
            widest = np.maximum(np.ptp(passed, axis=0), 1e-9)
            for later in LATER:  # whole, and then in parts
                steps = int(min(later * near[1], _most(asked)))
                task = Following(
                    steps, asked.limits, widest, True, False, 1000 + MOST_SET_STEPS * steps, np.array([[steps, steps]]),
                    within[None],
                )  # fmt: skip
                search = followed(loop, start, task, left, 1, SMALLEST if later == LATER[-1] else 1.0)
                if not search.open:
                    break
            if search.boxes:
                result.parts.append(SettledPart(steps, search.boxes, region))
                result.share += volume * search.share
            if search.boxes or len(held) == 0:
                result.open += search.open
                continue
        cuts = [j for j in held if start[j, 1] - start[j, 0] > SMALLEST * width[j]]
        if not cuts or left <= 0.0:
            result.open.append(start)
            continue
        axis = max(cuts, key=lambda j: (start[j, 1] - start[j, 0]) / width[j])
        middle = 0.5 * (start[axis, 0] + start[axis, 1])
        for low, high in ((start[axis, 0], middle), (middle, start[axis, 1])):
            half = start.copy()
            half[axis] = low, high
            pending.append((half, volume / 2.0))
    return result


def _most(asked: Question) -> float:
    given = asked.asked_steps and math.isfinite(asked.steps)
    return float(asked.steps if given else min(LONG * asked.problem.horizon, 1000))


def region_near(place: Workplace, asked: Question, goal: Array, states: Array) -> tuple[ProvenPart, int] | None:
    """A region within the goal that is never left, and after how many steps simulated episodes are in its box: the
    first at which there is one. `states`: of these episodes."""
    start, held = asked.start, place.held[:, None]
    limits = np.stack([np.maximum(goal, asked.limits)[:, 0], np.minimum(goal, asked.limits)[:, 1]], axis=1)
    last = states[:, -1].mean(axis=0)[:, None]
    for slope in (1.0, *SLOPES[::4].tolist()):
        centre = equilibrium(place, np.where(held, start, last), slope)[:, None]
        tried = np.unique(np.geomspace(1, states.shape[1] - 1, TRIED).astype(int)).tolist()
        for steps in (tried[-1], *tried):  # where the smallest box has no region, no other one has
            away = np.abs(states[:, steps] - centre[:, 0]).max(axis=0)[:, None] * WIDER
            away = np.maximum(away, LEAST * np.abs(states[:, 0] - centre[:, 0]).max(axis=0)[:, None]) + 1e-9
            box = np.where(held, start, centre + away * [-1.0, 1.0])
            part, _ = best_part(place, box, limits, None, [slope])
            if part is None and steps == tried[-1]:
                break
            if part is not None and (steps != tried[-1] or steps == tried[0]):
                return part, int(steps)
    return None


def _around(box: Array, by: float) -> Array:
    """The box without a margin."""
    middle = box.mean(axis=1, keepdims=True)
    within: Array = middle + by * (box - middle)
    return within


def evidence_of_settling(part: SettledPart, evidence: dict[str, Any]) -> dict[str, Any]:
    """As the certificate has it; `evidence`: of the region."""
    return {"kind": "settled", "steps": part.steps, "boxes": [box.tolist() for box in part.boxes], "region": evidence}
