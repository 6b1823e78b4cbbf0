"""The checker of what comes to rest: see contraction.py for the theorem, with which this file shares no code.

Matrices are pairs of bounds, each moved to the next double after every operation. The plant's own derivative gives the
slopes. A norm that is claimed is verified by positive pivots of c^2 - M' M.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.ode import MOST_SUBSTEPS
from spaql.proofs import checked_functions as en
from spaql.proofs.checked_cells import CheckedCells, check_blocks, whole_of
from spaql.proofs.checked_flows import flowed
from spaql.proofs.checked_kernels import ROUND
from spaql.proofs.checked_sets import Many, many
from spaql.proofs.checked_work import Worked, worked
from spaql.proofs.checker import UP, CheckedLoop, array_of, leaves_over, pieces_of, require, seen_from
from spaql.proofs.plant_runs import taylor_of, without_time

TERMS = 16  # of the series
PARTS = 4  # boxes over which slopes are averaged
TRIES, FINER = 12, 2  # of a box around the way
COLUMNS = 12  # noise symbols per variable of a set that is followed to E


class Resting(NamedTuple):
    """E, after it was verified."""

    centre: Array
    rows: Array  # a state with |rows (x - centre)| <= within is in it
    within: float
    last: Array  # (d, 2) around where samples lie in the end


# -- matrices of bounds ------------------------------------------------------------------------------------------------


def _sum(terms: en.Pair, axis: int) -> en.Pair:
    low, high = (np.moveaxis(side, axis, 0) for side in terms)
    total = low[0], high[0]
    for k in range(1, len(low)):
        total = en.add(total, (low[k], high[k]))
    return total


def _times(a: en.Pair, b: en.Pair) -> en.Pair:
    return _sum(en.mul((a[0][:, :, None], a[1][:, :, None]), (b[0][None], b[1][None])), 1)


def _part(a: en.Pair, rows: slice, columns: Any) -> en.Pair:
    return a[0][rows, columns], a[1][rows, columns]


def _lengths(a: en.Pair) -> Array:
    """At least the Euclidean norm of every row."""
    return np.nextafter(np.sqrt(_sum(en.sqr(en.exactly(en.size(a))), 1)[1]), np.inf)


def _norm_is_below(a: en.Pair, bound: float) -> bool:
    """|M + R| <= |M| + |R| with |R| at most the root of the sum of squares, and |M| < b where b^2 - M' M has positive
    pivots."""
    middle = 0.5 * (a[0] + a[1])
    point = en.exactly(middle)
    radius = np.maximum(en.sub(en.exactly(a[1]), point)[1], en.sub(point, en.exactly(a[0]))[1])
    rest = float(_lengths((np.zeros((1, radius.size)), radius.reshape(1, -1)))[0])
    least = en.sub(en.exactly(bound), en.exactly(rest))[0]
    if not least > 0.0:
        return False
    n = len(middle[0])
    square = _times((point[0].T, point[1].T), point)
    room = en.sqr(en.exactly(least))[0]
    left = en.sub((np.eye(n) * room, np.eye(n) * room), square)
    for k in range(n):
        pivot = left[0][k, k], left[1][k, k]
        if not pivot[0] > 0.0:
            return False
        column = left[0][k + 1 :, k], left[1][k + 1 :, k]
        row = left[0][k, k + 1 :], left[1][k, k + 1 :]
        share = en.div(column, pivot)
        rest_ = en.mul((share[0][:, None], share[1][:, None]), (row[0][None], row[1][None]))
        inner = en.sub((left[0][k + 1 :, k + 1 :], left[1][k + 1 :, k + 1 :]), rest_)
        left[0][k + 1 :, k + 1 :], left[1][k + 1 :, k + 1 :] = inner
    return True


# -- what holds over E -------------------------------------------------------------------------------------------------


def _action(loop: CheckedLoop, z: Array, box: Array, sides: en.Pair) -> tuple[Array, en.Pair, Array]:
    """(u_z, slopes G of the action, how far it may be from u_z + G (x - z)) over E, on one affine piece."""
    boxes, centres = box[None], z[None]
    seen = seen_from(loop, boxes, centres)
    leaves, m = leaves_over(loop, seen, boxes, centres), loop.rules.actions.shape[1]
    require(len(leaves) == 1, "the set at rest has several leaves")
    most = np.maximum(np.abs(seen.low[0]), np.abs(seen.high[0])) + loop.sensors
    off = (seen.middle_high[0] - seen.middle_low[0]) + seen.error[0] + loop.sensors
    u, error, slopes = np.zeros(m), np.zeros(m), list[en.Pair]()
    for axis in range(m):
        gains, offset, pieces = pieces_of(loop, leaves[0], axis)
        w, used = np.abs(gains), gains != 0.0
        slope = en.mul((gains[used, None],) * 2, (seen.slope_low[0][used], seen.slope_high[0][used]))
        G = _sum(slope, 0) if used.any() else en.exactly(np.zeros(len(z)))
        total = abs(offset) + float((w * most)[used].sum())
        slack = ((len(w) + 4) * 2.0 * loop.relative + 1e-13) * total
        slack += 1e-36 * (1.0 + w.sum() + most.sum()) if loop.single else 0.0
        away = float((w * off)[used].sum()) * UP + slack
        base = offset + float((gains * 0.5 * (seen.middle_low[0] + seen.middle_high[0]))[used].sum())
        reach = float(_lengths(_times((G[0][None], G[1][None]), sides))[0]) + away
        reach = reach * UP + 1e-13 * abs(base)
        inside = [piece for piece in pieces if piece[0] <= base - reach and base + reach <= piece[1]]
        require(len(inside) > 0, "the set at rest has several pieces of the law")
        _, _, value, steep = inside[0]
        u[axis] = value + steep * base
        error[axis] = abs(steep) * away * UP + 4.0 * loop.relative * (abs(u[axis]) + abs(steep) * reach)
        error[axis] += 1e-13 * (abs(value) + abs(u[axis]))
        slopes.append(en.mul(G, en.exactly(np.full(len(z), steep))))
    require(np.isfinite(u) & np.isfinite(error), "the controller is not known over the set at rest")
    return u, (np.stack([low for low, _ in slopes]), np.stack([high for _, high in slopes])), error


def _rates(plant: Any, boxes: Array, slopes: bool) -> Worked:
    rates = worked(taylor_of(plant).rates, without_time(boxes), slopes)
    require(rates.finite, "the derivative is not defined everywhere around the set at rest")
    return rates


def _rates_over(plant: Any, box: Array) -> Array:
    rates = _rates(plant, box[None], False)
    return np.concatenate([rates.low, rates.high], axis=1)


def _around_a_way(plant: Any, box: Array, applied: Array, h: float) -> Array:
    """By Picard's operator."""
    way, none, holds = box, np.zeros(len(box)), 0
    for _ in range(TRIES):
        rates = _rates_over(plant, np.concatenate([way, applied]))
        low, high = en.mul((none, np.full(len(box), h)), (rates[:, 0], rates[:, 1]))
        low, high = en.add((box[:, 0], box[:, 1]), (np.minimum(low, 0.0), np.maximum(high, 0.0)))
        require(np.isfinite(low) & np.isfinite(high), "a way from the set at rest has no end")
        holds += holds > 0 or bool((way[:, 0] <= low).all() and (high <= way[:, 1]).all())
        if holds > FINER:
            return way
        if holds:
            way = np.stack([np.maximum(way[:, 0], low), np.minimum(way[:, 1], high)], axis=1)
            continue
        more = 0.1 * (high - low)
        way = np.stack([np.minimum(way[:, 0], low - more), np.maximum(way[:, 1], high + more)], axis=1)
    require(False, "no box around the set at rest is mapped into itself")
    return way


