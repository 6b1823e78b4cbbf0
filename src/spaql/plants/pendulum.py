"""Pendulum: swing a pole up with a torque too weak to lift it at once (Gymnasium's Pendulum-v1)."""

import math
from typing import NamedTuple

from spaql.plants.model import TWO_PI, Model, clipped, wrapped


class Parameters(NamedTuple):
    g: float = 10.0  # m/s2
    m: float = 1.0  # kg
    l: float = 1.0  # m  # noqa: E741
    dt: float = 0.05  # s
    max_speed: float = 8.0  # rad/s
    max_torque: float = 2.0  # N m


RANGES = {"g": (0.0, 1e6)}
FIXED = ("max_torque",)  # the actions are the same in every episode


def hang(u1: float, u2: float) -> tuple[float, float]:
    """Any angle, angular velocity within 1 rad/s."""
    return math.pi * (2.0 * u1 - 1.0), 2.0 * u2 - 1.0


def swing(theta: float, omega: float, torque: float, p: Parameters) -> tuple[float, float]:
    """theta = 0 is upright; the velocity is clipped, then moves the angle (Pendulum-v1; v0 did it the other way round)."""
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


def judge(theta: float, omega: float, torque: float, _theta: float, _omega: float, p: Parameters) -> tuple[float, bool]:
    return -cost(theta, omega, torque), False


def judge_scaled(theta: float, omega: float, torque: float, _theta: float, _omega: float, p: Parameters) -> tuple[float, bool]:
    """The reward mapped to [0, 1], r' = (r + c) / c."""
    most = math.pi**2 + 0.1 * p.max_speed**2 + 0.001 * p.max_torque**2
    return (most - cost(theta, omega, torque)) / most, False


def look(theta: float, omega: float) -> tuple[float, float, float]:
    return math.cos(theta), math.sin(theta), omega


PENDULUM = Model(("angle", "velocity"), hang, swing, limit, judge, look)
SCALED = PENDULUM._replace(judge=judge_scaled)
