"""Angles: those that are observed as sine and cosine, and those that jump back after a turn.

Sine and cosine change in a way that bends with the angle; the angle itself changes by its speed, in
a straight line. So a model learns how the angle changes, from far fewer steps, and no state of the
model leaves the circle. An angle that is observed as such jumps by a turn at the end of its range;
so it does in the model.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from spaql.gp.transitions import Data, shifts_of
from spaql.ground.arrays import Array

RADIUS_SPREAD = 0.05  # of the spread of its variables: so much may the radius of a circle vary
RADIUS_MEMORY = 0.5  # correlation of the radius from step to step: beyond it is a state, no sensor noise
MIN_VALUES = 10  # of a variable: two switches, of which one is always on, are no angle
TURNS = math.tau, 360.0  # if none is declared
CHANCE = 0.01  # of Rayleigh's test: with less, angles are not from a whole turn
ALIKE = 0.9  # mean resultant length of angles that agree, however few they are


class Circle(NamedTuple):
    """Two variables. Which of them is called cosine, and where the angle is zero, is no matter."""

    cosine: int
    sine: int
    radius: float


def circles_of(data: Data) -> tuple[Circle, ...]:
    """A variable belongs to one circle at most.

    On a circle the radius varies much less than its variables do (of 350 K and a few per cent of an
    acid it does not), and if it varies, then without memory (the radius of an oscillator is its
    energy).
    """
    candidates, spread = [], data.states.std(axis=0)
    own = np.flatnonzero(shifts_of(data) < 0)  # an angle that is remembered does not turn by itself
    varied = [j for j in own if len(np.unique(data.states[:, j])) >= MIN_VALUES]
    for i, j in itertools.combinations(varied, 2):
        before, after = (np.hypot(part[:, i], part[:, j]) for part in (data.states, data.nexts))
        deviation = float(before.std() / min(spread[i], spread[j]))
        exact = deviation < RADIUS_SPREAD**2
        if deviation < RADIUS_SPREAD and (exact or np.corrcoef(before, after)[0, 1] < RADIUS_MEMORY):
            candidates.append((deviation, Circle(int(i), int(j), float(before.mean()))))
    chosen: list[Circle] = []
    for _, circle in sorted(candidates):
        if not any({circle.cosine, circle.sine} & {other.cosine, other.sine} for other in chosen):
            chosen.append(circle)
    return tuple(chosen)


def angle_of(circle: Circle, states: Array) -> Array:
    angle: Array = np.arctan2(states[:, circle.sine], states[:, circle.cosine])
    return angle


def turned(circle: Circle, data: Data) -> Array:
    """By how much the angle has changed, at most by half a turn."""
    return shortest(angle_of(circle, data.nexts) - angle_of(circle, data.states), math.tau)


def turns_of(states: Array, nexts: Array, low: Array, high: Array, period: Array) -> Array:
    """(2, d) where a turn begins, and how long it is; 0 of a variable that does not jump by one.

    `low`, `high`: the declared ends of the variables, which are the ends of a turn, or else half
    turns are. `period`: a turn that was declared, from `low` on; 0 of other variables, of which the
    data must show it: more than one jump, and no change that is long once the turn is taken off.
    """
    turns = np.zeros((2, states.shape[1]))
    for j in range(turns.shape[1]):
        if period[j] > 0.0:
            turns[:, j] = low[j], period[j]
            continue
        change, values = nexts[:, j] - states[:, j], np.append(states[:, j], nexts[:, j])
        far = np.abs(change) > np.ptp(values) / 2
        if not 1 < far.sum() <= len(far) / 4:
            continue
        ranges = [(begin, turn) for turn in TURNS for begin in (-turn / 2, 0.0)]
        declared = [(low[j], high[j] - low[j])] if np.isfinite(high[j] - low[j]) else []
        for begin, turn in [*declared, *ranges]:
            inside = np.abs(values - begin - turn / 2).max() <= (1 / 2 + 1e-6) * turn
            around = np.abs(change[far]).min() > turn / 2
            if inside and around and np.abs(shortest(change, turn)).max() < turn / 4:
                turns[:, j] = begin, turn
                break
    return turns


def shortest(change: Array, turn: float | Array) -> Array:
    """Changes of an angle, at most half a turn."""
    least: Array = np.mod(change + turn / 2, turn) - turn / 2
    return least


def anywhere(angles: Array) -> bool:
    """Whether such angles may have been drawn from a whole turn: not all are alike, and Rayleigh's
    test lets it pass.

    The chance of so much agreement among angles from anywhere is exp(-n r^2), r the length of the
    mean direction.
    """
    r = float(np.hypot(np.cos(angles).mean(), np.sin(angles).mean()))
    return r < ALIKE and math.exp(-len(angles) * r * r) > CHANCE
