"""Compiled work on trees: descents, and lock-step rollouts of a tree on a plant."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH, Forest, Space, action_centre
from spaql.partition.greedy import LOW_HALF, Greedy, Scratch, coordinates
from spaql.partition.search import cell_of, find_path, relevant
from spaql.plants.chart import Chart, to_cube
from spaql.plants.plant import LANES, Rows
from spaql.training.rollouts import WIDTH, Batch, Lanes, book, check_returns, fill_noise, finish, start_lanes

SMALL_TREE = 127  # nodes: up to here every lane is tested at every node


@inlined
def descend(nodes: Array, weights: Array, table: Array, column: int, first_row: int) -> int:
    """The leaf of the observation in a column of a table."""
    here, d = 0, weights.shape[1]
    while nodes[here].feature >= 0:
        feature = nodes[here].feature
        if feature < d:
            value = table[first_row + feature, column]
        else:
            value = 0.0
            for j in range(d):
                value += weights[here, j] * table[first_row + j, column]
        here = nodes[here].high if value >= nodes[here].cut else nodes[here].low
    return here


@kernel
def find_leaves(nodes: Array, weights: Array, observations: Array, found: Array) -> None:
    """The leaf of every row."""
    d = weights.shape[1]
    for i in range(len(observations)):
        here = 0
        while nodes[here].feature >= 0:
            feature = nodes[here].feature
            if feature < d:
                value = observations[i, feature]
            else:
                value = 0.0
                for j in range(d):
                    value += weights[here, j] * observations[i, j]
            here = nodes[here].high if value >= nodes[here].cut else nodes[here].low
        found[i] = here


@inlined
def _place_by_node(nodes: Array, weights: Array, lanes: Lanes, rows: Rows, n: int) -> None:
    """Every lane's leaf, node by node: in a small tree cheaper than following each lane, and the loops over the lanes vectorise."""
    d, leaf, value = weights.shape[1], lanes.code, lanes.table[rows.reward]  # the reward comes after the action: its row is free
    for i in range(n):
        leaf[i] = 0
    for node in range(len(nodes)):  # parents come before their children
        feature, cut, low, high = nodes[node].feature, nodes[node].cut, np.int64(nodes[node].low), np.int64(nodes[node].high)
        if feature < 0:
            continue
        row = lanes.table[rows.observation + feature] if feature < d else value
        if feature == d:
            for i in range(n):
                value[i] = 0.0
            for j in range(d):
                weight, seen = weights[node, j], lanes.table[rows.observation + j]
                for i in range(n):
                    value[i] += weight * seen[i]
        for i in range(n):
            child = high if row[i] >= cut else low
            leaf[i] = child if leaf[i] == node else leaf[i]


@inlined
def _child(nodes: Array, here: int, table: Array, first_row: int, column: int) -> int:
    """One step down, or the leaf itself, without a branch to mispredict; axis-aligned tests only."""
    at = np.uint32(here)
    feature = nodes[at].feature
    stay = feature >> 31  # -1 in a leaf, else 0
    value = table[np.uint32(first_row + (feature & ~stay)), column]
    low, high = nodes[at].low, nodes[at].high
    below = low + ((high - low) & -np.int32(value >= nodes[at].cut))
    found: int = (here & stay) | (below & ~stay)
    return found


@inlined
def _place_by_lane(nodes: Array, lanes: Lanes, first_row: int, n: int) -> None:
    """Every lane's leaf, four lanes at once: each waits for its own chain of loads. n is a multiple of 4; axis-aligned tests only."""
    table, leaf = lanes.table, lanes.code
    for i in range(0, n, WIDTH):
        a, b, c, e = 0, 0, 0, 0
        while nodes[np.uint32(a)].feature & nodes[np.uint32(b)].feature & nodes[np.uint32(c)].feature & nodes[np.uint32(e)].feature >= 0:
            a, b = _child(nodes, a, table, first_row, i), _child(nodes, b, table, first_row, i + 1)
            c, e = _child(nodes, c, table, first_row, i + 2), _child(nodes, e, table, first_row, i + 3)
        leaf[i], leaf[i + 1], leaf[i + 2], leaf[i + 3] = a, b, c, e


