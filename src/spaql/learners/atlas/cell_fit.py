"""Fitting the model: one quadratic system for all states, and in every cell of a tree an affine
correction of it.

The correction of a cell is that of its parent plus a regression on what the parent leaves
unexplained. Of that regression only the share is kept that explains more than chance would: a cell
with few or noisy points differs from its parent only as far as its own points show it. Equation
numbers: docs/atlas-table.md.
"""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.ground.compiling import inlined, kernel
from spaql.learners.atlas.cells import Partition

AFFINE_RIDGE = 1e-3  # rho of (16) for the affine terms of the base
RIDGE = 1.0  # rho of (16) for all terms of the base, and for the corrections
# smallest standard deviation of a variable within a cell, in the metric of the data
LEAST_DEVIATION = 1e-4


class Examples(NamedTuple):
    """Transitions in the metric of the data."""

    states: Array  # (n, d)
    features: Array  # (n, p) of the actions applied
    rewards: Array  # (n,)
    nexts: Array  # (n, d)
    ended: Array  # (n,) bool: the episode terminated here

    def only(self, chosen: Array) -> "Examples":
        """Some of the transitions."""
        return Examples(*(array[chosen] for array in self))


class Room(NamedTuple):
    """Working memory of a regression: rows of the change of state, then of the reward."""

    grams: Array  # (2 * size, size) matrices of the normal equations
    coefs: Array  # (2 * size, d + 1) right sides, then coefficients in the first `size` rows
    before: Array  # (d + 1,) sum of squares before the regression
    after: Array  # (d + 1,) sum of squares that it leaves


def _new_room(size: int, columns: int) -> Room:
    grams, coefs = np.zeros((2 * size, size)), np.zeros((2 * size, columns))
    return Room(grams, coefs, *np.zeros((2, columns)))


def design(states: Array, features: Array) -> Array:
    """Rows of terms: 1, state, action features, products of states, of states and features."""
    d, p = states.shape[1], features.shape[1]
    squares = [states[:, i] * states[:, j] for i in range(d) for j in range(i, d)]
    mixed = [states[:, i] * features[:, j] for i in range(d) for j in range(p)]
    return np.column_stack([np.ones(len(states)), states, features, *squares, *mixed])  # (12)


def fit_base(examples: Examples, left: Array) -> Array:
    """The quadratic system, (terms, d + 1): change of state and reward. `left` keeps what it does
    not explain.

    First the affine terms alone, then all terms on what the affine ones leave.
    """
    rows = design(examples.states, examples.features)
    affine = 1 + examples.states.shape[1] + examples.features.shape[1]
    width = rows.std(axis=0)
    width[width < ROUNDING] = 1.0  # a constant term is not scaled
    rows /= width
    total, everything = np.zeros((rows.shape[1], left.shape[1])), np.arange(len(rows))
    for terms, ridge, shrunk in ((affine, AFFINE_RIDGE, False), (rows.shape[1], RIDGE, True)):
        room = _new_room(terms, left.shape[1])
        part = np.ascontiguousarray(rows[:, :terms])
        _fit_base(part, everything, examples.ended, left, ridge, shrunk, room)
        total[:terms] += room.coefs[:terms]
    base: Array = total / width[:, None]
    return base


def fit_cells(examples: Examples, left: Array, parents: Array, cells: Partition) -> Array:
    """Affine corrections (nodes, 1 + d + p, d + 1). `left` keeps what is not explained."""
    d, p = examples.states.shape[1], examples.features.shape[1]
    size, columns = 1 + d + p, d + 1
    nodes = len(cells.ranges)
    maps, noise = np.zeros((nodes, size, columns)), np.zeros((nodes, columns))
    rows, scale = np.zeros((len(left), size)), np.zeros((2, d))
    _fit_cells(examples, left, parents, cells, maps, noise, rows, scale, _new_room(size, columns))
    return maps


@inlined
def _solve(gram: Array, right: Array, size: int, columns: int) -> None:
    """`right` becomes the solution of gram @ x = right by Cholesky, which uses `gram` up."""
    for i in range(size):
        for j in range(i + 1):
            rest = gram[i, j]
            for q in range(j):
                rest -= gram[i, q] * gram[j, q]
            gram[i, j] = math.sqrt(max(rest, 1e-12)) if i == j else rest / gram[j, j]
    for c in range(columns):
        for i in range(size):
            rest = right[i, c]
            for q in range(i):
                rest -= gram[i, q] * right[q, c]
            right[i, c] = rest / gram[i, i]
        for i in range(size - 1, -1, -1):
            rest = right[i, c]
            for q in range(i + 1, size):
                rest -= gram[q, i] * right[q, c]
            right[i, c] = rest / gram[i, i]


@inlined
def _add(row: Array, target: Array, last: bool, size: int, room: Room) -> None:
    """One example into the normal equations of the state and of the reward.

    The reward of the last step of an episode is not the reward of a step: it is left out.
    """
    d, grams, coefs = len(target) - 1, room.grams, room.coefs
    for a in range(size):
        for b in range(a + 1):
            grams[a, b] += row[a] * row[b]
        for c in range(d):
            coefs[a, c] += row[a] * target[c]
    if not last:
        for a in range(size):
            for b in range(a + 1):
                grams[size + a, b] += row[a] * row[b]
            coefs[size + a, 0] += row[a] * target[d]


