"""NBQL: net-based Q-learning, a fixed net of cells per step of the episode. With finitely many states it is tabular Q-learning."""

from typing import Any

from spaql.checks import real
from spaql.errors import SpaqlError
from spaql.learners.agent import Agent
from spaql.learners.aql import rule_per_step, update_per_step
from spaql.learners.state import new_state
from spaql.learners.update import NET
from spaql.partition.forest import MAX_DEPTH, Space
from spaql.partition.net import depth_of, net_size, new_net
from spaql.plants.problem import Problem
from spaql.training.outer import new_outer

DEFAULT_STEPS, DEFAULT_BALLS = (0.25, 0.5), 2**20  # the first net that is small enough, else the last
MAX_NET = 2**24  # balls: about 1 GB while training


class NBQL(Agent):
    """Q-learning with a bonus on a fixed net of the state-action cube; a policy that depends on the step of the episode.

    - `step`: of the net, in the cube: no point is farther from the centre of its cell (default 0.25, four cells along every axis; 0.5 where
      that would be more than a million cells). Cells come from halving: 0.3 gives the net of 0.25. Every action of a finite set has its
      own cell.
    - `xi`: scale of the exploration bonus (default: AQL's for the problem, else 1)
    - `bootstrap`: "paper" looks at the next state's value also when the episode has terminated, "terminate" does not
    """

    algorithm = "NBQL"
    per_step = True

    def __init__(
        self, problem: Problem, *, step: float | None = None, xi: float | None = None, bootstrap: str = "paper", seed: int = 0
    ) -> None:
        self._set_up(problem, seed, {"step": step, "xi": xi, "bootstrap": bootstrap})
        self.rule = rule_per_step(self, NET)
        space = problem.space(problem.horizon)
        space = space._replace(cut=max(space.m, 2))
        if step is None:
            fitting = [step for step in DEFAULT_STEPS if net_size(space, depth_of(step)) <= DEFAULT_BALLS]
            self.options["step"] = fitting[0] if fitting else DEFAULT_STEPS[-1]
        depth = depth_of(real("step", self.options["step"], 0.5**MAX_DEPTH, 0.5))
        self.state = new_state(space, new_outer(0.0, 0.0), True, new_net(space, _affordable(space, depth)))

    def update(self, obs: Any, action: Any, reward: Any, next_obs: Any, terminated: bool = False, step: int = 0) -> None:
        """One learning step from outside data at step `step` of its episode; the cell of `obs` and `action` is updated."""
        update_per_step(self, obs, action, reward, next_obs, terminated, step)


def _affordable(space: Space, depth: int) -> int:
    size = net_size(space, depth)
    if size > MAX_NET:
        raise SpaqlError(
            f"a net of step {0.5**depth:g} over {space.d} variables, the actions and {space.trees} time steps has {size:,} cells, at most "
            f"{MAX_NET:,} are possible: use a larger step (up to 0.5), or a learner that cuts only where it comes to"
        )
    return depth
