"""The search for the set of contraction.py: z by simulation and Newton's method, S by Lyapunov's equation of the linear
loop with several weights, as large as the inequalities allow; and as few substeps per sample as the equation needs.
"""

import math
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.contraction import Contraction, contracts, exactly, held_over, lengths
from spaql.proofs.counterexamples import visited
from spaql.proofs.followed import Following, follow, stack_for
from spaql.proofs.loop_model import ClosedLoop, closed_loop
from spaql.proofs.over_boxes import workplace
from spaql.proofs.questions import Question, bounds_of
from spaql.proofs.sets import work_for
from spaql.proofs.steps_of_sets import advancing
from spaql.trees.tree import Tree, decide

SETTLED = 2000  # samples of the episode whose end is near z
NEWTON = 20
HALVES = 14  # of the size of E
SLOWER = 0.1  # part of what the linear loop comes nearer with a sample that is left in E
SUBSTEPS = (1, 2, 4, 8, 16, 32, 64)
STARTED = 200  # states around which a sample is tried
NEAR = 1.0 / 256.0  # of the starts: how far
CLOSE, MOST = 1.1, 0.98  # so near to what twice as many substeps make of so many states: there are enough
COLUMNS = 6  # noise symbols per variable of a set that is followed to E
SHAPES = (0.0, 0.3, 0.6, 0.9)  # g between the largest eigenvalue and 1
WEIGHTS = np.geomspace(1e-3, 1e3, 7)  # of the action against the state in Lyapunov's equation


def _sampled(asked: Question, rules: Tree, state: Array) -> Array:
    """A sample later, by the plant's own steps."""
    plant: Any = asked.problem.plant
    shown = np.array([state if plant.observe is None else plant.observe(*state.tolist())])
    action = decide(rules, np.ascontiguousarray(shown, float))[0]
    try:
        return np.array(plant.step(*state.tolist(), *action.tolist())[0], float)
    except (ArithmeticError, ValueError):
        return np.full(len(state), np.nan)


def _slope_of(asked: Question, rules: Tree, state: Array, width: Array) -> Array:
    columns = []
    for j in range(len(state)):
        off = 1e-6 * width[j] * np.eye(len(state))[j]
        columns.append((_sampled(asked, rules, state + off) - _sampled(asked, rules, state - off)) / (2e-6 * width[j]))
    return np.stack(columns, axis=1)


def resting_state(asked: Question, rules: Tree, goal: Array, width: Array) -> Array | None:
    """A state in the goal where the sampled loop stays, by simulation and Newton's method."""
    middle, ends = asked.start.mean(axis=1), np.where(np.isfinite(goal), goal, 0.0).mean(axis=1)
    for begin in (ends, middle, asked.start[:, 0], asked.start[:, 1]):
        state = begin
        for _ in range(SETTLED):
            after = _sampled(asked, rules, state)
            if not np.isfinite(after).all() or (np.abs(after - state) <= 1e-7 * width).all():
                break
            state = after
        for _ in range(NEWTON):
            if not np.isfinite(state).all():
                break
            off = _sampled(asked, rules, state) - state
            matrix = np.eye(len(state)) - _slope_of(asked, rules, state, width)
            if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-14:
                break
            state = state + np.linalg.solve(matrix, off)
            if (np.abs(off) <= 1e-13 * width).all():
                break
        rounded = np.where(np.abs(state) < 1e-9 * width, 0.0, state)
        inside = (goal[:, 0] < rounded).all() and (rounded < goal[:, 1]).all()
        if inside and (np.abs(_sampled(asked, rules, rounded) - rounded) <= 1e-9 * width).all():
            return rounded
    return None


def _shapes(matrix: Array, gains: Array, width: Array) -> list[Array]:
    """S for several P with A' P A <= g^2 P."""
    n, radius = len(matrix), max(np.abs(np.linalg.eigvals(matrix)))
    shapes = []
    for share in SHAPES:
        scaled = matrix / (radius + (1.0 - radius) * (0.05 + 0.9 * share))
        for weight in WEIGHTS.tolist():
            Q = np.diag(width**-2.0) + weight * gains.T @ gains
            P = np.linalg.solve(np.eye(n * n) - np.kron(scaled.T, scaled.T), Q.ravel()).reshape(n, n)
            values, vectors = np.linalg.eigh(0.5 * (P + P.T))
            if values.min() > 0.0:
                shapes.append(vectors / np.sqrt(values))
    return shapes


