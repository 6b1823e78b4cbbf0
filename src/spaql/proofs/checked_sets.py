"""The checker's sets of states: many at a time in NumPy, followed step by step through the plant's
own functions.

A set is { c + G xi + r : |xi_k| <= 1, |r_i| <= R_i } cut with a box B. What a step makes of it is
worked out here once more, from the mean value theorem; see sets.py for the formula, with which this
file shares no code.
"""

from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.checked_kernels import ROUND, boxes_around, cut_all, tighten
from spaql.proofs.checker import CheckedLoop, WeightedSum, pieces_of, require, seen_from, tests_of, weighted
from spaql.trees.laws import SCORES
from spaql.trees.tree import LEAF


class Many(NamedTuple):
    """Sets, a row each."""

    c: Array  # (n, d)
    G: Array  # (n, d, symbols): those of the start, and others that take what R would wrap
    R: Array  # (n, d)
    B: Array  # (n, d, 2)
    owner: Array  # (n,) the box it began as
    reward: Array  # (n, 2) so far
    age: Array  # (n,) steps so far
    over: Array  # (n, 2) the episode has perhaps, has surely ended in the last step

    def take(self, rows: Any) -> "Many":
        return Many(*(part[rows] for part in self))


def many(boxes: Array) -> Many:
    """The boxes themselves."""
    n, d = boxes.shape[:2]
    G = np.eye(d) * (0.5 * (boxes[..., 1] - boxes[..., 0]))[:, None]
    R = 1e-15 * np.abs(boxes).sum(axis=2) + 1e-300
    age, over = np.zeros(n, np.int64), np.zeros((n, 2), bool)
    return Many(boxes.mean(axis=2), G, R, boxes.copy(), np.arange(n), np.zeros((n, 2)), age, over)


def spread_out(sets: Many) -> Many:
    """With a noise symbol for each rest."""
    columns = np.eye(sets.c.shape[1]) * (sets.R * (1.0 + ROUND))[:, None]
    return sets._replace(G=np.concatenate([sets.G, columns], axis=2), R=np.zeros_like(sets.R))


def reduced(sets: Many, columns: int) -> Many:
    """The largest noise symbols, so many per variable beside one each; the others become rest."""
    most = (1 + columns) * sets.c.shape[1]
    if sets.G.shape[2] <= 1.2 * most:  # not in every step
        return sets
    box = box_of(sets)
    size = (np.abs(sets.G) / (box[..., 1] - box[..., 0] + 1e-30)[:, :, None]).sum(axis=1)
    order = np.argsort(-size, axis=1, kind="stable")
    G = np.take_along_axis(sets.G, order[:, None], axis=2)
    R = sets.R + np.abs(G[:, :, most:]).sum(axis=2) * (1.0 + ROUND)
    return sets._replace(G=G[:, :, :most], R=R * (1.0 + ROUND))


def together(parts: list[Many]) -> Many:
    most = max(part.G.shape[2] for part in parts)
    if any(part.G.shape[2] < most for part in parts):
        parts = [part._replace(G=np.pad(part.G, ((0, 0), (0, 0), (0, most - part.G.shape[2])))) for part in parts]
    return Many(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def box_of(sets: Many) -> Array:
    box = np.empty(sets.B.shape)
    boxes_around(*sets[:4], box)
    return box


def there(sets: Many) -> Many:
    """Without those that are empty."""
    box = box_of(sets)
    require(~np.isnan(box), "a set is not known")
    some = (box[..., 0] <= box[..., 1]).all(axis=1)
    return sets if some.all() else sets.take(some)


def _own(sets: Many) -> Many:
    """With arrays that may be changed."""
    return sets._replace(**{name: np.array(getattr(sets, name), order="C") for name in ("c", "G", "R")})


def cut(sets: Many, rows: Array, least: Array) -> Many:
    """Where rows . xi >= least."""
    own = _own(sets)
    cut_all(own.c, own.G, own.R, rows, least)
    return own


def tightened(sets: Many) -> Many:
    own = _own(sets)
    tighten(*own[:4])
    return own


def spread(sets: Many, line: WeightedSum) -> tuple[Array, Array, Array, Array]:
    """Of a weighted sum over sets: row in the noise symbols, what is none in it, lowest and highest."""
    rows = np.einsum("nd,ndk->nk", line.slope, sets.G)
    total = np.abs(rows).sum(axis=1)
    loose = (np.abs(line.slope) * sets.R).sum(axis=1) + line.error
    loose = loose + ROUND * (total + loose + np.abs(line.base))
    low, high = np.maximum(line.low, line.base - loose - total), np.minimum(line.high, line.base + loose + total)
    unknown = ~(low <= high)
    return (rows, np.where(unknown, np.inf, loose), np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high))


