"""Pendulum: swing a pole up with a torque too weak to lift it at once (Gymnasium's Pendulum-v1)."""

import math

from spaql.plants.plant import observe, reset, step

G, M, L, DT = 10.0, 1.0, 1.0, 0.05  # m/s2, kg, m, s
MAX_SPEED, MAX_TORQUE = 8.0, 2.0  # rad/s, N m
MAX_COST = math.pi**2 + 0.1 * MAX_SPEED**2 + 0.001 * MAX_TORQUE**2
TWO_PI = 2.0 * math.pi


@reset
def hang(u1: float, u2: float) -> tuple[float, float]:
    """Any angle, angular velocity within 1 rad/s."""
    return math.pi * (2.0 * u1 - 1.0), 2.0 * u2 - 1.0


def swing(theta: float, omega: float, torque: float) -> tuple[tuple[float, float], float]:
    """theta = 0 is upright; the velocity is clipped, then moves the angle (Pendulum-v1; v0 did it the other way round)."""
    cost = theta * theta + 0.1 * (omega * omega) + 0.001 * (torque * torque)
    omega = omega + (3.0 * G / (2.0 * L) * math.sin(theta) + 3.0 / (M * L**2) * torque) * DT
    omega = min(max(omega, -MAX_SPEED), MAX_SPEED)
    theta = theta + omega * DT
    theta = theta - TWO_PI if theta >= math.pi else theta
    theta = theta + TWO_PI if theta < -math.pi else theta
    return (theta, omega), cost


@step
def swing_up(theta: float, omega: float, torque: float) -> tuple[tuple[float, float], float, bool]:
    state, cost = swing(theta, omega, torque)
    return state, -cost, False


@step
def swing_up_scaled(theta: float, omega: float, torque: float) -> tuple[tuple[float, float], float, bool]:
    """Reward in [0, 1]: r' = (r + c) / c."""
    state, cost = swing(theta, omega, torque)
    return state, (MAX_COST - cost) / MAX_COST, False


@observe
def look(theta: float, omega: float) -> tuple[float, float, float]:
    return math.cos(theta), math.sin(theta), omega
