"""Laws of plants in a loop begin with PI controllers."""

import pytest

import spaql
from loops import motor
from spaql.laws.classical import pi_grid
from spaql.laws.search import Search
from spaql.laws.trials import Trials
from spaql.laws.vector import declared_units

TARGET = spaql.Reference("target", 0.0, 150.0, of="speed", hold=(20, 40))


def stated(**more):
    return spaql.loop(motor(), references=[TARGET], memory=["integral(speed_error)"], dt=0.01, noise={"speed": 2.0}, **more)


@pytest.mark.parametrize("seen", [["speed_error", "integral(speed_error)"], ["speed_error"], ["speed", "target", "current"]])
def test_the_best_of_a_grid_is_much_better_than_doing_nothing(seen):
    problem = stated(observe=seen)
    still = spaql.law(problem, dict.fromkeys(seen, 0.0)).evaluate(50).mean
    search = Search(Trials(problem), declared_units(problem), 0, 0)
    (best,) = search.screened([(search.units.in_units(law), 0) for law in pi_grid(problem)], 1, 8)
    law = search.units.physical(best[0])
    assert spaql.Policy(problem, law, "law tree", "grid").evaluate(50).mean > 0.3 * still


def test_there_are_none_without_a_reference():
    assert pi_grid(motor()) == []
