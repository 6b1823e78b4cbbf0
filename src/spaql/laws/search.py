"""The search for law trees of one size: many beginnings, two optimisers, and fewer and fewer candidates.

    fresh   400 random trees, and 200 that grow from a smaller good tree: the best few on some episodes
    regrow  children of a good tree that lose a leaf and get another, or a new law in a leaf; and the tree itself

A halving gives every candidate some generations of its optimiser and keeps the better ones, on more episodes from round
to round. Every generation has its own episodes; the result of an optimiser is its mean, not its best sample.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.ground.streams import LAWS_CHOSEN, LAWS_MINED, LAWS_SEARCHED, STAGE_EPISODES
from spaql.laws.card_trials import CardTrials
from spaql.laws.lock_step import HARD_STARTS, MIN_SPREAD, MINING_GENERATIONS, Course, Task, side_by_side, worth
from spaql.laws.optimisers import ARS, CMA
from spaql.laws.proposals import Kept, Proposals, free_within, pairs_of
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.vector import Free, Units, numbers_of, population, steps_of, with_numbers
from spaql.learners.law_files import ScoredTree
from spaql.trees.tree import Tree

Round = tuple[int, int, int]  # candidates, generations, episodes per candidate
GENERATIONS = 20  # of the first round
EPISODES = 24  # per candidate of the first round


def halving_rounds(candidates: int) -> tuple[Round, ...]:
    """A third goes on until one is left; round k has k times the generations and the episodes of the first."""
    left = [round(candidates / 3**at) for at in range(1 + math.ceil(math.log(candidates, 3)))]
    return tuple((n, k * GENERATIONS, k * EPISODES) for k, n in enumerate(left, 1))


FRESH = halving_rounds(16)
REGROWN = halving_rounds(6)
RANDOM_TREES = 400  # that are screened; half as many children of a smaller tree
CHILDREN = 60  # in a regrowth
SCREENING_EPISODES = 8  # twice as many for children
CHOICE = 512  # episodes on which candidates are ranked
POPULATION_FACTOR = 2.0  # times the usual population of CMA-ES
GIVEN_STEP = 0.5  # of the usual first steps, for a tree that was made on purpose
FINE_STEP = 0.3  # for one that is good already
GENERATIONS_POWER = 0.75  # of effort above 1: with more generations laws gain most, the rest goes into populations
FAILURE_DISTANCE = 8.0  # times that between the median and the worst tenth: a start further below has failed
KINK_SHARE = 0.5  # of splits, where starts fail
STATES = 4000  # visited ones, through which tests are put, and to which laws are fitted


class Search:
    """One stage of the search; `stage` is its number, from which all its random numbers come."""

    def __init__(self, trials: Trials, units: Units, seed: int, stage: int, effort: float = 1.0) -> None:
        self.trials, self.units, self.seed, self.effort = trials, units, seed, effort
        self.rng = np.random.default_rng([seed, stage])
        self.proposals = Proposals(trials.problem, units.live, self.rng)
        self.clock, self.turn = stage * STAGE_EPISODES, 0  # `clock`: number of the next episode of the generations
        self.choice = seeds_of(seed, LAWS_CHOSEN, 0, max(4, round(CHOICE * trials.effort)))  # the same in all stages
        self.hard: Array | None = None
        self.best: ScoredTree | None = None

    def count(self, number: int, least: int) -> int:
        """A number of episodes, by the effort."""
        return max(least, round(number * self.effort))

    def tried(self, number: int, least: int) -> int:
        """A number of candidates. A processor makes them, also for a card: effort above 1 counts half."""
        return max(least, round(number * min(self.effort, math.sqrt(self.effort))))

    def generations(self, number: int) -> int:
        return max(1, round(number * min(self.effort, math.pow(self.effort, GENERATIONS_POWER))))

    def population(self, number: int) -> int:
        return max(4, round(number * min(self.effort, math.pow(self.effort, 1.0 - GENERATIONS_POWER))))

    # -- stages --------------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:  # of the best tree so far
        return -np.inf if self.best is None else self.best.mean

    def fresh(self, leaves: int, parent: Tree | None, states: Array) -> None:
        """Random trees, and trees grown from a smaller one. `states`: visited ones, in units."""
        first, *later = self.rounds(FRESH)
        half = first[0] if parent is None else (first[0] + 1) // 2
        tasks = self.beginnings(leaves, states, half)
        if parent is not None:
            through, grown = self.visited(parent), []
            for _ in range(self.tried(RANDOM_TREES // 2, 4)):
                child = parent
                while child.n_leaves < leaves:
                    child = self.proposals.split(child, through)
                grown.append((child, len(parent.nodes)))
            children = self.screened(grown, first[0] - half, 2 * SCREENING_EPISODES)
            tasks += [self.task(tree, old) for tree, old in children]
        self.halving(tasks, [first, *later])

    def beginnings(self, leaves: int, states: Array, keep: int) -> list[Task]:
        """Random trees; where there are features, first a race of sets of variables, each with its best random tree."""
        kept: list[Kept | None] = list(pairs_of(self.proposals.sets)) if leaves > 1 else []
        kept = kept or [None]
        each, tasks = max(self.tried(RANDOM_TREES, 4) // len(kept), 2), list[Task]()
        for pair in kept:
            self.proposals.kept = pair
            trees = [(self.proposals.tree(leaves, states), 0) for _ in range(each)]
            few = keep if pair is None else 1
            tasks += [self.task(tree, old) for tree, old in self.screened(trees, few, SCREENING_EPISODES)]
        self.proposals.kept = None
        if len(kept) > 1:
            for task in self.advanced(tasks, self.generations(GENERATIONS // 2), self.count(EPISODES // 2, 2), False):
                self.judge(task)
            tasks = sorted(tasks, key=lambda task: -task.mean)[:keep]
        return tasks

    def race(self, beginnings: Sequence[Tree], floor: float = -np.inf, smaller: float = -np.inf) -> None:
        """Given trees among themselves, as long as they promise something.

        Not among others: after a few generations what was grown from a good tree is ahead of what is better in the end.
        They must come half the way from `floor` to the best of the `smaller` trees in the first round, and all of it in
        the second.
        """
        first, *later = self.rounds(FRESH)
        tasks = [self.task(tree, 0, GIVEN_STEP) for tree in beginnings]
        for task in tasks:
            self.judge(task)  # as it is: on a plateau optimisers drift
        half = floor + 0.5 * (smaller - floor) if np.isfinite(floor) else -np.inf
        self.halving(tasks, [(len(beginnings), *first[1:]), *later], wanted=(half, smaller))

    def regrow(self, parent: Tree) -> None:
        """Children of a good tree, and the tree itself."""
        failing = self.mine(parent)
        through = self.visited(parent)
        through = through if self.hard is None else np.concatenate([through, self.visited(parent, self.hard)])
        children = list[tuple[Tree, int]]()
        for i in range(self.tried(CHILDREN, 4)):
            if parent.n_leaves == 1 or i % 3 == 0:
                children.append((self.proposals.relawed(parent), 0))
            else:
                less = self.proposals.pruned(parent)
                split = self.proposals.split(less, through, KINK_SHARE if failing else 0.0)
                children.append((split, len(less.nodes)))
        rounds = self.rounds(REGROWN)
        children = self.screened(children, rounds[0][0] - 1, 2 * SCREENING_EPISODES)
        tasks = [self.task(tree, old) for tree, old in children]
        self.halving([*tasks, self.task(parent, 0, FINE_STEP)], rounds, mined=True)

    def polish(self, trees: Sequence[Tree]) -> None:
        """Given trees only: large ones have too many numbers for a race of random beginnings."""
        first, *later = self.rounds(FRESH[:-1])
        tasks = [self.task(tree, 0, GIVEN_STEP, cma=True) for tree in trees]
        self.halving(tasks, [(len(tasks), *first[1:]), *later])

    # -- parts ---------------------------------------------------------------------------------------------------------

    def rounds(self, rounds: Sequence[Round]) -> list[Round]:
        """Candidates, generations and episodes, by the effort; one candidate is left in the end."""
        return [(min(a, self.tried(a, 2)), self.generations(b), self.count(c, 2)) for a, b, c in rounds]

    def task(self, tree: Tree, parent: int, part: float = 0.0, cma: bool = False) -> Task:
        """Tasks alternate between the two optimisers: a cliff without noise wants CMA-ES, noise wants ARS.

        `part`: of the usual steps, for a tree that is good already, or was made on purpose.
        """
        free = self.free(tree)
        x, steps = numbers_of(tree, free), steps_of(tree, free, parent)
        self.turn += 1
        kind: Callable[..., CMA | ARS] = ARS if self.turn % 2 == 0 and not cma else CMA
        population = self.population(int(POPULATION_FACTOR * (4 + 3 * np.log(len(x) + 1))))
        task = Task(tree, free, kind(x, steps, self.rng, population))
        task.optimiser.sigma = part or task.optimiser.sigma
        return task

    def free(self, tree: Tree) -> Free:
        """The numbers of a tree that may change."""
        return free_within(tree, self.units.live, self.proposals.sets)

    def episodes(self, count: int) -> Array:
        """Seeds of episodes that were not used before."""
        self.clock += count
        return seeds_of(self.seed, LAWS_SEARCHED, self.clock - count, count)

    def visited(self, tree: Tree, seeds: Array | None = None) -> Array:
        """States of a tree's closed loop, in units."""
        seeds = self.episodes(self.count(16, 2)) if seeds is None else seeds
        return self.units.of(self.trials.watched(self.units.physical(tree), seeds, STATES)[1])

    def values(self, trees: Sequence[Tree], seeds: Array) -> Array:
        """Of trees that differ in their numbers only."""
        return self._with_hard(partial(self.trials.returns_of, [self.units.physical(tree) for tree in trees]), seeds)

    def generation(self, task: Task, vectors: Array, seeds: Array) -> Array:
        """What the rows of a population are worth: side by side, Python would be too slow tree by tree."""
        tree, free, trials = task.tree, task.free, self.trials
        if not (trials.on_card or trials.together):
            return self.values([with_numbers(tree, free, x) for x in vectors], seeds)
        forest = self.units.physical(population(tree, free, vectors))
        return self._with_hard(partial(trials.returns_in, forest, len(vectors)), seeds)

    def _with_hard(self, returns: Callable[[Array], Array], seeds: Array) -> Array:
        """Mean returns, hard starts counted along. `returns`: (trees, episodes)."""
        return worth(returns(seeds), None if self.hard is None else returns(self.hard))

    def screened(self, trees: list[tuple[Tree, int]], keep: int, episodes: int) -> list[tuple[Tree, int]]:
        """The best few on a few common episodes."""
        seeds = self.episodes(self.count(episodes, 1))
        if not trees:
            return []
        values = self.values([tree for tree, _ in trees], seeds)
        return [trees[i] for i in np.argsort(-values, kind="stable")[:keep]]

    def mine(self, tree: Tree) -> bool:
        """Look for episodes in which the tree fails while it does well in nearly all others; whether there are any."""
        seeds = seeds_of(self.seed, LAWS_MINED, self.clock, self.mined)
        self.clock += len(seeds)
        self.hard = self.hard_of(seeds, self.trials.returns(self.units.physical(tree), seeds))
        return self.hard is not None

    @property
    def mined(self) -> int:
        """Episodes among which failures are looked for."""
        return self.count(2 * CHOICE, 8)

    def hard_of(self, seeds: Array, returns: Array) -> Array | None:
        """The episodes that fail, if there are any."""
        low, tenth, middle = np.quantile(returns, (0.0, 0.1, 0.5))
        failing = bool(middle - low > FAILURE_DISTANCE * max(middle - tenth, ROUNDING * abs(middle)))
        return seeds[np.argsort(returns, kind="stable")[: self.count(HARD_STARTS, 2)]] if failing else None

    def advanced(self, tasks: list[Task], generations: int, episodes: int, mined: bool) -> Iterator[Task]:
        """The candidates, each after some generations."""
        if isinstance(self.trials, CardTrials) and self.trials.on_card:
            yield from side_by_side(self, self.trials, tasks, Course(generations, episodes, mined))
            return
        for task in tasks:
            self.advance(task, generations, episodes, mined)
            yield task

    def advance(self, task: Task, generations: int, episodes: int, mined: bool) -> None:
        """Some generations of one candidate."""
        optimiser = task.optimiser
        for generation in range(generations):
            if optimiser.spread < MIN_SPREAD:
                break
            if mined and generation % MINING_GENERATIONS == 0:
                self.mine(task.best)
            optimiser.tell(self.generation(task, optimiser.ask(), self.episodes(episodes)))
        self.hard = None

    def halving(
        self, tasks: list[Task], rounds: Sequence[Round], mined: bool = False, wanted: Sequence[float] = ()
    ) -> None:
        """Fewer and fewer candidates, more and more episodes. `best` is kept up to date: the budget may end.

        `wanted`: after each of the first rounds the least mean with which it goes on.
        """
        for at, (keep, generations, episodes) in enumerate(rounds):
            tasks = tasks[:keep]
            for task in self.advanced(tasks, generations, episodes, mined or at > 0):
                self.judge(task)
            tasks.sort(key=lambda task: -task.mean)
            if at < len(wanted) and self.mean < wanted[at]:
                return

    def judge(self, task: Task) -> None:
        """Rank a candidate on the episodes of the choice."""
        task.mean = float(self.trials.returns(self.units.physical(task.best), self.choice).mean())
        if self.best is None or task.mean > self.best.mean:
            self.best = ScoredTree(task.best, task.mean)
