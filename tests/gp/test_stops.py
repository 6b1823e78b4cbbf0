"""Stops: where a plant holds a variable, the model of it holds it too, and is not spoiled elsewhere."""

import numpy as np

import spaql
from spaql.gp.data import Data, stopped, stops_of
from spaql.gp.model import learn_model, unpredicted
from spaql.gp.problem import imagined, predicted

LOW, HIGH = np.array([-1.0]), np.array([1.0])


def cart(steps=200, stop=1.0, seed=0):
    """A cart that a motor moves, between buffers."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1.0, 1.0, (steps, 1))
    states = rng.uniform([-stop, -1.0], [stop, 1.0], (steps, 2))
    ahead = states[:, 0] + 0.3 * states[:, 1]
    nexts = np.column_stack([np.clip(ahead, -stop, stop), 0.9 * states[:, 1] + 0.1 * actions[:, 0]])
    return Data(states, actions, -(states[:, 0] ** 2), nexts, np.zeros(steps, bool))


def test_an_end_that_is_reached_again_and_again_is_a_stop():
    np.testing.assert_array_equal(stops_of(cart()), [[-1.0, -np.inf], [1.0, np.inf]])


def test_the_greatest_value_of_a_free_variable_is_none():
    assert not np.isfinite(stops_of(cart(stop=1e9))).any()


def test_a_switch_or_a_reference_has_none():
    data = cart()
    held = np.where(np.arange(200) < 100, 2.0, 5.0)[:, None]
    states, nexts = np.hstack([data.states, held]), np.hstack([data.nexts, held])
    assert not np.isfinite(stops_of(data._replace(states=states, nexts=nexts))[:, 2]).any()


def test_what_always_begins_alike_has_none():
    """The first step of every episode, from the same state with the same action, goes furthest."""
    data = cart(stop=1e9)
    states, actions, nexts = data.states.copy(), data.actions.copy(), data.nexts.copy()
    states[::20], actions[::20], nexts[::20] = [2e9, 0.0], 1.0, [2e9, 0.1]
    assert not np.isfinite(stops_of(data._replace(states=states, actions=actions, nexts=nexts))).any()


def test_a_step_into_a_stop_tells_nothing_about_how_far_it_would_have_gone():
    data = cart()
    told = stopped(data, stops_of(data))
    np.testing.assert_array_equal(told[:, 0], np.abs(data.nexts[:, 0]) == 1.0)
    assert not told[:, 1].any()


def test_a_linear_plant_with_a_stop_is_learned_as_linear_and_stops():
    data, fresh = cart(), cart(120, seed=1)
    model = learn_model(data, LOW, HIGH, False, False)
    assert unpredicted(model, data)[0] < 1e-3
    learned = imagined(spaql.cube(2, 1, 20), model, data, data.states[:1], np.random.default_rng(0))
    np.testing.assert_allclose(predicted(learned, fresh.states, fresh.actions), fresh.nexts, atol=1e-3)
    assert (np.abs(fresh.nexts[:, 0]) == 1.0).sum() > 3  # and some of these are at a buffer
