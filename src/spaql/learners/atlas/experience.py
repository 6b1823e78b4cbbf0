"""All transitions seen so far, in physical units. Equation numbers: docs/atlas-table.md."""

from dataclasses import dataclass
from enum import IntFlag, auto
from typing import NamedTuple

import numpy as np

from spaql.gp.transitions import Data
from spaql.ground.arrays import Array
from spaql.plants.problem import Continuous, Finite


class Flag(IntFlag):
    """What is known of a transition; files hold sums of these."""

    TERMINATED = auto()  # the plant terminated the episode here
    BEGAN = auto()  # the episode began here
    FOLLOWED = auto()  # the action follows the plan
    CURIOUS = auto()  # the action goes where little data is
    AHEAD = auto()  # the action comes from look-ahead in a model
    LED = auto()  # the action is that of laws


TERMINATED, BEGAN, FOLLOWED, CURIOUS, AHEAD, LED = Flag

# Of more transitions a plan is made from evenly chosen ones, so that planning time stays bounded.
PLAN_TRANSITIONS = 50_000


class Transitions(NamedTuple):
    """The data a plan is made from."""

    states: Array  # (n, d)
    features: Array  # (n, p) of the actions
    rewards: Array
    nexts: Array  # (n, d)
    ended: Array  # bool: the episode terminated here
    starts: Array  # indices of the `states` with which episodes began
    samples: int  # transitions in memory, of which these were chosen


@dataclass
class Experience:
    """Arrays that double when they are full; the first `n` rows count."""

    states: Array
    actions: Array  # (capacity, axes) physical
    rewards: Array
    nexts: Array
    flags: Array  # int32, sums of these flags
    n: int = 0

    def add(self, state: Array, action: Array, reward: float, after: Array, flags: int) -> None:
        if self.n == len(self.rewards):
            for name in ("states", "actions", "rewards", "nexts", "flags"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        i = self.n
        self.states[i], self.actions[i], self.nexts[i] = state, action, after
        self.rewards[i], self.flags[i] = reward, flags
        self.n += 1

    def data(self, n: int) -> Data:
        """The first `n` transitions."""
        return Data(
            self.states[:n], self.actions[:n], self.rewards[:n], self.nexts[:n],
            (self.flags[:n] & TERMINATED) != 0
        )

    def transitions(self, space: Continuous | Finite, n: int) -> Transitions:
        """At most PLAN_TRANSITIONS, evenly over time; up to a tenth are first steps of episodes."""
        chosen = np.arange(n)
        if n > PLAN_TRANSITIONS:
            starts = evenly(np.flatnonzero(self.flags[:n] & BEGAN), PLAN_TRANSITIONS // 10)
            chosen = np.union1d(starts, evenly(chosen, PLAN_TRANSITIONS - len(starts)))
        flags = self.flags[chosen]
        began = np.flatnonzero(flags & BEGAN)
        return Transitions(
            self.states[chosen], features_of(space, self.actions[chosen]), self.rewards[chosen],
            self.nexts[chosen],
            (flags & TERMINATED) != 0, began if len(began) else np.zeros(1, np.int64), n,
        )  # fmt: skip


def evenly(rows: Array, most: int) -> Array:
    """At most `most` of the rows, evenly over time."""
    return rows if len(rows) <= most else rows[np.arange(most) * len(rows) // most]


def new_memory(d: int, axes: int, room: int = 1024) -> Experience:
    states, nexts = np.zeros((2, room, d))
    flags = np.zeros(room, np.int32)
    return Experience(states, np.zeros((room, axes)), np.zeros(room), nexts, flags)


def features_of(space: Continuous | Finite, actions: Array) -> Array:
    """(11) Features (n, p) of actions: indicators but of the first value; or u, u^2 per axis."""
    if isinstance(space, Finite):
        values = np.array(space.values, float)
        indicators: Array = (actions[:, :1] == values[None, 1:]).astype(float)
        return indicators
    low, high = space.bounds
    u = 2.0 * (actions - low) / (high - low) - 1.0  # in [-1, 1]
    return np.concatenate([u, u * u], axis=1)
