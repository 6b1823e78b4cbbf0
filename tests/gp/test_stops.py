"""Stops: where a plant holds a variable, the model of it holds it too, and is not spoiled elsewhere."""

import numpy as np

import spaql
from spaql.gp.data import Data, brakes_of, stopped, stops_of
from spaql.gp.model import learn_model
from spaql.gp.problem import imagined, predicted
from spaql.gp.residuals import unpredicted

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
    told = stopped(data, stops_of(data), np.zeros((2, 2)))
    np.testing.assert_array_equal(told[:, 0], np.abs(data.nexts[:, 0]) == 1.0)
    assert not told[:, 1].any()


def test_a_linear_plant_with_a_stop_is_learned_as_linear_and_stops():
    data, fresh = cart(), cart(120, seed=1)
    model = learn_model(data, LOW, HIGH, False, False)
    assert unpredicted(model, data)[0] < 1e-3
    learned = imagined(spaql.cube(2, 1, 20), model, data, data.states[:1], np.random.default_rng(0))
    np.testing.assert_allclose(predicted(learned, fresh.states, fresh.actions), fresh.nexts, atol=1e-3)
    assert (np.abs(fresh.nexts[:, 0]) == 1.0).sum() > 3  # and some of these are at a buffer


def stopping(steps=300, stop=1.0, seed=0):
    """A cart that stands when it has come to a buffer, whatever its speed was."""
    data = cart(steps, stop, seed)
    nexts = data.nexts.copy()
    nexts[np.abs(nexts[:, 0]) == stop, 1] = 0.0
    return data._replace(nexts=nexts)


def test_what_a_stop_brings_to_rest_is_told_by_the_data():
    data = stopping()
    np.testing.assert_array_equal(brakes_of(data, stops_of(data)), [[0.0, 1.0], [0.0, 0.0]])


def test_a_cart_that_slides_along_its_buffer_is_not_brought_to_rest():
    assert not brakes_of(cart(), stops_of(cart())).any()


def test_a_reference_that_is_held_at_a_stop_is_not_brought_to_it():
    data = stopping()
    held = np.full((300, 1), 3.0)
    beside = data._replace(states=np.hstack([data.states, held]), nexts=np.hstack([data.nexts, held]))
    assert not brakes_of(beside, stops_of(beside))[:, 2].any()


def test_in_a_model_a_cart_stands_at_its_buffer_and_moves_elsewhere():
    data, told = stopping(), spaql.cube(2, 1, 20)
    model = learn_model(data, LOW, HIGH, False, False)
    mean = imagined(told, model, data, data.states[:1], np.random.default_rng(0))
    after = predicted(mean, np.array([[0.95, 0.8], [-0.9, -0.9], [0.0, 0.5]]), np.array([[0.5], [-1.0], [0.5]]))
    np.testing.assert_allclose(after, [[1.0, 0.0], [-1.0, 0.0], [0.15, 0.5]], atol=0.005)
    assert max(unpredicted(model, data).values()) < 0.02


def test_a_model_in_plain_functions_brings_to_rest_what_the_compiled_one_does():
    data, told = stopping(), spaql.cube(2, 1, 20)
    mean = imagined(told, learn_model(data, LOW, HIGH, False, False), data, data.states[:1], np.random.default_rng(0))
    step = mean.plant.in_functions().step
    for state, action in ((0.95, 0.8), 0.5), ((0.0, 0.5), 0.5):
        (place, speed, *_), *_ = step(*state, 0.0, 0.0, action, 0.5, 0.5)
        np.testing.assert_allclose([place, speed], predicted(mean, np.array([state]), np.array([[action]]))[0], atol=1e-4)
