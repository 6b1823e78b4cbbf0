"""The policy of Atlas: the table of its plan, and what data, model and values know about it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.learners.atlas.model import Model
from spaql.learners.atlas.plan import Plan
from spaql.learners.atlas.starts import start_states
from spaql.plants.problem import Problem
from spaql.policy.knowledge import Choice, Opinion, Rows, Samples, Table, table_visits
from spaql.policy.policy import Policy
from spaql.trees.edits import merged
from spaql.trees.tree import LEAF, Tree, leaf_of

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas


@dataclass(frozen=True, eq=False)
class LearnedModel:
    """A plan with the data it was made from: where trees can be tried without a step of the plant."""

    plan: Plan
    agent: "Atlas"

    def models(self, others: bool = False) -> list[Model]:
        """The model of the plan first, then models of parts of the data. `others`: of other parts."""
        return self.agent.models(self.plan, others)

    def starts(self, count: int) -> Array:
        """Observations from which episodes in the model begin."""
        return start_states(self.agent.state.memory, self.plan.samples, self.agent.problem.horizon, count)


@dataclass(frozen=True, eq=False)
class PlanKnowledge:
    """A plan, which does not change any more, and the data it was made from: the agent may learn on."""

    learner: str
    seed: int
    samples: Samples
    table: Table
    model: LearnedModel
    step = 0
    per_step = False
    unvisited = "the action rests on the learned model alone"

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
        inside = leaf_of(rules, self.model.agent.state.memory.states[: self.model.plan.samples])
        counts: Array = np.bincount(inside, minlength=len(rules.nodes))[rules.leaves()]
        return counts

    def exact(self) -> Tree:
        """Cells of a plan are of no grid: neighbours that do the same are joined, and that is all."""
        return merged(self.table.rules)


def samples_of(agent: "Atlas") -> Samples:
    """What learning took."""
    history = agent.history
    return Samples(int(history.train_samples[-1]), int(history.eval_samples[-1])) if len(history.table) else Samples()


def plan_policy(agent: "Atlas") -> Policy:
    """The table of the plan of all data: one cell per leaf."""
    problem: Problem = agent.problem
    plan = agent.current_plan()
    row_of_node = np.where(plan.support.cells["feature"] == LEAF, plan.support.of_cell, -1)
    table = Table(plan.table, row_of_node, _rows(plan, agent.visits(plan)))
    knowledge = PlanKnowledge(agent.algorithm, agent.seed, samples_of(agent), table, LearnedModel(plan, agent))
    return Policy(problem, plan.table, "table", f"{agent.algorithm} on {problem.name}, seed {agent.seed}", knowledge)


def _rows(plan: Plan, visits: Array) -> Rows:
    """By cell, which are the support points where episodes go on."""
    alive = np.flatnonzero(plan.support.ended == 0)
    q, best = plan.q[alive], plan.best[alive]
    second = q.copy()
    second[np.arange(len(q)), best] = -np.inf
    alone = q.shape[1] == 1
    runner_up = np.full((len(q), plan.actions.shape[1]), np.nan) if alone else plan.actions[second.argmax(axis=1)]
    runner_up_q = np.full(len(q), np.nan) if alone else second.max(axis=1)
    return Rows(plan.actions[best], q.max(axis=1), visits[alive], runner_up, runner_up_q)
