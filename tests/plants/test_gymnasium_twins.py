"""Every plant that Gymnasium has too moves like Gymnasium's, step by step.

The problems are those of the catalog whose entry names a Gymnasium id, so that a new plant is checked by itself: from
the states of random episodes. States at which something special happens stand below for the plants that have such.
"""

import math

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import random_actions, step_plant, visited_states
from spaql.plants.catalog import CATALOG

TWINS = [name for name, entry in CATALOG.items() if entry.gym_id]
COUNT = 4000
EPISODES = 20
every_twin = pytest.mark.parametrize("name", TWINS)

# What is special of some twins
EXACT = {"Acrobot-v1": 1e-10, "MountainCar-v0": 1e-15, "MountainCarContinuous-v0": 0.0}  # of states; others 1e-12
ANGLES = {"Pendulum-v1": [0], "Acrobot-v1": [0, 1]}  # variables that may differ by full turns
SINGLE = ("MountainCarContinuous-v0",)  # computes in float64 and keeps its state in float32
MOST_COST = math.pi**2 + 0.1 * 8**2 + 0.001 * 2**2
REWARD = {"pendulum-scaled": lambda reward: (reward + MOST_COST) / MOST_COST}
HORIZON = {"cartpole": 200, "cartpole-fitted": 200}  # the paper's


# -- where something special happens -----------------------------------------------------------------------------------


def pendulum(rng):
    """Anywhere, and every combination of values at, near and beyond the limits."""
    anywhere = rng.uniform([-np.pi, -8], [np.pi, 8], (COUNT, 2))
    angles = [-np.pi, np.nextafter(-np.pi, 0), -np.pi / 2, -1e-9, 0.0, 1e-300, np.pi / 2, np.nextafter(np.pi, 0)]
    corners = [(t, w) for t in angles for w in (-8, np.nextafter(8, 0), -7.99, 0, 1e-12, 8) for _ in range(4)]
    return np.concatenate([anywhere, corners])


def cartpole(rng):
    """Inside the limits, around them, far beyond, and exactly on them."""
    end, fallen = 2.4, 12 * 2 * np.pi / 360
    inside = rng.uniform([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], (COUNT, 4))
    edge = inside[:1000] * 1.0
    edge[:500, 0] = end * rng.choice([-1, 1], 500) + rng.normal(0, 0.02, 500)
    edge[500:, 2] = fallen * rng.choice([-1, 1], 500) + rng.normal(0, 0.02, 500)
    beyond = rng.uniform([-4.8, -10, -0.41, -10], [4.8, 10, 0.41, 10], (1000, 4))
    places, angles = ([-most, np.nextafter(most, 0), most, np.nextafter(most, 9), 0.0] for most in (end, fallen))
    corners = [(x, v, theta, w) for x in places for v in (0.0, -1.0) for theta in angles for w in (0.0, 1.0)]
    return np.concatenate([inside, edge, beyond, corners])


def mountain_car(rng):
    """Anywhere, at the wall, around the goal, and exactly on all limits."""
    anywhere = rng.uniform([-1.2, -0.07], [0.6, 0.07], (COUNT, 2))
    wall = rng.uniform([-1.2, -0.07], [-1.1, 0.03], (500, 2))
    goal = rng.uniform([0.38, -0.03], [0.6, 0.07], (1000, 2))
    corners = [(x, v) for x in (-1.2, 0.45, 0.5, 0.6) for v in (-0.07, 0.0, 0.07)]
    return np.concatenate([anywhere, wall, goal, corners])


def acrobot(rng):
    """Slow, fast, at the bounds of the velocities, hanging."""
    turn, most = np.array([np.pi, np.pi]), np.array([4 * np.pi, 9 * np.pi])
    slow = rng.uniform([*-turn, -3, -3], [*turn, 3, 3], (COUNT, 4))
    fast = rng.uniform([*-turn, *-most], [*turn, *most], (COUNT, 4))
    bound = fast[:500].copy()
    bound[:, 2:] = most * rng.choice([-1, 1], (500, 2))
    return np.concatenate([slow, fast, bound, rng.uniform(-0.1, 0.1, (500, 4))])


