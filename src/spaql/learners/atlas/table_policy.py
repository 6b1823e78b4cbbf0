"""The policy of Atlas: the table of its plan, and what data, model and values know about it."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.endings import start_states
from spaql.learners.atlas.plan import Plan
from spaql.policy.knowledge import Choice, Knowledge, KnownRows, KnownTable, Opinion, Samples, table_visits
from spaql.policy.policy import Policy
from spaql.trees.edits import merged
from spaql.trees.tree import LEAF, Tree, leaf_of

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas


@dataclass(frozen=True, eq=False)
class LearnedModel:
    """The plan of the first samples, and the data it was made from: where trees can be tried without the plant.

    The plan is made when it is asked for: the table of a file does not need it.
    """

    agent: "Atlas"
    samples: int

    @cached_property
    def plan(self) -> Plan:
        return self.agent.plan_after(self.samples)

    def models(self, others: bool = False) -> list[CellModel]:
        """The model of the plan first, then models of parts of the data. `others`: of other parts."""
        return self.agent.models(self.plan, others)

    def starts(self, count: int) -> Array:
        """Observations from which episodes in the model begin."""
        return start_states(self.agent.state.memory, self.samples, self.agent.problem.horizon, count)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanKnowledge(Knowledge):
    """A plan, which does not change any more, and the data it was made from: the agent may learn on."""

    table: KnownTable
    model: LearnedModel
    unvisited: str = "the action rests on the learned model alone"

    def opinion(self, observation: Array) -> Opinion:
        """What the model expects of every action, best first. The table itself decides by the middle of its cell."""
        plan = self.model.plan
        q, after = plan.look_ahead(observation)
        order = np.argsort(-q, kind="stable")
        return Opinion(tuple(Choice(plan.actions[i], float(q[i]), after[i]) for i in order), None)

    def visits(self, rules: Tree) -> Array | None:
        """Of any tree: all training steps that were made in the region of a leaf."""
        counted = table_visits(self.table, rules)
        if counted is not None:
            return counted
        inside = leaf_of(rules, self.model.agent.state.memory.states[: self.model.samples])
        counts: Array = np.bincount(inside, minlength=len(rules.nodes))[rules.leaves()]
        return counts

    def exact(self) -> Tree:
        """Cells of a plan are of no grid: neighbours that do the same are joined, and that is all."""
        return merged(self.table.rules)


def samples_of(agent: "Atlas") -> Samples:
    """What learning took."""
    history = agent.history
    return Samples(int(history.train_samples[-1]), int(history.eval_samples[-1])) if len(history.table) else Samples()


def table_of(agent: "Atlas") -> KnownTable:
    """The table of all data: one cell per leaf."""
    state, n = agent.state, agent.state.memory.n
    if state.table is None or state.table_samples != n:
        plan = agent.current_plan()
        row_of_node = np.where(plan.support.cells["feature"] == LEAF, plan.support.of_cell, -1)
        state.table, state.table_samples = KnownTable(plan.table, row_of_node, _rows(plan, agent.visits(plan))), n
    return state.table


def table_policy(agent: "Atlas") -> Policy:
    """The table as a policy."""
    problem, table, model = agent.problem, table_of(agent), LearnedModel(agent, agent.state.memory.n)
    knowledge = PlanKnowledge(agent.algorithm, agent.seed, samples_of(agent), table=table, model=model)
    origin = f"{agent.algorithm} on {problem.name}, seed {agent.seed}"
    return Policy(problem, table.rules, "table", origin, knowledge, notes=agent.notes)


def _rows(plan: Plan, visits: Array) -> KnownRows:
    """By cell, which are the support points where episodes go on."""
    alive = np.flatnonzero(plan.support.ended == 0)
    q, best = plan.q[alive], plan.best[alive]
    second = q.copy()
    second[np.arange(len(q)), best] = -np.inf
    alone = q.shape[1] == 1
    runner_up = np.full((len(q), plan.actions.shape[1]), np.nan) if alone else plan.actions[second.argmax(axis=1)]
    runner_up_q = np.full(len(q), np.nan) if alone else second.max(axis=1)
    return KnownRows(plan.actions[best], q.max(axis=1), visits[alive], runner_up, runner_up_q)
