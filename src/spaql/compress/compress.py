"""Smaller trees that may differ where it does not matter.

Searched for on the plant, or in a model where the learner has one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.compress.arena import arena_of
from spaql.compress.cart import cost_tree, distilled
from spaql.compress.frontier import (
    FRESH,
    FRESH_IN_PYTHON,
    chosen_of,
    frontier_of,
    honest,
    monotone,
    notes_on,
    palette_of,
)
from spaql.compress.model_arena import ModelArena
from spaql.compress.tree_proposals import costs_of
from spaql.compress.tree_search import LARGEST, MOST, SEARCH, SEEN, Wanted, search
from spaql.ground.arrays import Array
from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import advance, working
from spaql.learners.atlas.atlas_controller import LearnedModel
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.plan import Plan
from spaql.plants.problem import Finite, Problem
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

# -- small trees found on the plant itself, or in the environment: every step is counted -------------------------------

COMPILED = 400_000_000  # steps of a search on a compiled plant
SLOW = 20_000  # the same, in an environment
STARTS = 128  # start states every candidate is judged on
STARTS_IN_PYTHON = 3  # the same, in an environment


def compress_on_plant(policy: "Policy", wanted: Wanted) -> "Policy":
    """See `compress`."""
    problem, table = policy.problem, policy.table_policy or policy
    compiled = problem.plant is not None
    budget = whole("budget", (COMPILED if compiled else SLOW) if wanted.budget is None else wanted.budget, 0)
    given = STARTS if wanted.episodes is None else wanted.episodes
    episodes = whole("episodes", given, 8, 100_000) if compiled else STARTS_IN_PYTHON
    seed = whole("seed", wanted.seed, 0, 2**40)
    if not problem.can_run or table.usage is None:
        raise SpaqlError(
            f"{problem.name} has no plant to try trees on: use tree(), which applies exactly the same actions"
        )
    most = min(wanted.max_leaves or MOST, max(table.n_leaves, 2))
    states = table.usage.states
    seen = states[:: max(1, len(states) // SEEN)]
    arena = arena_of(problem, episodes, seed)
    with working(SEARCH, wanted.progress, budget, "steps"):
        begin = distilled(seen, table.decide(seen), max(most, LARGEST) if compiled else most)
        known = palette_of(table)
        pool = search(
            arena, problem.actions, begin, most, budget, known=known, seed=seed, oblique=wanted.oblique, report=advance
        )
    judged = frontier_of(table, pool.frontier(most), FRESH if compiled else FRESH_IN_PYTHON)
    points = monotone(judged.points)
    chosen, used = chosen_of(points, wanted.max_leaves), table.usage.samples + arena.samples + judged.samples
    notes = notes_on(chosen, judged, "allow more leaves (max_leaves), a larger budget, or laws in them (laws=True)")
    return replace(
        policy, rules=chosen.tree, kind="compressed tree", table_policy=table, samples=used, frontier=tuple(points),
        notes=notes, certificate=None,
    )  # fmt: skip


# -- small trees found in a learned model: neither the search nor the choice takes a step of the plant -----------------

MODEL = 90_000_000  # steps of a search, over the number of variables
MODEL_STARTS = 96  # start states every candidate is judged on, at most
FEWEST = 32  # start states at least
STEPS = 20_000  # start states in between: as many as make so many steps if all episodes last
OTHERS = 512  # start states the search does not see, on which its trees are chosen
SOME = 128  # of these decide between trees of one size
CHECKED = 2  # trees of every size that are compared there
ROUNDS = 5  # of trees grown by the learned values
STATES = 2000  # that each round adds
DOUBT = 0.05  # by so much of its return in the model of all data, a table may do worse in a model of less data
SPREAD = 0.1  # and by so much of the standard deviation of its returns
CAUTION = 0.25  # of the standard deviation of its returns is taken from a tree's mean when one is chosen
WITHIN = 0.002  # of the best return in the model: a smaller tree that is so near is preferred


def compress_in_model(policy: "Policy", wanted: Wanted) -> "Policy":
    """See `compress`."""
    problem, table, model = policy.problem, policy.table_policy or policy, policy.knowledge.model
    assert isinstance(model, LearnedModel)
    plan = model.plan
    budget = whole("budget", MODEL // len(problem.state) if wanted.budget is None else wanted.budget, 0)
    most = min(wanted.max_leaves or MOST, max(table.n_leaves, 2))
    # few of long episodes, so that the budget is enough for many trees
    few = min(MODEL_STARTS, max(FEWEST, STEPS // problem.horizon))
    count = whole("episodes", few if wanted.episodes is None else wanted.episodes, 8, 100_000)
    seed = whole("seed", wanted.seed, 0, 2**40)
    starts = model.starts(count + OTHERS)
    models = _trusted(problem, plan, model.models(), starts)
    arena = ModelArena(problem, plan, starts[:count], models)
    judges = models + _trusted(problem, plan, model.models(others=True), starts)[1:]
    others = ModelArena(problem, plan, starts[count:], judges, 2 * problem.horizon)
    with working(SEARCH, wanted.progress, budget, "steps"):
        seen = arena.moments(table.rules, SEEN, seed).states
        by_value = _grown_by_values(arena, plan, seen, max(most, LARGEST), wanted.oblique)
        begin = distilled(seen, table.decide(seen), max(most, LARGEST)) + by_value
        # only what was applied: between the levels of a torque the model is a guess, and a search finds every flaw of a
        # guess
        levels = Finite(tuple(plan.actions[:, 0].tolist())) if plan.actions.shape[1] == 1 else problem.actions
        known = palette_of(table)
        pool = search(
            arena, levels, begin, most, budget, known=known, seed=seed, oblique=wanted.oblique, report=advance
        )
    found = _on_other_starts(
        [one.tree for held in pool.sizes.values() for one in held[:CHECKED]] + by_value, most, others
    )
    best = max(score for score, _ in found.values())
    reach = best - (WITHIN * abs(best) if wanted.max_leaves is None else 0.0)
    chosen = next(tree for score, tree in found.values() if score >= reach)
    sizes = {leaves: tree for leaves, (_, tree) in found.items()}
    if problem.plant is None:
        return replace(policy, rules=chosen, kind="compressed tree", table_policy=table, certificate=None)
    judged = frontier_of(table, sizes, FRESH)
    point = honest(judged.points, chosen.n_leaves)
    notes = notes_on(point, judged, "allow more leaves (max_leaves), give the learner more data, or try laws=True")
    return replace(
        policy, rules=point.tree, kind="compressed tree", table_policy=table, samples=judged.samples,
        frontier=tuple(monotone(judged.points)), notes=notes, certificate=None,
    )  # fmt: skip


def _trusted(problem: Problem, plan: Plan, models: list[CellModel], starts: Array) -> list[CellModel]:
    """The models in which the plan's table does about as well as in the first, the model of all data.

    The others lack data that was needed, and would judge trees by their own ignorance.
    """
    earned = [ModelArena(problem, plan, starts, [one]).returns(plan.table, 0, len(starts)) for one in models]
    least = earned[0].mean() - DOUBT * abs(earned[0].mean()) - SPREAD * earned[0].std()
    return [one for one, returns in zip(models, earned, strict=True) if returns.mean() >= least]


def _on_other_starts(trees: list[Tree], most: int, others: ModelArena) -> dict[int, tuple[float, Tree]]:
    """By leaves, where something is gained: what trees earn where the search could not fit them.

    From start states, and in models, that it has not seen. Of each size the best on some of the start states is judged
    on all.

    Episodes are twice as long as usual, and returns that vary count less: a tree that fails once in fifty episodes, or
    would have failed soon after their end, must not pass for a good one.
    """
    scored: dict[int, tuple[float, Tree]] = {}
    for tree in trees:
        if tree.n_leaves <= most:
            score = _careful(others.returns(tree, 0, SOME))
            if tree.n_leaves not in scored or score > scored[tree.n_leaves][0]:
                scored[tree.n_leaves] = (score, tree)
    found: dict[int, tuple[float, Tree]] = {}
    for leaves in sorted(scored):
        tree = scored[leaves][1]
        score = _careful(others.returns(tree, 0, others.starts))
        if not found or score > max(best for best, _ in found.values()):
            found[leaves] = (score, tree)
    return found


def _careful(returns: Array) -> float:
    return float(returns.mean() - CAUTION * returns.std())


def _grown_by_values(arena: ModelArena, plan: Plan, seen: Array, leaves: int, oblique: bool) -> list[Tree]:
    """Trees that lose least by the learned values where the table goes, then where they go themselves (DAgger)."""
    scale, made = np.where(seen.std(axis=0) > 0.0, seen.std(axis=0), 1.0), []
    states, q = seen, plan.q_at(seen)
    for seed in range(ROUNDS):
        made.append(cost_tree(states, costs_of(q), plan.actions, leaves, scale, oblique))
        more = arena.moments(made[-1], STATES, seed).states
        states, q = np.concatenate([states, more]), np.concatenate([q, plan.q_at(more)])
    return made


# -- smaller trees that may differ where it does not matter ------------------------------------------------------------

NO_OBLIQUE = (
    "oblique=True changed nothing: tests of two weighted variables were tried, and none is in the best tree; "
    "a larger budget may find one"
)


def compress(policy: "Policy", max_leaves: int | None = None, **options: Any) -> "Policy":
    """The smallest tree not significantly worse than the table, or the best with at most `max_leaves`.

    Of Atlas: searched for and chosen in the learned model, without a step of the plant; the frontier is confirmed on
    the plant, and counted in `samples`. Options:

    - `oblique`: tests may weigh two variables against each other; a note says so where none is in the result;
    - `budget`: plant steps after which the search ends (400 million on compiled plants, 20 thousand in Gymnasium
      environments); judging what it has found on fresh episodes comes on top, and is counted too;
    - `episodes`: start states every candidate is judged on (128; in a model 32 to 96, fewer if episodes are long);
    - `seed`: of the search.
    """
    if max_leaves is not None:
        whole("max_leaves", max_leaves, 1, 100_000)
    way = compress_on_plant if policy.knowledge.model is None else compress_in_model
    wanted = Wanted(max_leaves, **options)
    tree = way(policy, wanted)
    return replace(tree, notes=(*tree.notes, NO_OBLIQUE)) if wanted.oblique and not tree.rules.oblique else tree
