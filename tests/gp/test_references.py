"""References, which jump when nobody can know: beginnings after jumps, stretches, and what is certain in a model."""

import numpy as np
import pytest

import spaql
from spaql.gp.learned_problem import imagined, model_of, one_function, starts_of
from spaql.gp.transitions import Data, jumped, stretch_of, stretches_of
from spaql.laws.trials import Trials, seeds_of
from spaql.trees.edits import constant


def walk(steps, after, begin):
    """Data of one long episode under random actions."""
    rng, states = np.random.default_rng(0), [np.array(begin)]
    actions = rng.uniform(-1, 1, (steps, 1))
    for u in actions:
        states.append(after(states[-1], float(u[0]), rng))
    x = np.array(states)
    return Data(x[:-1], actions, -np.abs(x[1:, 0]), x[1:], np.zeros(steps, bool))


def tracking(values, rate):
    """A lag beside a reference that jumps now and then."""

    def after(x, u, rng):
        return np.array([0.9 * x[0] + 0.1 * u, values(rng) if rng.random() < rate else x[1]])

    return after


def anything(rng):
    return rng.uniform(-1, 1)


def one_of_two(rng):
    return float(rng.random() < 0.5)


def in_contact(x, u, rng):
    """A lag beside a switch that the lag closes."""
    y = 0.95 * x[0] + 0.3 * u
    return np.array([y, float(y > 0.5)])


def test_what_follows_the_jump_of_a_reference_is_a_beginning():
    data = walk(200, tracking(anything, 0.05), [0.0, 0.2])
    starts = starts_of(spaql.cube(2, 1, 20), data, np.random.default_rng(0))
    assert starts[:, 1].max() > 0.4
    assert starts[:, 1].min() < -0.2


@pytest.mark.parametrize(("values", "rate"), [(anything, 0.1), (one_of_two, 0.1)])
def test_an_episode_has_a_stretch_for_its_beginning_and_one_for_every_jump(values, rate):
    data = walk(600, tracking(values, rate), [0.0, 1.0])
    jumps = jumped(data).mean()
    assert jumps > 0.03
    assert stretches_of(100, data) == pytest.approx(1 + 100 * jumps)
    assert stretch_of(100, data) == round(100 / (1 + 100 * jumps))


def test_a_contact_that_the_plant_makes_is_no_reference():
    data = walk(600, in_contact, [0.0, 0.0])
    assert 0 < (data.nexts[:, 1] != data.states[:, 1]).mean() < 0.15
    assert not jumped(data).any()
    assert stretch_of(100, data) == 100


def between_two_stops(x, u, rng):
    """A lag beside a sensor that tells which of two stops the lag has reached."""
    y = 0.95 * x[0] + 0.3 * u
    return np.array([y, float(y > 0.8) - float(y < -0.8)])


def pressed(x, u, rng):
    """A lag beside the force with which the lag presses against a stop."""
    y = 0.98 * x[0] + 0.2 * u
    return np.array([y, max(y - 1.1, 0.0)])


@pytest.mark.parametrize("after", [between_two_stops, pressed])
def test_what_a_sensor_feels_at_a_stop_is_no_reference(after):
    data = walk(600, after, [0.0, 0.0])
    assert 0 < (data.nexts[:, 1] != data.states[:, 1]).mean() < 0.15
    assert not jumped(data).any()


def test_in_a_model_a_reference_is_held_exactly():
    data, rng = walk(300, tracking(anything, 0.05), [0.0, 0.2]), np.random.default_rng(0)
    told = spaql.cube(2, 1, 50)
    drawn = imagined(told, model_of(told, data), data, data.states[:1], rng, 4, np.ones((5, 3)))
    visited = Trials(drawn).watched(constant(2, np.zeros(1)), seeds_of(0, 0, 0, 20), 1000)[1]
    np.testing.assert_allclose(visited[:, 1], 0.2, atol=1e-6)


def test_functions_do_not_run_away_where_one_variable_is_the_error_of_another():
    def after(x, u, rng):
        reference = rng.uniform(-1, 1) if rng.random() < 0.05 else x[1]
        y = 0.9 * x[0] + 0.1 * u + 0.01 * rng.standard_normal()
        return np.array([y, reference, reference - y])

    data, rng = walk(300, after, [0.0, 0.2, 0.2]), np.random.default_rng(0)
    told = spaql.cube(3, 1, 200)
    drawn = imagined(told, model_of(told, data), data, data.states[:1], rng, 6, np.ones((5, 4)))
    for f in range(6):
        visited = Trials(one_function(drawn, f)).watched(constant(3, np.zeros(1)), seeds_of(0, 0, 0, 20), 2000)[1]
        assert visited[:, 2].std() < 0.3


def test_a_start_has_the_error_of_its_own_reference():
    rng = np.random.default_rng(0)
    reference, x = np.repeat(rng.uniform(-1, 1, 12), 10), np.tile(np.linspace(0.0, 0.4, 10), 12)
    states = np.column_stack([x, reference, reference - x])
    nexts = np.roll(states, -1, axis=0)
    nexts[9::10] = states[9::10] + np.array([0.05, 0.0, -0.05])
    data = Data(states, np.zeros((120, 1)), np.zeros(120), nexts, np.zeros(120, bool))
    starts = starts_of(spaql.cube(3, 1, 20), data, rng)
    np.testing.assert_allclose(starts[:, 0], 0.0, atol=1e-9)
    assert starts[:, 1].std() > 0.3
    np.testing.assert_allclose(starts[:, 2], starts[:, 1], atol=1e-9)


def test_few_jumps_of_a_schedule_make_a_reference_and_few_others_do_not():
    def data(times):
        rng, parts = np.random.default_rng(0), []
        for time in times:
            x, r = rng.uniform(-1, 1, 21), (np.arange(21) >= time).astype(float)
            parts.append(np.column_stack([x, r]))
        states, nexts = (np.concatenate([part[which] for part in parts]) for which in (slice(None, -1), slice(1, None)))
        return Data(states, np.zeros((len(states), 1)), np.zeros(len(states)), nexts, np.zeros(len(states), bool))

    assert jumped(data([10, 10, 10])).sum() == 3
    assert jumped(data([8, 12, 10])).sum() == 0
