"""The stages of a search for laws, and their order. Each depends on the seed, its number and what was found before."""

import contextlib

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_CHOSEN, LAWS_CONFIRMED
from spaql.laws.blocks import refine
from spaql.laws.lessons import distilled, fitted_partitions, own_lessons
from spaql.laws.local import local_laws
from spaql.laws.pi_laws import pi_laws
from spaql.laws.planner import BUDGET, planned
from spaql.laws.search import CHOICE, Search
from spaql.laws.teacher import Lessons, lessons_of
from spaql.laws.tidy import Tidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import Units, declared_units, measured_units, without_dust
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import Laws
from spaql.plants.problem import constant_actions
from spaql.trees.edits import constant
from spaql.trees.tree import Tree

CONFIRMATION = 1000  # episodes
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # sizes of trees
REGROWTHS = 2  # after each fresh search of a size
SMALL = 4  # leaves of trees that random beginnings reach; larger ones are distilled
DISTILLED = 2  # times in a row, each from lessons of the one before where nobody teaches
EASY = 0.6  # of the effort, where fewer leaves than wanted are searched for on the way
CAREFUL = (1.0, 0.3)  # parts of the tolerance that tidying may use
PART = 0.1  # of what a tree gains over smaller ones may be lost by tidying it
PARTITIONS = 16  # beginnings from random partitions
TAUGHT = 2**16  # added to the number of a stage, for the random numbers of what follows lessons
FOR_PLANNING = 0.1  # of the samples that are left, at most
FOR_TIDYING = 0.3  # of the samples that are left, at least
FOR_LATER = 0.7  # the same, where fewer leaves than wanted are searched for on the way
AGAIN = 1.5  # times the samples of the last tidying, at least
GAINS = (0.0, 0.3, 1.0, 3.0)  # of the random laws that measure the units
PER_GAIN = 4
EPISODES = 16
KEPT = 4000  # states


def plan_of(stage: int, max_leaves: int) -> tuple[str, int]:
    """What a stage does, and for how many leaves."""
    first, cycle = cycle_of(max_leaves)
    return first[stage] if stage < len(first) else cycle[(stage - len(first)) % len(cycle)]


def cycle_of(max_leaves: int) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """The first stages, and those that follow again and again: the sizes in turn, each fresh and then regrown.

    Large trees are distilled from lessons instead. What is wanted comes soon, for budgets that end soon: one law, on
    which trees grow (and two laws, which give lessons), then the largest trees.
    """
    sizes = sorted({size for size in LADDER if size <= max_leaves} | {max_leaves})
    cycle = [(what, size) for size in sizes[1:] or [1] for what in _steps_for(size)]
    first = [("fresh", size) for size in ([1, 2] if max_leaves > SMALL else [1]) if size < max_leaves]
    return first + [(what, max_leaves) for what in _steps_for(max_leaves)] * (1 if max_leaves <= SMALL else 2), cycle


def _steps_for(size: int) -> list[str]:
    return ["fresh", *["regrow"] * REGROWTHS] if size <= SMALL else ["distil"] * DISTILLED


def run_stage(agent: Laws, trials: Trials, stage: int) -> None:
    """One stage: search, tidy, confirm; cut short where the budget ends."""
    state = agent.state
    if len(state.middle) == 0:
        try:
            _begin(agent, trials)
        except Spent:
            return
    trials.reserve = 0
    what, leaves = plan_of(stage, agent.max_leaves)
    on_the_way = leaves < agent.max_leaves and stage < len(cycle_of(agent.max_leaves)[0])
    if trials.left is not None:  # so that what is found can be made readable and confirmed
        later = FOR_LATER if on_the_way else FOR_TIDYING
        trials.reserve = int(max(later * trials.left, AGAIN * state.tidying))
    effort = trials.effort * (EASY if on_the_way else 1.0)
    held = state.frontier.raw.get(leaves)
    found = _regrown(agent, trials, stage, held.tree) if what == "regrow" and held is not None else None
    if found is None:
        found = max(_searched(agent, trials, stage, what, leaves, effort), key=lambda one: one.mean)
    held = state.frontier.raw.get(leaves)  # in the same units as what was found
    if found.best is None or (held is not None and found.mean <= held.mean):
        return
    if not (np.array_equal(found.units.middle, state.middle) and np.array_equal(found.units.inverse, state.inverse)):
        _take_units(agent, found.units)
    state.frontier.raw[leaves] = found.best
    _adopt(agent, trials, without_dust(found.units.physical(found.best.tree), found.units), stage)