def contraction(asked: Question, rules: Tree, loop: ClosedLoop, goal: Array, width: Array) -> Contraction | None:
    """The largest E, of some shapes, in the goal, where c is not much above that of the linear loop."""
    centre = resting_state(asked, rules, goal, width)
    if centre is None:
        return None
    place = workplace(loop, np.zeros(loop.states, bool))
    matrix = _slope_of(asked, rules, centre, width)
    if not np.isfinite(matrix).all() or max(np.abs(np.linalg.eigvals(matrix))) >= 1.0:
        return None
    fastest = float(max(np.abs(np.linalg.eigvals(matrix))))
    tiny = held_over(place, centre, 1e-9 * np.diag(width))
    if tiny is None:
        return None
    best, most = None, 0.0
    for shape in _shapes(matrix, tiny.slope.middle, width):
        low, high = 0.0, float((width / np.sqrt((shape**2).sum(axis=1))).min())
        volume = abs(np.linalg.det(shape))
        if best is not None and volume * high ** len(centre) <= most:
            continue
        for _ in range(HALVES):
            size = math.sqrt(low * high) if low > 0.0 else 0.25 * high
            held = contracts(place, centre, size * shape, goal, 1.0 - SLOWER * (1.0 - fastest))
            if held is None:
                high = size
            else:
                low = size
                if volume * size ** len(centre) > most:
                    best, most = held, volume * size ** len(centre)
            if high < 1.02 * low or volume * high ** len(centre) <= most:
                break
    return best


def attraction(asked: Question, rules: Tree) -> tuple[ClosedLoop, Contraction] | None:
    """The loop with as many substeps as its equation needs, and E."""
    plant: Any = asked.problem.plant
    goal = asked.limits
    if isinstance(asked.reach, dict):
        ends = bounds_of(asked.reach, asked.names)
        goal = np.stack([np.maximum(goal[:, 0], ends[:, 0]), np.minimum(goal[:, 1], ends[:, 1])], axis=1)
    states = visited(asked._replace(steps=1), rules, STARTED)[:, 0]
    width = np.maximum(np.diff(asked.start, axis=1)[:, 0], 1e-3)
    near = states[:, :, None] + NEAR * width[:, None] * [-1.0, 1.0]
    loops = [closed_loop(asked.problem, rules, asked.sensors, asked.single, substeps) for substeps in SUBSTEPS]
    watched = bool(np.isfinite(asked.limits).any()) or plant.flow.over is not None
    loops = [loop._replace(columns=loop.states * COLUMNS, flow=loop.flow._replace(watched=watched)) for loop in loops]
    after = [_after_a_sample(loop, near) for loop in loops]
    for loop, wide, finer in zip(loops, after, after[1:], strict=False):
        with np.errstate(invalid="ignore"):
            enough = (wide <= CLOSE * finer).all(axis=1).mean() >= MOST
        held = contraction(asked, rules, loop, goal, width) if enough else None
        for _ in range(HALVES):
            if held is None:
                break
            if np.isfinite(_after_a_sample(loop, _hull(held)[None], True)).all():
                return loop, held
            place = workplace(loop, np.zeros(loop.states, bool))
            held = contracts(place, held.centre, 0.7 * held.sides, goal)  # the episode may end in it: a smaller one
    return None


def _hull(held: Contraction) -> Array:
    half = lengths(exactly(held.sides))
    half += 1e-15 * np.abs(held.centre)
    return np.stack([held.centre - half, held.centre + half], axis=1)


def _after_a_sample(loop: ClosedLoop, boxes: Array, goes_on: bool = False) -> Array:
    """Half widths of what these boxes become; infinite where they cannot be followed, or where an episode may end."""
    free = np.tile([-np.inf, np.inf], (loop.variables, 1))
    task = Following(1, free, np.full(loop.variables, np.inf), goes_on, False, 1000)
    w, stack = work_for(loop), stack_for(loop)
    widths, advance = np.full(boxes.shape[:2], np.inf), advancing(loop, w)
    for row, box in zip(widths, boxes, strict=True):
        if follow(advance, loop, w, stack, box, task):
            row[:] = (np.abs(w.after.shape[0]).sum(axis=1) + w.after.rest[0])[: loop.variables]
    return widths
