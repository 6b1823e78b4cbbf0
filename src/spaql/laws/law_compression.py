"""Small trees made from a policy: of constant actions, or of laws, which the same search as that of `Laws` finds.

The policy is the teacher. On a plant or in an environment every step is counted; in a learned model neither the search
nor the choice between its trees takes a step of the plant.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.compress import compress as constants
from spaql.compress.compress import chosen_in_model, model_starts, usual_budget
from spaql.compress.frontier import compressed
from spaql.compress.model_arena import ModelArena
from spaql.compress.tree_search import SEARCH, Wanted
from spaql.ground import checks
from spaql.ground.arrays import Array
from spaql.ground.checks import flag, whole
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.progress import advance, working
from spaql.laws.card_trials import CardTrials
from spaql.laws.stages import cycle_of, run_stage, state_units
from spaql.laws.trials import Trials, affordable
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.plan import Plan
from spaql.learners.laws import Laws
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.plants.strict import strict
from spaql.trees.tree import Tree, leaf_of

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

OPTIONS = (*(name for name in Wanted._fields if name != "max_leaves"), "laws", "device")
MOST = 8  # leaves, unless a number is given
LEAST_EFFORT = 0.03
PASSES = 2  # through the sizes, at most


def compress(
    policy: "Policy", max_leaves: int | None = None, *, laws: bool | None = None, device: str = "cpu", **options: Any
) -> "Policy":
    """The smallest tree not significantly worse than the table, or the best with at most `max_leaves`.

    - `laws`: whether leaves are laws, which follow the observation, or constant actions; None: laws;
    - `oblique`: tests of constant actions may weigh two variables against each other; those before laws always may;
    - `budget`: plant steps after which the search ends (400 million on compiled plants, 20 thousand in Gymnasium
      environments), in a learned model steps of the model; judging what was found on fresh episodes comes on top, and
      is counted too;
    - `episodes`: start states every candidate is judged on, with constant actions;
    - `seed`: of the search;
    - `device`: "cuda" runs episodes of laws on a graphics card.

    Where the result is significantly worse than the table, a `SpaqlWarning` says so, and `notes` of the tree.
    """
    on_card = checks.device(device) == "cuda"
    if on_card and (laws is False or policy.knowledge.model is not None):
        raise SpaqlError('a card runs laws on a compiled plant, no constant actions or learned models: leave it out')
    with working(SEARCH, options.get("progress")):
        if laws is None or flag("laws", laws):
            if max_leaves is not None:
                whole("max_leaves", max_leaves, 1, 64)
            wanted = Wanted(max_leaves, **options)
            plain = policy.knowledge.model is None
            tree = _on_plant(policy, wanted, CardTrials if on_card else Trials) if plain else _in_model(policy, wanted)
        else:
            tree = constants.compress(policy, max_leaves, **options)
    for note in tree.notes:
        warnings.warn(note, SpaqlWarning, stacklevel=3)
    return tree


def _on_plant(policy: "Policy", wanted: Wanted, kind: type[Trials]) -> "Policy":
    problem, table = policy.problem, policy.table_policy or policy
    if not problem.can_run:
        raise SpaqlError(
            f"{problem.name} has no plant to try laws on: use tree(), which applies exactly the same actions"
        )
    budget = usual_budget(problem, wanted)
    agent = _search(table, wanted, budget)
    with working(SEARCH, wanted.progress, budget, "steps"):
        trials = kind(strict(problem)[0], budget)
        run(agent, trials)
    trees = {entry.tree.n_leaves: entry.tree for entry in agent.state.frontier.monotone(0.0)} or {1: agent.tree}
    more = "allow more leaves (max_leaves), or a larger budget"
    return compressed(policy, trees, wanted.max_leaves, trials.samples, more)


def _search(table: "Policy", wanted: Wanted, budget: int) -> Laws:
    """A learner of laws with the table as its teacher, and with the effort that the budget allows."""
    most = wanted.max_leaves or MOST
    stages = len(cycle_of(most)[0]) + len(cycle_of(most)[1])
    effort = affordable(table.problem, budget / stages, 1)
    seed = whole("seed", wanted.seed, 0, 2**40)
    return Laws(table.problem, max_leaves=most, seed=seed, effort=min(1.0, max(LEAST_EFFORT, effort)), teacher=table)


def run(agent: Laws, trials: Trials) -> None:
    """Stages of the search until the budget is spent, or all sizes have been gone through twice."""
    first, cycle = cycle_of(agent.max_leaves)
    trials.effort, trials.tell = agent.effort, advance
    for stage in range(len(first) + PASSES * len(cycle)):
        before = trials.samples
        with threadpool_limits(1, "blas"):  # see loop.py
            run_stage(agent, trials, stage)
        if trials.samples - before < agent.searched.horizon:
            break


# -- in a learned model ------------------------------------------------------------------------------------------------


class ModelTrials(Trials):
    """An episode's seed says where it begins, and in which of the models it goes on."""

    def __init__(
        self, problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel], left: int | None = None
    ) -> None:
        self.plan, self.arena = plan, ModelArena(problem, plan, starts, models, fair=True)
        super().__init__(problem, left)

    def open(self, jobs: int) -> None:
        self.low, self.high = np.full(self.variables, -HUGE), np.full(self.variables, HUGE)

    def _run(self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array) -> int:
        arena, full = self.arena, 0
        controller, begin, before = arena.controller(tree), seeds % arena.starts, arena.steps
        for which in range(len(arena.worlds)):
            mine = np.flatnonzero(begin % len(arena.worlds) == which)
            room = len(seen) and min(len(seen) - full, len(mine) * horizon)
            kept = arena.room(room, 0, 2.0)
            returns[mine] = arena.run(which, controller, arena.begun(arena.begin[begin[mine]]), kept, horizon)
            states = self.plan.out_of_metric(kept.places[~np.isnan(kept.places[:, 0])])
            seen[full : full + len(states)] = states
            full += len(states)
        if len(visits):
            visits += np.bincount(leaf_of(tree, seen[:full]), minlength=len(visits))
        return arena.steps - before

    def arena_of_moments(self, seed: int) -> ModelArena:
        return self.arena


def _in_model(policy: "Policy", wanted: Wanted) -> "Policy":
    problem = policy.problem

    def candidates(plan: Plan, starts: Array, models: Sequence[CellModel], budget: int) -> list[Tree]:
        agent = _search(policy.table_policy or policy, wanted, budget)
        run(agent, ModelTrials(problem, plan, starts, models, budget))
        return _candidates(agent)

    more = "allow more leaves (max_leaves), or give the learner more data"
    return chosen_in_model(policy, wanted, model_starts(problem.horizon), candidates, problem.can_run, more)


def _candidates(agent: Laws) -> list[Tree]:
    """All that the search has kept: tidy, and as it was found."""
    state = agent.state
    units = state_units(agent)
    raw = [units.physical(entry.tree) for entry in state.frontier.raw.values()]
    return [entry.tree for entry in state.frontier.tidy.values()] + raw or [agent.tree]
