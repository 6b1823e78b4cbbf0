"""Which variables a law or a test looks at, where there are features.

Two good features beside ten raw variables may be worse than the two alone: there are more numbers to find with the same
samples. So every law and every test of a search keeps to one set of variables:

    what is measured; the features and what they are not made of; the features alone; all

A race at the beginning of a search says which sets are good, of tests and of laws; later ones draw their set.
"""

import itertools

import numpy as np

from spaql.ground.arrays import Array
from spaql.laws.vector import Free, all_free
from spaql.plants.problem import Problem
from spaql.trees.tree import LEAF, Tree

Kept = tuple[Array, Array]  # of tests, of laws


def sets_of(problem: Problem, live: Array) -> list[Array]:
    """Masks of variables, different and not empty; none where laws may look at all that varies."""
    features, d = problem.features, len(problem.state)
    if features is None or problem.looked_at:
        return []
    feature = np.arange(d) >= features.raw
    made_of = np.isin(np.arange(d), sorted(features.needed(set(range(features.raw, d)))))
    masks = [~feature & live, (feature | ~made_of) & live, feature & live, live]
    different = {mask.tobytes(): mask for mask in masks if mask.any()}
    return list(different.values()) if len(different) > 1 else []


def pairs_of(sets: list[Array]) -> list[Kept]:
    """All sets of tests with all sets of laws."""
    return list(itertools.product(sets, sets))


def free_within(tree: Tree, live: Array, sets: list[Array]) -> Free:
    """The numbers of a tree that may change: laws and tests keep to the smallest set that has their variables."""
    free = all_free(tree, live)
    if not sets:
        return free
    assert tree.laws is not None
    gains, weights = free.gains.copy(), free.weights.copy()
    for node in range(len(tree.nodes)):
        if tree.nodes["feature"][node] == LEAF:
            gains[node] &= smallest(sets, tree.laws.gains[node].any(axis=0), live)
        else:
            weights[node] &= smallest(sets, tree.weights[node] != 0.0, live)
    return Free(weights, free.cuts, gains, free.offsets)


def keeps_within(law: Tree, mask: Array) -> bool:
    """Whether one law looks at these variables only."""
    assert law.laws is not None
    return not law.laws.gains[:, :, ~mask].any()


def smallest(sets: list[Array], used: Array, live: Array) -> Array:
    """The smallest set that has these variables; of none all of them."""
    fitting = [mask for mask in sets if used.any() and not (used & ~mask).any()]
    return min(fitting, key=lambda mask: int(mask.sum()), default=live)
