"""A step of the loop as a linear one: the matrix around a point, and what it leaves over in a
region (see linear_loop.py)."""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.loop_model import ClosedLoop, memory_of
from spaql.proofs.machine import IMPOSSIBLE, Result, enclose
from spaql.proofs.operations import Registers
from spaql.proofs.score_bounds import ScoreBounds, View, empty_score, look_from, score_over, view

PARTS = 8  # boxes over which slopes are averaged


SPARE = 1.0 + 1e-8  # so that other arithmetic, rounded otherwise, finds no larger numbers


ROUNDED = (
    1.0 + 1e-10
)  # more than the relative rounding of any sum here: at most 10,000 terms of one sign


class Frame(NamedTuple):
    """Around which point, with which line, a step is written as a linear one."""

    centre: Array  # (states,) z
    gains: Array  # (actions, states) g
    actions: Array  # (actions,) u_z
    matrix: Array  # (states, states) A; rows and columns of held variables are zero
    columns: Array  # (states, actions) b


class LinearRegion(NamedTuple):
    """A box around z, and how far the lines go in it."""

    box: Array  # (states, 2)
    lines: Array  # (actions,)


class Remainder(NamedTuple):
    """What the linear step leaves over, for all states in a box."""

    band: Array  # (actions,) W
    rest: Array  # (states,) E
    ends: bool  # whether the episode may end within the box
    safe: bool  # whether anything is known
    reward: Array  # (2,) of a step


class Workplace(NamedTuple):
    """Memory, and which variables are held."""

    loop: ClosedLoop
    r: Registers
    out: Result
    seen: View
    score: ScoreBounds
    held: Array  # (states,) bool


def workplace(loop: ClosedLoop, held: Array) -> Workplace:
    return Workplace(loop, *memory_of(loop), view(loop), empty_score(loop), held)


def scored(
    place: Workplace, node: int, output: int, centre: Array, box: Array, test: bool = False
) -> tuple[Array, Array]:
    """(slope, [base, error, lowest, highest]) of a score; its range also by way of the slope."""
    loop = place.loop
    gains, offset = (
        (loop.weights[node], -loop.cut[node])
        if test
        else (loop.gains[node, output], loop.offsets[node, output])
    )
    score_over(loop, place.seen, gains, offset, centre, box, place.score)
    slope, (base, error, low, high) = place.score.slope.copy(), place.score.numbers
    reach = float(np.abs(slope) @ np.max(np.abs(box - centre[:, None]), axis=1)) * ROUNDED + 1e-300
    return slope, np.array(
        [base, error, max(low, base - error - reach), min(high, base + error + reach)]
    )


def leaves_over(place: Workplace, centre: Array, box: Array) -> list[int]:
    """The leaves that some state of the box may reach. What is seen from it must have been looked
    at."""
    pending, leaves = [0], []
    while pending:
        node = pending.pop()
        if place.loop.feature[node] < 0:
            leaves.append(node)
            continue
        low, high = scored(place, node, 0, centre, box, test=True)[1][2:]
        # asked the other way round: a NaN, of which nothing is known, goes both ways
        pending += [place.loop.high[node]] if not high < 0.0 else []
        pending += [place.loop.low[node]] if not low > 0.0 else []
    return leaves


