"""Random law trees, in units (see units.py), and random changes of good ones."""

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.problem import Problem
from spaql.policy.outputs import kinds_of, make_laws
from spaql.trees.edits import Law, oblique, split_law, with_laws, without
from spaql.trees.laws import SCORES
from spaql.trees.tree import LEAF, NODE, Tree, leaf_of

SIZES = (0.3, 1.0, 3.0)  # of random gains
AXIS = 0.5  # of random tests look at one variable
ANEW = 0.8  # of random splits give one side a law of its own
KINKS = (0.1, 0.3, 1.0)  # sizes of the step across a kink


class Proposals:
    """What a search may try. `live`: the variables that vary."""

    def __init__(self, problem: Problem, live: Array, rng: np.random.Generator) -> None:
        self.problem, self.live, self.rng, self.kinds = problem, live, rng, kinds_of(problem.actions)

    def size(self) -> float:
        return float(self.rng.choice(SIZES))

    def leaf(self, size: float, kind: int | None = None) -> Tree:
        """One random law."""
        kind = int(self.rng.choice(self.kinds)) if kind is None else kind
        nodes = np.zeros(1, NODE)
        nodes["feature"] = LEAF
        d, axes = len(self.live), self.problem.actions.axes
        gains, offsets = self.law(d, size, kind)
        laws = make_laws(gains[None], offsets[None], self.problem.actions, kind)
        return Tree(nodes, np.zeros((1, axes)), np.zeros((1, d)), laws)

    def law(self, d: int, size: float, kind: int) -> Law:
        """Random gains and offsets."""
        outputs = len(self.problem.actions.values) if kind == SCORES else self.problem.actions.axes  # type: ignore[union-attr]
        gains = self.rng.normal(size=(outputs, d)) * size * self.live
        offsets = self.rng.normal(size=outputs) * min(size, 1.0)
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
        leaf = int(leaf_of(tree, at[None])[0])
        weights = np.zeros(d)
        if rng.random() < AXIS or d == 1:
            weights[int(rng.choice(np.flatnonzero(self.live)))] = 1.0
        else:
            weights = rng.normal(size=d) * self.live
            weights /= np.linalg.norm(weights)
        same = (tree.laws.gains[leaf].copy(), tree.laws.offsets[leaf].copy())
        other = self.law(d, self.size(), tree.laws.kind) if rng.random() < ANEW else same
        low, high = (same, other) if rng.random() < 0.5 else (other, same)
        if rng.random() < kinks:
            step = rng.normal(size=len(same[1])) * float(rng.choice(KINKS))
            low, high = (same[0], same[1] + step), (same[0], same[1] - step)
        made = split_law(tree, leaf, weights, float(weights @ at), low, high)
        return oblique(made)

    def pruned(self, tree: Tree) -> Tree:
        """Without one random leaf."""
        leaves = np.flatnonzero(tree.nodes["feature"] == LEAF)
        return without(tree, [int(self.rng.choice(leaves))]) if len(leaves) > 1 else tree

    def relawed(self, tree: Tree) -> Tree:
        """One leaf's law anew."""
        assert tree.laws is not None
        leaf = int(self.rng.choice(np.flatnonzero(tree.nodes["feature"] == LEAF)))
        gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
        gains[leaf], offsets[leaf] = self.law(tree.variables, self.size(), tree.laws.kind)
        return with_laws(tree, gains, offsets)
