"""The independent checker: a certificate is verified without search, by other code and other
arithmetic.

It writes down what the plant's own Python functions do (plant_runs.py), works that out in
intervals of its own (checked_work.py), and finds anew what the controller does. From a certificate
it takes what may be chosen freely, such as a matrix, a box or the order of cells, and checks with
it every inequality of the theorem. A wrong number can make it refuse, never accept.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.problem import Problem
from spaql.proofs.plant_runs import Value, runs
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD
from spaql.trees.tree import LEAF, Tree

UP = 1.0 + 1e-9  # more than the rounding of the sums here, whose terms all have one sign


class RefusedError(Exception):
    """Why a certificate does not hold."""


def require(holds: Any, why: str) -> None:
    if not bool(np.all(holds)):
        raise RefusedError(why)


class CheckedLoop(NamedTuple):
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


def seen_from(loop: CheckedLoop, boxes: Array, centres: Array) -> Seen:
    """What is observed; a plant whose `observe` branches is not checked."""
    plant = loop.problem.plant
    assert plant is not None
    look: Any = plant.observe
    points = np.stack([centres, centres], axis=2)

    if look is None:
        count, d = centres.shape
        unit = np.broadcast_to(np.eye(d), (count, d, d))
        return Seen(boxes[..., 0], boxes[..., 1], unit, unit, centres, centres, np.zeros((count, d)))

    def observed(where: Array, slopes: bool) -> list[Value]:
        results = list(runs(look.python, where, slopes, False))
        require(len(results) == 1, "`observe` branches")
        way, result = results[0]
        require(way.finite if slopes else True, "what is observed is not defined everywhere in a set")
        return [item if isinstance(item, Value) else _constant(item, where) for item in result]

    over, at = observed(boxes, True), observed(points, False)
    slopes = [item.slope for item in over]
    return Seen(
        *(np.stack(columns, axis=1) for columns in (
            [item.low for item in over], [item.high for item in over],
            [pair[0] for pair in slopes if pair], [pair[1] for pair in slopes if pair],
            [item.low for item in at], [item.high for item in at], [item.error for item in over],
        ))
    )  # fmt: skip


def _constant(number: Any, boxes: Array) -> Value:
    value, flat = np.full(len(boxes), float(number)), np.zeros(boxes.shape[:2])
    return Value(value, value, (flat, flat), np.zeros(len(boxes)), -1)


class WeightedSum(NamedTuple):
    """A weighted sum of observations over boxes: base + slope (x - centre) +- error, and its range."""

    base: Array
    slope: Array  # (boxes, states)
    error: Array
    low: Array
    high: Array


def weighted(loop: CheckedLoop, seen: Seen, weights: Array, offset: float, boxes: Array, centres: Array) -> WeightedSum:
    """The controller's sums in real arithmetic and in its own, with wrong sensors."""
    reach = np.max(np.abs(boxes - centres[:, :, None]), axis=2) * UP
    low, high = seen.low - loop.sensors, seen.high + loop.sensors
    most, w = np.maximum(np.abs(low), np.abs(high)), np.abs(weights)
    used = w > 0.0
    slopes = np.where(used[:, None], weights[:, None] * 0.5 * (seen.slope_low + seen.slope_high), 0.0)
    curved = np.where(used[:, None], w[:, None] * 0.5 * (seen.slope_high - seen.slope_low), 0.0).sum(axis=1)
    total = abs(offset) + most @ w + (np.abs(slopes).sum(axis=1) * reach).sum(axis=1)
    tiny = 1e-36 * (1.0 + w.sum() + most.sum(axis=1)) if loop.single else 0.0
    slack = ((len(weights) + 4) * 2.0 * loop.relative + 1e-14) * total + tiny
    at = 0.5 * (seen.middle_low + seen.middle_high)
    error = ((seen.middle_high - seen.middle_low) + seen.error + loop.sensors) @ w + (curved * reach).sum(axis=1)
    ends = np.stack([low * weights, high * weights])
    slope = slopes.sum(axis=1)
    base, error = offset + at @ weights, error * UP + slack
    away = (np.abs(slope) * reach).sum(axis=1) * UP + error
    least, greatest = offset + ends.min(axis=0).sum(axis=1) - slack, offset + ends.max(axis=0).sum(axis=1) + slack
    return WeightedSum(base, slope, error, np.maximum(least, base - away), np.minimum(greatest, base + away))


