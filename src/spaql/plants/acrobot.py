"""Acrobot: two links, a motor only at the elbow; swing the tip above the bar (Gymnasium's Acrobot-v1, Sutton 1996)."""

import math
from typing import NamedTuple

from spaql.plants.model import Model, clipped, wrapped

State = tuple[float, float, float, float]


class Parameters(NamedTuple):
    length1: float = 1.0  # m, of the link at the bar
    length2: float = 1.0  # m: only the height of the tip depends on it
    mass1: float = 1.0  # kg
    mass2: float = 1.0  # kg
    center1: float = 0.5  # m, from the joint to the centre of mass
    center2: float = 0.5  # m
    inertia: float = 1.0  # kg m2, of each link
    gravity: float = 9.8  # m/s2
    torque: float = 1.0  # N m
    dt: float = 0.2  # s
    max_velocity1: float = 4.0 * math.pi  # rad/s
    max_velocity2: float = 9.0 * math.pi  # rad/s
    goal: float = 1.0  # m above the bar


RANGES = {"gravity": (0.0, 1e6), "goal": (-1e6, 1e6)}


def equations(p: Parameters) -> Model:
    L1, L2, M1, M2, C1, C2, INERTIA, GRAVITY, TORQUE, DT, MAX_VELOCITY1, MAX_VELOCITY2, GOAL = p

    def hanging(u1: float, u2: float, u3: float, u4: float) -> State:
        """All four within 0.1 of zero."""
        return 0.2 * u1 - 0.1, 0.2 * u2 - 0.1, 0.2 * u3 - 0.1, 0.2 * u4 - 0.1

    def slope(theta1: float, theta2: float, omega1: float, omega2: float, torque: float) -> State:
        """Time derivative of the state (the book's dynamics: Sutton and Barto 1998, section 11.3). theta1 = 0 hangs down."""
        sin, cos = math.sin(theta2), math.cos(theta2)
        d1 = M1 * C1**2 + M2 * (L1**2 + C2**2 + 2.0 * L1 * C2 * cos) + 2.0 * INERTIA
        d2 = M2 * (C2**2 + L1 * C2 * cos) + INERTIA
        phi2 = M2 * C2 * GRAVITY * math.sin(theta1 + theta2)
        phi1 = -M2 * L1 * C2 * sin * (omega2 * omega2 + 2.0 * omega2 * omega1) + (M1 * C1 + M2 * L1) * GRAVITY * math.sin(theta1) + phi2
        driven = torque + d2 / d1 * phi1 - M2 * L1 * C2 * (omega1 * omega1) * sin - phi2
        alpha2 = driven / (M2 * C2**2 + INERTIA - d2 * d2 / d1)
        alpha1 = -(d2 * alpha2 + phi1) / d1
        return omega1, omega2, alpha1, alpha2

    def swing(theta1: float, theta2: float, omega1: float, omega2: float, choice: float) -> State:
        """choice: 0, 1, 2 for the torques -1, 0, 1. One Runge-Kutta step of fourth order."""
        torque = TORQUE * (choice - 1.0)
        h = 0.5 * DT
        a1, a2, a3, a4 = slope(theta1, theta2, omega1, omega2, torque)
        b1, b2, b3, b4 = slope(theta1 + h * a1, theta2 + h * a2, omega1 + h * a3, omega2 + h * a4, torque)
        c1, c2, c3, c4 = slope(theta1 + h * b1, theta2 + h * b2, omega1 + h * b3, omega2 + h * b4, torque)
        d1, d2, d3, d4 = slope(theta1 + DT * c1, theta2 + DT * c2, omega1 + DT * c3, omega2 + DT * c4, torque)
        return limit(
            theta1 + DT / 6.0 * (a1 + 2.0 * b1 + 2.0 * c1 + d1),
            theta2 + DT / 6.0 * (a2 + 2.0 * b2 + 2.0 * c2 + d2),
            omega1 + DT / 6.0 * (a3 + 2.0 * b3 + 2.0 * c3 + d3),
            omega2 + DT / 6.0 * (a4 + 2.0 * b4 + 2.0 * c4 + d4),
        )

    def limit(theta1: float, theta2: float, omega1: float, omega2: float) -> State:
        omega1, omega2 = clipped(omega1, -MAX_VELOCITY1, MAX_VELOCITY1), clipped(omega2, -MAX_VELOCITY2, MAX_VELOCITY2)
        return wrapped(theta1), wrapped(theta2), omega1, omega2

    def judge(
        _theta1: float, _theta2: float, _omega1: float, _omega2: float, _choice: float,
        theta1: float, theta2: float, omega1: float, omega2: float,
    ) -> tuple[float, bool]:  # fmt: skip
        there = -L1 * math.cos(theta1) - L2 * math.cos(theta1 + theta2) > GOAL
        return (0.0 if there else -1.0), there

    def look(theta1: float, theta2: float, omega1: float, omega2: float) -> tuple[float, float, float, float, float, float]:
        return math.cos(theta1), math.sin(theta1), math.cos(theta2), math.sin(theta2), omega1, omega2

    return Model(("angle1", "angle2", "velocity1", "velocity2"), hanging, swing, limit, judge, look)
