"""The search for law trees of one size: many beginnings, two optimisers, and fewer and fewer candidates.

    fresh   400 random trees and 200 that grow from a smaller good tree are screened on a few episodes; the best go into
            the halving
    regrow  children of a good tree that lose a leaf and get another, or a new law in a leaf; and the tree itself

A halving gives every candidate some generations of its optimiser and keeps the better ones, on more episodes from round
to round. Every generation has episodes of its own, the same for its whole population; the result of an optimiser is its
mean, not its best sample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_CHOSEN, LAWS_MINED, LAWS_SEARCHED
from spaql.laws.cma import ARS, CMA
from spaql.laws.proposals import Proposals
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.vector import Free, Units, all_free, numbers_of, steps_of, with_numbers
from spaql.learners.law_files import ScoredTree
from spaql.trees.tree import Tree

Round = tuple[int, int, int]  # candidates, generations, episodes per candidate
FRESH: tuple[Round, ...] = ((16, 20, 24), (5, 40, 48), (2, 60, 64), (1, 60, 128))
POLISHED: tuple[Round, ...] = ((16, 20, 24), (5, 40, 48), (2, 60, 64))  # of distilled trees
WIDE = 0.5  # first steps of a polish, as a part of the usual ones
REGROWN: tuple[Round, ...] = ((6, 20, 24), (2, 50, 48), (1, 60, 96))
SCREENED = 400  # random trees
GROWN = 200  # children of a smaller tree
CHILDREN = 60  # children in a regrowth
FEW = 8  # episodes of the screening; twice as many for children
CHOICE = 512  # episodes on which candidates are ranked
POPULATION = 2.0  # times the usual population of CMA-ES
SETTLED = 1e-3  # spread of a population at which an optimiser ends
POOL = 1024  # episodes among which hard starts are looked for
HARD = 16  # of them that are kept
EVERY = 15  # generations after which others are looked for
WEIGHT = 0.3  # of the hard starts in the value of a candidate
FAILURE = 8.0  # times the distance between the median and the worst tenth: a start further below has failed
KINKS = 0.5  # of splits, where starts fail
STATES = 4000  # visited states through which tests are put


@dataclass
class Task:
    """A tree under optimisation."""

    tree: Tree
    free: Free
    optimiser: CMA | ARS
    mean: float = -np.inf

    @property
    def best(self) -> Tree:
        return with_numbers(self.tree, self.free, self.optimiser.mean)


class Search:
    """One stage of the search; `stage` is its number, from which all its random numbers come."""

    def __init__(self, trials: Trials, units: Units, seed: int, stage: int, effort: float = 1.0) -> None:
        self.trials, self.units, self.seed, self.effort = trials, units, seed, effort
        self.rng = np.random.default_rng([seed, stage])
        self.proposals = Proposals(trials.problem, units.live, self.rng)
        self.clock, self.turn = stage * 2**32, 0  # `clock`: number of the next episode of the generations
        self.choice = seeds_of(seed, LAWS_CHOSEN, 0, max(4, round(CHOICE * trials.effort)))  # the same in all stages
        self.hard: Array | None = None
        self.best: ScoredTree | None = None

    def count(self, number: int, least: int) -> int:
        """A number of candidates, generations or episodes, by the effort."""
        return max(least, round(number * self.effort))

    # -- stages --------------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        """Of the best tree so far."""
        return -np.inf if self.best is None else self.best.mean

    def fresh(self, leaves: int, parent: Tree | None, states: Array) -> None:
        """Random trees, and trees grown from a smaller one. `states`: visited ones, in units."""
        first, *later = self.rounds(FRESH)
        half = first[0] if parent is None else (first[0] + 1) // 2
        made = [(self.proposals.tree(leaves, states), 0) for _ in range(self.count(SCREENED, 4))]
        tasks = [self.task(tree, old) for tree, old in self.screened(made, half, FEW)]
        if parent is not None:
            through = self.visited(parent)
            made = []
            for _ in range(self.count(GROWN, 4)):
                child = parent
                while child.n_leaves < leaves:
                    child = self.proposals.split(child, through)
                made.append((child, len(parent.nodes)))
            tasks += [self.task(tree, old) for tree, old in self.screened(made, first[0] - half, 2 * FEW)]
        self.halving(tasks, [first, *later])

    def race(self, beginnings: Sequence[Tree], floor: float = -np.inf, smaller: float = -np.inf) -> None:
        """Given trees among themselves, as long as they promise something.

        Not among others: after a few generations what was grown from a good tree is ahead of what is better in the end.
        They must come half the way from `floor` to the best of the `smaller` trees in the first round, and all of it in
        the second.
        """
        first, *later = self.rounds(FRESH)
        tasks = [self.task(tree, 0, WIDE) for tree in beginnings]
        for task in tasks:
            self.judge(task)  # as it is: on a plateau optimisers drift
        half = floor + 0.5 * (smaller - floor) if np.isfinite(floor) else -np.inf
        self.halving(tasks, [(len(beginnings), *first[1:]), *later], wanted=(half, smaller))

    def regrow(self, parent: Tree) -> None:
        """Children of a good tree, and the tree itself."""
        failing = self.mine(parent)
        through = self.visited(parent)
        if self.hard is not None:
            through = np.concatenate([through, self.visited(parent, self.hard)])
        made: list[tuple[Tree, int]] = []
        for i in range(self.count(CHILDREN, 4)):
            if parent.n_leaves == 1 or i % 3 == 0:
                made.append((self.proposals.relawed(parent), 0))
            else:
                less = self.proposals.pruned(parent)
                made.append((self.proposals.split(less, through, KINKS if failing else 0.0), len(less.nodes)))
        rounds = self.rounds(REGROWN)
        tasks = [self.task(tree, old) for tree, old in self.screened(made, rounds[0][0] - 1, 2 * FEW)]
        self.halving([*tasks, self.task(parent, 0, 0.3)], rounds, mined=True)

    def polish(self, trees: Sequence[Tree]) -> None:
        """Given trees only: large ones have too many numbers for a race of random beginnings."""
        first, *later = self.rounds(POLISHED)
        tasks = [self.task(tree, 0, WIDE, cma=True) for tree in trees]
        self.halving(tasks, [(len(tasks), *first[1:]), *later])

    # -- parts ---------------------------------------------------------------------------------------------------------

    def rounds(self, rounds: Sequence[Round]) -> list[Round]:
        """Candidates, generations and episodes, by the effort; one candidate is left in the end."""
        return [(min(a, self.count(a, 2)), self.count(b, 1), self.count(c, 2)) for a, b, c in rounds]

    def task(self, tree: Tree, parent: int, part: float = 0.0, cma: bool = False) -> Task:
        """Tasks alternate between the two optimisers: a cliff without noise wants CMA-ES, noise wants ARS.

        `part`: of the usual steps, for a tree that is good already, or was made on purpose.
        """
        free = all_free(tree, self.units.live)
        x, steps = numbers_of(tree, free), steps_of(tree, free, parent)
        self.turn += 1
        kind: Callable[..., CMA | ARS] = ARS if self.turn % 2 == 0 and not cma else CMA
        population = self.count(int(POPULATION * (4 + 3 * np.log(len(x) + 1))), 4)
        task = Task(tree, free, kind(x, steps, self.rng, population))
        task.optimiser.sigma = part or task.optimiser.sigma
        return task

    def episodes(self, count: int) -> Array:
        """Seeds of episodes that were not used before."""
        self.clock += count
        return seeds_of(self.seed, LAWS_SEARCHED, self.clock - count, count)

    def visited(self, tree: Tree, seeds: Array | None = None) -> Array:
        """States of a tree's closed loop, in units."""
        seeds = self.episodes(self.count(16, 2)) if seeds is None else seeds
        return self.units.of(self.trials.watched(self.units.physical(tree), seeds, STATES)[1])

    def value(self, tree: Tree, seeds: Array) -> float:
        return float(self.values([tree], seeds)[0])

    def values(self, trees: Sequence[Tree], seeds: Array) -> Array:
        """Of trees that differ in their numbers only."""
        physical = [self.units.physical(tree) for tree in trees]
        found: Array = self.trials.returns_of(physical, seeds).mean(axis=1)
        if self.hard is not None:
            found = (1 - WEIGHT) * found + WEIGHT * self.trials.returns_of(physical, self.hard).mean(axis=1)
        return found

    def screened(self, made: list[tuple[Tree, int]], keep: int, episodes: int) -> list[tuple[Tree, int]]:
        """The best few on a few common episodes."""
        seeds = self.episodes(self.count(episodes, 1))
        values = np.array([self.value(tree, seeds) for tree, _ in made])
        return [made[i] for i in np.argsort(-values, kind="stable")[:keep]]

    def mine(self, tree: Tree) -> bool:
        """Look for episodes in which the tree fails while it does well in nearly all others; whether there are any."""
        self.hard = None
        seeds = seeds_of(self.seed, LAWS_MINED, self.clock, self.count(POOL, 8))
        self.clock += len(seeds)
        returns = self.trials.returns(self.units.physical(tree), seeds)
        low, tenth, middle = np.quantile(returns, (0.0, 0.1, 0.5))
        failing = bool(middle - low > FAILURE * max(middle - tenth, 1e-9 * abs(middle)))
        if failing:
            self.hard = seeds[np.argsort(returns, kind="stable")[: self.count(HARD, 2)]]
        return failing

    def advance(self, task: Task, generations: int, episodes: int, mined: bool) -> None:
        """Some generations of one candidate."""
        optimiser = task.optimiser
        for generation in range(generations):
            if optimiser.spread < SETTLED:
                break
            if mined and generation % EVERY == 0:
                self.mine(task.best)
            seeds = self.episodes(episodes)
            asked = [with_numbers(task.tree, task.free, x) for x in optimiser.ask()]
            optimiser.tell(self.values(asked, seeds))
        self.hard = None

    def halving(
        self, tasks: list[Task], rounds: Sequence[Round], mined: bool = False, wanted: Sequence[float] = ()
    ) -> None:
        """Fewer and fewer candidates, more and more episodes. `best` is kept up to date: the budget may end.

        `wanted`: after each of the first rounds the least mean with which it goes on.
        """
        for at, (keep, generations, episodes) in enumerate(rounds):
            tasks = tasks[:keep]
            for task in tasks:
                self.advance(task, generations, episodes, mined or at > 0)
                self.judge(task)
            tasks.sort(key=lambda task: -task.mean)
            if at < len(wanted) and self.mean < wanted[at]:
                return

    def judge(self, task: Task) -> None:
        """Rank a candidate on the episodes of the choice."""
        task.mean = float(self.trials.returns(self.units.physical(task.best), self.choice).mean())
        if self.best is None or task.mean > self.best.mean:
            self.best = ScoredTree(task.best, task.mean)
