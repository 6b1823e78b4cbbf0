"""The checker's theorem of the linear loop: see linear_loop.py for the statement, with which this file shares no code.

In its letters: z the centre, g the lines and u their actions there, A the matrix, b its columns, H_p their spread.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.checker import (
    UP,
    CheckedLoop,
    RefusedError,
    array_of,
    leaves_over,
    pieces_of,
    require,
    seen_from,
    weighted,
)
from spaql.proofs.plant_runs import ForSure, Value, runs

PARTS = 8
MOST_SLICES = 10_000


def check_linear(loop: CheckedLoop, evidence: Mapping[str, Any], steps: int | None, ends: bool) -> Array:
    """No start of evidence["start"] leaves the box that is returned. `ends`: nor does its episode end."""
    plant: Any = loop.problem.plant
    n, m = plant.state_dim, plant.action_dim
    sizes = {
        "start": (n, 2), "box": (n, 2), "centre": (n,), "gains": (m, n), "actions": (m,), "matrix": (n, n),
        "columns": (n, m), "lines": (m,), "rest": (n,), "held": (n,), "reward": (2,),
    }  # fmt: skip
    held = array_of(evidence, "held", sizes) != 0.0
    count = int(held.sum())
    sizes |= {"spread": (count, n, n + m), "pieces": (count,), "band": (m + count * (n + m),)}
    if count == 0:  # also in certificates that were written before there were spreads
        evidence = {**evidence, "spread": np.zeros(sizes["spread"]), "pieces": []}
    z, g, u, A, b = (array_of(evidence, key, sizes) for key in ("centre", "gains", "actions", "matrix", "columns"))
    start, box, lines, band, rest = (
        array_of(evidence, key, sizes) for key in ("start", "box", "lines", "band", "rest")
    )
    spread, pieces = (array_of(evidence, key, sizes) for key in ("spread", "pieces"))
    require(start[:, 0] <= start[:, 1], "the start is no box")
    require((box[:, 0] <= start[:, 0]) & (start[:, 1] <= box[:, 1]), "the start is not in the box")
    require((A[held] == 0.0) & (A.T[held] == 0.0), "a held variable moves")
    require((b[held] == 0.0) & (g.T[held] == 0.0), "a held variable is driven")
    require(spread[:, held] == 0.0, "a held variable is driven")
    whole = (pieces == np.round(pieces)) & (pieces >= 1.0)
    require(whole & (pieces.prod() <= MOST_SLICES), "the slices are no counts")
    require((lines >= 0.0) & (band >= 0.0), "a bound is negative")
    require(rest >= 0.0, "a bound is negative")
    reach = np.max(np.abs(box - z[:, None]), axis=1) * UP
    away = np.where(held, 0.0, np.max(np.abs(start - z[:, None]), axis=1)) * UP
    applied, off = _actions_over(loop, z, g, u, box, lines, held)
    require(off <= band[:m], "the controller is farther from its line than its band")
    # H_p times how far the held variable p, and every state and action, is from the centre
    far = np.append(np.where(held, 0.0, reach), np.max(np.abs(applied - u[:, None]), axis=1) * UP)
    require(np.outer(reach[held], far).ravel() * UP <= band[m:], "a parameter changes more than its band")
    paid = array_of(evidence, "reward", sizes) if "reward" in evidence else None
    parts = _slices(box, held, pieces)
    left, after = _left_over(loop, z, g, u, A, b, spread, parts, far, applied, held, ends, paid)
    require(left <= rest, "a step leaves more than its rest")
    _check_sums(z, g, A, np.hstack([b, *spread]), box, lines, band, rest, away, steps, held, _hull(start, after))
    return box


def _hull(a: Array, b: Array) -> Array:
    return np.stack([np.minimum(a, b)[:, 0], np.maximum(a, b)[:, 1]], axis=1)


def _actions_over(
    loop: CheckedLoop, z: Array, g: Array, u: Array, box: Array, lines: Array, held: Array
) -> tuple[Array, Array]:
    """(lowest and highest actions, how far from the line u + g (x - z)) over the box, cut by the lines."""
    boxes, centres = box[None], z[None]
    seen = seen_from(loop, boxes, centres)
    leaves = leaves_over(loop, seen, boxes, centres)
    reach = np.max(np.abs(box - z[:, None]), axis=1) * UP
    applied, off = np.zeros((len(u), 2)), np.zeros(len(u))
    for axis in range(len(u)):
        least, most, far = math.inf, -math.inf, 0.0
        for leaf in leaves:
            gains, offset, pieces = pieces_of(loop, leaf, axis)
            s = weighted(loop, seen, gains, offset, boxes, centres)
            base, slope, error, low, high = s.base[0], s.slope[0], s.error[0], s.low[0], s.high[0]
            known = np.isfinite([base, error, low, high, *slope])  # NaN compares false below
            require(known, "the controller is not known over the box")
            moving = slope * ~held
            steep = float(g[axis] @ moving / (moving @ moving)) if moving @ moving > 0.0 else 0.0  # any number will do
            bent = float(np.abs(g[axis] - steep * slope) @ reach) * UP
            if steep > 0.0:  # steep * slope (x - z) is within lines + bent
                wide = (lines[axis] + bent) / steep * UP + error
                low, high = max(low, base - wide), min(high, base + wide)
            for begin, end, a, k in pieces:
                first, last = max(low, begin - error), min(high, end + error)
                if first > last:
                    continue
                at = [(a + k * first), (a + k * last)]
                far_score = abs(base) + abs(error) + max(abs(first), abs(last))
                slack = 4.0 * loop.relative * max(abs(at[0]), abs(at[1]))
                slack += 1e-14 * (abs(a) + abs(u[axis]) + (abs(k) + abs(steep)) * far_score)
                least, most = min(least, min(at) - slack), max(most, max(at) + slack)
                direct = a + k * base - u[axis]
                around = float(np.abs(k * slope - g[axis]) @ reach) * UP + abs(k) * error + slack
                by_score = [a - u[axis] + steep * base + (k - steep) * x for x in (first, last)]
                spread = abs(steep) * error + bent + slack
                lowest = max(direct - around, min(by_score) - spread)
                highest = min(direct + around, max(by_score) + spread)
                far = max(far, abs(lowest), abs(highest))
        applied[axis], off[axis] = (least, most), far
    require(np.isfinite(applied), "the controller is not known over the box")
    return applied, off


def _slices(box: Array, held: Array, pieces: Array) -> Array:
    """The box in pieces that cover it, (slices, states, 2)."""
    parts = box[None]
    for j, count in zip(np.flatnonzero(held), pieces.astype(int), strict=True):
        inner = box[j, 0] + (box[j, 1] - box[j, 0]) * np.arange(1, count) / count
        edges = np.concatenate([box[j, :1], inner, box[j, 1:]])
        require(np.diff(edges) >= 0.0, "the slices are no counts")
        parts = np.repeat(parts, count, axis=0)
        parts[:, j] = np.tile(np.stack([edges[:-1], edges[1:]], axis=1), (len(parts) // count, 1))
    return parts


def _left_over(
    loop: CheckedLoop, z: Array, g: Array, u: Array, A: Array, b: Array, spread: Array, slices: Array, reach: Array,
    applied: Array, held: Array, ends: bool, paid: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """|f(x, u) - z - (L + sum_p H_p (p - z_p)) (x - z, u - u_z)| over all slices of the box, L (x - z, u - u_z) being
    A (x - z) + b (u - line), by the mean value theorem along the way from z to x with the held variables p fixed. And
    the range of f."""
    plant: Any = loop.problem.plant
    n, m, c, count = plant.state_dim, plant.action_dim, plant.step_noise, len(slices)
    others = np.concatenate([applied, np.tile([0.0, 1.0], (c, 1))])
    whole = np.concatenate([slices, np.tile(others, (count, 1, 1))], axis=1)
    point = np.concatenate([z, u, np.full(c, 0.5)])
    middle = np.tile(point[:, None], (count, 1, 2))
    middle[:, :n][:, held] = slices[:, held]
    around = np.stack([np.minimum(whole[..., 0], middle[..., 0]), np.maximum(whole[..., 1], middle[..., 1])], axis=2)
    shares = (np.arange(PARTS) + 1.0)[:, None, None, None] / PARTS
    parts = (middle + (around - middle) * shares).reshape(PARTS * count, -1, 2)
    parts = np.stack([np.nextafter(parts[..., 0], -np.inf), np.nextafter(parts[..., 1], np.inf)], axis=2)
    parts += (np.abs(parts) + np.tile(np.abs(middle), (PARTS, 1, 1))) * 1e-15 * [-1.0, 1.0]
    far = np.append(reach, np.full(c, 0.5))
    linear = np.tile(np.hstack([A - b @ g, b, np.zeros((n, c))])[..., None], (count, 1, 1, 2))
    for H, j in zip(spread, np.flatnonzero(held), strict=True):
        off = slices[:, j] - z[j] + (np.abs(slices[:, j]) + abs(z[j])) * 1e-15 * [-1.0, 1.0]
        both = H[:, :, None] * off[:, None, None]
        linear[:, :, : n + m] += np.stack([both.min(axis=3), both.max(axis=3)], axis=3)
    wide = np.abs(linear).max(axis=3)
    blurred = 1e-14 * (wide @ far + (np.abs(A) + np.abs(b) @ np.abs(g)).sum(axis=1) * far.max())
    left, following = np.zeros((count, n)), np.tile([math.inf, -math.inf], (n, 1))
    for way, result in runs(plant.step.python, whole, False, True):
        rows = np.flatnonzero(way.possible)
        if len(rows) == 0:
            continue
        require(way.finite[rows], "the plant is not defined everywhere in the box")
        if ends:
            require(_surely_goes_on(result[2], rows), "the episode may end")
        if paid is not None:
            low, high = _ends_of(result[1])
            require((paid[0] <= low) & (high <= paid[1]), "a step may be paid less or more")
        for i in range(n):
            low, high = _ends_of(result[0][i])
            following[i, 0] = min(following[i, 0], np.broadcast_to(low, count)[rows].min())
            following[i, 1] = max(following[i, 1], np.broadcast_to(high, count)[rows].max())
        answers = way.taken
        ((_, shrunk),) = runs(plant.step.python, parts, True, False, answers)
        ((_, at),) = runs(plant.step.python, middle, False, False, answers)
        for i in np.flatnonzero(~held).tolist():
            after, value = shrunk[0][i], at[0][i]
            if not isinstance(after, Value) or not isinstance(value, Value) or after.slope is None:
                total = np.abs(float(after) - z[i]) + wide[:, i] @ far
            else:
                low, high = (side.reshape(PARTS, count, -1).mean(axis=0) for side in after.slope)
                off = np.maximum(np.abs(high - linear[:, i, :, 0]), np.abs(low - linear[:, i, :, 1]))
                off += 1e-14 * np.maximum(np.abs(low), np.abs(high))
                drift = np.maximum(np.abs(value.low - z[i]), np.abs(value.high - z[i]))
                with np.errstate(all="ignore"):
                    lost = after.error.reshape(PARTS, count).max(axis=0)
                    total = drift + lost + off @ far + blurred[:, i]
            left[rows, i] = np.maximum(left[rows, i], np.where(np.isnan(total), math.inf, total)[rows])
        for i in np.flatnonzero(held).tolist():
            own = result[0][i]
            require(isinstance(own, Value) and own.place == i, "a held variable changes")
    most: Array = left.max(axis=0) * UP
    return most, following


def _ends_of(value: Any) -> tuple[Any, Any]:
    return (value.low, value.high) if isinstance(value, Value) else (float(value), float(value))


def _surely_goes_on(ended: Any, rows: Array) -> bool:
    return bool(np.all(ended.surely_not[rows])) if isinstance(ended, ForSure) else not ended


def _check_sums(
    z: Array, g: Array, A: Array, b: Array, box: Array, lines: Array, band: Array, rest: Array, away: Array,
    steps: int | None, held: Array, always: Array,
) -> None:  # fmt: skip
    """The sums of linear_loop.py, from powers of its matrix that are worked out here; `rest` must also
    carry what these lose. `always`: where each variable is in the start and after a step from the box."""
    n, tiny = len(z), 2.0**-50
    driven = b.any(axis=0)
    b, band = b[:, driven], band[driven]
    P, powers = np.eye(n), list[Array]()
    while len(powers) < (10_000 if steps is None else steps + 1):
        powers.append(P)
        P = A @ P
        size = np.abs(P).max()
        require(size < 1e12, "the linear loop grows")
        if steps is None and size < 1e-9:
            break
    require(steps is not None or size < 1e-9, "the linear loop does not settle")
    # defects of the computed powers, the last one's being all that follows it, or nothing after the last step
    every = np.array(powers)
    before = every if steps is None else every[:-1]
    following = np.concatenate([every[1:], np.zeros((1, n, n))])[: len(before)]
    defects = np.abs(A @ before - following) + n * tiny * (np.abs(A) @ np.abs(before)) + 1e-300
    lost, worst = defects.sum(axis=0), (defects @ away).max(axis=0, initial=0.0)
    pushed = np.abs(b) @ band
    carried = rest.copy()
    for _ in range(50):
        more = (rest + lost @ (pushed + carried) + worst) * UP
        if np.all(more <= carried):
            break
        carried = more * (1.0 + 1e-7)
    else:
        raise RefusedError("what the sums lose does not settle")
    rows = np.vstack([np.eye(n), g])
    require((box[:, 0] <= z) & (z <= box[:, 1]), "the centre is not in the box")
    seen, blur = rows @ every, 2 * n * tiny * (np.abs(rows) @ np.abs(every))
    more = (np.abs(seen @ b) + blur @ np.abs(b)) @ band + (np.abs(seen) + blur) @ carried
    grown = np.concatenate([np.zeros((1, len(rows))), np.cumsum(more, axis=0)])
    reached = ((np.abs(seen) + blur) @ away + grown[:-1]).max(axis=0)
    if steps is None:
        reached = np.maximum(reached, grown[-1])
    far = z[:, None] + (reached[:n, None] * UP + 1e-15 * np.abs(z)[:, None]) * [-1.0, 1.0]
    low, high = np.fmax(far[:, 0], always[:, 0]), np.fmin(far[:, 1], always[:, 1])
    require((box[:, 0] <= low)[~held] & (high <= box[:, 1])[~held], "the sums leave the box")
    require(reached[n:] * UP <= lines, "the sums leave the box")
