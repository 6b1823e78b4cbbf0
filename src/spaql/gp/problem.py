"""A problem whose plant is learned from recorded steps."""

import itertools
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.arrays import Array
from spaql.checks import FAR, depth, numbers, whole
from spaql.errors import SpaqlError, SpaqlWarning
from spaql.gp.model import FITTED, Data, Model, follows_of, inputs_of, learn_model, numbers_of, thinned, unpredicted
from spaql.gp.plant import ModelPlant, Numbers, model_plant
from spaql.plants.axes import Axis
from spaql.plants.plant import advance
from spaql.plants.problem import Finite, Problem

FEWEST = 10  # steps
STARTS = 256
REACH = 1.8  # deviations from the mean within which episodes begin
SWITCH = 2  # values of a variable that is no reference
SEEN = 0.3  # of the episodes begin where one has begun
POOR = 0.5  # of the changes of a variable that a model may miss without a warning
DOUBTED = 60  # inputs at which functions are drawn
MOST_FUNCTIONS = 64
HELD = 0.15  # of the steps in which a variable changes, at most, if it is held
ROUND = 0.03  # spread of the radius, as a part of it, up to which a pair of variables goes round a circle


def from_data(
    problem: Problem, observations: Any, actions: Any, rewards: Any, next_observations: Any, terminated: Any = None,
    *, functions: int = 6, seed: int = 0,
) -> Problem:  # fmt: skip
    """The problem with a plant that is learned from recorded steps, in physical units, a row each, in their order.

    Gaussian processes of every variable and, where `problem.known` does not tell them, of the reward and of the end of
    an episode. Every episode takes place in one of `functions` functions: the mean of what is known, and others that
    agree with the data and differ where there is none. What is good in all of them does not rest on a guess. A variable
    that cannot be predicted brings a `SpaqlWarning`.

    Episodes begin like those in the data: an episode begins where an observation is not the next observation of the row
    before.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"from_data takes a problem, such as spaql.make('pendulum'), not {type(problem).__name__}")
    whole("functions", functions, 1, MOST_FUNCTIONS)
    whole("seed", seed, 0, 2**40)
    data = _checked(problem, observations, actions, rewards, next_observations, terminated)
    rng = np.random.default_rng(seed)
    model = model_of(problem, data)
    with threadpool_limits(1, "blas"):
        _warn(problem, unpredicted(model, data))
    at = _doubted(model, data, *_range(problem), rng)
    return imagined(problem, model, data, starts_of(problem, data, rng), rng, functions, at)


def imagined(
    problem: Problem, model: Model, data: Data, starts: Array, rng: np.random.Generator, functions: int = 1,
    at: Array | None = None,
) -> Problem:  # fmt: skip
    """The problem with a model in the place of its plant. `at`: inputs in units at which functions are drawn."""
    at = np.zeros((0, data.states.shape[1] + data.actions.shape[1])) if at is None else at
    with threadpool_limits(1, "blas"):
        found = numbers_of(model, data, starts, functions, at, rng)
    about = f"{problem.name}, learned from {len(data.states):,} steps"
    axes = tuple(axis if axis.slope is not None else _wider(axis, found, j) for j, axis in enumerate(problem.state))
    return replace(
        problem, name=f"{problem.name}-learned", summary=about, plant=model_plant(found, problem.known), env=None,
        env_id=None, state=axes, parameters={}, known=None, signals=None,
    )  # fmt: skip


def bumps_of(problem: Problem) -> int:
    """What a step in a learned problem costs: its bumps, and about fifty for the rest."""
    assert isinstance(problem.plant, ModelPlant)
    return 50 + sum(int(points.shape[1]) for points in problem.plant.numbers.points)


def one_function(problem: Problem, function: int, starts: Array | None = None) -> Problem:
    """A learned problem whose episodes all take place in one of its functions; and, if given, begin there."""
    plant = problem.plant
    assert isinstance(plant, ModelPlant)
    numbers, only = plant.numbers, [function]
    own = numbers._replace(
        linear=numbers.linear[only], quadratic=numbers.quadratic[only],
        weights=tuple(weights[only] for weights in numbers.weights),
        starts=numbers.starts if starts is None else np.atleast_2d(starts),
    )  # fmt: skip
    return replace(problem, plant=model_plant(own, plant.told))


def predicted(problem: Problem, states: Array, actions: Array) -> Array:
    """The next observations in a learned problem of one function, without noise; at most LANES states."""
    plant = problem.plant
    assert isinstance(plant, ModelPlant)
    table, rows, n, d = plant.table(), plant.rows, len(states), states.shape[1]
    table[rows.state : rows.state + d, :n], table[rows.action : rows.action + actions.shape[1], :n] = (
        states.T,
        actions.T,
    )
    table[rows.noise : rows.reward] = 0.5
    advance(plant.batch[1], table.reshape(-1), 0, 0, np.zeros(n, np.uint64), 0)
    return table[rows.observation : rows.observation + d, :n].T.copy()


def model_of(problem: Problem, data: Data) -> Model:
    """The model of the data, with what is known of the problem left out."""
    low, high = _range(problem)
    known = {} if problem.known is None else problem.known.functions
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        return learn_model(data, low, high, "reward" in known, "terminated" in known)


def _warn(problem: Problem, missed: Mapping[int, float]) -> None:
    """What is found in a model that cannot predict is worth little, and the model itself would not say so."""
    poor = [
        f"{'the reward' if j < 0 else problem.state[j].name} ({100 * part:.0f} %)"
        for j, part in missed.items()
        if part > POOR
    ]
    if poor:
        cause = "noise, too few steps, or something that is not observed"
        said = f"of {', '.join(poor)} the model misses so much in steps it has not seen"
        warnings.warn(f"{said}: {cause}. Do not trust what is found in it.", SpaqlWarning, stacklevel=3)


def _wider(axis: Axis, found: Numbers, j: int) -> Axis:
    """A model goes a little beyond what it has seen, and a declared range must hold it."""
    ends = found.centre[j] + found.scale[j] * np.array([found.low[j], found.high[j]])
    ends += np.array([-1.0, 1.0]) * (found.blur[j] + 1e-9 * np.abs(ends).max())
    return replace(axis, low=min(axis.low, float(ends[0])), high=max(axis.high, float(ends[1])))


def _checked(problem: Problem, states: Any, actions: Any, rewards: Any, nexts: Any, ended: Any) -> Data:
    d, axes = len(problem.state), problem.actions.axes
    before = numbers("observations", states, (-1, d))
    n = len(before)
    flat = depth("actions", actions) == 1 and len(actions) == n * axes
    applied = numbers("actions", np.reshape(actions, (n, axes)) if flat else actions, (n, axes))
    paid, after = numbers("rewards", rewards, (n,)), numbers("next_observations", nexts, (n, d))
    ends = np.zeros(n, bool) if ended is None else numbers("terminated", ended, (n,)).astype(bool)
    if n < FEWEST:
        raise SpaqlError(f"{n} steps are too few for a model: give at least {FEWEST}")
    for name, part in (("observations", before), ("actions", applied), ("rewards", paid), ("next_observations", after)):
        bad = np.argwhere(~(np.abs(part) <= FAR))
        if len(bad):
            raise SpaqlError(f"{name}, row {bad[0][0]}: numbers must be finite, and below {FAR:g}")
    return Data(before, applied, paid, after, ends)


def _range(problem: Problem) -> tuple[Array, Array]:
    """Ends of the actions; one action alone has a range of its own, which nothing divides by."""
    low, high = problem.actions.bounds
    alone = isinstance(problem.actions, Finite) and len(problem.actions.values) == 1
    return (low - 1.0, high + 1.0) if alone else (low, high)


def starts_of(problem: Problem, data: Data, rng: np.random.Generator) -> Array:
    """Beginnings like those seen: between their ends and somewhat beyond, for they were few."""
    begun, jumps = ~follows_of(data), jumped(data)
    first = data.states[begun]
    mean, spread = first.mean(axis=0), first.std(axis=0, ddof=1) if len(first) > 1 else np.zeros(first.shape[1])
    drawn = mean + spread * rng.uniform(-REACH, REACH, (STARTS, len(mean)))
    for i, j, radius in _circles(data.states):
        size = np.hypot(drawn[:, i], drawn[:, j])
        drawn[:, [i, j]] *= np.where(size > 0.0, radius / np.maximum(size, 1e-300), 1.0)[:, None]
    again = rng.random(STARTS) < SEEN
    drawn[again] = first[rng.integers(len(first), size=int(again.sum()))]
    low = [-np.inf if axis.slope is not None else axis.low for axis in problem.state]
    high = [np.inf if axis.slope is not None else axis.high for axis in problem.state]
    found: Array = np.clip(drawn, np.minimum(low, first.min(axis=0)), np.maximum(high, first.max(axis=0)))
    if jumps.any():  # between two of them: a reference and what the plant does under it belong together
        after = data.nexts[jumps]
        some = rng.random(STARTS) < jumps.sum() / (jumps.sum() + begun.sum())
        one, other = rng.integers(len(after), size=(2, int(some.sum())))
        found[some] = after[one] + rng.random((int(some.sum()), 1)) * (after[other] - after[one])
    return found


def stretch_of(problem: Problem, data: Data) -> int:
    """Steps from one jump of a reference to the next: for so long the model knows what comes. Or a whole episode."""
    jumps = int(jumped(data).sum())
    return problem.horizon if jumps == 0 else max(1, min(problem.horizon, round(len(data.states) / jumps)))


def jumped(data: Data) -> Array:
    """Steps in which a variable changed that is held otherwise: a reference. No model knows when it will change again.

    What comes after such a step is like a beginning, and the only way to learn what to do with another reference.
    """
    changed = data.nexts != data.states
    held = changed.any(axis=0) & (changed.mean(axis=0) < HELD)
    for j in np.flatnonzero(held):  # a contact or a switch is no reference
        held[j] = len(np.unique(data.states[:, j])) > SWITCH
    found: Array = changed[:, held].any(axis=1)
    return found


def _circles(states: Array) -> list[tuple[int, int, float]]:
    """Pairs of variables that are sine and cosine of something, with the radius."""
    found = []
    for i, j in itertools.combinations(np.flatnonzero(states.std(axis=0) > 0.0), 2):
        radius = np.hypot(states[:, i], states[:, j])
        if radius.std() < ROUND * radius.mean():
            found.append((int(i), int(j), float(radius.mean())))
    return found


def _doubted(model: Model, data: Data, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Inputs in units at which functions are drawn: states of the data, with any action."""
    states = thinned(data, FITTED).states
    chosen = states[rng.integers(len(states), size=DOUBTED)]
    applied = rng.uniform(low, high, (DOUBTED, len(low)))
    return inputs_of(model, chosen, applied)