SPECIAL = {
    "Pendulum-v1": pendulum,
    "CartPole-v1": cartpole,
    "MountainCar-v0": mountain_car,
    "MountainCarContinuous-v0": mountain_car,
    "Acrobot-v1": acrobot,
}


# -- one step from the same state --------------------------------------------------------------------------------------


def moves(problem):
    """States and actions: of random episodes, and special ones."""
    rng, gym_id = np.random.default_rng(1), CATALOG[problem.name].gym_id
    states = visited_states(problem, 1000)
    if gym_id in SPECIAL:
        states = np.concatenate([SPECIAL[gym_id](rng), states])
    if getattr(problem.actions, "box", False):  # the equations take all numbers between, too
        return states, rng.uniform(*problem.actions.bounds, (len(states), 1))
    return states, random_actions(problem, len(states), rng)


def their_step(env, state, action):
    """Gymnasium's next state, observation, reward and termination."""
    env.state, env.steps_beyond_terminated = state.copy(), None
    observation, reward, terminated, _, _ = env.step(action)
    return np.array(env.state), observation, reward, terminated


def their_action(env, action):
    return int(action[0]) if env.action_space.shape == () else action


@pytest.fixture(scope="module", params=TWINS)
def steps(request):
    """The problem, our states, observations, rewards and terminations after the moves, and Gymnasium's."""
    problem = spaql.make(request.param)
    states, actions = moves(problem)
    env = gymnasium.make(CATALOG[request.param].gym_id).unwrapped
    env.reset(seed=0)
    rows = [their_step(env, state, their_action(env, action)) for state, action in zip(states, actions, strict=True)]
    theirs = tuple(np.array(column) for column in zip(*rows, strict=True))
    return problem, step_plant(problem.plant, states, actions), theirs


def difference(gym_id, ours, theirs):
    """Angles that differ by whole turns are the same, if theirs are told otherwise."""
    if gym_id in SINGLE:
        return ours.astype(np.float32) - theirs
    found, angles = ours - theirs, ANGLES.get(gym_id, [])
    found[..., angles] -= 2 * np.pi * np.round(found[..., angles] / (2 * np.pi))
    return found


def test_next_state_is_gymnasiums(steps):
    problem, ours, theirs = steps
    gym_id = CATALOG[problem.name].gym_id
    exact = EXACT.get(gym_id, 1e-12)
    np.testing.assert_allclose(difference(gym_id, ours[0], theirs[0]), 0.0, rtol=0, atol=exact)


def test_termination_is_gymnasiums(steps):
    problem, ours, theirs = steps
    np.testing.assert_array_equal(ours[3], theirs[3])
    ends = CATALOG[problem.name].gym_id != "Pendulum-v1"
    assert 0 < np.count_nonzero(ours[3]) < len(ours[3]) if ends else not ours[3].any()


def test_reward_is_gymnasiums(steps):
    problem, ours, theirs = steps
    same = REWARD.get(problem.name, lambda reward: reward)
    exact = 1e-12 if CATALOG[problem.name].gym_id == "Pendulum-v1" else 1e-14
    np.testing.assert_allclose(ours[2], same(theirs[2]), rtol=0, atol=exact)


def test_observation_is_gymnasiums_before_rounding_to_float32(steps):
    problem, ours, theirs = steps
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-6)
    if problem.plant.observe is None:
        np.testing.assert_array_equal(ours[1], ours[0])
    else:  # from their state, by the plain function
        expected = np.array([problem.plant.observe(*map(float, state)) for state in theirs[0]])
        np.testing.assert_allclose(ours[1], expected, rtol=0, atol=EXACT.get(CATALOG[problem.name].gym_id, 1e-12))


# -- whole episodes ----------------------------------------------------------------------------------------------------


