"""Cart-pole swing-up: a pole hangs from a cart and is to stand upright above the origin, within four seconds.

The task of PILCO (Deisenroth and Rasmussen 2011) and of many methods that learn from a few hundred samples, with the
constants of their code (UCL-SML/pilco-matlab, scenarios/cartPole).
"""

import math
from typing import NamedTuple

from spaql.plants.axes import Axis, Continuous
from spaql.plants.equations import TWO_PI, Entry, Equations, Interface, Known, clipped, wrapped

State = tuple[float, float, float, float]


class Parameters(NamedTuple):
    gravity: float = 9.82  # m/s2
    cart_mass: float = 0.5  # kg
    pole_mass: float = 0.5  # kg, a uniform rod
    length: float = 0.5  # m
    friction: float = 0.1  # N s/m, between cart and track
    max_force: float = 10.0  # N
    dt: float = 0.1  # s
    width: float = 0.25  # m: at this distance of the tip from its goal the reward is exp(-1/2)
    max_position: float = 6.0  # m: walls that take all speed, further away than anybody needs to go
    max_velocity: float = 12.0  # m/s
    max_angular_velocity: float = 20.0  # rad/s


def hanging(u1: float, u2: float, u3: float, u4: float) -> State:
    """All four normal around zero, with deviation 0.1 (Box and Muller)."""
    r1, r2 = 0.1 * math.sqrt(-2.0 * math.log(1.0 - u1)), 0.1 * math.sqrt(-2.0 * math.log(1.0 - u3))
    a1, a2 = TWO_PI * u2, TWO_PI * u4
    return r1 * math.cos(a1), r1 * math.sin(a1), r2 * math.cos(a2), r2 * math.sin(a2)


def slope(v: float, theta: float, omega: float, force: float, p: Parameters) -> tuple[float, float]:
    """Accelerations of cart and pole, theta = 0 hangs down."""
    sin, cos = math.sin(theta), math.cos(theta)
    total, m, l = p.cart_mass + p.pole_mass, p.pole_mass, p.length  # noqa: E741
    d = 4.0 * total - 3.0 * m * cos * cos
    pull, spin = force - p.friction * v, m * l * (omega * omega) * sin
    acceleration = (2.0 * spin + 3.0 * m * p.gravity * sin * cos + 4.0 * pull) / d
    alpha = (-3.0 * spin * cos - 6.0 * total * p.gravity * sin - 6.0 * pull * cos) / (l * d)
    return acceleration, alpha


def moved(x: float, v: float, theta: float, omega: float, force: float, h: float, p: Parameters) -> State:
    """One Runge-Kutta step of fourth order."""
    k = 0.5 * h
    a1, b1 = slope(v, theta, omega, force, p)
    v2, w2 = v + k * a1, omega + k * b1
    a2, b2 = slope(v2, theta + k * omega, w2, force, p)
    v3, w3 = v + k * a2, omega + k * b2
    a3, b3 = slope(v3, theta + k * w2, w3, force, p)
    v4, w4 = v + h * a3, omega + h * b3
    a4, b4 = slope(v4, theta + h * w3, w4, force, p)
    return (
        x + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4),
        v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4),
        theta + h / 6.0 * (omega + 2.0 * w2 + 2.0 * w3 + w4),
        omega + h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4),
    )


def push(x: float, v: float, theta: float, omega: float, force: float, p: Parameters) -> State:
    """The force is held for dt. Two Runge-Kutta steps: mostly within 1e-3 of the solution."""
    x, v, theta, omega = moved(x, v, theta, omega, force, 0.5 * p.dt, p)
    x, v, theta, omega = moved(x, v, theta, omega, force, 0.5 * p.dt, p)
    return limit(x, v, theta, omega, p)


def limit(x: float, v: float, theta: float, omega: float, p: Parameters) -> State:
    v = 0.0 if abs(x) > p.max_position else clipped(v, -p.max_velocity, p.max_velocity)
    x = clipped(x, -p.max_position, p.max_position)
    return x, v, wrapped(theta), clipped(omega, -p.max_angular_velocity, p.max_angular_velocity)


def outcome(
    _x: float, _v: float, _theta: float, _omega: float, _force: float,
    x: float, v: float, theta: float, omega: float, p: Parameters,
) -> tuple[float, bool]:  # fmt: skip
    """d2: squared distance of the tip from the point at its length above the origin."""
    l = p.length  # noqa: E741
    d2 = x * x + 2.0 * x * l * math.sin(theta) + 2.0 * l * l * (1.0 + math.cos(theta))
    return math.exp(-0.5 * d2 / (p.width * p.width)), False


def look(x: float, v: float, theta: float, omega: float) -> tuple[float, float, float, float, float]:
    return x, v, math.sin(theta), math.cos(theta), omega


def state_of(x: float, v: float, sin: float, cos: float, omega: float) -> State:
    return x, v, math.atan2(sin, cos), omega


VARIABLES = ("position", "velocity", "angle", "angular velocity")
SWING_UP = Equations(VARIABLES, hanging, push, limit, outcome, look, state_of=state_of)


def interface(p: Parameters) -> Interface:
    """The reference is the pole upright above the origin, at rest."""
    state = (
        Axis("position", -p.max_position, p.max_position, unit="m"),
        Axis("velocity", -p.max_velocity, p.max_velocity, unit="m/s"),
        Axis("sin", -1.0, 1.0),
        Axis("cos", -1.0, 1.0),
        Axis("angular velocity", -p.max_angular_velocity, p.max_angular_velocity, unit="rad/s"),
    )
    force = Continuous((-p.max_force,), (p.max_force,), ("force",), ("N",))
    return Interface(state, force, (0.0, 0.0, 0.0, -1.0, 0.0))


PROBLEMS = {
    "cartpole-swing-up": Entry(
        title="Cart-pole swing-up",
        summary="swing a hanging pole up and hold it above the origin, force in [-10, 10]; 40 steps",
        env_id="spaql/CartPoleSwingUp-v0",
        equations=SWING_UP,
        parameters=Parameters(),
        ranges={"gravity": (0.0, 1e6), "friction": (0.0, 1e6)},
        fixed=("max_force",),
        interface=interface,
        horizon=40,
        samples=2_000,
        best_known=Known(31.1, "Black-DROPS, median after 280 samples (resibots/blackdrops, README)"),
        drawing="swing-up",
    ),
}
