"""The grid in which coverage is counted, and what a plant reaches by random actions."""

from dataclasses import dataclass

import numpy as np

from spaql.data.log import Log
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.ground.streams import FRESH_PLANT, plant_seed, sub_key
from spaql.plants.plant import LANES, advance
from spaql.plants.problem import Finite, Problem

QUARTERS = 4  # regions per variable in which actions are counted
LEVELS = 3  # of a continuous action: low, middle, high
MOST_BLANK = 5  # unseen boxes that are named
HOLDS = (1, 4, 16, 64)  # steps an action is held: short holds excite, long holds drive far
MOST_STEPS = 200  # per episode
PER_CELL = 4  # samples per cell, if the samples were spread evenly: decides how fine the grid is
FINEST = 5  # halvings per variable at most


@dataclass(frozen=True)
class Share:
    """Cells of one grid: with data, reached, declared; and the share of the reached (else declared) cells with data."""

    variables: tuple[str, ...]
    seen: int
    reached: int | None  # by the data or by random actions; None without a compiled plant
    declared: int

    @property
    def share(self) -> float:
        return self.seen / (self.declared if self.reached is None else self.reached)


@dataclass(frozen=True)
class Range:
    """One variable: declared bounds (infinite for a sigmoid axis), what was seen, share of its sixteenths with data.

    The share is of the sixteenths that were reached, by the data or by random actions.
    """

    name: str
    unit: str
    declared: tuple[float, float]
    seen: tuple[float, float]
    share: float


@dataclass(frozen=True)
class Region:
    """One quarter of the range of one variable: how many samples, and the share of each action in them."""

    variable: str
    low: float
    high: float
    samples: int
    actions: tuple[float, ...]


def depth_of(samples: int, d: int) -> int:
    """Halvings per variable of the grid for `samples` samples."""
    fine = 1
    while fine < FINEST and 2.0 ** ((fine + 1) * d) <= samples / PER_CELL:
        fine += 1
    return fine


def cells_of(points: Array, depth: int) -> Array:
    """The cell of every point: whole numbers (n, d)."""
    cells: Array = np.minimum((points * 2**depth).astype(np.int64), 2**depth - 1)
    return cells


def bounds_of(problem: Problem, seen: Array) -> Array:
    bounds = np.empty((len(problem.state), 2))
    for j, axis in enumerate(problem.state):
        bounds[j] = (axis.low, axis.high) if axis.slope is None else (seen[:, j].min(), seen[:, j].max())
    return bounds


def between_bounds(bounds: Array, states: Array) -> Array:
    width = bounds[:, 1] - bounds[:, 0]
    scaled: Array = np.clip((states - bounds[:, 0]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    return scaled


def share_of(problem: Problem, points: Array, far: Array | None, variables: tuple[int, ...]) -> Share:
    axes = list(variables)
    depth = depth_of(len(points), len(axes))
    seen = {tuple(cell) for cell in np.unique(cells_of(points[:, axes], depth), axis=0).tolist()}
    reached = None
    if far is not None:
        reached = len(seen | {tuple(cell) for cell in np.unique(cells_of(far[:, axes], depth), axis=0).tolist()})
    return Share(tuple(problem.state[j].name for j in axes), len(seen), reached, 2 ** (depth * len(axes)))


def range_of(problem: Problem, data: Log, points: Array, far: Array | None, j: int) -> Range:
    axis = problem.state[j]
    seen = set(cells_of(points[:, j], 4).tolist())
    possible = 16 if far is None else len(seen | set(cells_of(far[:, j], 4).tolist()))
    values = np.concatenate([data.states[:, j], data.nexts[:, j]])
    declared = (-np.inf, np.inf) if axis.slope is not None else (axis.low, axis.high)
    return Range(axis.name, axis.unit, declared, (float(values.min()), float(values.max())), len(seen) / possible)


def levels_of(problem: Problem, actions: Array) -> tuple[Array, tuple[str, ...]]:
    """The kind of every action, and the names of the kinds. Of several axes, the first decides."""
    space = problem.actions
    if isinstance(space, Finite):
        labels = tuple(f"{value:g}" for value in sorted(space.values))
        return np.searchsorted(np.sort(space.values), actions[:, 0]), labels
    low, high = space.low[0], space.high[0]
    kind = np.clip(((actions[:, 0] - low) / (high - low) * LEVELS).astype(int), 0, LEVELS - 1)
    cuts = np.linspace(low, high, LEVELS + 1)
    return kind, tuple(f"{cuts[i]:.3g} ... {cuts[i + 1]:.3g}" for i in range(LEVELS))


def actions_by_cell(points: Array, applied: Array, kinds: int, depth: int) -> Array:
    """(visited cells, kinds): how often each action was applied."""
    _, cell = np.unique(cells_of(points, depth), axis=0, return_inverse=True)
    counts = np.zeros((int(cell.max()) + 1, kinds), np.int64)
    np.add.at(counts, (cell.ravel(), applied), 1)
    return counts


def regions_of(problem: Problem, bounds: Array, points: Array, applied: Array, kinds: int) -> tuple[Region, ...]:
    parts = []
    for j, axis in enumerate(problem.state):
        quarter = cells_of(points[:, j], 2)
        for i in range(QUARTERS):
            here = applied[quarter == i]
            shares = np.bincount(here, minlength=kinds) / max(len(here), 1)
            low, high = _box(bounds[[j]], (i,), 2)[0]
            parts.append(Region(axis.name, low, high, len(here), tuple(shares.tolist())))
    return tuple(parts)


def _box(bounds: Array, cell: tuple[int, ...], depth: int) -> list[tuple[float, float]]:
    """The physical bounds of a cell."""
    width = (bounds[:, 1] - bounds[:, 0]) / 2**depth
    low = bounds[:, 0] + width * np.array(cell)
    return list(zip(low.tolist(), (low + width).tolist(), strict=True))


def never_seen(
    problem: Problem, bounds: Array, points: Array, far: Array | None, applied: Array, labels: tuple[str, ...]
) -> list[str]:
    """Actions never applied, then the boxes that random actions visit most and the data never does."""
    texts = [f"action {labels[k]} is never applied" for k in range(len(labels)) if not (applied == k).any()]
    if far is None:
        for j, axis in enumerate(problem.state):
            missing = sorted(set(range(QUARTERS)) - set(cells_of(points[:, j], 2).tolist()))
            texts += [f"{axis.name} {_between(*_box(bounds[[j]], (i,), 2)[0])}" for i in missing]
        return texts
    depth = min(2, depth_of(len(points), len(problem.state)))
    seen = {tuple(cell) for cell in np.unique(cells_of(points, depth), axis=0).tolist()}
    cells, visits = np.unique(cells_of(far, depth), axis=0, return_counts=True)
    blank = [(int(n), tuple(cell)) for cell, n in zip(cells.tolist(), visits, strict=True) if tuple(cell) not in seen]
    for n, cell in sorted(blank, reverse=True)[:MOST_BLANK]:
        box = _box(bounds, cell, depth)
        where = ", ".join(f"{axis.name} {_between(*bounds)}" for axis, bounds in zip(problem.state, box, strict=True))
        texts.append(f"{where} ({100 * n / len(far):.2g} % of the time of random actions)")
    if len(blank) > MOST_BLANK:
        texts.append(f"and {len(blank) - MOST_BLANK} more such boxes")
    return texts


def _between(low: float, high: float) -> str:
    return f"{low:.3g} ... {high:.3g}"


# -- what a plant reaches: states of many episodes of random actions, each held for a while ----------------------------


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
