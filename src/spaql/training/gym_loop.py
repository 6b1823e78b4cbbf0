"""Training and evaluation in a Gymnasium environment, with the same compiled steps and the same random streams as on compiled plants.

On one of our own plants wrapped as an environment, this loop and the compiled one agree to the last bit.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.learners import aql_steps, spaql_steps
from spaql.learners.predicting import act_once
from spaql.learners.state import copied, merge_forest
from spaql.partition.forest import ARMS, SPLITS
from spaql.partition.greedy import Greedy, Scratch, new_greedy, new_scratch
from spaql.plants.chart import HUGE
from spaql.plants.problem import Finite
from spaql.training.history import COLUMNS
from spaql.training.loops import BEST_SEEN, EVALUATED, EVALUATION, LEAVES, TEMPERATURE, TRAINED
from spaql.training.outer import BEST_ARMS, BEST_RETURN, EVAL_SAMPLES, KEEP, RESET, TAU, TRAIN_SAMPLES, judge
from spaql.training.outer import begin as outer_begin
from spaql.training.rollouts import mean_return

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


class GymLoop:
    """Trains one agent in its environment, one iteration at a time. An iteration that fails or is stopped leaves no trace."""

    def __init__(self, agent: "Agent", rollouts: int, stop: threading.Event) -> None:
        self.agent, self.stop = agent, stop
        self.returns = np.empty(rollouts)
        self.env = agent.problem.open_env()

    def run(self, iterations: int) -> Array:
        state = self.agent.state
        row = np.zeros((1, len(COLUMNS)))
        before = copied(state.trainee, state.space), state.outer.copy()
        done = False
        try:
            done = self._iterate(len(state.history), row[0])
        finally:
            if not done:
                alone = state.trainee is state.forest
                state.trainee, samples = before[0], state.outer[TRAIN_SAMPLES : EVAL_SAMPLES + 1].copy()
                state.forest = state.trainee if alone else state.forest
                state.outer[:] = before[1]
                state.outer[TRAIN_SAMPLES : EVAL_SAMPLES + 1] = samples  # they were used, whatever came of it
                state.greedy = None
        return row[: int(done)]

    def _iterate(self, at: int, row: Array) -> bool:
        agent, state, outer = self.agent, self.agent.state, self.agent.state.outer
        spaql = not agent.per_step
        if spaql and np.isnan(outer[BEST_RETURN]):
            first = self._evaluate(self._merged(), at)
            if first is None:
                return False
            outer_begin(outer, first, int(state.trainee.size[ARMS]))
        before = len(state.trainee.balls)
        scratch = state.make_room(agent.room(state.space.horizon))
        if spaql or len(state.trainee.balls) != before:
            state.greedy = None
        tau, splits = float(outer[TAU]), int(state.trainee.size[SPLITS])
        steps = SpaqlEpisode(agent, scratch) if spaql else AqlEpisode(agent, scratch)
        if not self._train(steps, at):
            return False
        evaluation = self._evaluate(self._merged() if spaql else state.policy(agent.chart), at + 1)
        if evaluation is None:
            return False
        arms = int(state.trainee.size[ARMS])
        best, kept = evaluation, arms
        if spaql:
            options = agent.options
            published = options["temperature_rule"] == "published"
            verdict = judge(outer, evaluation, arms, int(state.trainee.size[SPLITS]) - splits, options["tau_min"], options["d"], published)
            if verdict == KEEP:
                state.forest = copied(state.trainee, state.space)
            elif verdict == RESET:
                state.trainee = copied(state.forest, state.space)
            best, kept = outer[BEST_RETURN], int(outer[BEST_ARMS])
        row[EVALUATION], row[BEST_SEEN], row[LEAVES], row[TEMPERATURE] = evaluation, best, kept, tau if spaql else 0.0
        row[TRAINED], row[EVALUATED] = outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES]
        return True

    def _train(self, steps: "SpaqlEpisode | AqlEpisode", at: int) -> bool:
        """One training episode. False if it was stopped."""
        agent, outer, horizon = self.agent, self.agent.state.outer, self.agent.problem.horizon
        view = Viewer(agent, f"iteration {at + 1}, training episode")
        native, dtype = action_maker(agent), observation_dtype(self.env)
        steps.key = streams.key_of(agent.seed, streams.TRAIN_ACTION, at)
        observation, _ = self.env.reset(seed=int(streams.plant_seed(agent.seed, streams.TRAIN_PLANT, at)))
        bad = steps.first(np.array(view.check(observation, 0), dtype))
        view.complain(bad, observation, 0)
        for h in range(horizon):
            if self.stop.is_set():
                return False
            observation, reward, terminated, truncated, _ = self.env.step(native(steps.action))
            outer[TRAIN_SAMPLES] += 1
            bad = steps.next(h + 1, np.array(view.check(observation, h + 1), dtype), view.reward(reward, h), bool(terminated))
            view.complain(bad, observation, h + 1)
            if terminated or truncated:
                break
        return True

    def _merged(self) -> Greedy:
        """The greedy policy of the trainee."""
        agent, state = self.agent, self.agent.state
        greedy = new_greedy(state.space, state.trainee)
        merge_forest(state.trainee, state.space, agent.chart, greedy, state.scratch or new_scratch(state.space, state.trainee))
        return greedy

    def _evaluate(self, greedy: Greedy, at: int) -> float | None:
        """Mean return of a greedy policy; None if it was stopped."""
        agent, state = self.agent, self.agent.state
        purposes = (streams.SELECT_PLANT, streams.SELECT_ACTION)
        steps = _roll(agent, self.env, greedy, agent.seed, purposes, at, False, self.returns, self.stop)
        state.outer[EVAL_SAMPLES] += abs(steps)
        return float(mean_return(self.returns)) if steps >= 0 else None


def play_gym(agent: "Agent", seed: int, purposes: tuple[int, int], iteration: int, deterministic: bool, returns: Array) -> int:
    """Rollouts of the agent's greedy policy; fills `returns`, gives the steps."""
    env, greedy = agent.problem.open_env(), agent.state.policy(agent.chart)
    return _roll(agent, env, greedy, seed, purposes, iteration, deterministic, returns, None)


