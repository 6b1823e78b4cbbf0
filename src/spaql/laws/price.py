"""What limits cost: how much more laws earn once their numbers are free to break them."""

import contextlib

from spaql.ground.streams import LAWS_CONFIRMED
from spaql.laws.search import Search
from spaql.laws.trials import Spent, Trials, affordable, seeds_of
from spaql.laws.vector import measured_units
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree

STEPS = 2_000_000  # of a compiled plant, or of a learned model: a tenth of a second to some seconds
EPISODES = 300  # in which both are compared
KEPT = 2000  # states, which tell the units of the variables
NUMBER = 2**21  # of the search, and of its first episode: no other part of learning has these


def price_of_limits(problem: Problem, tree: Tree, seed: int) -> float:
    """By how much the mean return grows; at least 0. `problem`: compiled, with the reward as it was stated."""
    seeds, judge = seeds_of(seed, LAWS_CONFIRMED, NUMBER, EPISODES), Trials(problem)
    trials, units = Trials(problem, STEPS), measured_units(problem, judge.watched(tree, seeds, KEPT)[1])
    search = Search(trials, units, seed, NUMBER, affordable(problem, STEPS, 1))
    with contextlib.suppress(Spent):
        search.polish([units.in_units(tree)])
    if search.best is None:
        return 0.0
    gained = judge.returns(units.physical(search.best.tree), seeds) - judge.returns(tree, seeds)
    return max(float(gained.mean()), 0.0)
