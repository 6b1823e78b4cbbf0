"""Beginnings of a search from lessons: of a teacher, or of the search's own trials of other actions.

Policy improvement by rollouts: at moments of a good tree's closed loop every action is tried for a few steps, then the
tree goes on. Where another action is worth more, that is the lesson. One round and a polish take a law that cannot
swing the pendulum up to within a few of the optimum.
"""

import itertools

import numpy as np

from spaql.arrays import Array
from spaql.laws.distil import model_tree, scores_of
from spaql.laws.search import Search
from spaql.laws.teacher import Lessons
from spaql.plants.problem import Continuous, Finite
from spaql.policy.outputs import kinds_of
from spaql.trees.tree import Tree, decide

MOMENTS = 2000
HOLDS = (5, 2)  # steps for which an action is tried, in turn
LEVELS = {1: 9, 2: 5, 3: 3}  # by axes, of continuous actions; more axes: the corners
MOST = 33  # actions tried
EXTREME = 0.95  # quantile above which gains are cut: a single lost episode must not outweigh everything else
LEAST = 0.1  # of the mean gain: what a state counts where nothing is gained


def own_lessons(search: Search, tree: Tree, number: int) -> Lessons | None:
    """Better actions at moments of a physical tree's closed loop; None where the plant cannot go on from a moment."""
    actions = tried_actions(search.trials.problem.actions)
    seed = int(search.rng.integers(2**31))
    found = search.trials.alternatives(tree, actions, search.count(MOMENTS, 50), HOLDS[number % len(HOLDS)], seed)
    if found is None:
        return None
    states, futures = found
    if len(states) == 0:
        return None
    best = futures[:, :-1].argmax(axis=1)
    gained = np.maximum(futures[np.arange(len(best)), best] - futures[:, -1], 0.0)
    better = np.where((gained > 0.0)[:, None], actions[best], decide(tree, states))
    weights = np.minimum(gained, np.quantile(gained, EXTREME))
    return Lessons(states, better, weights + LEAST * weights.mean())


def tried_actions(actions: Continuous | Finite) -> Array:
    """(n, axes) physical."""
    if isinstance(actions, Finite):
        values = np.array(actions.values, float)
        some: Array = values[np.unique(np.linspace(0, len(values) - 1, MOST).round().astype(int))][:, None]
        return some
    low, high = actions.bounds
    levels = LEVELS.get(len(low), 2)
    axes = [np.linspace(a, b, levels) for a, b in zip(low, high, strict=True)]
    return np.array(list(itertools.islice(itertools.product(*axes), MOST)))


def distilled(search: Search, lessons: Lessons, leaves: int, weighted: bool) -> list[Tree]:
    """Trees in units that do what the lessons say, one per kind of law."""
    problem, units = search.trials.problem, search.units
    states, weights = units.of(lessons.states), lessons.weights if weighted else None
    found = []
    for kind in kinds_of(problem.actions):
        scores = scores_of(problem, kind, lessons.actions)
        found.append(model_tree(units, kind, states, scores, leaves, search.rng, weights))
    return found
