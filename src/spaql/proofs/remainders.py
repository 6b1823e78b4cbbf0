"""A step of the loop as a linear one: the matrix around a point, and what it leaves over in a
region (see linear_loop.py)."""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.over_boxes import Workplace, look, plant_steps, score, slices

SLICES = 512  # of held variables, over which slopes are compared with those the frame expects


SPARE = 1.0 + 1e-8  # so that other arithmetic, rounded otherwise, finds no larger numbers


ROUNDED = 1.0 + 1e-10  # more than the relative rounding of any sum here: at most 10,000 terms of one sign


class Frame(NamedTuple):
    """Around which point, with which line, a step is written as a linear one."""

    centre: Array  # (states,) z
    gains: Array  # (actions, states) g
    actions: Array  # (actions,) u_z
    matrix: Array  # (states, states) A; rows and columns of held variables are zero
    columns: Array  # (states, actions) b
    spread: Array  # (held variables, states, states + actions) H_p
    pieces: Array  # (held variables,) in which their ranges are cut

    @property
    def all_columns(self) -> Array:
        """Of everything that enters the step from outside: b, then those of every H_p."""
        return np.hstack([self.columns, *self.spread])


class LinearRegion(NamedTuple):
    """A box around z, and how far the lines go in it."""

    box: Array  # (states, 2)
    lines: Array  # (actions,)


class Remainder(NamedTuple):
    """What the linear step leaves over, for all states in a box."""

    band: Array  # W, of all columns
    rest: Array  # (states,) E
    ends: bool  # whether the episode may end within the box
    safe: bool  # whether anything is known
    reward: Array  # (2,) of a step


def scored(
    place: Workplace, node: int, output: int, centre: Array, box: Array, test: bool = False
) -> tuple[Array, Array]:
    """(slope, [base, error, lowest, highest]) of a score; its range also by way of the slope."""
    loop = place.loop
    gains, offset = (
        (loop.weights[node], -loop.cut[node]) if test else (loop.gains[node, output], loop.offsets[node, output])
    )
    score(loop, place.seen, gains, offset, centre, box, place.score)
    slope, (base, error, low, high) = place.score.slope.copy(), place.score.numbers
    reach = float(np.abs(slope) @ np.max(np.abs(box - centre[:, None]), axis=1)) * ROUNDED + 1e-300
    return slope, np.array([base, error, max(low, base - error - reach), min(high, base + error + reach)])


def leaves_over(place: Workplace, centre: Array, box: Array) -> list[int]:
    """The leaves that some state of the box may reach. What is seen from it must have been looked at."""
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


def frame_at(place: Workplace, centre: Array, slope: float, ranges: Array) -> Frame | None:
    """The linear step around a point. `slope`: of the line through a threshold, in units of what
    corrects it at once; `ranges`: of the states, of which those of held ones count."""
    loop, (n, m) = place.loop, (place.loop.states, place.loop.actions)
    point = np.stack([centre, centre], axis=1)
    look(loop, centre, point, place.r, place.out, place.seen)
    leaf = leaves_over(place, centre, point)[0]
    if loop.scored:
        return None
    gains, actions, steep, off = np.zeros((m, n)), np.zeros(m), np.zeros(m), np.zeros(m)
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
            actions[axis], steep[axis] = 0.5 * (pieces[0, 2] + pieces[-1, 2]), rise / span if span > 0.0 else math.nan
            off[axis] = numbers[0] - (0.5 * (pieces[-1, 0] + pieces[0, 1]))
        else:
            actions[axis] = pieces[0, 2]
    steps = plant_steps(place, centre, actions, point[None], np.stack([actions, actions], axis=1))
    if steps is None:
        return None
    jacobian = steps.slopes[0].mean(axis=2)
    columns = jacobian[:, n : n + m].copy()
    for axis in range(m):
        if math.isnan(steep[axis]):  # a threshold: so steep that a push, when it is seen, takes the score to zero
            column = columns[:, axis]
            for _ in range(n):
                corrected = abs(gains[axis] @ column)
                if corrected > 0.0:
                    break
                column = jacobian[:, :n] @ column
            steep[axis] = slope / corrected if corrected > 0.0 else 0.0
        gains[axis] *= steep[axis]
        ends = loop.pieces[leaf, axis, [0, -1], 2]
        actions[axis] = min(max(actions[axis] + steep[axis] * off[axis], ends.min()), ends.max())  # where the line is
    matrix = jacobian[:, :n] + columns @ gains
    matrix[place.held], matrix[:, place.held], columns[place.held] = 0.0, 0.0, 0.0
    gains[:, place.held] = 0.0
    spread = _spread(place, centre, actions, ranges)
    known = np.isfinite(matrix).all() and np.isfinite(spread).all()
    pieces = _pieces(spread, ranges[place.held])
    return Frame(centre, gains, actions, matrix, columns, spread, pieces) if known else None