@inlined
def _ridge(ridge: float, size: int, d: int, room: Room) -> None:
    """Solve both; coefficients of state and reward end up in the first half of `coefs`."""
    grams, coefs = room.grams, room.coefs
    for a in range(size):
        grams[a, a] += ridge  # (16)
        grams[size + a, a] += ridge
    _solve(grams[:size], coefs[:size], size, d)
    _solve(grams[size:], coefs[size:], size, 1)
    for a in range(size):
        coefs[a, d] = coefs[size + a, 0]


@inlined
def _residual(row: Array, target: Array, c: int, size: int, coefs: Array) -> float:
    rest: float = target[c]
    for a in range(size):
        rest -= row[a] * coefs[a, c]
    return rest


@inlined
def _regress(
    rows: Array, chosen: Array, ended: Array, left: Array, ridge: float, room: Room
) -> int:  # fmt: skip
    """Ridge regression of `left[chosen]` on `rows`, in the same order: coefficients and sums of
    squares into `room`.

    Returns how many of these examples have the reward of an ordinary step.
    """
    size, d, steps = rows.shape[1], left.shape[1] - 1, 0
    room.grams[:, :] = 0.0
    room.coefs[:, :] = 0.0
    room.before[:] = 0.0
    room.after[:] = 0.0
    for t in range(len(chosen)):
        i = chosen[t]
        _add(rows[t], left[i], ended[i], size, room)
        steps += 0 if ended[i] else 1
    _ridge(ridge, size, d, room)
    for t in range(len(chosen)):
        i = chosen[t]
        for c in range(d + 1):
            if c < d or not ended[i]:
                rest = _residual(rows[t], left[i], c, size, room.coefs)
                room.before[c] += left[i, c] * left[i, c]
                room.after[c] += rest * rest
    return steps


@inlined
def _kept(room: Room, c: int, chance: float) -> float:
    """(18) The share of a regression to keep. `chance`: parameters * variance of the noise, the sum
    of squares that a regression on noise alone would explain.
    """
    explained = room.before[c] - room.after[c]
    return max(0.0, 1.0 - chance / explained) if explained > 0.0 else 0.0


@inlined
def _subtract(rows: Array, chosen: Array, left: Array, room: Room) -> None:
    """`left` without what the regression explains."""
    for t in range(len(chosen)):
        for c in range(left.shape[1]):
            left[chosen[t], c] = _residual(rows[t], left[chosen[t]], c, rows.shape[1], room.coefs)


@kernel
def _fit_base(
    rows: Array, chosen: Array, ended: Array, left: Array, ridge: float, shrunk: bool, room: Room
) -> None:  # fmt: skip
    """One regression on all data. `shrunk`: keep only the share of it that is more than chance."""
    n, size = rows.shape
    d = left.shape[1] - 1
    steps = _regress(rows, chosen, ended, left, ridge, room)
    for c in range(d + 1):
        count = n if c < d else steps
        keep = _kept(room, c, size * room.after[c] / max(count - size, 1)) if shrunk else 1.0
        for a in range(size):
            room.coefs[a, c] *= keep
    _subtract(rows, chosen, left, room)


@inlined
def _local_rows(examples: Examples, chosen: Array, scale: Array, rows: Array) -> None:
    """1, state relative to the cell, action features: a row for each of `chosen`.

    `scale`: mean and standard deviation of the states in the cell, which are computed here.
    """
    n, d = len(chosen), examples.states.shape[1]
    for j in range(d):
        mean, square = 0.0, 0.0
        for t in range(n):
            mean += examples.states[chosen[t], j]
        mean /= n
        for t in range(n):
            gap = examples.states[chosen[t], j] - mean
            square += gap * gap
        scale[0, j], scale[1, j] = mean, math.sqrt(square / n) + LEAST_DEVIATION
    for t in range(n):
        rows[t, 0] = 1.0
        for j in range(d):
            rows[t, 1 + j] = (examples.states[chosen[t], j] - scale[0, j]) / scale[1, j]
        for j in range(examples.features.shape[1]):
            rows[t, 1 + d + j] = examples.features[chosen[t], j]


@kernel
def _fit_cells(
    examples: Examples, left: Array, parents: Array, cells: Partition, maps: Array, noise: Array,
    rows: Array, scale: Array, room: Room,
) -> None:  # fmt: skip
    """A regression in every node on what its parent leaves, into `maps`; variances into `noise`."""
    size, d = rows.shape[1], examples.states.shape[1]
    for node in range(len(cells.ranges)):  # parents come before their children
        parent, chosen = parents[node], cells.order[cells.ranges[node, 0] : cells.ranges[node, 1]]
        n = len(chosen)
        _local_rows(examples, chosen, scale, rows)
        steps = _regress(rows, chosen, examples.ended, left, RIDGE, room)
        for c in range(d + 1):
            count = n if c < d else steps
            # a cell with fewer than two points per parameter takes the noise of its parent
            own = count >= 2 * size or parent < 0
            variance = room.after[c] / max(count - size, 1) if own else noise[parent, c]  # (17)
            noise[node, c] = variance
            keep = _kept(room, c, min(size, count) * noise[node, c])
            for a in range(size):
                room.coefs[a, c] *= keep
                maps[node, a, c] = maps[parent, a, c] if parent >= 0 else 0.0
            maps[node, 0, c] += room.coefs[0, c]  # (19), from coordinates of the cell to z
            for j in range(d):
                slope = room.coefs[1 + j, c] / scale[1, j]
                maps[node, 1 + j, c] += slope
                maps[node, 0, c] -= slope * scale[0, j]
            for j in range(1 + d, size):
                maps[node, j, c] += room.coefs[j, c]
        _subtract(rows, chosen, left, room)
