"""Problems with features: put behind what is observed, taken off again, read from files."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.features import Feature, FeatureEnv, Features
from spaql.plants.formulas import formula_of
from spaql.plants.known import KnownOutcome
from spaql.plants.loop_plant import word
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import MOST_VARIABLES, Problem
from spaql.plants.statements import first_observations

PRODUCTS = "products"
TRIED = 4096  # observations on which a feature is tried, and which say where it usually is
DEPENDENT = 1e-9  # of its size: what is left of a product that follows from the others


def with_features(problem: Problem, given: Any) -> Problem:
    """The problem with these features, by name: functions, texts, or `spaql.Feature`."""
    if given is None or (isinstance(given, Mapping) and not given):
        return problem
    if isinstance(given, str) and given == PRODUCTS:
        given = products(problem)
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


def products(problem: Problem) -> dict[str, Feature]:
    """The products of all pairs of variables, squares among them, but for those that follow from others."""
    count = len(problem.state)
    if count + count * (count + 1) // 2 > MOST_VARIABLES:
        most = max(n for n in range(MOST_VARIABLES) if n + n * (n + 1) // 2 <= MOST_VARIABLES)
        raise SpaqlError(f"products of {count} variables are too many (at most of {most}): name those that matter")
    begins = _begins(problem)
    offered, columns = {}, [np.ones(len(begins)), *begins.T]
    for first, second in itertools.combinations_with_replacement(problem.state, 2):
        units = [axis.unit for axis in (first, second) if axis.unit]
        unit = f"{_bracketed(units[0])}²" if len(units) == 2 and units[0] == units[1] else "·".join(units)
        a, b = word(first.name), word(second.name)
        column = begins[:, problem.state.index(first)] * begins[:, problem.state.index(second)]
        if _follows(column, columns):
            continue
        columns.append(column)
        name = f"{first.name}²" if first is second else f"{first.name}·{second.name}"
        offered[name] = Feature(f"{a}**2" if first is second else f"{a} * {b}", unit)
    return offered


def _bracketed(unit: str) -> str:
    return unit if unit.isalpha() else f"({unit})"


def _follows(column: Array, others: list[Array]) -> bool:
    """Whether it is a sum of the others wherever episodes begin, as sin² is of cos² and 1."""
    if len(column) < 2 * (len(others) + 1):  # too few to tell
        return False
    table = np.stack(others, axis=1) / np.maximum(np.abs(others).max(axis=1), 1e-300)
    left = column - table @ np.linalg.lstsq(table, column, rcond=None)[0]
    return bool(np.abs(left).max() <= DEPENDENT * np.abs(column).max())


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
    return np.vstack([drawn, _begins(problem)])


def _begins(problem: Problem) -> Array:
    """Where episodes begin."""
    begins = [list(start) for start in first_observations(problem)] if problem.can_run else []
    return np.array(begins, float).reshape(-1, len(problem.state))


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

