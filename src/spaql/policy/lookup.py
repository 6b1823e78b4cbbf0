"""Compiled: reading a learned partition. Its cells, what is applied in them, and what else could be."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH, Forest, action_centre
from spaql.partition.greedy import LOW_HALF, Greedy, Scratch, coordinates
from spaql.partition.search import cell_of, find_path, relevant
from spaql.plants.chart import Chart, to_cube
from spaql.plants.space import Space


@kernel
def first_at_least(chart: Chart, feature: int, cuts: Array, low: Array, high: Array, work: Array, x: Array) -> None:
    """For every cell of the finest grid (counted from the upper end): the smallest physical value in it or above it.

    By bisection between `low`, which lies below, and `high`, which does not. The map is monotone, so that a test on the
    physical value decides exactly as the partition does.
    """
    for i in range(len(cuts)):
        a, b = low[i], high[i]
        while True:
            middle = a + (b - a) / 2
            if not (a < middle < b):
                break
            work[feature] = middle
            to_cube(chart, work, x)
            if cell_of(x[feature]) <= cuts[i]:
                b = middle
            else:
                a = middle
        low[i], high[i] = a, b


@kernel
def list_cells(greedy: Greedy, d: int, tree: int, stack: Array, corner: Array, size: Array) -> int:
    """The leaf cells of a merged tree, in child order: position in the finest grid, from the upper end, and edges.

    `stack`: working memory; a row is a cell, how often its coordinates were halved in all, and its position.
    """
    found, top = 0, 1
    stack[0, 0], stack[0, 1] = tree, 0
    for j in range(d):
        stack[0, 2 + j] = 0
    while top > 0:
        top -= 1
        here, halved = stack[top, 0], stack[top, 1]
        for j in range(d):
            corner[found, j] = stack[top, 2 + j]  # of a split cell: overwritten by the next cell
            size[found, j] = 1 << (MAX_DEPTH - halved // d - (1 if j < halved % d else 0))
        last, base = greedy.jump[here] >> 32, greedy.jump[here] & LOW_HALF
        if last == 0:
            found += 1
            continue
        first_j, next_j = coordinates(last, d, halved % d)
        for orthant in range(last, -1, -1):
            stack[top, 0], stack[top, 1] = base + orthant, halved + next_j - first_j
            for j in range(d):
                lower = first_j <= j < next_j and ((orthant >> (next_j - 1 - j)) & 1) == 1
                stack[top, 2 + j] = corner[found, j] + (size[found, j] // 2 if lower else 0)
            top += 1
    return found


@kernel
def survey(
    forest: Forest, space: Space, scratch: Scratch, tree: int, centres: Array, best: Array, second: Array, q: Array
) -> None:
    """For every state (cube coordinates): the greedy ball and the best one that does something else (-1: none).

    With their values and keys.
    """
    for i in range(len(centres)):
        find_path(forest, centres[i], scratch.path)
        count = relevant(forest, space, tree, scratch.path, scratch.stack, scratch.found, scratch.q)
        top = 0
        for c in range(1, count):
            if scratch.q[c] >= scratch.q[top]:
                top = c
        other = -1
        for c in range(count):
            differs = scratch.found[c].key != scratch.found[top].key
            if differs and (other < 0 or scratch.q[c] >= scratch.q[other]):
                other = c
        best[i, 0], best[i, 1], q[i, 0] = scratch.found[top].ball, scratch.found[top].key, scratch.q[top]
        if other >= 0:
            second[i, 0], second[i, 1], q[i, 1] = scratch.found[other].ball, scratch.found[other].key, scratch.q[other]
        else:
            second[i, 0], second[i, 1], q[i, 1] = -1, 0, np.nan


@kernel
def alternatives(forest: Forest, space: Space, scratch: Scratch, tree: int, x: Array, found: Array, q: Array) -> int:
    """All balls over a state: (ball, key) and values, in child order. Returns how many."""
    find_path(forest, x, scratch.path)
    count = relevant(forest, space, tree, scratch.path, scratch.stack, scratch.found, scratch.q)
    for c in range(count):
        found[c, 0], found[c, 1], q[c] = scratch.found[c].ball, scratch.found[c].key, scratch.q[c]
    return count


@kernel
def key_action(space: Space, chart: Chart, key: int, depth: int, out: Array) -> None:
    """What is applied deterministically by a ball with this action key."""
    if space.k > 0:
        for axis in range(space.k):
            out[axis] = chart.acts[axis].centre + chart.acts[axis].scale * action_centre(space, key, depth, axis)
    else:
        out[0] = chart.values[key >> COUNT_BITS]
