"""Bad input to problems and learners is one clear SpaqlError."""

import math

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, TRAINED

NOT_COUNTS = [0, -1, 2.5, 3.0, "3", None, True, math.nan]


def refused(message, function, *arguments, **options):
    with pytest.raises(spaql.SpaqlError, match=message):
        function(*arguments, **options)


def cartpole():
    return spaql.make("cartpole")


@pytest.mark.parametrize("name", ["cartpol", "", "CartPole-v1", None, 3])
def test_unknown_problems_are_named_and_the_known_ones_listed(name):
    refused(f"unknown problem {name!r}.*cartpole.*from_gym", spaql.make, name)


@pytest.mark.parametrize("learner", TRAINED)
@pytest.mark.parametrize("xi", [-0.1, math.nan, math.inf, "1", True, [1.0]])
def test_xi_is_a_number_from_zero(learner, xi):
    refused("xi must be a finite number", LEARNERS[learner], cartpole(), xi=xi)


@pytest.mark.parametrize("learner", ["SPAQL", "SPAQL-TS"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("tau_min", 0.0), ("tau_min", -1.0), ("tau_min", math.inf), ("u", 0.5), ("u", math.nan), ("d", -0.1), ("d", 1.1), ("d", "a")],
)
def test_temperature_options_are_numbers_in_their_range(learner, name, value):
    refused(f"{name} must be a finite number", LEARNERS[learner], cartpole(), **{name: value})


@pytest.mark.parametrize("value", ["other", "", None, 1, ["paper"]])
@pytest.mark.parametrize("name", ["temperature_rule", "bootstrap", "distance"])
def test_choices_are_listed(name, value):
    refused(f"{name} must be one of '", spaql.SPAQLTS, cartpole(), **{name: value})
    if name == "bootstrap":
        refused("bootstrap must be one of 'paper', 'terminate'", spaql.AQL, cartpole(), bootstrap=value)


@pytest.mark.parametrize("lam", [0.0, -1.0, math.nan, math.inf, "1"])
def test_lambda_is_a_positive_number(lam):
    refused("lam must be a finite number above 0", spaql.SPAQLTS, cartpole(), lam=lam)


def test_spaql_ts_needs_a_reference():
    refused("reference", spaql.SPAQLTS, spaql.cube(2, 1, horizon=10))


@pytest.mark.parametrize("reference", [[0.0], [0.0] * 5, 0.0, "abcd", [], [[0.0] * 4], ["a"] * 4])
def test_the_reference_has_one_number_per_variable(reference):
    refused("the reference must be 4 numbers", spaql.SPAQLTS, cartpole(), reference=reference)


@pytest.mark.parametrize("reference", [[5.0, 0, 0, 0], [0, 0, 1.0, 0], [math.nan, 0, 0, 0], [0, math.inf, 0, 0]])
def test_the_reference_lies_inside_the_map(reference):
    refused("the reference is outside the map", spaql.SPAQLTS, cartpole(), reference=reference)


@pytest.mark.parametrize("seed", [-1, 1.0, "1", None, True])
def test_evaluation_seeds_are_whole_numbers_from_zero(seed):
    refused("seed must be a whole number from 0", spaql.SPAQL(cartpole()).evaluate, 1, seed)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", True])
def test_jobs_are_whole_numbers_from_one(jobs):
    refused("jobs must be a whole number from 1", spaql.learn_all, [spaql.SPAQL(cartpole())], 1, jobs=jobs)


@pytest.mark.parametrize("state_dim", [0, -1, 1.0, "2", None, True])
def test_a_cube_has_at_least_one_dimension(state_dim):
    refused("state_dim must be a whole number from 1", spaql.cube, state_dim, 1, 10)


@pytest.mark.parametrize("horizon", [0, -5, 10.0, "10", None, 10**7, True])
def test_a_cube_has_a_horizon(horizon):
    refused("horizon must be a whole number", spaql.cube, 2, 1, horizon)


@pytest.mark.parametrize("actions", [0, -1, 5, True])
def test_continuous_actions_have_one_to_four_axes(actions):
    refused("the number of action axes must be a whole number from 1 to 4", spaql.cube, 2, actions, 10)


@pytest.mark.parametrize("actions", [[], [0, 0], [0, math.nan], [0, math.inf]])
def test_a_finite_set_is_different_finite_numbers(actions):
    refused("different finite numbers", spaql.cube, 2, actions, 10)


@pytest.mark.parametrize("actions", [None, 1.5, "ab", ["a"], [[0], [1]], np.array([[0, 1]]), [[0], [1, 2]]])
def test_actions_are_a_number_of_axes_or_a_list(actions):
    refused("number of axes or a list|must be numbers", spaql.cube, 2, actions, 10)


@pytest.mark.parametrize(("state_dim", "actions"), [(14, 1), (14, [0, 1]), (13, 2), (20, 1)])
def test_too_many_dimensions_are_refused_with_advice(state_dim, actions):
    problem = spaql.cube(state_dim, actions, 10)
    refused(f"{state_dim} observed variables.*cells per split.*TransformObservation", spaql.SPAQL, problem)
    refused("65 observed variables are more than 64", spaql.cube, 65, actions, 10)


def test_action_bounds_are_finite_and_in_order():
    for low, high in (((1.0,), (-1.0,)), ((0.0,), (0.0,)), ((-math.inf,), (1.0,)), ((0.0,), (math.nan,))):
        refused("action bounds must be finite and low < high", spaql.Continuous, low, high)
    refused("1 to 16 axes", spaql.Continuous, (0.0,), (1.0, 2.0))


NOT_NUMBERS = ["1", None, True, [1.0], 1j]


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("name", ["low", "high", "centre"])
@pytest.mark.parametrize("slope", [None, 2.0])
def test_bounds_and_centre_of_an_axis_are_numbers(slope, name, value):
    options = {"low": -1.0, "high": 2.0, "slope": slope, name: value}
    refused(f"speed: {name} must be a finite number, not", spaql.Axis, "speed", **options)


@pytest.mark.parametrize("value", [value for value in NOT_NUMBERS if value is not None])
def test_the_slope_of_an_axis_is_a_number(value):
    refused("speed: the slope of a sigmoid axis must be a finite number above 0, not", spaql.Axis, "speed", slope=value)


@pytest.mark.parametrize("value", ["1", None, True, ["1"], [None], [[1.0], [1.0, 2.0]], [[1.0]], 1j, {1.0}])
def test_action_bounds_are_numbers(value):
    refused("action bounds must be numbers", spaql.Continuous, value, 2.0)
    refused("action bounds must be numbers", spaql.Continuous, -2.0, value)


@pytest.mark.parametrize("values", ["1", None, True, ["1", 2], [0, None], [[0], [1, 2]], [[0, 1]], [1j], {0, 1}])
def test_a_finite_set_is_numbers(values):
    refused("a finite action set must be numbers", spaql.Finite, values)
