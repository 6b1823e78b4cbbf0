"""Recorded transitions: their units, what is remembered, references that jump."""

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING


class Data(NamedTuple):
    """Transitions in physical units."""

    states: Array  # (n, d)
    actions: Array  # (n, axes)
    rewards: Array  # (n,)
    nexts: Array  # (n, d)
    ended: Array  # (n,) bool: the plant ended the episode here


def thinned(data: Data, most: int) -> Data:
    """All transitions, or so many, spread over time, with the newest and with ends of episodes."""
    chosen = spread_over(data, most)
    return Data(*(column[chosen] for column in data))


def spread_over(data: Data, most: int) -> Array:
    """The rows of `thinned`."""
    n = len(data.states)
    if n <= most:
        return np.arange(n)
    ends = np.flatnonzero(data.ended)[-most // 10 :]
    recent = most // 3
    spread = np.linspace(0, n - recent - 1, most - recent - len(ends)).astype(int)
    rows: Array = np.union1d(np.union1d(spread, ends), np.arange(n - recent, n))
    return rows


def follows_of(data: Data) -> Array:
    """Whether the row before is the step before."""
    follows = np.zeros(len(data.states), bool)
    follows[1:] = ~data.ended[:-1] & (data.states[1:] == data.nexts[:-1]).all(axis=1)
    return follows


def parts_of(data: Data, parts: int, rng: np.random.Generator) -> Array:
    """By step its part: episodes in a random order, cut into parts of as many steps each."""
    begins = np.flatnonzero(~follows_of(data))
    ends, part = np.r_[begins[1:], len(data.states)], np.zeros(len(data.states), np.int64)
    order = np.concatenate([np.arange(begins[k], ends[k]) for k in rng.permutation(len(begins))])
    part[order] = np.arange(len(order)) * parts // len(order)
    return part


def shifts_of(data: Data) -> Array:
    """(d,) what a variable is in the next step: the number of a variable, or d and that of an
    action; -1: of no other.

    So it is with what is remembered. A model need not learn it, and is exact there. A variable of
    two values that follows another one may be a switch.
    """
    inputs = np.column_stack([data.states, data.actions])
    d = data.states.shape[1]
    shifts = np.full(d, -1)
    for j, after in enumerate(data.nexts.T):
        same = [k for k in range(inputs.shape[1]) if k != j and np.array_equal(after, inputs[:, k])]
        if same and (same[-1] >= d or len(np.unique(after)) > 2):
            shifts[j] = same[-1]
    return shifts


# -- units: what goes into a model and what comes out of it, in spreads of the data ----------------


class DataUnits(NamedTuple):
    """Of observations and actions."""

    centre: Array  # (d,)
    scale: Array
    middle: Array  # (axes,) of the actions
    half: Array


class Values(NamedTuple):
    """What one process is to explain: inputs and values in units, and the units of the values."""

    x: Array
    y: Array
    mean: float
    spread: float


def units_of(data: Data, low: Array, high: Array) -> DataUnits:
    """`low`, `high`: ends of the actions."""
    return DataUnits(data.states.mean(axis=0), spread_of(data.states), (low + high) / 2, (high - low) / 2)


def inputs_of(units: DataUnits, states: Array, actions: Array) -> Array:
    """States and actions in units."""
    return np.column_stack([(states - units.centre) / units.scale, (actions - units.middle) / units.half])


def box_of(units: DataUnits, data: Data, wider: float) -> tuple[Array, Array]:
    """Lowest and highest states in units, each moved outwards by a part of their distance."""
    z = np.concatenate([(column - units.centre) / units.scale for column in (data.states, data.nexts)])
    low, high = z.min(axis=0), z.max(axis=0)
    return low - wider * (high - low), high + wider * (high - low)


def values_of(x: Array, values: Array) -> Values:
    mean, spread = float(values.mean()), float(spread_of(values[:, None])[0])
    return Values(x, (values - mean) / spread, mean, spread)


def spread_of(values: Array) -> Array:
    """By column; 1 where nothing varies."""
    deviation = values.std(axis=0)
    spread: Array = np.where(deviation > 1e-12, deviation, 1.0)
    return spread


def still_of(z: Array) -> Array:
    """(directions, d) in which states never vary: a constant, an error beside its reference."""
    middle = z - z.mean(axis=0)
    spread, directions = np.linalg.eigh(middle.T @ middle / len(z))
    still: Array = directions.T[spread < ROUNDING]
    return still


# References: variables that are held, and jump when nobody can know. What comes after a jump is
# like a beginning

HELD_SHARE = 0.15  # of the steps in which a variable changes, at most, if it is held
CONTACT_VALUES = 3  # values of a variable that may be a contact or a switch of the plant
MIN_JUMPS = 3  # at the same step of every episode, that make a schedule
NEIGHBOURS = 5  # of a step: most of them jump, if the state makes it jump


def references_of(data: Data) -> Array:
    """(d,) which variables are held otherwise than by the plant, and jump now and then."""
    changed = data.nexts != data.states
    held: Array = changed.any(axis=0) & (changed.mean(axis=0) < HELD_SHARE)
    for j in np.flatnonzero(held).tolist():
        few = len(np.unique(data.states[:, j])) <= max(CONTACT_VALUES, changed[:, j].sum() // 2)
        held[j] = not _in_a_row(data, changed[:, j]) and (not few or _by_itself(data, changed[:, j]))
    return held


def jumped(data: Data) -> Array:
    """Steps in which a reference changed, and does not in others that are just like it: nobody
    knows when it will.

    Only by what comes after such a step can one learn what to do with another reference.
    """
    jumps: Array = (data.nexts != data.states)[:, references_of(data)].any(axis=1)
    at = np.flatnonzero(jumps)
    jumps[at] = _share_of_neighbours(data, jumps, at) < 0.5
    return jumps


def without_jumps(data: Data) -> Data:
    """The steps that show what the plant does: errors and rewards may jump with a reference."""
    kept = ~jumped(data)
    return Data(*(part[kept] for part in data))


def without_begins(data: Data, shifts: Array) -> Data:
    """The steps whose memory is of their own episode; before its first steps nothing was seen or applied.

    What is remembered there is made up, and contradicts what the plant does: with no past angle but
    the first one, it would be at rest.
    """
    d = len(shifts)
    steps = np.where(shifts >= 0, 1, 0)
    for _ in range(d):  # a memory of a memory
        steps = np.where((shifts >= 0) & (shifts < d), 1 + steps[np.clip(shifts, 0, d - 1)], steps)
    follows, kept = follows_of(data), np.ones(len(data.states), bool)
    for k in range(int(steps.max(initial=0))):
        kept[k:] &= follows[: len(follows) - k]
        kept[:k] = False
    return Data(*(part[kept] for part in data)) if kept.any() else data


def _in_a_row(data: Data, jumps: Array) -> bool:
    """Whether a variable mostly moves on once it has moved, as the force of a contact does."""
    again = jumps[1:] & jumps[:-1] & follows_of(data)[1:]
    return bool(again.sum() > 0.5 * jumps.sum())


def _by_itself(data: Data, jumps: Array) -> bool:
    """Whether a variable of few values jumps by itself, and is not moved by the plant, as a contact
    is.

    It has a schedule; or steps like those in which it jumps do not make it jump often.
    """
    at, begins = np.flatnonzero(jumps), np.flatnonzero(~follows_of(data))
    times = at - begins[np.searchsorted(begins, at, side="right") - 1]
    if MIN_JUMPS * len(np.unique(times)) <= len(at):
        return True
    return len(at) > MIN_JUMPS and float(_share_of_neighbours(data, jumps, at).mean()) <= HELD_SHARE


def _share_of_neighbours(data: Data, jumps: Array, at: Array) -> Array:
    """Of these steps, the share of their neighbours that jump."""
    inputs = np.column_stack([data.states, data.actions])
    z = inputs / spread_of(inputs)
    if len(at) == 0 or len(z) <= NEIGHBOURS:
        return np.zeros(len(at))
    near = KDTree(z).query(z[at], NEIGHBOURS + 1)[1]
    others = near != at[:, None]  # mostly, a step is its own nearest neighbour
    share: Array = (jumps[near] & others).sum(axis=1) / NEIGHBOURS
    return share


def stretches_of(horizon: int, data: Data) -> float:
    """Stretches with one reference in an episode: one, and one more for every jump to expect."""
    return 1.0 + horizon * float(jumped(data).mean())


def stretch_of(horizon: int, data: Data) -> int:
    """Steps of a stretch, in which the model knows what comes; without a reference an episode."""
    return max(1, round(horizon / stretches_of(horizon, data)))
