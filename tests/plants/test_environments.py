"""Our plants as Gymnasium environments."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import spaql
from spaql.plants.environment import PlantEnv

IDS = sorted(name for name in gymnasium.registry if name.startswith("spaql/"))


def test_every_problem_is_registered():
    assert len(IDS) == len(spaql.problems())
    assert {"spaql/Pendulum-v0", "spaql/PendulumScaled-v0", "spaql/Pendulum5-v0", "spaql/CartPole-v0"} <= set(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasiums_checker_accepts_the_environment(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # float64 and no rendering are our choice
        check_env(gymnasium.make(env_id).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("env_id", IDS)
def test_seed_decides_this_episode_and_the_following_ones(env_id):
    def episode(env):
        env.action_space.seed(1)
        seen = [env.reset(seed=11)[0]]
        for _ in range(3):
            seen += [env.step(env.action_space.sample())[0] for _ in range(5)]
            seen.append(env.reset()[0])
        return np.array(seen)

    first = episode(gymnasium.make(env_id))
    np.testing.assert_array_equal(first, episode(gymnasium.make(env_id)))
    if gymnasium.make(env_id).unwrapped.plant.reset_noise:  # others always start at the same place
        assert len({row.tobytes() for row in first}) == len(first)


def test_different_seeds_start_differently():
    env = gymnasium.make("spaql/CartPole-v0")
    assert not np.array_equal(env.reset(seed=0)[0], env.reset(seed=1)[0])


def test_unseeded_environments_start_differently():
    starts = {gymnasium.make("spaql/CartPole-v0").reset()[0].tobytes() for _ in range(3)}
    assert len(starts) == 3


def test_observations_are_float64():
    observation, _ = gymnasium.make("spaql/Pendulum-v0").reset(seed=0)
    assert observation.dtype == np.float64


def test_episode_is_truncated_at_the_horizon():
    env = gymnasium.make("spaql/PendulumScaled-v0")
    env.reset(seed=0)
    ends = [env.step(np.zeros(1))[2:4] for _ in range(200)]
    assert ends == [(False, False)] * 199 + [(False, True)]


def test_a_cube_has_no_environment():
    with pytest.raises(gymnasium.error.Error, match="no compiled plant"):
        PlantEnv(spaql.cube(2, 1, horizon=10))


def test_vectorised_environments_can_be_made():
    envs = gymnasium.make_vec("spaql/CartPole-v0", num_envs=3, vectorization_mode="sync")
    observations, _ = envs.reset(seed=0)
    assert observations.shape == (3, 4)
    envs.step(envs.action_space.sample())
    envs.close()
