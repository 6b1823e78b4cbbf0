"""Laws with which a search in a slow simulator begins: of a teacher, of a local model, and PI laws of a loop."""

import contextlib
from collections.abc import Sequence

import numpy as np

from spaql.ground.streams import LAWS_CHOSEN, LAWS_SEARCHED
from spaql.laws.adoption import TOLERANCE
from spaql.laws.environments import Job
from spaql.laws.lessons import distilled
from spaql.laws.local import COSTS, local_laws
from spaql.laws.race import Candidate, raced
from spaql.laws.search import Search
from spaql.laws.teacher import Lessons, lessons_of, rules_of
from spaql.laws.thrift import rounded_tree
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import measured_units
from spaql.learners.laws import Laws
from spaql.trees.edits import with_laws
from spaql.trees.laws import THRESHOLD
from spaql.trees.tree import Tree

TRIALS = 20  # beginnings from which a regulator is tried
TRIAL = 60  # steps of each
MARGINS = (1.0, 0.7, 1.4)  # factors of the gains of a regulator that must hold the plant too
DIGITS = (2, 3)  # that are enough for a regulator, if it holds the plant as well
LOOKS, LOOK = (16, 6), 0.4  # laws of a grid that are left after each look, and the part of the room that it takes
SHORTEST = 20  # steps of a look
KEPT = 2  # the best of a grid
GRIDDED = 2**61  # number of their first episode


def taught_laws(agent: Laws, trials: Trials, stage: int) -> tuple[Tree | None, list[Tree]]:
    """The teacher's own law, if it is one of these variables and not too large; that law, or those that fit it best.

    What it does is kept, for trees that are grown later.
    """
    state, problem, teacher = agent.state, agent.searched, agent.teacher
    if teacher is None or problem.actions.single:
        return None, []
    rules = rules_of(problem, teacher)
    trials.limit = None
    lessons, state.exams = lessons_of(trials, teacher, agent.seed)
    state.taught = np.concatenate([lessons.states, lessons.actions], axis=1)
    if rules is not None and rules.laws is not None and rules.n_leaves <= agent.max_leaves:
        return rules, [rules]
    return None, fitted_laws(agent, trials, 1, stage)


def fitted_laws(agent: Laws, trials: Trials, leaves: int, stage: int) -> list[Tree]:
    """Physical trees that do what the teacher did, one per kind of law; none without a teacher."""
    taught, d = agent.state.taught, len(agent.searched.state)
    if len(taught) == 0:
        return []
    lessons = Lessons(taught[:, :d], taught[:, d:])
    search = Search(trials, measured_units(agent.searched, lessons.states), agent.seed, stage)
    return [search.units.physical(law) for law in distilled(search, lessons, leaves, False)]


def regulator(agent: Laws, trials: Trials, rng: np.random.Generator, floor: Tree, room: float) -> Tree | None:
    """The best regulator of a local model, gentle laws first; None without one. `floor`: what does nothing much."""
    starts = max(2, min(TRIALS, int(room / (len(COSTS) * len(MARGINS) * TRIAL))))
    best: tuple[float, Tree] | None = None
    with contextlib.suppress(Spent):
        still = _held(agent, trials, floor, starts)
        for law in local_laws(trials, agent.seed, rng):
            value = _held(agent, trials, law, starts)
            if best is None or value > best[0] + TOLERANCE * abs(best[0] - still):
                best = value, law
        if best is not None:
            for simple in (rounded_tree(best[1], digits) for digits in DIGITS):
                if _held(agent, trials, simple, starts) >= best[0] - TOLERANCE * abs(best[0] - still):
                    return simple
    return None if best is None else best[1]


def _held(agent: Laws, trials: Trials, law: Tree, starts: int) -> float:
    """Returns of the beginnings of some episodes, also with smaller and larger gains: what a law can stand."""
    trial = seeds_of(agent.seed, LAWS_CHOSEN, 0, starts).tolist()
    laws = [law]  # only ratios matter in a threshold, and a constant has no gains
    if law.laws is not None and law.laws.kind != THRESHOLD:
        laws = [with_laws(law, factor * law.laws.gains, law.laws.offsets) for factor in MARGINS]
    jobs = [Job(one, seed, min(TRIAL, agent.searched.horizon)) for one in laws for seed in trial]
    return float(np.mean([one.total for one in trials.roll_out(jobs)]))


def grid_laws(agent: Laws, trials: Trials, grid: Sequence[Tree], room: float) -> list[Candidate]:
    """The best laws of a grid, the best first: all begin with a part of an episode, and the better ones go on."""
    horizon, begin, number = agent.searched.horizon, trials.samples, GRIDDED
    trials.limit, left = None, list(grid)
    for kept in LOOKS:
        rest = room - (trials.samples - begin)
        steps = max(SHORTEST, int(LOOK * rest / len(left)))
        if len(left) <= kept or len(left) * steps > rest:
            continue
        (seed,) = seeds_of(agent.seed, LAWS_SEARCHED, number, 1).tolist()
        values = [one.total for one in trials.roll_out([Job(law, seed, min(steps, horizon)) for law in left])]
        left, number = [left[i] for i in np.argsort(values)[::-1][:kept].tolist()], number + 1
    seeds = lambda at, count: seeds_of(agent.seed, LAWS_SEARCHED, GRIDDED + len(LOOKS) + at, count)  # noqa: E731
    return raced(trials, left, seeds, room - (trials.samples - begin))[:KEPT]
