"""A controller of one's own: a plain Python function of the observed variables, used like a policy.

def swing(cos, sin, velocity):
    return -14 * sin - 3 * velocity if cos >= -0.08 else 8 * sin + 4 * velocity

spaql.Controller(spaql.make("pendulum"), swing).evaluate()
"""

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers, whole
from spaql.ground.errors import SpaqlError, SpaqlWarning, echoed, named
from spaql.plants.answers import begun
from spaql.plants.environment import PlantEnv
from spaql.plants.plant import LANES, Batch, advance_code
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation
from spaql.policy.law import checked_problem
from spaql.policy.memory import finite_states
from spaql.policy.outputs import allowed_by, settle
from spaql.policy.probes import Probes
from spaql.policy.words import (
    action_names,
    action_units,
    number,
    one_line,
    values_text,
    variable_names,
    variable_units,
    with_unit,
)

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

TRIED = 8  # start states on which a function is tried when a controller is made of it
SAMPLES = 20_000_000  # of the search for laws that do what a controller does
SAMPLES_IN_PYTHON = 20_000  # the same, in an environment that is not compiled
NUDGE = 1e-4  # of the size of a variable: the difference by which slopes are measured


@dataclass(frozen=True, eq=False)
class ControllerWhy:
    """The answer of `controller.why(observation)`; print it."""

    observation: Array
    action: Array
    bound: tuple[float | None, ...]  # of each axis of the action: where it is held; None: it is not at a bound
    slopes: Array  # (axes, variables) change of the action per unit of the variable; NaN where the function fails
    words: str

    def __str__(self) -> str:
        return self.words


