"""Plants of one's own with parameters, fixed or drawn anew by every episode."""

import math
import pickle

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, assert_same, wrapped
from spaql import Between


@spaql.reset
def anywhere(u):
    return 2.0 * u - 1.0, 0.0


@spaql.step
def spring(place, speed, push, stiffness, u, mass):
    speed = 0.9 * (speed + 0.1 * (push - stiffness * place) / mass) + 0.01 * (u - 0.5)
    place = min(max(place + 0.1 * speed, -1.0), 1.0)
    return (place, speed), 1.0 - place * place, False


@spaql.observe
def look(place, speed):
    return (place,)


@spaql.observe
def look_and_weigh(place, speed, mass):
    return place, mass


def own(parameters, observe=None, state=("place", "speed")):
    axes = [spaql.Axis(name, slope=1.0) for name in state]
    return spaql.from_plant(
        anywhere, spring, observe=observe, state=axes, actions=spaql.Continuous((-1.0,), (1.0,)), horizon=30, name="spring",
        reference=(0.0,) * len(axes), parameters=parameters,
    )  # fmt: skip


def test_arguments_named_like_a_parameter_receive_it():
    plant = own({"mass": 2.0, "stiffness": 3}).plant
    assert (plant.state_dim, plant.action_dim, plant.reset_noise, plant.step_noise) == (2, 1, 1, 1)
    assert plant.step(0.1, 0.2, 0.5, 0.7) == spring(0.1, 0.2, 0.5, 3.0, 0.7, 2.0)


def test_parameters_of_own_plants_are_drawn_too():
    plant = own({"mass": Between(1, 2), "stiffness": Between(3, 4)}).plant
    assert plant.reset(0.7, 0.25, 0.5) == (*anywhere(0.7), 1.25, 3.5)
    assert plant.step(0.1, 0.2, 1.25, 3.5, 0.5, 0.7)[0] == (*spring(0.1, 0.2, 0.5, 3.5, 0.7, 1.25)[0], 1.25, 3.5)
    assert plant.observe(0.1, 0.2, 1.25, 3.5) == (0.1, 0.2)


def test_own_plants_may_show_what_was_drawn():
    problem = own({"mass": Between(1, 2), "stiffness": 1}, look_and_weigh, ("place", "mass"))
    assert problem.plant.observe(0.1, 0.2, 1.25) == (0.1, 1.25)


@pytest.mark.parametrize("observe", [None, look], ids=["all", "part"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_own_plants_learn_the_same_bits_in_both_loops(learner, observe):
    problem = own({"mass": Between(0.5, 2), "stiffness": 1.0}, observe, ("place",) if observe else ("place", "speed"))
    agents = [LEARNERS[learner](p, seed=6) for p in (problem, wrapped(problem))]
    for agent in agents:
        agent.learn(4, rollouts=3)
    assert_same(*agents, episodes=5)


def test_own_plants_with_parameters_can_be_sent_to_another_process_and_saved(tmp_path):
    problem = own({"mass": Between(0.5, 2), "stiffness": 1.0})
    agent = spaql.SPAQL(problem, seed=1)
    agent.learn(3, rollouts=2)
    assert spaql.Random(pickle.loads(pickle.dumps(problem))).evaluate(5).mean == spaql.Random(problem).evaluate(5).mean
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql", problem=problem)
    np.testing.assert_array_equal(again.evaluate(5).returns, agent.evaluate(5).returns)


def test_own_plants_tell_their_parameters():
    assert "stiffness=3, mass=0.5..2" in repr(own({"stiffness": 3, "mass": Between(0.5, 2)}))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mass": 1.0, "stiffness": 1.0, "length": 2.0}, "no function of the plant takes the parameter 'length': name an argument of"),
        ({"mass": math.nan, "stiffness": 1.0}, "mass must be a finite number"),
        ({"mass": "1", "stiffness": 1.0}, "mass must be a finite number"),
        ([1.0], "parameters are names with numbers or ranges"),
        ({1: 1.0}, "parameters are names with numbers or ranges"),
    ],
)
def test_wrong_parameters_of_own_plants_are_one_clear_error(parameters, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        own(parameters)


def test_messages_name_the_function_of_the_user():
    @spaql.step
    def sour(place, speed, push, mass):
        return (place, 1.0 / (mass - mass)), 0.0, False

    with pytest.raises(spaql.SpaqlError, match="step sour"):
        spaql.from_plant(
            anywhere, sour, state=[spaql.Axis("a", 0, 1)] * 2, actions=spaql.Continuous((-1,), (1,)), horizon=5, parameters={"mass": 1.0}
        )