class Acting(NamedTuple):
    """Sets whose controller is a line u + g d, off by at most e, within least ... most."""

    sets: Many
    u: Array  # (n, actions)
    g: Array  # (n, actions, d)
    e: Array
    least: Array
    most: Array


def acting(loop: CheckedLoop, sets: Many) -> list[Acting]:
    """Every set at the leaves that its states may reach, cut to what leads there."""
    pending, lines, nodes = [(0, sets)], list[Acting](), loop.rules.nodes
    while pending:
        node, some = pending.pop()
        some = there(some)
        if len(some.c) == 0:
            continue
        require(len(pending) < 10_000, "the controller has too many branches")
        around, _box = around_of(some)
        seen = seen_from(loop, around, some.c)
        if nodes["feature"][node] == LEAF:
            lines += _at_leaf(loop, some, seen, node, around)
            continue
        line = weighted(loop, seen, tests_of(loop, node), -float(nodes["cut"][node]), around, some.c)
        rows, loose, low, high = spread(some, line)
        pending.append((int(nodes["high"][node]), cut(some, rows, -line.base - loose).take(high >= 0.0)))
        pending.append((int(nodes["low"][node]), cut(some, -rows, line.base - loose).take(low <= 0.0)))
    return lines


def around_of(sets: Many) -> tuple[Array, Array]:
    box = box_of(sets)
    low, high = np.minimum(box[..., 0], sets.c), np.maximum(box[..., 1], sets.c)
    return np.stack([low, high], axis=2), box


def _at_leaf(loop: CheckedLoop, sets: Many, seen: Any, leaf: int, around: Array) -> list[Acting]:
    laws = loop.rules.laws
    if laws is not None and laws.kind == SCORES:
        return _highest(loop, sets, seen, leaf, around)
    n, m, d = len(sets.c), loop.rules.actions.shape[1], sets.c.shape[1]
    columns = []
    for axis in range(m):
        gains, offset, pieces = pieces_of(loop, leaf, axis)
        if len(pieces) == 1:
            columns.append(_constant(loop, np.full(n, pieces[0][2]), d))
            continue
        line = weighted(loop, seen, gains, offset, around, sets.c)
        _, loose, low, high = spread(sets, line)
        if all(piece[3] == 0.0 for piece in pieces):
            return _by_pieces(loop, sets, pieces, line, loose, low, high)
        columns.append(_clipped(loop, line, low, high, pieces[0][2], pieces[-1][2]))
    return [Acting(sets, *(np.stack(parts, axis=1) for parts in zip(*columns, strict=True)))]


def _constant(loop: CheckedLoop, values: Array, d: int) -> tuple[Array, ...]:
    error = 2.0 * loop.relative * np.abs(values)
    return values, np.zeros((len(values), d)), error, values - error, values + error


