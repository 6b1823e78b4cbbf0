"""Candidates of a search side by side on a card: one launch for a generation of all, and the bits of each alone.

A launch takes about as long for twenty populations as for one. All candidates draw from one stream of random numbers,
and from one row of episodes, each from where the one before it has stopped. So it is worked out first where that will
be. A candidate that ends early, which is rare, has stopped before: those behind it begin again, and what they did in
vain is not counted.
"""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_MINED, LAWS_SEARCHED
from spaql.laws.card_trials import Asked, CardTrials
from spaql.laws.optimisers import ARS, CMA
from spaql.laws.trials import Spent, seeds_of
from spaql.laws.vector import Free, population, with_numbers
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.laws.search import Search

MIN_SPREAD = 1e-3  # of a population, at which an optimiser ends
MINING_GENERATIONS = 15  # after which others are looked for
HARD_STARTS = 16  # that are kept, of twice as many episodes as are ranked
HARD_WEIGHT = 0.3  # in the value of a candidate


@dataclass
class Task:
    tree: Tree  # under optimisation
    free: Free
    optimiser: CMA | ARS
    mean: float = -np.inf

    @property
    def best(self) -> Tree:
        return with_numbers(self.tree, self.free, self.optimiser.mean)


class Course(NamedTuple):
    """What is done with every candidate."""

    generations: int
    episodes: int
    mined: bool  # whether hard starts are looked for

    def mines(self, generation: int) -> bool:
        return self.mined and generation % MINING_GENERATIONS == 0


def worth(returns: Array, hard: Array | None) -> Array:
    """Of (trees, episodes) returns; `hard`: those of hard starts."""
    values: Array = returns.mean(axis=1)
    return values if hard is None else (1 - HARD_WEIGHT) * values + HARD_WEIGHT * hard.mean(axis=1)


@dataclass
class Turn:
    """A candidate, and where its random numbers and episodes stand."""

    task: Task
    before: CMA | ARS  # its optimiser as it was
    clock: int
    hard: Array | None
    steps: int = 0
    ended: bool = False


def side_by_side(search: "Search", trials: CardTrials, tasks: list[Task], course: Course) -> Iterator[Task]:
    """The candidates, each after its generations."""
    while len(tasks) > 1 and _affords(search, trials, tasks, course):
        turns = begun = _begun(search, tasks, course)
        for generation in range(course.generations):
            for turn in turns:
                turn.ended = turn.ended or turn.task.optimiser.spread < MIN_SPREAD
            turns = turns[: 1 + next((k for k, turn in enumerate(turns) if turn.ended), len(turns))]
            live = [turn for turn in turns if not turn.ended]
            if trials.stopped():
                raise Spent
            if live:
                _generation(search, trials, live, course, generation)
        last = turns[-1]
        search.rng.bit_generator.state, search.clock = last.task.optimiser.rng.bit_generator.state, last.clock
        search.hard = None
        for turn in begun[len(turns) :]:
            turn.task.optimiser = turn.before
        for turn in turns:
            turn.task.optimiser.rng = search.rng
            trials.count(turn.steps)
        tasks = tasks[len(turns) :]
        yield from (turn.task for turn in turns)
    for task in tasks:
        search.advance(task, *course)
        yield task


def _affords(search: "Search", trials: CardTrials, tasks: list[Task], course: Course) -> bool:
    """Whether the budget can end with none of them; else each must be judged before the next one begins."""
    if trials.left is None:
        return True
    looks = math.ceil(course.generations / MINING_GENERATIONS) * search.mined
    each = course.episodes + search.count(HARD_STARTS, 2)
    episodes = sum(course.generations * task.optimiser.population * each + looks for task in tasks)
    episodes += len(tasks) * len(search.choice)
    return trials.left >= episodes * trials.problem.horizon + trials.reserve


def _begun(search: "Search", tasks: list[Task], course: Course) -> list[Turn]:
    """Every candidate with a generator of its own, which stands where it would stand in its turn."""
    turns, clock, drawing = list[Turn](), search.clock, copy.deepcopy(search.rng)
    looks = sum(course.mines(generation) for generation in range(course.generations))
    for task in tasks:
        before = task.optimiser
        task.optimiser, ahead = copy.copy(before), copy.copy(before)
        task.optimiser.rng, ahead.rng = copy.deepcopy(drawing), drawing
        turns.append(Turn(task, before, clock, None if turns else search.hard))
        for _ in range(course.generations):
            ahead.ask()
        clock += course.generations * course.episodes + looks * search.mined
    return turns


def _generation(search: "Search", trials: CardTrials, live: list[Turn], course: Course, generation: int) -> None:
    """What `Search.advance` does, of all of them."""

    def run(turns: list[Turn], forests: list[Tree], counts: list[int], seeds: list[Array]) -> list[Array]:
        asked = [Asked(*each) for each in zip(map(search.units.physical, forests), counts, seeds, strict=True)]
        came = trials.side_by_side(asked)
        for turn, (_, steps) in zip(turns, came, strict=True):
            turn.steps += steps
        return [returns for returns, _ in came]

    def next_seeds(turn: Turn, purpose: int, count: int) -> Array:
        turn.clock += count
        return seeds_of(search.seed, purpose, turn.clock - count, count)

    if course.mines(generation):
        seeds = [next_seeds(turn, LAWS_MINED, search.mined) for turn in live]
        returns = run(live, [turn.task.best for turn in live], [1] * len(live), seeds)
        for turn, own, came in zip(live, seeds, returns, strict=True):
            turn.hard = search.hard_of(own, came[0])
    vectors = [turn.task.optimiser.ask() for turn in live]
    forests = [population(turn.task.tree, turn.task.free, x) for turn, x in zip(live, vectors, strict=True)]
    counts = [len(x) for x in vectors]
    usual = run(live, forests, counts, [next_seeds(turn, LAWS_SEARCHED, course.episodes) for turn in live])
    hard = [k for k, turn in enumerate(live) if turn.hard is not None]
    starts = [turn.hard for turn in live if turn.hard is not None]
    failing = run([live[k] for k in hard], [forests[k] for k in hard], [counts[k] for k in hard], starts)
    by_hard = dict(zip(hard, failing, strict=True))
    for k, turn in enumerate(live):
        turn.task.optimiser.tell(worth(usual[k], by_hard.get(k)))
