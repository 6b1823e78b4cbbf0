"""Laws of plants in a loop begin with PI controllers."""

import pytest

import spaql
from loops import motor
from spaql.laws.pi_laws import KEPT, pi_laws
from spaql.laws.trials import Trials

TARGET = spaql.Reference("target", 0.0, 150.0, of="speed", hold=(20, 40))


def stated(**more):
    return spaql.loop(motor(), references=[TARGET], memory=["integral(speed_error)"], dt=0.01, noise={"speed": 2.0}, **more)


@pytest.mark.parametrize("seen", [["speed_error", "integral(speed_error)"], ["speed_error"], ["speed", "target", "current"]])
def test_the_best_of_a_grid_is_much_better_than_doing_nothing(seen):
    problem = stated(observe=seen)
    still = spaql.law(problem, dict.fromkeys(seen, 0.0)).evaluate(50).mean
    found = pi_laws(Trials(problem), problem, 0)
    assert len(found) == KEPT
    assert spaql.Policy(problem, found[0], "law tree", "grid").evaluate(50).mean > 0.3 * still


def test_there_are_none_without_a_reference_or_without_room():
    assert pi_laws(Trials(motor()), motor(), 0) == []
    assert pi_laws(Trials(stated(), 1000), stated(), 0) == []
