"""A law tree made readable: what nobody needs goes, what is left gets the fewest digits, as long as the return stays.

    1. leaves that are never visited go, and with them tests that cannot be passed
    2. coefficients go, the least harmful first and many at a time, and the rest is polished after each round
    3. gains are halved as long as the return stays; laws for ordered actions become thresholds where that costs nothing
    4. every number is rounded to one digit, or to two or three where one is too few
    5. tests whose two sides have become the same go

All in physical units: a zero or a round number must be one where the engineer reads it.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_POLISHED, LAWS_TIDIED, STAGE_EPISODES
from spaql.laws.optimisers import CMA
from spaql.laws.race import MAX_EPISODES, shown_no_worse
from spaql.laws.search import CHOICE
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import (
    MAX_DIGITS,
    Free,
    Units,
    declared_units,
    everything,
    least_first,
    numbers_of,
    readable,
    with_digits,
    with_numbers,
)
from spaql.learners.laws import ENOUGH_EPISODES
from spaql.policy.digits import rounded
from spaql.policy.outputs import kept, ranges_of
from spaql.trees.edits import with_laws, without
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD
from spaql.trees.tree import LEAF, Tree

SERIES_FACTOR = 8  # times as many, where dozens of trees are judged in turn: luck would carry some of them through
POLISH_GENERATIONS, POLISH_EPISODES = 12, 48
POLISH_STEP = 0.15  # relative change of a number
HALVINGS, JUDGEMENTS = 14, 6  # of gains; that a tidying where episodes are dear can pay for, about


class Tidying:
    """A tree on its way. `tree` is always the best tidy form so far."""

    def __init__(
        self, trials: Trials, tree: Tree, tolerance: float, seed: int, number: int, effort: float,
        units: Units | None = None,
    ) -> None:  # fmt: skip
        self.units = declared_units(trials.problem) if units is None else units
        self.trials, self.tree, self.tolerance, self.seed = trials, tree, tolerance, seed
        self.rng = np.random.default_rng([seed, number, LAWS_TIDIED])
        self.many = seeds_of(seed, LAWS_TIDIED, 0, max(2, round(SERIES_FACTOR * CHOICE * effort)))
        self.judged = self.many[: max(2, round(CHOICE * effort))]
        self.few = self.judged[: max(1, round(CHOICE // SERIES_FACTOR * effort))]
        self.generations, self.clock = max(1, round(POLISH_GENERATIONS * min(1.0, effort))), number * STAGE_EPISODES
        self.episodes = max(2, round(POLISH_EPISODES * effort))
        self.goal = -math.inf

    def run(self) -> tuple[Tree, bool]:
        """The tree as far as the budget goes, and whether it went all the way."""
        complete = True
        try:
            self.goal = self.score(self.tree, self.many)
            self.prune()
            self.scale_tests(max)
            self.eliminate()
            self.tree = self.polished(self.tree, 2)
            self.soften()
            self.scale_tests(min)
            self.round()
            self.prune()
        except Spent:
            complete = False
            self.scale_tests(min)  # nobody reads more digits; the confirmation tells whether they do
            self.tree = kept(self.trials.problem, with_digits(self.tree, MAX_DIGITS))
        return readable(self.tree, self.units), complete

    def changed(self, tree: Tree, free: Free, vector: Array) -> Tree:
        """The tree with other numbers, and with what is known of gains."""
        return kept(self.trials.problem, with_numbers(tree, free, vector))

    def score(self, tree: Tree, seeds: Array | None = None) -> float:
        return float(self.trials.returns(tree, self.judged if seeds is None else seeds).mean())

    def scores(self, trees: Sequence[Tree], seeds: Array) -> Array:
        return np.asarray(self.trials.returns_of(trees, seeds).mean(axis=1))

    # -- the parts, in their order -------------------------------------------------------------------------------------

    def prune(self) -> None:
        """Leaves that are never visited go."""
        while self.tree.n_leaves > 1:
            visits = self.trials.watched(self.tree, self.judged[:CHOICE], 1)[0]  # of more only beginnings
            idle = np.flatnonzero((self.tree.nodes["feature"] == LEAF) & (visits == 0))
            if len(idle) == 0:
                return
            self.tree = without(self.tree, idle.tolist())

    def scale_tests(self, which: Callable[[Array], float]) -> None:
        """Only ratios matter in a test, and in a threshold: the largest or the smallest weight becomes 1."""
        tree = self.tree
        assert tree.laws is not None
        nodes, weights = tree.nodes.copy(), tree.weights.copy()
        gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
        for node in range(len(nodes)):
            if nodes["feature"][node] != LEAF and weights[node].any():
                scale = which(np.abs(weights[node][weights[node] != 0.0]))
                weights[node] /= scale
                nodes["cut"][node] /= scale
            elif tree.laws.kind == THRESHOLD and gains[node].any():
                scale = which(np.abs(gains[node][gains[node] != 0.0]))
                gains[node] /= scale
                offsets[node] /= scale
        self.tree = Tree(nodes, tree.actions, weights, tree.laws._replace(gains=gains, offsets=offsets))

    def eliminate(self) -> None:
        """The least harmful coefficients go: a quarter of them at once, fewer if that was too many."""
        width: int | None = None
        while True:
            free = everything(self.tree)
            v = numbers_of(self.tree, free)
            candidates = [k for k in np.flatnonzero(v).tolist() if not self.needed(v, k)]
            if not candidates:
                return
            scores = self.scores([self.changed(self.tree, free, _put(v, [k])) for k in candidates], self.few)
            harm = sorted(zip(-scores, candidates, strict=True))
            width = max(1, len(candidates) // 4) if width is None else width
            dropped: list[int] = []
            for _, k in harm:
                if len(dropped) < width and not self.needed(_put(v, dropped), k):
                    dropped.append(k)
            if self.accept(self.polished(self.changed(self.tree, free, _put(v, dropped)))):
                continue
            if width > 1:
                width //= 2
            elif not any(self.accept(self.polished(self.changed(self.tree, free, _put(v, [k])))) for _, k in harm[1:4]):
                return

    def needed(self, v: Array, k: int) -> bool:
        """Whether a number is the last weight of its test, or a gain that is known not to be zero."""
        n, d = self.tree.weights.shape
        if k < n * d:
            return int((v[k // d * d : k // d * d + d] != 0.0).sum()) == 1
        return (known := self.trials.problem.gains) is not None and not known.may_be_zero(k - n * d - n, n)

    def accept(self, tree: Tree) -> bool:
        """Whether a tidier tree is as good; then it is kept."""
        got = self.score(tree, self.many)
        if got < self.goal - self.tolerance:
            return False
        self.tree, self.goal = tree, max(self.goal, got)
        return True

    def polished(self, tree: Tree, times: int = 1) -> Tree:
        """Small relative changes of all numbers that are not zero, kept if better."""
        free = everything(tree)
        v = numbers_of(tree, free)
        live = np.flatnonzero(v)
        if len(live) == 0:
            return tree
        cma = CMA(np.zeros(len(live)), np.full(len(live), POLISH_STEP), self.rng, 4 + int(3 * np.log(len(live) + 1)))

        def moved(x: Array) -> Tree:
            w = v.copy()
            w[live] *= 1.0 + x
            return self.changed(tree, free, w)

        for _ in range(times * self.generations):
            seeds = seeds_of(self.seed, LAWS_POLISHED, self.clock, self.episodes)
            self.clock += self.episodes
            cma.tell(self.scores([moved(x) for x in cma.ask()], seeds))
        better = moved(cma.mean)
        return better if self.score(better) > self.score(tree) else tree

    def soften(self) -> None:
        """Smaller gains, which engineers trust more; a threshold in place of a steep law for ordered actions."""
        assert self.tree.laws is not None
        laws = self.tree.laws
        low, high = ranges_of(self.trials.problem.actions, laws.kind)
        if laws.kind == ORDERED:
            sharp = laws._replace(offsets=laws.offsets - high / 2, kind=THRESHOLD, low=low - np.inf, high=high + np.inf)
            leaf = (self.tree.nodes["feature"] == LEAF)[:, None]
            sharp = sharp._replace(offsets=np.where(leaf, sharp.offsets, 0.0))
            self.accept(Tree(self.tree.nodes, self.tree.actions, self.tree.weights, sharp))
        if laws.kind != CLIP:
            return
        least = self.score(self.tree) - self.tolerance / 2
        for leaf in np.flatnonzero(self.tree.nodes["feature"] == LEAF).tolist():
            for output in range(laws.outputs):
                self.halve(leaf, output, float(low[output] + high[output]) / 2, least)

    def halve(self, leaf: int, output: int, centre: float, least: float) -> None:
        """The gains of one law as small as they may be."""
        now = self.score(self.tree)
        for _ in range(HALVINGS):
            laws = self.tree.laws
            assert laws is not None
            if not laws.gains[leaf, output].any():
                return
            gains, offsets = laws.gains.copy(), laws.offsets.copy()
            gains[leaf, output] /= 2
            if offsets[leaf, output] != 0.0 or centre != 0.0:
                offsets[leaf, output] = centre + (offsets[leaf, output] - centre) / 2
            tree = kept(self.trials.problem, with_laws(self.tree, gains, offsets))
            got = self.score(tree)
            if got < max(least, now - self.tolerance / 4):
                return
            self.tree, now = tree, got
        # a law of which a ten-thousandth does as well is none
        gains[leaf, output], offsets[leaf, output] = 0.0, centre
        still = kept(self.trials.problem, with_laws(self.tree, gains, offsets))
        if self.score(still) >= max(least, now - self.tolerance / 4):
            self.tree = still

    def round(self) -> None:
        """The largest numbers first: one digit if the return stays, else two, else three."""
        free = everything(self.tree)
        v = numbers_of(self.tree, free)
        least = self.score(self.tree) - self.tolerance / 4
        for k in sorted(np.flatnonzero(v).tolist(), key=lambda k: -abs(v[k])):
            for digits in range(1, MAX_DIGITS + 1):
                ends = rounded(v[k], digits)
                trees = [self.changed(self.tree, free, _put(v, [k], end)) for end in ends]
                got, value = max(zip(self.scores(trees, self.judged), ends, strict=True))
                if got >= least:
                    v = _put(v, [k], value)
                    self.tree = self.changed(self.tree, free, v)
                    break


class DearTidying(Tidying):
    """With a budget, where an episode of the tree takes about so many `steps`.

    All numbers get the fewest digits that do. Of the coefficients, ordered by how much each moves the score (its size
    times the deviation of its variable), as many go as may go: by bisection, then one by one. Gains are halved.
    """

    def __init__(
        self, trials: Trials, tree: Tree, tolerance: float, seed: int, number: int, budget: float, steps: float,
        units: Units,
    ) -> None:  # fmt: skip
        super().__init__(trials, tree, tolerance, seed, number, 1.0, units)
        self.judged = self.judged[: min(max(int(budget / (JUDGEMENTS * steps)), 1), MAX_EPISODES)]
        self.sure = len(self.judged) >= 2 * ENOUGH_EPISODES  # else a law that fails now and then is not found out
        self.given = np.zeros(0)  # returns of the tree that was given

    def run(self) -> tuple[Tree, bool]:
        complete = True
        try:
            self.given = self.trials.returns(self.tree, self.judged)
            self.prune()
            self.scale_tests(max)
            if self.sure:
                self.round()
                self.eliminate()
            self.scale_tests(min)
            self.round()
            if self.sure:
                self.soften()
        except Spent:
            complete = False
        return readable(self.tree, self.units), complete

    def accept(self, tree: Tree) -> bool:
        """Whether a tidier tree is shown to be as good as what was given."""
        if not shown_no_worse(self.trials, tree, self.judged, self.given, self.tolerance):
            return False
        self.tree = tree
        return True

    def eliminate(self) -> None:
        """As many of the least coefficients as may go; then those that may go one by one."""
        begin, free = self.tree, everything(self.tree)
        v, order = numbers_of(begin, free), least_first(begin, self.units)
        kept, lost = 0, len(order)  # so many may go; so many may not
        while lost - kept > 1:
            count = (kept + lost + 1) // 2
            accepted = self.accept(self.changed(begin, free, _put(v, order[:count])))
            kept, lost = (count, lost) if accepted else (kept, count)
        for k in order[lost:].tolist():
            self.accept(self.changed(self.tree, free, _put(numbers_of(self.tree, free), [k])))

    def round(self) -> None:
        """All numbers to the fewest digits at which the return stays."""
        for digits in range(1 if self.sure else 2, MAX_DIGITS + 2):  # one digit is up to a third off
            if self.accept(kept(self.trials.problem, with_digits(self.tree, digits))):
                return


def _put(v: Array, places: Iterable[int], value: float = 0.0) -> Array:
    w = v.copy()
    w[list(places)] = value
    return w
