"""The controller of Atlas: a table, or a few laws from a Gaussian-process model of all data."""

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spaql.errors import SpaqlError
from spaql.gp.problem import FEWEST, model_of
from spaql.learners.atlas.final_plan import plan_in_model
from spaql.learners.atlas.memory import LED
from spaql.learners.atlas.plan import Plan
from spaql.learners.atlas.policy import samples_of
from spaql.learners.atlas.state import Grown
from spaql.learners.law_frontier import Entry
from spaql.plants.known_check import ABSOLUTE, wrong_steps
from spaql.plants.problem import Problem
from spaql.plants.strict import strict_known
from spaql.policy.knowledge import Nothing
from spaql.policy.policy import Policy
from spaql.trees.edits import constant
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

TABLE_UP_TO = 6  # variables: beyond, a table of points is too coarse to be worth its time
IN_MODEL_UP_TO = 4  # variables: the same of a table that is learned in a model
CLEARLY = 0.1  # of the range of the rewards: less may be noise of what is observed


def controller_of(agent: "Atlas") -> Tree:
    """What is evaluated, shown and exported."""
    state, n = agent.state, agent.state.memory.n
    if agent.controller == "table" or (state.tabled == n and n > 0):
        return agent.current_plan().table
    if n < FEWEST:
        return constant(len(agent.problem.state), agent.actions[len(agent.actions) // 2])
    if state.laws is None or state.laws.samples != n:
        _judge(agent, n)
    return agent.current_plan().table if state.tabled == n or state.laws is None else state.laws.entry.tree


def _judge(agent: "Atlas", n: int) -> None:
    """Laws from the model of all data and, where they may be better, two tables: what does best in the model."""
    from spaql.laws.in_model import laws_in

    state, data, problem = agent.state, agent.state.memory.data(n), agent.problem_told
    model, earlier = model_of(problem, data), [one.entry.tree for one in state.grown[::-1]]
    plans: list[Plan] = []

    def other_table() -> Tree | None:
        if len(problem.state) <= IN_MODEL_UP_TO:
            with contextlib.suppress(SpaqlError):  # beyond all numbers, where the plant has never been
                plans.append(plan_in_model(agent, model, data))
        return plans[0].table if plans else None

    if agent.controller == "best" and len(problem.state) <= TABLE_UP_TO:
        table = agent.current_plan().table
        found = laws_in(problem, model, data, agent.seed, earlier, table, other_table=other_table)
    else:
        table, found = None, laws_in(problem, model, data, agent.seed, earlier)
    state.in_model = 0
    if plans and found.tree is plans[0].table:
        state.final, state.in_model = plans[0], n
    state.tabled = n if found.tree is table or state.in_model else 0
    state.laws = None if state.tabled else Grown(n, Entry(found.tree, float(found.returns.mean())))


def told_problem(agent: "Atlas") -> Problem:
    """The problem with what laws may know of reward and end; violated limits cost, where the reward is known."""
    if not agent.use_known:
        return replace(agent.problem, known=None)
    n = agent.state.memory.n
    if not agent.problem.limits or n == 0:
        return agent.problem
    return replace(agent.problem, known=strict_known(agent.problem, agent.state.memory.rewards[:n]))


def contradiction_of(agent: "Atlas") -> str:
    """Where recorded steps contradict the reward, or the end, that the problem knows; empty if they do not."""
    known, data = agent.problem.known if agent.use_known else None, agent.state.memory.data(agent.state.memory.n)
    if known is None or len(data.states) == 0:
        return ""
    told = known.outcomes(data.states, data.actions, data.nexts)
    tolerance = CLEARLY * float(np.ptp(data.rewards)) + ABSOLUTE
    for kind, wrong in wrong_steps(known, told, (data.rewards, data.ended), tolerance).items():
        step = int(np.argmax(wrong))
        said = f"says {told[0][step]:.4g}, paid was {data.rewards[step]:.4g}"
        if kind == "terminated":
            said = "does not say that the episode ended" if data.ended[step] else "says that an episode ended"
        where = ", ".join(f"{axis.name} {x:.4g}" for axis, x in zip(agent.problem.state, data.nexts[step], strict=True))
        share, first = f"{int(wrong.sum())} of {len(data.states)} steps", f"first in step {step}, to {where}, it {said}"
        name = known.functions[kind].__name__
        return f"{kind} {name} is wrong in {share}; {first}: correct it, or use_known=False"
    return ""


def notes_of(agent: "Atlas") -> tuple[str, ...]:
    """What speaks against the controller, as far as it is known without a search."""
    if agent.state.memory.n == 0:
        return ("nothing was learned yet: it always applies the same action",)
    wrong = "" if agent.controller == "table" else contradiction_of(agent)
    return (wrong, *_notes_of_laws(agent)) if wrong else _notes_of_laws(agent)


def _notes_of_laws(agent: "Atlas") -> tuple[str, ...]:
    laws, memory, unlimited = agent.state.laws, agent.state.memory, _unlimited(agent)
    if laws is None or laws.samples != memory.n:
        return unlimited
    if laws.entry.tree.laws is None:
        return ("no law better than one constant action was found in the model: give it more samples, or the table",)
    if not (memory.flags[: memory.n] & LED).any():
        untried = "no laws have controlled an episode on the plant yet: their return is only predicted by the model"
        return (untried, *unlimited)
    return unlimited


def _unlimited(agent: "Atlas") -> tuple[str, ...]:
    """That laws are searched without the limits, which is known before the search."""
    n = agent.state.memory.n
    if not agent.problem.limits or agent.controller == "table" or n < FEWEST or agent.state.tabled == n:
        return ()
    known = agent.problem_told.known
    if known is not None and known.reward is not None:
        return ()
    return ("the search for laws ignored the limits, because the reward is not known (problem.known)",)


def laws_policy(agent: "Atlas") -> Policy:
    """The laws as a policy."""
    known = Nothing(learner=agent.algorithm, seed=agent.seed, samples=samples_of(agent))
    tree = controller_of(agent)
    kind = "law tree" if tree.laws is not None else "tree"
    origin = f"{agent.algorithm} on {agent.problem.name}, seed {agent.seed}"
    return Policy(agent.problem, tree, kind, origin, known, notes=agent.notes)
