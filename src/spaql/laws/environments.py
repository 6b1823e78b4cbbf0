"""Episodes of laws in Gymnasium environments: one in this process, or one in each of several worker processes.

An episode is known by its seed, so it is the same whoever runs it, and results are put together in the order in which
they were asked for: the number of processes changes nothing but the time.
"""

import contextlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import machine_code
from spaql.ground.errors import SpaqlError
from spaql.ground.workers import worker_processes
from spaql.plants.answers import begun, steps
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree, decide_row

REAL: Any = (int, float, np.number, np.bool_, np.ndarray)  # what environments return as rewards


@dataclass(frozen=True, eq=False)
class Job:
    """One episode to run."""

    tree: Tree
    seed: int
    horizon: int
    forced: Array | None = None  # (steps, axes) applied instead of what the tree says, as long as they reach
    states: bool = False  # observations, leaves and actions are wanted too


@dataclass(frozen=True, eq=False)
class Rollout:
    """What came of an episode. `moments`: count of observations, their mean and spread; see `Running`."""

    total: float
    steps: int
    ended: bool  # terminated by the environment, before its time was over
    moments: tuple[Array, Array, Array, Array]  # mean, sum of squared deviations, lowest, highest observation
    states: Array  # (steps + 1, variables) if they were asked for, the last one after the last step; else empty
    leaves: Array  # (steps,)
    actions: Array  # (steps, axes)


def roll_out(problem: Problem, env: Any, job: Job) -> Rollout:
    """One episode, one call of machine code per step."""
    tree, d, axes = job.tree, len(problem.state), problem.actions.axes
    native, action, controller = problem.native_one(), np.zeros(axes), tree.controller
    seen, leaves = np.empty((job.horizon + 1, d)), np.empty(job.horizon, np.int64)
    actions = np.empty((job.horizon if job.states else 0, axes))
    decide = machine_code(decide_row, controller, seen, 0, action)
    observation, forced = begun(env.reset(seed=job.seed)), 0 if job.forced is None else len(job.forced)
    _keep(observation, seen, 0, job.seed)
    total, step, ended = 0.0, 0, False

    def act(_: Any, step: int) -> Array:
        leaves[step] = decide(controller, seen, step, action)
        if step < forced:
            action[:] = job.forced[step]  # type: ignore[index]
        if job.states:
            actions[step] = action
        return action

    for _, _, after, reward, terminated in steps(env, act, observation, job.horizon, native):
        if not isinstance(reward, REAL) or not abs(reward) <= HUGE:
            where = f"reset(seed={job.seed}), step {step}"
            raise SpaqlError(f"the environment returned the reward {reward}: rewards are finite numbers ({where})")
        total, step, ended = total + float(reward), step + 1, terminated
        _keep(after, seen, step, job.seed)
    used = seen[:step]
    if not (np.abs(seen[: step + 1]) <= HUGE).all():
        at = int(np.flatnonzero(~(np.abs(seen[: step + 1]) <= HUGE).all(axis=1))[0])
        raise _bad_observation(seen[at], d, job.seed, at)
    mean = used.mean(axis=0)
    moments = mean, ((used - mean) ** 2).sum(axis=0), used.min(axis=0), used.max(axis=0)
    shown = (seen[: step + 1], leaves[:step], actions[:step]) if job.states else (seen[:0], leaves[:0], actions[:0])
    return Rollout(total, step, ended, moments, *(part.copy() for part in shown))


def _keep(observation: Any, seen: Array, step: int, seed: int) -> None:
    if np.shape(observation) != seen.shape[1:]:
        raise _bad_observation(observation, seen.shape[1], seed, step)
    try:
        seen[step] = observation
    except (TypeError, ValueError) as error:
        raise _bad_observation(observation, seen.shape[1], seed, step) from error


def _bad_observation(observation: Any, d: int, seed: int, step: int) -> SpaqlError:
    said = np.array2string(np.asarray(observation), threshold=20)
    where = f"reset(seed={seed}), step {step}"
    return SpaqlError(f"the environment's observation ({where}) is {said}: expected {d} finite numbers")


class Environments:
    """What runs episodes. Worker processes begin with the first of them and end with `close`."""

    def __init__(self, problem: Problem, jobs: int = 1) -> None:
        self.problem, self.jobs = problem, jobs
        self.env = problem.open_env()
        self.pool: ProcessPoolExecutor | None = None
        self.exits = contextlib.ExitStack()

    def close(self) -> None:
        self.pool = None
        self.exits.close()

    def roll_out(self, jobs: Sequence[Job]) -> list[Rollout]:
        """Episodes, in the order of the jobs."""
        if self.jobs == 1:
            return [roll_out(self.problem, self.env, job) for job in jobs]
        if self.pool is None:
            self.pool = self.exits.enter_context(worker_processes(self.jobs, _remember, _packed(self.problem)))
        try:
            return list(self.pool.map(_rolled_out, jobs))
        except BrokenProcessPool as error:
            lost = "a worker process died (its environment may have ended it, or memory was short)"
            advice = "what was found so far is kept: learn again to go on, with jobs=1 to see why"
            raise SpaqlError(f"{lost}; {advice}") from error


# -- in a worker -------------------------------------------------------------------------------------------------------

_given: list[bytes] = []
_made: list[tuple[Problem, Any]] = []


def _packed(problem: Problem) -> bytes:
    """The problem as workers get it: with an id they make an environment of their own, else they get a copy."""
    env = None if problem.env_id is not None else problem.open_env()
    try:
        packed: bytes = cloudpickle.dumps(replace(problem, env=env))
    except Exception as error:  # whatever an environment raises that holds a window, a socket, a lock
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        use = "give from_gym its id, or use jobs=1"
        raise SpaqlError(f"{problem.name} cannot be copied to worker processes ({why}): {use}") from error
    return packed


def _remember(packed: bytes) -> None:
    _given[:], _made[:] = [packed], []


def _opened() -> tuple[Problem, Any]:
    if not _made:
        problem: Problem = cloudpickle.loads(_given[0])
        env = problem.env
        if env is None:
            env = gymnasium.make(str(problem.env_id), **(problem.env_options or problem.parameters))
        _made.append((replace(problem, env=env), env))
    return _made[0]


def _rolled_out(job: Job) -> Rollout:
    """Errors come back in a form that can be copied, whatever an environment raises."""
    try:
        problem, env = _opened()
        return roll_out(problem, env, job)
    except SpaqlError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise SpaqlError(f"the environment raised in a worker process: {said}") from error