def _slopes(plant: Any, point: Array, over: Array) -> en.Pair:
    """Of the derivative, averaged over boxes that grow from a point."""
    boxes = []
    for part in range(1, PARTS + 1):
        ends = point[:, None] + (over - point[:, None]) * (part / PARTS)
        boxes.append(ends + (1e-15 * (np.abs(ends) + np.abs(point)[:, None]) + 1e-300) * [-1.0, 1.0])
    rates = _rates(plant, np.stack(boxes), True)
    total = _sum((rates.slope_low[:, :-1], rates.slope_high[:, :-1]), 2)
    require(np.isfinite(total[0]) & np.isfinite(total[1]), "slopes are not known around the set at rest")
    return en.div(total, en.exactly(float(PARTS)))


def _moved_on(D: en.Pair, h: en.Pair) -> en.Pair:
    """v(h) of v' = D v, as a matrix times v(0)."""
    size = len(D[0])
    total = power = en.exactly(np.eye(size))
    for k in range(1, TERMS):
        power = en.mul(_times(power, D), en.div(h, en.exactly(float(k))))
        total = en.add(total, power)
    norm = float(_sum(en.exactly(en.size(D)), 1)[1].max() * h[1] * UP)
    require(norm < 0.5 * TERMS, "a sample is too long for its matrix")
    rest = norm**TERMS / math.factorial(TERMS) / (1.0 - norm / (TERMS + 1)) * UP
    return en.outwards(total[0] - rest, total[1] + rest)