def state_units(agent: Laws) -> Units:
    return Units(agent.state.middle, agent.state.inverse, agent.searched)


def _regrown(agent: Laws, trials: Trials, stage: int, tree: Tree) -> Search:
    search = Search(trials, state_units(agent), agent.seed, stage, trials.effort)
    with contextlib.suppress(Spent):
        search.regrow(tree)
    return search


def _searched(agent: Laws, trials: Trials, stage: int, what: str, leaves: int, effort: float) -> list[Search]:
    """Trees that follow lessons, in the units of the lessons; regulators, random and grown trees, if few leaves do.

    Who teaches moves within a part of what random laws come to: in units of its own, laws are found that are lost in
    wider ones.
    """
    state, before = agent.state, trials.samples
    searches: list[Search] = []
    one_action = agent.searched.actions.single  # nothing can be taught
    with contextlib.suppress(Spent):
        if len(state.taught) and not one_action:
            d = len(agent.searched.state)
            lessons = Lessons(state.taught[:, :d], state.taught[:, d:])
            units = measured_units(agent.searched, lessons.states)
            search = Search(trials, units, agent.seed, stage + TAUGHT, effort)
            searches.append(search)
            made = fitted_partitions(search, lessons, leaves, search.count(PARTITIONS, 1))
            made += distilled(search, lessons, leaves, False)
            _raced(agent, search, made, what, leaves)
    search = Search(trials, state_units(agent), agent.seed, stage, effort)
    searches.append(search)
    with contextlib.suppress(Spent):
        if what == "distil" and not state.taught.size and not one_action:
            best = max(state.frontier.raw.values(), key=lambda entry: entry.mean, default=None)
            own = None if best is None else own_lessons(search, search.units.physical(best.tree), stage, leaves)
            if own is not None:
                made = distilled(search, own, leaves, False) + distilled(search, own, leaves, True)
                _raced(agent, search, made, what, leaves)
        if leaves == 1 and not one_action:
            first = local_laws(trials, agent.seed, search.rng) + pi_laws(trials, agent.searched, agent.seed)
            search.race([search.units.in_units(law) for law in first])
        found = max(one.mean for one in searches) > -np.inf
        short = trials.left is not None and trials.left - trials.reserve < trials.samples - before
        if not found or not (short or what == "distil"):  # what is left is better spent on tidying
            search.fresh(leaves, state.frontier.parent(leaves), state.states)
    return searches


def _raced(agent: Laws, search: Search, made: list[Tree], what: str, leaves: int) -> None:
    """Beginnings among themselves; of large trees the best one goes on."""
    if what != "distil":
        smaller = [entry.mean for size, entry in agent.state.frontier.raw.items() if size < leaves]
        search.race(made, agent.state.floor, max(smaller, default=-np.inf))
        return
    search.polish(made)
    if search.best is not None:
        refine(search, search.best.tree)


def _take_units(agent: Laws, units: Units) -> None:
    """Go on in other units: those in which the best tree was found."""
    state, old = agent.state, state_units(agent)
    deviation = np.divide(1.0, old.inverse, out=np.zeros_like(old.inverse), where=old.live)
    state.states = units.of(state.states * deviation + old.middle)
    for leaves, entry in state.frontier.raw.items():
        state.frontier.raw[leaves] = ScoredTree(units.in_units(old.physical(entry.tree)), entry.mean)
    state.middle, state.inverse = units.middle, units.inverse


