"""Our acrobot moves like Gymnasium's, step by step."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant

COUNT = 4000
MAX_VELOCITY = np.array([4 * np.pi, 9 * np.pi])


def random_moves():
    """Slow, fast, at the bounds of the velocities, near the goal."""
    rng = np.random.default_rng(1)
    turn = np.array([np.pi, np.pi])
    slow = rng.uniform([*-turn, -3, -3], [*turn, 3, 3], (COUNT, 4))
    fast = rng.uniform([*-turn, *-MAX_VELOCITY], [*turn, *MAX_VELOCITY], (COUNT, 4))
    bound = fast[:500].copy()
    bound[:, 2:] = MAX_VELOCITY * rng.choice([-1, 1], (500, 2))
    hanging = rng.uniform(-0.1, 0.1, (500, 4))
    states = np.concatenate([slow, fast, bound, hanging])
    return states, rng.integers(0, 3, (len(states), 1))


@pytest.fixture(scope="module")
def theirs():
    """What Gymnasium makes of the moves: states, observations, rewards, terminations."""
    env = gymnasium.make("Acrobot-v1").unwrapped
    env.reset(seed=0)
    rows = []
    for state, choice in zip(*random_moves(), strict=True):
        env.state = state.copy()
        observation, reward, terminated, _, _ = env.step(int(choice[0]))
        rows.append((env.state, observation, reward, terminated))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.fixture(scope="module")
def ours():
    return step_plant(spaql.make("acrobot").plant, *random_moves())


def turned(difference):
    """Angles that differ by whole turns are the same: at half a turn, a last bit decides about the sign."""
    return difference - 2 * np.pi * np.round(difference / (2 * np.pi))


def test_next_state_is_gymnasiums(ours, theirs):
    np.testing.assert_allclose(turned(ours[0][:, :2] - theirs[0][:, :2]), 0.0, atol=1e-11)
    np.testing.assert_allclose(ours[0][:, 2:], theirs[0][:, 2:], rtol=0, atol=1e-10)


def test_next_state_at_moderate_speed_is_gymnasiums_to_the_last_digits(ours, theirs):
    np.testing.assert_allclose(turned(ours[0][:COUNT] - theirs[0][:COUNT]), 0.0, atol=2e-14)


def test_angles_stay_within_half_a_turn_and_velocities_within_their_bounds(ours):
    assert np.abs(ours[0][:, :2]).max() <= np.pi
    assert np.abs(ours[0][:, 2:]).max(axis=0).tolist() == MAX_VELOCITY.tolist()


def test_reward_and_termination_are_gymnasiums(ours, theirs):
    np.testing.assert_array_equal(ours[3], theirs[3])
    np.testing.assert_array_equal(ours[2], theirs[2])
    assert set(zip(ours[2].tolist(), ours[3].tolist(), strict=True)) == {(-1.0, False), (0.0, True)}


def test_observation_is_gymnasiums_before_rounding_to_float32(ours, theirs):
    angles = theirs[0][:, :2]
    seen = [np.cos(angles[:, 0]), np.sin(angles[:, 0]), np.cos(angles[:, 1]), np.sin(angles[:, 1]), *theirs[0][:, 2:].T]
    np.testing.assert_allclose(ours[1], np.stack(seen, 1), rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-6)


def test_environment_follows_gymnasium_for_whole_episodes():
    """Each step from the same state: the motion is chaotic, and errors of the last bit grow."""
    env, reference = gymnasium.make("spaql/Acrobot-v0"), gymnasium.make("Acrobot-v1").unwrapped
    table, rows = env.unwrapped.table, env.unwrapped.plant.rows
    rng, ends = np.random.default_rng(3), []
    for seed in range(20):
        reference.reset(seed=0)
        observation, _ = env.reset(seed=seed)
        for step in range(500):
            choice = int(rng.integers(3)) if rng.random() < 0.2 else (2 if observation[4] < 0 else 0)  # pump
            reference.state = table[rows.state : rows.observation, 0].copy()
            observation, reward, terminated, truncated, _ = env.step(choice)
            _, expected, ended, _, _ = reference.step(choice)
            np.testing.assert_allclose(observation[4:], reference.state[2:], rtol=0, atol=1e-10)
            assert (reward, terminated, truncated) == (expected, ended, step == 499)
            if terminated:
                ends.append(step)
                break
    assert len(ends) > 10


def test_environment_follows_gymnasium_from_the_start_for_a_while():
    env, reference = gymnasium.make("spaql/Acrobot-v0"), gymnasium.make("Acrobot-v1").unwrapped
    env.reset(seed=5)
    reference.reset(seed=0)
    reference.state = env.unwrapped.table[:4, 0].copy()
    for step in range(60):
        observation, *_ = env.step(step % 3)
        reference.step(step % 3)
        np.testing.assert_allclose(observation[4:], reference.state[2:], rtol=0, atol=1e-9)


def test_episodes_start_hanging():
    env = gymnasium.make("spaql/Acrobot-v0")
    starts = []
    for seed in range(500):
        env.reset(seed=seed)
        starts.append(env.unwrapped.table[:4, 0].copy())
    assert np.abs(starts).max() <= 0.1
    assert np.min(starts, axis=0).max() < -0.09
    assert np.max(starts, axis=0).min() > 0.09


def test_spaces_and_horizon_are_gymnasiums():
    problem, theirs = spaql.make("acrobot"), gymnasium.make("Acrobot-v1")
    np.testing.assert_allclose([axis.high for axis in problem.state], theirs.observation_space.high, rtol=1e-6)
    assert [axis.name for axis in problem.state] == ["cos1", "sin1", "cos2", "sin2", "velocity1", "velocity2"]
    assert (problem.actions.values, problem.horizon) == ((0, 1, 2), 500)
