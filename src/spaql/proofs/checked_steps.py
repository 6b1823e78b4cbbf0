"""The checker's step of many sets: the plant's own functions, and the mean value theorem on every
way through them."""

from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.checked_kernels import ROUND
from spaql.proofs.checked_sets import Acting, Many, acting, around_of, there, tightened, together
from spaql.proofs.checker import CheckedLoop, require
from spaql.proofs.plant_runs import ForSure, Value, runs

PARTS = 2


WIDE = 1e6


def stepped(loop: CheckedLoop, sets: Many) -> Many:
    """All sets a step on."""
    acts = acting(loop, sets)
    require(len(acts) > 0, "no state goes on")
    sets = together([act.sets for act in acts])
    lines = (np.concatenate([act[k] for act in acts]) for k in range(1, len(acts[0])))
    return there(together(_moved_on(loop, Acting(sets, *lines))))


def _moved_on(loop: CheckedLoop, act: Acting) -> list[Many]:
    plant: Any = loop.problem.plant
    sets, n, noise = act.sets, len(act.u), plant.step_noise
    _, box = around_of(sets)
    unit = np.tile([0.0, 1.0], (n, noise, 1))
    whole = np.concatenate([box, np.stack([act.least, act.most], axis=2), unit], axis=1)
    middle = np.concatenate([sets.c, act.u, np.full((n, noise), 0.5)], axis=1)
    parts = []
    for way, (state, reward, ended) in runs(plant.step.python, whole, False, True):
        rows = np.flatnonzero(way.possible)
        if len(rows) == 0:
            continue
        require(way.finite[rows], "the plant is not defined everywhere in a set")
        B = np.stack([pair_of(item, n) for item in state], axis=1)[rows]
        require((B[..., 1] - B[..., 0] < WIDE), "a set grows without bound")
        gained, over = pair_of(reward, n)[rows], ended_of(ended, n)[rows]
        require(np.isfinite(gained), "a reward is not known")
        following = _mean_value(loop, act, rows, whole[rows], middle[rows], way.taken)
        c, G, R = following
        unknown = ~np.asarray(np.isfinite(R).all(axis=1) & np.isfinite(c).all(axis=1))
        half = 0.5 * (B[..., 1] - B[..., 0])
        c = np.where(unknown[:, None], B.mean(axis=2), c)
        G = np.where(unknown[:, None, None], 0.0, G)
        R = np.where(unknown[:, None], half * (1.0 + ROUND) + ROUND * np.abs(B).max(axis=2) + 1e-300, R)
        total = sets.reward[rows] + gained
        total = total + np.abs(total) * 1e-15 * [-1.0, 1.0]
        parts.append(tightened(Many(c, G, R, B, sets.owner[rows], total, sets.age[rows] + 1, over)))
    return parts


def pair_of(item: Any, n: int) -> Array:
    if isinstance(item, Value):
        return np.stack([item.low, item.high], axis=1)
    return np.full((n, 2), float(item))


def ended_of(ended: Any, n: int) -> Array:
    """Perhaps, and surely."""
    if isinstance(ended, ForSure):
        return np.stack([~ended.surely_not, ended.surely], axis=1)
    return np.full((n, 2), bool(ended))


def _mean_value(
    loop: CheckedLoop, act: Acting, rows: Array, whole: Array, middle: Array, answers: tuple[bool, ...]
) -> tuple[Array, Array, Array]:
    plant: Any = loop.problem.plant
    sets, d, m = act.sets.take(rows), act.sets.c.shape[1], act.u.shape[1]
    n = len(rows)
    low, high = np.minimum(whole[..., 0], middle), np.maximum(whole[..., 1], middle)
    shrunk = []
    for part in range(1, PARTS + 1):
        ends = np.stack([middle + (low - middle) * (part / PARTS), middle + (high - middle) * (part / PARTS)], axis=2)
        lost = (np.abs(ends) + np.abs(middle)[..., None]) * 1e-15 + 1e-300
        shrunk.append(ends + lost * [-1.0, 1.0])
    points = np.stack([middle, middle], axis=2)
    ((_, over),) = runs(plant.step.python, np.concatenate(shrunk), True, False, answers)
    ((_, at),) = runs(plant.step.python, points, False, False, answers)
    reach = np.maximum(high - middle, middle - low)
    c, G, R = np.zeros((n, d)), np.zeros((n, d, sets.G.shape[2])), np.zeros((n, d))
    for i in range(d):
        value = pair_of(at[0][i], n)
        c[:, i] = value.mean(axis=1)
        if not isinstance(over[0][i], Value):
            R[:, i] = 1e-300
            continue
        with np.errstate(all="ignore"):
            J = [side.reshape(PARTS, n, -1).mean(axis=0) for side in over[0][i].slope]
            J_mid, J_half = 0.5 * (J[0] + J[1]), 0.5 * (J[1] - J[0])
            A = J_mid[:, :d] + np.einsum("nm,nmd->nd", J_mid[:, d : d + m], act.g[rows])
            G[:, i] = np.einsum("nj,njk->nk", A, sets.G)
            R[:, i] = (value[:, 1] - value[:, 0]) + over[0][i].error.reshape(PARTS, n).max(axis=0)
            R[:, i] += ((J_half + ROUND * np.abs(J_mid)) * reach).sum(axis=1)
            R[:, i] += (np.abs(J_mid[:, d : d + m]) * act.e[rows]).sum(axis=1)
            R[:, i] += 0.5 * np.abs(J_mid[:, d + m :]).sum(axis=1) + (np.abs(A) * sets.R).sum(axis=1)
            size = (
                np.abs(c[:, i])
                + np.einsum("nj,njk->n", np.abs(A), np.abs(sets.G))
                + (np.abs(A) * reach[:, :d]).sum(axis=1)
            )
            R[:, i] = R[:, i] * (1.0 + ROUND) + ROUND * size + 1e-300
    return c, G, R
