"""Where episodes end: a small tree over next states, and what the last step earns there."""

import heapq

import numpy as np

from spaql.arrays import Array
from spaql.explain.tree import LEAF, NODE

MOST_LEAVES = 32
MOST_POINTS = 6000  # of each kind


def ending_tree(after: Array, ended: Array, extra: Array) -> tuple[Array, Array, Array]:
    """Nodes, whether the episode ends in each, and the mean extra reward of the last step there.

    `extra`: by transition that ended an episode, its reward beyond the ordinary one.
    """
    nodes = np.zeros(2 * MOST_LEAVES - 1, NODE)
    nodes["feature"] = LEAF
    ending, reward = np.zeros(len(nodes), np.int64), np.zeros(len(nodes))
    if not ended.any():
        return nodes[:1].copy(), ending[:1].copy(), reward[:1].copy()
    chosen = np.concatenate([_some(np.flatnonzero(ended)), _some(np.flatnonzero(~ended))])
    points, label = after[chosen], ended[chosen].astype(float)
    value = np.zeros(len(after))
    value[ended] = extra
    value = value[chosen]
    spread = float(np.std(value[label == 1.0]))
    # two things to tell apart: whether it ends, and what that earns
    targets = np.column_stack([label, value / spread if spread > 1e-9 * np.abs(value).max() else label])
    members, used = {0: np.arange(len(chosen))}, 1
    heap: list[tuple[float, int, int, float]] = []
    _offer(heap, points, targets, members, 0)
    while heap and used + 2 <= len(nodes):
        _, node, feature, cut = heapq.heappop(heap)
        inside = members.pop(node)
        above = points[inside, feature] >= cut
        nodes[node] = (cut, feature, used, used + 1)
        for child, part in ((used, inside[~above]), (used + 1, inside[above])):
            members[child] = part
            _offer(heap, points, targets, members, child)
        used += 2
    for node, inside in members.items():
        mine = label[inside] == 1.0
        ending[node] = int(2 * mine.sum() > len(inside))
        reward[node] = value[inside][mine].mean() if mine.any() else 0.0
    return nodes[:used].copy(), ending[:used].copy(), reward[:used].copy()


def _some(indices: Array) -> Array:
    """At most MOST_POINTS of them, evenly spread over time."""
    return indices if len(indices) <= MOST_POINTS else indices[np.arange(MOST_POINTS) * len(indices) // MOST_POINTS]


def _offer(heap: list[tuple[float, int, int, float]], points: Array, targets: Array, members: dict[int, Array], node: int) -> None:
    """Queue the cut that leaves the least squared error."""
    inside = members[node]
    x, y, n = points[inside], targets[inside], len(inside)
    whole = float(((y - y.mean(axis=0)) ** 2).sum())
    if n < 2 or whole < 1e-9:
        return
    best = (1e-9 * whole, 0, 0.0)
    count = np.arange(1, n)[:, None]
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        value, target = x[order, j], y[order]
        below = np.cumsum(target, axis=0)
        total, below = below[-1], below[:-1]
        gain = (below**2 / count + (total - below) ** 2 / (n - count)).sum(axis=1) - float((total**2).sum() / n)
        gain[np.diff(value) <= 0.0] = -np.inf
        at = int(np.argmax(gain))
        if gain[at] > best[0]:
            best = (float(gain[at]), j, float((value[at] + value[at + 1]) / 2))
    if best[0] > 1e-9 * whole:
        heapq.heappush(heap, (-best[0], node, best[1], best[2]))
