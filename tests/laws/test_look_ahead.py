"""Look-ahead in a learned model, and when Atlas relies on it."""

import threading

import pytest

import spaql
from spaql.learners.atlas.experience import AHEAD


@spaql.reset
def cold(u1):
    return (0.2 * u1,)


@spaql.step
def heated(temperature, heat):
    temperature = temperature + 0.05 * heat - 0.01 * temperature
    return (temperature,), -abs(temperature - 1.0), False


@spaql.step
def paid_for(temperature, heat):
    return (temperature,), -abs(heat), False


def learned(step, values):
    problem = spaql.from_plant(
        cold, step, state=[spaql.Axis("temperature", -1, 6)], actions=spaql.Finite(values), horizon=100
    )
    agent = spaql.Atlas(problem, seed=0, controller="laws")
    agent.train(70, threading.Event())  # without the search for laws
    return agent


@pytest.mark.parametrize("values", [(0.0, 1.0), (1.0, 0.0)])
def test_of_two_actions_the_better_one_may_be_the_one_in_the_middle(values):
    """A heater that had better be on is a reason to look ahead, wherever `on` stands in the list."""
    assert (learned(heated, values).state.memory.flags[:70] & AHEAD).any()


def test_where_nothing_can_be_gained_over_the_middle_action_the_plan_explores():
    """All that is seen is what actions cost, and the middle one costs nothing."""
    assert not (learned(paid_for, (-1.0, 0.0, 1.0)).state.memory.flags[:70] & AHEAD).any()
