"""A few affine laws from a learned model, judged in functions that are drawn from its posterior.

    lessons    look-ahead in the mean function, and a table if there is one                       planner.py
    doubt      functions drawn where the teachers, and laws found before, go                      gp/model.py
    search     laws fitted to the lessons in random partitions, regulators of the local linear
               model, laws found before; a race among them in all functions                       search.py
    tidying    as on a plant                                                                      tidy.py

The budget is in kernels (one per inducing point and step), so that the time does not depend on the size of the model.
It grows with the samples, as the time does in which they were taken.
"""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.gp.learned_problem import highest_reward, imagined, starts_of, step_cost
from spaql.gp.model import Model
from spaql.gp.transitions import Data, inputs_of, stretch_of
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
# what a search may cost, in kernels
SEARCH_KERNELS = 5e9  # of the last search, after few samples
LOOK_AHEAD_KERNELS = 2e9  # of its look-ahead, which is faster: it has one function only
TRIAL_EFFORT = 0.5  # the same for laws that are tried on the plant, and found again later
DOUBLING_SAMPLES = 2500  # after so many a search may take twice as long
MAX_EFFORT = 4.0
ONE_LAW_SHARE = 0.1  # of these kernels, for the race of single laws
RACE_SHARE = 0.5  # for each race of trees of laws
AGAIN_SHARE = 0.2  # for a race of what was found, in functions that differ where these laws go
TIDY_SHARE = 0.2
# a race
ROUNDS: tuple[Round, ...] = ((6, 24, 12), (2, 50, 20), (1, 60, 40))  # candidates, generations, episodes
MAX_RACES = 3  # of trees, as long as laws are far from what look-ahead earns
ENOUGH_GAP = 0.05  # of the scale: what laws may lack of look-ahead in the mean function
RANKING_SHARE = 0.02  # of a race, for ranking one candidate
MIN_RANKING_EPISODES = 32
EARLIER_STEP = 0.3  # first steps of laws that were found before or computed, as a part of the usual ones
FITTED_STEP = 0.5  # the same of laws fitted to lessons
MAX_EARLIER = 4  # laws found before that are tried again
TIDY_EFFORT = 0.25
LASTING_HORIZONS = 3  # laws that miss nothing are tidied in episodes so many times as long
# where functions are drawn
POSTERIOR_SAMPLES = 6  # the first is the mean
DOUBTED_INPUTS = 60  # at which they are drawn
ACTION_NOISE = 0.3  # of the actions there, in halves of the range
TEACHING_EPISODES = 24  # of a tree that teaches
TAUGHT_STATES = 1000
DEAD_SPREAD = 1e-4  # of the spread in the data: no law looks at a variable that varies less where laws go
SAME_RTOL = 1e-9  # by which two laws may differ that are the same in other units


def search_cost(n: int) -> float:
    """How long a search in a model of so many samples takes, relative to one after few."""
    return min(1.0 + n / DOUBLING_SAMPLES, MAX_EFFORT)


class Found(NamedTuple):
    """A controller, and what the model says about it."""

    tree: Tree
    returns: Array  # in episodes that had no part in the search


def laws_in(
    problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree] = (), table: Tree | None = None,
    teacher: Tree | None = None, last: bool = True, stop: threading.Event | None = None,
) -> Found:  # fmt: skip
    """The best laws in the model of the data; `earlier`: trees that may be better still; `table`: perhaps better.

    `last`: they are the controller, and are tidied; else laws for a trial on the plant, with less effort.

    A table teaches, too; a `teacher` only teaches. `stop`: once set, the best so far is returned soon.
    """
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        effort = (1.0 if last else TRIAL_EFFORT) * search_cost(len(data.states))
        search = _LawSearch(problem, model, data, seed, earlier, table, stop or threading.Event(), effort)
        return search.run(last, [tree for tree in (table, teacher) if tree is not None])


