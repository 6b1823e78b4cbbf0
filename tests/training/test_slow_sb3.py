"""Stable-Baselines3's tools accept our agents."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import LEARNERS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("name", "env_id"), [("cartpole", "spaql/CartPole-v0"), ("pendulum", "spaql/Pendulum-v0")])
def test_evaluate_policy_accepts_an_agent(name, env_id, learner):
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    agent = LEARNERS[learner](spaql.make(name), seed=1)
    agent.learn(50, rollouts=5)
    mean, deviation = evaluation.evaluate_policy(agent, gymnasium.make(env_id), n_eval_episodes=200, deterministic=True, warn=False)
    ours = agent.evaluate(1000, seed=1, deterministic=True)
    assert abs(mean - ours.mean) < 5 * (deviation / np.sqrt(200) + ours.returns.std() / np.sqrt(1000)) + 1e-9


def test_evaluate_policy_runs_several_environments_at_once():
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    agent = spaql.AQL(spaql.make("cartpole"), seed=1)
    agent.learn(50, rollouts=5)
    envs = env_util.make_vec_env("spaql/CartPole-v0", n_envs=4)
    returns, lengths = evaluation.evaluate_policy(agent, envs, n_eval_episodes=20, return_episode_rewards=True)
    assert returns == lengths
