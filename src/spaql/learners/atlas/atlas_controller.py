"""The controller of Atlas: a table, or a few laws from a Gaussian-process model of all data."""

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spaql.gp.learned_problem import FEWEST, model_of
from spaql.gp.model import Model
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work, working
from spaql.learners.atlas.cell_model import CellModel
from spaql.learners.atlas.endings import start_states
from spaql.learners.atlas.imagine import rehearsed
from spaql.learners.atlas.plan import Plan, models_in_doubt
from spaql.learners.atlas.state import Grown
from spaql.learners.law_files import ScoredTree
from spaql.plants.known import ABSOLUTE, wrong_steps
from spaql.plants.problem import Problem
from spaql.plants.strict import strict_known
from spaql.policy.knowledge import (
    Choice,
    Knowledge,
    KnownRows,
    KnownTable,
    Opinion,
    Samples,
    table_visits,
)
from spaql.policy.policy import Policy
from spaql.trees.edits import constant, merged
from spaql.trees.tree import LEAF, Tree, leaf_of

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

# -- the policy of Atlas: the table of its plan, and what data, model and values know about it -----

@dataclass(frozen=True, eq=False)
class LearnedModel:
    """The plan of the first samples, and the data it was made from: where trees can be tried
    without the plant.

    The plan is made when it is asked for: the table of a file does not need it.
    """

    agent: "Atlas"
    samples: int

    @cached_property
    def plan(self) -> Plan:
        return self.agent.plan_after(self.samples)

    def models(self, others: bool = False) -> list[CellModel]:
        """The model of the plan first, then models of parts of the data. `others`: of other parts.
        """
        return models_of(self.agent, self.plan, others)

    def starts(self, count: int) -> Array:
        """Observations from which episodes in the model begin."""
        agent = self.agent
        return start_states(agent.state.memory, self.samples, agent.problem.horizon, count)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanKnowledge(Knowledge):
    """A plan, which does not change any more, and its data: the agent may learn on."""

    table: KnownTable
    model: LearnedModel
    unvisited: str = "the action rests on the learned model alone"

    def opinion(self, observation: Array) -> Opinion:
        """What the model expects of every action, best first. The table decides by its cell."""
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
        """Cells of a plan are of no grid: neighbours that do the same are joined, and that is all.
        """
        return merged(self.table.rules)


def models_of(agent: "Atlas", plan: Plan, others: bool = False) -> list[CellModel]:
    """The model of a plan, then models without some of its data: see `models_in_doubt`."""
    data = agent.state.memory.transitions(agent.problem.actions, plan.samples)
    return [plan.model, *models_in_doubt(data, plan, agent.settings.model_cells, others)]


def table_visits_of(agent: "Atlas", plan: Plan) -> Array:
    """How much of a plan's data fell into the cell of every support point."""
    cell = leaf_of(plan.table, agent.state.memory.states[: plan.samples])
    counts: Array = np.bincount(plan.support.of_cell[cell], minlength=len(plan.support.points))
    return counts


def samples_of(agent: "Atlas") -> Samples:
    """What learning took."""
    history = agent.history
    if len(history.table) == 0:
        return Samples()
    return Samples(int(history.train_samples[-1]), int(history.eval_samples[-1]))


def table_of(agent: "Atlas") -> KnownTable:
    """The table of all data: one cell per leaf."""
    state, n = agent.state, agent.state.memory.n
    if state.table is None or state.table_samples != n:
        plan = agent.current_plan()
        row_of_node = np.where(plan.support.cells["feature"] == LEAF, plan.support.of_cell, -1)
        rows = _rows(plan, table_visits_of(agent, plan))
        state.table, state.table_samples = KnownTable(plan.table, row_of_node, rows), n
    return state.table


def table_policy(agent: "Atlas") -> Policy:
    """The table as a policy."""
    problem, table = agent.problem, table_of(agent)
    model, samples = LearnedModel(agent, agent.state.memory.n), samples_of(agent)
    knowledge = PlanKnowledge(agent.algorithm, agent.seed, samples, table=table, model=model)
    origin = f"{agent.algorithm} on {problem.name}, seed {agent.seed}"
    return Policy(problem, table.rules, "table", origin, knowledge, notes=agent.notes)


def _rows(plan: Plan, visits: Array) -> KnownRows:
    """By cell, which are the support points where episodes go on."""
    alive = np.flatnonzero(plan.support.ended == 0)
    q, best = plan.q[alive], plan.best[alive]
    second = q.copy()
    second[np.arange(len(q)), best] = -np.inf
    runner_up, runner_up_q = plan.actions[second.argmax(axis=1)], second.max(axis=1)
    if q.shape[1] == 1:
        runner_up, runner_up_q = np.full_like(runner_up, np.nan), np.full(len(q), np.nan)
    return KnownRows(plan.actions[best], q.max(axis=1), visits[alive], runner_up, runner_up_q)


# -- the controller of Atlas: a table, or a few laws from a Gaussian-process model of all data -----

TABLE_VARIABLES = 6  # variables: beyond, a table of points is too coarse to be worth its time
CONTRADICTION_SHARE = 0.1  # of the range of the rewards: less may be noise of what is observed


