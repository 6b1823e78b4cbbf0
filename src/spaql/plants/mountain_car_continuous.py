"""Mountain car with a throttle instead of a pedal: fuel costs, the goal pays (Gymnasium's MountainCarContinuous-v0)."""

from typing import NamedTuple

from spaql.plants import mountain_car
from spaql.plants.model import Model


class Parameters(NamedTuple):
    force: float = 0.0015  # m/step2, of the engine at full throttle
    gravity: float = 0.0025  # m/step2
    max_speed: float = 0.07  # m/step
    goal: float = 0.45  # m: here or beyond it
    goal_speed: float = 0.0  # m/step: and at least so fast, the episode ends
    goal_reward: float = 100.0


RANGES = mountain_car.RANGES | {"goal_reward": (-1e6, 1e6)}


def equations(p: Parameters) -> Model:
    GOAL_REWARD = p.goal_reward
    car = mountain_car.valley(mountain_car.Parameters(*p[:-1]))
    arrive = car.judge

    def judge(before: float, speed: float, force: float, position: float, velocity: float) -> tuple[float, bool]:
        _, there = arrive(before, speed, force, position, velocity)
        return (GOAL_REWARD if there else 0.0) - 0.1 * (force * force), there

    return car._replace(judge=judge)
