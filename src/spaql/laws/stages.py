"""The stages of a search for laws, their order, and how their samples are divided.

Each depends on the seed, its number and what was found before.
"""

import contextlib
import math

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import FIRST_STAGE, LAWS_CHOSEN, LAWS_CONFIRMED, LESSON_STAGE
from spaql.laws.blocks import refine
from spaql.laws.classical import local_laws, pi_grid
from spaql.laws.judge import best_constant
from spaql.laws.lessons import Lessons, distilled, fitted_partitions, own_lessons
from spaql.laws.planner import BUDGET, planned
from spaql.laws.proposals import GAIN_SIZES
from spaql.laws.race import CONFIRMED_EPISODES, adopt
from spaql.laws.search import CHOICE, FRESH, POPULATION_FACTOR, RANDOM_TREES, SCREENING_EPISODES, STATES, Search
from spaql.laws.teacher import LESSONS_SHARE, lessons_of
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import Units, declared_units, measured_units, without_dust
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import Laws
from spaql.trees.tree import Tree

# -- the samples of a stage --------------------------------------------------------------------------------------------

SEARCH_SHARE, TIDY_SHARE, CONFIRM_SHARE = 0.7, 0.1, 0.2  # of a stage
RACE_SHARE = 0.12  # of a stage in a slow simulator: the part of the confirmation that chooses the best of all laws
STAGE_SHARE = 0.3  # of the samples that are left, for a stage that is not the last one wanted


class Budget:
    """The samples of one stage. What a part does not use, the next ones have."""

    def __init__(self, trials: Trials, samples: float) -> None:
        self.trials, self.samples, self.begun = trials, samples, trials.samples

    @property
    def left(self) -> float:
        return self.samples - (self.trials.samples - self.begun)

    @property
    def to_search(self) -> float:
        """Without what tidying and confirmation need."""
        return self.left - (1.0 - SEARCH_SHARE) * self.samples

    @property
    def to_tidy(self) -> float:
        """Of what search and race have left."""
        return self.left * TIDY_SHARE / (TIDY_SHARE + CONFIRM_SHARE - RACE_SHARE)


def affordable_effort(samples: float, steps: float) -> float | None:
    """The effort of a fresh search with so many samples, episodes having so many steps; None: too few for any."""

    def episodes(effort: float) -> float:
        def count(number: float, least: int) -> int:
            return max(least, round(number * effort))

        few, population = count(SCREENING_EPISODES, 1), count(POPULATION_FACTOR * 4 * math.e, 4)
        rounds = sum(count(a, 2) * (count(b, 1) * count(c, 2) * population + count(CHOICE, 4)) for a, b, c in FRESH)
        return rounds + 2 * count(RANDOM_TREES, 4) * few

    return next((effort for effort in (0.8**i for i in range(16)) if episodes(effort) * steps <= samples), None)


# -- their order -------------------------------------------------------------------------------------------------------

REPEATS = 2  # regrowths after each fresh search of a size; or distillations, each from lessons of the one before
MAX_RANDOM_LEAVES = 4  # of trees that random beginnings reach; larger ones are distilled from lessons


def plan_of(stage: int, max_leaves: int) -> tuple[str, int]:
    """What a stage does, and for how many leaves."""
    first, cycle = cycle_of(max_leaves)
    return first[stage] if stage < len(first) else cycle[(stage - len(first)) % len(cycle)]


def cycle_of(max_leaves: int) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """The first stages, and those that follow again and again: the sizes in turn, each fresh and then regrown.

    What is wanted comes soon, for budgets that end soon: one law, on which trees grow (and two laws, which give
    lessons), then the largest trees.
    """
    ladder, small = {factor << power for factor in (2, 3) for power in range(6)}, max_leaves <= MAX_RANDOM_LEAVES
    sizes = sorted({1, max_leaves} | {size for size in ladder if size < max_leaves})
    cycle = [(what, size) for size in sizes[1:] or [1] for what in _steps_for(size)]
    first = [("fresh", size) for size in ([1] if small else [1, 2]) if size < max_leaves]
    return first + [(what, max_leaves) for what in _steps_for(max_leaves)] * (1 if small else 2), cycle


def _steps_for(size: int) -> list[str]:
    return ["fresh", *["regrow"] * REPEATS] if size <= MAX_RANDOM_LEAVES else ["distil"] * REPEATS


