"""Angles: those that are observed as sine and cosine, and those that jump back after a turn.

Sine and cosine change in a way that bends with the angle; the angle itself changes by its speed, in a straight line. So
a model learns how the angle changes, from far fewer steps, and no state of the model leaves the circle. An angle that
is observed as such jumps by a turn at the end of its range; so it does in the model.
"""

import itertools
from typing import NamedTuple

import numpy as np

from spaql.gp.transitions import Data, shifts_of
from spaql.ground.arrays import Array

ROUND, LESS = 0.03, 0.3  # spread of the radius: as a part of it, and of the spread of the variables
VALUES = 10  # of a variable, at least: two switches, of which one is always on, are no angle
EXACT = 1e-3  # the same as a part of the radius, without noise of the sensors
SPREAD, ANYWHERE = 0.9, 4.6  # of the mean direction: its length, and n times the square, up to which angles are any
JUMPS, MORE = 2, 1.5  # by a turn, at least; and how much faster than usual a jump may be, the turn apart
TURNS = (-np.pi, 2 * np.pi), (0.0, 2 * np.pi), (-180.0, 360.0), (0.0, 360.0)  # begin and length
LASTING = 0.5  # correlation of the radius from step to step from which on it is no noise of sensors, but a state


class Circle(NamedTuple):
    """Two variables. Which of them is called cosine, and where the angle is zero, is of no importance."""

    cosine: int
    sine: int
    radius: float


def circles_of(data: Data) -> tuple[Circle, ...]:
    """A variable belongs to one circle at most.

    On a circle the radius varies much less than its variables do (of 350 K and a few per cent of an acid it does not),
    and if it varies, then without memory (the radius of an oscillator is its energy).
    """
    found, spread = [], data.states.std(axis=0)
    own = np.flatnonzero((spread > 0.0) & (shifts_of(data) < 0))  # an angle that is remembered does not turn by itself
    varied = [j for j in own if len(np.unique(data.states[:, j])) >= VALUES]
    for i, j in itertools.combinations(varied, 2):
        before, after = (np.hypot(part[:, i], part[:, j]) for part in (data.states, data.nexts))
        deviation, mean = float(before.std()), float(before.mean())
        narrow = deviation < min(ROUND * mean, LESS * spread[i], LESS * spread[j])
        if narrow and (deviation < EXACT * mean or np.corrcoef(before, after)[0, 1] < LASTING):
            found.append((deviation / mean, Circle(int(i), int(j), mean)))
    chosen: list[Circle] = []
    for _, circle in sorted(found):
        if not any({circle.cosine, circle.sine} & {other.cosine, other.sine} for other in chosen):
            chosen.append(circle)
    return tuple(chosen)


def angle_of(circle: Circle, states: Array) -> Array:
    found: Array = np.arctan2(states[:, circle.sine], states[:, circle.cosine])
    return found


def turned(circle: Circle, data: Data) -> Array:
    """By how much the angle has changed, at most by half a turn."""
    return shortest(angle_of(circle, data.nexts) - angle_of(circle, data.states), 2.0 * np.pi)


def turns_of(states: Array, nexts: Array, low: Array, high: Array, period: Array) -> Array:
    """(2, d) where a turn begins, and how long it is; 0 of a variable that does not jump by one.

    `low`, `high`: the declared ends of the variables, which are the ends of a turn, or else half turns are. `period`: a
    turn that was declared, from `low` on; 0 of other variables, of which the data must show it.
    """
    found = np.zeros((2, states.shape[1]))
    for j in range(found.shape[1]):
        if period[j] > 0.0:
            found[:, j] = low[j], period[j]
            continue
        change, values = nexts[:, j] - states[:, j], np.append(states[:, j], nexts[:, j])
        far = np.abs(change) > np.ptp(values) / 2
        if not JUMPS <= far.sum() <= len(far) / 4:
            continue
        usual = np.abs(change[~far]).max()
        for begin, turn in ((low[j], high[j] - low[j]), *TURNS):
            inside = (
                np.isfinite(turn) and values.min() >= begin - 1e-6 * turn and values.max() <= begin + (1 + 1e-6) * turn
            )
            if inside and np.abs(change[far] - np.sign(change[far]) * turn).max() <= MORE * usual < turn / 2:
                found[:, j] = begin, turn
                break
    return found


def shortest(change: Array, turn: float | Array) -> Array:
    """Changes of an angle, at most half a turn."""
    found: Array = np.mod(change + turn / 2, turn) - turn / 2
    return found


def anywhere(angles: Array) -> bool:
    """Whether such angles may have been drawn from a whole turn: not all are alike, and Rayleigh's test lets it pass.

    The chance of so much agreement among angles from anywhere is exp(-n r^2), r the length of the mean direction.
    """
    r = float(np.hypot(np.cos(angles).mean(), np.sin(angles).mean()))
    return r < SPREAD and len(angles) * r * r < ANYWHERE
