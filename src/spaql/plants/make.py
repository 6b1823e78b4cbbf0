"""Making problems: by name, or from a plant of your own."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.ground.checks import items, real
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants import parameters as given_parameters
from spaql.plants.assemble import changed, known, plain
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.catalog import CATALOG
from spaql.plants.known import KnownOutcome, known_outcome
from spaql.plants.known_check import check_with_plant
from spaql.plants.limits import Limit
from spaql.plants.parameters import Between, Value, drawn
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem
from spaql.plants.starts import check_starts

# -- a plant of your own with parameters: arguments of its functions that are named like a parameter receive it --------
#
#     def fall(angle, rate, torque, u, mass):       # from_plant(..., parameters={"mass": spaql.Between(0.4, 0.6)})
#         ...
#
# What `reset` draws is kept as a hidden variable behind the state, so that it stays the same for a whole episode.

Parameters = Mapping[str, Value]


def checked(parameters: Any) -> dict[str, Value]:
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        such = "{'mass': spaql.Between(0.4, 0.6)}"
        raise SpaqlError(f"parameters are names with numbers or ranges, such as {such}, not {echoed(parameters)}")
    return {name: value if isinstance(value, Between) else real(name, value) for name, value in parameters.items()}


def with_parameters(
    reset: PlantFunction, step: PlantFunction, observe: PlantFunction | None, action_dim: int, given: Parameters
) -> Plant:
    """The plant with its parameters put in; ranges are drawn by `reset`, from the plant's own random stream.

    def reset(x0, x1, r0):                      def step(x0, x1, d0, x2, x3):
        d0 = drawn(0.4, 0.6, r0)                    after, reward, terminated = act(x0, x1, x2, x3, d0)
        return act(x0, x1, d0) + (d0,)              return after + (d0,), reward, terminated
    """
    functions = [function for function in (reset, step, observe) if isinstance(function, PlantFunction)]
    for name in given:
        if not any(name in _arguments(function) for function in functions):
            told = ", ".join(function.python.__name__ for function in functions)
            raise SpaqlError(
                f"no function of the plant takes the parameter {echoed(name)}: name an argument of {told} like it"
            )
    middle = {name: _middle(value) for name, value in given.items()}
    seen_by = None if observe is None else _filled(observe, middle)
    plant = make_plant(_filled(reset, middle), _filled(step, middle), seen_by, action_dim)
    ranges = [value for value in given.values() if isinstance(value, Between)]
    if ranges:
        size, hidden, r = plant.state_dim, [f"d{k}" for k in range(len(ranges))], [f"r{k}" for k in range(len(ranges))]
        kept = f"({', '.join(hidden)},)"
        free, call = _call(reset, given)
        draws = [f"d{k} = drawn({value.low!r}, {value.high!r}, r{k})" for k, value in enumerate(ranges)]
        started = _made(reset, [*free, *r], *draws, f"return {call} + {kept}")
        free, call = _call(step, given)
        acted = [f"after, reward, terminated = {call}", f"return after + {kept}, reward, terminated"]
        stepped = _made(step, [*free[:size], *hidden, *free[size:]], *acted)
        free, call = ([f"x{j}" for j in range(size)], "") if observe is None else _call(observe, given)
        seen = PlantFunction("observe", drawn) if observe is None else observe  # of the former, only the kind
        observed = _made(seen, [*free, *hidden], f"return {call or '(' + ', '.join(free) + ',)'}")
        plant = make_plant(started, stepped, observed, action_dim)
    return replace(plant, origin=(with_parameters, (reset, step, observe, action_dim, dict(given))))


def _middle(value: Value) -> float:
    return 0.5 * (value.low + value.high) if isinstance(value, Between) else value


def _arguments(function: PlantFunction) -> list[str]:
    return list(inspect.signature(function.python).parameters)


def _filled(function: Any, given: Parameters) -> Any:
    """The function of the arguments that are no parameters. What is no plant function `make_plant` will refuse."""
    if not isinstance(function, PlantFunction):
        return function
    free, call = _call(function, given)
    return _made(function, free, f"return {call}")


def _call(function: PlantFunction, given: Parameters) -> tuple[list[str], str]:
    """The arguments that are no parameters, and the call with numbers in the place of the parameters."""
    free: list[str] = []
    values: list[str] = []
    hidden = [name for name, value in given.items() if isinstance(value, Between)]
    for name in _arguments(function):
        if name not in given:
            free.append(f"x{len(free)}")
            values.append(free[-1])
        else:
            values.append(f"d{hidden.index(name)}" if name in hidden else repr(given[name]))
    return free, f"act({', '.join(values)})"


def _made(function: PlantFunction, arguments: list[str], *lines: str) -> PlantFunction:
    """The text is ours; messages shall name the user's function."""
    scope: dict[str, Any] = {"act": function.python, "drawn": drawn, "__name__": __name__}
    exec(compile("\n    ".join([f"def made({', '.join(arguments)}):", *lines]), __file__, "exec"), scope)
    made = scope["made"]
    made.__name__ = made.__qualname__ = function.python.__name__
    return PlantFunction(function.kind, made)