def _roll(
    agent: "Agent", env: Any, greedy: Greedy, seed: int, purposes: tuple[int, int], iteration: int, deterministic: bool,
    returns: Array, stop: threading.Event | None,
) -> int:  # fmt: skip
    """Rollouts one after the other. Returns their steps, negative if it was stopped."""
    space, chart, horizon = agent.state.space, agent.chart, agent.problem.horizon
    sizes = (space.d, space.k, space.m, space.trees)
    fixed = (sizes, chart.axes, chart.acts, chart.values, greedy.jump, greedy.cells, greedy.centre)
    work = np.zeros(space.d + max(space.k, 1))
    native = action_maker(agent)
    action, step = work[space.d :], env.step
    key = streams.key_of(seed, purposes[1], iteration)
    dtype, shape = observation_dtype(env), (space.d,)
    strides = (dtype.itemsize,)
    act = entry_point(act_once, dtype, *fixed, np.zeros(space.d, dtype), key, 0, deterministic, work)
    steps = 0
    for j in range(len(returns)):
        if stop is not None and stop.is_set():
            return -max(steps, 1)
        view = Viewer(agent, f"iteration {iteration}, rollout {j}" if purposes[0] == streams.SELECT_PLANT else f"rollout {j}")
        observation, _ = env.reset(seed=int(streams.plant_seed(seed, purposes[0], iteration))) if j == 0 else env.reset()
        observation = view.check(observation, 0)
        mine, total = streams.sub_key(key, j), 0.0
        for h in range(horizon):
            if not (
                type(observation) is np.ndarray
                and observation.shape == shape
                and observation.dtype == dtype
                and observation.strides == strides
            ):
                observation = np.array(view.check(observation, h), dtype)
            bad = act(*fixed, observation, mine, h, deterministic, work)
            if bad >= 0:
                view.complain(bad, observation, h)
            observation, reward, terminated, truncated, _ = step(native(action))
            total += reward if type(reward) is float else view.reward(reward, h)
            if terminated or truncated:
                break
        steps += h + 1
        returns[j] = view.reward(total, h)
    return steps


_entry_points: dict[tuple[Any, np.dtype[Any]], Callable[..., int]] = {}


