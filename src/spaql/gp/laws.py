"""A few affine laws from a learned model, judged in functions that are drawn from its posterior.

    lessons    look-ahead in the mean function                                                    laws/planner.py
    doubt      functions drawn where the look-ahead, and laws found before, go                    model.py
    search     laws fitted to the lessons in random partitions, regulators of the local linear
               model, laws found before; a race among them in all functions                       laws/search.py
    tidying    as on a plant                                                                      laws/tidy.py
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.gp.imagined import begin, imagined
from spaql.gp.model import Data, Model
from spaql.laws.lessons import distilled
from spaql.laws.local import local_laws
from spaql.laws.partitions import fitted_partitions
from spaql.laws.planner import planned
from spaql.laws.search import Round, Search
from spaql.laws.teacher import Lessons
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.units import measured_units
from spaql.plants.problem import Problem
from spaql.streams import LAWS_CONFIRMED
from spaql.trees.edits import constant
from spaql.trees.tree import Tree, decide

LOOK = 700_000  # steps of look-ahead in the model
FUNCTIONS = 6  # drawn; the first is the mean
DOUBTED = 60  # inputs at which they are drawn
SHAKEN = 0.3  # noise of the actions there, in halves of the range
STARTS = 256
RACES: dict[int, tuple[Round, ...]] = {  # by leaves: candidates, generations, episodes
    1: ((6, 12, 12), (2, 20, 16), (1, 20, 24)),
    3: ((12, 12, 12), (4, 25, 16), (2, 40, 24), (1, 30, 48)),
}
STEADY = 0.3  # first steps of laws that were found before or computed, as a part of the usual ones
FITTED = 0.5  # the same of laws fitted to lessons
JUDGED = 200  # episodes that choose among sizes
EFFORT = 0.25  # of tidying
TOLERANCE = 0.01  # of the way from the best constant action: less is no difference
STEPS = 3_000_000  # steps of the model that a search takes at most per leaf, and half of that for tidying


class Found(NamedTuple):
    """Laws, and what the model says about them."""

    tree: Tree
    returns: Array  # in episodes that had no part in the search
    steps: int  # of the model


def laws_in(
    problem: Problem, model: Model, data: Data, first: Array, seed: int, earlier: Sequence[Tree] = (), most: int = 3
) -> Found:
    """The best laws in the model of the data; `earlier`: trees that may be better still. `first`: beginnings seen."""
    rng = np.random.default_rng([seed, len(data.states)])
    low = np.array([-np.inf if axis.slope is not None else axis.low for axis in problem.state])
    high = np.array([np.inf if axis.slope is not None else axis.high for axis in problem.state])
    starts = begin(first, STARTS, low, high, rng)
    mean = imagined(problem, model, data, starts)
    states, actions, steps = planned(mean, seed, max(LOOK, 0))
    if len(states) == 0:
        states, actions = data.states, data.actions
    at = _doubted(problem, model, states, actions, rng)
    if earlier:
        visited = Trials(mean).watched(earlier[0], seeds_of(seed, LAWS_CONFIRMED, 2**40, 8), DOUBTED // 2)[1]
        at = np.concatenate([at[: DOUBTED // 2], _doubted(problem, model, visited, decide(earlier[0], visited), rng)])
    doubtful = imagined(problem, model, data, starts, FUNCTIONS, at, rng)
    trials = Trials(doubtful)
    lessons, units = Lessons(states, actions), measured_units(doubtful, states)
    seeds = seeds_of(seed, LAWS_CONFIRMED, len(data.states) * 2**20, JUDGED)
    still = constant(len(problem.state), decide_middle(problem))
    floor = float(trials.returns(still, seeds).mean())
    best, means = still, trials.returns(still, seeds)
    for leaves in sorted({1, most}):
        search = Search(trials, units, seed, leaves, 1.0)
        races = RACES[min(RACES, key=lambda size: abs(size - leaves))]
        made = fitted_partitions(search, lessons, leaves, races[0][0]) + distilled(search, lessons, leaves, False)
        tasks = [search.task(tree, 0, FITTED) for tree in made]
        if leaves == 1:
            regulators = local_laws(trials, seed, search.rng)
            tasks += [search.task(units.in_units(tree), 0, STEADY) for tree in regulators]
        tasks += [search.task(units.in_units(tree), 0, STEADY) for tree in earlier if tree.n_leaves == leaves]
        for task in tasks:
            search.judge(task)
        search.halving(tasks, [(len(tasks), *races[0][1:]), *races[1:]])
        assert search.best is not None
        tree = units.physical(search.best.tree)
        returns = trials.returns(tree, seeds)
        if returns.mean() > means.mean() + TOLERANCE * max(means.mean() - floor, 0.0):
            best, means = tree, returns
    for tree in earlier:
        returns = trials.returns(tree, seeds)
        if returns.mean() > means.mean():
            best, means = tree, returns
    if best.laws is not None:
        tidy, _ = Tidying(trials, best, TOLERANCE * max(means.mean() - floor, 0.0), seed, 0, EFFORT).run()
        returns = trials.returns(tidy, seeds)
        if returns.mean() >= means.mean() - 2 * TOLERANCE * max(means.mean() - floor, 0.0):
            best, means = tidy, returns
    return Found(best, means, trials.samples + steps)


def decide_middle(problem: Problem) -> Array:
    low, high = problem.actions.bounds
    middle: Array = (low + high) / 2
    values = getattr(problem.actions, "values", None)
    return middle if values is None else np.array([values[len(values) // 2]], float)


def _doubted(problem: Problem, model: Model, states: Array, actions: Array, rng: np.random.Generator) -> Array:
    """Inputs in units: some of the states with actions like these."""
    chosen = rng.choice(len(states), DOUBTED, replace=len(states) < DOUBTED)
    low, high = problem.actions.bounds
    shaken = actions[chosen] + SHAKEN * model.half * rng.standard_normal(actions[chosen].shape)
    shaken = np.clip(shaken, low, high)
    return np.column_stack([(states[chosen] - model.centre) / model.scale, (shaken - model.middle) / model.half])