class _LawSearch:
    """One search for laws."""

    def __init__(
        self, problem: Problem, model: Model, data: Data, seed: int, earlier: Sequence[Tree], table: Tree | None,
        stop: threading.Event, effort: float,
    ) -> None:  # fmt: skip
        self.stopped, self.effort = stop.is_set, effort
        at_work(SEARCHING, 0.0, 1.0)
        self.rng = np.random.default_rng([seed, len(data.states)])
        self.starts, stretch = starts_of(problem, data, self.rng), stretch_of(problem.horizon, data)
        self.stretches = problem.horizon / stretch  # of an episode whose reference jumps: laws are judged in one
        self.problem = problem = replace(problem, horizon=stretch)
        self.model, self.data, self.seed, self.table = model, data, seed, table
        self.earlier = different([tree for tree in earlier if tree.laws is not None])[:MAX_EARLIER]
        self.mean = imagined(problem, model, data, self.starts, self.rng)
        self.plan = planned(self.mean, seed, int(min(effort, 1.0) * LOOK_AHEAD_KERNELS / step_cost(self.mean)))
        self.highest = float(data.rewards.max())
        if model.reward_model is not None and model.reward_model.higher > 0.0 and len(self.plan.states):
            self.highest = max(self.highest, highest_reward(self.mean, self.plan.states, self.plan.actions))

    def run(self, tidy: bool, teachers: Sequence[Tree]) -> Found:
        lessons = [Lessons(self.plan.states, self.plan.actions)] if len(self.plan.states) else []
        lessons += [self.taught(tree) for tree in [*self.earlier[:1], *teachers]]
        if not lessons:
            lessons = [Lessons(self.data.states, self.data.actions)]
        judge, trials, steps = self.doubtful(lessons, self.earlier)
        least = DEAD_SPREAD * self.model.units.scale
        units = measured_units(judge.problem, np.concatenate([one.states for one in lessons]), least)
        found, choice = [*self.earlier], not self.problem.actions.single
        for number, leaves in enumerate([1, *[LAWS] * MAX_RACES] if choice else []):
            if judge.mean >= (self.perfect if number <= 1 else self.enough(judge.floor)):
                break
            share = ONE_LAW_SHARE if leaves == 1 else RACE_SHARE
            search = self.search(trials, units, number, ROUNDS, int(share * steps))
            self.show(trials, 0.1 + 0.2 * number, 0.2)
            with contextlib.suppress(Spent):
                given = local_laws(Trials(self.mean), self.seed, search.rng, least) if leaves == 1 else []
                _race(search, lessons, ROUNDS, leaves, [*found[:MAX_EARLIER], *given])
            if search.best is not None:
                found.insert(0, units.physical(search.best.tree))
                judge.offer(found[0])
        if not found or self.stopped():
            return Found(judge.best, self.stretches * judge.returns)
        # functions that differ where the laws go, not only where their teachers went
        found = different(sorted(found, key=lambda tree: -float(judge.returns_of(tree).mean())))[:MAX_EARLIER]
        judge, trials, steps = self.doubtful([self.taught(tree) for tree in found], found)
        if judge.mean < self.perfect:
            search = self.search(trials, units, MAX_RACES + 1, ROUNDS[1:], int(AGAIN_SHARE * steps))
            self.show(trials, 0.9, 0.05)
            with contextlib.suppress(Spent):
                _race(search, [], ROUNDS[1:], LAWS, found)
            if search.best is not None:
                judge.offer(units.physical(search.best.tree))
        if self.stopped():
            return Found(judge.best, self.stretches * judge.returns)
        if tidy and judge.best.laws is not None:
            # what would fall soon after the end is not good enough
            strict, trials = self.longer(judge) if judge.mean >= self.perfect else (judge, trials)
            trials.left = int(TIDY_SHARE * steps)
            self.show(trials, 0.95, 0.05)
            made, _ = Tidying(trials, judge.best, WORTH * strict.scale, self.seed, 0, TIDY_EFFORT, units).run()
            strict.offer(made, 2 * WORTH)
            judge.best, judge.returns = strict.best, judge.returns_of(strict.best)
        if self.table is not None:
            judge.offer_table(self.table)
            if judge.scale == 0.0:  # a model that sees no way to earn anything cannot judge
                return Found(self.table, self.stretches * judge.returns_of(self.table))
        return Found(judge.best, self.stretches * judge.returns)

    def taught(self, tree: Tree) -> Lessons:
        """What a tree does in the mean function."""
        seeds = seeds_of(self.seed, LAWS_SEARCHED, 2**41, TEACHING_EPISODES)
        states = Trials(self.mean).watched(tree, seeds, TAUGHT_STATES)[1]
        return Lessons(states, decide(tree, states))

    def doubtful(self, lessons: Sequence[Lessons], trees: Sequence[Tree]) -> tuple["Judge", Trials, int]:
        """Functions that differ where lessons are; a judge in them, trials, and the steps of the whole budget."""
        count = DOUBTED_INPUTS // len(lessons)
        at = np.concatenate([doubted(self.problem, self.model, one, self.rng, count) for one in lessons])
        drawn = imagined(self.problem, self.model, self.data, self.starts, self.rng, POSTERIOR_SAMPLES, at)
        judge = Judge(drawn, self.seed, len(self.data.states), self.most)
        for action in constant_actions(self.problem):
            judge.offer(constant(len(self.problem.state), action))
        judge.floor = judge.mean
        for tree in trees:
            judge.offer(tree)
        return judge, Trials(drawn, stopped=self.stopped), int(self.effort * SEARCH_KERNELS / step_cost(drawn))

    def longer(self, judge: "Judge") -> tuple["Judge", Trials]:
        """A judge of episodes that go on, and trials of them."""
        lasting = replace(judge.problem, horizon=LASTING_HORIZONS * self.problem.horizon)
        other = Judge(lasting, self.seed, len(self.data.states), LASTING_HORIZONS * self.most)
        other.best, other.returns, other.floor = judge.best, other.returns_of(judge.best), judge.floor
        return other, Trials(lasting, stopped=self.stopped)

    def show(self, trials: Trials, begin: float, part: float) -> None:
        """Steps from here on are this part of the whole search, which begins there."""
        first, left = trials.samples, max(trials.left or 0, 1)
        trials.tell = lambda samples: at_work(SEARCHING, begin + part * min(1.0, (samples - first) / left), 1.0)

    def search(self, trials: Trials, units: Units, number: int, race: Sequence[Round], steps: int) -> Search:
        # candidates are ranked in episodes whose steps come from the same budget
        episodes = max(RANKING_SHARE * steps / self.problem.horizon, MIN_RANKING_EPISODES)
        trials.left, trials.effort = steps, min(1.0, episodes / CHOICE)
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
        return min(self.perfect, planned - ENOUGH_GAP * scale_of(planned, floor, self.most))


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
    return len(v) == len(w) and bool(np.allclose(v, w, rtol=SAME_RTOL, atol=0.0))


def _effort(race: Sequence[Round], steps: int, horizon: int) -> float:
    """At which a race takes about so many steps: its cost goes with the third power."""
    wanted = sum(candidates * generations * episodes for candidates, generations, episodes in race) * 30 * horizon
    return float(min(1.0, (steps / wanted) ** (1 / 3)))


def _race(
    search: Search, lessons: Sequence[Lessons], race: Sequence[Round], leaves: int, found: Sequence[Tree]
) -> None:
    """Of laws that follow lessons, regulators, and laws found before."""
    given = [tree for tree in found if tree.n_leaves <= leaves]
    tasks = [search.task(search.units.in_units(tree), 0, EARLIER_STEP) for tree in given]
    rounds = search.rounds(race)
    for one in lessons:
        made = fitted_partitions(search, one, leaves, max(2, rounds[0][0] // len(lessons)), 1 / len(lessons))
        tasks += [search.task(tree, 0, FITTED_STEP) for tree in made + distilled(search, one, leaves, False)]
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
