"""A few affine laws from a learned model, judged in functions that are drawn from its posterior.

    lessons    look-ahead in the mean function, and a table if there is one                       planner.py
    doubt      functions drawn where the teachers, and laws found before, go                      gp/model.py
    search     laws fitted to the lessons in random partitions, regulators of the local linear
               model, laws found before; a race among them in all functions                       search.py
    tidying    as on a plant                                                                      tidy.py

The budget is in bumps of the model, so that its time does not depend on the model's size.
"""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.arrays import Array
from spaql.gp.model import Data, Model, inputs_of
from spaql.gp.problem import imagined, starts_of
from spaql.laws.lessons import distilled
from spaql.laws.local import local_laws
from spaql.laws.partitions import fitted_partitions
from spaql.laws.planner import MOST_STEPS, planned
from spaql.laws.search import Round, Search, Task
from spaql.laws.stages import constants
from spaql.laws.teacher import Lessons
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.units import measured_units
from spaql.plants.problem import Problem
from spaql.streams import LAWS_CONFIRMED, LAWS_SEARCHED
from spaql.trees.edits import constant
from spaql.trees.tree import Tree, decide

BUMPS = 6e9  # of a search
LOOKED = 2e9  # of look-ahead, which is faster: it has one function only
PARTS = {1: 0.15, 3: 0.6}  # of the budget, by leaves; the rest is for tidying
FUNCTIONS = 6  # drawn; the first is the mean
DOUBTED = 60  # inputs at which they are drawn
SHAKEN = 0.3  # noise of the actions there, in halves of the range
EASY: tuple[Round, ...] = ((8, 10, 12), (2, 20, 16), (1, 20, 24))  # of one law: candidates, generations, episodes
RACE: tuple[Round, ...] = ((12, 12, 12), (4, 25, 16), (2, 40, 24), (1, 40, 48))  # of more
ATTEMPTS = 3  # races, as long as laws are far from what look-ahead earns
CLOSE = 0.85  # of the way from the best constant action to look-ahead in the mean function
EARLIER = 0.3  # first steps of laws that were found before or computed, as a part of the usual ones
FITTED = 0.5  # the same of laws fitted to lessons
EPISODES = 24  # of a table that teaches
JUDGED = 200  # episodes that choose among sizes
EFFORT = 0.25  # of tidying
WORTH = 0.003  # of the way from the best constant action: what a leaf must bring, and tidying may cost


class Found(NamedTuple):
    """A controller, and what the model says about it."""

    tree: Tree
    returns: Array  # in episodes that had no part in the search
    floor: float  # mean return of the best constant action
    problem: Problem  # the model's


def laws_in(
    problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree] = (), table: Tree | None = None,
    most: int = 3, tidy: bool = True,
) -> Found:  # fmt: skip
    """The best laws in the model of the data; `earlier`: trees that may be better still."""
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        return _found(problem, model, data, seed, earlier, table, most, tidy)


