"""What a plant reaches: states of many episodes of random actions, each held for a while."""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.ground.streams import FRESH_PLANT, plant_seed, sub_key
from spaql.plants.plant import LANES, advance
from spaql.plants.problem import Finite, Problem

HOLDS = (1, 4, 16, 64)  # steps an action is held: short holds excite, long holds drive far
MOST_STEPS = 200  # per episode


def reached(problem: Problem, episodes: int, seed: int = 0) -> Array:
    """Observations (n, d) of `episodes` random episodes on a compiled plant; a quarter of them with each hold."""
    plant = problem.plant
    assert plant is not None
    rows, base, rng = plant.rows, np.uint64(plant_seed(seed, FRESH_PLANT, 0)), np.random.default_rng(seed)
    seen = []
    for block in range(-(-episodes // LANES)):
        at_work("random episodes, to see what can be reached", block * LANES, episodes)
        keys = np.array([sub_key(base, block * LANES + i) for i in range(LANES)], np.uint64)
        table = plant.table()
        advance(plant.batch[0], table.reshape(-1), rows.noise, plant.reset_noise, keys, 0)
        alive = np.ones(LANES, bool)
        hold = np.resize(HOLDS, LANES)
        for step in range(min(problem.horizon, MOST_STEPS)):
            seen.append(table[rows.observation : rows.action, alive].T.copy())
            new = np.flatnonzero(step % hold == 0)
            table[rows.action : rows.noise, new] = _drawn(problem, len(new), rng)
            counter = plant.reset_noise + step * plant.step_noise
            advance(plant.batch[1], table.reshape(-1), rows.noise, plant.step_noise, keys, counter)
            alive &= table[rows.done] == 0.0
            if not alive.any():
                break
    return np.concatenate(seen)


def _drawn(problem: Problem, n: int, rng: np.random.Generator) -> Array:
    """(axes, n) random actions."""
    space = problem.actions
    if isinstance(space, Finite):
        return rng.choice(np.array(space.values, float), (1, n))
    low, high = space.bounds
    drawn: Array = rng.uniform(low[:, None], high[:, None], (space.axes, n))
    return drawn


# -- the dyadic grid in which coverage is counted ----------------------------------------------------------------------

PER_CELL = 4  # samples per cell, if the samples were spread evenly: decides how fine the grid is
FINEST = 5  # halvings per variable at most


def depth_of(samples: int, d: int) -> int:
    """Halvings per variable of the grid for `samples` samples."""
    fine = 1
    while fine < FINEST and 2.0 ** ((fine + 1) * d) <= samples / PER_CELL:
        fine += 1
    return fine


def cells_of(points: Array, depth: int) -> Array:
    """The cell of every point: whole numbers (n, d)."""
    made: Array = np.minimum((points * 2**depth).astype(np.int64), 2**depth - 1)
    return made