def frame_at(place: Workplace, centre: Array, slope: float) -> Frame | None:
    """The linear step around a point. `slope`: of the line through a threshold, in units of what
    corrects it at once."""
    loop, (n, m) = place.loop, (place.loop.states, place.loop.actions)
    point = np.stack([centre, centre], axis=1)
    look_from(loop, centre, point, place.r, place.out, place.seen)
    leaf = leaves_over(place, centre, point)[0]
    if loop.scored:
        return None
    gains, actions, steep = np.zeros((m, n)), np.zeros(m), np.zeros(m)
    for axis in range(m):
        gains[axis], numbers = scored(place, leaf, axis, centre, point)
        if not np.isfinite(numbers).all():
            return None
        pieces = loop.pieces[leaf, axis]
        at = next(k for k in range(len(pieces)) if numbers[0] <= pieces[k, 1])
        between = np.isfinite(pieces[:, :2]).all(axis=1) & (pieces[:, 3] > 0.0)
        if between.any():  # a clipped law
            steep[axis] = pieces[between][0, 3] * (pieces[at, 3] > 0.0) * slope
            actions[axis] = pieces[at, 2] + pieces[at, 3] * numbers[0]
        elif len(pieces) > 1:  # thresholds
            rise = pieces[-1, 2] - pieces[0, 2]
            span = max(pieces[-1, 0] - pieces[0, 1], 0.0)
            actions[axis], steep[axis] = (
                0.5 * (pieces[0, 2] + pieces[-1, 2]),
                rise / span if span > 0.0 else math.nan,
            )
        else:
            actions[axis] = pieces[0, 2]
    step = plant_step(place, centre, actions, point, np.stack([actions, actions], axis=1))
    if step is None:
        return None
    jacobian = step.slopes.mean(axis=2)
    columns = jacobian[:, n : n + m].copy()
    for axis in range(m):
        if math.isnan(
            steep[axis]
        ):  # one threshold: as steep as would bring the score to zero in one step
            corrected = abs(gains[axis] @ columns[:, axis])
            steep[axis] = slope / corrected if corrected > 0.0 else 0.0
        gains[axis] *= steep[axis]
    matrix = jacobian[:, :n] + columns @ gains
    matrix[place.held], matrix[:, place.held], columns[place.held] = 0.0, 0.0, 0.0
    gains[:, place.held] = 0.0
    return Frame(centre, gains, actions, matrix, columns) if np.isfinite(matrix).all() else None


class PlantStep(NamedTuple):
    """What the plant does over a box."""

    after: Array  # (states, 2) the next state from the centre
    slopes: Array  # (states, inputs, 2) averaged over boxes that shrink to the centre
    errors: Array  # (states,) of double programs
    ends: bool  # whether the episode may end
    reward: Array  # (2,)


def plant_step(
    place: Workplace, centre: Array, actions: Array, box: Array, applied: Array
) -> PlantStep | None:
    """The hull over all paths that some state of the box may take with some of these actions; None:
    nothing is known."""
    loop, r, out = place.loop, place.r, place.out
    n = loop.states
    whole = np.concatenate([box, applied, loop.noise])
    middle = np.concatenate([centre, actions, loop.noise.mean(axis=1)])[:, None]
    low = np.full((n, 2), np.inf)
    after, slopes, errors, ends = low * [1, -1], np.zeros((n, len(whole), 2)), np.zeros(n), False
    reward = np.array([np.inf, -np.inf])
    slopes[..., 0], slopes[..., 1] = np.inf, -np.inf
    for begin, end in zip(loop.begins[:-2], loop.begins[1:-1], strict=True):
        if enclose(loop.tape, begin, end, whole, False, True, r, out) == IMPOSSIBLE:
            continue
        ends |= bool(out.verdict[1] != 0)
        reward = np.array([min(reward[0], out.box[n, 0]), max(reward[1], out.box[n, 1])])
        mean = np.zeros((n, len(whole), 2))
        for part in range(1, PARTS + 1):
            shrunk = np.stack(
                [np.minimum(whole[:, :1], middle), np.maximum(whole[:, 1:], middle)], axis=1
            )[..., 0]
            shrunk = middle + (shrunk - middle) * (part / PARTS)
            shrunk += ((np.abs(shrunk) + np.abs(middle)) * 1e-15 + 1e-300) * [-1, 1]
            enclose(loop.tape, begin, end, shrunk, True, False, r, out)
            mean += out.slopes[:n, : len(whole)] / PARTS
            errors = np.maximum(errors, out.error[:n])
        enclose(loop.tape, begin, end, np.hstack([middle, middle]), False, False, r, out)
        after = np.stack(
            [np.minimum(after[:, 0], out.box[:n, 0]), np.maximum(after[:, 1], out.box[:n, 1])],
            axis=1,
        )
        mean += np.abs(mean) * 1e-14 * [-1, 1]
        slopes = np.stack(
            [np.minimum(slopes[..., 0], mean[..., 0]), np.maximum(slopes[..., 1], mean[..., 1])],
            axis=2,
        )
    finite = np.isfinite(slopes).all() and np.isfinite(after).all() and np.isfinite(errors).all()
    return PlantStep(after, slopes, errors, ends, reward) if finite else None