# -- one stage: search, tidy, confirm; cut short where the budget ends -------------------------------------------------

EASY_EFFORT = 0.6  # where fewer leaves than wanted are searched for on the way
EASIER_EFFORT = 0.3  # the same where features are more to choose from
UNIT_LAWS = 4  # random ones of each size of gains, which measure the units


def run_stage(agent: Laws, trials: Trials, stage: int) -> None:
    state = agent.state
    trials.reserve = 0
    if len(state.middle) == 0:
        try:
            _begin(agent, trials)
        except Spent:
            return
    what, leaves = plan_of(stage, agent.max_leaves)
    on_the_way = leaves < agent.max_leaves and stage < len(cycle_of(agent.max_leaves)[0])
    easy = EASY_EFFORT if agent.searched.features is None else EASIER_EFFORT
    effort = trials.effort * (easy if on_the_way else 1.0)
    raw = state.frontier.raw
    if trials.left is not None:
        share = STAGE_SHARE if on_the_way else SEARCH_SHARE
        needed = state.tidying
        if leaves not in raw and needed >= trials.left:
            needed = 0.0  # the first law of a size may be untidy: else nothing could be searched for any more
        trials.reserve = int(max((1.0 - share) * trials.left, needed))
    if what == "regrow" and leaves in raw:
        search = Search(trials, state_units(agent), agent.seed, stage, trials.effort)
        with contextlib.suppress(Spent):
            search.regrow(raw[leaves].tree)
    else:
        search = max(_searched(agent, trials, stage, what, leaves, effort), key=lambda search: search.mean)
    if search.best is None or (leaves in raw and search.mean <= raw[leaves].mean):
        return
    units = search.units
    if not (np.array_equal(units.middle, state.middle) and np.array_equal(units.inverse, state.inverse)):
        _take_units(agent, units)
    raw[leaves] = search.best
    _adopt(agent, trials, without_dust(units.physical(search.best.tree), units), stage)


def state_units(agent: Laws) -> Units:
    return Units(agent.state.middle, agent.state.inverse, agent.searched)


def _searched(agent: Laws, trials: Trials, stage: int, what: str, leaves: int, effort: float) -> list[Search]:
    """Trees that follow lessons, in the units of the lessons; regulators, random and grown trees, if few leaves do.

    Who teaches moves within a part of what random laws come to: in units of its own, laws are found that are lost in
    wider ones.
    """
    state, before, searches = agent.state, trials.samples, list[Search]()
    choice = not agent.searched.actions.single  # else nothing can be taught
    with contextlib.suppress(Spent):
        if len(state.taught) and choice:
            d = len(agent.searched.state)
            lessons = Lessons(state.taught[:, :d], state.taught[:, d:])
            units = measured_units(agent.searched, lessons.states)
            search = Search(trials, units, agent.seed, stage + LESSON_STAGE, effort)
            searches.append(search)
            trees = fitted_partitions(search, lessons, leaves, min(FRESH[0][0], search.count(FRESH[0][0], 1)))
            _raced(agent, search, trees + distilled(search, lessons, leaves), what, leaves)
    search = Search(trials, state_units(agent), agent.seed, stage, effort)
    searches.append(search)
    with contextlib.suppress(Spent):
        if what == "distil" and choice and (effort > 1.0 or not state.taught.size):
            known = [(other.units, other.best) for other in searches if other.best is not None]
            known += [(search.units, entry) for entry in state.frontier.raw.values()]
            units, best = max(known, key=lambda pair: pair[1].mean, default=(search.units, None))
            own = None if best is None else own_lessons(search, units.physical(best.tree), leaves)
            if own is not None:
                both = [False, True] * search.tried(1, 1)
                trees = [tree for weighted in both for tree in distilled(search, own, leaves, weighted)]
                _raced(agent, search, trees, what, leaves)
        if leaves == 1 and choice:
            grid = [(search.units.in_units(law), 0) for law in pi_grid(agent.searched)]
            best_laws = [law for law, _ in search.screened(grid, 3, SCREENING_EPISODES)]
            local = [search.units.in_units(law) for law in local_laws(trials, agent.seed, search.rng)]
            search.race(local + best_laws)
        nothing = max(search.mean for search in searches) == -np.inf
        short = trials.left is not None and trials.left - trials.reserve < trials.samples - before
        if nothing or not (short or what == "distil"):  # what is left is better spent on tidying
            search.fresh(leaves, state.frontier.parent(leaves), state.states)
    return searches


