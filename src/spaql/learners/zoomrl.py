"""ZoomRL: zooming by confidence and by a Lipschitz constant, one partition per step of the episode."""

from typing import Any

import numpy as np

from spaql.checks import real
from spaql.learners.agent import Agent
from spaql.learners.aql import rule_per_step, update_per_step
from spaql.learners.state import new_state
from spaql.learners.update import ZOOM
from spaql.partition.forest import CAP, ESTIMATE, new_forest
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem
from spaql.training.outer import new_outer

DEFAULT_LIPSCHITZ = 1.0  # where there is no bonus to compare with


class ZoomRL(Agent):
    """Plays the ball with the largest index; a ball is cut when its bonus is no more than what Q may vary in it.

    - `lipschitz`: constant L of the optimal Q in the cube, sup metric (default: `xi`; balls are then cut after 4^depth visits)
    - `xi`: scale of the exploration bonus (default: AQL's for the problem, else 1)
    - `bootstrap`: "paper" looks at the next state's value also when the episode has terminated, "terminate" does not
    """

    algorithm = "ZoomRL"
    per_step = True

    def __init__(
        self, problem: Problem, *, lipschitz: float | None = None, xi: float | None = None, bootstrap: str = "paper", seed: int = 0
    ) -> None:
        self._set_up(problem, seed, {"lipschitz": lipschitz, "xi": xi, "bootstrap": bootstrap})
        rule = rule_per_step(self, ZOOM)
        if lipschitz is None:
            self.options["lipschitz"] = self.options["xi"] or DEFAULT_LIPSCHITZ
        self.rule = rule._replace(lipschitz=real("lipschitz", self.options["lipschitz"], 0.0, HUGE, above=True))
        space = problem.space(problem.horizon)
        forest = new_forest(space)
        forest = forest._replace(bounds=np.zeros((len(forest.balls), 3)))
        forest.bounds[: space.trees, ESTIMATE] = space.horizon
        forest.bounds[: space.trees, CAP] = np.inf  # nothing lies around the largest balls
        forest.balls["q"][: space.trees] = space.horizon + self.rule.lipschitz  # (8)
        self.state = new_state(space, new_outer(0.0, 0.0), True, forest)

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        """One learning step from outside data at step `step` of its episode; the ball of `obs` and `action` is updated."""
        update_per_step(self, obs, action, reward, next_obs, terminated, step)
