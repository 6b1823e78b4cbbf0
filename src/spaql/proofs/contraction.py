"""A set around a state z that the sampled loop of a differential equation comes nearer to with every sample.

    E = { z + S y : |y| <= 1 }        |.| of two norms the Euclidean one

From x0 in E the controller holds u = u_z + G (x0 - z) + e, |e_i| <= e_u, G in an interval matrix: over E it is on one
affine piece. With w = x - z, W a box around all states of the sample that holds z too, and by the mean value theorem,

    w' = A w + B (u - u_z) + f(z, u_z)        A in [A], B in [B]: slopes of f over W, averaged from z outwards

So v = (w, u - u_z, 1) has v' = D v with D in an interval matrix [D], and over a substep of length h

    v(h) in ( sum over k < K of h^k [D]^k / k!  +  rest ) v(0)        |rest| <= (h |D|)^K / K! / (1 - h |D| / (K + 1))

entry by entry, the norm that of sums of rows (Peano and Baker; the average of products of matrices of [D] is in [D]^k).
Of the product over all substeps, with u - u_z = G w + e, are left

    |x' - z|_S  <=  c |x0 - z|_S + d        c = |S^-1 M S|,   d = |S^-1 (|M_u| e_u + |M_1|)|,   |x|_S = |S^-1 x|

If c + d <= 1, E is never left at samples, nor W between them, and in the end |x - z|_S <= d / (1 - c): which is zero
but for rounding. No part around z is left out. Nothing depends on how z and S were chosen: z by Newton's method, S from
A' P A <= g^2 P of the linear loop (Lyapunov), as large as the inequality allows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.cell_kernels import MARGIN
from spaql.proofs.counterexamples import visited
from spaql.proofs.flow_model import RATES
from spaql.proofs.followed import DONE, Following, follow, stack_for
from spaql.proofs.loop_model import ClosedLoop, closed_loop
from spaql.proofs.machine import enclose
from spaql.proofs.plant_steps import Workplace, workplace
from spaql.proofs.questions import Question, bounds_of
from spaql.proofs.remainders import leaves_over
from spaql.proofs.score_bounds import ROUND, look_from
from spaql.proofs.sets import work_for
from spaql.proofs.steps_of_sets import advancing
from spaql.trees.tree import Tree, decide

TERMS = 14  # K
PARTS = 4  # boxes over which slopes are averaged
UP = 1.0 + 1e-10  # more than the relative rounding of the sums here, of terms of one sign
SPARE = 1e-3  # so that other arithmetic, rounded otherwise, shows it too
TRIES = 12  # of a box around the way
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


class Contraction(NamedTuple):
    """E and what was shown of it."""

    centre: Array  # (d,) z
    sides: Array  # (d, d) S
    rows: Array  # (d, d) about S^-1
    within: float  # a state with |rows (x - z)| up to it is in E
    factor: float  # c
    left: float  # d
    box: Array  # (d, 2) W

    @property
    def rest(self) -> Array:
        """A box around where samples lie in the end: |x - z|_S <= d / (1 - c)."""
        away = 1.01 * self.left / (1.0 - self.factor) * lengths(exactly(self.sides))
        ends: Array = self.centre[:, None] + away[:, None] * [-1.0, 1.0]
        return ends + np.abs(self.centre)[:, None] * 1e-15 * [-1.0, 1.0]


class Around(NamedTuple):
    """A matrix with a bound of how far every entry may be from it."""

    middle: Array
    radius: Array

    def times(self, other: "Around") -> "Around":
        a, b = self, other
        size = np.abs(b.middle) + b.radius
        radius = np.abs(a.middle) @ b.radius + a.radius @ size
        radius += 1e-14 * (np.abs(a.middle) @ size)
        return Around(a.middle @ b.middle, radius * UP + 1e-300)

    def plus(self, other: "Around") -> "Around":
        middle = self.middle + other.middle
        return Around(middle, (self.radius + other.radius + 1e-15 * np.abs(middle)) * UP + 1e-300)


def exactly(matrix: Array) -> Around:
    return Around(matrix, np.zeros_like(matrix))


def norm_of(matrix: Around) -> float:
    """Of Euclid. N = M' M has, for any nearly orthogonal V, the norm of V' N V at most, over 1 - |I - V' V|."""
    square = matrix.middle.T @ matrix.middle
    turned = np.linalg.eigh(square)[1]
    size = np.abs(turned.T) @ (np.abs(matrix.middle.T) @ np.abs(matrix.middle)) @ np.abs(turned)
    diagonal = np.abs(turned.T @ square @ turned) + 1e-14 * size
    apart = np.abs(np.eye(len(square)) - turned.T @ turned) + 1e-14
    largest = diagonal.sum(axis=1).max() / (1.0 - apart.sum(axis=1).max())
    return float((math.sqrt(largest) + np.sqrt((matrix.radius**2).sum())) * UP + 1e-300)