def _raced(agent: Laws, search: Search, trees: list[Tree], what: str, leaves: int) -> None:
    """Beginnings among themselves; of large trees the best one goes on."""
    if what != "distil":
        smaller = [entry.mean for size, entry in agent.state.frontier.raw.items() if size < leaves]
        search.race(trees, agent.state.floor, max(smaller, default=-np.inf))
        return
    search.polish(trees)
    if search.best is not None:
        refine(search, search.best.tree)


def _take_units(agent: Laws, units: Units) -> None:
    """Go on in other units: those in which the best tree was found."""
    state, old = agent.state, state_units(agent)
    state.states = units.of(state.states * old.deviation + old.middle)
    for leaves, entry in state.frontier.raw.items():
        state.frontier.raw[leaves] = ScoredTree(units.in_units(old.physical(entry.tree)), entry.mean)
    state.middle, state.inverse = units.middle, units.inverse


def _adopt(agent: Laws, trials: Trials, tree: Tree, stage: int) -> None:
    """Tidied and confirmed, on the same episodes in all stages. Half tidied, it is no match for one of its size."""
    state, used, tidy = agent.state, trials.samples, agent.state.frontier.tidy
    known = any(entry.tree.laws is not None for entry in tidy.values())
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 0, max(2, round(CONFIRMED_EPISODES * trials.effort)))

    def tidied(tolerance: float) -> Tree:
        trials.on_card = on_card
        trials.reserve = agent.searched.horizon * len(seeds)
        form, complete = Tidying(trials, tree, tolerance, agent.seed, stage, trials.effort, state_units(agent)).run()
        trials.reserve, trials.on_card = 0, False
        if complete:
            state.tidying = float(trials.samples - used)
        elif known and form.n_leaves in tidy:
            raise Spent
        return form

    trials.reserve = 0
    on_card, trials.on_card = trials.on_card, False  # what is reported does not depend on the device
    try:
        adopt(agent, trials, tree, seeds, tidied, 0.0)
    except Spent:
        mean, held = state.frontier.raw[tree.n_leaves].mean, tidy.get(tree.n_leaves)
        if not known and (held is None or mean > held.mean):
            tidy[tree.n_leaves] = ScoredTree(tree, mean)
    finally:
        trials.on_card = on_card


def _begin(agent: Laws, trials: Trials) -> None:
    """Units, visited states, and the best constant action: the smallest tree of all."""
    search = Search(trials, declared_units(agent.searched), agent.seed, FIRST_STAGE, trials.effort)
    state, seen = agent.state, []
    for gain in (0.0, *GAIN_SIZES):
        for _ in range(UNIT_LAWS):
            law = search.units.physical(search.proposals.leaf(gain))
            seeds = search.episodes(search.count(2 * SCREENING_EPISODES, 1))
            seen.append(trials.watched(law, seeds, STATES // UNIT_LAWS)[1])
    if len(state.taught) == 0:
        if agent.teacher is None:
            state.taught = _planned(agent, trials)
        else:
            lessons, state.exams = lessons_of(trials, agent.teacher, agent.seed)
            state.taught = np.concatenate([lessons.states, lessons.actions], axis=1)
            seen.append(lessons.states)
    states = np.concatenate(seen)
    units = measured_units(agent.searched, states)
    seeds = seeds_of(agent.seed, LAWS_CHOSEN, 0, search.count(CHOICE, 4))
    best = best_constant(trials, seeds)
    few = states[np.sort(search.rng.permutation(len(states))[:STATES])]
    state.middle, state.inverse, state.states = units.middle, units.inverse, units.of(few)
    state.floor, state.frontier.tidy[1] = best.mean, best


def _planned(agent: Laws, trials: Trials) -> Array:
    """Lessons of sampled look-ahead, where nobody else teaches; none where no plant can go on from any state."""
    if trials.twin is None:
        return np.zeros((0, 0))
    room = min(1.0, trials.effort) * (BUDGET if trials.left is None else min(BUDGET, LESSONS_SHARE * trials.left))
    lessons = planned(trials.twin, agent.seed, int(room))
    trials.count(lessons.steps)
    both = np.concatenate([lessons.states, lessons.actions], axis=1)
    return both if len(both) else np.zeros((0, 0))
