"""Oil discovery pays as its paper says, and its optimum, which one can compute by hand, is nearly reached."""

import math

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant
from spaql.plants.catalog import CATALOG

BEST = 0.7 + math.pi / 60
NAMES = ("oil-laplace", "oil-quadratic")
OIL = {"oil-laplace": lambda y, k: np.exp(-k * np.abs(y - BEST)), "oil-quadratic": lambda y, k: 1.0 - k * (y - BEST) ** 2}
every = pytest.mark.parametrize(("name", "k"), [(name, k) for name in NAMES for k in (1, 10, 50)])


def optimum(name, k):
    """Go from 0 to a, which costs a, then stay: the maximum of 5 f(a) - a. Of the peak it lies at its top, of the hill just before it."""
    return 5 - BEST if name == "oil-laplace" else 5 - BEST + 1 / (20 * k)


@every
def test_a_move_earns_the_oil_less_the_way(name, k):
    rng = np.random.default_rng(0)
    before, target = rng.random((2000, 1)), rng.random((2000, 1))
    after, seen, rewards, done = step_plant(spaql.make(name, k=k).plant, before, target)
    np.testing.assert_array_equal(after, target)
    np.testing.assert_array_equal(seen, target)
    expected = np.maximum(0.0, OIL[name](target, k) - np.abs(before - target))[:, 0]
    np.testing.assert_allclose(rewards, expected, rtol=0, atol=1e-15)
    assert not done.any()


@pytest.mark.parametrize("name", NAMES)
def test_episodes_start_at_zero_and_last_five_steps(name):
    problem = spaql.make(name)
    assert (problem.horizon, problem.parameters) == (5, {})
    env = gymnasium.make(problem.env_id)
    assert [env.reset(seed=seed)[0].tolist() for seed in range(3)] == [[0.0]] * 3
    assert [env.step(np.array([0.5]))[3] for _ in range(5)] == [False] * 4 + [True]


@every
def test_the_optimum_by_hand_is_that_of_dynamic_programming(name, k):
    grid = np.linspace(0.0, 1.0, 1001)
    reward = np.maximum(0.0, OIL[name](grid, k)[None, :] - np.abs(grid[:, None] - grid[None, :]))
    values = np.zeros(len(grid))
    for _ in range(5):
        values = (reward + values[None, :]).max(axis=1)
    assert values[0] == pytest.approx(optimum(name, k), abs=0.1 if name == "oil-laplace" and k == 50 else 0.03)
    assert values[0] <= optimum(name, k)


@pytest.mark.parametrize("name", NAMES)
def test_the_best_known_return_is_the_optimum(name):
    assert CATALOG[name].best_known.value == pytest.approx(optimum(name, 1), abs=1e-12)


@pytest.mark.parametrize(
    ("learner", "name", "k", "share"),
    [
        (spaql.SPAQL, "oil-laplace", 1, 0.88),
        (spaql.SPAQLTS, "oil-laplace", 10, 0.85),
        (spaql.SPAQL, "oil-quadratic", 1, 0.93),
        (spaql.SPAQL, "oil-quadratic", 10, 0.96),
        (spaql.SPAQLTS, "oil-quadratic", 50, 0.94),
        (spaql.AQL, "oil-quadratic", 10, 0.9),
    ],
)
def test_learners_come_close_to_the_optimum(learner, name, k, share):
    returns = []
    for seed in range(10, 14):  # not those on which xi was chosen
        agent = learner(spaql.make(name, k=k), seed=seed)
        agent.learn(2000)
        returns.append(agent.evaluate(200).mean)
    assert share * optimum(name, k) < np.mean(returns) <= optimum(name, k)


@pytest.mark.parametrize("name", NAMES)
def test_atlas_learns_where_the_oil_is(name):
    agent = spaql.Atlas(spaql.make(name), controller="table", seed=0)
    agent.learn(samples=500)
    assert agent.evaluate(20).mean > 0.85 * optimum(name, 1)