def _found(
    problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree], table: Tree | None, most: int,
    tidy: bool,
) -> Found:  # fmt: skip
    rng = np.random.default_rng([seed, len(data.states)])
    starts = starts_of(problem, data, rng)
    mean = imagined(problem, model, data, starts, rng)
    plan = planned(mean, seed, int(LOOKED / cost_of(mean)))
    lessons = [Lessons(plan.states, plan.actions)] if len(plan.states) else []
    for tree in [*earlier[:1], *([] if table is None else [table])]:
        visited = Trials(mean).watched(tree, seeds_of(seed, LAWS_SEARCHED, 2**41, EPISODES), 1000)[1]
        lessons.append(Lessons(visited, decide(tree, visited)))
    if not lessons:
        lessons = [Lessons(data.states, data.actions)]
    at = np.concatenate([_doubted(problem, model, one, rng, DOUBTED // len(lessons)) for one in lessons])
    doubtful = imagined(problem, model, data, starts, rng, FUNCTIONS, at)
    steps = int(BUMPS / cost_of(doubtful))
    trials, units = Trials(doubtful), measured_units(doubtful, np.concatenate([one.states for one in lessons]))
    judge = Judge(doubtful, seed, len(data.states))
    for action in constants(problem):
        judge.offer(constant(len(problem.state), action))
    judge.floor = judge.mean
    for tree in earlier:
        judge.offer(tree)
    perfect = problem.horizon * float(data.rewards.max())
    enough = perfect - 1e-6 * abs(perfect)
    if len(plan.returns) and problem.horizon <= MOST_STEPS:
        enough = min(enough, judge.floor + CLOSE * (float(plan.returns.mean()) - judge.floor))
    for number, leaves in enumerate([1] if most == 1 else [1, *[most] * ATTEMPTS]):
        if number != 1 and judge.mean >= enough:
            break
        part = PARTS[1] if leaves == 1 else PARTS[3]
        race, trials.left = EASY if leaves == 1 else RACE, int(part * steps)
        search = Search(trials, units, seed, number, _effort(race, int(part * steps), problem.horizon))
        with contextlib.suppress(Spent):
            _search(search, lessons, race, leaves, [judge.best, *earlier] if number > 1 else earlier, seed)
        if search.best is not None:
            judge.offer(units.physical(search.best.tree))
    if judge.best.laws is not None and tidy:
        trials.left = int((1.0 - sum(PARTS.values())) * steps)
        made, _ = Tidying(trials, judge.best, WORTH * judge.range, seed, 0, EFFORT).run()
        judge.offer(made, 2 * WORTH)
    return Found(judge.best, judge.returns, judge.floor, doubtful)


def cost_of(problem: Problem) -> int:
    """Bumps of a step in a learned model."""
    return 50 + sum(points.shape[1] for points in problem.plant.numbers.points)  # type: ignore[union-attr]


def _effort(race: Sequence[Round], steps: int, horizon: int) -> float:
    """At which a race takes about so many steps: its cost goes with the third power."""
    wanted = sum(candidates * generations * episodes for candidates, generations, episodes in race) * 30 * horizon
    return float(min(1.0, (steps / wanted) ** (1 / 3)))


def _search(
    search: Search, lessons: Sequence[Lessons], race: Sequence[Round], leaves: int, earlier: Sequence[Tree], seed: int
) -> None:
    """A race of laws that follow lessons, regulators, and laws found before."""
    tasks: list[Task] = []
    given = [tree for tree in earlier if tree.n_leaves <= leaves and tree.laws is not None]
    if leaves == 1:
        given += local_laws(search.trials, seed, search.rng)
    tasks += [search.task(search.units.in_units(tree), 0, EARLIER) for tree in given]
    rounds = search.rounds(race)
    for one in lessons:
        made = fitted_partitions(search, one, leaves, max(2, rounds[0][0] // len(lessons)))
        made += distilled(search, one, leaves, False)
        tasks += [search.task(tree, 0, FITTED) for tree in made]
    for task in tasks:
        search.judge(task)  # as it is: on a plateau optimisers drift
    search.halving(tasks, [(len(tasks), *rounds[0][1:]), *rounds[1:]])


class Judge:
    """Trees on the same episodes, which no search has seen; one with more leaves must be worth it."""

    def __init__(self, problem: Problem, seed: int, number: int) -> None:
        self.trials, self.floor = Trials(problem), -np.inf
        self.seeds = seeds_of(seed, LAWS_CONFIRMED, number * 2**20, JUDGED)
        self.best: Tree
        self.returns = np.full(1, -np.inf)

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def range(self) -> float:
        """From the best constant action to the best tree."""
        return max(self.mean - self.floor, 0.0) if np.isfinite(self.floor) else 0.0

    def offer(self, tree: Tree, allowance: float = 0.0) -> None:
        """Taken if it is better; `allowance`: even if it is worse by so much of the range."""
        returns = self.trials.returns(tree, self.seeds)
        more = 0.0 if not np.isfinite(self.mean) else WORTH * (tree.n_leaves > self.best.n_leaves)
        if returns.mean() > self.mean + (more - allowance) * self.range:
            self.best, self.returns = tree, returns


def _doubted(problem: Problem, model: Model, lessons: Lessons, rng: np.random.Generator, count: int) -> Array:
    """Inputs in units: some of the states with actions like these."""
    states, actions = lessons.states, lessons.actions
    chosen = rng.choice(len(states), count, replace=len(states) < count)
    low, high = problem.actions.bounds
    shaken = actions[chosen] + SHAKEN * model.half * rng.standard_normal(actions[chosen].shape)
    return inputs_of(model, states[chosen], np.clip(shaken, low, high))
