"""Cutting points into cells: a tree of axis-parallel cuts, best first. See docs/atlas-table.md."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.trees.tree import LEAF, NODE

NARROW_SIDE = 0.002  # cells thinner than this, in the metric of the data, are not cut


class Partition(NamedTuple):
    """A tree of cells, and which points lie in each of its nodes."""

    nodes: Array
    order: Array  # (n,) indices of the points, sorted by cell
    ranges: Array  # (nodes, 2) by node: the points order[first:last] lie in it


class Criterion(NamedTuple):
    """Which cell is cut next, where, and which cells stay whole: see `grow`."""

    smallest: int
    by_count: bool
    crowd: float
    narrow: float


class Queue(NamedTuple):
    """The leaves that wait to be cut, and working memory."""

    heap: Array  # nodes, the one with the largest urgency on top
    urgency: Array  # by node; not above 0 if it stays whole
    feature: Array  # by node: the variable it would be cut in
    cut: Array  # by node: where it would be cut
    swap: Array  # (n,) points above a cut while a cell is sorted


def grow(
    points: Array, most: int, smallest: int, *, by_count: bool, crowd: float = 0.0,
    narrow: float = NARROW_SIDE
) -> Partition:  # fmt: skip
    """A tree with at most `most` leaves over `points` (n, d).

    `by_count`: cut the fullest cell at the mean of its widest side, for cells with equally many
    points. Otherwise cut the widest cell in the middle of that side; a `crowd` above 0 prefers
    cells with many points. Cells with fewer than `smallest` points or thinner than `narrow` stay
    whole.
    """
    n = len(points)
    room = 2 * max(1, min(most, n)) - 1
    partition = Partition(np.zeros(room, NODE), np.arange(n), np.zeros((room, 2), np.int64))
    queue = Queue(
        heap=np.zeros(room + 1, np.int64), urgency=np.zeros(room), feature=np.zeros(room, np.int64),
        cut=np.zeros(room),
        swap=np.zeros(n, np.int64),
    )  # fmt: skip
    criterion = Criterion(smallest, by_count, crowd, narrow)
    used = int(_grow(np.ascontiguousarray(points), criterion, partition, queue))
    return Partition(partition.nodes[:used].copy(), partition.order, partition.ranges[:used].copy())


@inlined
def _measure(
    points: Array, order: Array, begin: int, end: int, by_count: bool
) -> tuple[int, float, float]:  # fmt: skip
    """The widest side of the points of a cell, its width, and where it would be cut."""
    side, width, cut = 0, -1.0, 0.0
    for j in range(points.shape[1]):
        low, high, total = np.inf, -np.inf, 0.0
        for t in range(begin, end):
            value = points[order[t], j]
            low, high, total = min(low, value), max(high, value), total + value
        if high - low > width:
            side, width = j, high - low
            cut = total / (end - begin) if by_count else 0.5 * (low + high)
    return side, width, cut


@kernel
def _grow(points: Array, criterion: Criterion, partition: Partition, queue: Queue) -> int:
    """Fills `partition`; returns how many of its nodes are used."""
    smallest, by_count, crowd, narrow = criterion
    nodes, order, ranges = partition.nodes, partition.order, partition.ranges
    heap, urgency, feature, cut, swap = queue
    nodes[0].feature, ranges[0, 0], ranges[0, 1] = LEAF, 0, len(points)
    used, waiting, fresh = 1, 0, 0
    while True:
        for node in range(fresh, used):  # new cells join the heap
            begin, end = ranges[node, 0], ranges[node, 1]
            feature[node], width, cut[node] = _measure(points, order, begin, end, by_count)
            urgent = float(end - begin) if by_count else width * float(end - begin) ** crowd  # (20)
            urgency[node] = urgent if end - begin >= smallest and width > narrow else -1.0
            child = waiting
            waiting += 1
            heap[child] = node
            while child > 0 and urgency[heap[(child - 1) >> 1]] < urgency[heap[child]]:
                parent = (child - 1) >> 1
                heap[child], heap[parent] = heap[parent], heap[child]
                child = parent
        fresh = used
        if used + 2 > len(nodes) or waiting == 0 or urgency[heap[0]] <= 0.0:
            return used
        node = heap[0]
        waiting -= 1
        heap[0] = heap[waiting]
        parent = 0
        while 2 * parent + 1 < waiting:
            child = 2 * parent + 1
            if child + 1 < waiting and urgency[heap[child + 1]] > urgency[heap[child]]:
                child += 1
            if urgency[heap[child]] <= urgency[heap[parent]]:
                break
            heap[child], heap[parent] = heap[parent], heap[child]
            parent = child
        begin, end, j = ranges[node, 0], ranges[node, 1], feature[node]
        below, above = 0, 0
        for t in range(begin, end):
            i = order[t]
            if points[i, j] < cut[node]:
                order[begin + below] = i
                below += 1
            else:
                swap[above] = i
                above += 1
        for t in range(above):
            order[begin + below + t] = swap[t]
        if below == 0 or above == 0:
            continue  # the points are so near each other that rounding puts the cut on one of them
        nodes[node].feature, nodes[node].cut = j, cut[node]
        nodes[node].low, nodes[node].high = used, used + 1
        nodes[used].feature, nodes[used + 1].feature = LEAF, LEAF
        ranges[used, 0], ranges[used, 1] = begin, begin + below
        ranges[used + 1, 0], ranges[used + 1, 1] = begin + below, end
        used += 2
