"""Any Gymnasium environment as a problem."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import flag, items, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.answers import begun, flattened, labelled, observed, steps, takes_seed
from spaql.plants.catalog import ends_of
from spaql.plants.check import random_steps
from spaql.plants.environment import PlantEnv
from spaql.plants.featured import with_features
from spaql.plants.known import KnownOutcome, check_known, known_outcome
from spaql.plants.limits import Limit
from spaql.plants.problem import SHORTEST, UNBOUNDED, Axis, Continuous, Finite, Problem
from spaql.plants.statements import check_starts

MEASURE = 500  # random steps that measure the reach of unbounded variables, at most
PROBE_EPISODES = 20  # in so many episodes, at most
PROBE_STARTS = 5  # and at least in so many
# Wrappers that Gymnasium puts around everything it makes: they change no reward
SKIPPING = gymnasium.wrappers.MaxAndSkipObservation  # its steps are several of the environment
USUAL = (gymnasium.wrappers.OrderEnforcing, gymnasium.wrappers.PassiveEnvChecker, gymnasium.wrappers.TimeLimit)


def from_gym(
    env: "str | gymnasium.Env[Any, Any]",
    horizon: int | None = None,
    state_low: Sequence[float | None] | None = None,
    state_high: Sequence[float | None] | None = None,
    *,
    slopes: Sequence[float | None] | None = None,
    reference: Sequence[float] | None = None,
    clip: bool = False,
    rollouts: int | None = None,
    reward: Callable[..., float] | None = None,
    terminated: Callable[..., bool] | None = None,
    limits: Sequence[Limit] | None = None,
    ends: str | None = None,
    names: Sequence[str] | bool | None = None,
    units: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
    action_units: Sequence[str] | None = None,
    flatten: bool = False,
    measure: int = MEASURE,
    features: Any = None,
    **options: Any,
) -> Problem:
    """A problem from a Gymnasium id or environment: Box observations (one axis), Box or Discrete actions.

    - `horizon`: steps per episode (default: the environment's own limit)
    - `state_low`, `state_high`: bounds per variable, None to keep the environment's; needed only where it declares none
    - `slopes`: of the tanh map per variable, None for a linear map or a measured slope. Unbounded variables without
      slope are measured in random episodes, which count as training samples (`problem.map_samples`)
    - `measure`: the largest number of these random steps
    - `clip`: observations outside their bounds move to the edge instead of being an error
    - `reward`, `terminated`: what a learner may know, as plain functions of numbers: those of the observation, of the
      action, of the next observation. They are checked on 200 random steps, which are not counted
    - `limits`: on observed variables and action axes, counted in every evaluation
    - `ends`: "failure" or "success", what it means that the environment ends an episode; evaluations and certificates
      count failures by it (default: known of Gymnasium's classic control only)
    - `names`, `units`, `action_names`, `action_units`: a text per observed variable and per action axis; `names=True`
      for those of Gymnasium's documentation (classic control, LunarLander, some of MuJoCo)
    - `flatten`: observations in a Dict, a Tuple or a Box of several axes become one vector, named by their keys
    - `features`: variables that are formulas of others, by name (docs/features.md)
    - `options` are passed on to `gymnasium.make`
    """
    whole("measure", measure, 1, 10**7)
    opened, keys = _open(env, options, flag("flatten", flatten))
    takes_seed(opened)
    maps = (state_low, state_high, slopes)
    given: dict[str, Any] = {
        "env": opened,
        # by its id alone it would be made again without our wrapper
        "env_id": env if isinstance(env, str) and keys is None else None,
        "clip": clip,
        "dt": _step_time(opened),
    }
    given |= {} if reference is None else {"reference": tuple(items("reference", reference))}
    given |= {} if rollouts is None else {"rollouts": rollouts}
    own, spaces = opened.unwrapped, (opened.observation_space, opened.action_space)
    if isinstance(own, PlantEnv) and spaces == (own.observation_space, own.action_space):
        problem = _own_problem(own.problem, horizon, maps, given)
    else:
        registered = opened.spec.id if opened.spec is not None else type(own).__name__
        name, actions = env if isinstance(env, str) else registered, _actions(opened.action_space)
        state, samples = _axes(opened, maps, keys, measure)
        steps = opened.spec.max_episode_steps if horizon is None and opened.spec is not None else horizon
        if steps is None:
            raise SpaqlError("this environment has no step limit: give horizon=...")
        given |= {"env_options": options, "map_samples": samples}
        problem = Problem(name, f"Gymnasium's {name}", state, actions, steps, **given)
    words = (names, units, action_names, action_units)
    state, actions = labelled(problem.name, problem.state, problem.actions, *words)
    limited, meaning = () if limits is None else limits, ends_of(problem) if ends is None else ends
    problem = replace(problem, state=state, actions=actions, ends=meaning)
    known = known_outcome(reward, terminated, problem.state, problem.actions)
    if known is not None:
        problem = replace(problem, known=known)
        _check(problem, env, options, flatten)
    problem = replace(with_features(problem, features), limits=limited)
    check_starts(problem, problem.limits)
    return problem


def _check(problem: Problem, env: Any, options: dict[str, Any], flatten: bool) -> None:
    """What is known of the problem, on random steps."""
    if isinstance(env, str):  # fresh, so that the check leaves no trace
        with _open(env, options, flatten)[0] as other:
            check_known(problem, *random_steps(problem, other))
    else:
        check_known(problem, *random_steps(problem, problem.open_env()))


def _step_time(env: "gymnasium.Env[Any, Any]") -> float | None:
    """Seconds per step, where the environment or a wrapper says so, as those of MuJoCo and FMUs do (`dt`).

    Wrappers of others may repeat actions: what is inside of them does not tell the time of a step.
    """
    inner: Any = env
    while not hasattr(inner, "dt") and isinstance(inner, gymnasium.Wrapper) and not isinstance(inner, SKIPPING):
        if not type(inner).__module__.startswith(("gymnasium.", "spaql.")):
            break
        inner = inner.env
    dt = getattr(inner, "dt", None)
    sound = isinstance(dt, int | float | np.floating) and not isinstance(dt, bool) and SHORTEST <= dt <= 1 / SHORTEST
    return float(dt) if sound else None  # type: ignore[arg-type]


def _own_problem(
    ours: Problem, horizon: int | None, maps: tuple[Any, ...], given: dict[str, Any]
) -> Problem:
    """Our own plant as an environment keeps its maps: Gymnasium's loop and the compiled one agree to the bit."""
    if any(ends is not None for ends in maps):
        raise SpaqlError(
            f"{ours.name} comes with its own map: state_low, state_high and slopes are for other environments"
        )
    if horizon is not None and horizon > ours.horizon:
        raise SpaqlError(f"{ours.name} ends after {ours.horizon} steps: a horizon of {horizon} cannot be reached")
    steps = ours.horizon if horizon is None else horizon
    return replace(ours, plant=None, horizon=steps, known=_known(given["env"], ours), **given)


def _known(env: "gymnasium.Env[Any, Any]", ours: Problem) -> KnownOutcome | None:
    """What is known of our plant, unless a wrapper may pay something else."""
    while isinstance(env, gymnasium.Wrapper):
        if type(env) not in USUAL:
            return None
        env = env.env
    return ours.known


def _open(env: Any, options: dict[str, Any], flatten: bool) -> "tuple[gymnasium.Env[Any, Any], list[str] | None]":
    """The environment, and the names of its variables if its observations had to be flattened."""
    if not isinstance(env, str | gymnasium.Env):
        raise SpaqlError(f"from_gym takes a Gymnasium id or environment, not {type(env).__name__}")
    if isinstance(env, gymnasium.Env) and options:
        raise SpaqlError(f"options {', '.join(options)} go with an environment id, not with an environment")
    try:
        opened = gymnasium.make(env, **options) if isinstance(env, str) else env
    except Exception as error:  # the constructor may raise anything: its package may be missing, its options wrong
        raise SpaqlError(f"gymnasium cannot make {echoed(env)}: {error}") from error
    return flattened(opened) if flatten else (opened, None)


def _actions(space: Any) -> Continuous | Finite:
    if isinstance(space, gymnasium.spaces.Discrete):
        return Finite(tuple(range(int(space.start), int(space.start) + int(space.n))))
    if isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1 and np.issubdtype(space.dtype, np.floating):
        return Continuous(tuple(float(v) for v in space.low), tuple(float(v) for v in space.high))
    raise SpaqlError(f"actions must be Discrete, or a Box of floats with one axis, not {space}")


def _axes(
    env: "gymnasium.Env[Any, Any]", maps: tuple[Any, ...], keys: list[str] | None, measure: int
) -> tuple[tuple[Axis, ...], int]:
    space = env.observation_space
    if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
        raise SpaqlError(f"observations must be a Box with one axis, not {space}: give flatten=True, or wrap it")
    d = space.shape[0]
    names = [f"x{j}" for j in range(d)] if keys is None else keys
    low = _override("state_low", maps[0], space.low.astype(float), d)
    high = _override("state_high", maps[1], space.high.astype(float), d)
    slope = _override("slopes", maps[2], np.full(d, np.nan), d)
    open_ended = (np.abs(low) >= UNBOUNDED) | (np.abs(high) >= UNBOUNDED)
    unknown = open_ended & np.isnan(slope)
    centre, samples = np.zeros(d), 0
    if unknown.any():
        centre, reach, samples = _probe(env, names, measure)
        slope[unknown] = 1.0 / reach[unknown]
        centre[~unknown] = 0.0
    axes = []
    for j in range(d):
        if np.isnan(slope[j]):
            axes.append(Axis(names[j], float(low[j]), float(high[j])))
        else:
            axes.append(Axis(names[j], slope=float(slope[j]), centre=float(centre[j])))
    return tuple(axes), samples


def open_ended(env_id: str, flatten: bool = False) -> list[bool]:
    """For every variable that an environment shows, whether it declares no bounds of it."""
    with _open(env_id, {}, flatten)[0] as env:
        low, high = (getattr(env.observation_space, name) for name in ("low", "high"))
    unbounded: list[bool] = ((np.abs(low) >= UNBOUNDED) | (np.abs(high) >= UNBOUNDED)).tolist()
    return unbounded


def _override(name: str, given: Any, default: Array, d: int) -> Array:
    if given is None:
        return default
    try:
        values = [default[j] if value is None else float(value) for j, value in enumerate(given)]
    except (TypeError, ValueError) as error:
        raise SpaqlError(f"{name} must be {d} numbers or None, not {echoed(given)}") from error
    if len(values) != d:
        raise SpaqlError(f"{name} must have {d} entries, one per observed variable, not {len(values)}")
    return np.array(values)


def _probe(env: "gymnasium.Env[Any, Any]", names: list[str], measure: int) -> tuple[Array, Array, int]:
    """Centre and reach of every variable in random episodes, and the steps they took. Always the same episodes.

    Beyond its reach a variable is still told apart by the tanh map, so that a few hundred steps are enough.
    """
    space, longest = env.action_space, -(-measure // PROBE_STARTS)
    rng = np.random.default_rng(0)
    seen: list[Array] = []
    count = 0

    def act(_: Any, step: int) -> Any:
        if isinstance(space, gymnasium.spaces.Discrete):
            return int(space.start) + int(rng.integers(int(space.n)))
        return rng.uniform(space.low, space.high).astype(space.dtype)  # type: ignore[attr-defined]

    for episode in range(PROBE_EPISODES):
        observation = begun(env.reset(seed=episode))
        seen.append(observed(names, observation, f"measuring its map, random episode {episode}, step 0"))
        for step, (_, _, after, *_) in enumerate(steps(env, act, observation, min(measure - count, longest)), 1):
            seen.append(observed(names, after, f"measuring its map, random episode {episode}, step {step}"))
            count += 1
    table = np.array(seen)
    centre = np.median(table, axis=0)
    reach = np.abs(table - centre).max(axis=0)
    return centre, np.where(reach > 0, reach, 1.0), count
