"""Searching for good small trees with rollouts: grow, prune, polish.

All candidates are judged on the same start states, so that better means better and not luckier; the winners are confirmed elsewhere.
"""

from collections.abc import Callable

import numpy as np

from spaql.arrays import Array
from spaql.explain.rolling import Played, play_episodes
from spaql.explain.tree import LEAF, NODE, Tree, leaf_of
from spaql.plants.problem import Finite, Problem
from spaql.streams import SELECT_PLANT

SEARCH_SEED = 2**42  # of the start states of searches
MOST_CONSTANTS = 32
CANDIDATES, POLISHED, POLISH = 24, 2, 30  # splits tried, how many of them are polished, steps of polishing


class Search:
    """The best tree of every size so far."""

    def __init__(self, problem: Problem, states: Array, palette: Array, episodes: int, seed: int, oblique: bool) -> None:
        self.problem, self.palette, self.episodes, self.oblique = problem, palette, episodes, oblique
        self.rng = np.random.default_rng(seed)
        self.seed, self.samples = SEARCH_SEED + seed, 0
        self.spread = states.std(axis=0) + 1e-12
        self.pool: dict[int, tuple[float, Tree]] = {}
        for action in palette[:MOST_CONSTANTS]:
            self.consider(constant(states.shape[1], action))

    def frontier(self) -> dict[int, Tree]:
        """The sizes at which something is gained."""
        found, best = {}, -np.inf
        for leaves in sorted(self.pool):
            score, tree = self.pool[leaves]
            if score > best:
                found[leaves], best = tree, score
        return found

    def play(self, tree: Tree, states: int = 0) -> Played:
        played = play_episodes(self.problem, tree, self.episodes, self.seed, SELECT_PLANT, states)
        self.samples += played.samples
        return played

    def consider(self, tree: Tree) -> float:
        """Judge a tree and keep it if it is the best of its size."""
        score = float(self.play(tree).returns.mean())
        if tree.n_leaves not in self.pool or score > self.pool[tree.n_leaves][0]:
            self.pool[tree.n_leaves] = (score, tree)
        return score

    def run(self, most: int, budget: int, report: Callable[[int], None]) -> None:
        """Up and down the sizes until the budget is used up."""
        while self.samples < budget:
            before = self.samples
            for leaves in [*range(1, most), *range(most, 2, -1)]:
                if self.samples >= budget:
                    return
                if leaves in self.pool:
                    upwards = leaves < most and (leaves == 1 or self.rng.random() < 0.6)
                    self.grow(leaves) if upwards else self.shrink(leaves)
                report(min(self.samples, budget))
            if self.samples == before:
                return

    def grow(self, leaves: int) -> None:
        """One leaf more: random splits where the tree is used, the best of them polished."""
        tree = self.pool[leaves][1]
        played = self.play(tree, states=2000)
        if len(played.states) == 0:
            return
        inside = leaf_of(tree, played.states)
        found: list[tuple[float, int, Tree]] = []
        for _ in range(CANDIDATES):
            at = int(self.rng.integers(len(inside)))
            leaf, feature = int(inside[at]), int(self.rng.integers(tree.variables))
            actions = [tree.actions[leaf], self.palette[self.rng.integers(len(self.palette))]]
            if self.rng.random() < 0.5:
                actions.reverse()
            if self.oblique and tree.variables > 1 and self.rng.random() < 0.5:
                weights = self._direction(tree.variables)
                candidate = split(tree, leaf, tree.variables, float(weights @ played.states[at]), actions[0], actions[1], weights)
            else:
                candidate = split(tree, leaf, feature, float(played.states[at, feature]), actions[0], actions[1])
            found.append((self.consider(candidate), len(found), candidate))
        for score, _, candidate in sorted(found, key=lambda item: -item[0])[:POLISHED]:
            self.polish(candidate, score)

    def shrink(self, leaves: int) -> None:
        """One leaf less: every leaf in turn is given to its sibling, the best result polished."""
        if leaves < 2:
            return
        tree = self.pool[leaves][1]
        nodes = tree.leaves()
        if len(nodes) > CANDIDATES:
            nodes = self.rng.choice(nodes, CANDIDATES, replace=False)
        found = [(self.consider(smaller), i, smaller) for i, smaller in enumerate(without(tree, int(leaf)) for leaf in nodes)]
        score, _, best = max(found, key=lambda item: item[0])
        self.polish(best, score)

    def polish(self, tree: Tree, score: float) -> None:
        """(1+1) search: move cuts a little or much, change actions; keep what is not worse."""
        for _ in range(POLISH):
            candidate = self.changed(tree)
            reached = self.consider(candidate)
            if reached >= score:
                tree, score = candidate, reached

    def changed(self, tree: Tree) -> Tree:
        nodes, actions, weights = tree.nodes.copy(), tree.actions.copy(), tree.weights.copy()
        inner = np.flatnonzero(nodes["feature"] != LEAF)
        if len(inner) == 0 or self.rng.random() < 0.25:
            leaf = int(self.rng.choice(tree.leaves()))
            actions[leaf] = self._other_action(actions[leaf])
        else:
            for node in self.rng.choice(inner, min(len(inner), 1 if self.rng.random() < 0.7 else 3), replace=False):
                step, feature = self.rng.normal() * 10 ** self.rng.uniform(-2.5, 0.0), int(nodes["feature"][node])
                if feature < tree.variables:
                    nodes["cut"][node] += step * self.spread[feature]
                elif self.rng.random() < 0.5:
                    nodes["cut"][node] += step  # weights are scaled so that one is a typical step
                else:
                    weights[node, self.rng.choice(np.flatnonzero(weights[node]))] *= 1.0 + step
        return Tree(nodes, actions, weights)

    def _direction(self, variables: int) -> Array:
        """A weighted sum of two variables: more can hardly be read."""
        weights = np.zeros(variables)
        chosen = self.rng.choice(variables, 2, replace=False)
        weights[chosen] = self.rng.normal(size=2) / self.spread[chosen]
        return weights

    def _other_action(self, action: Array) -> Array:
        low, high = self.palette.min(axis=0), self.palette.max(axis=0)
        if not isinstance(self.problem.actions, Finite) and self.rng.random() < 0.5:
            moved: Array = np.clip(action + self.rng.normal(size=len(action)) * 10 ** self.rng.uniform(-2.0, 0.0) * (high - low), low, high)
            return moved
        chosen: Array = self.palette[self.rng.integers(len(self.palette))]
        return chosen


