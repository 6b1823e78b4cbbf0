"""The plan of all data, whose table may be the controller: by neighbours in the data, or in a Gaussian-process model.

After some hundred samples neighbours are far apart, and a table that follows them is coarse; a Gaussian process fills
the gaps. So Atlas learns once more, with the model as its plant, where samples cost nothing.
"""

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.gp.data import Data
from spaql.gp.model import Model
from spaql.gp.problem import imagined, model_of, starts_of
from spaql.gp.references import stretch_of
from spaql.learners.atlas.imagine import rehearsed
from spaql.learners.atlas.plan import Plan
from spaql.progress import at_work, working

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

STEPS, PER_SAMPLE, MOST = 5000, 3, 20_000  # steps in a model: at least, more by sample of the plant, at most
SMOOTH = 2  # neighbours per variable, and as many more: the mean function has no noise that more of them would even out


def final_plan(agent: "Atlas", n: int) -> Plan:
    """That of the first `n` samples: made from them alone, not from plans on the way, so that a loaded agent has it."""
    state = agent.state
    at_work("planning")
    if state.in_model == n:
        problem, data = agent.problem_told, state.memory.data(n)
        return plan_in_model(agent, model_of(problem, data), data, threading.Event())
    draft = agent.plan_of(n, None)
    # two sets of support points: the table that does better in the models, which are the same for both
    plans, models = [agent.plan_of(n, draft, salt) for salt in (0, 1)], agent.models(draft)
    return max(plans, key=lambda plan: rehearsed(agent.problem, state.memory, plan, models))


def plan_in_model(agent: "Atlas", model: Model, data: Data, stop: threading.Event) -> Plan:
    """The plan of another agent, whose plant is the model's mean function; SpaqlError where that runs away."""
    n = len(data.states)
    rng = np.random.default_rng([agent.seed, n])
    problem = replace(agent.problem_told, horizon=stretch_of(agent.problem.horizon, data), limits=())
    mean = imagined(problem, model, data, starts_of(problem, data, rng), rng)
    near = SMOOTH * (1 + len(problem.state)) if agent.neighbours is None else agent.neighbours
    other = type(agent)(mean, seed=agent.seed, **agent.options | {"controller": "table", "neighbours": near})
    steps = min(STEPS + PER_SAMPLE * n, MOST)
    # as in the search: a loaded agent makes the same plan, to the last bit
    with threadpool_limits(1, "blas"), working("learning a table in the model", total=steps):
        other.train(steps, stop)
        return replace(other.current_plan(), samples=n)
