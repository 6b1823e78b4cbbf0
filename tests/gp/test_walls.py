"""Walls that throw a cart back: the model is not spoiled between them, and nothing is believed of what is behind them."""

import numpy as np
import pytest

import spaql
from spaql.gp.data import Data
from spaql.gp.problem import imagined, model_of, predicted, starts_of
from spaql.gp.walls import walls_of

FREE = np.array([[-np.inf], [np.inf]])  # no stops


def bouncing(steps=400, wall=1.0, seed=0):
    """A cart between two walls, pushed at random, in one long episode."""
    rng, x, v, rows = np.random.default_rng(seed), 0.0, 0.0, []
    for u in np.repeat(rng.uniform(-1.0, 1.0, -(-steps // 3)), 3)[:steps]:
        ahead, faster = x + 0.1 * v, v + 0.4 * u - 0.02 * v * abs(v)
        if abs(ahead) > wall:
            ahead, faster = np.sign(ahead) * (2 * wall - abs(ahead)), -0.7 * faster
        rows.append(([x, v], [u], -(x**2), [ahead, faster], False))
        x, v = ahead, faster
    return Data(*(np.array(column) for column in zip(*rows, strict=True)))


def problem():
    return spaql.cube(2, 1, 50)


@pytest.fixture(scope="module")
def learned():
    data, rng = bouncing(), np.random.default_rng(0)
    told = problem()
    return imagined(told, model_of(told, data), data, starts_of(told, data, rng), rng)


def test_between_walls_the_model_is_as_good_as_without_them(learned):
    states = np.array([[0.1, 0.5], [-0.4, -0.8], [0.6, -1.0]])
    actions = np.array([[0.5], [-0.5], [0.2]])
    told = predicted(learned, states, actions)
    x, v, u = states[:, 0], states[:, 1], actions[:, 0]
    np.testing.assert_allclose(told, np.column_stack([x + 0.1 * v, v + 0.4 * u - 0.02 * v * abs(v)]), atol=0.01)


def test_the_box_of_the_model_ends_at_the_walls(learned):
    numbers = learned.plant.numbers
    ends = numbers.centre + numbers.scale * np.array([numbers.low, numbers.high])
    assert 0.75 < ends[1, 0] <= 1.0
    assert -1.0 <= ends[0, 0] < -0.75


def test_without_walls_it_ends_behind_the_data():
    data, rng, told = bouncing(wall=1e9), np.random.default_rng(0), problem()
    numbers = imagined(told, model_of(told, data), data, starts_of(told, data, rng), rng).plant.numbers
    ends = numbers.centre + numbers.scale * np.array([numbers.low, numbers.high])
    assert (ends[0] < data.states.min(axis=0)).all()
    assert (ends[1] > data.states.max(axis=0)).all()


def test_a_few_strange_steps_are_no_wall():
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    strange = np.abs(x[:, 0]) > 1.0 - 0.005
    assert 0 < strange.sum() < 5
    assert not np.isfinite(walls_of(x, x, strange, FREE)).any()


def test_strange_steps_in_the_middle_are_no_wall():
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    assert not np.isfinite(walls_of(x, x, np.abs(x[:, 0]) < 0.1, FREE)).any()


def test_a_wall_is_where_strange_steps_begin():
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    low, high = walls_of(x, x, x[:, 0] > 0.9, FREE)[:, 0]
    assert high == pytest.approx(0.9, abs=0.01)
    assert low == -np.inf


def test_a_stop_is_no_wall():
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    assert not np.isfinite(walls_of(x, x, x[:, 0] > 0.9, np.array([[-np.inf], [1.0]]))).any()
