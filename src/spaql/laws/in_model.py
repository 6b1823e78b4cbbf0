"""A few affine laws from a learned model, judged in functions that are drawn from its posterior.

    lessons    look-ahead in the mean function, and a table if there is one                       planner.py
    doubt      functions drawn where the teachers, and laws found before, go                      gp/model.py
    search     laws fitted to the lessons in random partitions, regulators of the local linear
               model, laws found before; a race among them in all functions                       search.py
    tidying    as on a plant                                                                      tidy.py

The budget is in bumps of the model, so that its time does not depend on the model's size; it grows with the samples, as
the time does in which they were taken.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.gp.data import Data
from spaql.gp.model import Model
from spaql.gp.problem import bumps_of, highest_reward, imagined, starts_of
from spaql.gp.references import stretch_of
from spaql.gp.units import inputs_of
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.ground.streams import LAWS_SEARCHED
from spaql.laws.classical import local_laws
from spaql.laws.judge import LAWS, WORTH, Judge, scale_of
from spaql.laws.lessons import Lessons, distilled, fitted_partitions
from spaql.laws.planner import MOST_STEPS, planned
from spaql.laws.search import CHOICE, Round, Search
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import Units, everything, measured_units, numbers_of
from spaql.plants.problem import Problem, constant_actions
from spaql.trees.edits import constant
from spaql.trees.tree import Tree, decide

SEARCHING = "searching for laws in the model"
BUMPS = 6e9  # of a search after few samples
DOUBLED = 2500  # samples after which a search may take twice as long as after none
LONGEST = 4.0  # times as long, at most
LOOKED = 2e9  # of look-ahead, which is faster: it has one function only
ONE, MORE, AGAIN, TIDYING = 0.1, 0.5, 0.2, 0.2  # parts of the budget: of one law, of more, where these go, of tidying
FUNCTIONS = 6  # drawn; the first is the mean
DOUBTED = 60  # inputs at which they are drawn
SHAKEN = 0.3  # noise of the actions there, in halves of the range
EASY: tuple[Round, ...] = ((8, 10, 12), (2, 20, 16), (1, 20, 24))  # of one law: candidates, generations, episodes
RACE: tuple[Round, ...] = ((6, 24, 12), (2, 50, 20), (1, 60, 40))  # of more
LAST: tuple[Round, ...] = ((3, 15, 16), (1, 40, 40))  # of what was found, in other functions
ATTEMPTS = 3  # races, as long as laws are far from what look-ahead earns
BEHIND = 0.05  # of the scale: what laws may lack of look-ahead in the mean function
RANKED, FEW = 0.02, 32  # of the budget of a race: episodes in which a candidate is ranked; so many at least
EARLIER = 0.3  # first steps of laws that were found before or computed, as a part of the usual ones
FITTED = 0.5  # the same of laws fitted to lessons
EPISODES = 24  # of a tree that teaches
TAUGHT = 1000  # states of it
KEPT = 4  # laws found before that are tried again
STILL = 1e-4  # of the spread of a variable in the data: no law looks at one that varies less where laws go
SAME = 1e-9  # of a number: what another unit may change
EFFORT = 0.25  # of tidying
LASTING = 3  # times the length of an episode: for tidying laws that miss nothing


def search_cost(n: int) -> float:
    """How long a search in a model of so many samples takes, relative to one after few."""
    return min(1.0 + n / DOUBLED, LONGEST)


class Found(NamedTuple):
    """A controller, and what the model says about it."""

    tree: Tree
    returns: Array  # in episodes that had no part in the search


def laws_in(
    problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree] = (), table: Tree | None = None,
    teacher: Tree | None = None, tidy: bool = True, other_table: Callable[[], Tree | None] | None = None,
    stop: threading.Event | None = None,
) -> Found:  # fmt: skip
    """The best laws in the model of the data; `earlier`: trees that may be better still; `table`: perhaps better.

    A table teaches, too; a `teacher` only teaches. `other_table` is made only if the laws leave something to gain.
    `stop`: once set, the best so far is returned soon.
    """
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        search = _LawSearch(problem, model, data, seed, earlier, table, stop or threading.Event())
        return search.run(tidy, [tree for tree in (table, teacher) if tree is not None], other_table)


class _LawSearch:
    """One search for laws."""

    def __init__(
        self, problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree], table: Tree | None,
        stop: threading.Event,
    ) -> None:  # fmt: skip
        self.stopped = stop.is_set
        at_work(SEARCHING, 0.0, 1.0)
        self.rng = np.random.default_rng([seed, len(data.states)])
        self.starts, stretch = starts_of(problem, data, self.rng), stretch_of(problem.horizon, data)
        self.stretches = problem.horizon / stretch  # of an episode whose reference jumps: laws are judged in one
        self.problem = problem = replace(problem, horizon=stretch)
        self.model, self.data, self.seed, self.table = model, data, seed, table
        self.earlier = different([tree for tree in earlier if tree.laws is not None])[:KEPT]
        self.mean = imagined(problem, model, data, self.starts, self.rng)
        self.plan = planned(self.mean, seed, int(LOOKED / bumps_of(self.mean)))
        self.highest = float(data.rewards.max())
        if model.reward_model is not None and model.reward_model.higher > 0.0 and len(self.plan.states):
            self.highest = max(self.highest, highest_reward(self.mean, self.plan.states, self.plan.actions))

    def run(self, tidy: bool, teachers: Sequence[Tree], other_table: Callable[[], Tree | None] | None) -> Found:
        lessons = [Lessons(self.plan.states, self.plan.actions)] if len(self.plan.states) else []
        lessons += [self.taught(tree) for tree in [*self.earlier[:1], *teachers]]
        if not lessons:
            lessons = [Lessons(self.data.states, self.data.actions)]
        judge, trials, steps = self.doubtful(lessons, self.earlier)
        least = STILL * self.model.units.scale
        units = measured_units(judge.problem, np.concatenate([one.states for one in lessons]), least)
        found, choice = [*self.earlier], len(getattr(self.problem.actions, "values", "ab")) > 1
        for number, leaves in enumerate([1, *[LAWS] * ATTEMPTS] if choice else []):
            if judge.mean >= (self.perfect if number <= 1 else self.enough(judge.floor)):
                break
            race, part = (EASY, ONE) if leaves == 1 else (RACE, MORE)
            search = self.search(trials, units, number, race, int(part * steps))
            self.show(trials, 0.1 + 0.2 * number, 0.2)
            with contextlib.suppress(Spent):
                given = local_laws(Trials(self.mean), self.seed, search.rng, least) if leaves == 1 else []
                _race(search, lessons, race, leaves, [*found[:KEPT], *given])
            if search.best is not None:
                found.insert(0, units.physical(search.best.tree))
                judge.offer(found[0])
        if not found or self.stopped():
            return Found(judge.best, self.stretches * judge.returns)
        # functions that differ where the laws go, not only where their teachers went
        found = different(sorted(found, key=lambda tree: -float(judge.returns_of(tree).mean())))[:KEPT]
        judge, trials, steps = self.doubtful([self.taught(tree) for tree in found], found)
        if judge.mean < self.perfect:
            search = self.search(trials, units, ATTEMPTS + 1, LAST, int(AGAIN * steps))
            self.show(trials, 0.9, 0.05)
            with contextlib.suppress(Spent):
                _race(search, [], LAST, LAWS, found)
            if search.best is not None:
                judge.offer(units.physical(search.best.tree))
        if self.stopped():
            return Found(judge.best, self.stretches * judge.returns)
        if tidy and judge.best.laws is not None:
            # what would fall soon after the end is not good enough
            strict, trials = self.longer(judge) if judge.mean >= self.perfect else (judge, trials)
            trials.left = int(TIDYING * steps)
            self.show(trials, 0.95, 0.05)
            made, _ = Tidying(trials, judge.best, WORTH * strict.scale, self.seed, 0, EFFORT, units).run()
            strict.offer(made, 2 * WORTH)
            judge.best, judge.returns = strict.best, judge.returns_of(strict.best)
        if self.table is not None:
            judge.offer_table(self.table)
            if judge.scale == 0.0:  # a model that sees no way to earn anything cannot judge
                return Found(self.table, self.stretches * judge.returns_of(self.table))
        if other_table is not None and judge.mean < self.perfect and (other := other_table()) is not None:
            judge.offer_table(other)
        return Found(judge.best, self.stretches * judge.returns)

    def taught(self, tree: Tree) -> Lessons:
        """What a tree does in the mean function."""
        seeds = seeds_of(self.seed, LAWS_SEARCHED, 2**41, EPISODES)
        states = Trials(self.mean).watched(tree, seeds, TAUGHT)[1]
        return Lessons(states, decide(tree, states))

    def doubtful(self, lessons: Sequence[Lessons], trees: Sequence[Tree]) -> tuple["Judge", Trials, int]:
        """Functions that differ where lessons are; a judge in them, trials, and the steps of the whole budget."""
        count = DOUBTED // len(lessons)
        at = np.concatenate([doubted(self.problem, self.model, one, self.rng, count) for one in lessons])
        drawn = imagined(self.problem, self.model, self.data, self.starts, self.rng, FUNCTIONS, at)
        judge = Judge(drawn, self.seed, len(self.data.states), self.most)
        for action in constant_actions(self.problem):
            judge.offer(constant(len(self.problem.state), action))
        judge.floor = judge.mean
        for tree in trees:
            judge.offer(tree)
        longer = search_cost(len(self.data.states))
        return judge, Trials(drawn, stopped=self.stopped), int(longer * BUMPS / bumps_of(drawn))

    def longer(self, judge: "Judge") -> tuple["Judge", Trials]:
        """A judge of episodes that go on, and trials of them."""
        lasting = replace(judge.problem, horizon=LASTING * self.problem.horizon)
        other = Judge(lasting, self.seed, len(self.data.states), LASTING * self.most)
        other.best, other.returns, other.floor = judge.best, other.returns_of(judge.best), judge.floor
        return other, Trials(lasting, stopped=self.stopped)

    def show(self, trials: Trials, begin: float, part: float) -> None:
        """Steps from here on are this part of the whole search, which begins there."""
        first, left = trials.samples, max(trials.left or 0, 1)
        trials.tell = lambda samples: at_work(SEARCHING, begin + part * min(1.0, (samples - first) / left), 1.0)

    def search(self, trials: Trials, units: Units, number: int, race: Sequence[Round], steps: int) -> Search:
        # candidates are ranked in episodes whose steps come from the same budget
        trials.left, trials.effort = steps, min(1.0, max(RANKED * steps / self.problem.horizon, FEW) / CHOICE)
        return Search(trials, units, self.seed, number, _effort(race, steps, self.problem.horizon))

    @property
    def perfect(self) -> float:
        """A return with which nothing that was ever paid is missing."""
        return self.most - 1e-6 * self.most

    @property
    def most(self) -> float:
        """A return above which there is none."""
        return self.problem.horizon * max(self.highest, 0.0)  # an episode of costs may end soon

    def enough(self, floor: float) -> float:
        """A mean return with which no more races are needed."""
        if len(self.plan.returns) == 0 or self.problem.horizon > MOST_STEPS:
            return -np.inf
        planned = float(self.plan.returns.mean())
        return min(self.perfect, planned - BEHIND * scale_of(planned, floor, self.most))


def different(trees: Sequence[Tree]) -> list[Tree]:
    """Each one once: a search that finds nothing better keeps what it was given, but for its last bits."""
    found: list[Tree] = []
    for tree in trees:
        if not any(_alike(tree, other) for other in found):
            found.append(tree)
    return found


def _alike(tree: Tree, other: Tree) -> bool:
    if not np.array_equal(tree.nodes["feature"], other.nodes["feature"]):
        return False
    v, w = (numbers_of(one, everything(one)) for one in (tree, other))
    return len(v) == len(w) and bool(np.allclose(v, w, rtol=SAME, atol=0.0))


def _effort(race: Sequence[Round], steps: int, horizon: int) -> float:
    """At which a race takes about so many steps: its cost goes with the third power."""
    wanted = sum(candidates * generations * episodes for candidates, generations, episodes in race) * 30 * horizon
    return float(min(1.0, (steps / wanted) ** (1 / 3)))


def _race(
    search: Search, lessons: Sequence[Lessons], race: Sequence[Round], leaves: int, found: Sequence[Tree]
) -> None:
    """Of laws that follow lessons, regulators, and laws found before."""
    given = [tree for tree in found if tree.n_leaves <= leaves]
    tasks = [search.task(search.units.in_units(tree), 0, EARLIER) for tree in given]
    rounds = search.rounds(race)
    for one in lessons:
        made = fitted_partitions(search, one, leaves, max(2, rounds[0][0] // len(lessons)))
        tasks += [search.task(tree, 0, FITTED) for tree in made + distilled(search, one, leaves, False)]
    for task in tasks:
        search.judge(task)  # as it is: on a plateau optimisers drift
    tasks.sort(key=lambda task: -task.mean)
    search.halving(tasks, [(len(tasks) if lessons else rounds[0][0], *rounds[0][1:]), *rounds[1:]])


def doubted(problem: Problem, model: Model, lessons: Lessons, rng: np.random.Generator, count: int) -> Array:
    """Inputs in units: some of the states with actions like these."""
    states, actions = lessons.states, lessons.actions
    chosen = rng.choice(len(states), count, replace=len(states) < count)
    low, high = problem.actions.bounds
    shaken = actions[chosen] + SHAKEN * model.units.half * rng.standard_normal(actions[chosen].shape)
    return inputs_of(model.units, states[chosen], np.clip(shaken, low, high))
