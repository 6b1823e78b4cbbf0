"""Tidying where episodes are dear: whole groups of numbers are rounded or dropped at a time.

    1. all numbers get the fewest digits that do
    2. of the coefficients, ordered by how much each moves the score (its size times the deviation of its variable), as
       many go as may go: found by bisection, then one by one
    3. groups of numbers get one digit less; gains are halved, thresholds scaled, as in tidy.py

A judgement compares with the law that was given, on the same episodes: a tidier one must not be worse by more than the
uncertainty of the difference, and that uncertainty must be small, else nothing was shown. What is clearly worse is
found out by the first of the episodes. Where there is room for very few, the beginnings of many others are run too:
a law that falls from one start in twenty would not be found out.
"""

from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_TIDIED
from spaql.laws.environments import Job, Rollout
from spaql.laws.tidy import Tidying, plain, with_digits
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import Units, everything, numbers_of, with_numbers
from spaql.policy.evaluation import paired
from spaql.trees.tree import LEAF, Tree

JUDGEMENTS = 6  # that a tidying can pay for, about
MOST = 150  # episodes of a judgement
STARTS = 20  # beginnings, where there are few episodes
BEGINNING = 0.075  # of an episode
ENOUGH = 8  # episodes: fewer say nothing about their own uncertainty
EARLY = 0.25  # of the episodes, after which a law may be turned down
SHOWN = 20.0  # tolerances that a loss may have at most, its uncertainty included
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
        more, error = paired(self.whole, other.whole)
        return more > error

    def no_worse(self, before: "Measured", tolerance: float) -> bool:
        """Whether returns have not fallen by more than the tolerance and their own uncertainty, which must be small."""
        change, error = paired(self.whole, before.whole)
        doubt = error if len(self.whole) >= ENOUGH else 0.0
        if change < -tolerance - doubt or change - doubt < -SHOWN * tolerance:
            return False
        return len(self.begun) == 0 or float((self.begun - before.begun).mean()) >= -tolerance * BEGINNING

    def clearly_worse(self, before: "Measured", tolerance: float) -> bool:
        """The same for the first episodes only, where little is known yet."""
        change, error = paired(self.whole, before.whole[: len(self.whole)])
        return change < -tolerance - 2.0 * error


class Measure:
    """The episodes of a judgement."""

    def __init__(self, trials: Trials, seed: int, purpose: int, count: int, first: int = 0) -> None:
        self.trials, horizon = trials, trials.problem.horizon
        self.seeds = seeds_of(seed, purpose, first, count)
        begun = seeds_of(seed, purpose, first + count, STARTS if count < ENOUGH else 0)
        short = max(1, int(BEGINNING * horizon))
        self.lengths = [*((one, horizon) for one in self.seeds.tolist()), *((one, short) for one in begun.tolist())]

    def __call__(self, tree: Tree) -> Measured:
        return self.measured(self.returns(tree, self.lengths))

    def returns(self, tree: Tree, lengths: list[tuple[int, int]]) -> Array:
        """Beginnings first: they are cheap."""
        rollouts = self.trials.roll_out([Job(tree, seed, length) for seed, length in lengths[::-1]])[::-1]
        return np.array([one.total for one in rollouts])

    def measured(self, returns: Array) -> Measured:
        return Measured(returns[: len(self.seeds)], returns[len(self.seeds) :])

    def no_worse(self, tree: Tree, before: Measured, tolerance: float) -> bool:
        """`Measured.no_worse`; what is clearly worse in the first episodes does not see the others."""
        early = int(EARLY * len(self.seeds))
        if early < ENOUGH:
            return self(tree).no_worse(before, tolerance)
        some = self.returns(tree, self.lengths[:early])
        if Measured(some, before.begun).clearly_worse(before, tolerance):
            return False
        rest = self.returns(tree, self.lengths[early:])
        return self.measured(np.concatenate([some, rest])).no_worse(before, tolerance)


class Thrift(Tidying):
    """Tidying with a budget. `steps`: of an episode of the tree, about."""

    def __init__(
        self, trials: Trials, tree: Tree, tolerance: float, seed: int, number: int, budget: float, steps: float,
        units: Units,
    ) -> None:  # fmt: skip
        super().__init__(trials, tree, tolerance, seed, number, 1.0, units)
        self.digits = 0  # that all numbers have; 0: as many as there are
        self.measure = Measure(trials, seed, LAWS_TIDIED, min(max(int(budget / (JUDGEMENTS * steps)), 1), MOST))
        self.judged = self.measure.seeds
        self.first = Measured(np.zeros(0), np.zeros(0))

    def run(self) -> tuple[Tree, bool]:
        complete = True
        try:
            self.first = self.measure(self.tree)
            self.prune()
            self.scale_tests(max)
            if len(self.judged) >= ENOUGH:  # else a law that fails now and then would not be found out
                self.round()
                self.eliminate()
            self.scale_tests(min)
            self.round()
            if len(self.judged) >= ENOUGH:
                self.shorten()
                self.soften()
        except Spent:
            complete = False
        return self.readable(), complete

    def accept(self, tree: Tree) -> bool:
        """Whether a tidier tree is shown to be as good as what was given."""
        if not self.measure.no_worse(tree, self.first, self.tolerance):
            return False
        self.tree = tree
        return True

    def eliminate(self) -> None:
        """As many of the least coefficients as may go; then those that may go one by one."""
        given, free = self.tree, everything(self.tree)
        v, order = numbers_of(given, free), self.order()
        kept, lost = 0, len(order)  # so many may go; so many may not
        while lost - kept > 1:
            count = (kept + lost + 1) // 2
            w = v.copy()
            w[order[:count]] = 0.0
            if self.accept(with_numbers(given, free, w)):
                kept = count
            else:
                lost = count
        for k in order[lost:].tolist():
            w = numbers_of(self.tree, free)
            w[k] = 0.0
            self.accept(with_numbers(self.tree, free, w))

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
        """All numbers to the fewest digits at which the return stays."""
        free = everything(self.tree)
        v = numbers_of(self.tree, free)
        few = len(self.judged) < ENOUGH  # one digit is up to a third off: not without looking closely
        for digits in range(1 + few, 5):
            w = rounded(v, np.flatnonzero(v), digits)
            if (w == v).all() or self.accept(with_numbers(self.tree, free, w)):
                self.digits = digits
                return

    def shorten(self) -> None:
        """Groups of numbers to one digit less."""
        free = everything(self.tree)
        v = numbers_of(self.tree, free)
        live = np.flatnonzero(v)
        live = live[np.argsort(np.abs(v[live]), kind="stable")]
        for group in np.array_split(live, min(GROUPS, len(live))) if self.digits > 1 else ():
            w = numbers_of(self.tree, free)
            w[group] = rounded(v, group, self.digits - 1)[group]
            self.accept(with_numbers(self.tree, free, w))


def mean_steps(rollouts: list[Rollout]) -> float:
    return float(np.mean([one.steps for one in rollouts]))


def same(tree: Tree, other: Tree) -> bool:
    """Whether two trees of the same search have the same numbers."""
    v, w = numbers_of(tree, everything(tree)), numbers_of(other, everything(other))
    return len(v) == len(w) and bool((v == w).all())


def rounded_tree(tree: Tree, digits: int) -> Tree:
    free = everything(tree)
    v = numbers_of(tree, free)
    return plain(with_numbers(tree, free, rounded(v, np.flatnonzero(v), digits)))


def rounded(v: Array, which: Array, digits: int) -> Array:
    w = v.copy()
    w[which] = with_digits(v[which], digits)
    return w
