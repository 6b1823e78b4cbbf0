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
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.cell_kernels import MARGIN
from spaql.proofs.flow_model import RATES
from spaql.proofs.machine import run
from spaql.proofs.over_boxes import ROUND, Workplace, look
from spaql.proofs.remainders import leaves_over

TERMS = 14  # K
PARTS = 4  # boxes over which slopes are averaged
UP = 1.0 + 1e-10  # more than the relative rounding of the sums here, of terms of one sign
SPARE = 1e-3  # so that other arithmetic, rounded otherwise, shows it too
TRIES = 12  # of a box around the way


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


def held_over(place: Workplace, centre: Array, sides: Array) -> Held | None:
    """None: the controller is not on one affine piece."""
    loop, d = place.loop, len(centre)
    m, own = loop.actions, loop.variables
    half = np.append(lengths(exactly(sides)), np.zeros(m))
    point = np.append(centre, np.zeros(m))
    half = half * UP + 1e-15 * np.abs(point)
    box = np.stack([point - half, point + half], axis=1)
    look(loop, point, box, place.r, place.out, place.seen)
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
    run(loop.tape, begins[RATES], begins[RATES + 1], whole, slopes, False, place.r, place.out)
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
    held = held_over(place, centre, sides)
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
