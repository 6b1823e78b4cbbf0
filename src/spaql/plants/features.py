"""Features: variables that are formulas of what is observed, behind the observed ones.

    spaql.make("pendulum", features={"energy": lambda cos, sin, velocity: 0.5 * velocity**2 + 15 * cos - 15})

A feature is given by a Python function whose arguments are names of variables (angular_velocity means 'angular
velocity'), by a text such as "0.5 * velocity**2", or by a `spaql.Feature` with unit and range. It may use features
before it. Plants compute it within their `observe`, environments in a wrapper, exported code from what it is given.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import real, text
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.answers import begun, outcome
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.formulas import Formula, Grammar, formula_of
from spaql.plants.known import KnownOutcome
from spaql.plants.loop_plant import word
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem
from spaql.plants.statements import first_observations

TRIED = 4096  # observations on which a feature is tried, and which say where it usually is


@dataclass(frozen=True)
class Feature:
    """A formula with its unit and, if it is known, its range: `low` to `high`."""

    formula: Any  # a text, or a function of variables by their names
    unit: str = ""
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        text("the unit of a feature", self.unit)
        if (self.low is None) != (self.high is None):
            raise SpaqlError("the range of a feature has two ends: give low and high, or neither")
        if self.low is not None and real("low of a feature", self.low) >= real("high of a feature", self.high):
            raise SpaqlError(f"the range of a feature: low = {self.low:g} must be below high = {self.high:g}")


@dataclass(frozen=True)
class Features:
    """The formulas of a problem by name, in their order, behind the variables that are observed."""

    words: tuple[str, ...]  # of the observed variables, as formulas name them
    formulas: tuple[tuple[str, Formula], ...]

    @property
    def raw(self) -> int:
        """How many variables are observed; features follow them."""
        return len(self.words)

    @property
    def texts(self) -> dict[str, str]:
        """For files."""
        return {name: formula.text for name, formula in self.formulas}

    def written(self, grammar: Grammar, names: Sequence[str]) -> list[str]:
        """One expression per feature. `names`: of all variables, features last, in the language."""
        known = dict(zip((*self.words, *(word(name) for name, _ in self.formulas)), names, strict=True))
        return [formula.written(grammar, known) for _, formula in self.formulas]

    @property
    def listed(self) -> list[Any]:
        """For the page: each formula as nested lists, see `Formula.listed`."""
        words = [*self.words, *(word(name) for name, _ in self.formulas)]
        return [formula.listed({part: j for j, part in enumerate(words)}) for _, formula in self.formulas]

    def needed(self, used: set[int]) -> set[int]:
        """Places of variables, with those of which features among them are made."""
        words = [*self.words, *(word(name) for name, _ in self.formulas)]
        for place in range(len(words) - 1, self.raw - 1, -1):
            if place in used:
                used = used | {words.index(name) for name in self.formulas[place - self.raw][1].words}
        return used

    def values(self, seen: Sequence[float]) -> list[float]:
        """All variables at an observation; NaN where a formula has no value."""
        known = dict(zip(self.words, map(float, seen), strict=True))
        for name, formula in self.formulas:
            try:
                value = formula.function(*(known[part] for part in formula.words))
            except (ArithmeticError, ValueError):
                value = math.nan
            known[word(name)] = value
        return list(known.values())

    def rows(self, seen: Array) -> Array:
        """The same of observations (n, raw)."""
        return np.array([self.values(row) for row in seen.tolist()], float).reshape(len(seen), -1)

    def around(self, env: Any) -> "FeatureEnv":
        """The environment that shows the features, too."""
        return FeatureEnv(env, self)

    def behind(self, function: Callable[..., Any] | None, inputs: int, rest: int = 0) -> Any:
        """The function of so many numbers that returns the observation with its features.

        `function` returns the observation alone; without one its inputs are that. `rest`: so many numbers that follow
        the observation follow the features, too.
        """
        s, o, more = letters("s", inputs), letters("o", self.raw), letters("r", rest)
        f = letters("f", len(self.formulas))
        places = dict(zip((*self.words, *(word(name) for name, _ in self.formulas)), (*o, *f), strict=True))
        scope: dict[str, Any] = {f"formula{k}": formula.function for k, (_, formula) in enumerate(self.formulas)}
        lines = [f"{listed(o, more)}= {'look(' + listed(s) + ')' if function else listed(s)}"]
        for k, (_, formula) in enumerate(self.formulas):
            lines.append(f"f{k} = formula{k}({listed(places[part] for part in formula.words)})")
        scope |= {"look": function} if function else {}
        return function_of(scope, f"observe({listed(s)})", [*lines, f"return ({listed(o, f, more)})"])


class FeatureEnv(gymnasium.Wrapper[Array, Any, Any, Any]):
    """An environment that shows the features behind its observation."""

    def __init__(self, env: Any, features: Features) -> None:
        super().__init__(env)
        self.features, self.stated = features, getattr(env, "stated", None)
        space: Any = env.observation_space
        more = np.full(len(features.formulas), np.inf)
        low, high = np.append(space.low.astype(float), -more), np.append(space.high.astype(float), more)
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float64)

    def reset(self, **options: Any) -> tuple[Array, dict[str, Any]]:
        answer: Any = self.env.reset(**options)
        return self._all(begun(answer)), answer[1]

    def step(self, action: Any) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        answer: Any = self.env.step(action)
        observation, reward, terminated, truncated = outcome(answer)
        return self._all(observation), reward, terminated, truncated, answer[4]

    def _all(self, observation: Any) -> Array:
        return np.array(self.features.values(np.ravel(observation).tolist()))


# -- problems with features --------------------------------------------------------------------------------------------


def with_features(problem: Problem, given: Any) -> Problem:
    """The problem with these features, by name: functions, texts, or `spaql.Feature`."""
    if given is None or (isinstance(given, Mapping) and not given):
        return problem
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name for name in given):
        such = "{'energy': lambda cos, velocity: 0.5 * velocity**2 + 15 * cos}"
        raise SpaqlError(f"features are formulas by name, such as {such}, not {echoed(given)}")
    if problem.features is not None:
        raise SpaqlError(f"{problem.name} has features already: state all of them at once")
    axes = list(problem.state)
    words = _words(problem.state, problem.actions, tuple(given))
    features = Features(tuple(words[: len(axes)]), ())
    tried = _tried(problem)
    for count, (name, what) in enumerate(given.items()):
        feature = what if isinstance(what, Feature) else Feature(what)
        known = [part for part in words[: len(problem.state) + count] if part.isidentifier()]
        formula = formula_of(f"the feature {name}", feature.formula, known)
        features = replace(features, formulas=(*features.formulas, (name, formula)))
        axes.append(_axis(name, feature, features, tried))
    return attached(problem, features, axes[len(problem.state) :])


def attached(problem: Problem, features: Features | None, axes: Sequence[Axis]) -> Problem:
    """The problem with features that are checked already, and have these axes."""
    if features is None:
        return problem
    parts: dict[str, Any] = {"features": features, "state": (*problem.state, *axes)}
    if problem.plant is not None:
        parts["plant"] = featured_plant(problem.plant.in_functions(), features)
    if problem.env is not None:
        parts["env"] = FeatureEnv(problem.env, features)
    if problem.known is not None:
        parts["known"] = featured_known(problem.known, features)
    if problem.reference is not None:
        parts["reference"] = tuple(features.values(problem.reference))
    return replace(problem, **parts)


def bare(problem: Problem) -> Problem:
    """The problem without its features; limits on them go, too."""
    features = problem.features
    if features is None:
        return problem
    gone, known = {name for name, _ in features.formulas}, problem.known
    return replace(
        problem,
        features=None,
        state=problem.state[: features.raw],
        plant=bare_plant(problem.plant),
        env=problem.env.env if isinstance(problem.env, FeatureEnv) else problem.env,
        known=None if known is None or known.origin is None else known.origin[1][0],
        reference=None if problem.reference is None else problem.reference[: features.raw],
        limits=tuple(limit for limit in problem.limits if limit.variable not in gone),
    )


def of_file(described: Any, state: Sequence[Axis], actions: Continuous | Finite) -> Features | None:
    """What `Features.texts` has written, read with distrust. `state`: all axes, those of the features last."""
    if described is None:
        return None
    if not isinstance(described, Mapping) or not 0 < len(described) < len(state):
        raise SpaqlError("features must be an object of formulas by name")
    raw = len(state) - len(described)
    if [axis.name for axis in state[raw:]] != list(described):
        raise SpaqlError("the last variables must be the features, in their order")
    words = _words(state[:raw], actions, tuple(described))
    formulas = []
    for count, (name, formula) in enumerate(described.items()):
        if not isinstance(formula, str):
            raise SpaqlError("a feature must be text")
        known = [part for part in words[: raw + count] if part.isidentifier()]
        formulas.append((name, formula_of(f"the feature {name}", formula, known)))
    return Features(tuple(words[:raw]), tuple(formulas))


def _words(state: Sequence[Axis], actions: Continuous | Finite, names: tuple[str, ...]) -> list[str]:
    """Of variables and features, as formulas name them."""
    taken = [*(axis.name for axis in state), *actions.axis_names]
    for name in names:
        if word(name) in map(word, taken):
            raise SpaqlError(f"the feature {name} has the name of a variable or an action: give it another")
    words = [word(name) for name in (*(axis.name for axis in state), *names)]
    alone = [words.count(part) == 1 and part.isidentifier() for part in words]  # of two alike, neither can be meant
    return [part if own else f"?{j}" for j, (part, own) in enumerate(zip(words, alone, strict=True))]


def _tried(problem: Problem) -> Array:
    """Observations: anywhere in the usual ranges, and where episodes begin."""
    rng, usual = np.random.default_rng(0), np.array([axis.usual for axis in problem.state])
    drawn = rng.uniform(usual[:, 0], usual[:, 1], (TRIED, len(usual)))
    begins = [list(start) for start in first_observations(problem)] if problem.can_run else []
    return np.vstack([drawn, np.array(begins, float).reshape(-1, len(usual))])


def _axis(name: str, feature: Feature, features: Features, tried: Array) -> Axis:
    """Of the last feature."""
    rows = features.rows(tried)
    bad = np.flatnonzero(~np.isfinite(rows[:, -1]))
    if len(bad):
        place = ", ".join(f"{part} = {x:.4g}" for part, x in zip(features.words, tried[bad[0]], strict=True))
        raise SpaqlError(
            f"the feature {name} is no number at {place}: keep what is divided by away from 0, and what is under a "
            "root or in asin, acos or log within its domain, with max(...) and min(...)"
        )
    low, high = float(rows[:, -1].min()), float(rows[:, -1].max())
    if feature.low is not None and feature.high is not None:
        if low > feature.high or high < feature.low:
            raise SpaqlError(f"the feature {name} goes from {low:.4g} to {high:.4g}: give such a range, or none")
        return Axis(name, float(feature.low), float(feature.high), unit=feature.unit)
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        raise SpaqlError(f"the feature {name} is always {low:.4g}: it says nothing")
    middle = 0.5 * (low + high)
    return Axis(name, slope=float(f"{2.0 / (high - low):.6g}"), centre=float(f"{middle:.6g}"), unit=feature.unit)


# -- plants and what is known of them ----------------------------------------------------------------------------------


def featured_plant(plant: Plant, features: Features) -> Plant:
    """The plant that shows the features, too."""
    function = None if plant.observe is None else plant.observe.python
    seen = PlantFunction("observe", features.behind(function, plant.state_dim))
    shown = make_plant(plant.reset, plant.step, seen, plant.action_dim)
    return replace(shown, origin=(featured_plant, (plant, features)), stated=plant.stated, flow=plant.flow)


def bare_plant(plant: Any) -> Any:
    """The plant without features."""
    featured = plant is not None and plant.origin is not None and plant.origin[0] is featured_plant
    return plant.origin[1][0] if featured else plant


def featured_known(known: KnownOutcome, features: Features) -> KnownOutcome:
    """What is known of a step, which the features add nothing to."""
    d, more = features.raw, len(features.formulas)
    o, a, n = letters("o", d + more), letters("a", known.action_dim), letters("n", d + more)

    def of(function: Callable[..., Any] | None) -> Any:
        call = f"return say({listed(o[:d], a, n[:d])})"
        return None if function is None else function_of({"say": function}, f"outcome({listed(o, a, n)})", [call])

    parts = of(known.reward), of(known.terminated), d + more, known.action_dim
    return KnownOutcome(*parts, origin=(featured_known, (known, features)))

