"""What goes in and out of a Gymnasium environment: observations and rewards checked, actions in its form."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.chart import HUGE
from spaql.plants.problem import Problem

if TYPE_CHECKING:
    from spaql.learners.agent import Agent

# -- what is said of a compiled plant that gives numbers nobody can learn from -----------------------------------------

def bad_reward(problem: Problem, where: str) -> SpaqlError:
    return SpaqlError(f"the plant of {problem.name} gave a reward that is not finite ({where})")


def bad_state(problem: Problem, dimension: int, value: float, where: str) -> SpaqlError:
    """Of an observation that is not finite, or outside the declared bounds."""
    axis = problem.state[dimension]
    if not math.isfinite(value) or axis.slope is not None:
        return SpaqlError(
            f"the plant of {problem.name} gave a state that is not finite: {axis.name} is {value:g} ({where})"
        )
    return SpaqlError(
        f"the plant of {problem.name} left its declared bounds: "
        f"{axis.name} = {value:g} is not in {axis.low:g} ... {axis.high:g} ({where}): "
        "widen the axis, or give it a slope; the state after the last step of an episode counts, too"
    )


# -- what goes in and out of a Gymnasium environment: observations and rewards checked, actions in its form ------------

class Viewer:
    """Checks what an environment returns, before compiled code reads it."""

    def __init__(self, agent: "Agent", where: str) -> None:
        self.agent, self.where, self.shape = agent, where, (len(agent.problem.state),)

    def check(self, observation: Any, step: int) -> Array:
        if type(observation) is np.ndarray and observation.shape == self.shape and observation.dtype.char in "df":
            return observation if observation.flags.c_contiguous else observation.copy()
        try:
            array = np.asarray(observation, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            where = f"{self.where}, step {step}"
            raise SpaqlError(
                f"the environment returned an observation that is not an array of numbers ({where})"
            ) from error
        if array.shape != self.shape:
            where = f"{self.where}, step {step}"
            raise SpaqlError(
                f"the environment returned an observation of shape {array.shape}, declared was {self.shape} ({where})"
            )
        return np.ascontiguousarray(array)

    def reward(self, reward: Any, step: int) -> float:
        try:
            value = float(reward.item() if isinstance(reward, np.ndarray) else reward)
        except (TypeError, ValueError, OverflowError) as error:
            raise SpaqlError(
                f"the environment returned the reward {echoed(reward)}, not a number ({self.where}, step {step})"
            ) from error
        if not abs(value) <= HUGE and self.agent.problem.plant is not None:
            raise bad_reward(self.agent.problem, f"{self.where}, step {step}")
        if not abs(value) <= HUGE:
            raise SpaqlError(
                f"the environment returned the reward {value}: rewards must be finite ({self.where}, step {step})"
            )
        return value

    def complain(self, bad: int, observation: Any, step: int) -> None:
        """Raise if a dimension of the observation is bad, which -1 says is not so."""
        if bad >= 0 and self.agent.problem.plant is not None:
            raise bad_state(self.agent.problem, bad, float(observation[bad]), f"{self.where}, step {step}")
        self.agent.observation_error(bad, observation, f"the environment's observation ({self.where}, step {step})")


def observation_dtype(env: Any) -> np.dtype[Any]:
    """The type in which observations are handed on: single precision stays single, all else becomes double."""
    return np.dtype(np.float32 if env.observation_space.dtype == np.float32 else np.float64)
