"""CartPole: balance a pole on a cart by pushing it left or right (Gymnasium's CartPole-v1, Barto, Sutton and Anderson 1983)."""

import math

from spaql.plants.plant import reset, step

GRAVITY, CART, POLE, HALF_LENGTH = 9.8, 1.0, 0.1, 0.5  # m/s2, kg, kg, m
FORCE, DT = 10.0, 0.02  # N, s
TOTAL = CART + POLE
MOMENT = POLE * HALF_LENGTH
MAX_X, MAX_THETA = 2.4, 12.0 * 2.0 * math.pi / 360.0  # m, rad: beyond them the episode ends


@reset
def near_upright(u1: float, u2: float, u3: float, u4: float) -> tuple[float, float, float, float]:
    """All four within 0.05 of zero."""
    return 0.1 * u1 - 0.05, 0.1 * u2 - 0.05, 0.1 * u3 - 0.05, 0.1 * u4 - 0.05


@step
def push(x: float, x_dot: float, theta: float, theta_dot: float, right: float) -> tuple[tuple[float, float, float, float], float, bool]:
    """right: 0 or 1."""
    force = FORCE * (2.0 * right - 1.0)
    sin, cos = math.sin(theta), math.cos(theta)
    thrust = (force + MOMENT * (theta_dot * theta_dot) * sin) * (1.0 / TOTAL)
    theta_acc = (GRAVITY * sin - cos * thrust) / (HALF_LENGTH * (4.0 / 3.0) - MOMENT / TOTAL * (cos * cos))
    x_acc = thrust - MOMENT / TOTAL * theta_acc * cos
    x, x_dot = x + DT * x_dot, x_dot + DT * x_acc
    theta, theta_dot = theta + DT * theta_dot, theta_dot + DT * theta_acc
    fallen = (abs(x) > MAX_X) | (abs(theta) > MAX_THETA)
    return (x, x_dot, theta, theta_dot), 1.0, fallen