def pieces_of(loop: CheckedLoop, leaf: int, axis: int) -> tuple[Array, float, list[tuple[float, float, float, float]]]:
    """Gains, offset, and (from, to, a, b): between these scores the action is a + b score."""
    tree, laws, inf = loop.rules, loop.rules.laws, math.inf
    if laws is None:
        return np.zeros(tree.variables), 0.0, [(-inf, inf, float(tree.actions[leaf, axis]), 0.0)]
    require(laws.kind in (CLIP, ORDERED, THRESHOLD), "a law that compares scores")
    values, gains, offset = laws.values.tolist(), laws.gains[leaf, axis], float(laws.offsets[leaf, axis])
    if laws.kind == CLIP:
        low, high = float(laws.low[axis]), float(laws.high[axis])
        return gains, offset, [(-inf, low, low, 0.0), (low, high, 0.0, 1.0), (high, inf, high, 0.0)]
    if laws.kind == THRESHOLD and offset == 0.0 and not gains.any():  # exactly 0, with any rounding
        return gains, offset, [(-inf, inf, values[-1], 0.0)]
    if laws.kind == THRESHOLD:
        return gains, offset, [(-inf, 0.0, values[0], 0.0), (0.0, inf, values[-1], 0.0)]
    ends = [-inf, *(k + 0.5 for k in range(len(values) - 1)), inf]
    return gains, offset, [(*ends[k : k + 2], value, 0.0) for k, value in enumerate(values)]


def tests_of(loop: CheckedLoop, node: int) -> Array:
    """The weights of a test; of one variable, its unit vector."""
    feature, d = int(loop.rules.nodes["feature"][node]), loop.rules.variables
    weights: Array = loop.rules.weights[node] if feature == d else np.eye(d)[feature]
    return weights


def leaves_over(loop: CheckedLoop, seen: Seen, boxes: Array, centres: Array) -> list[int]:
    """Of one box: where some state of it may lead."""
    pending, leaves, nodes = [0], list[int](), loop.rules.nodes
    while pending:
        node = pending.pop()
        if nodes["feature"][node] == LEAF:
            leaves.append(node)
            continue
        line = weighted(loop, seen, tests_of(loop, node), -float(nodes["cut"][node]), boxes, centres)
        # asked the other way round: a NaN, of which nothing is known, goes both ways
        pending += [int(nodes["high"][node])] if not line.high[0] < 0.0 else []
        pending += [int(nodes["low"][node])] if not line.low[0] > 0.0 else []
    return leaves


def array_of(evidence: Mapping[str, Any], key: str, sizes: Mapping[str, tuple[int, ...]]) -> Array:
    try:
        values = np.array(evidence[key], float)
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(f"{key} is missing or damaged") from error
    require(values.shape == sizes[key] and np.isfinite(values).all(), f"{key} is damaged")
    return values


# -- starts ------------------------------------------------------------------------------------------------------------


def part_of(start: Any, boxes: Any) -> float:
    """Of the volume of the start."""
    whole = np.array(start)
    width = np.diff(whole, axis=1)[:, 0]
    wide, parts = width > 0.0, 0.0
    for box in boxes:
        parts += float(np.prod(np.diff(np.array(box), axis=1)[wide, 0] / width[wide]))
    return parts


def covers(whole: Array, boxes: list[Array]) -> bool:
    """Whether boxes cover a box: it is cut at their sides, and every piece must be in one of them."""
    if not boxes:
        return False
    pending = [(whole, np.array(boxes))]
    while pending:
        piece, some = pending.pop()
        if ((some[..., 0] <= piece[:, 0]) & (piece[:, 1] <= some[..., 1])).all(axis=1).any():
            continue
        flat = piece[:, 0] == piece[:, 1]
        over = (some[..., 0] < piece[:, 1]) & (piece[:, 0] < some[..., 1])
        over |= flat & (some[..., 0] <= piece[:, 0]) & (piece[:, 0] <= some[..., 1])
        some = some[over.all(axis=1)]
        inner = (piece[:, :1] < some) & (some < piece[:, 1:]) if len(some) else np.zeros((0, 1, 2), bool)
        if not inner.any():
            return False
        axis = int(np.argmax(inner.any(axis=(0, 2))))
        at = np.sort(some[:, axis][inner[:, axis]])[int(inner[:, axis].sum()) // 2]
        for side in (0, 1):
            part = piece.copy()
            part[axis, 1 - side] = at
            pending.append((part, some))
    return True
