"""Random: the yardstick, whole range and the paper's."""

import numpy as np
import pytest

import spaql


def test_random_on_pendulum_over_the_whole_range():
    result = spaql.Random(spaql.make("pendulum")).evaluate(2000)
    assert -1270 < result.mean < -1190


def test_random_on_pendulum_as_in_the_paper():
    result = spaql.Random(spaql.make("pendulum"), low=0.0).evaluate(2000)
    assert -1390 < result.mean < -1290


def test_random_on_cartpole():
    assert 20 < spaql.Random(spaql.make("cartpole")).evaluate(2000).mean < 25


def test_actions_are_uniform_over_the_given_interval():
    agent = spaql.Random(spaql.make("pendulum"), low=-0.5, high=1.5)
    actions = agent.predict(np.tile([1.0, 0.0, 0.0], (5000, 1)), deterministic=False)[0]
    assert -0.5 <= actions.min() < -0.49
    assert 1.49 < actions.max() <= 1.5
    assert abs(actions.mean() - 0.5) < 0.05
    assert abs(actions.var() - 4 / 12) < 0.02


def test_a_list_is_applied_evenly():
    actions = spaql.Random(spaql.cube(1, [5, 6, 7], horizon=3)).predict(np.zeros((6000, 1)), deterministic=False)[0]
    counts = np.bincount(actions)[5:]
    assert (np.abs(counts - 2000) < 200).all()


@pytest.mark.parametrize(
    ("options", "word"), [({"low": -3.0}, "low"), ({"high": 2.5}, "high"), ({"low": 1.0, "high": 1.0}, "high"), ({"low": "a"}, "low")]
)
def test_the_interval_lies_inside_the_action_space(options, word):
    with pytest.raises(spaql.SpaqlError, match=word):
        spaql.Random(spaql.make("pendulum"), **options)


def test_an_interval_needs_one_continuous_action():
    for problem in (spaql.make("cartpole"), spaql.cube(1, 2, horizon=3)):
        with pytest.raises(spaql.SpaqlError, match="one continuous action"):
            spaql.Random(problem, low=0.0)
