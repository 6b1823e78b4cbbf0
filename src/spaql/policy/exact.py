"""The smallest tree we can find that does exactly what a table of cells does."""

from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.chart import Chart
from spaql.policy.cells import TOP, Cells, cut_tables
from spaql.trees.edits import merged
from spaql.trees.tree import Builder, Tree


def exact_tree(chart: Chart, cells: Cells) -> Tree:
    """Same action everywhere, fewer leaves.

    Regions with one action become one leaf, and cuts are chosen to reach such regions soon.

    The cuts are those of the partition. Two rules for choosing among them are tried, and the smaller tree wins; none is
    always better.
    """
    _, label = np.unique(cells.rows.action, axis=0, return_inverse=True)
    trees = [_grow(chart, cells, label.ravel(), by_volume) for by_volume in (False, True)]
    return min(trees, key=lambda tree: tree.n_leaves)


@dataclass(frozen=True)
class _Cut:
    feature: int
    position: int
    score: float


def _grow(chart: Chart, cells: Cells, label: Array, by_volume: bool) -> Tree:
    d, cuts, classes = cells.corner.shape[1], cut_tables(chart, cells), int(label.max()) + 1
    builder = Builder(d, cells.rows.action.shape[1])
    begin, end = cells.corner, cells.corner + cells.size
    # work list instead of recursion: (members, box, parent, side), children after their parents
    stack: list[tuple[Array, Array, Array, int, int]] = [
        (np.arange(len(label)), np.zeros(d, np.int64), np.full(d, TOP), -1, 0)
    ]
    children: dict[int, list[int]] = {}
    while stack:
        members, low, high, parent, side = stack.pop()
        if np.all(label[members] == label[members[0]]):
            node = builder.leaf(cells.rows.action[members[0]])
        else:
            a, b = np.maximum(begin[members], low), np.minimum(end[members], high)
            best = _best_cut(a, b, label[members], classes, by_volume)
            node = builder.test(best.feature, cuts[best.feature][best.position])
            children[node] = [0, 0]
            j, middle = best.feature, best.position
            below_low, above_high = low.copy(), high.copy()
            below_low[j], above_high[j] = middle, middle  # positions grow downwards
            stack.append((members[a[:, j] < middle], low, above_high, node, 1))
            stack.append((members[b[:, j] > middle], below_low, high, node, 0))
        if parent >= 0:
            children[parent][side] = node
    for node, (below, above) in children.items():
        builder.join(node, below, above)
    return merged(builder.tree())


def _best_cut(begin: Array, end: Array, label: Array, classes: int, by_volume: bool) -> _Cut:
    """The cut after which least is left to decide.

    By the entropy of the actions on both sides, weighted by cells or by their volume.

    A cell that is cut counts on both sides, so cuts through many cells are avoided.
    """
    weight = np.prod((end - begin) / (end - begin).max(axis=0), axis=1) if by_volume else np.ones(len(label))
    best = _Cut(-1, 0, np.inf)
    for j in range(begin.shape[1]):
        positions = np.unique(np.concatenate([begin[:, j], end[:, j]]))[1:-1]
        if len(positions) == 0:
            continue
        upper, lower = _sums(positions, begin[:, j], end[:, j], label, weight, classes)
        score = _entropy(upper) + _entropy(lower)
        at = int(np.argmin(score))
        if score[at] < best.score:
            best = _Cut(j, int(positions[at]), float(score[at]))
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
