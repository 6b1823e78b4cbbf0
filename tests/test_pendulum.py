"""Our Pendulum moves like Gymnasium's, step by step."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant

COUNT = 4000
EXACT = 1e-12


def random_moves():
    """Random states and torques, and every combination of values at, near and beyond the limits."""
    rng = np.random.default_rng(1)
    states = rng.uniform([-np.pi, -8], [np.pi, 8], (COUNT, 2))
    torques = rng.uniform(-2, 2, (COUNT, 1))
    angles = [-np.pi, np.nextafter(-np.pi, 0), -np.pi / 2, -1e-9, 0.0, 1e-300, np.pi / 2, np.nextafter(np.pi, 0)]
    corners = np.array([(t, w, u) for t in angles for w in (-8, np.nextafter(8, 0), -7.99, 0, 1e-12, 8) for u in (-2, 0, 1, 2.0)])
    return np.concatenate([states, corners[:, :2]]), np.concatenate([torques, corners[:, 2:]])


def gymnasium_step(env, state, torque):
    env.state = state.copy()
    observation, reward, terminated, truncated, _ = env.step(torque)
    assert (terminated, truncated) == (False, False)
    return env.state, observation, reward


@pytest.fixture(scope="module")
def theirs():
    """What Gymnasium makes of the moves: states, observations, rewards."""
    env = gymnasium.make("Pendulum-v1").unwrapped
    env.reset(seed=0)
    states, torques = random_moves()
    rows = [gymnasium_step(env, state, torque) for state, torque in zip(states, torques, strict=True)]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def ours(name):
    return step_plant(spaql.make(name).plant, *random_moves())


@pytest.mark.parametrize("name", ["pendulum", "pendulum-scaled", "pendulum-5"])
def test_next_state_is_gymnasiums(name, theirs):
    states, _, _, done = ours(name)
    turn = (states[:, 0] - theirs[0][:, 0]) / (2 * np.pi)
    np.testing.assert_allclose((turn - np.round(turn)) * 2 * np.pi, 0.0, atol=EXACT)  # theirs counts full turns
    np.testing.assert_allclose(states[:, 1], theirs[0][:, 1], rtol=0, atol=EXACT)
    assert not done.any()


def test_angle_stays_within_half_a_turn():
    states, _, _, _ = ours("pendulum")
    assert states[:, 0].min() >= -np.pi - EXACT
    assert states[:, 0].max() <= np.pi + EXACT


@pytest.mark.parametrize("name", ["pendulum", "pendulum-5"])
def test_reward_is_gymnasiums(name, theirs):
    _, _, rewards, _ = ours(name)
    np.testing.assert_allclose(rewards, theirs[2], rtol=0, atol=EXACT)


def test_scaled_reward_is_between_zero_and_one(theirs):
    cost = np.pi**2 + 0.1 * 8**2 + 0.001 * 2**2
    _, _, rewards, _ = ours("pendulum-scaled")
    np.testing.assert_allclose(rewards, (theirs[2] + cost) / cost, rtol=0, atol=EXACT)
    assert rewards.min() + EXACT >= 0.0
    assert rewards.max() <= 1.0


def test_observation_is_gymnasiums_before_rounding_to_float32(theirs):
    _, seen, _, _ = ours("pendulum")
    state = theirs[0]
    np.testing.assert_allclose(seen, np.stack([np.cos(state[:, 0]), np.sin(state[:, 0]), state[:, 1]], 1), rtol=0, atol=EXACT)
    np.testing.assert_allclose(seen, theirs[1], rtol=1e-6, atol=1e-6)


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
