"""Starts that are followed until they are in a region that is never left.

Around the state that the loop holds is a box from which the linear loop (linear_loop.py) leaves a region never. All
starts are followed (followed.py) for so many steps until all of their sets are in the box. So the bounds hold for ever
if they hold on the way and in the region, and what holds in the region is reached.

Each part of what is held, such as a reference, has a box and a region of its own.
"""

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.proofs.counterexamples import visited
from spaql.proofs.followed import Following, followed, with_symbols
from spaql.proofs.linear_loop import SLOPES
from spaql.proofs.loops_proven import ProvenPart, best_part, equilibrium
from spaql.proofs.plant_steps import Workplace
from spaql.proofs.questions import Question
from spaql.trees.tree import Tree

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
