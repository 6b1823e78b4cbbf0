"""Vector environments give the same returns as one episode after the other."""

import gymnasium
import numpy as np
import pytest

import spaql
from gym_envs import Later, Line


def one_by_one(agent, make_env, episodes, seed, horizon=10**9):
    """The plain loop everybody writes."""
    env, returns, samples = make_env(), [], 0
    for i in range(episodes):
        observation, _ = env.reset(seed=seed + i)
        state, total, done, steps = None, 0.0, False, 0
        while not done and steps < horizon:
            action, state = agent.predict(observation, state=state, episode_start=None, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, done, steps = total + float(reward), terminated or truncated, steps + 1
        returns.append(total)
        samples += steps
    return returns, samples


@pytest.fixture(scope="module")
def balancing():
    agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
    agent.learn(60, rollouts=10)
    return agent


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("n_envs", [1, 3, 8])
def test_the_returns_are_those_of_one_by_one(balancing, n_envs, asynchronous):
    evaluation = spaql.evaluate_vector(balancing, "CartPole-v1", 7, n_envs, seed=5, asynchronous=asynchronous, horizon=200)
    returns, samples = one_by_one(balancing, lambda: gymnasium.make("CartPole-v1"), 7, 5, 200)
    assert len(set(returns)) > 1
    assert evaluation.returns.tolist() == returns
    assert evaluation.samples == samples


@pytest.mark.parametrize("learner", [spaql.AQL, spaql.SPAQL])
def test_on_our_own_plants_and_with_policies_that_depend_on_the_step(learner):
    from spaql.plants.environment import PlantEnv

    agent = learner(spaql.make("pendulum"), seed=0)
    agent.learn(10, rollouts=2)
    returns, samples = one_by_one(agent, lambda: PlantEnv(agent.problem), 5, 0)
    evaluation = spaql.evaluate_vector(agent, episodes=5, n_envs=2)
    assert evaluation.returns.tolist() == returns
    assert evaluation.samples == samples == 1000


def test_policies_trees_and_the_agents_own_environment(balancing):
    tree = balancing.policy().tree()
    assert (spaql.evaluate_vector(tree, episodes=5).returns == spaql.evaluate_vector(balancing, episodes=5).returns).all()
    agent = spaql.SPAQL(spaql.from_gym("MountainCar-v0", horizon=40, rollouts=1), seed=0)
    assert spaql.evaluate_vector(agent, episodes=3).returns.tolist() == [-40.0] * 3


def test_wrappers_go_into_the_function():
    made = []

    def make():
        made.append(gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1"), 15)))
        return made[-1]

    evaluation = spaql.evaluate_vector(spaql.SPAQL(spaql.make("cartpole"), seed=0), make, episodes=6, n_envs=3)
    assert evaluation.returns.max() <= 15
    assert set(evaluation.returns.tolist()) <= {float(total) for env in made for total in env.return_queue}


def test_bad_input_is_one_line(balancing):
    for arguments, words in [
        ((5,), "a predict method"),
        ((balancing, 5), "a function that makes an environment"),
        ((balancing, "Nothing-v0"), "cannot make the environments"),
        ((balancing, None, 0), "episodes must be"),
        ((balancing, None, 5, 0), "n_envs must be"),
    ]:
        with pytest.raises(spaql.SpaqlError, match=words):
            spaql.evaluate_vector(*arguments)
    with pytest.raises(spaql.SpaqlError, match="give the environment"):
        spaql.evaluate_vector(spaql.SPAQL(spaql.cube(1, 1, horizon=5)))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_broken_environment_is_one_line(asynchronous):
    agent = spaql.SPAQL(spaql.from_gym(Line(), horizon=30), seed=0)
    with pytest.raises(spaql.SpaqlError, match="rewards must be finite"):
        spaql.evaluate_vector(agent, lambda: Later(good=10, what="reward"), 3, 2, asynchronous=asynchronous)


def test_the_mean_comes_with_its_interval(balancing):
    low, high = spaql.evaluate_vector(balancing, episodes=20).ci95
    assert low < high
    assert np.isfinite([low, high]).all()