def _clipped(
    loop: CheckedLoop, line: WeightedSum, low: Array, high: Array, bottom: float, top: float
) -> tuple[Array, ...]:
    """clip(s) over low ... high is within a band around the chord: extremes at the ends and at the corners."""
    least, most = np.clip(low, bottom, top), np.clip(high, bottom, top)
    free, flat = (low >= bottom) & (high <= top), (high <= bottom) | (low >= top)
    with np.errstate(all="ignore"):
        chord = np.where(high > low, (most - least) / (high - low), 0.0)
    k = np.where(flat, 0.0, np.where(free, 1.0, chord))
    corners = [least - k * low, most - k * high]
    corners += [np.where((low < x) & (x < high), x - k * x, corners[0]) for x in (bottom, top)]
    under, over = np.min(corners, axis=0), np.max(corners, axis=0)
    under, over = np.where(flat, least, np.where(free, 0.0, under)), np.where(flat, most, np.where(free, 0.0, over))
    rounding = 4.0 * loop.relative * np.maximum(np.abs(least), np.abs(most))
    rounding = rounding + ROUND * (np.abs(k * line.base) + np.abs(low) + np.abs(high) + np.abs(over)) * (k > 0.0)
    error = np.where(k > 0.0, k * line.error, 0.0) + 0.5 * (over - under) + rounding
    unknown: Array = ~np.isfinite(error)
    u = np.where(unknown, 0.5 * (bottom + top), k * line.base + 0.5 * (under + over))
    error = np.where(unknown, 0.51 * (top - bottom) + rounding * 0.0 + 1e-6 * (abs(top) + abs(bottom)), error)
    g = np.where(unknown[:, None], 0.0, k[:, None] * line.slope)
    blur = np.where(unknown, 1e-6 * (abs(top) + abs(bottom)), rounding)
    least, most = np.where(unknown, bottom, least), np.where(unknown, top, most)
    return u, g, error * (1.0 + ROUND), least - blur, most + blur


def _by_pieces(
    loop: CheckedLoop, sets: Many, pieces: list[Any], line: WeightedSum, loose: Array, low: Array, high: Array
) -> list[Acting]:
    """A constant action on each piece of the line of scores, and the sets cut to it, from below and then from above."""
    parts = []
    for begin, end, value, _ in pieces:
        some, base = sets, line.base
        for at, sign, cuts in ((begin, 1.0, low < begin), (end, -1.0, high > end)):
            if np.isfinite(at):
                rows = sign * np.einsum("nd,ndk->nk", line.slope, some.G)
                least = sign * (at - base) - 1e-9 - loose - ROUND * np.abs(base)
                some = cut(some, rows, np.where(cuts, least, -np.inf))
                base = line.base + (line.slope * (some.c - sets.c)).sum(axis=1)
        takes = (high >= begin - 1e-9) & (low <= end + 1e-9)
        parts.append(_with(loop, there(some.take(takes)), value))
    return [part for part in parts if len(part.u)]


def _with(loop: CheckedLoop, sets: Many, value: float) -> Acting:
    parts = _constant(loop, np.full(len(sets.c), value), sets.c.shape[1])
    return Acting(sets, *(part[:, None] for part in parts))


def _highest(loop: CheckedLoop, sets: Many, seen: Any, leaf: int, around: Array) -> list[Acting]:
    """An action is possible where no other score is surely higher."""
    laws, parts = loop.rules.laws, []
    assert laws is not None
    for k, value in enumerate(laws.values.tolist()):
        possible = np.ones(len(sets.c), bool)
        for other in range(len(laws.values)):
            if other != k:
                gains = laws.gains[leaf, k] - laws.gains[leaf, other]
                offset = float(laws.offsets[leaf, k] - laws.offsets[leaf, other])
                size = np.abs(laws.gains[leaf, k]) + np.abs(laws.gains[leaf, other])
                # the controller rounds two sums, each with its own offset
                offsets = abs(laws.offsets[leaf, k]) + abs(laws.offsets[leaf, other])
                most = np.maximum(np.abs(seen.low), np.abs(seen.high)) + loop.sensors
                slack = 4.0 * (len(size) + 4) * loop.relative * (most @ size + offsets) + 1e-30
                line = weighted(loop, seen, gains, offset, around, sets.c)
                possible &= ~(spread(sets, line)[3] + slack < 0.0)  # NaN: nothing is known
        parts.append(_with(loop, sets.take(possible), value))
    return [part for part in parts if len(part.u)]
