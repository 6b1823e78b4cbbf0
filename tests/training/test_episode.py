"""A recorded episode is a rollout of `evaluate`, step by step."""

import numpy as np
import pytest

import spaql


def test_it_has_one_observation_more_than_actions_in_physical_units():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=0)
    episode = agent.episode()
    assert episode.observations.shape == (201, 3)
    assert episode.actions.shape == (200, 1)
    assert len(episode) == 200
    assert np.abs(episode.actions).max() > 1.0
    assert np.abs(episode.actions).max() <= 2.0
    np.testing.assert_allclose(episode.observations[:, 0] ** 2 + episode.observations[:, 1] ** 2, 1.0)


def test_it_ends_where_the_pole_falls():
    episode = spaql.Random(spaql.make("cartpole"), seed=0).episode()
    assert episode.terminated
    assert abs(episode.observations[-1, 2]) > 12 * np.pi / 180 or abs(episode.observations[-1, 0]) > 2.4


def test_in_a_gymnasium_environment_it_is_the_first_rollout():
    agent = spaql.SPAQL(spaql.from_gym("CartPole-v1", horizon=200), seed=0)
    assert agent.episode(seed=2).rewards.sum() == agent.evaluate(1, seed=2).returns[0]
    with pytest.raises(spaql.SpaqlError, match="rollout 0"):
        agent.episode(rollout=1)