# -- making problems: by name, or from a plant of your own -------------------------------------------------------------

def make(name: str, *, limits: Sequence[Limit] = (), **parameters: Any) -> Problem:
    """A problem of the catalog by name; `spaql.problems()` lists them.

    - `parameters`: physical ones by name, such as `m=2.0`, and `horizon`, steps per episode (docs/plants.md lists them)
    - `m=spaql.Between(0.8, 1.2)`: a parameter drawn anew at every reset
    - `process_noise={"velocity": 0.1}`: standard deviation of normal noise added to a state variable after every step
    - `observation_noise={"velocity": 0.1}`: of the error with which a variable is observed; a number is a fraction of
      every range
    - `limits=[spaql.Limit("angle", -0.1, 0.1)]`: counted in every evaluation
    """
    problem = make_from_catalog(name, parameters)
    return problem if limits == () else limited(problem, limits)


def limited(problem: Problem, limits: Any) -> Problem:
    """The problem with these limits, each of which holds at some start."""
    made = replace(problem, limits=limits)
    check_starts(made, made.limits)
    return made


def make_from_catalog(name: str, parameters: Mapping[str, Any] | None = None) -> Problem:
    """As `make`. Parameters given as they are published leave no trace; all others are kept with the problem."""
    if not isinstance(name, str) or name not in CATALOG:
        wanted = f"choose one of {', '.join(CATALOG)}, or use spaql.from_gym for a Gymnasium id"
        raise SpaqlError(f"unknown problem {echoed(name)}: {wanted}")
    entry, given = CATALOG[name], {} if parameters is None else parameters
    p = given_parameters.physical(name, given, entry.parameters, entry.ranges, entry.fixed)
    steps = given_parameters.horizon(given, entry.horizon)
    state, actions, reference = entry.interface(given_parameters.widest(p))
    process = given_parameters.process_noise(given, entry.equations.variables)
    errors = given_parameters.observation_noise(given, state)
    kept: dict[str, Any] = {key: value for key, value in p._asdict().items() if value != getattr(entry.parameters, key)}
    if not (kept or process or errors):
        plant = plain(entry.equations, p, actions.axes)
    else:
        seen = [axis.name for axis in state]
        pushes = [(entry.equations.variables.index(variable), spread) for variable, spread in process.items()]
        blurs = [(seen.index(variable), spread) for variable, spread in errors.items()]
        plant = changed(entry.equations, p, actions.axes, state, pushes, blurs)
    kept |= {"horizon": steps} if steps != entry.horizon else {}
    kept |= {key: value for key, value in (("process_noise", process), ("observation_noise", errors)) if value}
    outcome = None if errors else known(entry.equations, p, len(state), actions.axes)
    return Problem(
        name, entry.summary + (f"; changed: {given_parameters.told(kept)}" if kept else ""), state, actions, steps,
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
        raise SpaqlError(f"parameters go with the problems of the catalog, not with {given_parameters.short(name)}")
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
) -> Problem:
    """A problem from your own equations (functions decorated with `@spaql.reset`, `@spaql.step`, `@spaql.observe`).

    - `parameters`: numbers, or ranges drawn at every reset, for the arguments of these functions with that name
    - `reward`, `terminated`: what a learner may know, as plain functions of observation, action and next observation;
      checked against the plant on random steps
    - `limits`: on observed variables and action axes, counted in every evaluation
    - `ends`: "failure" or "success", what it means that the plant ends an episode; evaluations and certificates count
      failures by it
    """
    if not isinstance(actions, Continuous | Finite):
        raise SpaqlError(f"actions is a spaql.Continuous or a spaql.Finite, not {type(actions).__name__}")
    axes, given, state = actions.axes, checked({} if parameters is None else parameters), items("`state`", state)
    plant = with_parameters(reset, step, observe, axes, given) if given else make_plant(reset, step, observe, axes)
    if len(state) != plant.observation_dim:
        raise SpaqlError(f"the plant shows {plant.observation_dim} variables, but `state` describes {len(state)}")
    summary = "a plant of your own" + (f" with {given_parameters.told(given)}" if given else "")
    problem = Problem(
        name, summary, tuple(state), actions, horizon, plant=plant, rollouts=rollouts,
        reference=None if reference is None else tuple(np.atleast_1d(reference).tolist()),
        known=known_outcome(reward, terminated, state, actions), limits=limits, ends=ends,
    )  # fmt: skip
    if problem.known is not None:
        check_with_plant(problem)
    check_starts(problem, problem.limits)
    return problem
