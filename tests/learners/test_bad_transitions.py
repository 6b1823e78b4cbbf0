"""Bad observations, actions and rewards are one clear SpaqlError, and teach nothing."""

import math

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, TRAINED

GOOD = {"obs": [0.1, 0.2], "action": 0.5, "reward": 1.0, "next_obs": [0.2, 0.1]}
SHAPES = [[0.1], [0.1, 0.2, 0.3], [[0.1, 0.2]], 0.1, [], None, "ab", ["a", "b"], [0.1, None], [1j, 0.0], {"x": 1}]
VALUES = [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (1.1, "outside"), (-1.00001, "outside"), (1e30, "outside")]


def agent_of(learner, actions=1):
    problem = spaql.cube(2, actions, horizon=10)
    if learner == "SPAQL-TS":
        return spaql.SPAQLTS(problem, reference=[0.0, 0.0])
    return LEARNERS[learner](problem)


@pytest.fixture(params=TRAINED)
def agent(request):
    return agent_of(request.param)


def refused(message, agent, **changes):
    """The update is refused, and nothing has changed."""
    agent.update(**GOOD)
    before = agent.leaves().tobytes()
    with pytest.raises(spaql.SpaqlError, match=message):
        agent.update(**{**GOOD, **changes})
    assert agent.leaves().tobytes() == before


@pytest.mark.parametrize("name", ["obs", "next_obs"])
@pytest.mark.parametrize("value", SHAPES, ids=str)
def test_observations_of_the_wrong_shape_or_type(agent, name, value):
    refused(f"^{name} must (have shape 2|be an array of numbers)", agent, **{name: value})


@pytest.mark.parametrize("name", ["obs", "next_obs"])
@pytest.mark.parametrize(("value", "word"), VALUES)
def test_observations_that_are_not_finite_or_outside(agent, name, value, word):
    refused(f"^{name}: x1 .*{word}", agent, **{name: [0.1, value]})


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_rewards_that_are_not_finite(agent, reward):
    refused("reward.*finite", agent, reward=reward)


@pytest.mark.parametrize("reward", [None, "1", [1.0, 2.0], 1j])
def test_rewards_that_are_not_a_number(agent, reward):
    refused(r"^reward must", agent, reward=reward)


@pytest.mark.parametrize("action", [1.1, -1.1, math.nan, math.inf, [2.0]])
def test_continuous_actions_outside(agent, action):
    refused("action .* is outside", agent, action=action)


@pytest.mark.parametrize("action", [[0.1, 0.2], None, "a", [[0.1]], []])
def test_continuous_actions_of_the_wrong_shape_or_type(agent, action):
    refused(r"^action must", agent, action=action)


@pytest.mark.parametrize("learner", TRAINED)
@pytest.mark.parametrize("action", [2, -1, 0.5, math.nan, 1e9])
def test_actions_that_are_not_in_the_list(learner, action):
    agent = agent_of(learner, [0, 1])
    with pytest.raises(spaql.SpaqlError, match="is not one of 0, 1"):
        agent.update(**{**GOOD, "action": action})


@pytest.mark.parametrize("learner", TRAINED)
@pytest.mark.parametrize("action", [[0, 1], None, "a", []])
def test_list_actions_of_the_wrong_shape_or_type(learner, action):
    agent = agent_of(learner, [0, 1])
    with pytest.raises(spaql.SpaqlError, match=r"^action must"):
        agent.update(**{**GOOD, "action": action})


@pytest.mark.parametrize("step", [-1, 10, 1.0, "1", None, True])
def test_steps_outside_the_horizon(agent, step):
    if step == 10 and not agent.per_step:
        agent.update(**GOOD, step=step)  # one partition for all steps
        return
    refused("step must be a whole number from 0", agent, step=step)


@pytest.mark.parametrize("value", [[0.1], [0.1, 0.2, 0.3], [[[0.1, 0.2]]], 0.1, None, "ab", ["a", "b"], [0.1, None], {"x": 1}], ids=str)
def test_predicting_from_the_wrong_shape_or_type(agent, value):
    with pytest.raises(spaql.SpaqlError, match=r"^observation must (have shape|be an array of numbers)"):
        agent.predict(value)


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(("value", "word"), VALUES)
def test_predicting_from_values_that_are_not_finite_or_outside(agent, value, word, deterministic):
    for observation in ([0.1, value], [[0.1, 0.1], [0.1, value]]):
        with pytest.raises(spaql.SpaqlError, match=f"^observation: x1 .*{word}"):
            agent.predict(observation, deterministic=deterministic)


def test_a_refused_prediction_draws_no_random_number():
    one, other = spaql.SPAQL(spaql.cube(2, 1, horizon=10)), spaql.SPAQL(spaql.cube(2, 1, horizon=10))
    with pytest.raises(spaql.SpaqlError):
        one.predict([math.nan, 0.0], deterministic=False)
    assert one.predict([0.0, 0.0], deterministic=False)[0] == other.predict([0.0, 0.0], deterministic=False)[0]


@pytest.mark.parametrize("state", [np.array([1, 2]), "a", np.array([[1]])])
def test_predicting_with_a_state_of_the_wrong_shape_or_type(agent, state):
    with pytest.raises(spaql.SpaqlError, match=r"^state must"):
        agent.predict([0.1, 0.1], state=state)


def test_the_message_names_the_variable_and_its_bounds():
    with pytest.raises(spaql.SpaqlError, match=r"obs: velocity = 9 is outside the map -8 ... 8"):
        spaql.SPAQL(spaql.make("pendulum")).update([1.0, 0.0, 9.0], 0.0, 0.0, [1.0, 0.0, 0.0])