def lengths(matrix: Around) -> Array:
    """Of its rows: how far they lead from the ball."""
    return np.asarray((np.sqrt((matrix.middle**2).sum(axis=1)) + np.sqrt((matrix.radius**2).sum(axis=1))) * UP + 1e-300)


class Held(NamedTuple):
    """The action over E."""

    middle: Array  # (m,) u_z
    slope: Around  # (m, d) G
    error: Array  # (m,) e_u


def _held(place: Workplace, centre: Array, sides: Array) -> Held | None:
    """None: the controller is not on one affine piece."""
    loop, d = place.loop, len(centre)
    m, own = loop.actions, loop.variables
    half = np.append(lengths(exactly(sides)), np.zeros(m))
    point = np.append(centre, np.zeros(m))
    box = np.stack([point - half * UP, point + half * UP], axis=1)
    look_from(loop, point, box, place.r, place.out, place.seen)
    leaves, seen = leaves_over(place, point, box), place.seen
    if len(leaves) != 1 or loop.scored:
        return None
    u, error, middle, radius = np.zeros(m), np.zeros(m), np.zeros((m, own)), np.zeros((m, own))
    slopes = seen.slopes[:, :own]
    most = np.maximum(np.abs(seen.box[:, 0]), np.abs(seen.box[:, 1])) + loop.sensors
    for axis in range(m):
        gains, offset, pieces = loop.gains[leaves[0], axis], loop.offsets[leaves[0], axis], loop.pieces[leaves[0], axis]
        used = np.abs(gains) > 0.0
        rows = np.where(used[:, None, None], gains[:, None, None] * slopes, 0.0)
        middle[axis] = 0.5 * rows.sum(axis=(0, 2))
        size = float(np.abs(gains) @ np.where(used, most, 0.0)) + abs(offset)
        radius[axis] = 0.5 * np.abs(rows[:, :, 1] - rows[:, :, 0]).sum(axis=0) + 1e-14 * np.abs(rows).sum(axis=(0, 2))
        base = offset + float(gains @ np.where(used, 0.5 * (seen.middle[:, 0] + seen.middle[:, 1]), 0.0))
        away = np.abs(gains) @ np.where(used, (seen.middle[:, 1] - seen.middle[:, 0]) + seen.error + loop.sensors, 0.0)
        slack = ((loop.seen + 4) * 2.0 * loop.relative + ROUND) * size
        slack += loop.absolute * (loop.seen + 1.0 + np.abs(gains).sum() + most[used].sum())
        error[axis] = (away + slack) * UP
        reach = lengths(Around(middle[axis : axis + 1], radius[axis : axis + 1]).times(exactly(sides)))[0]
        reach = (reach + error[axis]) * UP + ROUND * abs(base)
        inside = (pieces[:, 0] <= base - reach) & (base + reach <= pieces[:, 1])
        if not inside.any():
            return None
        _, _, value, slope = pieces[int(np.argmax(inside))]
        u[axis], error[axis] = value + slope * base, abs(slope) * error[axis]
        error[axis] += 4.0 * loop.relative * (abs(u[axis]) + abs(slope) * reach) + ROUND * (abs(value) + abs(u[axis]))
        middle[axis], radius[axis] = slope * middle[axis], abs(slope) * radius[axis] * UP + 1e-300
    known = np.isfinite(u).all() and np.isfinite(error).all() and np.isfinite(radius).all() and d == own
    return Held(u, Around(middle, radius), error) if known else None


