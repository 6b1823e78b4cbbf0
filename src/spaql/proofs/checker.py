"""The independent checker: a certificate is verified without search, by other code and other arithmetic.

It runs the plant's own Python functions on its own intervals (quantities.py, enclosures.py) and works out anew what the
controller does. From a certificate it takes what may be chosen freely, such as a matrix, a box or the order of cells,
and checks with it every inequality of the theorem. A wrong number can make it refuse, never accept.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Problem
from spaql.proofs.quantities import Quantity, Way, inputs, runnable, runs
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD
from spaql.trees.tree import LEAF, Tree

UP = 1.0 + 1e-9  # more than the rounding of the sums here, whose terms all have one sign
PARTS = 8


class Refused(Exception):
    """Why a certificate does not hold."""


def require(holds: Any, why: str) -> None:
    if not bool(np.all(holds)):
        raise Refused(why)


class Loop(NamedTuple):
    """What is checked: plant, controller, errors of sensors, and the precision of the controller."""

    problem: Problem
    rules: Tree
    sensors: Array
    single: bool

    @property
    def relative(self) -> float:
        return 2.0**-24 if self.single else 2.0**-53


class Seen(NamedTuple):
    """Observations over boxes: range, derivatives, error; and at their centres."""

    low: Array  # (boxes, seen)
    high: Array
    slope_low: Array  # (boxes, seen, states)
    slope_high: Array
    middle_low: Array
    middle_high: Array
    error: Array


def seen_from(loop: Loop, boxes: Array, centres: Array) -> Seen:
    """What is observed; a plant whose `observe` branches is not checked."""
    plant = loop.problem.plant
    assert plant is not None
    points = np.stack([centres, centres], axis=2)

    def observed(where: Array, slopes: bool) -> list[Quantity]:
        if plant.observe is None:
            return inputs(Way([], len(where), False), where, slopes)
        results = [result for _, result in runs(plant.observe.python, where, slopes, False)]
        require(len(results) == 1, "`observe` branches")
        return list(results[0])

    over, at = observed(boxes, True), observed(points, False)
    slopes = [item.slope for item in over]
    return Seen(
        *(np.stack(columns, axis=1) for columns in (
            [item.low for item in over], [item.high for item in over],
            [pair[0] for pair in slopes if pair], [pair[1] for pair in slopes if pair],
            [item.low for item in at], [item.high for item in at], [item.error for item in over],
        ))
    )  # fmt: skip


class Line(NamedTuple):
    """A weighted sum of observations over boxes: base + slope (x - centre) +- error, and its range."""

    base: Array
    slope: Array  # (boxes, states)
    error: Array
    low: Array
    high: Array


def weighted(
    loop: Loop, seen: Seen, weights: Array, offset: float, boxes: Array, centres: Array
) -> Line:
    """The controller's sums in real arithmetic and in its own, with wrong sensors."""
    reach = np.max(np.abs(boxes - centres[:, :, None]), axis=2) * UP
    low, high = seen.low - loop.sensors, seen.high + loop.sensors
    most, w = np.maximum(np.abs(low), np.abs(high)), np.abs(weights)
    used = w > 0.0
    slopes = np.where(
        used[:, None], weights[:, None] * 0.5 * (seen.slope_low + seen.slope_high), 0.0
    )
    curved = np.where(
        used[:, None], w[:, None] * 0.5 * (seen.slope_high - seen.slope_low), 0.0
    ).sum(axis=1)
    total = abs(offset) + most @ w + (np.abs(slopes).sum(axis=1) * reach).sum(axis=1)
    tiny = 1e-36 * (1.0 + w.sum() + most.sum(axis=1)) if loop.single else 0.0
    slack = ((len(weights) + 4) * 2.0 * loop.relative + 1e-14) * total + tiny
    at = 0.5 * (seen.middle_low + seen.middle_high)
    error = ((seen.middle_high - seen.middle_low) + seen.error + loop.sensors) @ w + (
        curved * reach
    ).sum(axis=1)
    ends = np.stack([low * weights, high * weights])
    slope = slopes.sum(axis=1)
    base, error = offset + at @ weights, error * UP + slack
    away = (np.abs(slope) * reach).sum(axis=1) * UP + error
    least, greatest = (
        offset + ends.min(axis=0).sum(axis=1) - slack,
        offset + ends.max(axis=0).sum(axis=1) + slack,
    )
    return Line(
        base, slope, error, np.maximum(least, base - away), np.minimum(greatest, base + away)
    )