def pump(velocity, problem):
    """Push where it moves: that reaches the goal."""
    low, high = problem.actions.bounds
    return high if velocity >= 0 else low


DRIVERS = {  # controllers that reach the end of an episode before its time: one step in five is random all the same
    "MountainCar-v0": lambda seen, problem: pump(seen[1], problem),
    "MountainCarContinuous-v0": lambda seen, problem: pump(seen[1], problem),
    "Acrobot-v1": lambda seen, problem: pump(-seen[4], problem),
}


@every_twin
def test_environment_follows_gymnasium_for_whole_episodes(name):
    """Each step from the same state: errors of the last bit grow, where the motion is chaotic or theirs is rounded."""
    entry, problem = CATALOG[name], spaql.make(name)
    env, reference = gymnasium.make(entry.env_id), gymnasium.make(entry.gym_id).unwrapped
    table, rows = env.unwrapped.table, env.unwrapped.plant.rows
    rng, ends, driver = np.random.default_rng(3), 0, DRIVERS.get(entry.gym_id)
    same = REWARD.get(name, lambda reward: reward)
    reference.reset(seed=0)
    for seed in range(EPISODES if entry.gym_id != "Pendulum-v1" else 3):
        observation, _ = env.reset(seed=seed)
        for step in range(problem.horizon):
            random = driver is None or rng.random() < 0.2
            action = random_actions(problem, 1, rng)[0] if random else driver(observation, problem)
            state = table[rows.state : rows.observation, 0].copy()
            after, _, expected, ended = their_step(reference, state, their_action(reference, action))
            observation, reward, terminated, truncated, _ = env.step(problem.native(action))
            found = difference(entry.gym_id, table[rows.state : rows.observation, 0], after)
            assert np.abs(found).max() <= EXACT.get(entry.gym_id, 1e-12)
            assert abs(reward - same(expected)) <= 1e-12
            assert (terminated, truncated) == (ended, step == problem.horizon - 1)
            if terminated:
                ends += 1
                break
    assert ends > EPISODES / 2 or entry.gym_id == "Pendulum-v1"


@every_twin
def test_actions_beyond_the_range_are_clipped_as_gymnasium_clips_them(name):
    entry, problem = CATALOG[name], spaql.make(name)
    if not isinstance(problem.actions, spaql.Continuous):
        return
    env, reference = gymnasium.make(entry.env_id), gymnasium.make(entry.gym_id).unwrapped
    env.reset(seed=5)
    reference.reset(seed=0)
    table, rows = env.unwrapped.table, env.unwrapped.plant.rows
    for action in (1.5 * problem.actions.bounds[0], 1.5 * problem.actions.bounds[1]):
        after, *_ = their_step(reference, table[rows.state : rows.observation, 0].copy(), action)
        env.step(action)
        found = difference(entry.gym_id, table[rows.state : rows.observation, 0], after)
        np.testing.assert_allclose(found, 0.0, rtol=0, atol=1e-12)


# -- spaces ------------------------------------------------------------------------------------------------------------


@every_twin
def test_observed_ranges_actions_and_horizon_are_gymnasiums(name):
    problem, theirs = spaql.make(name), gymnasium.make(CATALOG[name].gym_id)
    space = theirs.observation_space
    bounded = [axis.slope is None for axis in problem.state]
    np.testing.assert_allclose([axis.low for axis in problem.state], np.where(bounded, space.low, -np.inf), rtol=1e-6)
    np.testing.assert_allclose([axis.high for axis in problem.state], np.where(bounded, space.high, np.inf), rtol=1e-6)
    if isinstance(theirs.action_space, gymnasium.spaces.Discrete):
        assert problem.actions.values == tuple(range(theirs.action_space.n))
    else:
        np.testing.assert_array_equal(problem.actions.bounds, [theirs.action_space.low, theirs.action_space.high])
    assert problem.horizon == HORIZON.get(name, theirs.spec.max_episode_steps)
