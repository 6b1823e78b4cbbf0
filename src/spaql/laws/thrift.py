"""Tidying where episodes are dear: whole groups of numbers are dropped or rounded at a time.

    1. of the coefficients, ordered by how much each moves the score (its size times the deviation of its variable), as
       many go as may go: found by bisection, with a short polish of the rest where the budget allows
    2. gains are halved, thresholds scaled, as in tidy.py
    3. all numbers get the fewest digits that do; then groups of them one digit less

A judgement is a few episodes, the same for all: a difference counts if it is larger than its own uncertainty.
"""

import math

import numpy as np

from spaql.arrays import Array
from spaql.laws.environments import Played
from spaql.laws.tidy import Tidying, plain
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import everything, numbers_of, with_numbers
from spaql.streams import LAWS_TIDIED
from spaql.trees.tree import LEAF, Tree

JUDGEMENTS = 16  # that a tidying makes, about
MOST = 40  # episodes of a judgement
FEWEST = 2
POLISHING = 0.5  # of the budget
PATIENT = 6  # generations of a polish at most
EPISODES = 8  # of a generation
ENOUGH = 8  # episodes: fewer say nothing about their own uncertainty
GROUPS = 4  # of numbers that get one digit less


class Thrift(Tidying):
    """Tidying with a budget. `steps`: of an episode of the tree, about; `deviation`: of the variables.

    `drop`: whether coefficients may go.
    """

    def __init__(
        self, trials: Trials, tree: Tree, tolerance: float, seed: int, number: int, budget: float, steps: float,
        deviation: Array, drop: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(trials, tree, tolerance, seed, number, 1.0)
        self.drop, self.deviation = drop, deviation
        count = int((1 - POLISHING) * budget / (JUDGEMENTS * steps))
        self.judged = seeds_of(seed, LAWS_TIDIED, 0, min(max(count, FEWEST), MOST))
        self.episodes = EPISODES
        numbers = int(np.count_nonzero(numbers_of(tree, everything(tree))))
        rounds = max(1.0, math.log2(numbers + 1))
        generation = EPISODES * (4 + 3 * math.log(numbers + 1)) * steps
        self.generations = min(int(POLISHING * budget / (rounds * generation)), PATIENT)
        self.first = np.zeros(0)

    def run(self) -> tuple[Tree, bool]:
        complete = True
        try:
            self.first = self.trials.returns(self.tree, self.judged)
            self.goal = float(self.first.mean())
            self.prune()
            self.scale_tests(max)
            if len(self.judged) >= ENOUGH:  # a law that fails now and then would not be found out
                if self.drop:
                    self.eliminate()
                self.soften()
            self.scale_tests(min)
            self.round()
        except Spent:
            complete = False
        return plain(self.tree), complete

    def accept(self, tree: Tree) -> bool:
        """Whether a tidier tree is as good as what was given, as far as these episodes tell."""
        got = self.trials.returns(tree, self.judged)
        if not no_worse(got, self.first, self.tolerance):
            return False
        self.tree, self.goal = tree, max(self.goal, float(got.mean()))
        return True

    def polished(self, tree: Tree, times: int = 1) -> Tree:
        return super().polished(tree, times) if self.generations else tree

    def eliminate(self) -> None:
        """As many of the least coefficients as may go."""
        given, free = self.tree, everything(self.tree)
        v, order = numbers_of(given, free), self.order()
        kept, lost = 0, len(order)  # so many may go; so many may not
        while lost - kept > max(1, len(order) // 12):
            count = (kept + lost + 1) // 2
            w = v.copy()
            w[order[:count]] = 0.0
            if self.accept(self.polished(with_numbers(given, free, w))):
                kept = count
            else:
                lost = count

    def order(self) -> Array:
        """Coefficients and offsets of the laws, and weights that their tests can spare, the least first."""
        tree = self.tree
        assert tree.laws is not None
        share = np.abs(tree.laws.gains) * self.deviation
        weights, leaf = np.abs(tree.weights) * self.deviation, tree.nodes["feature"] == LEAF
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
        for digits in (1, 2, 3, 4):
            if self.accept(with_numbers(self.tree, free, _rounded(v, live, digits))):
                break
        else:
            return
        for group in np.array_split(live, min(GROUPS, len(live))) if digits > 1 else ():
            w = numbers_of(self.tree, free)
            w[group] = _rounded(v, group, digits - 1)[group]
            self.accept(with_numbers(self.tree, free, w))


def no_worse(got: Array, before: Array, tolerance: float) -> bool:
    """Whether returns on the same episodes have not fallen by more than the tolerance and their own uncertainty."""
    change = got - before
    doubt = float(change.std(ddof=1)) / math.sqrt(len(change)) if len(change) >= ENOUGH else 0.0
    return float(change.mean()) >= -tolerance - doubt


def mean_steps(played: list[Played]) -> float:
    return float(np.mean([one.steps for one in played]))


def _rounded(v: Array, which: Array, digits: int) -> Array:
    w = v.copy()
    w[which] = [float(f"{value:.{digits - 1}e}") for value in v[which].tolist()]
    return w