def _rates(place: Workplace, box: Array, slopes: bool) -> tuple[Array, Array] | None:
    """f over a box of state and action, with its slopes."""
    loop = place.loop
    begins, whole = loop.flow.begins, np.concatenate([box, np.zeros((1, 2))])
    enclose(loop.tape, begins[RATES], begins[RATES + 1], whole, slopes, False, place.r, place.out)
    own = loop.variables
    if place.out.verdict[2] == 0:
        return None
    return place.out.box[:own].copy(), place.out.slopes[:own, : loop.states].copy()


def _way(place: Workplace, box: Array, applied: Array, h: float) -> Array | None:
    """A box that Picard's operator maps into itself: around all states of a substep from `box`."""
    way = box.copy()
    for _ in range(TRIES):
        rates = _rates(place, np.concatenate([way, applied]), False)
        if rates is None or not np.isfinite(rates[0]).all():
            return None
        grown = h * UP * np.stack([np.minimum(rates[0][:, 0], 0.0), np.maximum(rates[0][:, 1], 0.0)], axis=1)
        after = box + grown
        after += (1e-15 * np.abs(after).max(axis=1) + 1e-300)[:, None] * [-1.0, 1.0]
        if (way[:, 0] <= after[:, 0]).all() and (after[:, 1] <= way[:, 1]).all():
            return way
        after += 0.1 * (after[:, 1] - after[:, 0])[:, None] * [-1.0, 1.0]
        way = np.stack([np.minimum(way[:, 0], after[:, 0]), np.maximum(way[:, 1], after[:, 1])], axis=1)
    return None


def _moved_on(D: Around, h: float) -> Around | None:
    """sum over k < K of h^k D^k / k!, with what is left."""
    size = len(D.middle)
    total = power = exactly(np.eye(size))
    for k in range(1, TERMS):
        power = power.times(D)
        power = Around(power.middle * (h / k), power.radius * (h / k) * UP + 1e-15 * np.abs(power.middle) * (h / k))
        total = total.plus(power)
    norm = float((np.abs(D.middle) + D.radius).sum(axis=1).max()) * h * UP
    if not norm < 0.5 * TERMS:
        return None
    rest = norm**TERMS / math.factorial(TERMS) / (1.0 - norm / (TERMS + 1)) * UP
    return Around(total.middle, total.radius + rest)