def entry_point(function: Any, dtype: np.dtype[Any], *arguments: Any) -> Callable[..., int]:
    """The machine code of a kernel for observations of this type, called without looking at types again: a third of the time.

    Whoever calls it must give it arguments of exactly these types; `dtype` is the only one that ever differs.
    """
    known = function, dtype
    if known not in _entry_points:
        types = tuple(numba.typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]
        function.compile(types)
        _entry_points[known] = function.get_overload(types)
    return _entry_points[known]


class Viewer:
    """Checks what an environment returns, before compiled code reads it."""

    def __init__(self, agent: "Agent", where: str) -> None:
        self.agent, self.where, self.shape = agent, where, (len(agent.problem.state),)

    def check(self, observation: Any, step: int) -> Array:
        if type(observation) is np.ndarray and observation.shape == self.shape and observation.dtype.char in "df":
            return observation if observation.flags.c_contiguous else observation.copy()
        try:
            array = np.asarray(observation, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            where = f"{self.where}, step {step}"
            raise SpaqlError(f"the environment returned an observation that is not an array of numbers ({where})") from error
        if array.shape != self.shape:
            raise SpaqlError(
                f"the environment returned an observation of shape {array.shape}, declared was {self.shape} ({self.where}, step {step})"
            )
        return np.ascontiguousarray(array)

    def reward(self, reward: Any, step: int) -> float:
        try:
            value = float(reward.item() if isinstance(reward, np.ndarray) else reward)
        except (TypeError, ValueError, OverflowError) as error:
            raise SpaqlError(f"the environment returned the reward {reward!r}, not a number ({self.where}, step {step})") from error
        if not abs(value) <= HUGE:
            raise SpaqlError(f"the environment returned the reward {value}: rewards must be finite ({self.where}, step {step})")
        return value

    def complain(self, bad: int, observation: Any, step: int) -> None:
        self.agent.observation_error(bad, observation, f"the environment's observation ({self.where}, step {step})")


def observation_dtype(env: Any) -> np.dtype[Any]:
    """What observations are handed on as: single precision stays so, everything else becomes double."""
    return np.dtype(np.float32 if env.observation_space.dtype == np.float32 else np.float64)


def action_maker(agent: "Agent") -> Callable[[Array], Any]:
    """Physical actions in the form the environment takes."""
    actions = agent.problem.actions
    if isinstance(actions, Finite) and not actions.box:
        return lambda action: int(action[0])
    dtype = agent.problem.action_dtype
    return lambda action: action.astype(dtype)


class SpaqlEpisode:
    """One training episode of SPAQL or SPAQL-TS, fed from outside."""

    def __init__(self, agent: "Agent", scratch: Scratch) -> None:
        self.action = np.zeros(max(agent.state.space.k, 1))
        self.key = np.uint64(0)
        self.tau = float(agent.state.outer[TAU])
        self.known = agent.state.trainee, agent.state.space, agent.chart
        self.rule, self.scratch = agent.rule, scratch

    def first(self, observation: Array) -> int:
        return int(spaql_steps.first_step(*self.known, self.scratch, self.tau, self.key, observation, self.action))

    def next(self, step: int, observation: Array, reward: float, terminated: bool) -> int:
        arguments = (
            *self.known, self.rule, self.scratch, self.tau, self.key, step, observation, reward, terminated, self.action
        )  # fmt: skip
        return entry_point(spaql_steps.next_step, observation.dtype, *arguments)(*arguments)


class AqlEpisode:
    """One training episode of AQL, NBQL or ZoomRL, fed from outside."""

    def __init__(self, agent: "Agent", scratch: Scratch) -> None:
        self.action = np.zeros(max(agent.state.space.k, 1))
        self.key = np.uint64(0)
        self.known = agent.state.forest, agent.state.space, agent.chart
        self.greedy, self.rule, self.scratch = agent.state.policy(agent.chart), agent.rule, scratch

    def first(self, observation: Array) -> int:
        return int(aql_steps.first_step(*self.known, self.greedy, self.scratch, self.key, observation, self.action))

    def next(self, step: int, observation: Array, reward: float, terminated: bool) -> int:
        arguments = (
            *self.known, self.rule, self.greedy, self.scratch, self.key, step, observation, reward, terminated, self.action
        )  # fmt: skip
        return entry_point(aql_steps.next_step, observation.dtype, *arguments)(*arguments)
