"""Mountain car with a throttle instead of a pedal: fuel costs, the goal pays (Gymnasium's MountainCarContinuous-v0)."""

from typing import NamedTuple

from spaql.plants import mountain_car
from spaql.plants.mountain_car import arrived, drive


class Parameters(NamedTuple):
    force: float = 0.0015  # m/step2, of the engine at full throttle
    gravity: float = 0.0025  # m/step2
    max_speed: float = 0.07  # m/step
    goal: float = 0.45  # m: here or beyond it
    goal_speed: float = 0.0  # m/step: and at least so fast, the episode ends
    goal_reward: float = 100.0


RANGES = mountain_car.RANGES | {"goal_reward": (-1e6, 1e6)}


def judge(_position: float, _velocity: float, force: float, position: float, velocity: float, p: Parameters) -> tuple[float, bool]:
    there = arrived(position, velocity, p)
    return (p.goal_reward if there else 0.0) - 0.1 * (force * force), there


CAR = mountain_car.CAR._replace(move=drive, judge=judge)
