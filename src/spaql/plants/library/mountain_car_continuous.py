"""Mountain car with a throttle instead of a pedal: fuel costs, the goal pays (Gymnasium's MountainCarContinuous-v0)."""

from typing import NamedTuple

from spaql.plants.axes import Continuous
from spaql.plants.equations import Entry, Interface, Known
from spaql.plants.library import mountain_car
from spaql.plants.library.mountain_car import BY_PLANNING, arrived, drive, road


class Parameters(NamedTuple):
    force: float = 0.0015  # m/step2, of the engine at full throttle
    gravity: float = 0.0025  # m/step2
    max_speed: float = 0.07  # m/step
    goal: float = 0.45  # m: the episode ends here or beyond
    goal_speed: float = 0.0  # m/step: the episode ends only at this speed or faster
    goal_reward: float = 100.0


def outcome(
    _position: float, _velocity: float, force: float, position: float, velocity: float, p: Parameters
) -> tuple[float, bool]:
    there = arrived(position, velocity, p)
    return (p.goal_reward if there else 0.0) - 0.1 * (force * force), there


CAR = mountain_car.CAR._replace(move=drive, outcome=outcome)


def interface(p: Parameters) -> Interface:
    """The reference is the car at rest at the goal."""
    return Interface(road(p), Continuous((-1.0,), (1.0,), ("force",)), (p.goal, 0.0))


PROBLEMS = {
    "mountain-car-continuous": Entry(
        title="MountainCar, continuous",
        summary="the same with a force in [-1, 1], +100 at the goal; 999 steps",
        env_id="spaql/MountainCarContinuous-v0",
        gym_id="MountainCarContinuous-v0",
        equations=CAR,
        parameters=Parameters(),
        ranges=mountain_car.RANGES | {"goal_reward": (-1e6, 1e6)},
        interface=interface,
        horizon=999,
        ends="success",
        # the best of 0.4, 4, 10, 20, 40, 80, 160 on seeds 0 to 3 after 300 iterations; of equals the first
        study_xi={"AQL": 0.4, "SPAQL": 80.0, "SPAQL-TS": 4.0},
        samples=5_000,
        # the best published return is lower: 99.1 by a formula (dso-org/deep-symbolic-optimization, `policy_eval.py`)
        best_known=Known(99.5, BY_PLANNING),
    ),
}
