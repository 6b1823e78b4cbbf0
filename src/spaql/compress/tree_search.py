"""Search for small trees that do well in an arena.

They are made by policy iteration, grown, pruned and polished, from several beginnings.

Everything random comes from one generator, and nothing depends on the clock: a seed determines the result.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from spaql.compress.arena import HELD_STEPS, MOMENTS, Arena
from spaql.compress.tree_proposals import RACE, Actions, ArenaJudge, Cuts, Scored, iterate
from spaql.ground.arrays import Array
from spaql.plants.problem import Continuous, Finite
from spaql.trees.edits import constant, simplified, with_action, with_test, without
from spaql.trees.tree import LEAF, Tree, leaf_of

MAX_LEAVES = 64  # on the frontier, unless more are asked for, and of trees that are made by policy iteration
KEPT = 4  # trees per size in the pool
BEAM = 16  # trees kept per size in a sweep
CANDIDATES = 30  # of a step: splits that are tried; in an arena that cannot go on from a moment a third
PHASE_SHARE = 0.4  # of the budget, for a sweep, and for a descent from many leaves; less from fewer
STALE = 4  # rounds without progress after which the search ends
PROGRESS = 1e-3  # of the range between the worst and the best tree: less is no progress
SEARCH = "searching for small trees"

Report = Callable[[int], None]


class Wanted(NamedTuple):
    """What was asked for: the arguments of `Policy.compress`, None where the default depends on the problem."""

    max_leaves: int | None
    oblique: bool = False
    budget: int | None = None
    episodes: int | None = None
    seed: int = 0
    progress: bool | None = None


class Pool:
    """The best trees found, by number of leaves."""

    def __init__(self) -> None:
        self.sizes: dict[int, list[Scored]] = {}

    def add(self, scored: Scored) -> Scored:
        """Returns the tree without idle tests."""
        tree = simplified(scored.tree)
        scored = Scored(tree, scored.returns, scored.mean)
        held = self.sizes.setdefault(tree.n_leaves, [])
        if any(np.array_equal(other.returns, scored.returns) for other in held):
            return scored  # it does the same
        held.append(scored)
        held.sort(key=lambda entry: -entry.mean)
        del held[KEPT:]
        return scored

    def pick(self, size: int, rng: np.random.Generator) -> Scored:
        """The best of a size, or as often any of those kept."""
        held = self.sizes[size]
        return held[0] if rng.random() < 0.5 else held[int(rng.integers(len(held)))]

    def best(self, most: int) -> Scored:
        """Of all sizes up to this; of equals the smallest."""
        return max((self.sizes[n][0] for n in sorted(self.sizes) if n <= most), key=lambda entry: entry.mean)

    def frontier(self, most: int) -> dict[int, Tree]:
        """The sizes at which something is gained."""
        trees, best = {}, -np.inf
        for leaves in sorted(size for size in self.sizes if size <= most):
            first = self.sizes[leaves][0]
            if first.mean > best:
                trees[leaves], best = first.tree, first.mean
        return trees


def search(
    arena: Arena,
    actions: Continuous | Finite,
    begin: Sequence[Tree],
    most: int,
    budget: int,
    *,
    known: Array | None = None,
    seed: int = 0,
    oblique: bool = False,
    report: Report = lambda steps: None,
) -> Pool:
    """The best trees of up to `most` leaves found within `budget` steps of the arena.

    `begin`: trees to start from, such as distilled ones; `known`: more actions (n, axes) that leaves may apply.
    """
    run = _Search(arena, actions, budget, np.empty((0, 1)) if known is None else known, seed, oblique, most)
    run.start(begin)
    rounds, stale = 0, 0
    while not run.judge.spent and stale < STALE:
        before = [run.pool.best(n).mean for n in range(1, most + 1)]
        run.round(rounds)
        after = [run.pool.best(n).mean for n in range(1, most + 1)]
        needed = PROGRESS * (after[-1] - before[0])
        rounds, stale = rounds + 1, 0 if any(b > a + needed for a, b in zip(before, after, strict=True)) else stale + 1
        report(min(arena.steps, budget))
    return run.pool


class _Search:
    def __init__(
        self, arena: Arena, actions: Continuous | Finite, budget: int, known: Array, seed: int, oblique: bool, most: int
    ) -> None:
        self.rng, self.pool, self.most = np.random.default_rng(seed), Pool(), most
        self.arena, self.judge = arena, ArenaJudge(arena, budget)
        self.actions = Actions(actions, known, self.rng)
        self.cuts = Cuts(np.ones(arena.variables), oblique, self.rng)
        self.candidates = CANDIDATES if arena.branches else CANDIDATES // 3
        self.descent = PHASE_SHARE * min(1.0, 2 * most / MAX_LEAVES)

    def start(self, begin: Sequence[Tree]) -> None:
        seen = []
        for action in self.actions.tried:
            tree = constant(self.arena.variables, action)
            self.pool.add(self.judge.score(tree))
            seen.append(self.arena.moments(tree, 200, 0).states)
        for tree in begin:  # whatever the budget: with less than this, nothing but constants would be left
            self.pool.add(self.judge.score(tree))
        best = self.pool.best(max(self.pool.sizes)).tree
        self.seen = self.arena.moments(best, MOMENTS, 0).states
        spread = np.concatenate(seen).std(axis=0)
        self.cuts.scale = np.where(spread > 0, spread, 1.0)

    def round(self, number: int) -> None:
        """Get a large tree somehow, and prune it leaf by leaf."""
        if number % 3 == 0:
            self.sweep()
            return
        if self.arena.branches and number % 3 == 1:
            largest = max(min(MAX_LEAVES, 2 * self.most), self.most)
            trees = self.improve(self.pool.best(largest), largest)
            if number == 1:
                trees += self.improve(self.pool.best(1), largest)  # a bad table may be harder to better than no table
            best = max(trees, key=lambda entry: entry.mean)
            self.descend(self.pool.add(self.polish(best, 6 * self.candidates)))
            return
        size = int(self.rng.integers(1, self.most // 2 + 2))
        holder = self.pool.pick(max(n for n in self.pool.sizes if n <= size), self.rng)
        self.descend(self.climb(holder, int(self.rng.integers(min(self.most, holder.leaves + 1), self.most + 1))))

    def improve(self, begin: Scored, leaves: int) -> list[Scored]:
        """Policy iteration from a tree."""
        trees = iterate(self.judge, begin, leaves, self.actions, self.cuts, self.rng)
        return [self.pool.add(entry) for entry in trees]

    def sweep(self) -> None:
        """From nothing, many small trees side by side.

        The best of one size need not come from the best of the size before.
        """
        holders, before = list(self.pool.sizes[1]), self.arena.steps
        for _ in range(2, self.most + 1):
            if self.judge.spent or self.arena.steps - before > PHASE_SHARE * self.judge.budget:
                break
            trees = []
            for holder in holders:
                own = self.arena.moments(holder.tree, MOMENTS // 4, int(self.rng.integers(2**62))).states
                states = np.concatenate([self.seen, own])
                leaf = leaf_of(holder.tree, states)
                for _ in range(MOMENTS // 2 // len(holders)):
                    trees.append(self.cuts.random(holder.tree, states, leaf, self.actions))
            holders = self.judge.best(trees, BEAM, RACE // 4, 4)
            holders[0] = self.polish(holders[0], self.candidates // 2)
            for holder in holders:
                self.pool.add(holder)

    def climb(self, holder: Scored, target: int) -> Scored:
        """Grow a tree leaf by leaf."""
        for _ in range(2 * self.most):  # a new test may turn out idle, so that the tree does not grow
            if holder.leaves >= target or self.judge.spent:
                break
            holder = self.keep(self.grow(holder))
        return holder

    def descend(self, holder: Scored) -> None:
        """Down to two leaves, in larger steps where one leaf at a time would take too much of the budget."""
        drop = 1
        while holder.leaves > 2 and not self.judge.spent:
            before = self.arena.steps
            holder = self.keep(self.prune(holder, min(drop, holder.leaves - 2)))
            drop = 1 + int((self.arena.steps - before) * (holder.leaves - 2) / (self.descent * self.judge.budget))

    def keep(self, holder: Scored) -> Scored:
        """Into the pool; sometimes another tree of its size goes on instead."""
        holder = self.pool.add(holder)
        return self.pool.pick(holder.leaves, self.rng) if self.rng.random() < 0.3 else holder

    # -- one step ------------------------------------------------------------------------------------------------------

    def grow(self, holder: Scored) -> Scored:
        """One leaf more: promising splits and random ones; the best three are polished, then the winner."""
        trees: list[Tree] = []
        moments = self.arena.moments(holder.tree, MOMENTS // 2, int(self.rng.integers(2**62)))
        if self.arena.branches:
            tried, most = self.actions.tried, 2 * self.candidates // 3
            futures = self.arena.futures(holder.tree, moments, tried, HELD_STEPS)
            trees = self.cuts.promising(holder.tree, moments.states, futures, tried, most)
        leaf = leaf_of(holder.tree, moments.states)
        for _ in range(self.candidates - len(trees) if len(leaf) else 0):
            trees.append(self.cuts.random(holder.tree, moments.states, leaf, self.actions))
        return self.best_polished(trees) if trees else holder

    def prune(self, holder: Scored, drop: int) -> Scored:
        """Some leaves less: those that are missed least after some polish."""
        tree = holder.tree
        leaves = np.flatnonzero(tree.nodes["feature"] == LEAF)
        if len(leaves) > 2 * self.candidates:
            leaves = self.rng.choice(leaves, 2 * self.candidates, replace=False)
        trees = [without(tree, [int(leaf)]) for leaf in leaves]
        if drop > 1:
            means = [self.arena.returns(child, 0, self.judge.race).mean() for child in trees]
            likely = leaves[np.argsort(-np.array(means), kind="stable")][: 2 * drop]
            trees = [without(tree, likely[:drop].tolist())]
            for _ in range(self.candidates // 5):
                trees.append(without(tree, self.rng.choice(likely, drop, replace=False).tolist()))
        return self.best_polished(trees)

    def best_polished(self, trees: list[Tree]) -> Scored:
        some = [self.polish(entry, self.candidates // 2) for entry in self.judge.best(trees, 3)]
        return self.polish(max(some, key=lambda entry: entry.mean), 2 * self.candidates)

    def polish(self, holder: Scored, tries: int) -> Scored:
        """Random small changes, kept if not worse."""
        for _ in range(tries):
            if self.judge.spent:
                break
            holder = self.judge.challenge(self.changed(holder.tree), holder) or holder
        return holder

    def changed(self, tree: Tree) -> Tree:
        """One leaf's action, or one to three cuts."""
        rng = self.rng
        inner = np.flatnonzero(tree.nodes["feature"] != LEAF)
        if len(inner) == 0 or rng.random() < self.actions.how_often:
            leaves = np.flatnonzero(tree.nodes["feature"] == LEAF)
            leaf = int(leaves[rng.integers(len(leaves))])
            return with_action(tree, leaf, self.actions.other(tree.actions[leaf]))
        for _ in range(1 if rng.random() < 0.7 else int(rng.integers(1, 4))):
            node = int(inner[rng.integers(len(inner))])
            tree = with_test(tree, node, *self.cuts.moved(tree, node))
        return tree