def contracts(place: Workplace, centre: Array, sides: Array, goal: Array, most: float = 1.0) -> Contraction | None:
    """Whether c + d <= 1 with a little to spare, for this E, within the goal all the time; and c at most so large."""
    loop, d, m = place.loop, len(centre), place.loop.actions
    held = _held(place, centre, sides)
    if held is None:
        return None
    rows = np.linalg.inv(sides)
    apart = norm_of(exactly(np.eye(d)).plus(exactly(-rows).times(exactly(sides))))
    if not apart < 1e-7:
        return None
    turns = held.slope.times(exactly(sides))
    reach = (lengths(turns) + held.error) * UP
    applied = np.stack([held.middle - reach * UP, held.middle + reach * UP], axis=1)
    applied += (1e-15 * np.abs(held.middle))[:, None] * [-1.0, 1.0]
    at = _rates(place, np.stack([np.append(centre, held.middle)] * 2, axis=1), False)
    if at is None:
        return None
    # w, u - u_z and 1 as functions of the place in the ball, of e and of 1
    v = Around(np.eye(d + m + 1), np.zeros((d + m + 1, d + m + 1)))
    h, whole = loop.flow.length[1], np.stack([centre, centre], axis=1)
    bent = np.concatenate([held.slope.radius, np.zeros((m, m + 1))], axis=1)
    v = Around(v.middle, v.radius + np.concatenate([np.zeros((d, d + m + 1)), bent, np.zeros((1, d + m + 1))]))
    v.middle[d : d + m, :d] = held.slope.middle
    for _ in range(loop.flow.substeps):
        state = Around(v.middle[:d], v.radius[:d])
        half = lengths(Around(state.middle[:, :d], state.radius[:, :d]).times(exactly(sides)))
        size = np.abs(state.middle) + state.radius
        half = (half + size[:, d : d + m] @ held.error + size[:, -1]) * UP
        box = np.stack([centre - half, centre + half], axis=1) + 1e-15 * np.abs(centre)[:, None] * [-1.0, 1.0]
        way = _way(place, box, applied, h)
        if way is None or (way[:, 0] < goal[:, 0]).any() or (way[:, 1] > goal[:, 1]).any():
            return None
        whole = np.stack([np.minimum(whole[:, 0], way[:, 0]), np.maximum(whole[:, 1], way[:, 1])], axis=1)
        point, over = np.append(centre, held.middle)[:, None], np.concatenate([way, applied])
        total = np.zeros((d, d + m, 2))
        for part in range(1, PARTS + 1):
            shrunk = point + (over - point) * (part / PARTS)
            shrunk += (1e-15 * (np.abs(shrunk) + np.abs(point)) + 1e-300) * [-1.0, 1.0]
            rates = _rates(place, shrunk, True)
            if rates is None or not np.isfinite(rates[1]).all():
                return None
            total += rates[1] / PARTS
        D = Around(np.zeros((d + m + 1, d + m + 1)), np.zeros((d + m + 1, d + m + 1)))
        D.middle[:d, : d + m] = total.mean(axis=2)
        D.radius[:d, : d + m] = 0.5 * (total[..., 1] - total[..., 0]) * UP + 1e-14 * np.abs(total).max(axis=2) + 1e-300
        D.radius[:d, -1] = np.abs(at[0]).max(axis=1)
        step = _moved_on(D, h)
        if step is None:
            return None
        v = step.times(v)
    turned = exactly(rows).times(Around(v.middle[:d], v.radius[:d]))
    factor = norm_of(Around(turned.middle[:, :d], turned.radius[:, :d]).times(exactly(sides)))
    size = np.abs(turned.middle) + turned.radius
    left = float(np.sqrt(((size[:, d : d + m] @ held.error + size[:, -1]) ** 2).sum())) * UP
    factor, left = factor / (1.0 - apart) * UP, left / (1.0 - apart) * UP * (1.0 + SPARE) + 1e-300
    factor += SPARE * max(1.0 - factor, 0.01)
    if not (factor + left <= 1.0 - SPARE * (1.0 - factor) and factor <= most):
        return None
    return Contraction(centre, sides, rows, (1.0 - apart) * (1.0 - MARGIN), factor, left, whole)


# -- the search --------------------------------------------------------------------------------------------------------


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
    for state in (ends, middle, asked.start[:, 0], asked.start[:, 1]):
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
    tiny = _held(place, centre, 1e-9 * np.diag(width))
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
    loops = [
        loop._replace(columns=loop.states * COLUMNS, flow=loop.flow._replace(watched=watched)) for loop in loops
    ]
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
    free = np.tile([-np.inf, np.inf], (loop.states, 1))
    task = Following(1, free, np.full(loop.states, np.inf), goes_on, False, 1000)
    w, stack, held = work_for(loop), stack_for(loop), np.zeros((loop.actions, 2))
    widths = np.full(boxes.shape[:2], np.inf)
    for row, box in zip(widths, boxes, strict=True):
        if follow(advancing(loop, w), loop, w, stack, np.concatenate([box, held]), task) == DONE:
            row[:] = (np.abs(w.after.shape[0]).sum(axis=1) + w.after.rest[0])[: loop.variables]
    return widths
