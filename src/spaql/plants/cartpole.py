"""CartPole: balance a pole on a cart by pushing it left or right (Gymnasium's CartPole-v1, Barto, Sutton and Anderson 1983)."""

import math
from typing import NamedTuple

from spaql.plants.model import Model, clipped


class Parameters(NamedTuple):
    gravity: float = 9.8  # m/s2
    cart_mass: float = 1.0  # kg
    pole_mass: float = 0.1  # kg
    half_length: float = 0.5  # m
    force: float = 10.0  # N
    dt: float = 0.02  # s
    max_position: float = 2.4  # m: beyond it, and beyond the next, the episode ends
    max_angle: float = 12.0 * 2.0 * math.pi / 360.0  # rad


RANGES = {"gravity": (0.0, 1e6), "max_angle": (1e-6, math.pi)}


def near_upright(u1: float, u2: float, u3: float, u4: float) -> tuple[float, float, float, float]:
    """All four within 0.05 of zero."""
    return 0.1 * u1 - 0.05, 0.1 * u2 - 0.05, 0.1 * u3 - 0.05, 0.1 * u4 - 0.05


def push(x: float, x_dot: float, theta: float, theta_dot: float, right: float, p: Parameters) -> tuple[float, float, float, float]:
    """right: 0 or 1."""
    total, moment = p.cart_mass + p.pole_mass, p.pole_mass * p.half_length
    force = p.force * (2.0 * right - 1.0)
    sin, cos = math.sin(theta), math.cos(theta)
    thrust = (force + moment * (theta_dot * theta_dot) * sin) * (1.0 / total)
    theta_acc = (p.gravity * sin - cos * thrust) / (p.half_length * (4.0 / 3.0) - moment / total * (cos * cos))
    x_acc = thrust - moment / total * theta_acc * cos
    x, x_dot = x + p.dt * x_dot, x_dot + p.dt * x_acc
    theta, theta_dot = theta + p.dt * theta_dot, theta_dot + p.dt * theta_acc
    return x, x_dot, theta, theta_dot


def limit(x: float, x_dot: float, theta: float, theta_dot: float, p: Parameters) -> tuple[float, float, float, float]:
    """The map ends at twice the limits; there the episode has ended already."""
    x, theta = clipped(x, -2.0 * p.max_position, 2.0 * p.max_position), clipped(theta, -2.0 * p.max_angle, 2.0 * p.max_angle)
    return x, x_dot, theta, theta_dot


def judge(
    _x: float, _x_dot: float, _theta: float, _theta_dot: float, _right: float,
    x: float, x_dot: float, theta: float, theta_dot: float, p: Parameters,
) -> tuple[float, bool]:  # fmt: skip
    fallen = (abs(x) > p.max_position) | (abs(theta) > p.max_angle)
    return 1.0, fallen


CARTPOLE = Model(("position", "velocity", "angle", "angular velocity"), near_upright, push, limit, judge)
