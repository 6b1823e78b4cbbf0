"""Random partitions whose laws are fitted to lessons: many different beginnings from the same lessons.

A model tree (distil.py) is one guess of where the tests belong, made for the sake of the fit. What a fit says about the
closed loop is little; so many partitions are drawn, laws are fitted in each, and the plant says which are worth more.
"""

import numpy as np

from spaql.arrays import Array
from spaql.laws.distil import ROUNDS, SMALLEST, fit, law_of, scores_of
from spaql.laws.search import Search
from spaql.laws.teacher import Lessons
from spaql.trees.edits import with_laws
from spaql.trees.tree import LEAF, Tree, leaf_of

DRAWN = 1200  # partitions
STATES = 1500  # that laws are fitted to
TRIED = 200  # of them on the plant, half of them those with the best fit
EPISODES = 16  # of each


def fitted_partitions(search: Search, lessons: Lessons, leaves: int, keep: int) -> list[Tree]:
    """The best few on the plant, in units. Of one law there is one fit only: see `distilled`."""
    rng = search.rng
    chosen = np.sort(rng.permutation(len(lessons.states))[:STATES])
    states, actions = search.units.of(lessons.states[chosen]), lessons.actions[chosen]
    if leaves == 1 or len(states) < SMALLEST * leaves:
        return []
    drawn = []
    for _ in range(search.count(DRAWN, 4)):
        tree = search.proposals.tree(leaves, states)
        assert tree.laws is not None
        found = _fitted(tree, states, scores_of(search.trials.problem, tree.laws.kind, actions), search.units.live)
        if found is not None:
            drawn.append(found)
    drawn.sort(key=lambda one: one[0])
    half = search.count(TRIED // 2, 2)
    rest = drawn[half:]
    tried = drawn[:half] + [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, half).astype(int)) if rest]
    return [tree for tree, _ in search.screened([(tree, 0) for _, tree in tried], keep, EPISODES)]


def _fitted(tree: Tree, states: Array, scores: Array, live: Array) -> tuple[float, Tree] | None:
    """The error, and the tree with laws that fit best in its leaves; None where a leaf has hardly a state."""
    assert tree.laws is not None
    inputs, leaf, error = np.concatenate([states * live, np.ones((len(states), 1))], axis=1), leaf_of(tree, states), 0.0
    gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
    for node in np.flatnonzero(tree.nodes["feature"] == LEAF):
        members = np.flatnonzero(leaf == node)
        if len(members) < SMALLEST:
            return None
        law, wrong = fit(inputs[members], scores[members], np.ones(len(members)), ROUNDS)
        gains[node], offsets[node] = law_of(law, tree.laws.kind)
        error += wrong
    return error, with_laws(tree, gains, offsets)
