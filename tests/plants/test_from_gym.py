"""Any Gymnasium environment with a vector of observations can be learned."""

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Box, Discrete, Line, Still, Whole
from helpers import LEARNERS, PER_STEP, TRAINED, assert_same

CLASSIC = ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"]


@pytest.mark.parametrize("learner", ["SPAQL", *PER_STEP])
@pytest.mark.parametrize("env_id", CLASSIC)
def test_classic_environments_can_be_learned(env_id, learner):
    problem = spaql.from_gym(env_id, horizon=50)
    agent = LEARNERS[learner](problem, seed=1)
    start = agent.arms
    history = agent.learn(3, rollouts=2)
    assert len(history) == 3
    assert np.isfinite(history.table).all()
    assert agent.arms > start or learner in ("SPAQL", "NBQL")  # SPAQL may still keep the untrained agent, a net is fixed
    observation, _ = gymnasium.make(env_id).reset(seed=0)
    action, _ = agent.predict(observation)
    assert problem.env.action_space.contains(action)
    assert agent.evaluate(2).samples <= 100


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_learns_in_an_environment(learner):
    def learned():
        agent = LEARNERS[learner](spaql.from_gym(Line(), horizon=20, reference=[0.0]), seed=2)
        agent.learn(5, rollouts=2)
        return agent

    assert_same(learned(), learned(), episodes=5)


def test_learning_pays():
    problem = spaql.from_gym(Line(), horizon=20, reference=[0.0])
    agent = spaql.SPAQLTS(problem, xi=0.1, seed=0)
    agent.learn(150, rollouts=5)
    assert agent.evaluate(50).mean > spaql.Random(problem).evaluate(50).mean + 0.5


def test_horizon_defaults_to_the_limit_of_the_environment():
    assert spaql.from_gym("MountainCar-v0").horizon == 200
    assert spaql.from_gym("CartPole-v1").horizon == 500
    assert spaql.from_gym("CartPole-v1", max_episode_steps=30).horizon == 30


def test_horizon_cuts_episodes():
    env = Line()
    agent = spaql.SPAQL(spaql.from_gym(env, horizon=7), seed=1)
    history = agent.learn(3, rollouts=2)
    assert set(env.lengths) == {7}
    assert history.train_samples.tolist() == [7, 14, 21]
    assert history.eval_samples.tolist() == [28, 42, 56]


def test_truncation_before_the_horizon_ends_the_episode():
    env = Line(length=4)
    agent = spaql.SPAQL(spaql.from_gym(env, horizon=20), seed=1)
    history = agent.learn(3, rollouts=2)
    assert set(env.lengths) == {4}
    assert history.train_samples.tolist() == [4, 8, 12]


@pytest.mark.parametrize("learner", TRAINED)
def test_termination_ends_the_episode(learner):
    env = Line(terminate_at=3)
    agent = LEARNERS[learner](spaql.from_gym(env, horizon=20, reference=[0.0]), seed=1)
    agent.learn(3, rollouts=2)
    assert set(env.lengths) == {3}


def test_truncation_is_not_termination():
    """Only a terminated episode has no future: with bootstrap="terminate", values differ between the two."""
    problems = [spaql.from_gym(Line(**end), horizon=20) for end in ({"length": 3}, {"terminate_at": 3})]
    cut, ended = (spaql.AQL(problem, xi=0.0, bootstrap="terminate", seed=1) for problem in problems)
    for agent in (cut, ended):
        agent.learn(3, rollouts=1)
    assert cut.leaves()["q"].max() == 20.0
    third = [agent.leaves()["q"][agent.leaves()["tree"] == 2].max() for agent in (cut, ended)]
    assert third[0] > 15
    assert third[1] <= 0


def test_discrete_actions_may_start_anywhere():
    env = Line(actions=Discrete(3, start=5))
    agent = spaql.SPAQL(spaql.from_gym(env, horizon=10), seed=1)
    agent.learn(5, rollouts=2)
    assert set(env.received) == {5, 6, 7}
    assert all(type(action) is int for action in env.received)
    assert agent.predict([0.1])[0] in (5, 6, 7)
    agent.update([0.1], 7, 0.0, [0.1])
    with pytest.raises(spaql.SpaqlError, match="not one of 5, 6, 7"):
        agent.update([0.1], 0, 0.0, [0.1])


def test_box_actions_of_several_axes_reach_the_environment_in_its_own_units():
    env = Line(actions=Box(np.array([-1, 10, 0], np.float32), np.array([1, 20, 5], np.float32)))
    agent = spaql.SPAQL(spaql.from_gym(env, horizon=10), seed=1)
    agent.learn(5, rollouts=2)
    actions = np.array(env.received)
    assert actions.shape[1:] == (3,)
    assert actions.dtype == np.float32
    assert all(env.action_space.contains(action) for action in env.received)
    assert actions[:, 1].min() < 12
    assert actions[:, 1].max() > 18
    assert agent.predict([0.1])[0].shape == (3,)


def test_whole_numbers_as_observations_and_rewards():
    agent = spaql.SPAQL(spaql.from_gym(Whole(), horizon=10), seed=1)
    history = agent.learn(5, rollouts=2)
    assert np.isfinite(history.table).all()
    assert agent.predict(np.array([3]))[0] in (0, 1, 2)


@pytest.mark.parametrize("learner", ["SPAQL", *PER_STEP])
def test_a_constant_variable_does_no_harm(learner):
    problem = spaql.from_gym(Still(), horizon=10)
    agent = LEARNERS[learner](problem, seed=1)
    agent.learn(5, rollouts=2)
    assert problem.state[1].low == problem.state[1].high == 0.25
    assert agent.predict([0.1, 0.25])[0].shape == (1,)


def test_environment_options_are_passed_on():
    problem = spaql.from_gym("Pendulum-v1", horizon=20, g=1.0)
    assert problem.env.unwrapped.g == 1.0


def test_a_list_as_observation_is_fine():
    class Listed(Line):
        def see(self):
            return [float(v) for v in self.x]

    agents = [spaql.SPAQL(spaql.from_gym(env, horizon=10), seed=1) for env in (Listed(), Line(dtype=np.float64))]
    for agent in agents:
        agent.learn(3, rollouts=2)
    assert_same(*agents, episodes=3)
