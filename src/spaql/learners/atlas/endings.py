"""Where episodes end: a small tree over next states, and what the last step earns there.

Equation numbers: docs/atlas-table.md.
"""

import heapq

import numpy as np

from spaql.arrays import Array
from spaql.trees.tree import LEAF, NODE

MOST_LEAVES = 32  # of the tree
MOST_POINTS = 6000  # transitions that ended an episode, and as many that did not, the tree is grown from
ROUNDING = 1e-9  # squared errors, and shares of them, below this are rounding


def ending_tree(after: Array, ended: Array, extra: Array) -> tuple[Array, Array, Array]:
    """Nodes, whether the episode ends in each, and the mean extra reward of the last step there.

    `after` (n, d): next states; `ended` (n,): whether the episode ended there. `extra`: by transition that ended an
    episode, its reward beyond that of an ordinary step.
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
    # a leaf predicts two things: whether the episode ends, and the extra reward of its last step
    targets = np.column_stack([label, value / spread if spread > ROUNDING * np.abs(value).max() else label])
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
        last = label[inside] == 1.0
        ending[node] = int(2 * last.sum() > len(inside))  # (22)
        reward[node] = value[inside][last].mean() if last.any() else 0.0  # (23)
    return nodes[:used].copy(), ending[:used].copy(), reward[:used].copy()


def _some(indices: Array) -> Array:
    """At most MOST_POINTS of the indices, evenly spread over time."""
    return indices if len(indices) <= MOST_POINTS else indices[np.arange(MOST_POINTS) * len(indices) // MOST_POINTS]


def _offer(
    heap: list[tuple[float, int, int, float]], points: Array, targets: Array, members: dict[int, Array], node: int
) -> None:  # fmt: skip
    """Queue the cut of a node that leaves the least squared error of the targets."""
    inside = members[node]
    x, y, n = points[inside], targets[inside], len(inside)
    error = float(((y - y.mean(axis=0)) ** 2).sum())
    if n < 2 or error < ROUNDING:
        return
    best = (ROUNDING * error, 0, 0.0)
    count = np.arange(1, n)[:, None]
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        value, target = x[order, j], y[order]
        below = np.cumsum(target, axis=0)
        total, below = below[-1], below[:-1]
        gain = (below**2 / count + (total - below) ** 2 / (n - count)).sum(axis=1) - float((total**2).sum() / n)  # (21)
        gain[np.diff(value) <= 0.0] = -np.inf
        at = int(np.argmax(gain))
        if gain[at] > best[0]:
            best = (float(gain[at]), j, float((value[at] + value[at + 1]) / 2))
    if best[0] > ROUNDING * error:
        heapq.heappush(heap, (-best[0], node, best[1], best[2]))
