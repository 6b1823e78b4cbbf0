"""Acrobot: two links, a motor only at the elbow; swing the tip above the bar (Gymnasium's Acrobot-v1, Sutton 1996)."""

import math
from typing import NamedTuple

from spaql.plants.axes import Axis, Finite
from spaql.plants.equations import Entry, Equations, Interface, Known, clipped, wrapped

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


def hanging(u1: float, u2: float, u3: float, u4: float) -> State:
    """All four within 0.1 of zero."""
    return 0.2 * u1 - 0.1, 0.2 * u2 - 0.1, 0.2 * u3 - 0.1, 0.2 * u4 - 0.1


def slope(theta1: float, theta2: float, omega1: float, omega2: float, torque: float, p: Parameters) -> State:
    """Time derivative of the state, theta1 = 0 hangs down (the book's dynamics, Sutton and Barto 1998, 11.3)."""
    sin, cos = math.sin(theta2), math.cos(theta2)
    l1, m1, m2, c1, c2, inertia, gravity = p.length1, p.mass1, p.mass2, p.center1, p.center2, p.inertia, p.gravity
    d1 = m1 * c1**2 + m2 * (l1**2 + c2**2 + 2.0 * l1 * c2 * cos) + 2.0 * inertia
    d2 = m2 * (c2**2 + l1 * c2 * cos) + inertia
    phi2 = m2 * c2 * gravity * math.sin(theta1 + theta2)
    centrifugal = -m2 * l1 * c2 * sin * (omega2 * omega2 + 2.0 * omega2 * omega1)
    phi1 = centrifugal + (m1 * c1 + m2 * l1) * gravity * math.sin(theta1) + phi2
    driven = torque + d2 / d1 * phi1 - m2 * l1 * c2 * (omega1 * omega1) * sin - phi2
    alpha2 = driven / (m2 * c2**2 + inertia - d2 * d2 / d1)
    alpha1 = -(d2 * alpha2 + phi1) / d1
    return omega1, omega2, alpha1, alpha2


def swing(theta1: float, theta2: float, omega1: float, omega2: float, choice: float, p: Parameters) -> State:
    """choice: 0, 1, 2 for the torques -1, 0, 1. One Runge-Kutta step of fourth order."""
    torque = p.torque * (choice - 1.0)
    dt, h = p.dt, 0.5 * p.dt
    a1, a2, a3, a4 = slope(theta1, theta2, omega1, omega2, torque, p)
    b1, b2, b3, b4 = slope(theta1 + h * a1, theta2 + h * a2, omega1 + h * a3, omega2 + h * a4, torque, p)
    c1, c2, c3, c4 = slope(theta1 + h * b1, theta2 + h * b2, omega1 + h * b3, omega2 + h * b4, torque, p)
    d1, d2, d3, d4 = slope(theta1 + dt * c1, theta2 + dt * c2, omega1 + dt * c3, omega2 + dt * c4, torque, p)
    return limit(
        theta1 + dt / 6.0 * (a1 + 2.0 * b1 + 2.0 * c1 + d1),
        theta2 + dt / 6.0 * (a2 + 2.0 * b2 + 2.0 * c2 + d2),
        omega1 + dt / 6.0 * (a3 + 2.0 * b3 + 2.0 * c3 + d3),
        omega2 + dt / 6.0 * (a4 + 2.0 * b4 + 2.0 * c4 + d4),
        p,
    )


def limit(theta1: float, theta2: float, omega1: float, omega2: float, p: Parameters) -> State:
    omega1 = clipped(omega1, -p.max_velocity1, p.max_velocity1)
    omega2 = clipped(omega2, -p.max_velocity2, p.max_velocity2)
    return wrapped(theta1), wrapped(theta2), omega1, omega2


def outcome(
    _theta1: float, _theta2: float, _omega1: float, _omega2: float, _choice: float,
    theta1: float, theta2: float, omega1: float, omega2: float, p: Parameters,
) -> tuple[float, bool]:  # fmt: skip
    there = -p.length1 * math.cos(theta1) - p.length2 * math.cos(theta1 + theta2) > p.goal
    return (0.0 if there else -1.0), there


def look(theta1: float, theta2: float, omega1: float, omega2: float) -> tuple[float, float, float, float, float, float]:
    return math.cos(theta1), math.sin(theta1), math.cos(theta2), math.sin(theta2), omega1, omega2


def state_of(
    cos1: float, sin1: float, cos2: float, sin2: float, omega1: float, omega2: float
) -> tuple[float, float, float, float]:
    return math.atan2(sin1, cos1), math.atan2(sin2, cos2), omega1, omega2


VARIABLES = ("angle1", "angle2", "velocity1", "velocity2")
ACROBOT = Equations(VARIABLES, hanging, swing, limit, outcome, look, state_of=state_of)


def interface(p: Parameters) -> Interface:
    """The reference is both links upright and at rest."""
    circle = tuple(Axis(name, -1.0, 1.0) for name in ("cos1", "sin1", "cos2", "sin2"))
    velocity1 = Axis("velocity1", -p.max_velocity1, p.max_velocity1, unit="rad/s")
    velocity2 = Axis("velocity2", -p.max_velocity2, p.max_velocity2, unit="rad/s")
    return Interface(
        (*circle, velocity1, velocity2), Finite((0, 1, 2), names=("torque",)), (-1.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    )


PROBLEMS = {
    "acrobot": Entry(
        title="Acrobot",
        summary="swing the tip of two links above the bar, torque at the elbow; 500 steps",
        env_id="spaql/Acrobot-v0",
        gym_id="Acrobot-v1",
        equations=ACROBOT,
        parameters=Parameters(),
        ranges={"gravity": (0.0, 1e6), "goal": (-1e6, 1e6)},
        interface=interface,
        horizon=500,
        ends="success",
        # the best of 0.4, 4, 10, 20, 40, 80, 160 on seeds 0 to 3 after 100 iterations; of equals the first
        study_xi={"AQL": 0.4, "SPAQL": 80.0, "SPAQL-TS": 20.0},
        samples=20_000,
        best_known=Known(
            -69.1, "the RL zoo's QR-DQN, one agent on 2,138 episodes (DLR-RM/rl-baselines3-zoo, `benchmark.md`)"
        ),
    ),
}
