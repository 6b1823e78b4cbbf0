"""Walls, jumps, faults of a sensor: a smooth function that has to go through a few of them is wrong everywhere."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from spaql.gp.ends import border
from spaql.gp.fit import Scales, features, fit_scales, leave_one_out, posterior
from spaql.gp.units import Values, values_of
from spaql.ground.arrays import Array

# A step that all others contradict: an error of so much of the spread, and so many times the median, in few steps
OUTLIER_ERROR, TIMES, FEW = 0.5, 10.0, 0.15
ROUNDS = 3  # of leaving out what all others contradict
ENOUGH = 60  # values among which some may be outliers before any scales are known
ASIDE = 0.1  # of the spread: how far a strange one is from a parabola, at least
BETTER = 0.5  # of the errors of all others may be left without the strange ones: else these are what is to be learned
ZONE = 0.1  # of the range of a variable: how far from its end a wall may be
MOSTLY, HITS = 0.25, 5  # of the steps beyond a wall, those that are strange, and how many at least
TURNS = 20  # of choosing those that are nearest to a parabola


class Process(NamedTuple):
    """The scales of a process, and the units in which its values are."""

    scales: Scales
    mean: float
    spread: float
    outlier: float = OUTLIER_ERROR  # the error, in these units, from which on a value is an outlier


def fit_without_outliers(values: Values) -> Process:
    """With the greatest evidence, without values that all others contradict."""
    x, y, mean, spread = values
    found, kept = _without_strange(x, y, OUTLIER_ERROR), _usual(x, y)
    if not kept.all():
        z = values_of(x[kept], y[kept])
        other = _without_strange(z.x, z.y, ASIDE)
        before = np.median(np.abs(leave_one_out(x, y, found))[kept])
        if z.spread * np.median(np.abs(leave_one_out(z.x, z.y, other))) < BETTER * before:
            return Process(other, mean + spread * z.mean, spread * z.spread, ASIDE)
    return Process(found, mean, spread)


def _without_strange(x: Array, y: Array, outlier: float) -> Scales:
    found, _ = fit_scales(x, y)
    for _ in range(ROUNDS):
        kept = inliers(x, y, x, found, outlier)
        if kept.all():
            break
        x, y = x[kept], y[kept]
        found, _ = fit_scales(x, y)
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


def inliers(x: Array, y: Array, points: Array, scales: Scales, outlier: float = OUTLIER_ERROR) -> Array:
    """Which values are not contradicted by all others: not walls, jumps, faults of a sensor. All, if those are many.

    Each value is predicted without itself; then those that were left out are predicted by the rest.
    """
    kept = np.ones(len(y), bool)
    for _ in range(ROUNDS):
        more = _outliers(x[kept], y[kept], points, scales, outlier)
        if not more.any():
            break
        kept[kept] = ~more
        found = posterior(x[kept], y[kept], points, scales)
        kept |= np.abs(y - features(x, points, scales, False) @ found.mean) < outlier
    return kept if kept.mean() >= 1.0 - FEW else np.ones(len(y), bool)


def _outliers(x: Array, y: Array, points: Array, scales: Scales, outlier: float) -> Array:
    phi, found = features(x, points, scales, False), posterior(x, y, points, scales)
    half = solve_triangular(found.root.T, phi.T, lower=True)
    leverage = (half * half).sum(axis=0) / (np.exp(2.0 * scales.noise) + 1e-8)
    wrong = np.abs(y - phi @ found.mean) / np.maximum(1.0 - leverage, 1e-9)
    told: Array = (wrong > outlier) & (wrong > TIMES * np.median(wrong))
    return told


def walls_of(states: Array, nexts: Array, outlier: Array, stops: Array) -> Array:
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
            if np.isfinite(stops[side, j]) or (outlier & near).sum() < HITS or outlier[near].all():
                continue
            begin = border(x[near], outlier[near])
            if (outlier & (x >= begin)).sum() >= HITS and outlier[x >= begin].mean() > MOSTLY:
                found[side, j] = sign * begin
    return found
