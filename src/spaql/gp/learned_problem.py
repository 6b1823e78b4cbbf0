"""A problem whose plant is learned from recorded steps."""

import math
from dataclasses import replace

import numpy as np
from scipy.special import stdtr, stdtrit
from threadpoolctl import threadpool_limits

from spaql.gp.circles import angle_of, anywhere, circles_of, turns_of
from spaql.gp.model import Model, learn_model, numbers_of
from spaql.gp.model_plant import ModelPlant, Numbers, model_plant
from spaql.gp.transitions import Data, follows_of, jumped, shifts_of, still_of, stretches_of, units_of
from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.plants.axes import Axis
from spaql.plants.plant import advance
from spaql.plants.problem import Problem

FEWEST = 10  # steps
STARTS = 256
REACH = 3.0  # deviations from the mean within which episodes begin
SEEN = 0.3  # of the episodes begin where one has begun
POOR = 0.5  # of the changes of a variable that a model may miss without a warning


def imagined(
    problem: Problem, model: Model, data: Data, starts: Array, rng: np.random.Generator, functions: int = 1,
    at: Array | None = None, lacking: bool = False, judged: bool = True,
) -> Problem:  # fmt: skip
    """The problem with a model in the place of its plant. `at`: inputs in units at which functions
    are drawn.

    `lacking`: they are not drawn, but each is learned from the data without one part of it.
    `judged`: laws are judged there; else a plan is looked for.
    """
    at = np.zeros((0, data.states.shape[1] + data.actions.shape[1])) if at is None else at
    with threadpool_limits(1, "blas"):
        numbers = numbers_of(model, data, starts, functions, at, rng, lacking, judged)
    about = f"{problem.name}, learned from {len(data.states):,} steps"
    axes = tuple(
        axis if axis.slope is not None else _wider(axis, numbers, j)
        for j, axis in enumerate(problem.state)
    )
    return replace(
        problem, name=f"{problem.name}-learned", summary=about, plant=model_plant(numbers, problem.known), env=None,
        env_id=None, state=axes, parameters={}, known=None, signals=None,
    )  # fmt: skip


def step_cost(problem: Problem) -> int:
    """What a step in a learned problem costs: kernels, and about fifty more for the rest."""
    assert isinstance(problem.plant, ModelPlant)
    return 50 + sum(int(points.shape[1]) for points in problem.plant.numbers.points)


def one_function(problem: Problem, function: int, starts: Array | None = None) -> Problem:
    """A learned problem whose episodes take place in one of its functions; if given, from these starts."""
    plant = problem.plant
    assert isinstance(plant, ModelPlant)
    numbers, only = plant.numbers, [function]
    own = numbers._replace(
        linear=numbers.linear[only], quadratic=numbers.quadratic[only],
        weights=tuple(weights[only] for weights in numbers.weights),
        starts=numbers.starts if starts is None else np.atleast_2d(starts),
    )  # fmt: skip
    return replace(problem, plant=model_plant(own, plant.known))


def predicted(problem: Problem, states: Array, actions: Array) -> Array:
    """Next observations in a problem of one function, without noise; at most LANES states."""
    plant = problem.plant
    assert isinstance(plant, ModelPlant)
    table, rows, (n, d) = plant.table(), plant.rows, states.shape
    table[rows.state : rows.state + d, :n] = states.T
    table[rows.action : rows.action + actions.shape[1], :n] = actions.T
    table[rows.noise : rows.reward] = 0.5
    advance(plant.batch[1], table.reshape(-1), 0, 0, np.zeros(n, np.uint64), 0)
    return table[rows.observation : rows.observation + d, :n].T.copy()


def model_of(problem: Problem, data: Data) -> Model:
    """The model of the data, with what is known of the problem left out."""
    low, high = range_of(problem)
    known = {} if problem.known is None else problem.known.functions
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        return learn_model(data, low, high, "reward" in known, "terminated" in known, declared_of(problem))


def _wider(axis: Axis, numbers: Numbers, j: int) -> Axis:
    """A model goes a little beyond what it has seen, and a declared range must hold it."""
    ends = numbers.centre[j] + numbers.scale[j] * np.array([numbers.low[j], numbers.high[j]])
    ends += np.array([-1.0, 1.0]) * (numbers.blur[j] + ROUNDING * np.abs(ends).max())
    return replace(axis, low=min(axis.low, float(ends[0])), high=max(axis.high, float(ends[1])))


