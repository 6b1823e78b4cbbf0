"""What is special of the acrobot. That it moves like Gymnasium's: test_gymnasium_twins.py."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant

COUNT = 2000
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
def ours():
    return step_plant(spaql.make("acrobot").plant, *random_moves())


def turned(difference):
    """Angles that differ by whole turns are the same: at half a turn, a last bit decides about the sign."""
    return difference - 2 * np.pi * np.round(difference / (2 * np.pi))


def test_next_state_at_moderate_speed_is_gymnasiums_to_the_last_digits(ours):
    env = gymnasium.make("Acrobot-v1").unwrapped
    env.reset(seed=0)
    states, choices = random_moves()
    for state, choice, after in zip(states[:COUNT], choices, ours[0], strict=False):
        env.state = state.copy()
        env.step(int(choice[0]))
        np.testing.assert_allclose(turned(after - env.state), 0.0, atol=2e-14)


def test_angles_stay_within_half_a_turn_and_velocities_within_their_bounds(ours):
    assert np.abs(ours[0][:, :2]).max() <= np.pi
    assert np.abs(ours[0][:, 2:]).max(axis=0).tolist() == MAX_VELOCITY.tolist()


def test_only_the_goal_ends_an_episode_and_only_there_a_step_costs_nothing(ours):
    assert set(zip(ours[2].tolist(), ours[3].tolist(), strict=True)) == {(-1.0, False), (0.0, True)}


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


def test_the_controller_sees_angles_by_their_sine_and_cosine():
    assert [axis.name for axis in spaql.make("acrobot").state] == ["cos1", "sin1", "cos2", "sin2", "velocity1", "velocity2"]
