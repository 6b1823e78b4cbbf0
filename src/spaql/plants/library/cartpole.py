"""CartPole: balance a pole on a cart by pushing the cart left or right.

The equations are those of Gymnasium's CartPole-v1 (Barto, Sutton and Anderson 1983).
"""

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from spaql.plants.axes import Axis, Finite
from spaql.plants.equations import Entry, Equations, Interface, Known, clipped


class Parameters(NamedTuple):
    gravity: float = 9.8  # m/s2
    cart_mass: float = 1.0  # kg
    pole_mass: float = 0.1  # kg
    half_length: float = 0.5  # m
    force: float = 10.0  # N
    dt: float = 0.02  # s
    max_position: float = 2.4  # m: beyond it, and beyond the next, the episode ends
    max_angle: float = 12.0 * 2.0 * math.pi / 360.0  # rad


def near_upright(u1: float, u2: float, u3: float, u4: float) -> tuple[float, float, float, float]:
    """All four within 0.05 of zero."""
    return 0.1 * u1 - 0.05, 0.1 * u2 - 0.05, 0.1 * u3 - 0.05, 0.1 * u4 - 0.05


def push(
    x: float, x_dot: float, theta: float, theta_dot: float, right: float, p: Parameters
) -> tuple[float, float, float, float]:
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
    x = clipped(x, -2.0 * p.max_position, 2.0 * p.max_position)
    theta = clipped(theta, -2.0 * p.max_angle, 2.0 * p.max_angle)
    return x, x_dot, theta, theta_dot


def outcome(
    _x: float, _x_dot: float, _theta: float, _theta_dot: float, _right: float,
    x: float, x_dot: float, theta: float, theta_dot: float, p: Parameters,
) -> tuple[float, bool]:  # fmt: skip
    fallen = (abs(x) > p.max_position) | (abs(theta) > p.max_angle)
    return 1.0, fallen


CARTPOLE = Equations(("position", "velocity", "angle", "angular velocity"), near_upright, push, limit, outcome)


def interface(p: Parameters, slope_x: float, slope_theta: float) -> Interface:
    """The slopes are of the maps of both velocities. The reference is the cart in the middle, the pole upright."""
    state = (
        Axis("position", -2.0 * p.max_position, 2.0 * p.max_position, unit="m"),
        Axis("velocity", slope=slope_x, unit="m/s"),
        Axis("angle", -2.0 * p.max_angle, 2.0 * p.max_angle, unit="rad"),
        Axis("angular velocity", slope=slope_theta, unit="rad/s"),
    )
    return Interface(state, Finite((0, 1), names=("push",)), (0.0, 0.0, 0.0, 0.0))


ALL_STEPS = "the horizon: every step pays 1"

_cartpole = Entry(
    title="CartPole",
    summary="balance a pole on a cart, push left or right; 200 steps",
    env_id="spaql/CartPole-v0",
    gym_id="CartPole-v1",
    equations=CARTPOLE,
    parameters=Parameters(),
    ranges={"gravity": (0.0, 1e6), "max_angle": (1e-6, math.pi)},
    interface=partial(interface, slope_x=1 / 240, slope_theta=1 / 21),  # the paper's
    horizon=200,
    ends="failure",
    rollouts=100,
    xi={"AQL": 120.0, "SPAQL": 20.0, "SPAQL-TS": 20.0},  # the paper's
    samples=2_000,
    best_known=Known(200.0, ALL_STEPS),
    drawing="cartpole",
)
PROBLEMS = {
    "cartpole": _cartpole,
    "cartpole-fitted": replace(
        _cartpole,
        title="CartPole with fitted maps",
        summary="cartpole with velocity maps fitted to the velocities it really sees",
        env_id="spaql/CartPoleFitted-v0",
        # these slopes spread the velocities of a balancing cart over the cube
        interface=partial(interface, slope_x=1 / 2, slope_theta=1 / 2),
    ),
    "cartpole-500": replace(
        _cartpole,
        title="CartPole, 500 steps",
        summary="cartpole with the limit of CartPole-v1; 500 steps",
        env_id="spaql/CartPole500-v0",
        horizon=500,
        samples=5_000,
        best_known=Known(500.0, ALL_STEPS),
    ),
}
