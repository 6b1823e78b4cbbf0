"""Mountain car: an engine too weak for the hill must gain momentum on the other one (Gymnasium's MountainCar-v0, Moore 1990)."""

import math
from typing import Any, NamedTuple

from spaql.plants.model import Model, clipped

MIN_POSITION, MAX_POSITION = -1.2, 0.6  # m: a wall on the left that stops the car, the end of the road on the right


class Parameters(NamedTuple):
    force: float = 0.001  # m/step2, of the engine
    gravity: float = 0.0025  # m/step2
    max_speed: float = 0.07  # m/step
    goal: float = 0.5  # m: here or beyond it
    goal_speed: float = 0.0  # m/step: and at least so fast, the episode ends


RANGES = {"gravity": (0.0, 1e6), "goal": (MIN_POSITION, MAX_POSITION), "goal_speed": (0.0, 1e6)}
AnyParameters = Any  # of the car with pedals or of the one with a throttle


def at_rest(u: float) -> tuple[float, float]:
    """Between -0.6 and -0.4 m."""
    return 0.2 * u - 0.6, 0.0


def drive(position: float, velocity: float, force: float, p: AnyParameters) -> tuple[float, float]:
    """`force` from -1, full power backwards, to 1. The hills are sin(3 position), so gravity pulls with their slope."""
    velocity = velocity + (force * p.force - p.gravity * math.cos(3.0 * position))
    velocity = clipped(velocity, -p.max_speed, p.max_speed)
    return limit(position + velocity, velocity, p)


def limit(position: float, velocity: float, p: AnyParameters) -> tuple[float, float]:
    velocity = clipped(velocity, -p.max_speed, p.max_speed)
    position = clipped(position, MIN_POSITION, MAX_POSITION)
    velocity = 0.0 if (position == MIN_POSITION) & (velocity < 0.0) else velocity
    return position, velocity


def arrived(position: float, velocity: float, p: AnyParameters) -> bool:
    there: bool = (position >= p.goal) & (velocity >= p.goal_speed)
    return there


def pedal(position: float, velocity: float, choice: float, p: Parameters) -> tuple[float, float]:
    """choice: 0 backwards, 1 nothing, 2 forwards."""
    return drive(position, velocity, choice - 1.0, p)


def judge(_position: float, _velocity: float, _choice: float, position: float, velocity: float, p: Parameters) -> tuple[float, bool]:
    return -1.0, arrived(position, velocity, p)


CAR = Model(("position", "velocity"), at_rest, pedal, limit, judge)
