"""Walls, jumps, faults of a sensor: a smooth function that has to go through a few of them is wrong everywhere."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from spaql.gp.ends import border
from spaql.gp.fit import Widths, features, fitted, left_out, posterior
from spaql.gp.units import Values, values_of
from spaql.ground.arrays import Array

# A step that all others contradict: an error of so much of the spread, and so many times the median, in few steps
STRANGE, TIMES, FEW = 0.5, 10.0, 0.15
ROUNDS = 3  # of leaving out what all others contradict
ENOUGH = 60  # values among which some may be strange before anything is known of widths
ASIDE = 0.1  # of the spread: how far a strange one is from a parabola, at least
BETTER = 0.5  # of the errors of all others may be left without the strange ones: else these are what is to be learned
ZONE = 0.1  # of the range of a variable: how far from its end a wall may be
MOSTLY, HITS = 0.25, 5  # of the steps beyond a wall, those that are strange, and how many at least
TURNS = 20  # of choosing those that are nearest to a parabola


class Process(NamedTuple):
    """The widths of a process, and the units in which its values are."""

    widths: Widths
    mean: float
    spread: float
    strange: float = STRANGE  # the error, in these units, from which on a value is contradicted


def process_of(values: Values) -> Process:
    """With the greatest evidence, without values that all others contradict."""
    x, y, mean, spread = values
    found, kept = _without_strange(x, y, STRANGE), _usual(x, y)
    if not kept.all():
        z = values_of(x[kept], y[kept])
        other = _without_strange(z.x, z.y, ASIDE)
        before = np.median(np.abs(left_out(x, y, found))[kept])
        if z.spread * np.median(np.abs(left_out(z.x, z.y, other))) < BETTER * before:
            return Process(other, mean + spread * z.mean, spread * z.spread, ASIDE)
    return Process(found, mean, spread)


def _without_strange(x: Array, y: Array, strange: float) -> Widths:
    found, _ = fitted(x, y)
    for _ in range(ROUNDS):
        kept = sound(x, y, x, found, strange)
        if kept.all():
            break
        x, y = x[kept], y[kept]
        found, _ = fitted(x, y)
    return found


def _usual(x: Array, y: Array) -> Array:
    """Which values are about where a parabola through most of them has them; all, if the others are not few.

    Where a cart often hits a wall, a process of all steps bends there, and nothing contradicts it any more.
    """
    n, everything = len(y), np.ones(len(y), bool)
    a, b = np.triu_indices(x.shape[1])
    phi = np.column_stack([np.ones(n), x, x[:, a] * x[:, b]])
    phi = phi if 3 * phi.shape[1] <= n else phi[:, : 1 + x.shape[1]]
    if n < ENOUGH:
        return everything
    near, wrong = everything, np.zeros(n)
    for _ in range(TURNS):
        wrong = np.abs(y - phi @ np.linalg.lstsq(phi[near], y[near])[0])
        before, near = near, wrong <= np.quantile(wrong, 1.0 - FEW)
        if (near == before).all():
            break
    usual: Array = wrong <= max(TIMES * float(np.median(wrong)), ASIDE)
    return usual if usual.mean() >= 1.0 - FEW else everything


def sound(x: Array, y: Array, points: Array, widths: Widths, strange: float = STRANGE) -> Array:
    """Which values are not contradicted by all others: not walls, jumps, faults of a sensor. All, if those are many.

    Each value is predicted without itself; then those that were left out are predicted by the rest.
    """
    kept = np.ones(len(y), bool)
    for _ in range(ROUNDS):
        more = _strange(x[kept], y[kept], points, widths, strange)
        if not more.any():
            break
        kept[kept] = ~more
        found = posterior(x[kept], y[kept], points, widths)
        kept |= np.abs(y - features(x, points, widths, False) @ found.mean) < strange
    return kept if kept.mean() >= 1.0 - FEW else np.ones(len(y), bool)


def _strange(x: Array, y: Array, points: Array, widths: Widths, strange: float) -> Array:
    phi, found = features(x, points, widths, False), posterior(x, y, points, widths)
    half = solve_triangular(found.root.T, phi.T, lower=True)
    leverage = (half * half).sum(axis=0) / (np.exp(2.0 * widths.noise) + 1e-8)
    wrong = np.abs(y - phi @ found.mean) / np.maximum(1.0 - leverage, 1e-9)
    told: Array = (wrong > strange) & (wrong > TIMES * np.median(wrong))
    return told


def walls_of(states: Array, nexts: Array, strange: Array, stops: Array) -> Array:
    """(2, d) from where on, towards an end of a variable's range, many steps are strange; infinite where none is.

    Behind a wall nothing was ever seen, and no function that leaves the wall out knows that there is nothing. A stop is
    known, and no wall; nor is the far end of what was seen, where all of the few steps are strange, as those of a fall.
    """
    found = np.array([np.full(states.shape[1], -np.inf), np.full(states.shape[1], np.inf)])
    for j in range(states.shape[1]):
        zone = ZONE * np.ptp(np.r_[states[:, j], nexts[:, j]])
        for side, sign in enumerate((-1.0, 1.0)):
            x = np.maximum(sign * states[:, j], sign * nexts[:, j])
            near = x >= x.max() - zone
            if np.isfinite(stops[side, j]) or (strange & near).sum() < HITS or strange[near].all():
                continue
            begin = border(x[near], strange[near])
            if (strange & (x >= begin)).sum() >= HITS and strange[x >= begin].mean() > MOSTLY:
                found[side, j] = sign * begin
    return found
