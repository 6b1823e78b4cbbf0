"""Policies of a learner that plans in a model: the table, and what the model says about an observation."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import whole
from spaql.errors import SpaqlError
from spaql.explain.cells import Cells
from spaql.explain.compress import FRESH, LARGEST, MODEL, MOST, SEEN, STARTS_IN_MODEL, frontier_of, palette_of, shown
from spaql.explain.distill import distilled
from spaql.explain.model_arena import ModelArena
from spaql.explain.policy import Policy
from spaql.explain.regret import taught as taught_tree
from spaql.explain.search import search
from spaql.explain.starts import start_states
from spaql.explain.teaching import costs_of
from spaql.explain.tree import LEAF, Tree
from spaql.learners.atlas.model import Model
from spaql.plants.problem import Finite

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas
    from spaql.learners.atlas.planning import Plan

LESSONS, LESSON = 5, 2000  # rounds, states that each adds
OTHERS, SOME, CHECKED = 512, 128, 2  # start states the search does not see; how many of them decide within a size; trees of a size
FEWEST, STEPS = 32, 20_000  # start states of a search: so many at least, and as many as make so many steps if all of them last
REHEARSALS = 64  # start states on which plans are compared
DOUBT, SPREAD = 0.05, 0.1  # by so much of its return, and of its standard deviation, a table may do worse in a model that knows less
CAUTION = 0.25  # of the standard deviation of its returns is taken from a tree's mean when one is chosen
WITHIN = 0.002  # of the best return in the model: a smaller tree that is so near is preferred


def policy_of_plan(agent: "Atlas", step: int | None) -> Policy:
    """The table of Atlas: one cell per leaf."""
    if step is not None:
        raise SpaqlError("the policy of Atlas is the same at every step: leave `step` out")
    plan = agent.current_plan()
    alive = np.flatnonzero(plan.support.ended == 0)
    q = plan.q[alive]
    best = plan.best[alive]
    second = q.copy()
    second[np.arange(len(q)), best] = -np.inf
    runner_up, alone = second.argmax(axis=1), q.shape[1] == 1
    cells = Cells(
        corner=np.zeros((0, len(plan.centre)), np.int64), size=np.zeros(0, np.int64), action=plan.actions[best],
        q=q.max(axis=1), visits=agent.visits(plan)[alive],
        runner_up=np.full((len(q), plan.actions.shape[1]), np.nan) if alone else plan.actions[runner_up],
        runner_up_q=np.full(len(q), np.nan) if alone else second.max(axis=1),
    )  # fmt: skip
    leaf = plan.support.cells["feature"] == LEAF
    cell_of_node = np.where(leaf, plan.support.of_cell, -1)
    origin = f"Atlas on {agent.problem.name}, seed {agent.seed}"
    return Policy(agent.problem, plan.table, "table", origin, cells, cell_of_node, agent=agent, plan=plan)


def expected(policy: Policy, observation: Array) -> tuple[tuple[Array, float, Array], ...]:
    """What the model expects of every action: (action, Q, next observation), best first."""
    plan: Any = policy.plan
    q, after = plan.look_ahead(observation)
    order = np.argsort(-q, kind="stable")
    return tuple((plan.actions[i], float(q[i]), after[i]) for i in order)


def compress_in_model(
    policy: Policy, table: Policy, max_leaves: int | None, oblique: bool, budget: int | None, episodes: int | None, seed: int,
    progress: bool,
) -> Policy:  # fmt: skip
    """See `compress`: the search happens in the learned model, and so does the choice."""
    plan, problem = table.plan, table.problem
    assert plan is not None
    agent: Atlas = table.agent  # type: ignore[assignment]
    budget = whole("budget", MODEL // len(problem.state) if budget is None else budget, 0)
    most = min(max_leaves or MOST, max(table.n_leaves, 2))
    # few of long episodes, so that the budget is enough for many trees
    few = min(STARTS_IN_MODEL, max(FEWEST, STEPS // problem.horizon))
    count, seed = whole("episodes", few if episodes is None else episodes, 8, 100_000), whole("seed", seed, 0, 2**40)
    starts = start_states(agent.state.memory, plan.samples, problem.horizon, count + OTHERS)
    models = _trusted(agent.models(plan), table, starts)
    arena = ModelArena(problem, plan, starts[:count], models)
    judges = models + _trusted(agent.models(plan, others=True), table, starts)[1:]
    others = ModelArena(problem, plan, starts[count:], judges, 2 * problem.horizon)
    with shown(progress, budget) as report:
        seen = arena.moments(table.rules, SEEN, seed).states
        taught = taught_by_values(arena, table, seen, max(most, LARGEST), oblique)
        begin = distilled(seen, table.decide(seen), max(most, LARGEST)) + taught
        # only what was played: between the levels of a torque the model is a guess, and a search finds every flaw of a guess
        levels = Finite(tuple(plan.actions[:, 0].tolist())) if plan.actions.shape[1] == 1 else problem.actions
        pool = search(arena, levels, begin, most, budget, known=palette_of(table), seed=seed, oblique=oblique, report=report)
    found = _on_other_starts([one.tree for held in pool.sizes.values() for one in held[:CHECKED]] + taught, most, others)
    best = max(score for score, _ in found.values())
    reach = best - (WITHIN * abs(best) if max_leaves is None else 0.0)
    chosen = next(tree for score, tree in found.values() if score >= reach)
    points, judged = (
        frontier_of(table, {leaves: tree for leaves, (_, tree) in found.items()}, FRESH) if problem.plant is not None else ([], 0)
    )
    small = replace(policy, rules=chosen, kind="compressed tree", cells=None, cell_of_node=None, table_policy=table)
    return replace(small, samples=judged, frontier=tuple(points))


def _trusted(models: list[Model], table: Policy, starts: Array) -> list[Model]:
    """Those in which the table does about as well as in the model of all data. The others lack data that was needed, and would judge
    trees by their own ignorance."""
    assert table.plan is not None
    played = [ModelArena(table.problem, table.plan, starts, [one]).returns(table.rules, 0, len(starts)) for one in models]
    least = played[0].mean() - DOUBT * abs(played[0].mean()) - SPREAD * played[0].std()
    return [one for one, returns in zip(models, played, strict=True) if returns.mean() >= least]


def _on_other_starts(trees: list[Tree], most: int, others: ModelArena) -> dict[int, tuple[float, Tree]]:
    """By leaves, where something is gained: what trees earn from start states, and in models, the search did not see. It has fitted those
    it saw.

    For twice as long as an episode lasts; of each size the best on some of them, on all: a tree that fails once in fifty episodes, or would
    have failed soon after, must not pass for a good one. So what varies counts less.
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


def taught_by_values(arena: ModelArena, table: Policy, seen: Array, leaves: int, oblique: bool) -> list[Tree]:
    """Trees that lose least by the learned values where the table goes, then where they go themselves (DAgger)."""
    plan: Any = table.plan
    scale, made = np.where(seen.std(axis=0) > 0.0, seen.std(axis=0), 1.0), []
    states, q = seen, plan.q_at(seen)
    for seed in range(LESSONS):
        made.append(taught_tree(states, costs_of(q), plan.actions, leaves, scale, oblique))
        more = arena.moments(made[-1], LESSON, seed).states
        states, q = np.concatenate([states, more]), np.concatenate([q, plan.q_at(more)])
    return made


def rehearsed(agent: "Atlas", plan: "Plan", models: list[Model]) -> float:
    """The mean return of a plan's table in the models, over twice the time: what fails soon after an episode's end is not sound."""
    starts = start_states(agent.state.memory, plan.samples, agent.problem.horizon, REHEARSALS)
    arena = ModelArena(agent.problem, plan, starts, models, 2 * agent.problem.horizon)
    return float(arena.returns(plan.table, 0, REHEARSALS).mean())
