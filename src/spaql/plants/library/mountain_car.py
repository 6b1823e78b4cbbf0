"""Mountain car: an engine too weak for the hill must gain momentum on the hill behind.

The equations are those of Gymnasium's MountainCar-v0 (Moore 1990), and of MountainCarContinuous-v0, which has a
throttle instead of a pedal: fuel costs, the goal pays.
"""

import math
from typing import Any, NamedTuple

from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.equations import Entry, Equations, Interface, Known, clipped

MIN_POSITION = -1.2  # m: a wall that stops the car
MAX_POSITION = 0.6  # m: the end of the road


class Parameters(NamedTuple):
    force: float = 0.001  # m/step2, of the engine
    gravity: float = 0.0025  # m/step2
    max_speed: float = 0.07  # m/step
    goal: float = 0.5  # m: the episode ends here or beyond
    goal_speed: float = 0.0  # m/step: and only at this speed or faster


class ThrottleParameters(NamedTuple):
    force: float = 0.0015  # m/step2, of the engine at full throttle
    gravity: float = 0.0025  # m/step2
    max_speed: float = 0.07  # m/step
    goal: float = 0.45  # m: the episode ends here or beyond
    goal_speed: float = 0.0  # m/step: the episode ends only at this speed or faster
    goal_reward: float = 100.0


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


def outcome(
    _position: float, _velocity: float, _choice: float, position: float, velocity: float, p: Parameters
) -> tuple[float, bool]:
    return -1.0, arrived(position, velocity, p)


def outcome_with_throttle(
    _position: float, _velocity: float, force: float, position: float, velocity: float, p: ThrottleParameters
) -> tuple[float, bool]:
    there = arrived(position, velocity, p)
    return (p.goal_reward if there else 0.0) - 0.1 * (force * force), there


CAR = Equations(("position", "velocity"), at_rest, pedal, limit, outcome)
THROTTLE_CAR = CAR._replace(move=drive, outcome=outcome_with_throttle)


def road(p: AnyParameters) -> tuple[Axis, Axis]:
    position = Axis("position", MIN_POSITION, MAX_POSITION, unit="m")
    return position, Axis("velocity", -p.max_speed, p.max_speed, unit="m/step")


def interface(p: Parameters) -> Interface:
    """The reference is the car at rest at the goal."""
    return Interface(road(p), Finite((0, 1, 2), names=("pedal",)), (p.goal, 0.0))


def with_throttle(p: ThrottleParameters) -> Interface:
    return Interface(road(p), Continuous((-1.0,), (1.0,), ("force",)), (p.goal, 0.0))


# What a rollout of this plan earns can be earned, and the optimum is little more. The best published agent of
# MountainCar-v0 is behind: DQN of the RL zoo, -100.8.
BY_PLANNING = "dynamic programming with the true equations, `python benchmarks/mountain_car_optimum.py`"

PROBLEMS = {
    "mountain-car": Entry(
        title="MountainCar",
        summary="drive an underpowered car up a hill, three pedals; 200 steps",
        env_id="spaql/MountainCar-v0",
        gym_id="MountainCar-v0",
        equations=CAR,
        parameters=Parameters(),
        ranges=RANGES,
        interface=interface,
        horizon=200,
        ends="success",
        # the best of 0.4, 4, 10, 20, 40, 80, 160 on seeds 0 to 3 after 300 iterations; of equals the first
        study_xi={"AQL": 0.4, "SPAQL": 10.0, "SPAQL-TS": 20.0},
        samples=10_000,
        best_known=Known(-97.8, BY_PLANNING),
    ),
    "mountain-car-continuous": Entry(
        title="MountainCar, continuous",
        summary="the same with a force in [-1, 1], +100 at the goal; 999 steps",
        env_id="spaql/MountainCarContinuous-v0",
        gym_id="MountainCarContinuous-v0",
        equations=THROTTLE_CAR,
        parameters=ThrottleParameters(),
        ranges=RANGES | {"goal_reward": (-1e6, 1e6)},
        interface=with_throttle,
        horizon=999,
        ends="success",
        # the best of 0.4, 4, 10, 20, 40, 80, 160 on seeds 0 to 3 after 300 iterations; of equals the first
        study_xi={"AQL": 0.4, "SPAQL": 80.0, "SPAQL-TS": 4.0},
        samples=5_000,
        # the best published return is lower: 99.1 by a formula (dso-org/deep-symbolic-optimization, `policy_eval.py`)
        best_known=Known(99.5, BY_PLANNING),
    ),
}
