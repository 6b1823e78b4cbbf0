"""Random law trees, in units (see vector.py), and random changes of good ones; and which variables they look at.

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
from spaql.policy.outputs import kinds_of, leaf
from spaql.trees.edits import Law, oblique, split_law, with_laws, without
from spaql.trees.laws import CLIP, SCORES
from spaql.trees.tree import LEAF, Tree, leaf_of

GAIN_SIZES = (0.3, 1.0, 3.0)
AXIS_SHARE = 0.5  # of random tests, that look at one variable
NEW_LAW_SHARE = 0.8  # of random splits, that give one side a law of its own

Kept = tuple[Array, Array]  # of tests, of laws


class Proposals:
    """What a search may try. `live`: the variables that vary."""

    def __init__(self, problem: Problem, live: Array, rng: np.random.Generator) -> None:
        self.problem, self.live, self.rng, self.kinds = problem, live, rng, kinds_of(problem.actions)
        self.sets = sets_of(problem, live)
        self.kept: Kept | None = None  # the sets of new tests and of new laws

    def variables(self, law: bool) -> Array:
        """Those that a new law or test looks at."""
        if self.kept is not None:
            return self.kept[law]
        return self.sets[int(self.rng.integers(len(self.sets)))] if self.sets else self.live

    def size(self) -> float:
        return float(self.rng.choice(GAIN_SIZES))

    def leaf(self, size: float, kind: int | None = None) -> Tree:
        """One random law."""
        kind = int(self.rng.choice(self.kinds)) if kind is None else kind
        return leaf(self.problem.actions, *self.law(len(self.live), size, kind), kind)

    def law(self, d: int, size: float, kind: int) -> Law:
        """Random gains and offsets."""
        outputs = len(self.problem.actions.values) if kind == SCORES else self.problem.actions.axes
        gains = self.rng.normal(size=(outputs, d)) * size * self.variables(True)
        offsets = self.rng.normal(size=outputs) * min(size, 1.0)
        if self.problem.gains is not None and kind == CLIP:
            gains = self.problem.gains.signed(gains)
        if kind == SCORES:
            gains[0], offsets[0] = 0.0, 0.0
        return gains, offsets

    def tree(self, leaves: int, states: Array) -> Tree:
        """A random tree with tests through visited states (in units)."""
        tree = self.leaf(self.size())
        while tree.n_leaves < leaves:
            tree = self.split(tree, states)
        return tree

    def split(self, tree: Tree, states: Array, kinks: float = 0.0) -> Tree:
        """A leaf that was visited becomes a test; a share `kinks` of the splits are kinks.

        A kink has the same law on both sides, with a step across the test: no equilibrium can stay there.
        """
        assert tree.laws is not None
        rng, d = self.rng, tree.variables
        at = states[int(rng.integers(len(states)))]
        node = int(leaf_of(tree, at[None])[0])
        weights, among = np.zeros(d), self.variables(False)
        if rng.random() < AXIS_SHARE or d == 1:
            weights[int(rng.choice(np.flatnonzero(among)))] = 1.0
        else:
            weights = rng.normal(size=d) * among
            weights /= np.linalg.norm(weights)
        same = (tree.laws.gains[node].copy(), tree.laws.offsets[node].copy())
        other = self.law(d, self.size(), tree.laws.kind) if rng.random() < NEW_LAW_SHARE else same
        low, high = (same, other) if rng.random() < 0.5 else (other, same)
        if rng.random() < kinks:
            step = rng.normal(size=len(same[1])) * self.size() / 3
            low, high = (same[0], same[1] + step), (same[0], same[1] - step)
        return oblique(split_law(tree, node, weights, float(weights @ at), low, high))

    def pruned(self, tree: Tree) -> Tree:
        """Without one random leaf."""
        leaves = np.flatnonzero(tree.nodes["feature"] == LEAF)
        return without(tree, [int(self.rng.choice(leaves))]) if len(leaves) > 1 else tree

    def relawed(self, tree: Tree) -> Tree:
        """One leaf's law anew."""
        assert tree.laws is not None
        node = int(self.rng.choice(np.flatnonzero(tree.nodes["feature"] == LEAF)))
        gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
        gains[node], offsets[node] = self.law(tree.variables, self.size(), tree.laws.kind)
        return with_laws(tree, gains, offsets)


# -- sets of variables -------------------------------------------------------------------------------------------------


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