def constant(variables: int, action: Array) -> Tree:
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    return Tree(nodes, np.array([action], float), np.zeros((1, variables)))


def split(tree: Tree, leaf: int, feature: int, cut: float, low: Array, high: Array, weights: Array | None = None) -> Tree:
    """The tree with a test in place of a leaf."""
    n = len(tree.nodes)
    nodes = np.zeros(n + 2, NODE)
    nodes[:n] = tree.nodes
    nodes["feature"][n:] = LEAF
    nodes[leaf] = (cut, feature, n, n + 1)
    rows = np.concatenate([tree.weights, np.zeros((2, tree.variables))])
    rows[leaf] = 0.0 if weights is None else weights
    return Tree(nodes, np.concatenate([tree.actions, [low], [high]]), rows)


def without(tree: Tree, leaf: int) -> Tree:
    """The tree in which the sibling of a leaf takes over."""
    nodes, actions, weights = tree.nodes.copy(), tree.actions.copy(), tree.weights.copy()
    parent = int(np.flatnonzero((nodes["feature"] != LEAF) & ((nodes["low"] == leaf) | (nodes["high"] == leaf)))[0])
    sibling = int(nodes["high"][parent] if nodes["low"][parent] == leaf else nodes["low"][parent])
    nodes[parent], actions[parent], weights[parent] = nodes[sibling], actions[sibling], weights[sibling]
    keep = np.ones(len(nodes), bool)
    keep[[leaf, sibling]] = False
    number = np.cumsum(keep) - 1
    nodes = nodes[keep]
    inner = nodes["feature"] != LEAF
    for side in ("low", "high"):
        nodes[side][inner] = number[nodes[side][inner]]
    return Tree(nodes, actions[keep], weights[keep])
