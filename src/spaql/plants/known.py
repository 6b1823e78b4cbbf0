"""What the engineer knows: reward and end of an episode, as plain Python functions of plain numbers.

    def reward(x, angle, v, w, force, next_x, next_angle, next_v, next_w):
        return 1.0 if abs(next_angle) <= 0.2 else 0.0

Both functions take the same: the observation, the action, the next observation, in physical units. They are compiled
like the functions of a plant, so that a look-ahead in a learned model can call them at every step.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import depth, numbers
from spaql.ground.compiling import kernel
from spaql.ground.errors import SpaqlError, echoed, named
from spaql.ground.numba_public import types as nb
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.compile import Remade, assembled, check_parameters
from spaql.plants.plant import Plant
from spaql.plants.problem import Problem, random_action

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


def called(kind: str, function: Function, arguments: Sequence[float]) -> tuple[str, Any]:
    """The call as messages name it, and what it gives."""
    text = f"{kind} {function.__name__}({', '.join(f'{value:.6g}' for value in arguments)})"
    try:
        return text, function(*arguments)
    except Exception as error:  # the user's code may raise anything; it becomes one line that names the function
        raise SpaqlError(f"{text} failed: {error!r}") from error


def said(kind: str, function: Function, arguments: Sequence[float]) -> float:
    """What plain Python says of one step: compiled code neither raises nor returns anything but numbers."""
    text, value = called(kind, function, arguments)
    if kind in ("terminated", "over"):
        if not isinstance(value, bool | int | float | np.number | np.bool_) or value not in (0, 1):
            raise SpaqlError(f"{text} must return True or False, not {echoed(value)}")
    elif not isinstance(value, int | float | np.number | np.bool_) or not math.isfinite(value):
        raise SpaqlError(f"{text} must return a finite number, not {echoed(value)}")
    return float(value)


@dataclass(frozen=True)
class KnownOutcome(Remade):
    """Reward and end of an episode as functions of observation, action and next observation; None where not known."""

    reward: Function | None
    terminated: Function | None
    observation_dim: int
    action_dim: int
    cost: Function | None = None  # of action and next observation: what violated limits cost in a model (strict.py)
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


# -- whether these functions say what the plant pays, step by step -----------------------------------------------------

STEPS = 200  # random steps on which functions are checked when they are given
EPISODE = 50  # at most so many of one episode, so that there are several starts
IN_PYTHON = 200  # of so many steps plain Python is asked too, because it says in words what is wrong
RELATIVE = 1e-6  # of the largest reward
ABSOLUTE = 1e-9
SINGLE = 1e-4  # of the range of rewards, where observations are rounded to single precision
FIX = "correct it, or leave it out if what is observed does not decide it"


class Steps(NamedTuple):
    """Steps of a plant, one per row, in physical units: what `check_known` takes."""

    observations: Array
    actions: Array
    rewards: Array
    next_observations: Array
    terminated: Array


def check_known(
    problem: Problem, observations: Any, actions: Any, rewards: Any, next_observations: Any, terminated: Any
) -> None:
    """Raise `SpaqlError` for the first step at which `reward` or `terminated` of the problem say something else.

    Steps are rows, in physical units. Rewards may differ by 1e-6 of the largest one (or 1e-9), with observations in
    single precision by 1e-4 of their range.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"check_known takes a problem, not {type(problem).__name__}")
    known = problem.known
    if known is None:
        raise SpaqlError(
            f"neither reward nor end of {problem.name} is known: give reward=... or terminated=... when you make it"
        )
    before = numbers("observations", observations, (-1, known.observation_dim))
    count = len(before)
    flat = depth("actions", actions) == 1 and known.action_dim == 1
    applied = numbers("actions", np.reshape(actions, (-1, 1)) if flat else actions, (count, known.action_dim))
    after = numbers("next_observations", next_observations, (count, known.observation_dim))
    paid, ended = numbers("rewards", rewards, (count,)), numbers("terminated", terminated, (count,))
    for row in np.hstack([before, applied, after])[:IN_PYTHON].tolist():
        for kind, function in known.functions.items():
            said(kind, function, row)
    values, ends = known.outcomes(before, applied, after)
    wrong = wrong_steps(known, (values, ends), (paid, ended), _tolerance(problem, paid))
    if not wrong:
        return
    step, kind = min((int(np.argmax(steps)), kind) for kind, steps in wrong.items())
    names = [axis.name for axis in problem.state]
    where = f"observation ({named(names, before[step])}), action ({', '.join(f'{a:.6g}' for a in applied[step])})"
    where += f", next observation ({named(names, after[step])})"
    theirs, ours = f"paid {paid[step]:.9g}", f"{values[step]:.9g}"
    if kind == "terminated":
        theirs, ours = "ended the episode" if ended[step] else "went on", "it ends" if ends[step] else "it goes on"
    name = known.functions[kind].__name__
    both = f"{problem.name} {theirs}, {name} says {ours}"
    raise SpaqlError(f"{kind} {name} is wrong at step {step}: {where}: {both}; {FIX}")


