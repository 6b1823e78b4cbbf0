"""Where episodes in a learned model begin."""

from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.learners.atlas.memory import BEGAN

if TYPE_CHECKING:
    from spaql.learners.atlas.memory import Memory

EARLY = 0.02  # of the horizon: states seen so early serve as start states too
SIDEWAYS = 0.7  # of the way to each of several neighbours


def start_states(memory: "Memory", n: int, horizon: int, count: int) -> Array:
    """Where episodes began, states seen soon after, and states between two neighbouring beginnings, mixed: few beginnings were seen,
    and a tree that was searched for on those alone fails on others. Again and again until there are `count`."""
    began = np.flatnonzero(memory.flags[:n] & BEGAN)
    began = began if len(began) else np.zeros(1, np.int64)
    time = np.arange(n) - began[np.maximum(np.searchsorted(began, np.arange(n), side="right") - 1, 0)]
    early = np.setdiff1d(np.flatnonzero((time >= 0) & (time <= EARLY * horizon)), began)
    mixed = np.random.default_rng(0)
    few = mixed.permutation(early)[: max(0, count - len(began)) // 2]
    between = _between(memory.states[began], max(0, count - len(began) - len(few)), mixed)
    states: Array = np.concatenate([memory.states[began], memory.states[few], between])
    return states[np.resize(mixed.permutation(len(states)), count)]


def _between(begun: Array, count: int, rng: np.random.Generator) -> Array:
    """Among neighbours, as many as there are variables, and as far beyond: so that no gap is left open."""
    from scipy.spatial import KDTree

    k = min(begun.shape[1], len(begun) - 1)
    if k < 1:
        return begun[:0]
    spread = begun.std(axis=0)
    scaled = begun / np.where(spread > 0.0, spread, 1.0)
    nearest = KDTree(scaled).query(scaled, k=k + 1)[1][:, 1:]
    some = rng.integers(0, len(begun), count)
    apart = begun[nearest[some]] - begun[some][:, None]
    found: Array = begun[some] + (rng.uniform(-SIDEWAYS, SIDEWAYS, (count, k, 1)) * apart).sum(axis=1)
    return found
