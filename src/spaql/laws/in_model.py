"""A few affine laws from a learned model, judged in functions that are drawn from its posterior.

    lessons    look-ahead in the mean function, and a table if there is one           planner.py
    doubt      functions drawn where the teachers, and laws found before, go          gp/model.py
    search     laws fitted to the lessons in random partitions, regulators of the
               local linear model, laws found before; a race in all functions         search.py
    tidying    as on a plant                                                          tidy.py

The budget is in kernels (one per inducing point and step), so that the time does not depend on the
size of the model. It grows with the samples, as the time does in which they were taken.
"""

import contextlib
import math
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.gp.kernel_sums import WIDTH
from spaql.gp.learned_problem import imagined, starts_of, step_cost
from spaql.gp.model import Model
from spaql.gp.transitions import Data, inputs_of, stretch_of
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.ground.streams import LAWS_SEARCHED
from spaql.laws.card_trials import trials_on
from spaql.laws.classical import local_laws
from spaql.laws.judge import LAWS, UNREADABLE, WORTH, Judge, scale_of
from spaql.laws.lessons import Lessons, distilled, fitted_partitions
from spaql.laws.planner import MOST_STEPS, planned
from spaql.laws.search import FINE_STEP, GIVEN_STEP, REGROWN, Round, Search
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import MAX_DIGITS, Units, everything, measured_units, numbers_of, readable, with_digits
from spaql.learners.law_files import ScoredTree
from spaql.plants.problem import Problem, constant_actions
from spaql.trees.edits import constant
from spaql.trees.tree import Tree, decide

SEARCHING = "searching for laws in the model"
# what a search may cost
SEARCH_KERNELS = 5e9  # of a search after few samples
LOOK_AHEAD_KERNELS = 2e9  # of its look-ahead, which is faster: it has one function only
MANY_SAMPLES = 1000  # the cost of a search goes with their root, and laws act alone: look-ahead would take longer
MAX_RACES = 3  # of trees, as long as look-ahead, which nobody can read, would be worth more
TIDY_EFFORT = 0.25
LASTING_HORIZONS = 3  # laws that miss nothing are tidied in episodes so many times as long
# where functions are drawn
POSTERIOR_SAMPLES = WIDTH  # the first is the mean; as many as make one vector
DOUBTED_INPUTS = 60  # at which they are drawn
ACTION_NOISE = 0.3  # of the actions there, in halves of the range
EPISODES = 50  # of a tree in the mean function: it teaches, and is doubted where it goes
VISITED = 1000  # states of these episodes
DEAD_SPREAD = 1e-4  # of the spread in the data: no law looks at a variable that varies less where laws go


def search_cost(n: int) -> float:
    """How long a search in a model of so many samples takes, relative to one after few."""
    return math.sqrt(1.0 + n / MANY_SAMPLES)


def laws_in(
    problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree] = (), table: Tree | None = None,
    teacher: Tree | None = None, last: bool = True, stop: threading.Event | None = None, device: str = "cpu",
) -> ScoredTree:  # fmt: skip
    """The best laws in the model of the data, and their mean there in episodes that had no part in the search.

    `earlier`: trees that may be better still; `table`: perhaps better.

    `last`: they are the controller, and are tidied; else laws for a trial on the plant.

    A table teaches, too; a `teacher` only teaches. `stop`: once set, the best so far is returned
    soon. `device`: where the episodes of the races run; look-ahead and what is reported stay on the CPU.
    """
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        effort = search_cost(len(data.states))
        search = _LawSearch(problem, model, data, seed, earlier, table, stop or threading.Event(), effort, device)
        return search.run(last, [tree for tree in (table, teacher) if tree is not None])


