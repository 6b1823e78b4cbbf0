"""Fitting what happens next: one quadratic system for all, and in every cell of a tree an affine correction of it.

A cell's correction is its parent's plus what is fitted to what the parent leaves over, and only as much of that as explains more than
chance would: a cell with few or noisy points differs from its surroundings only as far as its own points say so.
""" 

import math

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel

AFFINE_RIDGE, RIDGE = 1e-3, 1.0
FLAT = 1e-4  # smallest spread of a variable within a cell, in the metric of the data


@inlined
def _solve(gram: Array, right: Array, size: int, columns: int) -> None:
    """`right` becomes the solution of gram @ x = right by Cholesky; `gram` (lower half given) is used up."""
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


def design(states: Array, features: Array) -> Array:
    """Rows of 1, state, action features, products of states, products of state and action: what `base_change` multiplies."""
    d, p = states.shape[1], features.shape[1]
    squares = [states[:, i] * states[:, j] for i in range(d) for j in range(i, d)]
    mixed = [states[:, i] * features[:, j] for i in range(d) for j in range(p)]
    return np.column_stack([np.ones(len(states)), states, features, *squares, *mixed])


def fit_base(states: Array, features: Array, left: Array, ended: Array) -> Array:
    """The quadratic system, (terms, d + 1): change of state and reward. `left` keeps what it does not explain."""
    rows = design(states, features)
    affine = 1 + states.shape[1] + features.shape[1]
    width = rows.std(axis=0)
    width[width < 1e-9] = 1.0
    rows = np.ascontiguousarray(rows / width)
    size, columns = rows.shape[1], left.shape[1]
    total = np.zeros((size, columns))
    for terms, ridge, whole in ((affine, AFFINE_RIDGE, True), (size, RIDGE, False)):
        coef, grams = np.zeros((2 * terms, columns)), np.zeros((2 * terms, terms))
        _ridge(rows[:, :terms].copy(), ended, left, ridge, whole, grams, coef, np.zeros((3, columns)))
        total[:terms] += coef[:terms]
    return total / width[:, None]


@kernel
def _ridge(rows: Array, ended: Array, left: Array, ridge: float, whole: bool, grams: Array, coefs: Array, sums: Array) -> None:
    """Fit `left` and take the fit away from it; `whole`: all of it, otherwise what is more than chance."""
    n, size = rows.shape
    columns = left.shape[1]
    d = columns - 1
    gram, gram_r, coef, coef_r = grams[:size], grams[size:], coefs[:size], coefs[size:]
    before, after, keep = sums[0], sums[1], sums[2]
    steps = 0
    for i in range(n):
        for a in range(size):
            for b in range(a + 1):
                gram[a, b] += rows[i, a] * rows[i, b]
            for c in range(d):
                coef[a, c] += rows[i, a] * left[i, c]
        if not ended[i]:  # the reward of the last step is not the reward of a step
            steps += 1
            for a in range(size):
                for b in range(a + 1):
                    gram_r[a, b] += rows[i, a] * rows[i, b]
                coef_r[a, 0] += rows[i, a] * left[i, d]
    for a in range(size):
        gram[a, a] += ridge
        gram_r[a, a] += ridge
    _solve(gram, coef, size, d)
    _solve(gram_r, coef_r, size, 1)
    for a in range(size):
        coef[a, d] = coef_r[a, 0]
    for i in range(n):
        for c in range(columns):
            if c < d or not ended[i]:
                rest = left[i, c]
                for a in range(size):
                    rest -= rows[i, a] * coef[a, c]
                before[c] += left[i, c] * left[i, c]
                after[c] += rest * rest
    for c in range(columns):
        keep[c] = 1.0 if whole else _worth(before[c], after[c], n if c < d else steps, size)
        for a in range(size):
            coef[a, c] *= keep[c]
    for i in range(n):
        for c in range(columns):
            for a in range(size):
                left[i, c] -= rows[i, a] * coef[a, c]


@inlined
def _worth(before: float, after: float, n: int, size: int) -> float:
    """How much of a fit with `size` parameters to keep: the share of what it explains that chance would not."""
    explained = before - after
    chance = size * after / max(n - size, 1)
    return max(0.0, 1.0 - chance / explained) if explained > 0.0 else 0.0


