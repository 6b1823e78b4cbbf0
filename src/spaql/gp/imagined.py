"""The problem of an agent with a learned model in the place of its plant."""

from dataclasses import replace

import numpy as np

from spaql.arrays import Array
from spaql.gp.model import Data, Model, numbers_of
from spaql.gp.plant import model_plant
from spaql.plants.axes import Axis
from spaql.plants.problem import Problem

REACH = 1.8  # deviations from the mean within which episodes begin
SEEN = 0.3  # of the episodes begin where one has begun


def imagined(
    problem: Problem, model: Model, data: Data, starts: Array, functions: int = 1, at: Array | None = None,
    rng: np.random.Generator | None = None,
) -> Problem:  # fmt: skip
    """Reward and end as far as they are known; the rest is learned."""
    known = {} if problem.known is None else problem.known.functions
    plant = model_plant(
        numbers_of(model, data, starts, functions, at, rng), known.get("reward"), known.get("terminated")
    )
    free = tuple(replace(axis, low=-1e30, high=1e30, slope=None) if _wide(axis) else axis for axis in problem.state)
    return replace(problem, plant=plant, env=None, env_id=None, state=free, clip=True, known=None)


def _wide(axis: Axis) -> bool:
    return axis.slope is not None


def begin(first: Array, count: int, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Beginnings like those seen: between their ends and somewhat beyond, for they were few."""
    mean, spread = first.mean(axis=0), first.std(axis=0, ddof=1) if len(first) > 1 else np.zeros(first.shape[1])
    drawn = mean + spread * rng.uniform(-REACH, REACH, (count, len(mean)))
    again = rng.random(count) < SEEN
    drawn[again] = first[rng.integers(len(first), size=int(again.sum()))]
    found: Array = np.clip(drawn, np.minimum(low, first.min(axis=0)), np.maximum(high, first.max(axis=0)))
    return found