def pieces_of(
    loop: Loop, leaf: int, axis: int
) -> tuple[Array, float, list[tuple[float, float, float, float]]]:
    """Gains, offset, and (from, to, a, b): between these scores the action is a + b score."""
    tree, laws, inf = loop.rules, loop.rules.laws, math.inf
    if laws is None:
        return np.zeros(tree.variables), 0.0, [(-inf, inf, float(tree.actions[leaf, axis]), 0.0)]
    require(laws.kind in (CLIP, ORDERED, THRESHOLD), "a law that compares scores")
    values, gains, offset = (
        laws.values.tolist(),
        laws.gains[leaf, axis],
        float(laws.offsets[leaf, axis]),
    )
    if laws.kind == CLIP:
        low, high = float(laws.low[axis]), float(laws.high[axis])
        return gains, offset, [(-inf, low, low, 0.0), (low, high, 0.0, 1.0), (high, inf, high, 0.0)]
    if laws.kind == THRESHOLD:
        return gains, offset, [(-inf, 0.0, values[0], 0.0), (0.0, inf, values[-1], 0.0)]
    ends = [-inf, *(k + 0.5 for k in range(len(values) - 1)), inf]
    return gains, offset, [(*ends[k : k + 2], value, 0.0) for k, value in enumerate(values)]


def tests_of(loop: Loop, node: int) -> Array:
    feature = int(loop.rules.nodes["feature"][node])
    return (
        loop.rules.weights[node]
        if feature == loop.rules.variables
        else np.eye(loop.rules.variables)[feature]
    )


def leaves_over(loop: Loop, seen: Seen, boxes: Array, centres: Array) -> list[int]:
    """Of one box: where some state of it may lead."""
    pending, leaves, nodes = [0], list[int](), loop.rules.nodes
    while pending:
        node = pending.pop()
        if nodes["feature"][node] == LEAF:
            leaves.append(node)
            continue
        line = weighted(
            loop, seen, tests_of(loop, node), -float(nodes["cut"][node]), boxes, centres
        )
        pending += [int(nodes["high"][node])] if line.high[0] >= 0.0 else []
        pending += [int(nodes["low"][node])] if line.low[0] <= 0.0 else []
    return leaves


# -- the theorem of the linear loop ------------------------------------------------------------------------------------


def check_linear(loop: Loop, evidence: Mapping[str, Any], steps: int | None, ends: bool) -> Array:
    """No start of evidence["start"] leaves the box that is returned. `ends`: nor does its episode end."""
    plant: Any = loop.problem.plant
    n, m = plant.state_dim, plant.action_dim
    sizes = {
        "start": (n, 2), "box": (n, 2), "centre": (n,), "gains": (m, n), "actions": (m,), "matrix": (n, n),
        "columns": (n, m), "lines": (m,), "band": (m,), "rest": (n,), "held": (n,),
    }  # fmt: skip
    z, g, u, A, b = (
        array_of(evidence, key, sizes)
        for key in ("centre", "gains", "actions", "matrix", "columns")
    )
    start, box, lines, band, rest = (
        array_of(evidence, key, sizes) for key in ("start", "box", "lines", "band", "rest")
    )
    held = array_of(evidence, "held", sizes) != 0.0
    require(start[:, 0] <= start[:, 1], "the start is no box")
    require((box[:, 0] <= start[:, 0]) & (start[:, 1] <= box[:, 1]), "the start is not in the box")
    require((A[held] == 0.0) & (A.T[held] == 0.0), "a held variable moves")
    require((b[held] == 0.0) & (g.T[held] == 0.0), "a held variable is driven")
    require((lines >= 0.0) & (band >= 0.0), "a bound is negative")
    require(rest >= 0.0, "a bound is negative")
    reach = np.max(np.abs(box - z[:, None]), axis=1) * UP
    away = np.where(held, 0.0, np.max(np.abs(start - z[:, None]), axis=1)) * UP
    applied, off = _actions_over(loop, z, g, u, box, lines)
    require(off <= band, "the controller is farther from its line than its band")
    left = _left_over(loop, z, g, u, A, b, box, reach, applied, held, ends)
    require(left <= rest, "a step leaves more than its rest")
    _check_sums(z, g, A, b, box, lines, band, rest, away, steps, held)
    return box


def array_of(evidence: Mapping[str, Any], key: str, sizes: Mapping[str, tuple[int, ...]]) -> Array:
    try:
        values = np.array(evidence[key], float)
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(f"{key} is missing or damaged") from error
    require(values.shape == sizes[key] and np.isfinite(values).all(), f"{key} is damaged")
    return values


