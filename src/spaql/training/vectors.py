"""Evaluation in Gymnasium's vector environments: many episodes at once, the same returns as one after the other."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from spaql.ground.checks import flag, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.environment import PlantEnv
from spaql.policy.evaluation import Evaluation
from spaql.training.tally import Counter, counted, new_tally

if TYPE_CHECKING:
    from spaql.plants.problem import Problem

MakeEnv = Callable[[], "gymnasium.Env[Any, Any]"]


def evaluate_vector(
    agent: Any, make_env: str | MakeEnv | None = None, episodes: int = 100, n_envs: int = 4, *, seed: int = 0,
    deterministic: bool = True, asynchronous: bool = False, horizon: int | None = None,
) -> Evaluation:  # fmt: skip
    """Episodes in `n_envs` copies of an environment at once.

    Episode i begins with `reset(seed=seed + i)`, whichever copy it runs in.

    - `agent`: anything with Stable-Baselines3's `predict`: a learner, a policy, a tree, a model of another library
    - `make_env`: a function that makes a new environment, or a Gymnasium id (default: the agent's problem)
    - `asynchronous`: each copy in a process of its own; worth it only for slow environments
    - `deterministic` False: the returns then depend on `n_envs`, because the copies share one stream of random actions
    - `horizon`: steps per episode at most (default: that of the agent's problem)
    """
    problem = getattr(agent, "problem", None)
    if not callable(getattr(agent, "predict", None)):
        raise SpaqlError(f"evaluate_vector takes something with a predict method, not {type(agent).__name__}")
    count, width = whole("episodes", episodes, 1, 10**8), whole("n_envs", n_envs, 1, 10_000)
    first, certain = whole("seed", seed, 0), flag("deterministic", deterministic)
    most = whole("horizon", horizon if horizon is not None else getattr(problem, "horizon", 10**9), 1)
    envs = _open(_maker(make_env, problem), min(width, count), flag("asynchronous", asynchronous))
    try:
        evaluation = _run(agent, problem, envs, count, first, certain, most)
    except BaseException:
        envs.close(**({"terminate": True} if asynchronous else {}))  # its processes may be in the middle of a step
        raise
    envs.close()
    return evaluation


def _run(
    agent: Any, problem: "Problem | None", envs: Any, episodes: int, seed: int, deterministic: bool, horizon: int
) -> Evaluation:
    n = envs.num_envs
    # another library's model does not say what its numbers are: then there are only returns
    counter = None if problem is None else Counter(problem, new_tally(problem, episodes))
    returns, samples = np.zeros(episodes), 0
    number, following = np.arange(n), n  # the episode of every copy (`episodes` or more: idle), and the next to begin
    steps = np.zeros(n, np.int64)
    seen, _ = envs.reset(seed=[seed + int(i) for i in number])
    started, state = np.ones(n, bool), None
    while (number < episodes).any():
        actions, state = agent.predict(seen, state=state, episode_start=started, deterministic=deterministic)
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        busy = number < episodes
        if not np.isfinite(rewards[busy]).all():
            raise SpaqlError(f"an environment returned the reward {rewards[busy].tolist()}: rewards must be finite")
        returns[number[busy]] += rewards[busy]
        if counter is not None:
            for i in np.flatnonzero(busy):
                counter.step(int(number[i]), np.ravel(actions[i]), seen[i], float(rewards[i]), bool(terminated[i]))
        steps += 1
        samples += int(busy.sum())
        started = terminated | truncated | (steps >= horizon)
        if started.any():
            for i in np.flatnonzero(started):
                number[i], steps[i], following = following, 0, following + 1
            seen, _ = envs.reset(seed=[seed + int(i) for i in number], options={"reset_mask": started})
    if problem is None or counter is None:
        return Evaluation(returns, samples)
    return counted(replace(problem, horizon=min(horizon, problem.horizon)), returns, samples, counter.tally, seed)


def _maker(given: Any, problem: "Problem | None") -> MakeEnv:
    if isinstance(given, str):
        name = given
        return lambda: gymnasium.make(name)
    if callable(given):
        return given  # type: ignore[no-any-return]
    if given is not None:
        raise SpaqlError(
            f"make_env is a function that makes an environment, or a Gymnasium id, not {echoed(given)}: "
            "a copy is made for each place"
        )
    if problem is not None and problem.plant is not None:
        return lambda: PlantEnv(problem)
    if problem is None or problem.env_id is None:
        raise SpaqlError("give the environment: make_env=lambda: ..., or a Gymnasium id")
    env_id, options = problem.env_id, {**problem.env_options, **problem.parameters}
    return lambda: gymnasium.make(env_id, **options)


def _open(make: MakeEnv, n: int, asynchronous: bool) -> Any:
    try:
        from gymnasium.vector import AutoresetMode
    except ImportError as error:
        raise SpaqlError("evaluate_vector needs Gymnasium 1.1 or newer: pip install -U gymnasium") from error
    kind: Any = gymnasium.vector.AsyncVectorEnv if asynchronous else gymnasium.vector.SyncVectorEnv
    try:
        return kind([make] * n, autoreset_mode=AutoresetMode.DISABLED)
    except SpaqlError:
        raise
    except Exception as error:  # whatever its constructor raises
        raise SpaqlError(f"cannot make the environments: {error}") from error
