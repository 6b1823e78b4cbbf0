"""Pendulum: swing a pole up with a torque too weak to lift it at once (Gymnasium's Pendulum-v1)."""

import math
from dataclasses import replace
from typing import NamedTuple

from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.equations import TWO_PI, Entry, Equations, Interface, Known, clipped, wrapped


class Parameters(NamedTuple):
    g: float = 10.0  # m/s2
    m: float = 1.0  # kg
    l: float = 1.0  # m  # noqa: E741
    dt: float = 0.05  # s
    max_speed: float = 8.0  # rad/s
    max_torque: float = 2.0  # N m


def hang(u1: float, u2: float) -> tuple[float, float]:
    """Any angle, angular velocity within 1 rad/s."""
    return math.pi * (2.0 * u1 - 1.0), 2.0 * u2 - 1.0


def swing(theta: float, omega: float, torque: float, p: Parameters) -> tuple[float, float]:
    """theta = 0 is upright; the velocity is clipped, then moves the angle (in Pendulum-v0 it was the other way)."""
    omega = omega + (3.0 * p.g / (2.0 * p.l) * math.sin(theta) + 3.0 / (p.m * p.l**2) * torque) * p.dt
    omega = min(max(omega, -p.max_speed), p.max_speed)
    theta = theta + omega * p.dt
    theta = theta - TWO_PI if theta >= math.pi else theta
    theta = theta + TWO_PI if theta < -math.pi else theta
    return theta, omega


def limit(theta: float, omega: float, p: Parameters) -> tuple[float, float]:
    return wrapped(theta), clipped(omega, -p.max_speed, p.max_speed)


def cost(theta: float, omega: float, torque: float) -> float:
    return theta * theta + 0.1 * (omega * omega) + 0.001 * (torque * torque)


def most_cost(p: Parameters) -> float:
    """The cost c of hanging down at full speed and torque."""
    return math.pi**2 + 0.1 * p.max_speed**2 + 0.001 * p.max_torque**2


def outcome(
    theta: float, omega: float, torque: float, _theta: float, _omega: float, p: Parameters
) -> tuple[float, bool]:
    return -cost(theta, omega, torque), False


def outcome_scaled(
    theta: float, omega: float, torque: float, _theta: float, _omega: float, p: Parameters
) -> tuple[float, bool]:
    """The reward mapped to [0, 1], r' = (r + c) / c."""
    most = most_cost(p)
    return (most - cost(theta, omega, torque)) / most, False


def look(theta: float, omega: float) -> tuple[float, float, float]:
    return math.cos(theta), math.sin(theta), omega


def state_of(cos: float, sin: float, omega: float) -> tuple[float, float]:
    return math.atan2(sin, cos), omega


PENDULUM = Equations(("angle", "velocity"), hang, swing, limit, outcome, look, state_of=state_of)
SCALED = PENDULUM._replace(outcome=outcome_scaled)


def with_any_torque(p: Parameters) -> Interface:
    """The reference is the pendulum upright and at rest."""
    velocity = Axis("velocity", -p.max_speed, p.max_speed, unit="rad/s")
    torque = Continuous((-p.max_torque,), (p.max_torque,), ("torque",), ("N m",))
    return Interface((Axis("cos", -1.0, 1.0), Axis("sin", -1.0, 1.0), velocity), torque, (1.0, 0.0, 0.0))


def with_five_torques(p: Parameters) -> Interface:
    top = p.max_torque
    torques = Finite((-top, -0.5 * top, 0.0, 0.5 * top, top), box=True, names=("torque",), units=("N m",))
    return with_any_torque(p)._replace(actions=torques)


# Over all start states. The best published agent of Pendulum-v1 is behind: TQC of the RL zoo, -151.3.
BEST = -137.7
BEST_OF_FIVE = -137.8
BY_PLANNING = "dynamic programming with the true equations, `python benchmarks/pendulum_optimum.py`"

_pendulum = Entry(
    title="Pendulum",
    summary="swing a pendulum up, torque in [-2, 2]; 200 steps",
    env_id="spaql/Pendulum-v0",
    gym_id="Pendulum-v1",
    equations=PENDULUM,
    parameters=Parameters(),
    ranges={"g": (0.0, 1e6)},
    fixed=("max_torque",),
    interface=with_any_torque,
    horizon=200,
    xi={"AQL": 20.0, "SPAQL": 4.0, "SPAQL-TS": 0.4},  # the paper's
    samples=5_000,
    best_known=Known(BEST, BY_PLANNING),
    drawing="pendulum",
)
PROBLEMS = {
    "pendulum": _pendulum,
    "pendulum-scaled": replace(
        _pendulum,
        title="Pendulum with scaled reward",
        summary="pendulum with the reward scaled to [0, 1]; 200 steps",
        env_id="spaql/PendulumScaled-v0",
        equations=SCALED,
        xi={"AQL": 160.0, "SPAQL": 10.0, "SPAQL-TS": 0.0},  # the paper's
        best_known=Known(200.0 + BEST / most_cost(Parameters()), BY_PLANNING),
    ),
    "pendulum-5": replace(
        _pendulum,
        title="Pendulum with 5 actions",
        summary="pendulum with the torques -2, -1, 0, 1, 2; 200 steps",
        env_id="spaql/Pendulum5-v0",
        interface=with_five_torques,
        best_known=Known(BEST_OF_FIVE, BY_PLANNING),
    ),
}
