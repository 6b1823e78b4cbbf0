"""The ambulance waits for calls of the distribution told, and pays for both ways."""

import gymnasium
import numpy as np
import pytest
import scipy.stats

import spaql
from helpers import step_plant
from spaql.plants.catalog import CATALOG

CALLS = {"ambulance": scipy.stats.beta(5, 2), "ambulance-uniform": scipy.stats.uniform()}
names = pytest.mark.parametrize("name", CALLS)


def moved(problem, count=20_000):
    rng, plant = np.random.default_rng(1), problem.plant
    last, station, noise = rng.random((count, 1)), rng.random((count, 1)), rng.random((count, plant.step_noise))
    calls, seen, rewards, done = step_plant(plant, last, station, noise=noise)
    return last[:, 0], station[:, 0], calls[:, 0], seen[:, 0], rewards, done


@names
def test_calls_have_the_distribution_told(name):
    calls = moved(spaql.make(name))[2]
    assert scipy.stats.kstest(calls, CALLS[name].cdf).pvalue > 0.01


@names
def test_calls_of_episodes_have_it_too_and_do_not_depend_on_each_other(name):
    env, calls = gymnasium.make(spaql.make(name).env_id), []
    for seed in range(400):
        env.reset(seed=seed)
        calls += [env.step(np.array([0.5]))[0][0] for _ in range(5)]
    assert scipy.stats.kstest(calls, CALLS[name].cdf).pvalue > 0.01
    assert abs(np.corrcoef(calls[:-1], calls[1:])[0, 1]) < 0.06


@names
@pytest.mark.parametrize("alpha", [0.0, 0.25, 1.0])
def test_both_ways_cost(name, alpha):
    last, station, calls, seen, rewards, done = moved(spaql.make(name, alpha=alpha))
    np.testing.assert_array_equal(seen, calls)
    np.testing.assert_allclose(rewards, 1 - (alpha * abs(last - station) + (1 - alpha) * abs(station - calls)), rtol=0, atol=1e-15)
    assert not done.any()


@names
def test_episodes_start_in_the_middle_and_last_five_steps(name):
    env = gymnasium.make(spaql.make(name).env_id)
    assert [env.reset(seed=seed)[0].tolist() for seed in range(3)] == [[0.5]] * 3
    assert [env.step(np.array([0.5]))[3] for _ in range(5)] == [False] * 4 + [True]


def expected_of_waiting_at(station, name, alpha, grid):
    """The return of an episode that waits there whatever comes: what a learner must beat or meet."""
    density = CALLS[name].pdf(grid)
    density = density / density.sum()
    way = float((density * np.abs(station - grid)).sum())
    return 5 - (alpha * abs(0.5 - station) + 4 * alpha * way + 5 * (1 - alpha) * way)


@names
@pytest.mark.parametrize("learner", [spaql.AQL, spaql.SPAQL, spaql.SPAQLTS])
def test_learners_do_as_well_as_the_best_fixed_station(name, learner):
    grid = np.linspace(0, 1, 2001)
    best = max(expected_of_waiting_at(station, name, 0.25, grid) for station in grid[::20])
    agents = [learner(spaql.make(name), seed=seed) for seed in range(10, 14)]
    for agent in agents:
        agent.learn(2000)
    mean = np.mean([agent.evaluate(1000).mean for agent in agents])
    assert mean > 0.97 * best


def test_with_alpha_one_the_ambulance_stays_where_it_is():
    agent = spaql.SPAQL(spaql.make("ambulance", alpha=1.0), seed=10)
    agent.learn(2000)
    assert agent.evaluate(200).mean > 4.6


@names
def test_atlas_learns_where_to_wait(name):
    agent, chance = spaql.Atlas(spaql.make(name), controller="table", seed=0), spaql.Random(spaql.make(name))
    agent.learn(samples=1000)
    assert agent.evaluate(200).mean > chance.evaluate(200).mean + 0.2


@names
def test_the_best_known_return_is_that_of_the_best_place_after_every_call(name):
    call, place = CALLS[name].ppf((np.arange(2000) + 0.5) / 2000), np.linspace(0.0, 1.0, 2001)
    way_out = np.abs(place[:, None] - call).mean(axis=1)
    best = [np.max(1.0 - (0.25 * np.abs(last - place) + 0.75 * way_out)) for last in (0.5, *call)]
    assert best[0] + 4 * np.mean(best[1:]) == pytest.approx(CATALOG[name].best_known.value, abs=1e-4)