def check_rest(loop: CheckedLoop, evidence: Mapping[str, Any], substeps: int, goal: Array, factor: float) -> Resting:
    """That E is not left, that its samples come nearer by this factor, and that they are in the goal all the time."""
    plant: Any = loop.problem.plant
    d, m = plant.state_dim, plant.action_dim
    z, S = (array_of(evidence, key, {key: shape}) for key, shape in (("centre", (d,)), ("sides", (d, d))))
    require(0.0 < factor < 1.0, "its factor is none")
    with np.errstate(all="ignore"):
        rows = np.linalg.inv(S) if np.linalg.matrix_rank(S) == d else np.full((d, d), np.nan)
    require(np.isfinite(rows), "its sides are no parallelotope")
    sides, T = en.exactly(S), en.exactly(rows)
    apart = 1e-6
    require(_norm_is_below(en.sub(en.exactly(np.eye(d)), _times(T, sides)), apart), "its sides cannot be inverted")
    half = _lengths(sides) * UP
    box = np.stack([z - half, z + half], axis=1) + 1e-15 * np.abs(z)[:, None] * [-1.0, 1.0]
    u, G, error = _action(loop, z, box, sides)
    reach = (_lengths(_times(G, sides)) + error) * UP + 1e-15 * np.abs(u)
    applied = np.stack([u - reach, u + reach], axis=1)
    point, total = np.concatenate([z, u]), d + m + 1
    at_rest = _rates_over(plant, np.stack([point, point], axis=1))
    h = plant.flow.dt / substeps
    length = np.nextafter(h, 0.0), np.nextafter(h, np.inf)
    v = np.eye(total), np.eye(total)
    for side, slope in zip(v, G, strict=True):
        side[d : d + m, :d] = slope
    for _ in range(substeps):
        off = en.size(_part(v, slice(0, d), slice(d, None)))
        half = _lengths(_times(_part(v, slice(0, d), slice(0, d)), sides)) + off[:, :m] @ error + off[:, m]
        half = half * UP + 1e-15 * np.abs(z)
        way = _around_a_way(plant, np.stack([z - half, z + half], axis=1), applied, length[1])
        require((goal[:, 0] <= way[:, 0]) & (way[:, 1] <= goal[:, 1]), "the set at rest leaves the bounds")
        D = np.zeros((total, total)), np.zeros((total, total))
        slopes = _slopes(plant, point, np.concatenate([way, applied]))
        for side, slope, rate in zip(D, slopes, at_rest.T, strict=True):
            side[:d, : d + m], side[:d, -1] = slope, rate
        v = _times(_moved_on(D, length), v)
    turned = _times(T, _part(v, slice(0, d), slice(0, total)))
    # what T lacks of the inverse of S makes norms larger by 1 / (1 - apart) at most
    room = factor * (1.0 - apart) * (1.0 - 1e-12)
    require(_norm_is_below(_times(_part(turned, slice(0, d), slice(0, d)), sides), room), "a sample comes no nearer")
    size = en.size(turned)
    pushed = size[:, d : d + m] @ error + size[:, -1]
    left = float(np.sqrt((pushed**2).sum())) / (1.0 - apart) * UP
    require(factor + left <= 1.0, "the set at rest is left")
    if plant.flow.over is not None:
        require(~flowed(loop, many(box[None]), substeps).sets.over[:, 0], "an episode may end in the set at rest")
    away = 1.001 * left / (1.0 - factor) * _lengths(sides)  # so that they come there, and not only ever nearer
    last = np.stack([z - away, z + away], axis=1) + 1e-15 * np.abs(z)[:, None] * [-1.0, 1.0]
    return Resting(z, rows, 1.0 - 2.0 * apart, last)


def check_attraction(
    loop: CheckedLoop, evidence: Mapping[str, Any], limits: Array, goal: Array, factor: float
) -> tuple[Resting, CheckedCells, int]:
    """(E, the cells from which it is reached, after how many samples at most): within the limits all the time, then in
    the goal."""
    substeps = whole_of(evidence, "substeps", MOST_SUBSTEPS)
    resting = check_rest(loop, evidence, substeps, goal, factor)

    def moved(sets: Many) -> tuple[Many, Array]:
        step = flowed(loop, sets, substeps, COLUMNS, limits)
        return step.sets, step.way

    reach, within = check_blocks(loop, evidence, limits, moved, lambda sets: inside(resting, sets))
    return resting, reach, within


def inside(resting: Resting, sets: Many) -> Array:
    """Which sets lie in E."""
    T, away = resting.rows, sets.c - resting.centre
    turned = np.einsum("ij,njk->nik", T, sets.G)
    along = np.abs(np.einsum("ij,nj->ni", T, away))
    size = np.einsum("ij,nj->ni", np.abs(T), np.abs(sets.c) + np.abs(resting.centre) + np.abs(sets.G).sum(axis=2))
    most = along + np.abs(turned).sum(axis=2) + np.einsum("ij,nj->ni", np.abs(T), sets.R)
    most = most * (1.0 + ROUND) + ROUND * size
    return np.asarray((most**2).sum(axis=1) * (1.0 + 1e-12) <= resting.within**2)