class Controller(Probes):
    """A function of the observed variables as a controller of a problem; nothing is learned.

    - `function(x, angle, ...)` takes plain numbers in physical units, in the order of `problem.state`, and returns a
      number, or a tuple where there are several action axes. It must give the same action for the same observation.
    - `name`: as printed; by default that of the function.

    Continuous actions are held within their bounds; a finite action must be one of the set. On compiled plants the
    function is compiled at its first use. Where it does not compile, a `SpaqlWarning` says why, and it runs in Python.
    """

    def __init__(self, problem: Problem, function: Callable[..., Any], name: str | None = None) -> None:
        self.problem, self.function = checked_problem(problem), function
        if not callable(function):
            raise SpaqlError(f"a controller is a function of the observed variables, not {type(function).__name__}")
        if name is not None and not isinstance(name, str):
            raise SpaqlError(f"name must be a text, not {echoed(name)}")
        own = getattr(function, "__name__", type(function).__name__)
        self.name = one_line(name if name is not None else "controller" if own == "<lambda>" else own)
        self._allowed = allowed_by(problem.actions)
        self._check_parameters()
        self.several = False  # whether it returns a tuple
        for observation in _some(problem):
            said, again = self._call(observation), self._call(observation)
            if repr(said) != repr(again):  # as text, because nan is not nan
                raise SpaqlError(
                    f"{self.name} is not the same twice: at {self._place(observation)} it returned {_short(said)}, "
                    f"then {_short(again)}. What it remembers must be an observed variable of the problem"
                )
            self._action(observation, said)
            self.several = isinstance(said, tuple)

    # -- acting --------------------------------------------------------------------------------------------------------

    def decide(self, states: Any) -> Array:
        """The actions (n, axes) for states (n, variables), physical units."""
        batch = finite_states(self.problem, states)
        if self.problem.plant is None or self.compiled is None:
            called = [self._action(seen, self._call(seen)) for seen in batch]
            return np.array(called).reshape(len(batch), -1)
        actions = self._said(batch, self.compiled)
        raw = actions.copy()
        bad = settle(self._allowed, actions)
        if bad >= 0:
            raise self.refused(batch[bad], raw[bad])
        return actions

    def evaluate(self, episodes: int = 1000, seed: int = 0) -> Evaluation:
        """Fresh rollouts, from the start states of `Policy.evaluate` and `Agent.evaluate` with the same seed."""
        from spaql.training.closed_loop import evaluate_controller

        return evaluate_controller(self, whole("episodes", episodes, 1, 10**8), whole("seed", seed, 0))

    # -- looking inside ------------------------------------------------------------------------------------------------

    def why(self, observation: Any) -> ControllerWhy:
        """The action applied here, whether it is at a bound, and its local gains."""
        x = numbers("observation", observation, (len(self.problem.state),))
        return explain_controller(self, x, self.decide(x[None])[0])

    def laws(self, max_leaves: int = 1, samples: int | None = None, seed: int = 0) -> "Policy":
        """A few affine laws that do what the controller does, or better: a policy to print and to export.

        The search of `spaql.Laws` with the controller as its teacher. `samples`: steps of the plant for it; 20 million
        on compiled plants, 20 thousand in Gymnasium environments. What ends worse than the controller brings a warning.
        """
        from spaql.learners.laws import Laws

        usual = SAMPLES if self.problem.plant is not None else SAMPLES_IN_PYTHON
        agent = Laws(self.problem, max_leaves=max_leaves, seed=seed, teacher=self)
        agent.learn(samples=usual if samples is None else samples)
        return agent.policy()

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled code, which cannot be copied."""
        return {name: value for name, value in self.__dict__.items() if name != "compiled"}

    def __repr__(self) -> str:
        return f"<controller {self.name} of {self.problem.name}>"

    # -- the function --------------------------------------------------------------------------------------------------

    @functools.cached_property
    def compiled(self) -> Batch | None:
        """The function over a table of the compiled plant; None where it does not compile."""
        assert self.problem.plant is not None
        try:
            if not inspect.isfunction(self.function):
                raise SpaqlError(f"it is a {type(self.function).__name__}, not a plain function")
            return self.problem.plant.acting(self.function, self.several)
        except Exception as error:  # whatever numba raises
            slow = "it runs in plain Python, some hundred times slower"
            warnings.warn(f"{self.name} does not compile: {_reason(error)}; {slow}", SpaqlWarning, stacklevel=2)
            return None

    def _said(self, batch: Array, compiled: Batch) -> Array:
        """What the compiled function says, before anything is held within bounds."""
        plant = self.problem.plant
        assert plant is not None
        table, rows = plant.table(), plant.rows
        actions = np.empty((len(batch), plant.action_dim))
        for first in range(0, len(batch), LANES):
            some = batch[first : first + LANES]
            table[rows.observation : rows.action, : len(some)] = some.T
            advance_code()(compiled, table.reshape(-1), rows.noise, 0, np.zeros(len(some), np.uint64), 0)
            actions[first : first + LANES] = table[rows.action : rows.noise, : len(some)].T
        return actions

    def _check_parameters(self) -> None:
        names = variable_names(self.problem)
        try:
            inspect.signature(self.function).bind(*names)
        except TypeError:
            listed = ", ".join(names)
            wanted = f"it must take the {len(names)} variables of {self.problem.name}, in this order: {listed}"
            raise SpaqlError(f"{self.name}{inspect.signature(self.function)}: {wanted}") from None
        except ValueError:  # a built-in function tells no signature: calling it will tell
            pass

    def _call(self, observation: Array) -> Any:
        try:
            return self.function(*observation.tolist())
        except Exception as error:  # the user's code may raise anything; it becomes one line that names the place
            text = _short(error)
            failed = f"{self.name} failed at {self._place(observation)}"
            raise SpaqlError(f"{failed}: {type(error).__name__}: {text}") from error

    def _action(self, observation: Array, said: Any) -> Array:
        """What the function said as an action (axes,)."""
        axes = self.problem.actions.axes
        try:
            action = np.array(np.atleast_1d(np.asarray(said if said is not None else (), float)))
        except (TypeError, ValueError):
            action = np.empty((0, 0))
        if action.shape != (axes,):
            size = "one number" if axes == 1 else f"{axes} numbers ({', '.join(action_names(self.problem))})"
            returned = f"{self.name} must return {size}, not {_short(said)}"
            raise SpaqlError(f"{returned} (at {self._place(observation)})")
        if settle(self._allowed, action[None]) >= 0:
            raise self.refused(observation, np.atleast_1d(np.asarray(said, float)))
        return action

    def refused(self, observation: Array, action: Array) -> SpaqlError:
        """Of an action that cannot be applied."""
        returned = ", ".join(f"{value:g}" for value in action)
        actions, why = self.problem.actions, "actions must be finite numbers"
        if actions.values and np.isfinite(action).all():
            values = ", ".join(f"{value:g}" for value in actions.values[:20])
            why = f"it is not one of {values}{', ...' if len(actions.values) > 20 else ''}"
        return SpaqlError(f"{self.name} returned {returned} at {self._place(observation)}: {why}")

    def _place(self, observation: Array) -> str:
        return named(variable_names(self.problem), observation.tolist())


def _some(problem: Problem) -> Array:
    """Observations on which a function can be tried: start states, or, without a plant, the middle of the axes."""
    if problem.plant is not None:
        env = PlantEnv(problem)
        return np.array([begun(env.reset(seed=seed)) for seed in range(TRIED)])
    if problem.can_run:
        return np.asarray(begun(problem.open_env().reset(seed=0)), float).reshape(1, -1)
    return np.array([[axis.centre if axis.slope is not None else (axis.low + axis.high) / 2 for axis in problem.state]])


def _short(value: Any) -> str:
    return one_line(str(value), 80)


def _reason(error: Exception) -> str:
    """Why something does not compile, in one line: of numba's message the line that says it."""
    cause = error.__cause__ if isinstance(error, SpaqlError) and error.__cause__ is not None else error
    lines = [one_line(re.sub(r"\x1b\[[0-9;]*m", "", line), 160) for line in str(cause).splitlines()]
    plain = [line for line in lines if line and not line.startswith(("Failed in", "During", "File ", "<source", "---"))]
    said = (plain[0] if plain else type(cause).__name__).rstrip(".:")
    return "it makes a list or an array: use numbers and tuples" if "NRT required" in said else said


