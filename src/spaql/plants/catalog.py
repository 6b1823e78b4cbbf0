"""The problems by name. Kept free of compiled code, so that listing them is instant."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.plants.problem import Problem


@dataclass(frozen=True)
class Entry:
    """The published settings of a problem. `xi`: the paper's scale of the bonus; `rollouts`: evaluations per iteration."""

    summary: str
    env_id: str
    xi: Mapping[str, float] = field(default_factory=dict)
    rollouts: int = 20
    horizon: int = 200


_PENDULUM_XI = {"AQL": 20.0, "SPAQL": 4.0, "SPAQL-TS": 0.4}
_CARTPOLE_XI = {"AQL": 120.0, "SPAQL": 20.0, "SPAQL-TS": 20.0}

CATALOG = {
    "pendulum": Entry("swing a pendulum up, torque in [-2, 2]; 200 steps", "spaql/Pendulum-v0", _PENDULUM_XI),
    "pendulum-scaled": Entry(
        "pendulum with the reward scaled to [0, 1]; 200 steps",
        "spaql/PendulumScaled-v0",
        {"AQL": 160.0, "SPAQL": 10.0, "SPAQL-TS": 0.0},
    ),
    "pendulum-5": Entry("pendulum with the torques -2, -1, 0, 1, 2; 200 steps", "spaql/Pendulum5-v0", _PENDULUM_XI),
    "cartpole": Entry("balance a pole on a cart, push left or right; 200 steps", "spaql/CartPole-v0", _CARTPOLE_XI, 100),
    "cartpole-fitted": Entry(
        "cartpole with velocity maps fitted to the velocities it really sees", "spaql/CartPoleFitted-v0", _CARTPOLE_XI, 100
    ),
    "cartpole-500": Entry("cartpole with the limit of CartPole-v1; 500 steps", "spaql/CartPole500-v0", _CARTPOLE_XI, 100, 500),
}

# (slope of x_dot, slope of theta_dot): the paper's, and ones that spread the velocities of a balancing cart over the cube
_CARTPOLE_SLOPES = {"cartpole": (1 / 240, 1 / 21), "cartpole-fitted": (1 / 2, 1 / 2), "cartpole-500": (1 / 240, 1 / 21)}


def make_from_catalog(name: str) -> "Problem":
    if not isinstance(name, str) or name not in CATALOG:
        raise SpaqlError(f"unknown problem {name!r}: choose one of {', '.join(CATALOG)}, or use spaql.from_gym for a Gymnasium id")
    return _cartpole(name) if name.startswith("cartpole") else _pendulum(name)


def _pendulum(name: str) -> "Problem":
    from spaql.plants import pendulum
    from spaql.plants.plant import make_plant
    from spaql.plants.problem import Axis, Continuous, Finite, Problem

    entry = CATALOG[name]
    state = (Axis("cos", -1.0, 1.0), Axis("sin", -1.0, 1.0), Axis("velocity", -8.0, 8.0, unit="rad/s"))
    torques = Continuous((-2.0,), (2.0,), ("torque",), ("N m",))
    five = Finite((-2.0, -1.0, 0.0, 1.0, 2.0), box=True, names=("torque",), units=("N m",))
    step = pendulum.swing_up_scaled if name == "pendulum-scaled" else pendulum.swing_up
    return Problem(
        name, entry.summary, state, five if name == "pendulum-5" else torques, entry.horizon,
        reference=(1.0, 0.0, 0.0), xi=entry.xi, rollouts=entry.rollouts, env_id=entry.env_id,
        plant=make_plant(pendulum.hang, step, pendulum.look, 1),
    )  # fmt: skip


def _cartpole(name: str) -> "Problem":
    from spaql.plants import cartpole
    from spaql.plants.plant import make_plant
    from spaql.plants.problem import Axis, Finite, Problem

    entry = CATALOG[name]
    slope_x, slope_theta = _CARTPOLE_SLOPES[name]
    width = 24 * math.pi / 180
    state = (
        Axis("position", -4.8, 4.8, unit="m"),
        Axis("velocity", slope=slope_x, unit="m/s"),
        Axis("angle", -width, width, unit="rad"),
        Axis("angular velocity", slope=slope_theta, unit="rad/s"),
    )
    return Problem(
        name, entry.summary, state, Finite((0, 1), names=("push",)), entry.horizon,
        reference=(0.0, 0.0, 0.0, 0.0), xi=entry.xi, rollouts=entry.rollouts, env_id=entry.env_id,
        plant=make_plant(cartpole.near_upright, cartpole.push, None, 1),
    )  # fmt: skip
