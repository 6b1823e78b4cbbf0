"""What Atlas has learned of the plant, as a model: predictions with intervals, and the linear model at a point.

    next = A x + B u + offset          near x = at, u = action

Intervals are those of functions that are drawn from the posterior of all data: each of them fits the data.
"""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.gp.learned_problem import imagined, one_function, predicted
from spaql.gp.transitions import follows_of
from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import real, whole
from spaql.ground.errors import SpaqlError
from spaql.learners.atlas.atlas_controller import model_at, told_problem
from spaql.plants.statements import dt_of
from spaql.policy.digits import number
from spaql.policy.law import vector
from spaql.policy.linear import MODEL_STEP
from spaql.policy.words import action_names, variable_names

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas
    from spaql.plants.problem import Problem


class WithInterval(NamedTuple):
    """A number that was learned, with the interval in which it lies; arrays of one shape."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class LocalModel:
    """next = A x + B u + offset, near a point; print it. Arrays `mean`, `low` and `high` each, in physical units."""

    names: tuple[str, ...]
    actions: tuple[str, ...]
    at: Array
    action: Array
    A: WithInterval  # (variables, variables)
    B: WithInterval  # (variables, actions)
    offset: WithInterval  # (variables,)
    dt: float
    level: float

    def to_control(self) -> Any:
        """A `control.StateSpace` of the deviations from the point, with all variables as outputs, in discrete time."""
        try:
            import control
        except ImportError as error:
            raise SpaqlError("python-control is not installed: pip install control") from error
        d, k = self.B.mean.shape
        labels = {"states": list(self.names), "inputs": list(self.actions), "outputs": list(self.names)}
        return control.ss(self.A.mean, self.B.mean, np.eye(d), np.zeros((d, k)), self.dt, **labels)

    def __str__(self) -> str:
        words, parts = [*self.names, *self.actions, ""], (self.A, self.B, self.offset)
        mean, low, high = (np.column_stack([part[k] for part in parts]) for k in range(3))
        point = zip(words, (*self.at, *self.action), strict=False)
        lines = [f"near {', '.join(f'{name} = {number(float(value))}' for name, value in point)}:"]
        for j, name in enumerate(self.names):
            terms = []
            for k, word in enumerate(words):
                if not low[j, k] <= 0.0 <= high[j, k]:
                    size, *ends = (number(float(part[j, k])) for part in (mean, low, high))
                    terms.append(f"{size}{word and '·'}{word} [{', '.join(ends)}]")
            lines.append(f"  next {name} = {' + '.join(terms).replace('+ -', '- ') or '0'}")
        left_out = f"in brackets: {100 * self.level:g} % intervals; terms that may be zero are left out"
        return "\n".join([*lines, f"{left_out}; a step is {self.dt:g} s"])


@dataclass(frozen=True, eq=False)
class AtlasModel:
    """The model of the samples that an agent has now. `functions`: how many are drawn for an interval."""

    agent: "Atlas"

    def predict(self, observation: Any, action: Any, *, level: float = 0.95, functions: int = 200) -> WithInterval:
        """The next observation (variables,), without noise, and its interval."""
        at, applied = self._point(observation, action)
        drawn = self._stepped(at[None], applied[None], whole("functions", functions, 2, 10_000))[:, 0]
        return _interval(drawn, _level(level))

    def linear(self, at: Any, action: Any = None, *, level: float = 0.95, functions: int = 200) -> LocalModel:
        """The linear model at an observation and an action (their middle, if none is given), by name or as vectors."""
        at, applied = self._point(at, action)
        share, count = _level(level), whole("functions", functions, 2, 10_000)
        units = model_at(self.agent, self.agent.state.memory.n).units
        d, steps = len(at), MODEL_STEP * np.concatenate([units.scale, units.half])
        moved = np.concatenate([np.zeros((1, len(steps))), np.diag(steps), -np.diag(steps)])
        after = self._stepped(at + moved[:, :d], applied + moved[:, d:], count)
        n = len(steps)
        slopes = ((after[:, 1 : n + 1] - after[:, n + 1 :]) / (2.0 * steps)[:, None]).transpose(0, 2, 1)
        offsets = after[:, 0] - slopes[:, :, :d] @ at - slopes[:, :, d:] @ applied
        problem = self.agent.problem
        a, b = _interval(slopes[:, :, :d], share), _interval(slopes[:, :, d:], share)
        names, actions = tuple(variable_names(problem)), tuple(action_names(problem))
        return LocalModel(names, actions, at, applied, a, b, _interval(offsets, share), self._dt(), share)

    def save_fmu(
        self, path: str | PathLike[str], version: int = 2, *, start: Any = None, name: str = "plant"
    ) -> None:
        """The mean of the model as a source-code FMU for co-simulation: actions are inputs, variables are outputs.

        `start`: the observation with which it begins, by name or as a vector; by default the mean of those seen.
        """
        from spaql.export.packages import save_model

        learned, at = self._mean(start)
        save_model(path, learned, at, self._dt(), name, whole("version", version, 2, 3))

    def to_problem(self) -> "Problem":
        """The mean of the model as a problem with a plant of its own: for `spaql.loop` and `spaql.tune`."""
        return self._mean(None)[0]

    def _mean(self, start: Any) -> tuple["Problem", Array]:
        """The problem without noise, and the observation with which it begins."""
        agent, n = self.agent, self._count()
        model, data = model_at(agent, n), agent.state.memory.data(n)
        begins = data.states[~follows_of(data)].mean(axis=0)
        at = begins if start is None else vector("start", start, variable_names(agent.problem), missing=begins)
        return imagined(told_problem(agent, limits=False), model, data, at[None], np.random.default_rng(0)), at

    def _count(self) -> int:
        """Of samples."""
        n = self.agent.state.memory.n
        if not n:
            raise SpaqlError("there are no data yet: learn(samples=...) or update(...) first")
        return n

    def _dt(self) -> float:
        problem = self.agent.problem
        return problem.signals.dt if problem.signals is not None else dt_of(problem)

    def _point(self, observation: Any, action: Any) -> tuple[Array, Array]:
        problem = self.agent.problem
        self._count()
        at = vector("at", observation, variable_names(problem), missing=np.nan)
        low, high = problem.actions.bounds
        given = (low + high) / 2 if action is None else action
        given = [given] if isinstance(given, int | float | np.number) else given
        applied = vector("action", given, action_names(problem), missing=np.nan)
        memory = self.agent.state.memory
        seen = np.concatenate([memory.states[: memory.n], memory.nexts[: memory.n]])
        ends = zip(variable_names(problem), at.tolist(), seen.min(axis=0), seen.max(axis=0), strict=True)
        for name, value, least, most in ends:
            if not least <= value <= most:
                raise SpaqlError(
                    f"at: {name} = {value:g} is beyond all samples ({number(least)} to {number(most)}), where no model "
                    "knows anything: choose a point among them"
                )
        return at, applied

    def _stepped(self, states: Array, actions: Array, functions: int) -> Array:
        """(functions, rows, variables) the next observations: of the mean first, then of functions that are drawn."""
        agent, n = self.agent, self.agent.state.memory.n
        model, data = model_at(agent, n), agent.state.memory.data(n)
        units = model.units
        points = np.column_stack([(states - units.centre) / units.scale, (actions - units.middle) / units.half])
        rng = np.random.default_rng(int(streams.key_of(agent.seed, streams.PLAN, n)))
        learned = imagined(told_problem(agent, limits=False), model, data, states[:1], rng, functions, points)
        after = [predicted(one_function(learned, k), states, actions) for k in range(functions)]
        return np.array(after)


def _level(level: Any) -> float:
    share = real("level", level, 0.0, 1.0, above=True)
    if share == 1.0:
        raise SpaqlError("level is a share below 1, such as 0.95")
    return share


def _interval(drawn: Array, level: float) -> WithInterval:
    """The first function is the mean one."""
    low, high = np.quantile(drawn, [(1.0 - level) / 2, (1.0 + level) / 2], axis=0)
    return WithInterval(drawn[0], np.minimum(low, drawn[0]), np.maximum(high, drawn[0]))
