"""What a model makes of angles that it sees as sine and cosine."""

import numpy as np
import pytest

import spaql
from spaql.gp.circles import anywhere, circles_of, turns_of
from spaql.gp.learned_problem import imagined, model_of, one_function, predicted, starts_of
from spaql.gp.scalar_form import in_python
from spaql.gp.transitions import Data


def data_of(states, nexts=None):
    n = len(states)
    return Data(states, np.zeros((n, 1)), np.zeros(n), states[::-1] if nexts is None else nexts, np.zeros(n, bool))


def circle(angle, noise=0.0, seed=0):
    shaken = noise * np.random.default_rng(seed).standard_normal((len(angle), 2))
    return np.column_stack([np.cos(angle), np.sin(angle)]) + shaken


ANGLES = np.random.default_rng(0).uniform(-np.pi, np.pi, 200)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.02])
def test_sine_and_cosine_are_found_in_noise(noise):
    found = circles_of(data_of(circle(ANGLES, noise), circle(ANGLES + 0.1, noise, 1)))
    assert [one[:2] for one in found] == [(0, 1)]
    assert found[0].radius == pytest.approx(1.0, abs=0.01)


def test_a_temperature_is_no_cosine():
    rng = np.random.default_rng(0)
    assert circles_of(data_of(np.column_stack([350.0 + 3.0 * rng.standard_normal(200), rng.uniform(0, 1, 200)]))) == ()


def test_an_oscillator_whose_energy_hardly_changes_is_no_angle():
    radius = 1.0 + 0.02 * np.sin(np.arange(201) / 30)
    x = radius[:, None] * circle(0.3 * np.arange(201))
    assert circles_of(data_of(x[:-1], x[1:])) == ()


def test_two_switches_of_which_one_is_on_are_no_angle():
    first = (ANGLES > 0.0).astype(float)
    assert circles_of(data_of(np.column_stack([first, 1.0 - first]))) == ()


def test_two_circles_share_no_variable():
    x = np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.sin(ANGLES)])
    assert [one[:2] for one in circles_of(data_of(x))] in ([(0, 1)], [(0, 2)])


def wheel(steps=40, seed=0):
    """A wheel whose speed follows the action, and its angle the speed; only half a turn is ever seen."""
    rng = np.random.default_rng(seed)
    angle, speed, push = rng.uniform(0.0, np.pi, steps), rng.uniform(-2, 2, steps), rng.uniform(-1, 1, steps)
    after, faster = angle + 0.1 * (speed + 0.5 * push), speed + 0.5 * push
    states, nexts = np.column_stack([circle(angle), speed]), np.column_stack([circle(after), faster])
    return Data(states, push[:, None], -np.abs(angle), nexts, np.zeros(steps, bool))


@pytest.mark.parametrize("functions", [1, 6])
def test_where_no_step_was_the_angle_turns_by_its_speed(functions):
    problem, data, rng = spaql.cube(3, 1, 20), wheel(), np.random.default_rng(1)
    model = model_of(problem, data)
    at = np.zeros((4, 4))
    learned = imagined(problem, model, data, data.states[:1], rng, functions, at)
    angle, speed, push = rng.uniform(-np.pi, 0.0, 20), rng.uniform(-2, 2, 20), rng.uniform(-1, 1, 20)
    expected = np.column_stack([circle(angle + 0.1 * (speed + 0.5 * push)), speed + 0.5 * push])
    for function in range(functions):
        one = one_function(learned, function)
        found = predicted(one, np.column_stack([circle(angle), speed]), push[:, None])
        np.testing.assert_allclose(found, expected, atol=0.01)


def test_no_state_leaves_the_circle():
    problem, data, rng = spaql.cube(3, 1, 20), wheel(), np.random.default_rng(1)
    learned = imagined(problem, model_of(problem, data), data, data.states[:1], rng, 6, np.zeros((4, 4)))
    states, actions = np.column_stack([1.1 * circle(ANGLES[:30]), rng.uniform(-9, 9, 30)]), np.ones((30, 1))
    for function in range(6):
        found = predicted(one_function(learned, function), states, actions)
        np.testing.assert_allclose(np.hypot(found[:, 0], found[:, 1]), 1.0, rtol=1e-12)


