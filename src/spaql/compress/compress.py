"""Smaller trees that may differ where it does not matter.

Searched for on the plant, or in a model where the learner has one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.compress.arena import MOMENTS, arena_of
from spaql.compress.cart import cost_tree, distilled
from spaql.compress.frontier import compressed, kind_of, palette_of
from spaql.compress.model_arena import ModelArena, judged_in_models, leaves_of_choice, trusted
from spaql.compress.tree_proposals import ROUNDS, costs_of
from spaql.compress.tree_search import MAX_LEAVES, SEARCH, Wanted, search
from spaql.ground.arrays import Array
from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import advance, working
from spaql.learners.atlas.atlas_controller import LearnedModel
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.plan import Plan
from spaql.plants.plant import LANES
from spaql.plants.problem import Finite, Problem
from spaql.policy.controller import SAMPLES_IN_PYTHON
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

# -- small trees found on the plant itself, or in the environment: every step is counted -------------------------------

COMPILED_BUDGET = 400_000_000  # steps of a search on a compiled plant
STARTS = LANES  # start states every candidate is judged on: as many as run side by side
STARTS_IN_PYTHON = 3  # the same, in an environment


def usual_budget(problem: Problem, wanted: Wanted) -> int:
    """What was asked for, or else what a search on the plant takes."""
    usual = COMPILED_BUDGET if problem.plant is not None else SAMPLES_IN_PYTHON
    return whole("budget", usual if wanted.budget is None else wanted.budget, 0)


def compress_on_plant(policy: "Policy", wanted: Wanted) -> "Policy":
    """See `compress`."""
    problem, table = policy.problem, policy.table_policy or policy
    compiled, budget = problem.plant is not None, usual_budget(problem, wanted)
    given = STARTS if wanted.episodes is None else wanted.episodes
    episodes = whole("episodes", given, 8, 100_000) if compiled else STARTS_IN_PYTHON
    seed = whole("seed", wanted.seed, 0, 2**40)
    if not problem.can_run or table.usage is None:
        raise SpaqlError(
            f"{problem.name} has no plant to try trees on: use tree(), which applies exactly the same actions"
        )
    most = min(wanted.max_leaves or MAX_LEAVES, max(table.n_leaves, 2))
    states = table.usage.states
    seen = states[:: max(1, len(states) // (4 * MOMENTS))]
    arena = arena_of(problem, episodes, seed)
    with working(SEARCH, wanted.progress, budget, "steps"):
        begin = distilled(seen, table.decide(seen), max(most, MAX_LEAVES) if compiled else most)
        known = palette_of(table)
        pool = search(
            arena, problem.actions, begin, most, budget, known=known, seed=seed, oblique=wanted.oblique, report=advance
        )
    more = "allow more leaves (max_leaves), a larger budget, or laws in them (laws=True)"
    return compressed(policy, pool.frontier(most), wanted.max_leaves, table.usage.samples + arena.samples, more)


# -- small trees found in a learned model: neither the search nor the choice takes a step of the plant -----------------

MODEL_BUDGET = 90_000_000  # steps of a search, over the number of variables
MODEL_STEPS = 20_000  # of the episodes on which a candidate is judged, if all last; the fewer, the longer they are


def model_starts(horizon: int) -> int:
    """How many start states: few of long episodes, so that the budget is enough for many trees."""
    return max(STARTS // 4, min(STARTS, MODEL_STEPS // horizon))


InModel = Callable[[Plan, Array, Sequence[CellModel], int], list[Tree]]  # plan, start states, models, budget: trees


def chosen_in_model(
    policy: "Policy", wanted: Wanted, count: int, search: InModel, confirmed: bool, more: str
) -> "Policy":
    """The best tree of a search in the policy's model from so many start states.

    Trees are judged from other start states, and in models of other data. `confirmed`: and then on the plant; `more`:
    what could help where the tree is worse than the table.
    """
    problem, model = policy.problem, policy.knowledge.model
    assert isinstance(model, LearnedModel)
    plan = model.plan
    budget = whole("budget", MODEL_BUDGET // len(problem.state) if wanted.budget is None else wanted.budget, 0)
    starts = model.starts(count + 4 * STARTS)
    models = trusted(problem, plan, model.models(), starts)
    judges = models + trusted(problem, plan, model.models(others=True), starts)[1:]
    with working(SEARCH, wanted.progress, budget, "steps"):
        candidates = search(plan, starts[:count], models, budget)
    judged_in = judged_in_models(candidates, problem, plan, starts[count:], judges)
    leaves = leaves_of_choice(judged_in, wanted.max_leaves)
    trees = {size: entry.tree for size, entry in judged_in.items()}
    if confirmed:
        return compressed(policy, trees, None, 0, more, leaves)
    tree, table = trees[leaves], policy.table_policy or policy
    return replace(policy, rules=tree, kind=kind_of(tree), table_policy=table, certificate=None, proof=None)


def compress_in_model(policy: "Policy", wanted: Wanted) -> "Policy":
    """See `compress`."""
    problem, table = policy.problem, policy.table_policy or policy
    most = min(wanted.max_leaves or MAX_LEAVES, max(table.n_leaves, 2))
    given = model_starts(problem.horizon) if wanted.episodes is None else wanted.episodes
    count = whole("episodes", given, 8, 100_000)
    seed = whole("seed", wanted.seed, 0, 2**40)

    def candidates(plan: Plan, starts: Array, models: Sequence[CellModel], budget: int) -> list[Tree]:
        arena = ModelArena(problem, plan, starts, models)
        seen = arena.moments(table.rules, 4 * MOMENTS, seed).states
        by_value = _grown_by_values(arena, plan, seen, max(most, MAX_LEAVES), wanted.oblique)
        begin = distilled(seen, table.decide(seen), max(most, MAX_LEAVES)) + by_value
        # only what was applied: between the levels of a torque the model is a guess, and a search finds every flaw of a
        # guess
        levels = Finite(tuple(plan.actions[:, 0].tolist())) if plan.actions.shape[1] == 1 else problem.actions
        known = palette_of(table)
        pool = search(
            arena, levels, begin, most, budget, known=known, seed=seed, oblique=wanted.oblique, report=advance
        )
        trees = [entry.tree for held in pool.sizes.values() for entry in held] + by_value
        return [tree for tree in trees if tree.n_leaves <= most]

    more = "allow more leaves (max_leaves), give the learner more data, or try laws=True"
    return chosen_in_model(policy, wanted, count, candidates, problem.plant is not None, more)


def _grown_by_values(arena: ModelArena, plan: Plan, seen: Array, leaves: int, oblique: bool) -> list[Tree]:
    """Trees that lose least by the learned values where the table goes, then where they go themselves (DAgger)."""
    scale, trees = np.where(seen.std(axis=0) > 0.0, seen.std(axis=0), 1.0), []
    states, q = seen, plan.q_at(seen)
    for seed in range(ROUNDS // 2):
        trees.append(cost_tree(states, costs_of(q), plan.actions, leaves, scale, oblique))
        more = arena.moments(trees[-1], MOMENTS, seed).states
        states, q = np.concatenate([states, more]), np.concatenate([q, plan.q_at(more)])
    return trees


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
    - `episodes`: start states every candidate is judged on (128; in a model 32 to 128, fewer if episodes are long);
    - `seed`: of the search.
    """
    if max_leaves is not None:
        whole("max_leaves", max_leaves, 1, 100_000)
    way = compress_on_plant if policy.knowledge.model is None else compress_in_model
    wanted = Wanted(max_leaves, **options)
    tree = way(policy, wanted)
    return replace(tree, notes=(*tree.notes, NO_OBLIQUE)) if wanted.oblique and not tree.rules.oblique else tree
