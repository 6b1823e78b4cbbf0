"""Our mountain cars move like Gymnasium's, step by step."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant

COUNT = 4000
EXACT = 1e-15
THEIRS = {"mountain-car": "MountainCar-v0", "mountain-car-continuous": "MountainCarContinuous-v0"}
OURS = {"mountain-car": "spaql/MountainCar-v0", "mountain-car-continuous": "spaql/MountainCarContinuous-v0"}
HORIZON = {"mountain-car": 200, "mountain-car-continuous": 999}
names = pytest.mark.parametrize("name", THEIRS)


def random_moves(name):
    """Random states everywhere, at the wall, around the goal, and exactly on all limits."""
    rng = np.random.default_rng(1)
    anywhere = rng.uniform([-1.2, -0.07], [0.6, 0.07], (COUNT, 2))
    wall = rng.uniform([-1.2, -0.07], [-1.1, 0.03], (500, 2))
    goal = rng.uniform([0.38, -0.03], [0.6, 0.07], (1000, 2))
    corners = np.array([(x, v) for x in (-1.2, 0.45, 0.5, 0.6) for v in (-0.07, 0.0, 0.07)])
    states = np.concatenate([anywhere, wall, goal, corners])
    if name == "mountain-car":
        return states, rng.integers(0, 3, (len(states), 1))
    return states, rng.uniform(-1.0, 1.0, (len(states), 1))


def gymnasium_step(env, state, action):
    env.state = state.copy()
    observation, reward, terminated, _, _ = env.step(int(action[0]) if env.action_space.shape == () else action)
    return np.array(env.state), observation, reward, terminated


def both(name):
    """What we make of the moves, and what Gymnasium does: states, observations, rewards, terminations."""
    states, actions = random_moves(name)
    env = gymnasium.make(THEIRS[name]).unwrapped
    env.reset(seed=0)
    rows = [gymnasium_step(env, state, action) for state, action in zip(states, actions, strict=True)]
    return step_plant(spaql.make(name).plant, states, actions), tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.fixture(scope="module", params=THEIRS)
def moves(request):
    return request.param, *both(request.param)


def test_next_state_is_gymnasiums(moves):
    name, ours, theirs = moves
    if name == "mountain-car":
        np.testing.assert_allclose(ours[0], theirs[0], rtol=0, atol=EXACT)
    else:  # theirs computes in float64 and keeps float32
        np.testing.assert_array_equal(ours[0].astype(np.float32), theirs[0])


def test_reward_is_gymnasiums(moves):
    _, ours, theirs = moves
    np.testing.assert_allclose(ours[2], theirs[2], rtol=0, atol=1e-14)


def test_termination_is_gymnasiums(moves):
    _, ours, theirs = moves
    np.testing.assert_array_equal(ours[3], theirs[3])
    assert 0 < np.count_nonzero(ours[3]) < len(ours[3])


def test_controller_sees_the_state(moves):
    _, ours, theirs = moves
    np.testing.assert_array_equal(ours[1], ours[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-8)


def test_the_wall_stops_the_car():
    states, _, _, _ = step_plant(spaql.make("mountain-car").plant, np.array([[-1.2, -0.05]]), np.array([[0.0]]))
    assert states.tolist() == [[-1.2, 0.0]]


def test_the_goal_pays_once_and_fuel_costs():
    plant = spaql.make("mountain-car-continuous").plant
    states, forces = np.array([[0.44, 0.05], [0.0, 0.0]]), np.array([[0.5], [0.5]])
    _, _, rewards, done = step_plant(plant, states, forces)
    assert rewards.tolist() == pytest.approx([100.0 - 0.025, -0.025])
    assert done.tolist() == [True, False]


def play(env, name, rng):
    """Push where the car rolls, mostly: that reaches the goal."""
    velocity = env.last[1]
    if name == "mountain-car":
        return int(rng.integers(3)) if rng.random() < 0.2 else (2 if velocity >= 0 else 0)
    return rng.uniform(-1, 1, 1) if rng.random() < 0.2 else np.array([1.0 if velocity >= 0 else -1.0])


@names
def test_environment_follows_gymnasium_for_whole_episodes(name):
    """Step by step from the same state: Gymnasium's continuous car rounds its state to float32, and hills amplify."""
    env, reference = gymnasium.make(OURS[name]), gymnasium.make(THEIRS[name]).unwrapped
    rng, arrived = np.random.default_rng(3), 0
    for seed in range(20):
        reference.reset(seed=0)
        env.last, _ = env.reset(seed=seed)
        for step in range(HORIZON[name]):
            action = play(env, name, rng)
            reference.state = env.last.copy()
            env.last, reward, terminated, truncated, _ = env.step(action)
            _, expected, ended, _, _ = reference.step(action)
            np.testing.assert_allclose(env.last.astype(np.asarray(reference.state).dtype), reference.state, rtol=0, atol=EXACT)
            assert reward == pytest.approx(expected, abs=1e-13)
            assert (terminated, truncated) == (ended, step == HORIZON[name] - 1)
            if terminated:
                arrived += 1
                break
    assert arrived > 10


@names
def test_episodes_start_at_rest_in_the_valley(name):
    env = gymnasium.make(OURS[name])
    starts = np.array([env.reset(seed=seed)[0] for seed in range(500)])
    assert -0.6 <= starts[:, 0].min() < -0.595
    assert -0.405 < starts[:, 0].max() <= -0.4
    assert not starts[:, 1].any()


@names
def test_spaces_and_horizon_are_gymnasiums(name):
    problem, theirs = spaql.make(name), gymnasium.make(THEIRS[name])
    np.testing.assert_allclose([axis.low for axis in problem.state], theirs.observation_space.low)
    np.testing.assert_allclose([axis.high for axis in problem.state], theirs.observation_space.high)
    assert problem.horizon == theirs.spec.max_episode_steps
    assert gymnasium.make(OURS[name]).spec.max_episode_steps == problem.horizon
