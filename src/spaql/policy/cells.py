"""The cells of a learned partition in physical units, their tree, and a smaller tree that does the same."""

from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import kernel
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH, Forest, action_centre
from spaql.partition.greedy import LOW_HALF, Greedy, Scratch, cell_of, coordinates, find_path, last_argmax, relevant
from spaql.plants.axes import Space
from spaql.plants.chart import SIGMOID, Chart, to_cube
from spaql.policy.knowledge import KnownRows
from spaql.trees.edits import merged
from spaql.trees.tree import Builder, Tree

# -- compiled: reading a learned partition. Its cells, what is applied in them, and what else could be -----------------

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
    count, top = 0, 1
    stack[0, 0], stack[0, 1] = tree, 0
    for j in range(d):
        stack[0, 2 + j] = 0
    while top > 0:
        top -= 1
        here, halved = stack[top, 0], stack[top, 1]
        for j in range(d):
            corner[count, j] = stack[top, 2 + j]  # of a split cell: overwritten by the next cell
            size[count, j] = 1 << (MAX_DEPTH - halved // d - (1 if j < halved % d else 0))
        last, base = greedy.jump[here] >> 32, greedy.jump[here] & LOW_HALF
        if last == 0:
            count += 1
            continue
        first_j, next_j = coordinates(last, d, halved % d)
        for orthant in range(last, -1, -1):
            stack[top, 0], stack[top, 1] = base + orthant, halved + next_j - first_j
            for j in range(d):
                lower = first_j <= j < next_j and ((orthant >> (next_j - 1 - j)) & 1) == 1
                stack[top, 2 + j] = corner[count, j] + (size[count, j] // 2 if lower else 0)
            top += 1
    return count


@kernel
def survey(
    forest: Forest, space: Space, scratch: Scratch, tree: int, centres: Array, best: Array, second: Array, q: Array
) -> None:
    """For every state (cube coordinates): the greedy ball and the best one that does something else (-1: none).

    With their values and keys.
    """
    for i in range(len(centres)):
        find_path(forest, centres[i], scratch.path)
        count = relevant(forest, space, tree, scratch.path, scratch.stack, scratch.leaves, scratch.q)
        top = last_argmax(scratch.q, count)
        other = -1
        for c in range(count):
            differs = scratch.leaves[c].key != scratch.leaves[top].key
            if differs and (other < 0 or scratch.q[c] >= scratch.q[other]):
                other = c
        best[i, 0], best[i, 1], q[i, 0] = scratch.leaves[top].ball, scratch.leaves[top].key, scratch.q[top]
        if other >= 0:
            rival = scratch.leaves[other]
            second[i, 0], second[i, 1], q[i, 1] = rival.ball, rival.key, scratch.q[other]
        else:
            second[i, 0], second[i, 1], q[i, 1] = -1, 0, np.nan


@kernel
def alternatives(forest: Forest, space: Space, scratch: Scratch, tree: int, x: Array, balls: Array, q: Array) -> int:
    """All balls over a state: (ball, key) and values, in child order. Returns how many."""
    find_path(forest, x, scratch.path)
    count = relevant(forest, space, tree, scratch.path, scratch.stack, scratch.leaves, scratch.q)
    for c in range(count):
        balls[c, 0], balls[c, 1], q[c] = scratch.leaves[c].ball, scratch.leaves[c].key, scratch.q[c]
    return count


@kernel
def key_action(space: Space, chart: Chart, key: int, depth: int, out: Array) -> None:
    """What is applied deterministically by a ball with this action key."""
    if space.k > 0:
        for axis in range(space.k):
            out[axis] = chart.acts[axis].centre + chart.acts[axis].scale * action_centre(space, key, depth, axis)
    else:
        out[0] = chart.values[key >> COUNT_BITS]


SUBNORMAL = 1e-300  # smaller numbers vanish in the map to the cube: the partition takes them for zero, and so do people
TOP = 1 << MAX_DEPTH  # cells of the finest grid along one axis


@dataclass(frozen=True, eq=False)
class Cells:
    """The state cells of a greedy policy.

    Positions are those of the finest grid, counted from the upper end of the cube.
    """

    corner: Array  # int64 (n, d): upper end
    size: Array  # int64 (n, d): edges
    rows: KnownRows


def physical_cuts(chart: Chart, feature: int, positions: Array) -> Array:
    """The smallest observation above each cut, exact to the last bit.

    Positions are those of the finest grid, counted in cells from the upper end.
    """
    axis = chart.axes[feature]
    if axis["scale"] == 0.0:  # a constant variable lies on the middle of the cube, which belongs to the upper half
        return np.full(len(positions), axis["centre"])
    reach = (40.0 if axis["kind"] == SIGMOID else 1.0) / axis["scale"]
    low, high = np.full(len(positions), axis["centre"] - reach), np.full(len(positions), axis["centre"] + reach)
    d = len(chart.axes)
    first_at_least(
        chart, feature, np.asarray(positions, np.int64) - 1, low, high, chart.axes["centre"].copy(), np.empty(d)
    )
    high[np.abs(high) < SUBNORMAL] = 0.0
    return high


def cut_tables(chart: Chart, cells: Cells) -> list[dict[int, float]]:
    """Physical values of all cuts between cells, by variable and grid position."""
    tables = []
    for j in range(cells.corner.shape[1]):
        ends = np.unique(np.concatenate([cells.corner[:, j], cells.corner[:, j] + cells.size[:, j]]))
        # a split tests the middle of its cell, which may be the end of no cell that is left when it is the end of
        # others
        inner = ends[(ends > 0) & (ends < TOP)]
        tables.append(dict(zip(inner.tolist(), physical_cuts(chart, j, inner).tolist(), strict=True)))
    return tables


def table_tree(chart: Chart, cells: Cells) -> tuple[Tree, Array]:
    """The partition as it is: every split one test per variable. Also the cell of each node (-1 for tests)."""
    d, cuts, action = cells.corner.shape[1], cut_tables(chart, cells), cells.rows.action
    builder = Builder(d, action.shape[1])
    cell_of_node: list[int] = []
    # boxes that are exactly filled by their members; coordinates grow downwards, towards the lower end of the cube
    stack: list[tuple[Array, Array, Array, tuple[int, int] | None]] = [
        (np.zeros(d, np.int64), np.full(d, TOP, np.int64), np.arange(len(cells.size)), None)
    ]
    while stack:
        low, high, members, under = stack.pop()
        if len(members) == 1:
            cell_of_node.append(int(members[0]))
            builder.leaf(action[members[0]], under=under)
            continue
        j = int(np.argmax(high - low))  # all halves of one split before the next split begins
        middle = int(low[j] + (high - low)[j] // 2)
        node = builder.test(j, cuts[j][middle], under=under)
        cell_of_node.append(-1)
        upper = cells.corner[members, j] < middle
        for side, inside, ends in ((1, upper, (low[j], middle)), (0, ~upper, (middle, high[j]))):
            box = low.copy(), high.copy()
            box[0][j], box[1][j] = ends
            stack.append((*box, members[inside], (node, side)))
    return builder.tree(), np.array(cell_of_node)


# -- the smallest tree we can find that does exactly what a table of cells does ----------------------------------------


def exact_tree(chart: Chart, cells: Cells) -> Tree:
    """Same action everywhere, fewer leaves.

    Regions with one action become one leaf, and cuts are chosen to reach such regions soon.

    The cuts are those of the partition. Two rules for choosing among them are tried, and the smaller tree wins; none is
    always better.
    """
    _, label = np.unique(cells.rows.action, axis=0, return_inverse=True)
    trees = [_grow(chart, cells, label.ravel(), by_volume) for by_volume in (False, True)]
    return min(trees, key=lambda tree: tree.n_leaves)


def _grow(chart: Chart, cells: Cells, label: Array, by_volume: bool) -> Tree:
    d, cuts, classes = cells.corner.shape[1], cut_tables(chart, cells), int(label.max()) + 1
    builder = Builder(d, cells.rows.action.shape[1])
    begin, end = cells.corner, cells.corner + cells.size
    stack: list[tuple[Array, Array, Array, tuple[int, int] | None]] = [
        (np.arange(len(label)), np.zeros(d, np.int64), np.full(d, TOP), None)
    ]
    while stack:
        members, low, high, under = stack.pop()
        if np.all(label[members] == label[members[0]]):
            builder.leaf(cells.rows.action[members[0]], under=under)
            continue
        a, b = np.maximum(begin[members], low), np.minimum(end[members], high)
        j, middle = _best_cut(a, b, label[members], classes, by_volume)
        node = builder.test(j, cuts[j][middle], under=under)
        below_low, above_high = low.copy(), high.copy()
        below_low[j], above_high[j] = middle, middle  # positions grow downwards
        stack.append((members[a[:, j] < middle], low, above_high, (node, 1)))
        stack.append((members[b[:, j] > middle], below_low, high, (node, 0)))
    return merged(builder.tree())


def _best_cut(begin: Array, end: Array, label: Array, classes: int, by_volume: bool) -> tuple[int, int]:
    """Variable and position of the cut after which least is left to decide.

    By the entropy of the actions on both sides, weighted by cells or by their volume.

    A cell that is cut counts on both sides, so cuts through many cells are avoided.
    """
    weight = np.prod((end - begin) / (end - begin).max(axis=0), axis=1) if by_volume else np.ones(len(label))
    best, least = (-1, 0), np.inf
    for j in range(begin.shape[1]):
        positions = np.unique(np.concatenate([begin[:, j], end[:, j]]))[1:-1]
        if len(positions) == 0:
            continue
        upper, lower = _sums(positions, begin[:, j], end[:, j], label, weight, classes)
        score = _entropy(upper) + _entropy(lower)
        at = int(np.argmin(score))
        if score[at] < least:
            best, least = (j, int(positions[at])), float(score[at])
    return best


def _sums(positions: Array, begin: Array, end: Array, label: Array, weight: Array, classes: int) -> tuple[Array, Array]:
    """Weight of every action above and below every cut."""
    n = len(positions)
    starts, stops = np.zeros((n + 1, classes)), np.zeros((n + 1, classes))
    first = np.searchsorted(positions, begin, side="right")  # the first cut strictly after the begin of a cell
    last = np.searchsorted(positions, end, side="left")  # the first cut not before the end of a cell
    np.add.at(starts, (first, label), weight)
    np.add.at(stops, (last, label), weight)
    upper = np.cumsum(starts, axis=0)[:n]
    lower = stops.sum(axis=0) - np.cumsum(stops, axis=0)[:n]
    return upper, lower


def _entropy(weights: Array) -> Array:
    """Total weight times the entropy of the actions, per row."""
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(weights > 0, weights * np.log2(total / weights), 0.0)
    result: Array = terms.sum(axis=1)
    return result
