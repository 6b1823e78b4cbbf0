"""Recorded transitions, and what they show before any model is made of them."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array

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