def _actions_over(
    loop: Loop, z: Array, g: Array, u: Array, box: Array, lines: Array
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
            steep = float(g[axis] @ slope / (slope @ slope)) if slope @ slope > 0.0 else 0.0
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
    return applied, off


def _left_over(
    loop: Loop, z: Array, g: Array, u: Array, A: Array, b: Array, box: Array, reach: Array, applied: Array, held: Array,
    ends: bool,
) -> Array:  # fmt: skip
    """|f(x, u) - z - A (x - z) - b (u - line)| over the box, by the mean value theorem along the way from z."""
    plant: Any = loop.problem.plant
    n, _m, c = plant.state_dim, plant.action_dim, plant.step_noise
    whole = np.concatenate([box, applied, np.tile([0.0, 1.0], (c, 1))])
    middle = np.concatenate([z, u, np.full(c, 0.5)])
    around = np.stack([np.minimum(whole[:, 0], middle), np.maximum(whole[:, 1], middle)], axis=1)
    shares = (np.arange(PARTS) + 1.0)[:, None, None] / PARTS
    parts = middle[:, None] + (around - middle[:, None]) * shares
    parts = np.stack(
        [np.nextafter(parts[..., 0], -np.inf), np.nextafter(parts[..., 1], np.inf)], axis=2
    )
    parts += np.abs(parts) * 1e-15 * [-1.0, 1.0]
    far = np.concatenate(
        [reach, np.max(np.abs(applied - u[:, None]), axis=1) * UP, np.full(c, 0.5)]
    )
    linear = np.hstack([A - b @ g, b, np.zeros((n, c))])
    blurred = 1e-14 * (np.abs(A) + np.abs(b) @ np.abs(g)).sum(axis=1) * far.max()
    left = np.zeros(n)
    for way, result in runs(plant.step.python, whole[None], False, True):
        if not way.possible[0]:
            continue
        if ends:
            require(_surely_goes_on(result[2], way), "the episode may end")
        answers = way.taken
        ((_, shrunk),) = runs(plant.step.python, parts, True, False, answers)
        ((_, point),) = runs(
            plant.step.python, np.stack([middle, middle], axis=1)[None], False, False, answers
        )
        for i in np.flatnonzero(~held):
            after, value = shrunk[0][i], point[0][i]
            if (
                not isinstance(after, Quantity)
                or not isinstance(value, Quantity)
                or after.slope is None
            ):
                left[i] = max(left[i], abs(float(after) - z[i]) + float(np.abs(linear[i]) @ far))
                continue
            low, high = after.slope[0].mean(axis=0), after.slope[1].mean(axis=0)
            off = np.maximum(
                np.abs(low - linear[i]), np.abs(high - linear[i])
            ) + 1e-14 * np.maximum(np.abs(low), np.abs(high))
            start = max(abs(value.low[0] - z[i]), abs(value.high[0] - z[i]))
            with np.errstate(all="ignore"):
                total = start + after.error.max() + float(off @ far) + blurred[i]
            left[i] = max(left[i], total if total == total else math.inf)
        for i in np.flatnonzero(held):
            own = result[0][i]
            require(
                isinstance(own, Quantity) and own.key == way.number("input", int(i)),
                "a held variable changes",
            )
    return left * UP


def _surely_goes_on(ended: Any, way: Way) -> bool:
    ended = way.known.get(ended.key, ended) if hasattr(ended, "key") else ended
    return bool(np.all(ended.surely_not)) if hasattr(ended, "surely_not") else not ended


def _check_sums(
    z: Array, g: Array, A: Array, b: Array, box: Array, lines: Array, band: Array, rest: Array, away: Array,
    steps: int | None, held: Array,
) -> None:  # fmt: skip
    """The sums of linear.py, from powers of its matrix that are worked out here; `rest` must also carry what these lose."""
    n, tiny = len(z), 2.0**-50
    P, powers = np.eye(n), list[Array]()
    while len(powers) < (10_000 if steps is None else steps + 1):
        powers.append(P)
        P = A @ P
        require(np.abs(P) < 1e12, "the linear loop grows")
        if steps is None and np.abs(P).max() < 1e-9:
            break
    require(steps is not None or np.abs(P).max() < 1e-9, "the linear loop does not settle")
    # defects of the computed powers, the last one's being all that follows it
    lost = np.zeros((n, n))
    worst = np.zeros(n)
    pushed = np.abs(b) @ band
    for k, power in enumerate(powers):
        following = (
            powers[k + 1] if k + 1 < len(powers) else np.zeros((n, n)) if steps is None else None
        )
        if following is not None:
            defect = np.abs(A @ power - following) + n * tiny * (np.abs(A) @ np.abs(power)) + 1e-300
            lost, worst = lost + defect, np.maximum(worst, defect @ away)
    carried = rest.copy()
    for _ in range(50):
        more = (rest + lost @ (pushed + carried) + worst) * UP
        if np.all(more <= carried):
            break
        carried = more * (1.0 + 1e-7)
    else:
        raise Refused("what the sums lose does not settle")
    rows = np.vstack([np.eye(n), g])
    bounds = np.concatenate(
        [np.min(np.abs(box - z[:, None]) * np.where(box >= z[:, None], 1.0, 1.0), axis=1), lines]
    )
    moving = np.concatenate([~held, np.ones(len(g), bool)])
    require((box[:, 0] <= z) & (z <= box[:, 1]), "the centre is not in the box")
    grown, reached = np.zeros(len(rows)), np.zeros(len(rows))
    for power in powers:
        seen = rows @ power
        blur = 2 * n * tiny * (np.abs(rows) @ np.abs(power))
        reached = np.maximum(reached, (np.abs(seen) + blur) @ away + grown)
        grown = (
            grown + (np.abs(seen @ b) + blur @ np.abs(b)) @ band + (np.abs(seen) + blur) @ carried
        )
    if steps is None:
        reached = np.maximum(reached, grown)
    require(reached[moving] * UP <= bounds[moving], "the sums leave the box")


__all__ = ["SCORES", "Loop", "Refused", "SpaqlError", "check_linear", "runnable"]
