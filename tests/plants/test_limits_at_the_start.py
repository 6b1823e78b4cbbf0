"""Limits and trips that no start satisfies are refused where they are stated: on plants, in loops, in environments."""

import pytest

import spaql
from loops import AXES, motor, spin
from spaql import Limit

TARGET = spaql.Reference("target", 50.0, 100.0, of="speed")
ENVIRONMENT = {"state_low": [-3.0, -3.0, -3.0, -3.0], "state_high": [3.0, 3.0, 3.0, 3.0], "horizon": 10, "clip": True}


@spaql.reset
def warm(u):
    return 20.0 + 20.0 * u, 0.0


def test_a_limit_that_no_start_of_a_plant_satisfies_is_refused_with_what_the_starts_are():
    actions = spaql.Continuous((-24.0,), (24.0,), ("voltage",))
    with pytest.raises(spaql.SpaqlError, match=r"no start satisfies the limit speed ≤ 10 rad/s: in 300 starts speed is 20.01 to 39.94 rad/s, .* widen it"):
        spaql.from_plant(warm, spin, state=AXES, actions=actions, horizon=9, limits=[Limit("speed", high=10.0)])


def test_a_limit_that_some_starts_satisfy_is_taken():
    assert spaql.loop(motor(), limits=[Limit("speed", high=1.0), Limit("voltage", high=5.0)]).limits


def test_a_limit_on_an_error_is_checked_with_the_references_of_the_loop():
    with pytest.raises(spaql.SpaqlError, match=r"limit \|speed_error\| ≤ 5 rad/s: in 300 starts speed_error is 3"):
        spaql.loop(motor(), references=[TARGET], limits=[Limit("speed_error", -5.0, 5.0)])


def test_a_limit_on_a_memory_says_nothing_about_starts():
    assert spaql.loop(motor(), memory=["previous(voltage)"], limits=[Limit("previous(voltage)", low=1.0)]).limits


def test_a_trip_that_every_start_violates_is_refused():
    with pytest.raises(spaql.SpaqlError, match=r"no start satisfies the trip speed ≤ -10 rad/s: .* every episode would end after its first step"):
        spaql.loop(motor(), trips=[Limit("speed", high=-10.0)], trip_cost=10.0)


def test_a_problem_of_the_catalog_is_checked_too():
    with pytest.raises(spaql.SpaqlError, match="no start satisfies the limit position ≥ 1 m"):
        spaql.make("cartpole", limits=[Limit("position", low=1.0)])


def test_starts_of_an_environment_are_resets():
    with pytest.raises(spaql.SpaqlError, match=r"no start satisfies the limit x0 ≥ 1: in 30 starts x0 is -0\.0"):
        spaql.from_gym("CartPole-v1", **ENVIRONMENT, limits=[Limit("x0", low=1.0)])
    plain = spaql.from_gym("CartPole-v1", **ENVIRONMENT)
    with pytest.raises(spaql.SpaqlError, match="no start satisfies the trip x0 ≥ 1"):
        spaql.loop(plain, trips=[Limit("x0", low=1.0)], trip_cost=10.0)
    with pytest.raises(spaql.SpaqlError, match="no start satisfies the limit x0 ≥ 1"):
        spaql.loop(plain, limits=[Limit("x0", low=1.0)])