def fit_cells(states: Array, features: Array, left: Array, ended: Array, parents: Array, order: Array, ranges: Array, ridge: float = RIDGE, shrink: float = 1.0) -> tuple[Array, Array]:
    """The affine correction of every node, (nodes, 1 + d + p, d + 1): rows for 1, state and action features; columns as in `left`."""
    (n, d), p = states.shape, features.shape[1]
    size, columns = 1 + d + p, d + 1
    maps = np.zeros((len(ranges), size, columns))
    spread = np.zeros((len(ranges), columns))
    work = np.zeros((2 * size, size)), np.zeros((2 * size, columns)), np.zeros((6, max(size, columns)))
    _fit(states, features, ended, left, parents, order, ranges, maps, spread, ridge, shrink, *work)
    return maps, spread


@inlined
def _row(states: Array, features: Array, i: int, centre: Array, width: Array, row: Array) -> None:
    d = states.shape[1]
    row[0] = 1.0
    for j in range(d):
        row[1 + j] = (states[i, j] - centre[j]) / width[j]
    for j in range(features.shape[1]):
        row[1 + d + j] = features[i, j]


@kernel
def _fit(
    states: Array, features: Array, ended: Array, left: Array, parents: Array, order: Array, ranges: Array, maps: Array, spread: Array,
    ridge: float, shrink: float, grams: Array, rights: Array, vectors: Array,
) -> None:  # fmt: skip
    d, p = states.shape[1], features.shape[1]
    size, columns = 1 + d + p, d + 1
    gram, gram_r = grams[:size], grams[size : 2 * size]
    coef, coef_r = rights[:size], rights[size : 2 * size]
    row, centre, width = vectors[0], vectors[1], vectors[2]
    before, after, keep = vectors[3], vectors[4], vectors[5]
    for node in range(len(ranges)):
        begin, end, parent = ranges[node, 0], ranges[node, 1], parents[node]
        n = end - begin
        if parent >= 0:
            for a in range(size):
                for c in range(columns):
                    maps[node, a, c] = maps[parent, a, c]
        for j in range(d):
            mean, square = 0.0, 0.0
            for t in range(begin, end):
                mean += states[order[t], j]
            mean /= n
            for t in range(begin, end):
                gap = states[order[t], j] - mean
                square += gap * gap
            centre[j], width[j] = mean, math.sqrt(square / n) + FLAT
        gram[:, :] = 0.0
        gram_r[:, :] = 0.0
        coef[:, :] = 0.0
        coef_r[:, :] = 0.0
        before[:columns] = 0.0
        after[:columns] = 0.0
        steps = 0
        for t in range(begin, end):
            i = order[t]
            _row(states, features, i, centre, width, row)
            for a in range(size):
                for b in range(a + 1):
                    gram[a, b] += row[a] * row[b]
                for c in range(d):
                    coef[a, c] += row[a] * left[i, c]
            for c in range(d):
                before[c] += left[i, c] * left[i, c]
            if not ended[i]:  # the reward of the last step is not the reward of a step
                steps += 1
                for a in range(size):
                    for b in range(a + 1):
                        gram_r[a, b] += row[a] * row[b]
                    coef_r[a, 0] += row[a] * left[i, d]
                before[d] += left[i, d] * left[i, d]
        for a in range(size):
            gram[a, a] += ridge
            gram_r[a, a] += ridge
        _solve(gram, coef, size, d)
        _solve(gram_r, coef_r, size, 1)
        for a in range(size):
            coef[a, d] = coef_r[a, 0]
        for t in range(begin, end):
            i = order[t]
            _row(states, features, i, centre, width, row)
            for c in range(columns):
                if c == d and ended[i]:
                    continue
                rest = left[i, c]
                for a in range(size):
                    rest -= row[a] * coef[a, c]
                after[c] += rest * rest
        for c in range(columns):
            m = n if c < d else steps
            own = after[c] / max(m - size, 1)
            spread[node, c] = own if m >= 2 * size or parent < 0 else spread[parent, c]
            explained = before[c] - after[c]
            keep[c] = 1.0
            if shrink > 0.0:
                chance = shrink * min(size, m) * spread[node, c]
                keep[c] = max(0.0, 1.0 - chance / explained) if explained > 0.0 else 0.0
        for t in range(begin, end):
            i = order[t]
            _row(states, features, i, centre, width, row)
            for c in range(columns):
                part = 0.0
                for a in range(size):
                    part += row[a] * coef[a, c]
                left[i, c] -= keep[c] * part
        for c in range(columns):
            maps[node, 0, c] += keep[c] * coef[0, c]
            for j in range(d):
                slope = keep[c] * coef[1 + j, c] / width[j]
                maps[node, 1 + j, c] += slope
                maps[node, 0, c] -= slope * centre[j]
            for j in range(p):
                maps[node, 1 + d + j, c] += keep[c] * coef[1 + d + j, c]
