"""Fitting what happens next: one quadratic system for all, and in every cell of a tree an affine correction of it.

A cell's correction is its parent's plus what is fitted to what the parent leaves over, and of that only as much as explains more than
chance would: a cell with few or noisy points differs from its surroundings only as far as its own points say so.
"""

import math

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel

AFFINE_RIDGE, RIDGE = 1e-3, 1.0
FLAT = 1e-4  # smallest spread of a variable within a cell, in the metric of the data


def design(states: Array, features: Array) -> Array:
    """Rows of 1, states, action features, products of states, products of states and features."""
    d, p = states.shape[1], features.shape[1]
    squares = [states[:, i] * states[:, j] for i in range(d) for j in range(i, d)]
    mixed = [states[:, i] * features[:, j] for i in range(d) for j in range(p)]
    return np.column_stack([np.ones(len(states)), states, features, *squares, *mixed])


def fit_base(states: Array, features: Array, left: Array, ended: Array) -> Array:
    """The quadratic system, (terms, d + 1): change of state and reward. `left` keeps what it does not explain.

    First the affine terms alone, then all of them on the rest.
    """
    rows = design(states, features)
    affine = 1 + states.shape[1] + features.shape[1]
    width = rows.std(axis=0)
    width[width < 1e-9] = 1.0
    rows /= width
    total = np.zeros((rows.shape[1], left.shape[1]))
    for terms, ridge, doubt in ((affine, AFFINE_RIDGE, False), (rows.shape[1], RIDGE, True)):
        grams, coefs = np.zeros((2 * terms, terms)), np.zeros((2 * terms, left.shape[1]))
        _fit(np.ascontiguousarray(rows[:, :terms]), ended, left, ridge, doubt, grams, coefs, np.zeros((3, left.shape[1])))
        total[:terms] += coefs[:terms]
    base: Array = total / width[:, None]
    return base


def fit_cells(states: Array, features: Array, left: Array, ended: Array, parents: Array, order: Array, ranges: Array) -> Array:
    """The affine correction of every node, (nodes, 1 + d + p, d + 1). `left` keeps what is not explained."""
    d, p = states.shape[1], features.shape[1]
    size, columns = 1 + d + p, d + 1
    maps, spread = np.zeros((len(ranges), size, columns)), np.zeros((len(ranges), columns))
    vectors = np.zeros((6, max(size, columns)))
    grams, coefs = np.zeros((2 * size, size)), np.zeros((2 * size, columns))
    _fit_cells(states, features, ended, left, parents, order, ranges, maps, spread, grams, coefs, vectors)
    return maps


@inlined
def _solve(gram: Array, right: Array, size: int, columns: int) -> None:
    """`right` becomes the solution of gram @ x = right by Cholesky; `gram` (its lower half) is used up."""
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
def _add(row: Array, target: Array, last: bool, size: int, grams: Array, coefs: Array) -> None:
    """One example into the normal equations of the state (first half of the arrays) and of the reward (second half).

    The reward of the last step of an episode is not the reward of a step: it is left out.
    """
    d = len(target) - 1
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
def _ridge(ridge: float, size: int, d: int, grams: Array, coefs: Array) -> None:
    """Solve both; the coefficients of state and reward end up side by side in the first half of `coefs`."""
    for a in range(size):
        grams[a, a] += ridge
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
def _kept(explained: float, chance: float) -> float:
    """How much of a fit to keep: the share of what it explains that chance would not have explained as well."""
    return max(0.0, 1.0 - chance / explained) if explained > 0.0 else 0.0


@kernel
def _fit(rows: Array, ended: Array, left: Array, ridge: float, doubt: bool, grams: Array, coefs: Array, sums: Array) -> None:
    """Fit `left`, and take the fit away from it. `doubt`: keep only what is more than chance."""
    n, size = rows.shape
    d = left.shape[1] - 1
    before, after, steps = sums[0], sums[1], 0
    for i in range(n):
        _add(rows[i], left[i], ended[i], size, grams, coefs)
        steps += 0 if ended[i] else 1
    _ridge(ridge, size, d, grams, coefs)
    for i in range(n):
        for c in range(d + 1):
            if c < d or not ended[i]:
                rest = _residual(rows[i], left[i], c, size, coefs)
                before[c] += left[i, c] * left[i, c]
                after[c] += rest * rest
    for c in range(d + 1):
        count = n if c < d else steps
        keep = _kept(before[c] - after[c], size * after[c] / max(count - size, 1)) if doubt else 1.0
        for a in range(size):
            coefs[a, c] *= keep
    for i in range(n):
        for c in range(d + 1):
            left[i, c] = _residual(rows[i], left[i], c, size, coefs)


@inlined
def _local(states: Array, features: Array, i: int, centre: Array, width: Array, row: Array) -> None:
    """1, state within the cell, action features."""
    d = states.shape[1]
    row[0] = 1.0
    for j in range(d):
        row[1 + j] = (states[i, j] - centre[j]) / width[j]
    for j in range(features.shape[1]):
        row[1 + d + j] = features[i, j]


@kernel
def _fit_cells(
    states: Array, features: Array, ended: Array, left: Array, parents: Array, order: Array, ranges: Array, maps: Array, spread: Array,
    grams: Array, coefs: Array, vectors: Array,
) -> None:  # fmt: skip
    d, p = states.shape[1], features.shape[1]
    size, columns = 1 + d + p, d + 1
    row, centre, width, before, after = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    for node in range(len(ranges)):  # parents come before their children
        begin, end, parent = ranges[node, 0], ranges[node, 1], parents[node]
        n, steps = end - begin, 0
        for j in range(d):
            mean, square = 0.0, 0.0
            for t in range(begin, end):
                mean += states[order[t], j]
            mean /= n
            for t in range(begin, end):
                gap = states[order[t], j] - mean
                square += gap * gap
            centre[j], width[j] = mean, math.sqrt(square / n) + FLAT
        grams[:, :] = 0.0
        coefs[:, :] = 0.0
        before[:columns] = 0.0
        after[:columns] = 0.0
        for t in range(begin, end):
            i = order[t]
            _local(states, features, i, centre, width, row)
            _add(row, left[i], ended[i], size, grams, coefs)
            steps += 0 if ended[i] else 1
        _ridge(RIDGE, size, d, grams, coefs)
        for t in range(begin, end):
            i = order[t]
            _local(states, features, i, centre, width, row)
            for c in range(columns):
                if c < d or not ended[i]:
                    rest = _residual(row, left[i], c, size, coefs)
                    before[c] += left[i, c] * left[i, c]
                    after[c] += rest * rest
        for c in range(columns):
            count = n if c < d else steps
            # too few points know nothing of the noise: their parent does
            spread[node, c] = after[c] / max(count - size, 1) if count >= 2 * size or parent < 0 else spread[parent, c]
            keep = _kept(before[c] - after[c], min(size, count) * spread[node, c])
            for a in range(size):
                coefs[a, c] *= keep
                maps[node, a, c] = maps[parent, a, c] if parent >= 0 else 0.0
            maps[node, 0, c] += coefs[0, c]
            for j in range(d):
                slope = coefs[1 + j, c] / width[j]
                maps[node, 1 + j, c] += slope
                maps[node, 0, c] -= slope * centre[j]
            for j in range(p):
                maps[node, 1 + d + j, c] += coefs[1 + d + j, c]
        for t in range(begin, end):
            i = order[t]
            _local(states, features, i, centre, width, row)
            for c in range(columns):
                left[i, c] = _residual(row, left[i], c, size, coefs)
