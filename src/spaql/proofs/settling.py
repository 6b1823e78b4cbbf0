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
from spaql.proofs.followed import Following, followed
from spaql.proofs.linear_loop import SLOPES
from spaql.proofs.loops_proven import ProvenPart, best_part, equilibrium
from spaql.proofs.plant_steps import Workplace
from spaql.proofs.questions import Question
from spaql.trees.tree import Tree

SMALLER = 24  # boxes around what is held that are tried, each 0.7 times the one before
EPISODES = 20  # simulated, to know when starts arrive
INSIDE = 0.8  # of the box: where they must be then
SPARE = 0.9  # of the box: where sets must be, for the checker's are a little wider
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
    began, result = time.process_time(), Settling([], [])
    loop, held = place.loop._replace(columns=2 * place.loop.states), np.flatnonzero(place.held)
    width, pending = np.diff(asked.start, axis=1)[:, 0], [(asked.start, 1.0)]
    while pending:
        start, volume = pending.pop()
        at_work("looking for regions that starts arrive in", result.share)
        left = seconds - (time.process_time() - began)
        region = None if left <= 0.0 else region_near(place, rules, asked._replace(start=start), goal)
        steps = None if region is None else arrival(asked._replace(start=start), rules, region, place.held)
        if region is not None and steps is not None:
            within = _shrunk(region, SPARE, place.held)
            states = visited(asked._replace(start=start, steps=float(steps)), rules, EPISODES)
            widest = np.maximum(np.ptp(states.reshape(-1, states.shape[2]), axis=0) , 1e-9)
            task = Following(
                steps, asked.limits, widest, True, False, 1000 + MOST_SET_STEPS * steps, np.array([[steps, steps]]),
                within[None],
            )  # fmt: skip
            search = followed(loop, start, task, left, 1, SMALLEST)
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


def region_near(place: Workplace, rules: Tree, asked: Question, goal: Array) -> ProvenPart | None:
    """A region within the goal that is never left, from a large box around what the loop holds in the end."""
    start, held = asked.start, place.held[:, None]
    limits = np.stack([np.maximum(goal, asked.limits)[:, 0], np.minimum(goal, asked.limits)[:, 1]], axis=1)
    middle = start.mean(axis=1)
    last = visited(asked._replace(start=np.stack([middle, middle], axis=1)), rules, 1)[0, -1]
    for slope in (1.0, *SLOPES[::4].tolist()):
        centre = equilibrium(place, np.where(held, start, last[:, None]), slope)
        away = np.where(place.held, 0.0, np.max(np.abs(start - centre[:, None]), axis=1))
        away = np.maximum(away, np.where(place.held, 0.0, 1e-3 * away.max(initial=1e-6)))
        for size in 0.7 ** np.arange(SMALLER):
            box = np.where(held, start, centre[:, None] + size * away[:, None] * [-1.0, 1.0])
            part, _ = best_part(place, box, limits, None, [slope])
            if part is not None:
                return part
    return None


def _shrunk(region: ProvenPart, by: float, held: Array) -> Array:
    """The box of a region without a margin; of what is held all."""
    box, middle = region.start, region.start.mean(axis=1, keepdims=True)
    within: Array = np.where(held[:, None], box, middle + by * (box - middle))
    return within


def arrival(asked: Question, rules: Tree, region: ProvenPart, held: Array) -> int | None:
    """After how many steps simulated episodes are in the box; None: some never are."""
    box = _shrunk(region, INSIDE, held)
    most = asked.problem.horizon if math.isinf(asked.steps) else asked.steps
    states = visited(asked._replace(steps=float(most)), rules, EPISODES)
    inside: Array = np.all((states >= box[:, 0]) & (states <= box[:, 1]), axis=(0, 2))
    return int(np.argmax(inside[1:])) + 1 if inside[1:].any() else None


def evidence_of_settling(part: SettledPart, evidence: dict[str, Any]) -> dict[str, Any]:
    """As the certificate has it; `evidence`: of the region."""
    return {"kind": "settled", "steps": part.steps, "boxes": [box.tolist() for box in part.boxes], "region": evidence}
