"""Random: uniform over the action space. The yardstick below which nothing was learned."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.checks import real
from spaql.errors import SpaqlError
from spaql.learners.agent import Agent
from spaql.learners.state import new_state
from spaql.learners.update import Rule
from spaql.plants.problem import Continuous, Problem
from spaql.training.history import Evaluation
from spaql.training.outer import new_outer


class Random(Agent):
    """Uniform over the action space, or over part of it.

    - `low`, `high`: plays only actions in this interval (continuous actions of one axis). The paper's Random on Pendulum plays torques
      in [0, 2] only: `Random(problem, low=0.0)`, about -1340; over the whole range it is about -1230.
    """

    algorithm = "Random"

    def __init__(self, problem: Problem, *, low: float | None = None, high: float | None = None, seed: int = 0) -> None:
        self._set_up(problem, seed, {"low": low, "high": high})
        if low is not None or high is not None:
            actions = problem.actions
            if not isinstance(actions, Continuous) or len(actions.low) != 1:
                raise SpaqlError("low and high restrict one continuous action: this problem has another action space")
            bottom = real("low", actions.low[0] if low is None else low, actions.low[0], actions.high[0])
            top = real("high", actions.high[0] if high is None else high, bottom, actions.high[0], above=True)
            self.chart = replace(problem, actions=replace(actions, low=(bottom,), high=(top,))).chart()
        self.rule = Rule(0.0, math.inf, 0, 0, np.zeros(len(problem.state)))
        self.state = new_state(problem.space(), new_outer(0.0, 0.0), alone=True)

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """A random action, whatever `deterministic` says: there is nothing else to play."""
        return super().predict(observation, state, episode_start, deterministic=False)

    def evaluate(self, episodes: int = 1000, seed: int = 0, *, deterministic: bool = False) -> Evaluation:
        """Fresh rollouts of random actions, whatever `deterministic` says."""
        return super().evaluate(episodes, seed, deterministic=False)

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        raise SpaqlError("Random does not learn")
