"""Axes, actions and problems that cannot work are refused where they are made."""

import math

import numpy as np
import pytest

import spaql

UP = math.nextafter(1.0, 2.0)
BAD = {
    "name is a number": (lambda: spaql.Axis(5, 0, 1), "name of a variable must be a text, not 5"),
    "no name": (lambda: spaql.Axis("", 0, 1), "needs a name"),
    "unit is a number": (lambda: spaql.Axis("x", 0, 1, unit=5), "x: unit must be a text, not 5"),
    "half a sign": (lambda: spaql.Axis("x\ud800", 0, 1), "half of a surrogate pair"),
    "half a unit": (lambda: spaql.Axis("x", 0, 1, unit="\udfff"), "half of a surrogate pair"),
    "too wide": (lambda: spaql.Axis("x", -1e308, 1e308), r"x: bounds are at most 1e\+100"),
    "too narrow": (lambda: spaql.Axis("x", 1.0, UP), "x: the range is too narrow"),
    "tiny": (lambda: spaql.Axis("x", 0.0, 5e-324), "x: the range is too narrow"),
    "actions too wide": (lambda: spaql.Continuous((-1e308,), (1e308,)), r"an action: bounds are at most 1e\+100"),
    "actions too narrow": (lambda: spaql.Continuous((1.0,), (UP,)), "an action: the range is too narrow"),
    "huge actions": (lambda: spaql.Finite((-1e308, 1e308)), "at most 1e"),
    "one action in double precision": (lambda: spaql.Finite((2**53, 2**53 + 1)), "different in double precision"),
    "action name": (lambda: spaql.Finite((0, 1), names=(3,)), "names of actions: each must be a text"),
    "half an action name": (lambda: spaql.Continuous((0,), (1,), names=("\ud800",)), "half of a surrogate pair"),
    "a text for names": (lambda: spaql.Finite((0, 1), names="u"), "names of actions must be a list"),
    "reference name": (lambda: spaql.Reference("\ud800", 0, 1), "half of a surrogate pair"),
    "reference unit": (lambda: spaql.Reference("r", 0, 1, unit=3), "unit must be a text"),
    "problem name": (lambda: spaql.Problem(3, "", [spaql.Axis("x", 0, 1)], spaql.Finite((0, 1)), 5), "name of a problem must be a text"),
    "state is a number": (lambda: spaql.Problem("p", "", 3, spaql.Finite((0, 1)), 5), "`state` must be a list, not 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_with_one_line(name):
    call, message = BAD[name]
    with pytest.raises(spaql.SpaqlError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize("certain", ["False", math.nan, None, [True], np.zeros(2)])
def test_deterministic_is_true_or_false(certain):
    agent = spaql.Random(spaql.make("cartpole"))
    for call in (agent.evaluate, agent.episode, lambda **given: agent.predict(np.zeros(4), **given)):
        with pytest.raises(spaql.SpaqlError, match="deterministic must be True or False"):
            call(deterministic=certain)


def test_large_whole_actions_are_applied_as_they_are():
    problem = spaql.cube(1, [-1e30, 0, 1e30], horizon=3)
    assert abs(float(spaql.SPAQL(problem, seed=0).predict([0.0])[0])) in (0.0, 1e30)


def test_a_state_given_as_a_list_is_saved_and_loaded(tmp_path):
    problem = spaql.Problem("p", "", [spaql.Axis("x", 0, 1)], spaql.Finite((0, 1)), 5, reference=[0])
    assert (problem.state, problem.reference) == ((spaql.Axis("x", 0, 1),), (0.0,))
    agent = spaql.SPAQL(problem, seed=0)
    agent.update([0.5], 1, 1.0, [0.6])
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql", problem)
    np.testing.assert_array_equal(again.leaves(), agent.leaves())


@pytest.mark.parametrize("ended", ["False", math.nan, None, [False], 2, np.array([True, False])])
@pytest.mark.parametrize("learner", [spaql.SPAQL, spaql.AQL, spaql.Atlas])
def test_terminated_is_true_or_false(learner, ended):
    agent = learner(spaql.cube(1, [0, 1], horizon=5), seed=0)
    with pytest.raises(spaql.SpaqlError, match="terminated must be True or False"):
        agent.update([0.5], 1, 1.0, [0.6], terminated=ended)
    agent.update([0.5], 1, 1.0, [0.6], terminated=np.bool_(False))
    agent.update([0.5], 1, 1.0, [0.6], terminated=1)
