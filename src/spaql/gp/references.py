"""References: variables that are held, and jump when nobody can know. What comes after a jump is like a beginning."""

import numpy as np
from scipy.spatial import cKDTree

from spaql.arrays import Array
from spaql.gp.data import Data
from spaql.gp.units import spread_of

HELD = 0.15  # of the steps in which a variable changes, at most, if it is held
FEW = 2  # values of a variable that may be a contact or a switch of the plant
JUMPS = 4  # at least, before such a variable is called a reference
NEAR = 5  # neighbours of a step
OFTEN = 0.2  # of the neighbours of jumps that jump, beyond the usual: then state and action make them
MOSTLY = 0.5  # of the neighbours of one jump


def references_of(data: Data) -> Array:
    """(d,) which variables are held otherwise than by the plant, and jump now and then."""
    changed = data.nexts != data.states
    held: Array = changed.any(axis=0) & (changed.mean(axis=0) < HELD)
    for j in np.flatnonzero(held).tolist():
        held[j] = len(np.unique(data.states[:, j])) > FEW or not _made_by_state(data, changed[:, j])
    return held


def jumped(data: Data) -> Array:
    """Steps in which a reference changed, and does not in others that are just like it: nobody knows when it will.

    Only by what comes after such a step can one learn what to do with another reference.
    """
    found: Array = (data.nexts != data.states)[:, references_of(data)].any(axis=1)
    at = np.flatnonzero(found)
    found[at] = _along(data, found, at) < MOSTLY
    return found


def _made_by_state(data: Data, jumps: Array) -> bool:
    """Whether state and action make a variable change, as they make a contact; also if nobody can tell yet."""
    at, usual = np.flatnonzero(jumps), float(jumps.mean())
    return len(at) < JUMPS or float(_along(data, jumps, at).mean()) >= usual + OFTEN * (1.0 - usual)


def _along(data: Data, jumps: Array, at: Array) -> Array:
    """Of these steps, the part of their neighbours that jump."""
    inputs = np.column_stack([data.states, data.actions])
    z = inputs / spread_of(inputs)
    if len(at) == 0 or len(z) <= NEAR:
        return np.zeros(len(at))
    near = cKDTree(z).query(z[at], NEAR + 1)[1]
    others = near != at[:, None]  # a step is its own neighbour, unless there are many just like it
    found: Array = (jumps[near] & others).sum(axis=1) / others.sum(axis=1)
    return found


def stretches_of(horizon: int, data: Data) -> float:
    """Stretches with one reference in an episode: one, and one more for every jump to expect."""
    return 1.0 + horizon * float(jumped(data).mean())


def stretch_of(horizon: int, data: Data) -> int:
    """Steps of a stretch: for so long the model knows what comes. Without a reference a whole episode."""
    return max(1, round(horizon / stretches_of(horizon, data)))