@inlined
def tests_sums(nodes: Array, weights: Array) -> bool:
    """Some test is oblique."""
    found = False
    for node in range(len(nodes)):
        found |= nodes[node].feature == weights.shape[1]
    return found


@inlined
def place_lanes(nodes: Array, weights: Array, oblique: bool, lanes: Lanes, rows: Rows, n: int) -> None:
    """Every lane's leaf, into `lanes.code`."""
    if len(nodes) <= SMALL_TREE:
        _place_by_node(nodes, weights, lanes, rows, n)
    elif not oblique:
        _place_by_lane(nodes, lanes, rows.observation, n)
    else:
        for i in range(n):
            lanes.code[i] = descend(nodes, weights, lanes.table, i, rows.observation)


@inlined
def act_tree(nodes: Array, weights: Array, actions: Array, oblique: bool, lanes: Lanes, rows: Rows, n: int) -> None:
    """Every lane's leaf, and its action into the table."""
    place_lanes(nodes, weights, oblique, lanes, rows, n)
    for axis in range(actions.shape[1]):
        row = lanes.table[rows.action + axis]
        for i in range(n):
            row[i] = actions[np.uint32(lanes.code[i]), axis]


@kernel
def play_tree(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int], horizon: int, nodes: Array, weights: Array, actions: Array,
    lanes: Lanes, plant_seed: np.uint64, returns: Array, first: int, last: int, visits: Array, states: Array,
) -> int:  # fmt: skip
    """Episodes `first` ... `last - 1` with a tree as the policy. Returns the steps.

    Adds to the `visits` of leaves (unless it is empty) and keeps the first observations in `states`.
    """
    steps, d = 0, weights.shape[1]
    oblique = tests_sums(nodes, weights)
    for begin in range(first, last, LANES):
        n = min(LANES, last - begin)
        padded = start_lanes(reset, rows, noise[0], lanes, plant_seed, np.uint64(0), begin, n)
        for h in range(horizon):
            if n == 0:
                break
            act_tree(nodes, weights, actions, oblique, lanes, rows, padded)
            if len(visits) > 0:
                for i in range(n):
                    visits[lanes.code[i]] += 1
            for i in range(min(n, len(states) - steps)):
                for j in range(d):
                    states[steps + i, j] = lanes.table[rows.observation + j, i]
            fill_noise(lanes, rows.noise, noise[1], noise[0] + h * noise[1], padded)
            step(lanes.flat, padded)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        finish(rows, lanes, returns, n)
    check_returns(lanes, returns, first, last)
    return steps


@kernel
def first_at_least(chart: Chart, feature: int, cuts: Array, low: Array, high: Array, work: Array, x: Array) -> None:
    """For every cell of the finest grid (counted from the upper end): the smallest physical value that lies in it or above it.

    By bisection between `low`, which lies below, and `high`, which does not. The map is monotone, so that a test on the physical value
    decides exactly as the partition does.
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
    """The leaf cells of a merged tree, in child order: position in the finest grid, counted from the upper end, and edges.

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
            corner[found, j] = stack[top, 2 + j]  # of a cell that goes on only for a while: its sub-cells overwrite this row of the stack
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
def survey(forest: Forest, space: Space, scratch: Scratch, tree: int, centres: Array, best: Array, second: Array, q: Array) -> None:
    """For every state (cube coordinates): the greedy ball, the best one that plays something else (-1: none), and their values and keys."""
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
    """What is played deterministically by a ball with this action key."""
    if space.k > 0:
        for axis in range(space.k):
            out[axis] = chart.acts[axis].centre + chart.acts[axis].scale * action_centre(space, key, depth, axis)
    else:
        out[0] = chart.values[key >> COUNT_BITS]
