"""Tidying where episodes are dear: whole groups of numbers are dropped or rounded at a time.

    1. of the coefficients, ordered by how much each moves the score (its size times the deviation of its variable), as
       many go as may go: found by bisection
    2. those that are left go on with the random search that found them (walk.py): fewer numbers, less noise
    3. gains are halved, thresholds scaled, as in tidy.py
    4. all numbers get the fewest digits that do; then groups of them one digit less

A judgement is a few episodes, the same for all: a difference counts if it is larger than its own uncertainty. Where
there is room for very few, the beginnings of many others are played too: a law that falls from one start in twenty
would not be found out.
"""

import math
from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.laws.environments import Job, Played
from spaql.laws.tidy import Tidying, plain
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.units import Units
from spaql.laws.vector import everything, numbers_of, with_numbers
from spaql.laws.walk import walk_on
from spaql.streams import LAWS_POLISHED, LAWS_TIDIED
from spaql.trees.tree import LEAF, Tree

JUDGEMENTS = 16  # that a tidying makes, about
MOST = 40  # episodes of a judgement
STARTS = 20  # beginnings, where there are few episodes
BEGINNING = 0.05  # of an episode
WALKING = 0.6  # of the budget
MONITORS = 4  # judgements on the way
ENOUGH = 8  # episodes: fewer say nothing about their own uncertainty
GROUPS = 4  # of numbers that get one digit less


@dataclass(frozen=True, eq=False)
class Measured:
    """Returns of a tree: of whole episodes, and of beginnings of others."""

    whole: Array
    begun: Array

    @property
    def mean(self) -> float:
        return float(self.whole.mean())

    def better(self, other: "Measured") -> bool:
        """Whether returns are higher by more than their own uncertainty."""
        change = self.whole - other.whole
        doubt = float(change.std(ddof=1)) / math.sqrt(len(change)) if len(change) > 1 else 0.0
        return float(change.mean()) > doubt

    def no_worse(self, before: "Measured", tolerance: float) -> bool:
        """Whether returns have not fallen by more than the tolerance and their own uncertainty."""
        change = self.whole - before.whole
        doubt = float(change.std(ddof=1)) / math.sqrt(len(change)) if len(change) >= ENOUGH else 0.0
        if float(change.mean()) < -tolerance - doubt:
            return False
        return len(self.begun) == 0 or float((self.begun - before.begun).mean()) >= -tolerance * BEGINNING


class Measure:
    """The episodes of a judgement."""

    def __init__(self, trials: Trials, seed: int, purpose: int, count: int) -> None:
        self.trials, horizon = trials, trials.problem.horizon
        self.seeds = seeds_of(seed, purpose, 0, count)
        begun = seeds_of(seed, purpose, count, STARTS if count < ENOUGH else 0)
        short = max(1, int(BEGINNING * horizon))
        self.lengths = [*((one, horizon) for one in self.seeds.tolist()), *((one, short) for one in begun.tolist())]

    def __call__(self, tree: Tree) -> Measured:
        played = self.trials.play([Job(tree, seed, length) for seed, length in self.lengths[::-1]])[::-1]
        returns = np.array([one.total for one in played])
        return Measured(returns[: len(self.seeds)], returns[len(self.seeds) :])


