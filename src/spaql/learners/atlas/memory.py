"""Everything that was seen: all transitions, in physical units."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.plants.problem import Continuous, Finite

TERMINATED, BEGAN, FOLLOWED, CURIOUS = 1, 2, 4, 8  # here the episode terminated; it began here; played by plan; out of curiosity
FAR = 1e100  # numbers beyond are taken for broken
MOST = 50_000  # transitions a plan looks at: beyond that, evenly chosen ones, so that planning time stays bounded


class Transitions(NamedTuple):
    """What a plan is made from."""

    states: Array  # (n, d)
    features: Array  # (n, p) of the actions
    rewards: Array
    nexts: Array  # (n, d)
    ended: Array  # bool: the episode terminated here
    starts: Array  # of those of `states` with which episodes began
    samples: int  # how many there are in all


@dataclass
class Memory:
    """Arrays that double when they are full; the first `n` rows count."""

    states: Array
    actions: Array  # (capacity, axes) physical
    rewards: Array
    nexts: Array
    flags: Array  # int32, sums of the numbers above
    n: int = 0

    def add(self, state: Array, action: Array, reward: float, after: Array, flags: int) -> None:
        if self.n == len(self.rewards):
            for name in ("states", "actions", "rewards", "nexts", "flags"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        i = self.n
        self.states[i], self.actions[i], self.rewards[i], self.nexts[i] = state, action, reward, after
        self.flags[i] = flags
        self.n += 1

    def transitions(self, space: Continuous | Finite, n: int) -> Transitions:
        """Of the first `n`, at most MOST, evenly over time, and as many beginnings of episodes as make a tenth of them."""
        chosen = np.arange(n)
        if n > MOST:
            starts = np.flatnonzero(self.flags[:n] & BEGAN)
            k = min(len(starts), MOST // 10)
            starts = starts[np.arange(k) * len(starts) // max(k, 1)]
            chosen = np.union1d(starts, np.arange(MOST - k) * n // (MOST - k))
        flags = self.flags[chosen]
        began = np.flatnonzero(flags & BEGAN)
        return Transitions(
            self.states[chosen], features_of(space, self.actions[chosen]), self.rewards[chosen], self.nexts[chosen],
            (flags & TERMINATED) != 0, began if len(began) else np.zeros(1, np.int64), n,
        )  # fmt: skip


def new_memory(d: int, axes: int, room: int = 1024) -> Memory:
    return Memory(np.zeros((room, d)), np.zeros((room, axes)), np.zeros(room), np.zeros((room, d)), np.zeros(room, np.int32))


def features_of(space: Continuous | Finite, actions: Array) -> Array:
    """(n, p): an indicator for each but the first of a finite set; u and u^2 per axis of a continuous one, u in [-1, 1]."""
    if isinstance(space, Finite):
        values = np.array(space.values, float)
        indicators: Array = (actions[:, :1] == values[None, 1:]).astype(float)
        return indicators
    low, high = np.array(space.low), np.array(space.high)
    u = 2.0 * (actions - low) / (high - low) - 1.0
    return np.concatenate([u, u * u], axis=1)


def levels_of(space: Continuous | Finite, levels: int) -> Array:
    """(actions, axes): the finite set, or evenly spaced levels on every axis."""
    if isinstance(space, Finite):
        return np.array(space.values, float)[:, None]
    axes = [np.linspace(low, high, levels) for low, high in zip(space.low, space.high, strict=True)]
    grid = np.meshgrid(*axes, indexing="ij")
    return np.column_stack([axis.ravel() for axis in grid])
