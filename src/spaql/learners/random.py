"""Random: uniform over the action space. The yardstick below which nothing was learned."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.ground.checks import bit, real
from spaql.ground.errors import SpaqlError
from spaql.learners.forest_agent import ForestAgent, new_state
from spaql.learners.options import learner, option
from spaql.learners.outer import new_outer
from spaql.learners.update import Rule
from spaql.plants.problem import Continuous
from spaql.policy.evaluation import Evaluation


@learner
class Random(ForestAgent):
    """Uniform over the action space, or over part of it.

    The paper's Random on Pendulum draws torques in [0, 2] only: `Random(problem, low=0.0)`, about -1340; over the whole
    range it is about -1230.
    """

    algorithm = "Random"
    low: float | None = option(
        "lowest action drawn (only for one continuous action; default: its lower bound)",
        default=None,
    )
    high: float | None = option("highest action drawn (default: its upper bound)", default=None)

    def _begin(self) -> None:
        if self.low is not None or self.high is not None:
            actions = self.problem.actions
            if not isinstance(actions, Continuous) or actions.axes != 1:
                raise SpaqlError("low and high restrict one continuous action: this problem has another action space")
            bottom = real("low", actions.low[0] if self.low is None else self.low, actions.low[0], actions.high[0])
            top = real("high", actions.high[0] if self.high is None else self.high, bottom, actions.high[0], above=True)
            self.chart = replace(self.problem, actions=replace(actions, low=(bottom,), high=(top,))).chart()
        self.rule = Rule(0.0, math.inf, 0, 0, np.zeros(len(self.problem.state)))
        self.state = new_state(self.problem.space(), new_outer(0.0, 0.0), alone=True)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """A random action, whatever `deterministic` says: there is no other."""
        bit("deterministic", deterministic)
        return super().predict(observation, state, episode_start, deterministic=False)

    def evaluate(self, episodes: int = 1000, seed: int = 0, *, deterministic: bool = False) -> Evaluation:
        """Fresh rollouts of random actions, whatever `deterministic` says."""
        bit("deterministic", deterministic)
        return super().evaluate(episodes, seed, deterministic=False)