def _spread(place: Workplace, centre: Array, actions: Array, ranges: Array) -> Array:
    """H_p by differences across the range of each held variable; any numbers will do."""
    n, m = place.loop.states, place.loop.actions
    held = np.flatnonzero(place.held)
    spread = np.zeros((len(held), n, n + m))
    ends = np.tile(centre[:, None], (2 * len(held), 1, 2))
    for k, j in enumerate(held):
        ends[2 * k, j], ends[2 * k + 1, j] = ranges[j]
    steps = plant_steps(place, centre, actions, ends, np.stack([actions, actions], axis=1))
    if steps is None:
        return np.full_like(spread, math.nan)
    middles = steps.slopes.mean(axis=3)[:, :, : n + m]
    for k, width in enumerate(np.diff(ranges[held], axis=1)[:, 0]):
        if width > 0.0:
            spread[k] = (middles[2 * k + 1] - middles[2 * k]) / width
    spread[:, place.held] = spread[:, :, held] = 0.0
    spread[np.abs(spread) < 1e-6 * np.abs(spread).max(initial=0.0)] = 0.0  # rounding of the differences
    return spread


NOTHING = Remainder(np.full(1, np.inf), np.full(1, np.inf), True, False, np.array([-np.inf, np.inf]))


def remainder(place: Workplace, frame: Frame, region: LinearRegion) -> Remainder:
    """W and E for all states in the region."""
    loop, centre, n, box = place.loop, frame.centre, place.loop.states, region.box
    if not look(loop, centre, box, place.r, place.out, place.seen):
        return NOTHING
    reach = np.max(np.abs(box - centre[:, None]), axis=1) * ROUNDED
    band, applied = np.zeros(loop.actions), np.zeros((loop.actions, 2))
    leaves = leaves_over(place, centre, box)
    for axis in range(loop.actions):
        spans = [_off_line(place, frame, leaf, axis, region, reach) for leaf in leaves]
        if not np.isfinite(spans).all():
            return NOTHING
        band[axis] = np.max(np.abs(spans)[:, :2])
        applied[axis] = np.min(spans, axis=0)[2], np.max(spans, axis=0)[3]
    away = np.concatenate([np.where(place.held, 0.0, reach), np.max(np.abs(applied - frame.actions[:, None]), axis=1)])
    noise = np.full(len(loop.noise), 0.5)
    linear = np.hstack([frame.matrix - frame.columns @ frame.gains, frame.columns, np.zeros((n, len(noise)))])
    blurred = 1e-14 * (np.abs(linear) + np.abs(frame.columns) @ np.abs(frame.gains).sum(1, keepdims=True))
    held = np.flatnonzero(place.held)
    farthest = np.max(np.abs(box[held] - centre[held, None]), axis=1) * ROUNDED
    parts = slices(box, held, frame.pieces)
    steps = plant_steps(place, centre, frame.actions, parts, applied)
    if steps is None:
        return NOTHING
    about = np.tile(linear[:, :, None], (len(parts), 1, 1, 2))
    for matrix, j in zip(frame.spread, held, strict=True):
        off = parts[:, j] - centre[j]
        off += (np.abs(parts[:, j]) + abs(centre[j])) * 1e-15 * [-1.0, 1.0]
        both = matrix[:, :, None] * off[:, None, None]
        about[:, :, : n + loop.actions] += np.stack([both.min(axis=3), both.max(axis=3)], axis=3)
    apart = np.maximum(np.abs(steps.slopes[..., 1] - about[..., 0]), np.abs(steps.slopes[..., 0] - about[..., 1]))
    apart += blurred + 1e-14 * np.abs(about).max(axis=3)
    curved = apart @ np.concatenate([away, noise])
    drift = np.max(np.abs(steps.after - centre[:, None]), axis=2)
    rest = (drift + steps.errors + curved).max(axis=0) * ROUNDED + 1e-300
    rest[place.held] = 0.0
    band = np.concatenate([band, np.outer(farthest, away).ravel() * ROUNDED])
    paid = np.array([steps.reward[:, 0].min(), steps.reward[:, 1].max()])
    paid += (SPARE - 1.0) * (paid[1] - paid[0]) * np.array([-1.0, 1.0])  # what is the same everywhere stays as it is
    return Remainder(
        band * SPARE + 1e-12, rest * SPARE + 1e-13 * ~place.held, bool(steps.ends.any()), bool(np.isfinite(rest).all()),
        paid,
    )  # fmt: skip


def _pieces(spread: Array, ranges: Array) -> Array:
    """For every held variable, in proportion to what it changes: at most SLICES in all."""
    effect = np.abs(spread).max(axis=(1, 2)) * np.diff(ranges, axis=1)[:, 0]
    pieces = np.ones(len(spread), np.int64)
    if not effect.any():
        return pieces
    for scale in np.geomspace(1.0, SLICES, 60) / effect.max():
        finer = np.maximum(np.round(scale * effect), 1).astype(np.int64)
        if finer.prod() <= SLICES:
            pieces = finer
    return pieces


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
    moving = np.where(place.held, 0.0, slope)
    steep = float(line @ moving / (moving @ moving)) if moving @ moving > 0.0 else 0.0
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
            abs(a) + abs(b) * max(abs(first), abs(last)) + abs(fixed) + abs(steep) * (abs(base) + abs(error))
        )
        slack += 4.0 * place.loop.relative * max(map(abs, values))
        lowest, highest = min(lowest, values[0] - slack), max(highest, values[1] + slack)
        middle, around = a + b * base - fixed, float(np.abs(b * slope - line) @ reach) + abs(b) * error + slack
        off = sorted(a - fixed + steep * base + (b - steep) * at for at in (first, last))
        spread = abs(steep) * error + apart + slack * (1.0 + abs(steep))
        least = min(least, max(middle - around, off[0] - spread))
        most = max(most, min(middle + around, off[1] + spread))
    return least, most, lowest, highest
