"""AQL: adaptive Q-learning, one partition per step of the episode."""

import math
from typing import Any

import numpy as np

from spaql.checks import choice, real
from spaql.learners import aql_steps
from spaql.learners.agent import Agent
from spaql.learners.spaql import BOOTSTRAPS, DEFAULT_XI
from spaql.learners.state import new_state
from spaql.learners.update import ADAPTIVE, Rule
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.training.outer import new_outer


class AQL(Agent):
    """A policy that depends on the step of the episode; greedy while training; no best agent is kept.

    - `xi`: scale of the exploration bonus (default: the paper's for the problem, else 1)
    - `bootstrap`: "paper" looks at the next state's value also when the episode has terminated, "terminate" does not
    """

    algorithm = "AQL"
    per_step = True

    def __init__(self, problem: Problem, *, xi: float | None = None, bootstrap: str = "paper", seed: int = 0) -> None:
        self._set_up(problem, seed, {"xi": xi, "bootstrap": bootstrap})
        self.rule = rule_per_step(self, ADAPTIVE)
        self.state = new_state(problem.space(problem.horizon), new_outer(0.0, 0.0), alone=True)

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        """One learning step from outside data at step `step` of its episode; AQL updates its greedy ball, whatever the action."""
        update_per_step(self, obs, action, reward, next_obs, terminated, step)


def rule_per_step(agent: Agent, kind: int) -> Rule:
    """Check the options AQL, NBQL and ZoomRL share. NBQL and ZoomRL have AQL's scale of the bonus as default, so that they compare."""
    options, problem = agent.options, agent.problem
    if options["xi"] is None:
        options["xi"] = problem.xi.get(agent.algorithm, problem.xi.get("AQL", DEFAULT_XI))
    terminate = choice("bootstrap", options["bootstrap"], BOOTSTRAPS) == "terminate"
    return Rule(real("xi", options["xi"], 0.0, HUGE), math.inf, 0, int(terminate), np.zeros(len(problem.state)), kind)


def update_per_step(agent: Agent, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool, step: int) -> None:
    """One learning step from outside data at step `step` of its episode."""
    with agent.state.guard.write():
        inner, value, at = agent._take(obs, action, reward, next_obs, step)
        state = agent.state
        assert state.scratch is not None
        aql_steps.learn_outside(state.forest, state.space, agent.rule, state.scratch, inner, at, value, bool(terminated))
        state.touched()
