"""Where episodes end: a process that is 1 at ends and -1 elsewhere, and the border between them."""

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from spaql.gp.gaussian_process import BOUNDS_SIGNAL, IRRELEVANT, Scales, fit_scales, mean_at
from spaql.gp.reference_jumps import without_jumps
from spaql.gp.transitions import Data, thinned
from spaql.gp.units import DataUnits, Values, inputs_of, values_of
from spaql.ground.arrays import Array

FALSE = 0.02  # of the steps that have not ended an episode: so many may be taken for ends
QUIET = 0.1  # noise of rare ends
WIDER = math.log(2.0)  # of the length scales: what may be true of rare ends
TINY = 1e-3  # width of a rare end, at least
INSIDE = 1.5  # length scales of a rare end from it to the nearest step that has not ended an episode


class EndModel(NamedTuple):
    """Widths of the process. `rare`: an episode ends only near where one has ended."""

    scales: Scales
    rare: bool = False

    @property
    def wider(self) -> "EndModel":
        """As if an episode ended also further away from where one has ended."""
        return self._replace(scales=self.scales._replace(length=self.scales.length + WIDER))


def end_values(units: DataUnits, data: Data) -> Values:
    """1 where an episode ended and -1 elsewhere, as a function of the next state."""
    return values_of(inputs_of(units, data.nexts, data.actions), np.where(data.ended, 1.0, -1.0))


def fit_end(units: DataUnits, data: Data, most: int) -> EndModel:
    """From so many steps, at most. A few ends may look like noise, which is everywhere; these are rare ones.

    A goal that was reached twice in a thousand steps: a smooth function would promise it in a fifth of all states.
    """
    some = thinned(without_jumps(data), most)
    x, y, *_ = end_values(units, some)
    found, _ = fit_scales(x, y)
    told = mean_at(x, x, y, found)
    false = (told > border(told, some.ended)) & ~some.ended
    if false.sum() <= FALSE * (~some.ended).sum():
        return EndModel(found)
    every, d = end_values(units, data), data.states.shape[1]
    states = every.x[:, :d]
    gaps = KDTree(states[~data.ended]).query(states[data.ended])[0]
    length = math.log(max(float(np.median(gaps)) / INSIDE, TINY))
    lengths = np.r_[np.full(d, length), np.full(x.shape[1] - d, 2 * IRRELEVANT)]
    signal = min(math.log(2.0 / every.spread), BOUNDS_SIGNAL[1])
    return EndModel(Scales(lengths, signal, math.log(QUIET / every.spread)), True)


def border(told: Array, ended: Array) -> float:
    """The value that divides ends from other steps with the fewest errors, an end being worth as much as all others."""
    return float(np.mean(border_gap(told, ended)))


def border_gap(told: Array, ended: Array) -> tuple[float, float]:
    """The values between which this border lies: the highest of the others below it, the lowest of the ends above."""
    order = np.argsort(told, kind="stable")
    sorted_ends = ended[order]
    missed = np.concatenate([[0], np.cumsum(sorted_ends)]) / max(ended.sum(), 1)  # below the border
    false = np.concatenate([[(~ended).sum()], (~ended).sum() - np.cumsum(~sorted_ends)]) / max((~ended).sum(), 1)
    best, values = int(np.argmin(missed + false)), told[order]
    low, high = max(best - 1, 0), min(best, len(values) - 1)
    return float(values[low]), float(values[high])
