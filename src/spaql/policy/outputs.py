"""What laws put out: which kinds of laws an action space allows, and where their scores are held."""

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.plants.axes import Continuous, Finite
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, Laws


def make_laws(gains: Array, offsets: Array, actions: Continuous | Finite, kind: int) -> Laws:
    """Checked laws for an action space: compiled code will trust them."""
    if kind not in (CLIP, ORDERED, SCORES, THRESHOLD) or (kind == CLIP) != isinstance(actions, Continuous):
        raise SpaqlError("the kind of the laws does not fit the actions")
    values = np.array(actions.values, float) if isinstance(actions, Finite) else np.zeros(0)
    outputs = len(values) if kind == SCORES else actions.axes
    gains, offsets = np.ascontiguousarray(gains, float), np.ascontiguousarray(offsets, float)
    if gains.ndim != 3 or offsets.shape != gains.shape[:2] or gains.shape[1] != outputs:
        raise SpaqlError(f"laws need {outputs} rows of gains and offsets per node")
    if not np.isfinite(gains).all() or not np.isfinite(offsets).all():
        raise SpaqlError("gains and offsets of laws must be finite")
    low, high = ranges_of(actions, kind)
    return Laws(gains, offsets, low, high, values, kind)


def ranges_of(actions: Continuous | Finite, kind: int) -> tuple[Array, Array]:
    """Where the scores of laws are held: by the range of a continuous action, by the number of finite ones."""
    if isinstance(actions, Continuous):
        return actions.bounds
    if kind == ORDERED:
        return np.zeros(1), np.array([len(actions.values) - 1.0])
    outputs = len(actions.values) if kind == SCORES else 1
    return np.full(outputs, -np.inf), np.full(outputs, np.inf)


def kinds_of(actions: Continuous | Finite) -> tuple[int, ...]:
    """The kinds of laws that an action space allows.

    Whether finite actions have an order is not known: where there are more than two, all kinds are tried.
    """
    if isinstance(actions, Continuous):
        return (CLIP,)
    return (THRESHOLD,) if len(actions.values) <= 2 else (ORDERED, THRESHOLD, SCORES)
