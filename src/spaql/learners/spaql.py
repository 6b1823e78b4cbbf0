"""SPAQL: single-partition adaptive Q-learning."""

import math
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import choice, real
from spaql.learners import spaql_steps
from spaql.learners.agent import Agent
from spaql.learners.state import new_state
from spaql.learners.update import Rule
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.training.outer import TAU, new_outer

TEMPERATURE_RULES = ("published", "paper")
BOOTSTRAPS = ("paper", "terminate")
DEFAULT_XI = 1.0  # for problems the paper does not have


class SPAQL(Agent):
    """One partition for all steps of the episode; Boltzmann exploration; the best agent seen is kept.

    - `xi`: scale of the exploration bonus (default: the paper's for the problem, else 1)
    - `tau_min`, `u`, `d`: lowest temperature, its growth, and the exponent that damps the growth after every improvement
    - `temperature_rule`: "published" follows the authors' program, "paper" the paper's pseudocode
    - `bootstrap`: "paper" never zeroes the value of the next state, "terminate" does when the episode has terminated
    """

    algorithm = "SPAQL"

    def __init__(
        self, problem: Problem, *, xi: float | None = None, tau_min: float = 0.01, u: float = 2.0, d: float = 0.8,
        temperature_rule: str = "published", bootstrap: str = "paper", seed: int = 0,
    ) -> None:  # fmt: skip
        options = {"xi": xi, "tau_min": tau_min, "u": u, "d": d, "temperature_rule": temperature_rule, "bootstrap": bootstrap}
        self._set_up(problem, seed, options)
        set_up_spaql(self, lam=math.inf, sup=False, reference=np.zeros(len(problem.state)))

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        with self.state.guard.write():
            update_spaql(self, obs, action, reward, next_obs, terminated, step)


def set_up_spaql(agent: Agent, lam: float, sup: bool, reference: Array) -> None:
    """Check the options SPAQL and SPAQL-TS share, and start with one ball."""
    options, problem = agent.options, agent.problem
    if options["xi"] is None:
        options["xi"] = problem.xi.get(agent.algorithm, DEFAULT_XI)
    xi = real("xi", options["xi"], 0.0, HUGE)
    tau_min, u = real("tau_min", options["tau_min"], 0.0, above=True), real("u", options["u"], 1.0)
    real("d", options["d"], 0.0, 1.0)
    choice("temperature_rule", options["temperature_rule"], TEMPERATURE_RULES)
    terminate = choice("bootstrap", options["bootstrap"], BOOTSTRAPS) == "terminate"
    agent.rule = Rule(xi, lam, int(sup), int(terminate), reference)
    agent.state = new_state(problem.space(), new_outer(tau_min, u), alone=False)


def update_spaql(agent: Agent, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool, step: int) -> None:
    """Update the agent itself; the next `learn` call starts from it and evaluates it first."""
    inner, value, _ = agent._take(obs, action, reward, next_obs, step)
    state = agent.state
    assert state.scratch is not None
    spaql_steps.learn_outside(state.forest, state.space, agent.rule, state.scratch, inner, value, bool(terminated))
    state.touched()
    state.outer[TAU] = agent.options["tau_min"]