class Thrift(Tidying):
    """Tidying with a budget. `steps`: of an episode of the tree, about; `drop`: whether coefficients may go."""

    def __init__(
        self, trials: Trials, tree: Tree, tolerance: float, seed: int, number: int, budget: float, steps: float,
        units: Units, drop: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(trials, tree, tolerance, seed, number, 1.0)
        self.drop, self.units, self.budget = drop, units, budget
        count = int((1 - WALKING) * budget / (JUDGEMENTS * steps))
        self.measure = Measure(trials, seed, LAWS_TIDIED, min(max(count, 1), MOST))
        self.judged = self.measure.seeds
        self.first = Measured(np.zeros(0), np.zeros(0))

    def run(self) -> tuple[Tree, bool]:
        complete = True
        try:
            self.first = self.measure(self.tree)
            self.goal = self.first.mean
            self.prune()
            self.scale_tests(max)
            if len(self.judged) >= ENOUGH:  # else a law that fails now and then would not be found out
                if self.drop:
                    self.eliminate()
                    self.walk()
                self.soften()
            self.scale_tests(min)
            self.round()
        except Spent:
            complete = False
        return plain(self.tree), complete

    def accept(self, tree: Tree) -> bool:
        """Whether a tidier tree is as good as what was given, as far as these episodes tell."""
        got = self.measure(tree)
        if not got.no_worse(self.first, self.tolerance):
            return False
        self.tree, self.goal = tree, max(self.goal, got.mean)
        return True

    def walk(self) -> None:
        """Random search over the numbers that are left; the best law on its way is kept."""

        def seeds(count: int) -> Array:
            self.clock += count
            return seeds_of(self.seed, LAWS_POLISHED, self.clock - count, count)

        trials, walk = self.trials, walk_on(self.tree, self.units, self.rng, seeds)
        begin, share = trials.samples, WALKING * self.budget
        for monitor in range(1, MONITORS + 1):
            while trials.samples - begin < share * monitor / MONITORS:
                walk.step(trials)
            got = self.measure(walk.physical)
            if got.mean > self.goal:
                self.tree, self.goal, self.first = walk.physical, got.mean, got

    def eliminate(self) -> None:
        """As many of the least coefficients as may go."""
        given, free = self.tree, everything(self.tree)
        v, order = numbers_of(given, free), self.order()
        kept, lost = 0, len(order)  # so many may go; so many may not
        while lost - kept > max(1, len(order) // 12):
            count = (kept + lost + 1) // 2
            w = v.copy()
            w[order[:count]] = 0.0
            if self.accept(with_numbers(given, free, w)):
                kept = count
            else:
                lost = count

    def order(self) -> Array:
        """Coefficients and offsets of the laws, and weights that their tests can spare, the least first."""
        tree = self.tree
        assert tree.laws is not None
        inverse = self.units.inverse
        deviation = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0.0)
        share = np.abs(tree.laws.gains) * deviation
        weights, leaf = np.abs(tree.weights) * deviation, tree.nodes["feature"] == LEAF
        weights = np.where(weights < weights.max(axis=1, keepdims=True), weights, np.inf)
        relative = weights / np.maximum(np.where(np.isfinite(weights), weights, 0.0).sum(axis=1, keepdims=True), 1e-300)
        sizes = np.maximum(share.sum(axis=2, keepdims=True), 1e-300)
        offsets = np.abs(tree.laws.offsets) / sizes[:, :, 0]
        parts = (relative.ravel(), np.full(len(leaf), np.inf), (share / sizes).ravel(), offsets.ravel())
        worth = np.concatenate(parts)
        v = numbers_of(tree, everything(tree))
        live = np.flatnonzero((v != 0.0) & np.isfinite(worth))
        return live[np.argsort(worth[live], kind="stable")]

    def round(self) -> None:
        """All numbers to the fewest digits at which the return stays; then groups of them to one digit less."""
        free = everything(self.tree)
        v = numbers_of(self.tree, free)
        live = np.flatnonzero(v)
        live = live[np.argsort(np.abs(v[live]), kind="stable")]
        few = len(self.judged) < ENOUGH  # one digit is up to a third off: not without looking closely
        for digits in range(1 + few, 5):
            if self.accept(with_numbers(self.tree, free, _rounded(v, live, digits))):
                break
        else:
            return
        for group in np.array_split(live, min(GROUPS, len(live))) if digits > 1 and not few else ():
            w = numbers_of(self.tree, free)
            w[group] = _rounded(v, group, digits - 1)[group]
            self.accept(with_numbers(self.tree, free, w))


def mean_steps(played: list[Played]) -> float:
    return float(np.mean([one.steps for one in played]))


def _rounded(v: Array, which: Array, digits: int) -> Array:
    w = v.copy()
    w[which] = [float(f"{value:.{digits - 1}e}") for value in v[which].tolist()]
    return w