def range_of(problem: Problem) -> tuple[Array, Array]:
    """Ends of the actions; one action alone has a range of its own, which nothing divides by."""
    low, high = problem.actions.bounds
    return (low - 1.0, high + 1.0) if problem.actions.single else (low, high)


def declared_of(problem: Problem) -> tuple[Array, Array, Array]:
    """Declared ends of the variables, else infinite, and the turns of angles, 0 of all others."""
    low = [-np.inf if axis.slope is not None else axis.low for axis in problem.state]
    high = [np.inf if axis.slope is not None else axis.high for axis in problem.state]
    turn = [axis.period or 0.0 for axis in problem.state]
    return np.array(low, float), np.array(high, float), np.array(turn, float)


def starts_of(problem: Problem, data: Data, rng: np.random.Generator) -> Array:
    """Beginnings like those seen: of a normal distribution whose mean and width are known from so
    few (Student's t).

    A law that was found for the usual beginnings only fails from the others, and nobody would say
    so.
    """
    jumps, first = jumped(data), data.states[~follows_of(data)]
    mean, spread = first.mean(axis=0), first.std(axis=0, ddof=1) if len(first) > 1 else np.zeros(first.shape[1])
    freedom = max(len(first) - 1, 1)
    chance = rng.uniform(stdtr(freedom, -REACH), stdtr(freedom, REACH), (STARTS, len(mean)))
    drawn = mean + spread * math.sqrt(1.0 + 1.0 / len(first)) * stdtrit(freedom, chance)
    for circle in circles_of(data):
        pair = [circle.cosine, circle.sine]
        size = np.hypot(*drawn[:, pair].T)
        drawn[:, pair] *= np.where(size > 0.0, circle.radius / np.maximum(size, 1e-300), 1.0)[:, None]
        if anywhere(angle_of(circle, first)):
            angle = rng.uniform(-np.pi, np.pi, STARTS)
            drawn[:, pair] = circle.radius * np.column_stack([np.cos(angle), np.sin(angle)])
    drawn = _together(drawn, data, spread)
    low, high, period = declared_of(problem)
    turns = turns_of(data.states, data.nexts, low, high, period)
    for j in np.flatnonzero(turns[1]).tolist():
        begin, turn = turns[:, j]
        if anywhere(2.0 * np.pi / turn * first[:, j]):
            drawn[:, j] = begin + turn * rng.random(STARTS)
    for j, k in enumerate(shifts_of(data).tolist()):  # before the beginning there was nothing else
        if 0 <= k < len(mean) and np.array_equal(first[:, j], first[:, k]):
            drawn[:, j] = drawn[:, k]
    again = rng.random(STARTS) < SEEN
    drawn[again] = first[rng.integers(len(first), size=int(again.sum()))]
    starts: Array = np.clip(drawn, np.minimum(low, first.min(axis=0)), np.maximum(high, first.max(axis=0)))
    if jumps.any():  # between two of them: a reference and what the plant does under it belong together
        after = data.nexts[jumps]
        some = rng.random(STARTS) > 1.0 / stretches_of(problem.horizon, data)
        first_jump, other = rng.integers(len(after), size=(2, int(some.sum())))
        way = rng.random((int(some.sum()), 1))
        starts[some] = after[first_jump] + way * (after[other] - after[first_jump])
    return starts


def _together(starts: Array, data: Data, spread: Array) -> Array:
    """Starts in whose plane all data lies: an error belongs to the reference that it is the error
    of.

    Of the variables in such a relation the one that varies most among beginnings follows from the
    others.
    """
    units = units_of(data, np.zeros(1), np.ones(1))
    moved, still = starts.copy(), still_of((data.states - units.centre) / units.scale)
    for direction in still / units.scale:
        varied = np.abs(direction) * spread
        last = len(varied) - 1 - int(np.argmax(varied[::-1] > 0.999 * varied.max()))
        if varied[last] > 0.0:
            moved[:, last] -= (moved - units.centre) @ direction / direction[last]
    return moved