class _LawSearch:
    """One search for laws."""

    def __init__(
        self, problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree], table: Tree | None,
        stop: threading.Event, effort: float, device: str,
    ) -> None:  # fmt: skip
        self.stopped, self.effort, self.device = stop.is_set, effort, device
        at_work(SEARCHING, 0.0, 1.0)
        self.rng = np.random.default_rng([seed, len(data.states)])
        self.starts, stretch = starts_of(problem, data, self.rng), stretch_of(problem.horizon, data)
        self.stretches = problem.horizon / stretch  # of an episode whose reference jumps: laws are judged in one
        self.problem = problem = replace(problem, horizon=stretch)
        self.model, self.data, self.seed, self.table = model, data, seed, table
        self.earlier = different([tree for tree in earlier if tree.laws is not None])[: REGROWN[0][0]]
        self.mean = imagined(problem, model, data, self.starts, self.rng)
        room = min(effort, 1.0) * LOOK_AHEAD_KERNELS / step_cost(self.mean)
        self.plan = planned(self.mean, seed, int(room))
        # a return above which there is none; an episode of costs may end soon
        self.most = problem.horizon * max(float(data.rewards.max()), 0.0)
        self.perfect = self.most - 1e-6 * self.most  # nothing that was ever paid is missing

    def run(self, tidy: bool, teachers: Sequence[Tree]) -> ScoredTree:
        lessons = [Lessons(self.plan.states, self.plan.actions)] if len(self.plan.states) else []
        lessons += [self.taught(tree) for tree in [*self.earlier[:1], *teachers]]
        if not lessons:
            lessons = [Lessons(self.data.states, self.data.actions)]
        judge, trials, steps = self.doubtful(lessons, self.earlier)
        least = DEAD_SPREAD * self.model.units.scale
        units = measured_units(
            judge.problem, np.concatenate([lesson.states for lesson in lessons]), least
        )
        trees, race = [*self.earlier], REGROWN
        part = 1.0 / (LAWS + 3)  # of the budget: per law of a race, for another race, for tidying
        for number, leaves in enumerate([] if self.problem.actions.single else [1, *[LAWS] * MAX_RACES]):
            if judge.mean >= (self.perfect if number <= 1 else self.enough(judge.floor)):
                break
            search = self.search(trials, units, number, race, int(leaves * part * steps))
            self.show(trials, 0.1 + 0.2 * number, 0.2)
            with contextlib.suppress(Spent):
                regulators = []
                if leaves == 1:
                    regulators = local_laws(Trials(self.mean), self.seed, search.rng, least)
                _race(search, lessons, race, leaves, [*trees, *regulators])
            if search.best is not None:
                trees.insert(0, units.physical(search.best.tree))
                judge.offer(trees[0])
        if not trees or self.stopped():
            return self.scored(judge.best, judge.returns)
        # functions that differ where the laws go, not only where their teachers went
        trees = different(sorted(trees, key=lambda tree: -float(judge.returns_of(tree).mean())))
        trees = trees[: REGROWN[0][0]]
        judge, trials, steps = self.doubtful([self.taught(tree) for tree in trees], trees)
        if judge.mean < self.perfect:
            search = self.search(trials, units, 1 + MAX_RACES, race[1:], int(part * steps))
            self.show(trials, 0.9, 0.05)
            with contextlib.suppress(Spent):
                _race(search, [], race[1:], LAWS, trees)
            if search.best is not None:
                judge.offer(units.physical(search.best.tree))
        if self.stopped():
            return self.scored(judge.best, judge.returns)
        if tidy and judge.best.laws is not None:
            # what would fall soon after the end is not good enough
            perfect = judge.mean >= self.perfect
            strict, trials = self.longer(judge) if perfect else (judge, trials)
            trials.left = int(part * steps)
            self.show(trials, 0.95, 0.05)
            cost = WORTH * strict.scale
            tidying = Tidying(trials, judge.best, cost, self.seed, 0, TIDY_EFFORT, units)
            if not strict.offer(tidying.run()[0], 2 * WORTH):
                strict.offer(readable(with_digits(judge.best, MAX_DIGITS), units), 2 * WORTH)
            judge.best, judge.returns = strict.best, judge.returns_of(strict.best)
        if self.table is not None:
            judge.offer_table(self.table)
            if judge.scale == 0.0:  # a model that sees no way to earn anything cannot judge
                return self.scored(self.table, judge.returns_of(self.table))
        return self.scored(judge.best, judge.returns)

    def enough(self, floor: float) -> float:
        """The mean with which no other race is needed; look-ahead plans the beginning of long episodes only."""
        if len(self.plan.returns) == 0 or self.problem.horizon > MOST_STEPS:
            return -math.inf
        mean = float(self.plan.returns.mean())
        return min(self.perfect, mean - UNREADABLE * scale_of(mean, floor, self.most))

    def scored(self, tree: Tree, returns: Array) -> ScoredTree:
        """With its mean return in whole episodes."""
        return ScoredTree(tree, float((self.stretches * returns).mean()))

    def taught(self, tree: Tree) -> Lessons:
        """What a tree does in the mean function."""
        seeds = seeds_of(self.seed, LAWS_SEARCHED, 2**41, EPISODES)
        states = Trials(self.mean).watched(tree, seeds, VISITED)[1]
        return Lessons(states, decide(tree, states))

    def doubtful(self, lessons: Sequence[Lessons], trees: Sequence[Tree]) -> tuple["Judge", Trials, int]:
        """Functions that differ where lessons are; a judge, trials, and the steps of the budget."""
        count = DOUBTED_INPUTS // len(lessons)
        at = np.concatenate(
            [doubted(self.problem, self.model, lesson, self.rng, count) for lesson in lessons]
        )
        drawn = imagined(self.problem, self.model, self.data, self.starts, self.rng, POSTERIOR_SAMPLES, at)
        judge = Judge(drawn, self.seed, len(self.data.states), self.most)
        for action in constant_actions(self.problem):
            judge.offer(constant(len(self.problem.state), action))
        judge.floor = judge.mean
        for tree in trees:
            judge.offer(tree)
        trials = trials_on(self.device, drawn, None, self.stopped)
        return judge, trials, int(self.effort * SEARCH_KERNELS / step_cost(drawn))

    def longer(self, judge: "Judge") -> tuple["Judge", Trials]:
        """A judge of episodes that go on, and trials of them."""
        lasting = replace(judge.problem, horizon=LASTING_HORIZONS * self.problem.horizon)
        other = Judge(lasting, self.seed, len(self.data.states), LASTING_HORIZONS * self.most)
        other.best, other.returns, other.floor = judge.best, other.returns_of(judge.best), judge.floor
        return other, trials_on(self.device, lasting, None, self.stopped)

    def show(self, trials: Trials, begin: float, part: float) -> None:
        """Steps from here on are this part of the whole search, which begins there."""
        first, room = trials.samples, max(trials.left or 0, 1)
        trials.tell = lambda samples: at_work(
            SEARCHING, begin + part * min(1.0, (samples - first) / room), 1.0
        )

    def search(
        self, trials: Trials, units: Units, number: int, race: Sequence[Round], steps: int
    ) -> Search:
        effort = _effort(race, steps, self.problem.horizon)
        trials.left, trials.effort = steps, effort
        return Search(trials, units, self.seed, number, effort)


