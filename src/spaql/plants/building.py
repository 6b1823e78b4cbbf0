"""The problems of the catalog, built: plant, axes, actions, with published or changed parameters."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from spaql.plants import acrobot, ambulance, cartpole, mountain_car, mountain_car_continuous, oil, parameters, pendulum
from spaql.plants.catalog import CATALOG
from spaql.plants.model import Model, changed, plain
from spaql.plants.plant import Plant
from spaql.plants.problem import Axis, Continuous, Finite, Problem


class Draft(NamedTuple):
    model: Model
    state: tuple[Axis, ...]
    actions: Continuous | Finite
    reference: tuple[float, ...]


def _pendulum(name: str, p: pendulum.Parameters) -> Draft:
    state = (Axis("cos", -1.0, 1.0), Axis("sin", -1.0, 1.0), Axis("velocity", -p.max_speed, p.max_speed, unit="rad/s"))
    top = p.max_torque
    torques: Continuous | Finite = Continuous((-top,), (top,), ("torque",), ("N m",))
    if name == "pendulum-5":
        torques = Finite((-top, -0.5 * top, 0.0, 0.5 * top, top), box=True, names=("torque",), units=("N m",))
    return Draft(pendulum.SCALED if name == "pendulum-scaled" else pendulum.PENDULUM, state, torques, (1.0, 0.0, 0.0))


# (slope of x_dot, slope of theta_dot): the paper's, and ones that spread the velocities of a balancing cart over the cube
_CARTPOLE_SLOPES = {"cartpole": (1 / 240, 1 / 21), "cartpole-fitted": (1 / 2, 1 / 2), "cartpole-500": (1 / 240, 1 / 21)}


def _cartpole(name: str, p: cartpole.Parameters) -> Draft:
    slope_x, slope_theta = _CARTPOLE_SLOPES[name]
    state = (
        Axis("position", -2.0 * p.max_position, 2.0 * p.max_position, unit="m"),
        Axis("velocity", slope=slope_x, unit="m/s"),
        Axis("angle", -2.0 * p.max_angle, 2.0 * p.max_angle, unit="rad"),
        Axis("angular velocity", slope=slope_theta, unit="rad/s"),
    )
    return Draft(cartpole.CARTPOLE, state, Finite((0, 1), names=("push",)), (0.0, 0.0, 0.0, 0.0))


def _road(p: Any) -> tuple[Axis, ...]:
    position = Axis("position", mountain_car.MIN_POSITION, mountain_car.MAX_POSITION, unit="m")
    return position, Axis("velocity", -p.max_speed, p.max_speed, unit="m/step")


def _mountain_car(_name: str, p: mountain_car.Parameters) -> Draft:
    return Draft(mountain_car.CAR, _road(p), Finite((0, 1, 2), names=("pedal",)), (p.goal, 0.0))


def _mountain_car_continuous(_name: str, p: mountain_car_continuous.Parameters) -> Draft:
    return Draft(mountain_car_continuous.CAR, _road(p), Continuous((-1.0,), (1.0,), ("force",)), (p.goal, 0.0))


def _acrobot(_name: str, p: acrobot.Parameters) -> Draft:
    """The reference is both links upright and at rest."""
    circle = tuple(Axis(name, -1.0, 1.0) for name in ("cos1", "sin1", "cos2", "sin2"))
    speeds = (("velocity1", p.max_velocity1), ("velocity2", p.max_velocity2))
    state = circle + tuple(Axis(name, -top, top, unit="rad/s") for name, top in speeds)
    return Draft(acrobot.ACROBOT, state, Finite((0, 1, 2), names=("torque",)), (-1.0, 0.0, 1.0, 0.0, 0.0, 0.0))


def _oil(name: str, _p: oil.Parameters) -> Draft:
    model = oil.LAPLACE if name == "oil-laplace" else oil.QUADRATIC
    return Draft(model, (Axis("location", 0.0, 1.0),), Continuous((0.0,), (1.0,), ("target",)), (oil.BEST,))


def _ambulance(name: str, _p: ambulance.Parameters) -> Draft:
    """The reference is the mean of the calls."""
    model, mean = (ambulance.UNIFORM, 0.5) if name == "ambulance-uniform" else (ambulance.BETA, 5.0 / 7.0)
    return Draft(model, (Axis("call", 0.0, 1.0),), Continuous((0.0,), (1.0,), ("station",)), (mean,))


# longest names first: the kind of a problem is how its name begins
_KINDS: dict[str, tuple[Any, Callable[[str, Any], Draft]]] = {
    "mountain-car-continuous": (mountain_car_continuous, _mountain_car_continuous),
    "mountain-car": (mountain_car, _mountain_car),
    "acrobot": (acrobot, _acrobot),
    "pendulum": (pendulum, _pendulum),
    "cartpole": (cartpole, _cartpole),
    "oil": (oil, _oil),
    "ambulance": (ambulance, _ambulance),
}


def plant_of(name: str, given: dict[str, Any]) -> Plant:
    """How a plant of the catalog comes out of a pickle."""
    plant = build(name, given).plant
    assert plant is not None
    return plant


def build(name: str, given: Mapping[str, Any]) -> Problem:
    """Parameters given as they are published leave no trace; all others are kept with the problem."""
    entry = CATALOG[name]
    module, draft = next(kind for begin, kind in _KINDS.items() if name.startswith(begin))
    published = module.Parameters()
    p = parameters.physical(name, given, published, module.RANGES, getattr(module, "FIXED", ()))
    steps = parameters.horizon(given, entry.horizon)
    model, state, actions, reference = draft(name, parameters.widest(p))
    process = parameters.process_noise(given, model.variables)
    errors = parameters.observation_noise(given, state)
    kept: dict[str, Any] = {key: value for key, value in p._asdict().items() if value != getattr(published, key)}
    if not (kept or process or errors):
        plant = plain(model, p)
    else:
        seen = [axis.name for axis in state]
        pushes = [(model.variables.index(variable), spread) for variable, spread in process.items()]
        plant = changed(model, p, state, pushes, [(seen.index(variable), spread) for variable, spread in errors.items()])
    kept |= {"horizon": steps} if steps != entry.horizon else {}
    kept |= {key: value for key, value in (("process_noise", process), ("observation_noise", errors)) if value}
    return Problem(
        name, entry.summary + (f"; changed: {parameters.told(kept)}" if kept else ""), state, actions, steps,
        reference=reference, xi=entry.xi, rollouts=entry.rollouts, env_id=entry.env_id, parameters=kept,
        plant=replace(plant, origin=(plant_of, (name, kept))),
    )  # fmt: skip
