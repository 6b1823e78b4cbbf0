"""The loop of the Q-learners in Gymnasium environments, with the compiled steps and the random streams of `kernels`.

The outer loop stands here a second time, for environments that compiled code cannot call; the first is
`kernels.train_spaql` and `kernels.train_aql`. On one of our own plants wrapped as an environment both agree to the last
bit (tests/training/test_two_loops.py).
"""

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.compiling import machine_code
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.progress import EPISODES, at_work
from spaql.learners import aql_steps, spaql_steps
from spaql.learners.act import Actor, Exploration, Trainee, act_once
from spaql.learners.forest_agent import copied
from spaql.learners.history import add_row
from spaql.learners.outer import BEST_ARMS, BEST_RETURN, EVAL_SAMPLES, KEEP, RESET, TAU, TRAIN_SAMPLES, judge
from spaql.learners.outer import begin as outer_begin
from spaql.partition.forest import ARMS, SPLITS
from spaql.partition.greedy import Greedy, new_greedy
from spaql.partition.merge import merge_all
from spaql.plants.answers import begun, steps, vector
from spaql.plants.chart import HUGE
from spaql.training.lanes import bad_reward, bad_state
from spaql.training.rollouts import mean_return
from spaql.training.tally import Counter

if TYPE_CHECKING:
    from spaql.learners.agent import Agent
    from spaql.learners.forest_agent import ForestAgent


class Viewer:
    """Checks what an environment returns, before compiled code reads it."""

    def __init__(self, agent: "Agent", where: str) -> None:
        self.agent, self.where, self.shape = agent, where, (len(agent.problem.state),)

    def check(self, observation: Any, step: int) -> Array:
        if type(observation) is np.ndarray and observation.shape == self.shape and observation.dtype.char in "df":
            return observation if observation.flags.c_contiguous else observation.copy()
        return vector(self.shape[0], observation, f"{self.where}, step {step}")

    def reward(self, reward: Any, step: int) -> float:
        try:
            value = float(reward.item() if isinstance(reward, np.ndarray) else reward)
        except (TypeError, ValueError, OverflowError) as error:
            raise SpaqlError(
                f"the environment returned the reward {echoed(reward)}, not a number ({self.where}, step {step})"
            ) from error
        if not abs(value) <= HUGE and self.agent.problem.plant is not None:
            raise bad_reward(self.agent.problem, f"{self.where}, step {step}")
        if not abs(value) <= HUGE:
            raise SpaqlError(
                f"the environment returned the reward {value}: rewards must be finite ({self.where}, step {step})"
            )
        return value

    def complain(self, bad: int, observation: Any, step: int) -> None:
        """Raise if a dimension of the observation is bad, which -1 says is not so."""
        if bad >= 0 and self.agent.problem.plant is not None:
            raise bad_state(self.agent.problem, bad, float(observation[bad]), f"{self.where}, step {step}")
        self.agent.observation_error(bad, observation, f"the environment's observation ({self.where}, step {step})")


def observation_dtype(env: Any) -> np.dtype[Any]:
    """The type in which observations are handed on: single precision stays single, all else becomes double."""
    return np.dtype(np.float32 if env.observation_space.dtype == np.float32 else np.float64)


