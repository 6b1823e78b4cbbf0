"""What the engineer knows: reward and end of an episode, as plain Python functions of plain numbers.

    def reward(x, angle, v, w, force, next_x, next_angle, next_v, next_w):
        return 1.0 if abs(next_angle) <= 0.2 else 0.0

Both functions take the same: the observation, the action, the next observation, in physical units. They are compiled
like the functions of a plant, so that a look-ahead in a learned model can call them at every step.
"""

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers
from spaql.ground.compiling import kernel
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.numba_version import types as nb
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.compile import assembled, check_parameters

# A compiled outcome takes observation, action and next observation, one behind the other, and fills (reward, done).
# What was not given is NaN. Its type is the same for all problems: a kernel that takes it is compiled once.
SIGNATURE = nb.void(nb.Array(nb.float64, 1, "C"), nb.Array(nb.float64, 1, "C"))
Outcome = Callable[[Array, Array], None]  # what SIGNATURE is to mypy
REWARD = 0  # place in what an outcome fills
DONE = 1  # 1.0 where the episode ends, else 0.0

Function = Callable[..., Any]


@kernel
def outcomes(outcome: Outcome, observations: Array, actions: Array, after: Array, x: Array, result: Array) -> None:
    """Fill the rows (reward, done) of `result`. `x` has room for one step."""
    d, axes = observations.shape[1], actions.shape[1]
    for i in range(len(observations)):
        for j in range(d):
            x[j] = observations[i, j]
            x[d + axes + j] = after[i, j]
        for j in range(axes):
            x[d + j] = actions[i, j]
        outcome(x, result[i])


def known_outcome(
    reward: Function | None, terminated: Function | None, state: Sequence[Axis], actions: Continuous | Finite
) -> "KnownOutcome | None":
    """What a user gives, checked but for its values; None if nothing is given."""
    if reward is None and terminated is None:
        return None
    known = KnownOutcome(reward, terminated, len(state), actions.axes)
    for kind, function in known.functions.items():
        if not inspect.isfunction(function):
            raise SpaqlError(f"{kind} must be a plain Python function of numbers, not {type(function).__name__}")
        check_parameters(function)
        taken, wanted = len(inspect.signature(function).parameters), 2 * len(state) + actions.axes
        if taken != wanted:
            seen = ", ".join(axis.name for axis in state)
            applied = ", ".join(actions.names) or ("one number" if actions.axes == 1 else f"{actions.axes} numbers")
            order = f"the observation ({seen}), then the action ({applied}), then the next observation ({seen})"
            raise SpaqlError(f"{kind} {function.__name__} takes {taken} numbers, but must take {wanted}: {order}")
    return known


def said(kind: str, function: Function, arguments: Sequence[float]) -> float:
    """What plain Python says of one step: compiled code neither raises nor returns anything but numbers."""
    called = f"{kind} {function.__name__}({', '.join(f'{value:.6g}' for value in arguments)})"
    try:
        value = function(*arguments)
    except Exception as error:  # the user's code may raise anything; it becomes one line that names the function
        raise SpaqlError(f"{called} failed: {' '.join(repr(error).split())}") from error
    if kind == "terminated":
        if not isinstance(value, bool | int | float | np.number | np.bool_) or value not in (0, 1):
            raise SpaqlError(f"{called} must return True or False, not {echoed(value)}")
    elif not isinstance(value, int | float | np.number | np.bool_) or not math.isfinite(value):
        raise SpaqlError(f"{called} must return a finite number, not {echoed(value)}")
    return float(value)


@dataclass(frozen=True)
class KnownOutcome:
    """Reward and end of an episode as functions of observation, action and next observation; None where not known."""

    reward: Function | None
    terminated: Function | None
    observation_dim: int
    action_dim: int
    cost: Function | None = None  # of action and next observation: what violated limits cost in a model (strict.py)
    # the function that made it, and its arguments, where its own functions cannot be found by name
    origin: tuple[Callable[..., Any], tuple[Any, ...]] | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def compiled(self) -> Outcome:
        """`outcome(x, out)` for kernels: x is observation, action and next observation, out becomes (reward, done)."""
        given = ", ".join(f"x[{j}]" for j in range(2 * self.observation_dim + self.action_dim))
        lines = ["    out[0] = nan", "    out[1] = nan"]
        if self.reward is not None:  # asked for its truth, a value that may be None does not compile
            lines[REWARD] = f"    value = reward({given})\n    out[0] = value if value else 0.0"
        if self.terminated is not None:
            lines[DONE] = f"    out[1] = 1.0 if terminated({given}) else 0.0"
        return assembled("outcome", "(x, out)", "\n".join(lines), self.functions, SIGNATURE)  # type: ignore[no-any-return]

    @property
    def functions(self) -> dict[str, Function]:
        """What is known, by name."""
        all_of_them = {"reward": self.reward, "terminated": self.terminated, "cost": self.cost}
        return {name: function for name, function in all_of_them.items() if function is not None}

    def outcomes(self, observations: Any, actions: Any, next_observations: Any) -> tuple[Array, Array]:
        """Rewards (n,) and ends (n,), 1.0 or 0.0, of n steps in physical units; NaN for what is not known."""
        before = numbers("observations", observations, (-1, self.observation_dim))
        applied = numbers("actions", actions, (len(before), self.action_dim))
        after = numbers("next_observations", next_observations, (len(before), self.observation_dim))
        result = np.empty((len(before), 2))
        outcomes(self.compiled, before, applied, after, np.empty(2 * self.observation_dim + self.action_dim), result)
        return result[:, REWARD].copy(), result[:, DONE].copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Functions of ours cannot be found by name: pickled by what they were made from."""
        return super().__reduce_ex__(protocol) if self.origin is None else self.origin

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled code, which cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "compiled"}

    def __deepcopy__(self, memo: Any) -> "KnownOutcome":
        return self  # nothing in it changes, and compiled functions cannot be copied
