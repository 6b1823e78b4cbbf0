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
from spaql.compress.compress import CAUTION, COMPILED, FEWEST, MODEL, MODEL_STARTS, OTHERS, SLOW, STEPS
from spaql.compress.frontier import FRESH, FRESH_IN_PYTHON, chosen_of, frontier_of, honest, monotone, notes_on
from spaql.compress.model_arena import ModelArena
from spaql.compress.tree_search import SEARCH, Wanted
from spaql.ground.arrays import Array
from spaql.ground.checks import flag, whole
from spaql.ground.errors import SpaqlError, SpaqlWarning
from spaql.ground.progress import advance, working
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

OPTIONS = (*Wanted._fields[1:], "laws")
MOST = 8  # leaves, unless a number is given
LEAST_EFFORT = 0.03
PASSES = 2  # through the sizes, at most
DOUBT = 0.05  # of the way from the worst to the best model: by so much may the table do worse in a trusted model
SPREAD = 0.1  # and by so much of the standard deviation of its returns


def compress(policy: "Policy", max_leaves: int | None = None, *, laws: bool | None = None, **options: Any) -> "Policy":
    """The smallest tree not significantly worse than the table, or the best with at most `max_leaves`.

    - `laws`: whether leaves are laws, which follow the observation, or constant actions; None: laws;
    - `oblique`: tests of constant actions may weigh two variables against each other; those before laws always may;
    - `budget`: plant steps after which the search ends (400 million on compiled plants, 20 thousand in Gymnasium
      environments), in a learned model steps of the model; judging what was found on fresh episodes comes on top, and
      is counted too;
    - `episodes`: start states every candidate is judged on, with constant actions;
    - `seed`: of the search.

    Where the result is significantly worse than the table, a `SpaqlWarning` says so, and `notes` of the tree.
    """
    with working(SEARCH, options.get("progress")):
        if laws is None or flag("laws", laws):
            if max_leaves is not None:
                whole("max_leaves", max_leaves, 1, 64)
            wanted = Wanted(max_leaves, **options)
            made = _on_plant(policy, wanted) if policy.knowledge.model is None else _in_model(policy, wanted)
        else:
            made = constants.compress(policy, max_leaves, **options)
    for note in made.notes:
        warnings.warn(note, SpaqlWarning, stacklevel=3)
    return made


def _on_plant(policy: "Policy", wanted: Wanted) -> "Policy":
    problem, table = policy.problem, policy.table_policy or policy
    if not problem.can_run:
        raise SpaqlError(
            f"{problem.name} has no plant to try laws on: use tree(), which applies exactly the same actions"
        )
    compiled = problem.plant is not None
    budget = whole("budget", (COMPILED if compiled else SLOW) if wanted.budget is None else wanted.budget, 0)
    agent = _search(table, wanted, budget)
    with working(SEARCH, wanted.progress, budget, "steps"):
        trials = Trials(strict(problem)[0], budget)
        run(agent, trials)
    found = {entry.tree.n_leaves: entry.tree for entry in agent.state.frontier.monotone(0.0)} or {1: agent.tree}
    judged = frontier_of(table, found, FRESH if compiled else FRESH_IN_PYTHON)
    points = monotone(judged.points)
    chosen = chosen_of(points, wanted.max_leaves)
    more = "allow more leaves (max_leaves), or a larger budget"
    return replace(
        policy, rules=chosen.tree, kind=_kind(chosen.tree), table_policy=table, frontier=tuple(points),
        samples=trials.samples + judged.samples, notes=notes_on(chosen, judged, more),
        certificate=None,
    )  # fmt: skip


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
            found = np.zeros(len(mine))
            steps += rehearse(world, controller, episodes, horizon, found, kept, self.tracks)
            returns[mine] = found
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
    budget = whole("budget", MODEL // len(problem.state) if wanted.budget is None else wanted.budget, 0)
    count = min(MODEL_STARTS, max(FEWEST, STEPS // problem.horizon))
    starts = model.starts(count + OTHERS)
    models = _trusted(problem, plan, model.models(), starts)
    judges = models + _trusted(problem, plan, model.models(others=True), starts)[1:]
    agent = _search(table, wanted, budget)
    with working(SEARCH, wanted.progress, budget, "steps"):
        run(agent, ModelTrials(problem, plan, starts[:count], models, budget))
    found = _judged(_candidates(agent), problem, plan, starts[count:], judges)
    best = max(score for score, _ in found.values())
    spread = best - min(score for score, _ in found.values())
    reach = best - (DOUBT * spread if wanted.max_leaves is None else 0.0)
    leaves, tree = next((leaves, tree) for leaves, (score, tree) in found.items() if score >= reach)
    if not problem.can_run:
        return replace(policy, rules=tree, kind=_kind(tree), table_policy=table, samples=0, certificate=None)
    episodes = FRESH if problem.plant is not None else FRESH_IN_PYTHON
    judged = frontier_of(table, {leaves: tree for leaves, (_, tree) in found.items()}, episodes)
    chosen = honest(judged.points, leaves)
    more = "allow more leaves (max_leaves), or give the learner more data"
    return replace(
        policy, rules=chosen.tree, kind=_kind(chosen.tree), table_policy=table, samples=judged.samples,
        frontier=tuple(monotone(judged.points)), notes=notes_on(chosen, judged, more), certificate=None,
    )  # fmt: skip


def _kind(tree: Tree) -> str:
    return "compressed tree" if tree.laws is None else "law tree"


def _candidates(agent: Laws) -> list[Tree]:
    """All that the search has kept: tidy, and as it was found."""
    state = agent.state
    units = Units(state.middle, state.inverse, agent.searched)
    raw = [units.physical(entry.tree) for entry in state.frontier.raw.values()]
    return [entry.tree for entry in state.frontier.tidy.values()] + raw or [agent.tree]


def _trusted(problem: Problem, plan: Plan, models: Sequence[CellModel], starts: Array) -> list[CellModel]:
    """The models in which the plan's table does about as well as in the first, the model of all data.

    A constant added to all rewards changes nothing here.
    """
    earned = [ModelArena(problem, plan, starts, [one], fair=True).returns(plan.table, 0, len(starts)) for one in models]
    means = np.array([returns.mean() for returns in earned])
    least = means[0] - DOUBT * np.ptp(means) - SPREAD * earned[0].std()
    return [one for one, mean in zip(models, means, strict=True) if mean >= least]


def _judged(
    trees: Sequence[Tree], problem: Problem, plan: Plan, starts: Array, models: Sequence[CellModel]
) -> dict[int, tuple[float, Tree]]:
    """By leaves, where something is gained: what trees earn from other start states, and in models of other data.

    The judge looks twice as far as the episode, because what fails soon after its end is not sound; but nothing is
    gained there: an episode counts as twice its return, or less. To end early is thus not preferred.
    """
    once, twice = (ModelArena(problem, plan, starts, models, times * problem.horizon, True) for times in (1, 2))
    best: dict[int, tuple[float, Tree]] = {}
    for tree in trees:
        returns = np.minimum(2.0 * once.returns(tree, 0, len(starts)), twice.returns(tree, 0, len(starts)))
        score = float(returns.mean() - CAUTION * returns.std())
        if tree.n_leaves not in best or score > best[tree.n_leaves][0]:
            best[tree.n_leaves] = (score, tree)
    found: dict[int, tuple[float, Tree]] = {}
    for leaves in sorted(best):
        if not found or best[leaves][0] > max(score for score, _ in found.values()):
            found[leaves] = best[leaves]
    return found