class GymLoop:
    """Trains one agent in its environment. An iteration that fails or is stopped leaves no trace."""

    finished = False

    def __init__(self, agent: "ForestAgent", rollouts: int, stop: threading.Event) -> None:
        self.agent, self.stop = agent, stop
        self.returns = np.empty(rollouts)
        self.env = agent.problem.open_env()

    def run(self, iterations: int) -> int:
        state = self.agent.state
        before = copied(state.trainee, state.space), state.outer.copy()
        done = False
        try:
            done = self._iterate(len(state.history))
        finally:
            if not done:
                alone = state.trainee is state.forest
                state.trainee, samples = before[0], state.outer[TRAIN_SAMPLES : EVAL_SAMPLES + 1].copy()
                state.forest = state.trainee if alone else state.forest
                state.outer[:] = before[1]
                state.outer[TRAIN_SAMPLES : EVAL_SAMPLES + 1] = samples  # the samples were used, whatever came of them
                state.greedy = None
        return int(done)

    def _iterate(self, at: int) -> bool:
        """Iteration `at`, as in `kernels.train_spaql` and `kernels.train_aql`. False if it was stopped."""
        agent, state, outer = self.agent, self.agent.state, self.agent.state.outer
        cooling = agent.cooling
        spaql = cooling is not None
        if spaql and np.isnan(outer[BEST_RETURN]):
            first = self._evaluate(state.greedy_of(state.trainee, agent.chart), at)
            if first is None:
                return False
            outer_begin(outer, first, int(state.trainee.size[ARMS]))
        before = len(state.trainee.balls)
        scratch = state.make_room(agent.room(state.space.horizon))
        if spaql or len(state.trainee.balls) != before:
            state.greedy = None
        tau, splits = float(outer[TAU]) if spaql else 0.0, int(state.trainee.size[SPLITS])
        greedy = new_greedy(state.space, state.trainee) if spaql else state.policy(agent.chart)
        trainee = Trainee(state.space, agent.chart, agent.rule, state.trainee, greedy, scratch)
        if not self._train(trainee, tau, at):
            return False
        if spaql:
            merge_all(state.trainee, state.space, agent.chart, greedy, scratch)
        evaluation = self._evaluate(greedy, at + 1)
        if evaluation is None:
            return False
        arms = int(state.trainee.size[ARMS])
        best, kept = evaluation, float(arms)
        if cooling is not None:
            split = int(state.trainee.size[SPLITS]) - splits
            verdict = judge(outer, evaluation, arms, split, cooling.tau_min, cooling.d, cooling.published)
            if verdict == KEEP:
                state.forest = copied(state.trainee, state.space)
            elif verdict == RESET:
                state.trainee = copied(state.forest, state.space)
            best, kept = float(outer[BEST_RETURN]), float(outer[BEST_ARMS])
        add_row(state, evaluation, best, kept, float(outer[TRAIN_SAMPLES]), float(outer[EVAL_SAMPLES]), tau)
        return True

    def _train(self, trainee: Trainee, tau: float, at: int) -> bool:
        """One training episode. False if it was stopped."""
        agent, outer = self.agent, self.agent.state.outer
        view, native = Viewer(agent, f"iteration {at + 1}, training episode"), agent.problem.native_one()
        exploration = Exploration(streams.key_of(agent.seed, streams.TRAIN_ACTION, at), tau)
        learner = TrainingSteps(trainee, exploration, agent.cooling is None, observation_dtype(self.env))
        observation = begun(self.env.reset(seed=int(streams.plant_seed(agent.seed, streams.TRAIN_PLANT, at))))
        view.complain(learner.first(view.check(observation, 0)), observation, 0)
        episode = steps(self.env, lambda seen, h: learner.action, observation, agent.problem.horizon, native)
        for h, (_, _, after, reward, terminated) in enumerate(episode):
            outer[TRAIN_SAMPLES] += 1
            bad = learner.next(h + 1, view.check(after, h + 1), view.reward(reward, h), terminated)
            view.complain(bad, after, h + 1)
            if self.stop.is_set():
                return False
        return True

    def _evaluate(self, greedy: Greedy, at: int) -> float | None:
        """Mean return of a greedy policy; None if it was stopped."""
        rollouts = selecting(self.agent, at, self.returns)
        samples = roll(self.agent, self.env, greedy, rollouts, self.stop)
        self.agent.state.outer[EVAL_SAMPLES] += abs(samples)
        return float(mean_return(self.returns)) if samples >= 0 else None


class Rollouts(NamedTuple):
    """Rollouts of the greedy policy of an agent."""

    returns: Array  # to be filled
    plant_seed: int
    action_key: np.uint64
    deterministic: bool = False
    when: str = ""  # for messages