NOTHING = Remainder(
    np.full(1, np.inf), np.full(1, np.inf), True, False, np.array([-np.inf, np.inf])
)


def remainder(place: Workplace, frame: Frame, region: LinearRegion) -> Remainder:
    """W and E for all states in the region."""
    loop, centre, n, box = place.loop, frame.centre, place.loop.states, region.box
    look_from(loop, centre, box, place.r, place.out, place.seen)
    reach = np.max(np.abs(box - centre[:, None]), axis=1) * ROUNDED
    band, applied = np.zeros(loop.actions), np.zeros((loop.actions, 2))
    leaves = leaves_over(place, centre, box)
    for axis in range(loop.actions):
        spans = [_off_line(place, frame, leaf, axis, region, reach) for leaf in leaves]
        if not np.isfinite(spans).all():
            return NOTHING
        band[axis] = np.max(np.abs(spans)[:, :2])
        applied[axis] = np.min(spans, axis=0)[2], np.max(spans, axis=0)[3]
    step = plant_step(place, centre, frame.actions, box, applied)
    if step is None:
        return NOTHING
    after, slopes = step.after, step.slopes
    away = np.concatenate(
        [
            reach,
            np.max(np.abs(applied - frame.actions[:, None]), axis=1),
            np.full(len(loop.noise), 0.5),
        ]
    )
    linear = np.hstack(
        [frame.matrix - frame.columns @ frame.gains, frame.columns, np.zeros((n, len(loop.noise)))]
    )
    off = np.max(np.abs(slopes - linear[:, :, None]), axis=2)
    curved = (
        off
        + 1e-14
        * (np.abs(linear) + np.abs(frame.columns) @ np.abs(frame.gains).sum(1, keepdims=True))
    ) @ away
    rest = (
        np.max(np.abs(after - centre[:, None]), axis=1) + step.errors + curved
    ) * ROUNDED + 1e-300
    rest[place.held] = 0.0
    safe = bool(np.isfinite(rest).all())
    return Remainder(
        band * SPARE + 1e-12, rest * SPARE + 1e-13 * ~place.held, step.ends, safe, step.reward
    )


def _off_line(
    place: Workplace, frame: Frame, leaf: int, axis: int, region: LinearRegion, reach: Array
) -> tuple[float, ...]:
    """(least, most) action of a leaf less the line, and (least, most) action, over the region.

    Of an affine piece a + b s, less the line u_z + g (x - z): with s = base + slope (x - z) +-
    error it is a + b base - u_z + (b slope - g) (x - z) +- |b| error. If g is a multiple k of the
    slope, then also a - u_z + k base + (b - k) s -+ k error, whose extremes are at the ends of the
    piece.
    """
    slope, (base, error, low, high) = scored(place, leaf, axis, frame.centre, region.box)
    line, fixed = frame.gains[axis], frame.actions[axis]
    steep = float(line @ slope / (slope @ slope)) if slope @ slope > 0.0 else 0.0
    apart = float(np.abs(line - steep * slope) @ reach)
    if steep > 0.0:
        away = (region.lines[axis] + apart) / steep * ROUNDED + error
        low, high = max(low, base - away), min(high, base + away)
    least, most, lowest, highest = math.inf, -math.inf, math.inf, -math.inf
    for begin, end, a, b in place.loop.pieces[leaf, axis].tolist():
        first, last = max(low, begin - error), min(high, end + error)
        if first > last:
            continue
        values = sorted((a + b * first, a + b * last))
        slack = 1e-14 * (
            abs(a)
            + abs(b) * max(abs(first), abs(last))
            + abs(fixed)
            + abs(steep) * (abs(base) + abs(error))
        )
        slack += 4.0 * place.loop.relative * max(map(abs, values))
        lowest, highest = min(lowest, values[0] - slack), max(highest, values[1] + slack)
        middle, around = (
            a + b * base - fixed,
            float(np.abs(b * slope - line) @ reach) + abs(b) * error + slack,
        )
        off = sorted(a - fixed + steep * base + (b - steep) * at for at in (first, last))
        spread = abs(steep) * error + apart + slack * (1.0 + abs(steep))
        least = min(least, max(middle - around, off[0] - spread))
        most = max(most, min(middle + around, off[1] + spread))
    return least, most, lowest, highest