def test_angles_from_anywhere_are_told_from_angles_that_agree():
    rng = np.random.default_rng(0)
    assert np.mean([anywhere(rng.uniform(-np.pi, np.pi, 8)) for _ in range(400)]) > 0.95
    assert not any(anywhere(np.pi + 0.3 * rng.standard_normal(n)) for n in (2, 3, 5, 20))
    assert np.mean([anywhere(0.9 * rng.standard_normal(20)) for _ in range(400)]) < 0.05


def test_episodes_that_begin_at_any_angle_begin_at_all():
    data = wheel()
    seen = data._replace(states=np.column_stack([circle(np.resize([0.5, 1.9, 3.0, -1.2, 2.2], 40)), data.states[:, 2]]))
    starts = starts_of(spaql.cube(3, 1, 20), seen, np.random.default_rng(0))
    angles = np.arctan2(starts[:, 1], starts[:, 0])
    assert np.histogram(angles, 6, (-np.pi, np.pi))[0].min() > 0.05 * len(angles)


def turns(data, low=None, high=None, period=(0.0, 0.0)):
    unknown = np.full(2, np.inf)
    return turns_of(data.states, data.nexts, -unknown if low is None else low, unknown if high is None else high, np.array(period))


def turntable(turn, steps=60, seed=0, begin=None):
    """An angle that jumps back by a turn, and its speed."""
    rng, begin = np.random.default_rng(seed), -turn / 2 if begin is None else begin
    angle, speed, push = begin + turn * rng.random(steps), turn / 6 * rng.uniform(-2, 2, steps), rng.uniform(-1, 1, steps)
    after = begin + (angle + 0.3 * speed - begin) % turn
    states, nexts = np.column_stack([angle, speed]), np.column_stack([after, speed + 0.1 * turn * push])
    return Data(states, push[:, None], np.zeros(steps), nexts, np.zeros(steps, bool))


@pytest.mark.parametrize(("turn", "begin"), [(2 * np.pi, -np.pi), (2 * np.pi, 0.0), (360.0, -180.0), (360.0, 0.0)])
def test_an_angle_that_jumps_back_is_found(turn, begin):
    assert turns(turntable(turn, begin=begin))[:, 0] == pytest.approx([begin, turn])
    assert turns(turntable(turn, begin=begin))[1, 1] == 0.0


def test_a_turn_of_any_length_is_found_by_the_declared_ends():
    assert turns(turntable(5.0), np.array([-2.5, -np.inf]), np.array([2.5, np.inf]))[:, 0] == pytest.approx([-2.5, 5.0])


def test_a_reference_that_jumps_is_no_angle():
    steps = turntable(2 * np.pi)
    jumping = np.repeat(np.random.default_rng(0).uniform(-np.pi, np.pi, 13), 5)
    data = steps._replace(states=np.column_stack([jumping[:60], steps.states[:, 1]]), nexts=np.column_stack([jumping[1:61], steps.nexts[:, 1]]))
    assert not turns(data).any()


@pytest.mark.slow
def test_in_the_model_it_jumps_back_too():
    problem, data = spaql.cube(2, 1, 20), turntable(2 * np.pi)
    learned = imagined(problem, model_of(problem, data), data, data.states[:1], np.random.default_rng(1))
    assert max(points.shape[1] for points in learned.plant.numbers.points) < 10
    after = predicted(learned, np.array([[3.0, 1.0], [-3.0, -1.0], [0.0, 1.0]]), np.zeros((3, 1)))
    np.testing.assert_allclose(after[:, 0], [3.3 - 2 * np.pi, 2 * np.pi - 3.3, 0.3], atol=1e-3)
    plain = in_python(learned.plant)
    assert plain.step(3.0, 1.0, 0, 0.0, 0.0, 0.5, 0.5)[0][0] == pytest.approx(3.3 - 2 * np.pi, abs=1e-3)
