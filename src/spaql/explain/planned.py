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
from spaql.explain.regret import taught
from spaql.explain.search import search
from spaql.explain.teaching import costs_of
from spaql.explain.tree import LEAF, Tree
from spaql.learners.atlas.memory import BEGAN

if TYPE_CHECKING:
    from spaql.learners.agent import Agent
    from spaql.learners.atlas.memory import Memory

EARLY = 0.02  # of the horizon: states seen so early serve as start states too
LESSONS, LESSON = 5, 2000  # rounds, states that each adds
WITHIN = 0.002  # of the best return in the model: a smaller tree that is so near is preferred


def policy_of_plan(agent: "Agent", step: int | None) -> Policy:
    """The table of Atlas: one cell per leaf."""
    if step is not None:
        raise SpaqlError("the policy of Atlas is the same at every step: leave `step` out")
    plan = agent.current_plan()  # type: ignore[attr-defined]
    alive = np.flatnonzero(plan.support.ended == 0)
    q = plan.q[alive]
    best = plan.best[alive]
    second = q.copy()
    second[np.arange(len(q)), best] = -np.inf
    runner_up, alone = second.argmax(axis=1), q.shape[1] == 1
    cells = Cells(
        corner=np.zeros((0, len(plan.centre)), np.int64), size=np.zeros(0, np.int64), action=plan.actions[best],
        q=q.max(axis=1), visits=plan.visits[alive].astype(np.int64),
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
    plan, agent, problem = table.plan, table.agent, table.problem
    assert plan is not None
    assert agent is not None
    budget = whole("budget", MODEL if budget is None else budget, 0)
    most = min(max_leaves or MOST, max(table.n_leaves, 2))
    memory: Memory = agent.state.memory  # type: ignore[attr-defined]
    starts = start_states(
        memory, plan.samples, problem.horizon, whole("episodes", STARTS_IN_MODEL if episodes is None else episodes, 8, 100_000)
    )
    arena = ModelArena(problem, plan, starts)
    with shown(progress, budget) as report:
        seen = arena.moments(table.rules, SEEN, whole("seed", seed, 0, 2**40)).states
        begin = distilled(seen, table.decide(seen), max(most, LARGEST)) + taught_by_values(arena, table, seen, max(most, LARGEST), oblique)
        known = palette_of(table)
        pool = search(arena, problem.actions, begin, most, budget, known=known, seed=seed, oblique=oblique, report=report)
    best = pool.best(most)
    reach = best.mean - (WITHIN * abs(best.mean) if max_leaves is None else 0.0)
    chosen = min(
        (scored[0] for scored in pool.sizes.values() if scored[0].mean >= reach and scored[0].leaves <= most), key=lambda one: one.leaves
    )
    points, judged = frontier_of(table, pool.frontier(most), FRESH) if problem.plant is not None else ([], 0)
    small = replace(policy, rules=chosen.tree, kind="compressed tree", cells=None, cell_of_node=None, table_policy=table)
    return replace(small, samples=judged, frontier=tuple(points))


def taught_by_values(arena: ModelArena, table: Policy, seen: Array, leaves: int, oblique: bool) -> list[Tree]:
    """Trees that lose least by the learned values where the table goes, then where they go themselves (DAgger)."""
    plan: Any = table.plan
    scale, made, states = np.where(seen.std(axis=0) > 0.0, seen.std(axis=0), 1.0), [], seen
    for seed in range(LESSONS):
        made.append(taught(states, costs_of(plan.q_at(states)), plan.actions, leaves, scale, oblique))
        states = np.concatenate([states, arena.moments(made[-1], LESSON, seed).states])
    return made


def start_states(memory: "Memory", n: int, horizon: int, count: int) -> Array:
    """Where episodes began; then states that were seen early in an episode, until there are `count`."""
    began = np.flatnonzero(memory.flags[:n] & BEGAN)
    time = np.arange(n) - began[np.maximum(np.searchsorted(began, np.arange(n), side="right") - 1, 0)] if len(began) else np.arange(n)
    early = np.setdiff1d(np.flatnonzero(time <= EARLY * horizon), began)
    early = np.random.default_rng(0).permutation(early)
    chosen = np.concatenate([began, early, np.arange(n)])[:count] if len(began) <= count else began[np.arange(count) * len(began) // count]
    states: Array = memory.states[np.resize(chosen, count)]
    return states
