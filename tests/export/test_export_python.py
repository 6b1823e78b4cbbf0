"""Exported Python is run: the same actions as the policy on a million states and at every corner of every region."""

import ast

import numpy as np
import pytest

from exported_policies import NAMES, built, corners_of, deep_chain, expected, leaf, plane, policies, split, states_of
from exported_programs import controller_of
from spaql.export import export
from spaql.plants.problem import Finite


def applied(text, states):
    act = controller_of(text)
    return np.array([act(state) for state in states.tolist()], float).reshape(len(states), -1)


@pytest.mark.parametrize("name", NAMES)
def test_it_does_what_the_policy_does(name):
    policy = policies()[name]
    text = export(policy, "python")
    states = states_of(policy, 1_000_000 if name == "cartpole" else 200_000)
    for some in (states, corners_of(policy)):
        np.testing.assert_array_equal(applied(text, some), expected(policy, some))


def test_it_needs_nothing():
    for name in NAMES:
        for node in ast.walk(ast.parse(export(policies()[name], "python"))):
            assert not isinstance(node, ast.Import | ast.ImportFrom | ast.Global)


def test_it_returns_what_the_plant_takes():
    assert type(controller_of(export(policies()["cartpole"], "python"))([0.0] * 4)) is int
    assert type(controller_of(export(policies()["pendulum"], "python"))([0.0] * 3)) is float
    assert type(controller_of(export(policies()["pendulum-5"], "python"))([0.0] * 3)) is float
    assert type(controller_of(export(policies()["odd names"], "python"))([0.0] * 3)) is tuple
    halves = built(plane(actions=Finite((0, 0.5))), 2, 1, split(0, 0.0, leaf(0), leaf(0.5)))
    assert controller_of(export(halves, "python"))([1.0, 0.0]) == 0.5


def test_observations_of_numpy_in_single_precision():
    policy = policies()["cartpole"]
    act = controller_of(export(policy, "python"))
    states = corners_of(policy, np.float32)[:20_000]
    np.testing.assert_array_equal([act(state) for state in states], expected(policy, states)[:, 0])


def test_nan_goes_where_the_policy_sends_it():
    policy = policies()["cartpole"]
    rng = np.random.default_rng(0)
    states = states_of(policy, 5000)
    states = np.where(rng.random(states.shape) < 0.4, rng.choice([np.nan, np.inf, -np.inf], states.shape), states)
    np.testing.assert_array_equal(applied(export(policy, "python"), states), expected(policy, states))


def test_an_observation_of_another_length_is_an_error():
    act = controller_of(export(policies()["cartpole"], "python"))
    for length in (3, 5):
        with pytest.raises(ValueError, match="unpack"):
            act([0.0] * length)


@pytest.mark.parametrize("depth", [50, 90, 500])
def test_deep_trees(depth):
    policy = deep_chain(depth)
    text = export(policy, "python", name="act")
    assert ("nodes = (" in text) == (depth > 60)
    states = states_of(policy, 2000)
    act = controller_of(text, "act")
    np.testing.assert_array_equal([act(state) for state in states], expected(policy, states)[:, 0])


def test_weighted_sums_in_a_deep_tree():
    chain = leaf(3.0)
    for i in range(80):
        chain = split(2, -i / 80, leaf(-i / 40), chain, weights=[0.1 + i, -1.3 / (i + 1)])
    policy = built(plane(), 2, 1, chain)
    text = export(policy, "python")
    assert "nodes = (" in text
    states = states_of(policy, 20_000)
    np.testing.assert_array_equal(applied(text, states), expected(policy, states))