def different(trees: Sequence[Tree]) -> list[Tree]:
    """Each tree once: a search that finds nothing better keeps what it got, but for last bits."""
    chosen: list[Tree] = []
    for tree in trees:
        if not any(_alike(tree, other) for other in chosen):
            chosen.append(tree)
    return chosen


def _alike(tree: Tree, other: Tree) -> bool:
    if not np.array_equal(tree.nodes["feature"], other.nodes["feature"]):
        return False
    v, w = numbers_of(tree, everything(tree)), numbers_of(other, everything(other))
    return len(v) == len(w) and bool(np.allclose(v, w, atol=0.0))


def _effort(race: Sequence[Round], steps: int, horizon: int) -> float:
    """At which a race takes about so many steps: its cost goes with the third power."""
    laws = sum(candidates * generations * 30 * episodes for candidates, generations, episodes in race)
    return float(min(1.0, (steps / (laws * horizon)) ** (1 / 3)))


def _race(
    search: Search, lessons: Sequence[Lessons], race: Sequence[Round], leaves: int, given: Sequence[Tree]
) -> None:
    """Of laws that follow lessons, and of regulators and laws found before."""
    trees = [search.units.in_units(tree) for tree in given if tree.n_leaves <= leaves]
    tasks = [search.task(tree, 0, FINE_STEP) for tree in trees]
    rounds = search.rounds(race)
    for lesson in lessons:
        keep = max(2, rounds[0][0] // len(lessons))
        trees = fitted_partitions(search, lesson, leaves, keep, 1 / len(lessons))
        trees += distilled(search, lesson, leaves, False)
        tasks += [search.task(tree, 0, GIVEN_STEP) for tree in trees]
    for task in tasks:
        search.judge(task)  # as it is: on a plateau optimisers drift
    tasks.sort(key=lambda task: -task.mean)
    search.halving(tasks, [(len(tasks) if lessons else rounds[0][0], *rounds[0][1:]), *rounds[1:]])


def doubted(problem: Problem, model: Model, lessons: Lessons, rng: np.random.Generator, count: int) -> Array:
    """Inputs in units: some of the states with actions like these."""
    states, actions = lessons.states, lessons.actions
    chosen = rng.choice(len(states), count, replace=len(states) < count)
    low, high = problem.actions.bounds
    shaken = actions[chosen] + ACTION_NOISE * model.units.half * rng.standard_normal(actions[chosen].shape)
    return inputs_of(model.units, states[chosen], np.clip(shaken, low, high))
