"""A plant: the equations of what is controlled, as plain Python functions of plain numbers.

    @spaql.reset
    def start(u1, u2):                      # one uniform number in [0, 1) per parameter -> the first state
        return 3.1 * (2 * u1 - 1), 2 * u2 - 1

    @spaql.step
    def swing(theta, omega, torque):        # the state, then the action, then (if you want noise) uniform numbers
        ...
        return (theta, omega), reward, terminated

    @spaql.observe                          # optional: what the controller sees, if not the state itself
    def look(theta, omega):
        return math.cos(theta), math.sin(theta), omega

The decorators turn each function into a *batch* function over arrays of states, compiled at first use, whose loop LLVM
vectorises. `math.sin`, `cos`, `exp`, `log`, `tanh` and `atan2` inside these functions are the branch-free ones of
`fastmath`.
"""

import functools
import importlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import code_of, kernel
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.numba_public import types as nb
from spaql.ground.streams import uniform
from spaql.plants.compile import TAKE_NUMBERS, Remade, assembled, check_parameters, failed

# A batch function takes one table and n: row `rows.x` of the table starts at `rows.x * LANES`, lane i is column i.
# With the pitch a constant, LLVM can prove that rows do not overlap, and vectorises without a check at every call.
LANES = 128
SIGNATURE = nb.void(nb.Array(nb.float64, 1, "C"), nb.int64)
Batch = Callable[[Array, int], None]  # what SIGNATURE is to mypy


class Rows(NamedTuple):
    """First row of each part of a plant's table."""

    state: int
    observation: int
    action: int
    noise: int
    reward: int
    done: int
    total: int  # return so far, kept by the rollouts
    end: int


