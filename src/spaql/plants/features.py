"""Features: variables that are formulas of what is observed, behind the observed ones.

    spaql.make("pendulum", features={"energy": lambda cos, sin, velocity: 0.5 * velocity**2 + 15 * cos - 15})

A feature is given by a Python function whose arguments are names of variables (angular_velocity means 'angular
velocity'), by a text such as "0.5 * velocity**2", or by a `spaql.Feature` with unit and range. It may use features
before it. Plants compute it within their `observe`, environments in a wrapper, exported code from what it is given.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import real, text
from spaql.ground.errors import SpaqlError
from spaql.plants.answers import begun, outcome
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.formulas import Formula, Grammar
from spaql.plants.loop_plant import word


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
    def all_words(self) -> tuple[str, ...]:
        """Of all variables, features last."""
        return (*self.words, *(word(name) for name, _ in self.formulas))

    @property
    def texts(self) -> dict[str, str]:
        """For files."""
        return {name: formula.text for name, formula in self.formulas}

    def written(self, grammar: Grammar, names: Sequence[str]) -> list[str]:
        """One expression per feature. `names`: of all variables, features last, in the language."""
        known = dict(zip(self.all_words, names, strict=True))
        return [formula.written(grammar, known) for _, formula in self.formulas]

    @property
    def listed(self) -> list[Any]:
        """For the page: each formula as nested lists, see `Formula.listed`."""
        places = {part: j for j, part in enumerate(self.all_words)}
        return [formula.listed(places) for _, formula in self.formulas]

    def needed(self, used: set[int]) -> set[int]:
        """Places of variables, with those of which features among them are made."""
        words = self.all_words
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
        places = dict(zip(self.all_words, (*o, *f), strict=True))
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