def _adopt(agent: Laws, trials: Trials, found: Tree, stage: int) -> None:
    """Make a tree readable and compare it with the one of its size, on episodes that neither search nor tidying saw.

    A tidy tree that is worse there than what it was made from has been tidied too much: once more, more carefully, and
    then as it was found.
    """
    state, used = agent.state, trials.samples
    tolerance, known = state.tolerance, any(entry.tree.laws is not None for entry in state.frontier.tidy.values())
    trials.reserve = 0
    before = _confirmed(agent, trials, found)
    smaller = [entry.mean for leaves, entry in state.frontier.tidy.items() if leaves < found.n_leaves]
    if before is not None and smaller and before > max(smaller):  # else tidying eats what a larger tree gains
        tolerance = min(tolerance, PART * (before - max(smaller)))
    for allowed in CAREFUL:
        # what is tidy must still be compared, with the tree it was made from and with a teacher
        trials.reserve = agent.searched.horizon * (_confirmations(trials) + len(state.exams))
        tidying = Tidying(trials, found, allowed * tolerance, agent.seed, stage, trials.effort, state_units(agent))
        tidy, complete = tidying.run()
        trials.reserve = 0
        after = _confirmed(agent, trials, tidy)
        if after is None or before is None or after >= before - 2 * tolerance:
            break
    else:
        tidy, after = found, before
    if complete:
        state.tidying = float(trials.samples - used)
    held = state.frontier.tidy.get(tidy.n_leaves)
    if after is None or (known and held is not None and not complete):
        if known:
            return  # half tidied or hardly compared, it is no match for what is there
        tidy, after = found, agent.state.frontier.raw[found.n_leaves].mean
        held = state.frontier.tidy.get(tidy.n_leaves)
    if held is None or after > held.mean:
        state.frontier.tidy[tidy.n_leaves] = ScoredTree(tidy, after)
        if len(state.exams):
            state.own = state.own[:0]  # those of another tree say nothing
            with contextlib.suppress(Spent):
                state.own = trials.returns(agent.tree, seeds_of(agent.seed, LAWS_CONFIRMED, 0, len(state.exams)))


def _begin(agent: Laws, trials: Trials) -> None:
    """Units, visited states, and the best constant action: the smallest tree of all."""
    search = Search(trials, declared_units(agent.searched), agent.seed, 2**20, trials.effort)
    seen = []
    for gain in GAINS:
        for _ in range(PER_GAIN):
            law = search.units.physical(search.proposals.leaf(gain))
            seen.append(trials.watched(law, search.episodes(search.count(EPISODES, 1)), KEPT // PER_GAIN)[1])
    state = agent.state
    if agent.teacher is not None and len(state.taught) == 0:
        lessons, state.exams = lessons_of(trials, agent.teacher, agent.seed)
        state.taught = np.concatenate([lessons.states, lessons.actions], axis=1)
        seen.append(lessons.states)
    if agent.teacher is None and len(state.taught) == 0:
        state.taught = _planned(agent, trials)
    states = np.concatenate(seen)
    units = measured_units(agent.searched, states)
    seeds = seeds_of(agent.seed, LAWS_CHOSEN, 0, search.count(CHOICE, 4))
    trees = [constant(len(agent.searched.state), action) for action in constant_actions(agent.searched)]
    means = [float(trials.returns(tree, seeds).mean()) for tree in trees]
    best = int(np.argmax(means))
    few = states[np.sort(search.rng.permutation(len(states))[:KEPT])]
    state.middle, state.inverse, state.states = units.middle, units.inverse, units.of(few)
    state.floor = means[best]
    state.frontier.tidy[1] = ScoredTree(trees[best], means[best])


def _planned(agent: Laws, trials: Trials) -> Array:
    """Lessons of sampled look-ahead, where nobody else teaches; none where no plant can go on from any state."""
    if trials.twin is None:
        return np.zeros((0, 0))
    room = trials.effort * (BUDGET if trials.left is None else min(BUDGET, FOR_PLANNING * trials.left))
    lessons = planned(trials.twin, agent.seed, int(room))
    trials.count(lessons.steps)
    both = np.concatenate([lessons.states, lessons.actions], axis=1)
    return both if len(both) else np.zeros((0, 0))


def _confirmed(agent: Laws, trials: Trials, tree: Tree) -> float | None:
    """The mean return on the episodes of the confirmation; None if the samples do not allow them."""
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 0, _confirmations(trials))
    try:
        return float(trials.returns(tree, seeds).mean())
    except Spent:
        return None


def _confirmations(trials: Trials) -> int:
    """Episodes of the confirmation."""
    return max(2, round(CONFIRMATION * trials.effort))
