"""The problems by name. Kept free of compiled code, so that listing them is instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.plants.problem import Problem


@dataclass(frozen=True)
class Entry:
    """The published settings of a problem. `xi`: the paper's scale of the bonus, or a tuned one; `rollouts`: evaluations per iteration."""

    summary: str
    env_id: str
    xi: Mapping[str, float] = field(default_factory=dict)
    rollouts: int = 20
    horizon: int = 200


_PENDULUM_XI = {"AQL": 20.0, "SPAQL": 4.0, "SPAQL-TS": 0.4}
_CARTPOLE_XI = {"AQL": 120.0, "SPAQL": 20.0, "SPAQL-TS": 20.0}
# The best of 0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10 on seeds 0 to 3 after 2000 iterations: mean fresh return, for oil the mean of k = 1, 10, 50
_XI = {
    "oil-laplace": {"AQL": 1.0, "SPAQL": 0.03, "SPAQL-TS": 0.1},
    "oil-quadratic": {"AQL": 1.0, "SPAQL": 0.01, "SPAQL-TS": 0.3},
    "ambulance": {"AQL": 0.3, "SPAQL": 0.03, "SPAQL-TS": 0.0},
    "ambulance-uniform": {"AQL": 0.3, "SPAQL": 0.01, "SPAQL-TS": 0.1},
}

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
    "mountain-car": Entry("drive an underpowered car up a hill, three pedals; 200 steps", "spaql/MountainCar-v0"),
    "mountain-car-continuous": Entry(
        "the same with a force in [-1, 1], +100 at the goal; 999 steps", "spaql/MountainCarContinuous-v0", horizon=999
    ),
    "acrobot": Entry("swing the tip of two links above the bar, torque at the elbow; 500 steps", "spaql/Acrobot-v0", horizon=500),
    "oil-laplace": Entry("drill for oil in [0, 1], a peak of width 1/k; 5 steps", "spaql/OilLaplace-v0", _XI["oil-laplace"], horizon=5),
    "oil-quadratic": Entry("the same with a hill, 1 - k y^2; 5 steps", "spaql/OilQuadratic-v0", _XI["oil-quadratic"], horizon=5),
    "ambulance": Entry("wait in [0, 1] for calls from Beta(5, 2); 5 steps", "spaql/Ambulance-v0", _XI["ambulance"], horizon=5),
    "ambulance-uniform": Entry(
        "the same with calls from everywhere; 5 steps", "spaql/AmbulanceUniform-v0", _XI["ambulance-uniform"], horizon=5
    ),
}


def make_from_catalog(name: str, parameters: Mapping[str, Any] | None = None) -> "Problem":
    """`parameters`: physical ones by name, `horizon`, `process_noise`, `observation_noise`; those not given are as published."""
    if not isinstance(name, str) or name not in CATALOG:
        raise SpaqlError(f"unknown problem {name!r}: choose one of {', '.join(CATALOG)}, or use spaql.from_gym for a Gymnasium id")
    from spaql.plants.building import build

    return build(name, {} if parameters is None else parameters)
