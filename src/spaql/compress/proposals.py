"""What a search may choose: actions and tests, at random or because they promise something."""

import itertools

import numpy as np

from spaql.arrays import Array
from spaql.compress.cost_tree import best_splits
from spaql.plants.problem import Continuous, Finite
from spaql.trees.edits import split, with_action
from spaql.trees.tree import Tree, leaf_of

MOST_TRIED = 9  # actions tried at every moment
MOST_KNOWN = 64  # actions of the table that are remembered
LEVELS = 5  # of a single continuous action


def _step(rng: np.random.Generator) -> float:
    """Mostly small, sometimes large."""
    return float(rng.normal() * 10.0 ** rng.uniform(-2.5, 0.0))


class Actions:
    """A finite set, or a box: then levels or corners, known actions, and any small step from the present one."""

    def __init__(self, actions: Continuous | Finite, known: Array, rng: np.random.Generator) -> None:
        self.rng, self.finite = rng, isinstance(actions, Finite)
        if isinstance(actions, Finite):
            self.all = np.array(actions.values, float)[:, None]
            self.tried = self.all[np.unique(np.linspace(0, len(self.all) - 1, MOST_TRIED).round().astype(int))]
        else:
            self.low, self.high = actions.bounds
            if len(self.low) == 1:
                self.tried = np.linspace(self.low, self.high, LEVELS)
            else:
                corners = np.array(
                    list(itertools.islice(itertools.product(*zip(self.low, self.high, strict=True)), 256))
                )
                few = corners[rng.permutation(len(corners))[: MOST_TRIED - 1]]
                self.tried = np.concatenate([few, [(self.low + self.high) / 2]])
            kept = known[rng.permutation(len(known))[:MOST_KNOWN]]
            self.all = np.concatenate([self.tried, kept.reshape(-1, len(self.low))])
        self.how_often = 0.2 if self.finite else 0.35  # that a change is one of actions

    def any(self) -> Array:
        among = self.tried if self.rng.random() < 0.5 else self.all
        chosen: Array = among[int(self.rng.integers(len(among)))]
        return chosen

    def other(self, action: Array) -> Array:
        """Another action than this, if there is one."""
        if not self.finite and self.rng.random() < 0.7:
            width = (self.high - self.low) / 2
            return np.asarray(np.clip(action + np.array([_step(self.rng) for _ in width]) * width, self.low, self.high))
        chosen = self.any()
        for _ in range(5):
            if not np.array_equal(chosen, action):
                break
            chosen = self.any()
        return chosen


class Cuts:
    """Tests at visited values. `scale`: a typical step of every variable."""

    def __init__(self, scale: Array, oblique: bool, rng: np.random.Generator) -> None:
        self.rng, self.oblique, self.scale = rng, oblique and len(scale) > 1, scale

    def random(self, tree: Tree, states: Array, leaf: Array, actions: Actions) -> Tree:
        """Half of the times in the leaf of a random moment, else in a random leaf; one side gets another action."""
        rng, d = self.rng, tree.variables
        moment = int(rng.integers(len(states)))
        if rng.random() < 0.5:
            seen = np.unique(leaf)
            here = np.flatnonzero(leaf == seen[rng.integers(len(seen))])
            moment = int(here[rng.integers(len(here))])
        at, old = int(leaf[moment]), tree.actions[leaf[moment]]
        low, high = (old, actions.other(old)) if rng.random() < 0.5 else (actions.other(old), old)
        weights = np.zeros(d)
        if self.oblique and rng.random() < 0.5:
            pair = rng.choice(d, 2, replace=False)  # a weighted sum of more than two can hardly be read
            weights[pair] = rng.normal(size=2) / self.scale[pair]
        else:
            weights[rng.integers(d)] = 1.0
        return split(tree, at, weights, float(weights @ states[moment]), low, high)

    def promising(self, tree: Tree, states: Array, futures: Array, tried: Array, most: int) -> list[Tree]:
        """New tests and new actions by what they would gain at moments with known futures, the most promising first."""
        ranked: list[tuple[float, int, Tree]] = []
        inside = leaf_of(tree, states)
        gain = futures - futures[:, -1:]  # the last: as it is
        for leaf in np.unique(inside):
            here = inside == leaf
            x, g = states[here], gain[here]
            actions = np.concatenate([tried, [tree.actions[leaf]]])
            whole = g.sum(axis=0)
            if whole.max() > 0:
                ranked.append((float(whole.max()), len(ranked), with_action(tree, int(leaf), actions[whole.argmax()])))
            for one in best_splits(x, -g, self.scale, self.oblique):
                if one.below != one.above:
                    made = split(tree, int(leaf), one.weights, one.cut, actions[one.below], actions[one.above])
                    ranked.append((-one.cost, len(ranked), made))
        ranked.sort(key=lambda one: (-one[0], one[1]))
        return [made for _, _, made in ranked[:most]]

    def moved(self, tree: Tree, node: int) -> tuple[float, Array | None]:
        """Another cut, or other weights, of a test."""
        cut, feature, rng = float(tree.nodes["cut"][node]), int(tree.nodes["feature"][node]), self.rng
        if feature < tree.variables:
            return cut + _step(rng) * float(self.scale[feature]), None
        weights = tree.weights[node].copy()
        size = float(np.abs(weights * self.scale).max()) or 1.0
        if rng.random() < 0.5:
            return cut + _step(rng) * size, None
        used = np.flatnonzero(weights)
        j = int(used[rng.integers(len(used))])
        weights[j] += _step(rng) * size / self.scale[j]
        return cut, weights if weights[j] != 0 else None
