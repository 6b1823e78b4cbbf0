"""What is special of CartPole. That it moves like Gymnasium's: test_gymnasium_twins.py."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import from_cube, step_plant


def random_moves():
    """Inside the limits and beyond."""
    rng = np.random.default_rng(1)
    return rng.uniform([-4.8, -10, -0.41, -10], [4.8, 10, 0.41, 10], (1000, 4)), rng.integers(0, 2, (1000, 1))


@pytest.fixture(scope="module")
def ours():
    return step_plant(spaql.make("cartpole").plant, *random_moves())


def test_reward_is_one_also_at_the_last_step(ours):
    assert set(ours[2].tolist()) == {1.0}
    assert 0 < np.count_nonzero(ours[3]) < len(ours[3])


def test_fitted_maps_change_the_map_not_the_plant(ours):
    other = step_plant(spaql.make("cartpole-fitted").plant, *random_moves())
    for mine, same in zip(ours, other, strict=True):
        np.testing.assert_array_equal(mine, same)
    paper, fitted = spaql.make("cartpole").state, spaql.make("cartpole-fitted").state
    assert [axis.slope for axis in paper] == [None, 1 / 240, None, 1 / 21]
    assert [axis.slope for axis in fitted] != [axis.slope for axis in paper]


def test_environment_follows_gymnasium_to_the_end_of_the_episode():
    env, reference = gymnasium.make("spaql/CartPole-v0"), gymnasium.make("CartPole-v1").unwrapped
    rng = np.random.default_rng(3)
    for seed in range(20):
        reference.reset(seed=0)
        reference.state, _ = env.reset(seed=seed)
        terminated = False
        while not terminated:
            push = int(rng.integers(2))
            observation, reward, terminated, truncated, _ = env.step(push)
            _, expected, ended, _, _ = reference.step(push)
            np.testing.assert_allclose(observation, reference.state, rtol=0, atol=1e-11)
            assert (reward, terminated, truncated) == (expected, ended, False)


def test_episodes_start_near_upright():
    env = gymnasium.make("spaql/CartPole-v0")
    starts = np.array([env.reset(seed=seed)[0] for seed in range(500)])
    assert np.abs(starts).max() <= 0.05
    assert starts.min(axis=0).max() < -0.045
    assert starts.max(axis=0).min() > 0.045


def test_map_of_the_paper():
    """x / 4.8, phi_m of the velocities, theta / 24 degrees."""
    chart = spaql.make("cartpole").chart()
    from spaql.plants.chart import to_cube

    observation, x = np.array([1.2, 3.0, 0.1, -2.0]), np.empty(4)
    assert to_cube(chart, observation, x) == -1
    phi = lambda m, y: 2 / (1 + np.exp(-2 * m * y)) - 1  # noqa: E731
    np.testing.assert_allclose(x, [0.25, phi(1 / 240, 3.0), 0.1 / np.radians(24), phi(1 / 21, -2.0)], rtol=1e-13)
    np.testing.assert_allclose(from_cube(chart, x), observation, rtol=1e-12)