@dataclass(frozen=True)
class PlantFunction:
    """One decorated function of a plant; calling it runs the plain Python."""

    kind: str
    python: Callable[..., Any]

    def __call__(self, *args: float) -> Any:
        return self.python(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: the decorated function stands in its module where the plain one was."""
        if "<locals>" in self.python.__qualname__:
            raise SpaqlError(f"{self.python.__name__} cannot be pickled: define it in a module, not inside a function")
        return _named, (self.python.__module__, self.python.__qualname__)

    @property
    def parameters(self) -> int:
        return len(inspect.signature(self.python).parameters)


def _named(module: str, name: str) -> PlantFunction:
    function = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    assert isinstance(function, PlantFunction)
    return function


def reset(function: Callable[..., Any]) -> PlantFunction:
    """Marks `f(u1, u2, ...) -> state`: start states from uniform numbers in [0, 1)."""
    return _plant_function("reset", function)


def step(function: Callable[..., Any]) -> PlantFunction:
    """Marks `f(state..., action..., noise...) -> (state, reward, terminated)`."""
    return _plant_function("step", function)


def observe(function: Callable[..., Any]) -> PlantFunction:
    """Marks `f(state...) -> observation`."""
    return _plant_function("observe", function)


def _plant_function(kind: str, function: Callable[..., Any]) -> PlantFunction:
    if not inspect.isfunction(function):
        raise SpaqlError(f"@spaql.{kind} decorates a plain Python function, not {type(function).__name__}")
    check_parameters(function)
    return PlantFunction(kind, function)


@dataclass(frozen=True)
class Plant(Remade):
    """The functions of a plant with their sizes, checked by running them once in plain Python."""

    reset: PlantFunction
    step: PlantFunction
    observe: PlantFunction | None
    state_dim: int
    action_dim: int
    observation_dim: int
    reset_noise: int
    step_noise: int
    origin: tuple[Callable[..., "Plant"], tuple[Any, ...]] | None = field(default=None, compare=False, repr=False)
    # in a loop: what is in it, signals, surroundings
    stated: Any = field(default=None, compare=False, repr=False)
    flow: Any = field(default=None, compare=False, repr=False)  # what it is between samples (ode.py)

    def in_functions(self) -> "Plant":
        """The plant as functions that can be called in others: itself."""
        return self

    @property
    def sensor_noise(self) -> tuple[float, ...]:
        """Of a learned plant: standard deviations of what was found to be noise of its sensors; else ()."""
        return ()

    @property
    def costly(self) -> bool:
        """Whether a step costs much per call, beside what it costs per lane: that of a learned plant."""
        return False

    def table(self) -> Array:
        """What its batch functions work on, a row per number and a column per lane."""
        return np.zeros((self.rows.end, LANES))

    @functools.cached_property
    def rows(self) -> Rows:
        sizes = [self.state_dim, self.observation_dim, self.action_dim, max(self.reset_noise, self.step_noise), 1, 1, 1]
        return Rows(*(sum(sizes[:i]) for i in range(len(sizes) + 1)))

    @functools.cached_property
    def batch(self) -> tuple[Batch, Batch]:
        """(reset, step) over a table of states, observations included, compiled, as the kernels take them."""
        rows = self.rows
        state, action = _columns(rows.state, self.state_dim), _columns(rows.action, self.action_dim)
        reset_noise, step_noise = _columns(rows.noise, self.reset_noise), _columns(rows.noise, self.step_noise)
        local = "".join(f"s{j}, " for j in range(self.state_dim))
        outcome = f"{_columns(rows.reward, 1)}{_columns(rows.done, 1)}"
        keep = f"{state} = {local}"
        see = f"{_columns(rows.observation, self.observation_dim)} = " + (f"look({local})" if self.observe else local)
        return (
            self._batch(self.reset, f"{local} = act({reset_noise})", keep, see),
            self._batch(self.step, f"({local}), {outcome} = act({state}{action}{step_noise})", keep, see),
        )

    def acting(self, function: Callable[..., Any], several: bool) -> Batch:
        """A controller over a table: its actions from the observations. `several`: it returns a tuple."""
        rows = self.rows
        seen, applied = _columns(rows.observation, self.observation_dim), _columns(rows.action, self.action_dim)
        loop = f"    for i in range(n):\n        {applied if several else applied.rstrip(', ')} = act({seen})"
        batch: Batch = assembled("act", "(T, n)", loop, {"act": function}, SIGNATURE)
        return batch

    def _batch(self, function: PlantFunction, *lines: str) -> Any:
        parts = {"act": function.python} | ({"look": self.observe.python} if self.observe else {})
        loop = "\n        ".join(["    for i in range(n):", *lines])
        return assembled(function.kind, "(T, n)", loop, parts, SIGNATURE, wide=True)


def loop_of(problem: Any) -> Any:
    """How the plant or environment of a problem was put in a loop, also of a `PlantEnv`; None if it was not.

    What is in the loop, plant or problem; its signals; its surroundings.
    """
    return getattr(problem.env if problem.plant is None else problem.plant, "stated", None)


def _columns(row: int, count: int) -> str:
    return "".join(f"T[{(row + j) * LANES} + i], " for j in range(count))


def make_plant(reset: PlantFunction, step: PlantFunction, observe: PlantFunction | None, action_dim: int) -> Plant:
    """Check that the functions fit together by running them once."""
    given_parts = {"reset": reset, "step": step} | ({} if observe is None else {"observe": observe})
    for wanted, given in given_parts.items():
        if not isinstance(given, PlantFunction) or given.kind != wanted:
            raise SpaqlError(f"the plant's {wanted} must be a function decorated with @spaql.{wanted}")
    state = _numbers(reset, tried(reset, [0.5] * reset.parameters), "a tuple of numbers (the state)")
    noise = step.parameters - len(state) - action_dim
    if noise < 0:
        raise SpaqlError(
            f"step {step.python.__name__} takes {step.parameters} numbers, but {reset.python.__name__} returns "
            f"{len(state)} state variables and there are {action_dim} action axes: it must take all of them, then any "
            "noise"
        )
    result = tried(step, [*state, *[0.0] * action_dim, *[0.5] * noise])
    if not (isinstance(result, tuple) and len(result) == 3):
        wanted = f"step {step.python.__name__} must return ((next state), reward, terminated)"
        raise SpaqlError(f"{wanted}, not {echoed(result)}")
    after = _numbers(step, result[0], f"{len(state)} numbers as next state")
    _numbers(step, (result[1],), "a number as reward")
    if not isinstance(result[2], bool | np.bool_):
        third = f"must return True or False as third value (terminated), not {result[2]!r}"
        raise SpaqlError(f"step {step.python.__name__} {third}")
    if len(after) != len(state):
        raise SpaqlError(f"step {step.python.__name__} returns {len(after)} state variables, reset {len(state)}")
    seen = state
    if observe is not None:
        if observe.parameters != len(state):
            raise SpaqlError(f"observe {observe.python.__name__} must take the {len(state)} state variables")
        seen = _numbers(observe, tried(observe, list(state)), "a tuple of numbers (the observation)")
    return Plant(reset, step, observe, len(state), action_dim, len(seen), reset.parameters, noise)


def tried(function: PlantFunction, arguments: list[float]) -> Any:
    """Run it twice: what a step does must follow from what it is given."""
    try:
        result, again = function.python(*arguments), function.python(*arguments)
    except Exception as error:  # the user's code may raise anything; it becomes one line that names the function
        said = failed(error, function.python, arguments)
        raise SpaqlError(said if said.startswith("the reward") else f"{function.kind} {said}") from error
    if repr(result) != repr(again):  # as text, because nan is not nan
        raise SpaqlError(
            f"{function.kind} {function.python.__name__} is not deterministic: given {tuple(arguments)} twice, it "
            f"returned {echoed(result)} and {echoed(again)}. {TAKE_NUMBERS}"
        )
    return result


def _numbers(function: PlantFunction, values: Any, wanted: str) -> tuple[float, ...]:
    good = isinstance(values, tuple) and len(values) > 0
    if not (good and all(isinstance(v, int | float | np.number) and math.isfinite(v) for v in values)):
        what = f"must return {wanted}, all finite; it returned {values!r}"
        raise SpaqlError(f"{function.kind} {function.python.__name__} {what}")
    return tuple(float(v) for v in values)


@kernel
def advance(batch: Batch, flat: Array, noise_row: int, noise: int, keys: Array, counter: int) -> None:
    """A plant's reset or step in one lane per key, with the random numbers `counter`, `counter + 1`, ... of the key."""
    for c in range(noise):
        for i in range(len(keys)):
            flat[(noise_row + c) * LANES + i] = uniform(keys[i], counter + c)
    batch(flat, len(keys))


@functools.cache
def advance_code() -> Callable[..., None]:
    """The machine code of `advance`, one for all plants, called without looking at types again: a third of the time.

    Numba has no fingerprint of first-class functions, and builds their type anew at every ordinary call.
    """
    numbers, keys = nb.Array(nb.float64, 1, "C"), nb.Array(nb.uint64, 1, "C")
    return code_of(advance, (nb.FunctionType(SIGNATURE), numbers, nb.int64, nb.int64, keys, nb.int64))
