"""Start states of episodes in a learned model. Equation numbers: docs/atlas-table.md."""

from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.learners.atlas.memory import BEGAN

if TYPE_CHECKING:
    from spaql.learners.atlas.memory import Memory

EARLY = 0.02  # share of the horizon: states seen in the first steps of an episode serve as start states too
SIDEWAYS = 0.7  # how far a start state between others goes towards each of its neighbours, or away from it: s of (34)


def start_states(memory: "Memory", n: int, horizon: int, count: int) -> Array:
    """`count` start states, mixed: those with which episodes began, states seen in the first steps, and states between
    neighbouring start states; repeated if these are fewer than `count`.

    Data has few start states, and a tree that was searched for from few of them fails from others.
    """
    began = np.flatnonzero(memory.flags[:n] & BEGAN)
    began = began if len(began) else np.zeros(1, np.int64)
    time = np.arange(n) - began[np.maximum(np.searchsorted(began, np.arange(n), side="right") - 1, 0)]
    early = np.setdiff1d(np.flatnonzero((time >= 0) & (time <= EARLY * horizon)), began)
    rng = np.random.default_rng(0)
    early = rng.permutation(early)[: max(0, count - len(began)) // 2]
    between = _between(memory.states[began], max(0, count - len(began) - len(early)), rng)
    states: Array = np.concatenate([memory.states[began], memory.states[early], between])
    return states[np.resize(rng.permutation(len(states)), count)]


def _between(starts: Array, count: int, rng: np.random.Generator) -> Array:
    """(34) States around randomly chosen start states, in the directions of their nearest start states.

    There are as many neighbours as variables, so that the new states fill the space between start states.
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
    states: Array = starts[chosen] + (rng.uniform(-SIDEWAYS, SIDEWAYS, (count, k, 1)) * gaps).sum(axis=1)
    return states
