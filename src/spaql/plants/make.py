"""Making problems: by name, or from a plant of your own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.ground.checks import items, real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.assemble import catalog_plant, known_by, with_parameters
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.catalog import CATALOG
from spaql.plants.equations import (
    Between,
    Value,
    observation_noise,
    parameter_text,
    physical,
    process_noise,
    starts,
    widest,
)
from spaql.plants.featured import with_features
from spaql.plants.known import KnownOutcome, check_with_plant, known_outcome
from spaql.plants.limits import Limit
from spaql.plants.plant import Plant, PlantFunction
from spaql.plants.problem import Problem
from spaql.plants.statements import check_starts


def make(name: str, *, limits: Sequence[Limit] = (), features: Any = None, **parameters: Any) -> Problem:
    """A problem of the catalog by name; `spaql.problems()` lists them.

    - `parameters`: physical ones by name, such as `m=2.0`, and `horizon`, steps per episode (docs/plants.md lists them)
    - `m=spaql.Between(0.8, 1.2)`: a parameter drawn anew at every reset
    - `start={"velocity": spaql.Between(-8, 8)}`: where episodes begin, a range or a number by state variable
    - `process_noise={"velocity": 0.1}`: standard deviation of normal noise added to a state variable after every step
    - `observation_noise={"velocity": 0.1}`: of the error with which a variable is observed; a number is a fraction of
      every range
    - `limits=[spaql.Limit("angle", -0.1, 0.1)]`: counted in every evaluation
    - `features={"energy": lambda cos, sin, velocity: ...}`: variables that are formulas of others (docs/features.md)
    """
    problem = with_features(make_from_catalog(name, parameters), features)
    return problem if limits == () else limited(problem, limits)


def limited(problem: Problem, limits: Any) -> Problem:
    """The problem with these limits, each of which holds at some start."""
    problem = replace(problem, limits=limits)
    check_starts(problem, problem.limits)
    return problem


def make_from_catalog(name: str, parameters: Mapping[str, Any] | None = None) -> Problem:
    """As `make`. Parameters given as they are published leave no trace; all others are kept with the problem."""
    if not isinstance(name, str) or name not in CATALOG:
        wanted = f"choose one of {', '.join(CATALOG)}, or use spaql.from_gym for a Gymnasium id"
        raise SpaqlError(f"unknown problem {echoed(name)}: {wanted}")
    entry, given = CATALOG[name], {} if parameters is None else parameters
    p = physical(name, given, entry.parameters, entry.ranges, entry.fixed)
    steps = whole("horizon", given.get("horizon", entry.horizon), 1, 10**6)
    state, actions, reference = entry.interface(widest(p))
    begins = starts(given, entry.equations.variables)
    process = process_noise(given, entry.equations.variables)
    errors = observation_noise(given, state)
    kept: dict[str, Any] = {key: value for key, value in p._asdict().items() if value != getattr(entry.parameters, key)}
    seen = [axis.name for axis in state]
    beyond = bool(kept or begins), bool(kept or process)  # else `limit` changes nothing, after reset and after step
    first = [(entry.equations.variables.index(variable), value) for variable, value in begins.items()]
    pushes = [(entry.equations.variables.index(variable), spread) for variable, spread in process.items()]
    blurs = [(seen.index(variable), spread) for variable, spread in errors.items()]
    plant = catalog_plant(entry.equations, p, actions.axes, state, beyond, first, pushes, blurs)
    kept |= {"horizon": steps} if steps != entry.horizon else {}
    others = {"start": begins, "process_noise": process, "observation_noise": errors}
    kept |= {key: value for key, value in others.items() if value}
    outcome = None if errors else known_by(entry.equations, p, len(state), actions.axes)
    return Problem(
        name, entry.summary + (f"; changed: {parameter_text(kept)}" if kept else ""), state, actions, steps,
        reference=reference, xi=entry.xi, rollouts=entry.rollouts, env_id=entry.env_id, parameters=kept,
        plant=replace(plant, origin=(plant_of, (name, kept))), ends=entry.ends,
        known=None if outcome is None else replace(outcome, origin=(known_of, (name, kept))),
        dt=None if isinstance(getattr(p, "dt", None), Between) else getattr(p, "dt", None),
    )  # fmt: skip


def plant_of(name: str, parameters: dict[str, Any]) -> Plant:
    """How a plant of the catalog comes out of a pickle."""
    plant = make_from_catalog(name, parameters).plant
    assert plant is not None
    return plant


def known_of(name: str, parameters: dict[str, Any]) -> KnownOutcome | None:
    """How the known outcome of a plant of the catalog comes out of a pickle."""
    return make_from_catalog(name, parameters).known


def parameters_of_file(name: str, env_id: str | None, given: Any) -> dict[str, Any]:
    """The parameters a file tells, checked as if a user had given them: no other option in a file reaches Gymnasium."""
    if given == {}:
        return {}
    if name not in CATALOG or env_id not in (None, CATALOG[name].env_id):
        raise SpaqlError(f"parameters go with the problems of the catalog, not with {echoed(name)}")
    return dict(make_from_catalog(name, given).parameters)


def from_plant(
    reset: PlantFunction,
    step: PlantFunction,
    *,
    state: Sequence[Axis],
    actions: Continuous | Finite,
    horizon: int,
    observe: PlantFunction | None = None,
    reference: Sequence[float] | None = None,
    name: str = "own plant",
    rollouts: int = 20,
    parameters: Mapping[str, float | Between] | None = None,
    reward: Callable[..., float] | None = None,
    terminated: Callable[..., bool] | None = None,
    limits: Sequence[Limit] = (),
    ends: str = "",
    features: Any = None,
) -> Problem:
    """A problem from your own equations (functions decorated with `@spaql.reset`, `@spaql.step`, `@spaql.observe`).

    - `parameters`: numbers, or ranges drawn at every reset, for the arguments of these functions with that name
    - `reward`, `terminated`: what a learner may know, as plain functions of observation, action and next observation;
      checked against the plant on random steps
    - `limits`: on observed variables and action axes, counted in every evaluation
    - `ends`: "failure" or "success", what it means that the plant ends an episode; evaluations and certificates count
      failures by it
    - `features`: variables that are formulas of others, by name (docs/features.md)
    """
    if not isinstance(actions, Continuous | Finite):
        raise SpaqlError(f"actions is a spaql.Continuous or a spaql.Finite, not {type(actions).__name__}")
    given = parameters_by_name({} if parameters is None else parameters)
    plant = with_parameters(reset, step, observe, actions.axes, given)
    return problem_of(
        plant, given, state, actions, horizon, reference, name, rollouts, limits, ends, reward, terminated, features
    )


def problem_of(
    plant: Plant, given: Mapping[str, Value], state: Sequence[Axis], actions: Continuous | Finite, horizon: int,
    reference: Sequence[float] | None, name: str, rollouts: int, limits: Sequence[Limit], ends: str,
    reward: Callable[..., float] | None = None, terminated: Callable[..., bool] | None = None, features: Any = None,
) -> Problem:  # fmt: skip
    """Around a plant of the user's, with these parameters."""
    state = items("`state`", state)
    if len(state) != plant.observation_dim:
        raise SpaqlError(f"the plant shows {plant.observation_dim} variables, but `state` describes {len(state)}")
    summary = "a plant of your own" + (f" with {parameter_text(given)}" if given else "")
    try:
        held = None if reference is None else tuple(np.atleast_1d(reference).tolist())
    except ValueError as error:  # ragged
        raise SpaqlError(f"the reference must be {len(state)} numbers, not {echoed(reference)}") from error
    problem = Problem(
        name, summary, tuple(state), actions, horizon, plant=plant, rollouts=rollouts, reference=held,
        known=known_outcome(reward, terminated, state, actions), ends=ends,
        dt=None if plant.flow is None else plant.flow.dt,
    )  # fmt: skip
    if problem.known is not None:
        check_with_plant(problem)
    problem = with_features(problem, features)
    return problem if isinstance(limits, tuple) and not limits else limited(problem, limits)


def parameters_by_name(parameters: Any) -> dict[str, Value]:
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        such = "{'mass': spaql.Between(0.4, 0.6)}"
        raise SpaqlError(f"parameters are names with numbers or ranges, such as {such}, not {echoed(parameters)}")
    return {name: value if isinstance(value, Between) else real(name, value) for name, value in parameters.items()}
