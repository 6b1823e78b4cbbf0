"""Small trees made from a policy: of constant actions, or of laws, which the same search as that of `Laws` finds.

The policy is the teacher. On a plant or in an environment every step is counted; in a learned model neither the search
nor the choice between its trees takes a step of the plant.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.compress import compress as constants
from spaql.compress.compress import COMPILED_BUDGET, MODEL_BUDGET, SLOW_BUDGET, STARTS, model_starts
from spaql.compress.frontier import compressed, kind_of
from spaql.compress.model_arena import ModelArena, judged_in_models, leaves_of_choice, trusted
from spaql.compress.tree_search import SEARCH, Wanted
from spaql.ground import checks
from spaql.ground.arrays import Array
from spaql.ground.checks import flag, whole
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.progress import advance, working
from spaql.laws.card_trials import CardTrials
from spaql.laws.stages import cycle_of, run_stage
from spaql.laws.trials import Trials, affordable
from spaql.laws.vector import Units
from spaql.learners.atlas.atlas_controller import LearnedModel
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.imagine import Kept, ModelEpisodes, controller_of, new_tracks, rehearse
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
    compiled = problem.plant is not None
    usual = COMPILED_BUDGET if compiled else SLOW_BUDGET
    budget = whole("budget", usual if wanted.budget is None else wanted.budget, 0)
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
        self, problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel], left: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self.plan, self.arena = plan, ModelArena(problem, plan, starts, models, fair=True)
        super().__init__(problem, left, stopped)

    def open(self, jobs: int) -> None:
        self.low, self.high = np.full(self.variables, -HUGE), np.full(self.variables, HUGE)
        self.width = self.plan.model.features.shape[1]
        self.tracks = new_tracks(self.variables, self.width)

    def _run(self, tree: Tree, seeds: Array, horizon: int, returns: Array, visits: Array, seen: Array) -> int:
        controller = controller_of(self.plan, tree, self.problem.actions)
        begin, worlds, steps, full = seeds % self.arena.starts, self.arena.worlds, 0, 0
        for which, world in enumerate(worlds):
            mine = np.flatnonzero(begin % len(worlds) == which)
            if len(mine) == 0:
                continue
            room = len(seen) and min(len(seen) - full, len(mine) * horizon)
            kept = Kept(np.uint64(0), 2.0, np.full((room, self.variables), np.nan), np.zeros(room, np.int64))
            places = np.ascontiguousarray(self.arena.begin[begin[mine]])
            episodes = ModelEpisodes(places, np.zeros(len(mine), np.int64), np.zeros((0, self.width)), 0)
            part = np.zeros(len(mine))
            steps += rehearse(world, controller, episodes, horizon, part, kept, self.tracks)
            returns[mine] = part
            states = self.plan.out_of_metric(kept.places[~np.isnan(kept.places[:, 0])]) if room else kept.places
            seen[full : full + len(states)] = states
            full += len(states)
        if len(visits):
            visits += np.bincount(leaf_of(tree, seen[:full]), minlength=len(visits))
        return steps

    def arena_of_moments(self, seed: int) -> ModelArena:
        return self.arena


def _in_model(policy: "Policy", wanted: Wanted) -> "Policy":
    problem, table, model = policy.problem, policy.table_policy or policy, policy.knowledge.model
    assert isinstance(model, LearnedModel)
    plan = model.plan
    budget = whole("budget", MODEL_BUDGET // len(problem.state) if wanted.budget is None else wanted.budget, 0)
    count = model_starts(problem.horizon)
    starts = model.starts(count + 4 * STARTS)
    models = trusted(problem, plan, model.models(), starts)
    judges = models + trusted(problem, plan, model.models(others=True), starts)[1:]
    agent = _search(table, wanted, budget)
    with working(SEARCH, wanted.progress, budget, "steps"):
        run(agent, ModelTrials(problem, plan, starts[:count], models, budget))
    judged_in = judged_in_models(_candidates(agent), problem, plan, starts[count:], judges)
    leaves = leaves_of_choice(judged_in, wanted.max_leaves)
    trees = {size: entry.tree for size, entry in judged_in.items()}
    if not problem.can_run:
        tree = trees[leaves]
        return replace(
            policy, rules=tree, kind=kind_of(tree), table_policy=table, samples=0, certificate=None, proof=None
        )
    more = "allow more leaves (max_leaves), or give the learner more data"
    return compressed(policy, trees, None, 0, more, leaves)


def _candidates(agent: Laws) -> list[Tree]:
    """All that the search has kept: tidy, and as it was found."""
    state = agent.state
    units = Units(state.middle, state.inverse, agent.searched)
    raw = [units.physical(entry.tree) for entry in state.frontier.raw.values()]
    return [entry.tree for entry in state.frontier.tidy.values()] + raw or [agent.tree]
