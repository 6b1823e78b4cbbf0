"""What a statistic is computed from, checked: one finite number per run."""

import math
from collections.abc import Iterable, Mapping, Set
from numbers import Real
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import items
from spaql.ground.errors import SpaqlError, echoed

# Refused, though Python can iterate over them: a mapping gives its keys, and a set keeps only one of equal scores.
NOT_SEQUENCES = (str, bytes, Mapping, Set)
LARGEST = 1e100  # squares of larger numbers may overflow


def sample(name: str, values: Iterable[Any]) -> Array:
    """The values as an array: at least two, all finite numbers."""
    if isinstance(values, NOT_SEQUENCES) or not hasattr(values, "__iter__"):
        raise SpaqlError(f"{name} must be a sequence with one number per run, not {type(values).__name__}")
    numbers = []
    for place, item in enumerate(items(name, values)):
        if isinstance(item, bool) or not isinstance(item, Real):
            raise SpaqlError(f"{name} holds {type(item).__name__} at position {place}: give one number per run")
        try:
            numbers.append(float(item))
        except OverflowError:  # a whole number of hundreds of digits
            numbers.append(math.inf)
        if not abs(numbers[-1]) <= LARGEST:
            raise SpaqlError(
                f"{name} holds {numbers[-1]} at position {place}: "
                "give finite numbers, and score or leave out failed runs"
            )
    if len(numbers) < 2:
        count = f"{len(numbers)} value{'' if len(numbers) == 1 else 's'}"
        raise SpaqlError(f"{name} has {count}: at least two runs (seeds) are needed")
    return np.array(numbers)


def fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < 1:  # type: ignore[operator]
        raise SpaqlError(f"{name} must be a number above 0 and below 1, not {echoed(value)}")
    return float(value)


def summary(values: Array) -> tuple[float, float, int]:
    """Mean, standard deviation and number."""
    spread = float(np.ptp(values))
    if spread == 0.0:  # the mean of equal values differs from them in the last bit, and would give them a spread
        return float(values[0]), 0.0, len(values)
    return float(np.mean(values)), spread * float(np.std((values - values[0]) / spread, ddof=1)), len(values)
