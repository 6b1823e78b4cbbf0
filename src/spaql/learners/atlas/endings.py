"""Where episodes end: a small tree over next states, and what the last step earns there.

Equation numbers: docs/atlas-table.md.
"""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.learners.atlas.experience import BEGAN, evenly
from spaql.trees.edits import best_first
from spaql.trees.tree import LEAF, NODE

if TYPE_CHECKING:
    from spaql.learners.atlas.experience import Experience

ENDING_LEAVES = 32  # of the tree, at most
ENDING_TRANSITIONS = 6000  # that ended an episode, and as many that did not: more are thinned out


def ending_tree(after: Array, ended: Array, extra: Array) -> tuple[Array, Array, Array]:
    """Nodes, whether the episode ends in each, and the mean extra reward of the last step there.

    `after` (n, d): next states; `ended` (n,): whether the episode ended there. `extra`: by
    transition that ended an episode, its reward beyond that of an ordinary step.
    """
    nodes = np.zeros(2 * ENDING_LEAVES - 1, NODE)
    nodes["feature"] = LEAF
    ending, reward = np.zeros(len(nodes), np.int64), np.zeros(len(nodes))
    if not ended.any():
        return nodes[:1].copy(), ending[:1].copy(), reward[:1].copy()
    chosen = np.concatenate([evenly(np.flatnonzero(part), ENDING_TRANSITIONS) for part in (ended, ~ended)])
    points, label = after[chosen], ended[chosen].astype(float)
    value = np.zeros(len(after))
    value[ended] = extra
    value = value[chosen]
    spread = float(np.std(value[label == 1.0]))
    # a leaf predicts two things: whether the episode ends, and the extra reward of its last step
    varied = spread > ROUNDING * np.abs(value).max()
    targets = np.column_stack([label, value / spread if varied else label])
    members, used = {0: np.arange(len(chosen))}, 1

    def offer(node: int) -> tuple[float, tuple[int, float]] | None:
        return _offer(points[members[node]], targets[members[node]])

    def divide(node: int, split: tuple[int, float]) -> tuple[int, int]:
        nonlocal used
        (feature, cut), inside = split, members.pop(node)
        above = points[inside, feature] >= cut
        nodes[node] = (cut, feature, used, used + 1)
        members[used], members[used + 1] = inside[~above], inside[above]
        used += 2
        return used - 2, used - 1

    for _ in itertools.islice(best_first(0, offer, divide), ENDING_LEAVES - 1):
        pass
    for node, inside in members.items():
        last = label[inside] == 1.0
        ending[node] = int(2 * last.sum() > len(inside))  # (22)
        reward[node] = value[inside][last].mean() if last.any() else 0.0  # (23)
    return nodes[:used].copy(), ending[:used].copy(), reward[:used].copy()


def _offer(x: Array, y: Array) -> tuple[float, tuple[int, float]] | None:
    """The cut that leaves the least squared error of the targets y: by how much less, the variable, and where."""
    n, error = len(x), float(((y - y.mean(axis=0)) ** 2).sum())
    if n < 2 or error < ROUNDING:
        return None
    most = ROUNDING * error
    best: tuple[int, float] | None = None
    count = np.arange(1, n)[:, None]
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        value, target = x[order, j], y[order]
        below = np.cumsum(target, axis=0)
        total, below = below[-1], below[:-1]
        gain = (below**2 / count + (total - below) ** 2 / (n - count)).sum(axis=1)
        gain -= float((total**2).sum() / n)  # (21)
        gain[np.diff(value) <= 0.0] = -np.inf
        at = int(np.argmax(gain))
        if gain[at] > most:
            most, best = float(gain[at]), (j, float((value[at] + value[at + 1]) / 2))
    return None if best is None else (most, best)


# -- start states of episodes in a learned model. Equation numbers: docs/atlas-table.md ------------

# of the horizon: states seen in the first steps of an episode serve as start states, too
EARLY_SHARE = 0.02
# how far a start state between others goes towards each of its neighbours, or away from it: s of
# (34)
SIDEWAYS_SHARE = 0.7


def start_states(memory: "Experience", n: int, horizon: int, count: int) -> Array:
    """`count` start states, mixed: those with which episodes began, states seen in the first steps,
    and states between neighbouring start states; repeated if these are fewer than `count`.

    Data has few start states, and a tree that was searched for from few of them fails from others.
    """
    began = np.flatnonzero(memory.flags[:n] & BEGAN)
    began = began if len(began) else np.zeros(1, np.int64)
    episode = np.searchsorted(began, np.arange(n), side="right") - 1
    time = np.arange(n) - began[np.maximum(episode, 0)]
    early = np.setdiff1d(np.flatnonzero((time >= 0) & (time <= EARLY_SHARE * horizon)), began)
    rng = np.random.default_rng(0)
    early = rng.permutation(early)[: max(0, count - len(began)) // 2]
    between = _between(memory.states[began], max(0, count - len(began) - len(early)), rng)
    states: Array = np.concatenate([memory.states[began], memory.states[early], between])
    return states[np.resize(rng.permutation(len(states)), count)]


def _between(starts: Array, count: int, rng: np.random.Generator) -> Array:
    """(34) States around randomly chosen start states, in the directions of their nearest start
    states.

    There are as many neighbours as variables, so that the new states fill the space between start
    states.
    """
    from scipy.spatial import KDTree

    k = min(starts.shape[1], len(starts) - 1)
    if k < 1:
        return starts[:0]
    spread = starts.std(axis=0)
    scaled = starts / np.where(spread > 0.0, spread, 1.0)
    nearest = KDTree(scaled).query(scaled, k=k + 1)[1][:, 1:]
    chosen = rng.integers(0, len(starts), count)
    gaps = starts[nearest[chosen]] - starts[chosen][:, None]
    share = rng.uniform(-SIDEWAYS_SHARE, SIDEWAYS_SHARE, (count, k, 1))
    states: Array = starts[chosen] + (share * gaps).sum(axis=1)
    return states