def selecting(agent: "ForestAgent", iteration: int, returns: Array) -> Rollouts:
    """Those after so many iterations, by which the best agent is chosen."""
    plant_seed = int(streams.plant_seed(agent.seed, streams.SELECT_PLANT, iteration))
    action_key = streams.key_of(agent.seed, streams.SELECT_ACTION, iteration)
    return Rollouts(returns, plant_seed, action_key, when=f"iteration {iteration}, ")


def roll(
    agent: "ForestAgent", env: Any, greedy: Greedy, rollouts: Rollouts,
    stop: threading.Event | None = None, counter: Counter | None = None,
) -> int:  # fmt: skip
    """Rollouts one after the other. Returns the number of their steps, negative if they were stopped."""
    space, problem = agent.state.space, agent.problem
    returns, plant_seed, key, deterministic, when = rollouts
    actor, native = Actor(space, agent.chart, greedy), problem.native_one()
    x, action = np.zeros(space.d), np.zeros(max(space.k, 1))
    dtype, shape = observation_dtype(env), (space.d,)
    strides = (dtype.itemsize,)
    code = machine_code(act_once, actor, np.zeros(space.d, dtype), key, 0, deterministic, x, action)
    view, mine, samples = Viewer(agent, ""), key, 0

    def act(observation: Any, h: int) -> Array:
        if not (
            type(observation) is np.ndarray
            and observation.shape == shape
            and observation.dtype == dtype
            and observation.strides == strides
        ):
            observation = np.array(view.check(observation, h), dtype)
        bad = code(actor, observation, mine, h, deterministic, x, action)
        if bad >= 0:
            view.complain(bad, observation, h)
        return action

    for j in range(len(returns)):
        if stop is not None and stop.is_set():
            return -max(samples, 1)
        view, mine, total, h = Viewer(agent, f"{when}rollout {j}"), streams.sub_key(key, j), 0.0, 0
        begin = view.check(begun(env.reset(seed=plant_seed) if j == 0 else env.reset()), 0)
        for _, _, after, reward, terminated in steps(env, act, begin, problem.horizon, native):
            earned = reward if type(reward) is float else view.reward(reward, h)
            total += earned
            h += 1
            if counter is not None:
                counter.step(j, action, view.check(after, h), earned, terminated)
        samples += h
        returns[j] = view.reward(total, h - 1)
        if counter is not None:  # of a fresh evaluation; in training the bar counts iterations
            at_work(EPISODES, j + 1, len(returns))
    return samples


class TrainingSteps:
    """The steps of one training episode, fed from outside, by the machine code of the compiled loop.

    There, observations and actions are columns of a table, in double precision: what is compiled for arrays with any
    stride takes others too, and nothing is compiled a second time. Single precision is rounded to `dtype` before.
    """

    def __init__(self, trainee: Trainee, exploration: Exploration, greedy: bool, dtype: np.dtype[Any]) -> None:
        self.trainee, self.exploration, self.dtype = trainee, exploration, dtype
        self.seen, self.action = np.zeros(trainee.space.d), np.zeros(max(trainee.space.k, 1))
        learner = aql_steps if greedy else spaql_steps
        column = np.zeros((2, 2))[:, 0]
        self._first = machine_code(learner.first_step, trainee, exploration, column, column)
        self._next = machine_code(learner.next_step, trainee, exploration, 0, column, 0.0, False, column)

    def first(self, observation: Array) -> int:
        self.seen[:] = np.asarray(observation, self.dtype)
        return int(self._first(self.trainee, self.exploration, self.seen, self.action))

    def next(self, step: int, observation: Array, reward: float, terminated: bool) -> int:
        self.seen[:] = np.asarray(observation, self.dtype)
        return int(self._next(self.trainee, self.exploration, step, self.seen, reward, terminated, self.action))
