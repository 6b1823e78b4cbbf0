"""What is said of a compiled plant that gives numbers nobody can learn from."""

import math

from spaql.errors import SpaqlError
from spaql.plants.problem import Problem


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
