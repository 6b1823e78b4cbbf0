"""References: variables that are held, and jump when nobody can know. What comes after a jump is like a beginning."""

import numpy as np
from scipy.spatial import KDTree

from spaql.gp.transitions import Data, follows_of
from spaql.gp.units import spread_of
from spaql.ground.arrays import Array

HELD = 0.15  # of the steps in which a variable changes, at most, if it is held
FEW = 3  # values of a variable that may be a contact or a switch of the plant
IN_A_ROW = 0.5  # of the jumps, if that many come right after another: what is held does not
AGAIN = 3  # jumps at the same step of an episode that make a schedule
JUMPS = 8  # without a schedule: jumps that show whether the plant's state makes them
NEAR = 5  # neighbours of a step
OFTEN = 3.0  # times as often as elsewhere: if neighbours of jumps jump more often, the state makes them
MOSTLY = 0.5  # of the neighbours of one jump


def references_of(data: Data) -> Array:
    """(d,) which variables are held otherwise than by the plant, and jump now and then."""
    changed = data.nexts != data.states
    held: Array = changed.any(axis=0) & (changed.mean(axis=0) < HELD)
    for j in np.flatnonzero(held).tolist():
        few = len(np.unique(data.states[:, j])) <= max(FEW, changed[:, j].sum() // 2)
        held[j] = not _in_a_row(data, changed[:, j]) and (not few or _by_itself(data, changed[:, j]))
    return held


def jumped(data: Data) -> Array:
    """Steps in which a reference changed, and does not in others that are just like it: nobody knows when it will.

    Only by what comes after such a step can one learn what to do with another reference.
    """
    found: Array = (data.nexts != data.states)[:, references_of(data)].any(axis=1)
    at = np.flatnonzero(found)
    found[at] = _along(data, found, at) < MOSTLY * NEAR
    return found


def without_jumps(data: Data) -> Data:
    """The steps that show what the plant does: an error may jump with its reference, and what is paid then, too."""
    kept = ~jumped(data)
    return Data(*(part[kept] for part in data))


def _in_a_row(data: Data, jumps: Array) -> bool:
    """Whether a variable moves on as soon as it has moved, as the force of a contact does as long as it lasts."""
    again = jumps[1:] & jumps[:-1] & follows_of(data)[1:]
    return float(again.sum()) > IN_A_ROW * float(jumps.sum())


def _by_itself(data: Data, jumps: Array) -> bool:
    """Whether a variable of few values jumps by itself, and is not moved by the plant, as a contact is.

    It has a schedule; or steps like those in which it jumps do not make it jump more often than others do.
    """
    at, begins = np.flatnonzero(jumps), np.flatnonzero(~follows_of(data))
    times = at - begins[np.searchsorted(begins, at, side="right") - 1]
    if AGAIN * len(np.unique(times)) <= len(at):
        return True
    usual = NEAR * len(at) * float(jumps.mean())
    return len(at) >= JUMPS and float(_along(data, jumps, at).sum()) <= OFTEN * usual + 1.0


def _along(data: Data, jumps: Array, at: Array) -> Array:
    """Of these steps, the number of their neighbours that jump."""
    inputs = np.column_stack([data.states, data.actions])
    z = inputs / spread_of(inputs)
    if len(at) == 0 or len(z) <= NEAR:
        return np.zeros(len(at))
    near = KDTree(z).query(z[at], NEAR + 1)[1]
    found: Array = (jumps[near] & (near != at[:, None])).sum(axis=1)  # mostly, a step is its own nearest neighbour
    return found


def stretches_of(horizon: int, data: Data) -> float:
    """Stretches with one reference in an episode: one, and one more for every jump to expect."""
    return 1.0 + horizon * float(jumped(data).mean())


def stretch_of(horizon: int, data: Data) -> int:
    """Steps of a stretch: for so long the model knows what comes. Without a reference a whole episode."""
    return max(1, round(horizon / stretches_of(horizon, data)))
