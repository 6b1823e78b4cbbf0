"""A lane of a batch never depends on its neighbours: one state alone gives the same bits as a hundred together."""

import numpy as np
import pytest

import spaql
from helpers import run_batch, step_plant
from spaql.plants.plant import LANES


@pytest.mark.parametrize("name", ["pendulum", "pendulum-scaled", "pendulum-5", "cartpole"])
def test_step_of_one_lane_and_of_a_hundred(name):
    problem = spaql.make(name)
    rng = np.random.default_rng(4)
    spread = 3.0 if name.startswith("pendulum") else 0.3
    states = rng.normal(0, spread, (300, problem.plant.state_dim))
    actions = rng.choice([0.0, 1.0], (300, 1)) if name == "cartpole" else rng.uniform(-2, 2, (300, 1))
    alone = step_plant(problem.plant, states, actions, lanes=1)
    for lanes in (100, 7):
        for one, many in zip(alone, step_plant(problem.plant, states, actions, lanes=lanes), strict=True):
            np.testing.assert_array_equal(one, many)


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_reset_of_one_lane_and_of_a_hundred(name):
    plant = spaql.make(name).plant
    noise = np.random.default_rng(5).random((plant.reset_noise, 100))

    def starts(columns):
        table = np.zeros((plant.rows.end, LANES))
        table[plant.rows.noise : plant.rows.noise + plant.reset_noise, : len(columns)] = noise[:, columns]
        run_batch(plant.batch[0], table.reshape(-1), len(columns))
        return table[: plant.rows.action, : len(columns)]

    together = starts(np.arange(100))
    for i in range(100):
        np.testing.assert_array_equal(starts(np.array([i]))[:, 0], together[:, i])


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_compiled_functions_compute_what_the_plain_python_does(name):
    plant = spaql.make(name).plant
    rng = np.random.default_rng(6)
    states, actions = rng.normal(0, 0.2, (50, plant.state_dim)), rng.choice([0.0, 1.0], (50, 1))
    after, seen, rewards, done = step_plant(plant, states, actions)
    for i in range(50):
        state, reward, terminated = plant.step(*states[i], *actions[i])
        np.testing.assert_allclose(after[i], state, rtol=0, atol=1e-13)
        np.testing.assert_allclose(seen[i], plant.observe(*state) if plant.observe else state, rtol=0, atol=1e-13)
        assert rewards[i] == pytest.approx(reward, abs=1e-13)
        assert done[i] == terminated


@pytest.mark.parametrize("name", ["pendulum", "cartpole"])
def test_returns_of_the_first_rollouts_do_not_depend_on_how_many_follow(name):
    agent = spaql.SPAQL(spaql.make(name), seed=1)
    agent.learn(3, rollouts=5)
    many = agent.evaluate(300, seed=2).returns
    for count in (1, 4, 7, 128, 129):
        np.testing.assert_array_equal(agent.evaluate(count, seed=2).returns, many[:count])
