"""Recorded transitions, and what they show before any model is made of them."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array

REPEATED = 2  # different steps that ended at the very same greatest or least value, if the plant stops a variable there
VARIED = 0.5  # of the steps: different values of a variable that can be stopped; a switch or a reference has few
FEW = 2  # values of a variable that is no memory of another one, but a switch that happens to follow it


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
    found: Array = np.union1d(np.union1d(spread, ends), np.arange(n - recent, n))
    return found


def follows_of(data: Data) -> Array:
    """Whether the row before is the step before."""
    found = np.zeros(len(data.states), bool)
    found[1:] = ~data.ended[:-1] & (data.states[1:] == data.nexts[:-1]).all(axis=1)
    return found


def parts_of(data: Data, parts: int, rng: np.random.Generator) -> Array:
    """By step the number of its part: the episodes in a random order, cut into parts of as many steps each."""
    begins = np.flatnonzero(~follows_of(data))
    ends, found = np.r_[begins[1:], len(data.states)], np.zeros(len(data.states), np.int64)
    order = np.concatenate([np.arange(begins[k], ends[k]) for k in rng.permutation(len(begins))])
    found[order] = np.arange(len(order)) * parts // len(order)
    return found


def shifts_of(data: Data) -> Array:
    """(d,) what a variable is in the next step: the number of a variable, or d and that of an action; -1: of no other.

    So it is with what is remembered. A model need not learn it, and is exact there.
    """
    inputs = np.column_stack([data.states, data.actions])
    d = data.states.shape[1]
    found = np.full(d, -1)
    for j in range(d):
        same = [k for k in range(inputs.shape[1]) if k != j and np.array_equal(data.nexts[:, j], inputs[:, k])]
        if same and (same[-1] >= d or len(np.unique(data.nexts[:, j])) > FEW):
            found[j] = same[-1]
    return found


def stops_of(data: Data) -> Array:
    """(2, d) the ends of each variable's range at which the plant holds it; infinite where there is none.

    An end stop, an empty tank, a saturation: one number from different states, and it is the greatest or the least.
    (From the same state, with the same action, every plant goes to the same number.) A smooth function that has to
    explain a stop is wrong everywhere, also where the plant is linear.
    """
    d, inputs = data.states.shape[1], np.column_stack([data.states, data.actions])
    found = np.array([np.full(d, -np.inf), np.full(d, np.inf)])
    for j in range(d):
        values = data.nexts[:, j]
        if len(np.unique(values)) < VARIED * len(values):
            continue
        for side, end in enumerate((values.min(), values.max())):
            if len(np.unique(inputs[values == end], axis=0)) >= REPEATED:
                found[side, j] = end
    return found


def brakes_of(data: Data, stops: Array) -> Array:
    """(2, d) of a variable that has one and the same value whenever another one is at a stop: 1 + the other, the value.

    So a cart stands at its buffer, whatever its speed was. 0 of all others.
    """
    found, d = np.zeros((2, data.states.shape[1])), data.states.shape[1]
    at = stopped(data, stops, found)
    for j in np.flatnonzero(np.isfinite(stops).any(axis=0)).tolist():
        for k in range(d):
            before, after = data.states[at[:, j], k], data.nexts[at[:, j], k]
            if k != j and np.ptp(after) == 0.0 and (before != after).sum() >= REPEATED:
                found[:, k] = 1 + j, after[0]
    return found


def stopped(data: Data, stops: Array, brakes: Array) -> Array:
    """(n, d) whether a step has ended at a stop of a variable: how far it would have gone is not known."""
    told: Array = (data.nexts <= stops[0]) | (data.nexts >= stops[1])
    for k in np.flatnonzero(brakes[0]).tolist():
        told[:, k] |= told[:, int(brakes[0, k]) - 1]
    return told