def explain_controller(controller: Controller, x: Array, action: Array) -> ControllerWhy:
    """Nobody can look into a function, but how it follows each variable can be measured."""
    problem, d = controller.problem, len(x)
    continuous = not problem.actions.values
    low, high = problem.actions.bounds
    held = [
        next((float(end) for end in (low[j], high[j]) if continuous and action[j] == end), None)
        for j in range(len(action))
    ]
    slopes = np.full((len(action), d), np.nan)
    for j in range(d if continuous else 0):
        shift = np.zeros(d)
        shift[j] = NUDGE * max(1.0, abs(x[j]))
        try:
            slopes[:, j] = (controller.decide([x + shift])[0] - controller.decide([x - shift])[0]) / (2.0 * shift[j])
        except SpaqlError:
            continue  # beside the observation the function may have no value
    names = variable_names(problem)
    lines = [f"At {values_text(names, x.tolist(), variable_units(problem))}", f"{controller.name} applies"]
    for k, (name, unit) in enumerate(zip(action_names(problem), action_units(problem), strict=True)):
        bound = "" if held[k] is None else ", where it is held by its bound"
        lines.append(f"  {name} = {with_unit(number(float(action[k])), unit)}{bound}")
        gains = [
            f"{number(slope)} per unit of {names[j]}"
            for j, slope in enumerate(slopes[k])
            if slope and np.isfinite(slope)
        ]
        if gains:
            lines.append(f"  local gains: {', '.join(gains)}")
    return ControllerWhy(x, action, tuple(held), slopes, "\n".join(lines))
