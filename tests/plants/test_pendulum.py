"""What is special of Pendulum. That it moves like Gymnasium's: test_gymnasium_twins.py."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant

EXACT = 1e-12


def ours(name):
    """What one step makes of states everywhere and at the limits: states, observations, rewards, terminations."""
    rng = np.random.default_rng(1)
    corners = [(t, w) for t in (-np.pi, 0.0, np.nextafter(np.pi, 0)) for w in (-8, 0, 8)]
    states = np.concatenate([rng.uniform([-np.pi, -8], [np.pi, 8], (2000, 2)), corners])
    return step_plant(spaql.make(name).plant, states, rng.choice([-2.0, 0.0, 2.0], (len(states), 1)))


def test_angle_stays_within_half_a_turn():
    states, _, _, _ = ours("pendulum")
    assert states[:, 0].min() >= -np.pi - EXACT
    assert states[:, 0].max() <= np.pi + EXACT


def test_scaled_reward_is_between_zero_and_one():
    _, _, rewards, _ = ours("pendulum-scaled")
    assert rewards.min() + EXACT >= 0.0
    assert rewards.max() <= 1.0


def test_environment_follows_gymnasium_for_a_whole_episode():
    env, reference = gymnasium.make("spaql/Pendulum-v0"), gymnasium.make("Pendulum-v1").unwrapped
    env.reset(seed=5)
    reference.reset(seed=0)
    table, rows = env.unwrapped.table, env.unwrapped.plant.rows
    reference.state = table[rows.state : rows.observation, 0].copy()
    rng = np.random.default_rng(2)
    for step in range(200):
        torque = rng.uniform(-3, 3, 1)  # both clip it
        observation, reward, _, truncated, _ = env.step(torque)
        _, expected, _, _, _ = reference.step(torque)
        angle, velocity = reference.state
        np.testing.assert_allclose(observation, [np.cos(angle), np.sin(angle), velocity], rtol=0, atol=1e-9)  # errors grow
        assert reward == pytest.approx(expected, abs=1e-8)
        assert truncated == (step == 199)


def test_episodes_start_anywhere_with_little_speed():
    env = gymnasium.make("spaql/Pendulum-v0")
    starts = np.array([env.reset(seed=seed)[0] for seed in range(500)])
    angles = np.arctan2(starts[:, 1], starts[:, 0])
    assert angles.min() < -3.0
    assert angles.max() > 3.0
    assert abs(np.mean(angles)) < 0.3
    assert -1.0 <= starts[:, 2].min() < -0.95
    assert 0.95 < starts[:, 2].max() <= 1.0
