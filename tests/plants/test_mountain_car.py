"""What is special of the mountain cars. That they move like Gymnasium's: test_gymnasium_twins.py."""

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import step_plant


def test_the_wall_stops_the_car():
    states, _, _, _ = step_plant(spaql.make("mountain-car").plant, np.array([[-1.2, -0.05]]), np.array([[0.0]]))
    assert states.tolist() == [[-1.2, 0.0]]


def test_the_goal_pays_once_and_fuel_costs():
    plant = spaql.make("mountain-car-continuous").plant
    states, forces = np.array([[0.44, 0.05], [0.0, 0.0]]), np.array([[0.5], [0.5]])
    _, _, rewards, done = step_plant(plant, states, forces)
    assert rewards.tolist() == pytest.approx([100.0 - 0.025, -0.025])
    assert done.tolist() == [True, False]


@pytest.mark.parametrize("name", ["mountain-car", "mountain-car-continuous"])
def test_episodes_start_at_rest_in_the_valley(name):
    env = gymnasium.make(spaql.make(name).env_id)
    starts = np.array([env.reset(seed=seed)[0] for seed in range(500)])
    assert -0.6 <= starts[:, 0].min() < -0.595
    assert -0.405 < starts[:, 0].max() <= -0.4
    assert not starts[:, 1].any()
