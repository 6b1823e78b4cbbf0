"""Units: what goes into a model and what comes out of it, in spreads of the data."""

from typing import NamedTuple

import numpy as np

from spaql.gp.transitions import Data
from spaql.ground.arrays import Array

STILL = 1e-9  # variance, in units


class DataUnits(NamedTuple):
    """Of observations and actions."""

    centre: Array  # (d,)
    scale: Array
    middle: Array  # (axes,) of the actions
    half: Array


class Values(NamedTuple):
    """What one process is to explain: inputs and values in units, and the units of the values."""

    x: Array
    y: Array
    mean: float
    spread: float


def units_of(data: Data, low: Array, high: Array) -> DataUnits:
    """`low`, `high`: ends of the actions."""
    return DataUnits(data.states.mean(axis=0), spread_of(data.states), (low + high) / 2, (high - low) / 2)


def inputs_of(units: DataUnits, states: Array, actions: Array) -> Array:
    """States and actions in units."""
    return np.column_stack([(states - units.centre) / units.scale, (actions - units.middle) / units.half])


def box_of(units: DataUnits, data: Data, wider: float) -> tuple[Array, Array]:
    """The lowest and the highest states of the data in units, each moved outwards by a part of their distance."""
    z = np.concatenate([(column - units.centre) / units.scale for column in (data.states, data.nexts)])
    low, high = z.min(axis=0), z.max(axis=0)
    return low - wider * (high - low), high + wider * (high - low)


def values_of(x: Array, values: Array) -> Values:
    mean, spread = float(values.mean()), float(spread_of(values[:, None])[0])
    return Values(x, (values - mean) / spread, mean, spread)


def spread_of(values: Array) -> Array:
    """By column; 1 where nothing varies."""
    spread = values.std(axis=0)
    found: Array = np.where(spread > 1e-12, spread, 1.0)
    return found


def still_of(z: Array) -> Array:
    """(directions, d) in which states in units never vary: a constant, or an error beside what it is the error of."""
    middle = z - z.mean(axis=0)
    spread, directions = np.linalg.eigh(middle.T @ middle / len(z))
    found: Array = directions.T[spread < STILL]
    return found
