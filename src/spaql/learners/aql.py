"""AQL: adaptive Q-learning, one partition per step of the episode."""

import math

import numpy as np

from spaql.ground.arrays import Array
from spaql.learners import aql_steps
from spaql.learners.forest_agent import ForestAgent
from spaql.learners.options import learner, number, one_of, option
from spaql.learners.outer import new_outer
from spaql.learners.spaql import DEFAULT_XI
from spaql.learners.state import new_state
from spaql.learners.update import ADAPTIVE, Rule
from spaql.partition.forest import Forest
from spaql.plants.axes import Space
from spaql.plants.chart import HUGE


@learner
class PerStepAgent(ForestAgent):
    """Base of the learners with one partition per step of the episode: greedy while training; no best agent is kept."""

    xi: float | None = option(
        "scale of the exploration bonus (default: the paper's for AQL on this problem, else 1)",
        number(0.0, HUGE),
        default=None,
    )
    bootstrap: str = option(
        '"paper" uses the value of the next state also when the episode has terminated, "terminate" sets it to 0 then',
        one_of("paper", "terminate"),
        default="paper",
    )

    def _begin_with(self, kind: int, space: Space, forest: Forest | None = None, lipschitz: float = 0.0) -> None:
        """`kind` of partition, and the forest to begin with, if not one ball per step."""
        xi = self._scale()
        terminate = int(self.bootstrap == "terminate")
        self.rule = Rule(xi, math.inf, 0, terminate, np.zeros(len(self.problem.state)), kind, lipschitz)
        self.state = new_state(space, new_outer(0.0, 0.0), alone=True, forest=forest)

    def _scale(self) -> float:
        """xi; by default that of AQL for all learners of this kind, so that they can be compared."""
        if self.xi is None:
            self.xi = self.problem.xi.get(self.algorithm, self.problem.xi.get(AQL.algorithm, DEFAULT_XI))
        return self.xi

    def _learn(self, action: Array, step: int, reward: float, terminated: bool) -> None:
        state = self.state
        assert state.scratch is not None
        aql_steps.learn_outside(state.forest, state.space, self.rule, state.scratch, action, step, reward, terminated)


@learner
class AQL(PerStepAgent):
    """A policy that depends on the step of the episode.

    From outside data it updates its greedy ball, whatever the action.
    """

    algorithm = "AQL"

    def _begin(self) -> None:
        self._begin_with(ADAPTIVE, self.problem.space(self.problem.horizon))