def final_plan(agent: "Atlas", n: int) -> Plan:
    """That of the first `n` samples, made from them alone, so that a loaded agent has it."""
    at_work("planning")
    draft = agent.plan_of(n, None)
    # two sets of support points: the table that does better in the models of both
    models = models_of(agent, draft)
    plans = [agent.plan_of(n, draft, fine=True, salt=salt) for salt in (0, 1)]
    return max(plans, key=lambda plan: rehearsed(agent.problem, agent.state.memory, plan, models))


def find_controller(agent: "Atlas", stop: threading.Event) -> None:
    """Finds the controller of all data. After Ctrl-C the best so far will do."""
    state, n = agent.state, agent.state.memory.n
    if agent.controller == "table":
        table_of(agent)
    elif n >= FEWEST and not _known(agent):
        _search(agent, n, stop)
        if state.tabled == n:
            table_of(agent)


def controller_of(agent: "Atlas") -> Tree:
    """What is evaluated, shown and exported. In training, laws are those found on the way."""
    state, n = agent.state, agent.state.memory.n
    if agent.controller == "table":
        return table_of(agent).rules
    if n < FEWEST:
        return _middle(agent)
    if not _known(agent) and state.guard.trainer is not None:
        latest = _latest(agent)
        return _middle(agent) if latest is None else latest.entry.tree
    if not _known(agent):
        with working("finding the controller"):
            find_controller(agent, threading.Event())
    return table_of(agent).rules if state.laws is None else state.laws.entry.tree


def _known(agent: "Atlas") -> bool:
    """Whether the controller of all data was found."""
    state, n = agent.state, agent.state.memory.n
    return state.tabled == n or (state.laws is not None and state.laws.samples == n)


def _latest(agent: "Atlas") -> Grown | None:
    """The laws that were found last."""
    state = agent.state
    known = [*state.grown, *([] if state.laws is None else [state.laws])]
    return max(known, key=lambda laws: laws.samples, default=None)


def _middle(agent: "Atlas") -> Tree:
    return constant(len(agent.problem.state), agent.actions[len(agent.actions) // 2])


def _search(agent: "Atlas", n: int, stop: threading.Event) -> None:
    """Laws from the model of all data or, where it does better in the model, the table of the plan.
    """
    from spaql.laws.in_model import laws_in

    state, problem, latest = agent.state, agent.problem_told, _latest(agent)
    state.tabled = 0
    if stop.is_set():
        state.laws = Grown(n, ScoredTree(_middle(agent), 0.0) if latest is None else latest.entry)
        return
    at_work("learning a model")
    model, earlier = model_at(agent, n), [laws.entry.tree for laws in state.grown[::-1]]
    offered = agent.controller == "best" and len(problem.state) <= TABLE_VARIABLES
    table = agent.current_plan().table if offered else None
    data = state.memory.data(n)
    best = laws_in(problem, model, data, agent.seed, earlier, table, stop=stop, device=agent.device)
    state.tabled = n if best.tree is table else 0
    state.laws = None if state.tabled else Grown(n, best)


def model_at(agent: "Atlas", n: int) -> Model:
    """Of the first `n` samples; what is known of reward and end is not learned."""
    models = agent.state.models
    if n not in models:
        models[n] = model_of(told_problem(agent, limits=False), agent.state.memory.data(n))
    return models[n]


def told_problem(agent: "Atlas", limits: bool = True) -> Problem:
    """With what laws may know of reward and end; `limits`: and what violated limits cost."""
    problem, n = agent.problem, agent.state.memory.n
    if not agent.use_known:
        problem = replace(problem, known=None)
    if not limits or n == 0:
        return problem
    return replace(problem, known=strict_known(problem, agent.state.memory.rewards[:n]))


def contradiction_of(agent: "Atlas") -> str:
    """Where recorded steps contradict the reward, or the end, that the problem knows, or ""."""
    known = agent.problem.known if agent.use_known else None
    data = agent.state.memory.data(agent.state.memory.n)
    if known is None or len(data.states) == 0:
        return ""
    known_outcomes = known.outcomes(data.states, data.actions, data.nexts)
    tolerance = CONTRADICTION_SHARE * float(np.ptp(data.rewards)) + ABSOLUTE
    seen = data.rewards, data.ended
    for kind, wrong in wrong_steps(known, known_outcomes, seen, tolerance).items():
        step = int(np.argmax(wrong))
        said = f"says {known_outcomes[0][step]:.4g}, paid was {data.rewards[step]:.4g}"
        if kind == "terminated":
            ended = "does not say that the episode ended", "says that an episode ended"
            said = ended[0] if data.ended[step] else ended[1]
        values = zip(agent.problem.state, data.nexts[step], strict=True)
        where = ", ".join(f"{axis.name} {x:.4g}" for axis, x in values)
        share = f"{int(wrong.sum())} of {len(data.states)} steps"
        first = f"first in step {step}, to {where}, it {said}"
        name = known.functions[kind].__name__
        return f"{kind} {name} is wrong in {share}; {first}: correct it, or use_known=False"
    return ""


def laws_policy(agent: "Atlas") -> Policy:
    """The laws as a policy."""
    known = Knowledge(learner=agent.algorithm, seed=agent.seed, samples=samples_of(agent))
    tree = controller_of(agent)
    kind = "law tree" if tree.laws is not None else "tree"
    origin = f"{agent.algorithm} on {agent.problem.name}, seed {agent.seed}"
    return Policy(agent.problem, tree, kind, origin, known, notes=agent.notes)