def wrong_steps(
    known: KnownOutcome, stated: tuple[Array, Array], seen: tuple[Array, Array], tolerance: float
) -> dict[str, Array]:
    """By what is known and not always right: the steps in which it is wrong. `told`, `seen`: rewards and ends."""
    wrong = {
        "reward": ~(np.abs(stated[0] - seen[0]) <= tolerance),  # NaN is wrong too
        "terminated": stated[1] != (seen[1] != 0.0),
    }
    return {kind: wrong[kind] for kind in known.functions if wrong[kind].any()}


def _tolerance(problem: Problem, paid: Array) -> float:
    tolerance = max(ABSOLUTE, RELATIVE * float(np.abs(paid).max(initial=0.0)))
    if problem.env is not None and problem.env.observation_space.dtype in (np.float32, np.float16):
        return max(tolerance, SINGLE * float(np.ptp(paid)) if len(paid) else 0.0)
    return tolerance


def check_with_plant(problem: Problem) -> None:
    """As `check_known`, on random steps of the plant in plain Python: nothing of it need be compiled yet."""
    assert problem.plant is not None
    check_known(problem, *_plant_steps(problem, problem.plant))


def _plant_steps(problem: Problem, plant: Plant) -> Steps:
    rng = np.random.default_rng(0)
    rows: list[Sequence[Any]] = []
    for _ in range(STEPS):  # episodes: one step of each is enough
        rows += _plant_episode(problem, plant, rng)
        if len(rows) >= STEPS:
            break
    return steps_of(rows[:STEPS], problem)


def _plant_episode(problem: Problem, plant: Plant, rng: np.random.Generator) -> Iterator[Sequence[Any]]:
    """Ends before what is not finite: compiled code goes on with it, and training names it."""
    look = plant.observe.python if plant.observe is not None else lambda *seen: seen
    state = plant.reset.python(*rng.random(plant.reset_noise).tolist())
    for _ in range(min(EPISODE, problem.horizon)):
        action = np.atleast_1d(random_action(problem, rng)).astype(float).tolist()
        noise = rng.random(plant.step_noise).tolist()
        try:
            after, reward, terminated = plant.step.python(*state, *action, *noise)
            before, seen = look(*state), look(*after)
            finite = all(math.isfinite(value) for value in (*before, reward, *seen))
        except (ArithmeticError, TypeError, ValueError):  # to Python the root of -1 is complex, or an error
            return
        if not finite:
            return
        yield before, action, reward, seen, terminated
        state = after
        if terminated:
            return


def steps_of(rows: Sequence[Sequence[Any]], problem: Problem) -> Steps:
    """From rows of observation, action, reward, next observation, terminated."""
    d, axes = len(problem.state), problem.actions.axes
    shapes = (-1, d), (-1, axes), (-1,), (-1, d), (-1,)
    columns = zip(*rows, strict=True) if rows else ([],) * len(shapes)
    return Steps(*(np.array(column, float).reshape(shape) for column, shape in zip(columns, shapes, strict=True)))
