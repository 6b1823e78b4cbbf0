"""What is special of the cart-pole swing-up: the equations of PILCO's code, its starts and its reward."""

import math

import numpy as np
from scipy.integrate import solve_ivp

import spaql
from helpers import step_plant

COUNT = 200


def published(_time, state, force):
    """dynamics_cp.m of UCL-SML/pilco-matlab."""
    _, v, theta, omega = state
    m, total, l, b, g = 0.5, 1.0, 0.5, 0.1, 9.82  # noqa: E741
    sin, cos = math.sin(theta), math.cos(theta)
    d = 4 * total - 3 * m * cos**2
    x_acc = (2 * m * l * omega**2 * sin + 3 * m * g * sin * cos + 4 * force - 4 * b * v) / d
    acc = (-3 * m * l * omega**2 * sin * cos - 6 * total * g * sin - 6 * (force - b * v) * cos) / (l * d)
    return v, x_acc, omega, acc


def random_moves():
    rng = np.random.default_rng(3)
    states = rng.uniform([-2, -4, -math.pi, -10], [2, 4, math.pi, 10], (COUNT, 4))
    return states, rng.uniform(-10, 10, (COUNT, 1))


def test_the_next_state_is_that_of_the_differential_equations():
    states, forces = random_moves()
    after = step_plant(spaql.make("cartpole-swing-up").plant, states, forces)[0]
    errors = []
    for state, force, reached in zip(states, forces, after, strict=True):
        exact = solve_ivp(published, (0.0, 0.1), state, args=(float(force[0]),), rtol=1e-10, atol=1e-12).y[:, -1]
        turn = 2 * math.pi * round((reached[2] - exact[2]) / (2 * math.pi))
        errors.append(np.abs(reached - [0, 0, turn, 0] - exact).max())
    assert max(errors) < 2e-2  # rad/s, of ten
    assert np.median(errors) < 1e-3


def test_the_reward_is_that_of_the_distance_of_the_tip_from_its_goal():
    states, forces = random_moves()
    after, _, rewards, ended = step_plant(spaql.make("cartpole-swing-up").plant, states, forces)
    x, theta = after[:, 0], after[:, 2]
    tip = np.stack([x + 0.5 * np.sin(theta), -0.5 * np.cos(theta)], axis=1)  # theta = 0 hangs
    distance = np.linalg.norm(tip - [0.0, 0.5], axis=1)
    np.testing.assert_allclose(rewards, np.exp(-(distance**2) / (2 * 0.25**2)), atol=1e-12)
    assert not ended.any()


def test_standing_upright_above_the_origin_pays_one():
    rewards = step_plant(spaql.make("cartpole-swing-up").plant, np.array([[0, 0, math.pi, 0.0]]), np.zeros((1, 1)))[2]
    np.testing.assert_allclose(rewards, 1.0, atol=1e-12)


def test_the_walls_stop_the_cart():
    states = np.array([[5.99, 8.0, 0.3, 0.0], [-5.99, -8.0, 0.3, 0.0]])
    after = step_plant(spaql.make("cartpole-swing-up").plant, states, np.zeros((2, 1)))[0]
    assert after[:, 0].tolist() == [6.0, -6.0]
    assert after[:, 1].tolist() == [0.0, 0.0]


def test_episodes_start_near_hanging_with_normal_deviations_of_a_tenth():
    env = spaql.make("cartpole-swing-up").open_env()
    starts = []
    for seed in range(2000):
        env.reset(seed=seed)
        starts.append(env.unwrapped.table[:4, 0].copy())
    np.testing.assert_allclose(np.mean(starts, axis=0), 0.0, atol=0.01)
    np.testing.assert_allclose(np.std(starts, axis=0), 0.1, atol=0.005)
    assert np.abs(starts).max() > 0.3  # a uniform distribution of the same deviation ends at 0.17
