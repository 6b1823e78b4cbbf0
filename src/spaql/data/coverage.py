"""How much of the space a log covers, counted in the cells of a dyadic grid over the declared bounds, as partitions have them."""

import itertools
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.checks import whole
from spaql.data.log import Log, read_log
from spaql.errors import SpaqlError
from spaql.plants.problem import Finite, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PER_CELL = 4  # samples per cell there would be if they were spread evenly: decides how fine the grid is
FINEST = 5  # halvings per variable at most
QUARTERS = 4  # regions per variable in which actions are counted
LEVELS = 3  # of a continuous action: low, middle, high
MOST_BLANK = 5  # unseen boxes that are named


@dataclass(frozen=True)
class Share:
    """Cells of one grid: with data, reached by random actions, declared; and the data's share of the reached ones (else the declared)."""

    variables: tuple[str, ...]
    seen: int
    reached: int | None  # by the data or by random actions; None without a compiled plant
    declared: int

    @property
    def share(self) -> float:
        return self.seen / (self.declared if self.reached is None else self.reached)


@dataclass(frozen=True)
class Range:
    """One variable: what is declared (infinite for a sigmoid axis), what was seen, and the share of its reached sixteenths with data."""

    name: str
    unit: str
    declared: tuple[float, float]
    seen: tuple[float, float]
    share: float


@dataclass(frozen=True)
class Region:
    """One quarter of the range of one variable: how many samples, and how often each action was played there (shares)."""

    variable: str
    low: float
    high: float
    samples: int
    actions: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Coverage:
    """See `spaql.coverage`. `print` shows it, `figure()` draws it."""

    problem: Problem
    log: Log
    ranges: tuple[Range, ...]
    overall: Share
    pairs: tuple[Share, ...]
    action_labels: tuple[str, ...]
    regions: tuple[Region, ...]
    all_actions: float  # share of the visited cells of the overall grid in which every action was played ...
    one_action: float  # ... and in which only one was, of those with as many samples as there are actions
    never: tuple[str, ...]  # what was never seen, in words
    bounds: Array  # (d, 2) of the grid: those declared; of a variable without bounds, all that was seen or reached
    data: Array  # in [0, 1]^d, between the bounds
    reach: Array | None  # what random actions reach, likewise

    def __str__(self) -> str:
        from spaql.data.coverage_report import text_of

        return text_of(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        from spaql.data.coverage_report import plain_of

        return plain_of(self)

    def figure(self, path: str | PathLike[str] | None = None) -> "Figure":
        """A map per pair of variables: where the data is, and what it misses. Written to `path` (.png, .svg, .pdf) if there is one."""
        from spaql.data.coverage_figure import draw

        return draw(self, path)


def coverage(problem: Problem, log: Any, *, reach: int = 512, gaps: bool = False) -> Coverage:
    """How much of the space a log covers: per variable, per pair of variables, overall, and which actions were played where.

    `log` as for `Agent.replay`. `reach`: random episodes that find out what can be reached, on compiled plants (0: none; their steps
    are not learned from). What nothing has reached may still be reachable by good control: the share is a guide, not a proof.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"coverage takes a problem and a log, not {type(problem).__name__} first")
    data = read_log(problem, log, gaps)
    episodes = whole("reach", reach, 0, 10**6)
    states, far = np.concatenate([data.states, data.nexts[data.last]]), None  # where episodes ended was seen too
    if problem.plant is not None and episodes > 0:
        from spaql.data.reach import reached

        far = reached(problem, episodes)
    bounds = _bounds(problem, states if far is None else np.concatenate([states, far]))
    points, far = _between_bounds(bounds, states), None if far is None else _between_bounds(bounds, far)
    d = len(problem.state)
    played, labels = _levels(problem, data.actions)
    overall = share_of(problem, points, far, tuple(range(d)))
    pairs = tuple(share_of(problem, points, far, pair) for pair in itertools.combinations(range(d), 2))
    counts = _actions_by_cell(points[: len(played)], played, len(labels), depth_of(len(points), d))
    kinds, enough = (counts > 0).sum(axis=1), counts.sum(axis=1) >= len(labels)
    return Coverage(
        problem, data, tuple(_range(problem, data, points, far, j) for j in range(d)), overall, pairs, labels,
        _regions(problem, bounds, points[: len(played)], played, len(labels)), float((kinds == len(labels)).mean()),
        float((kinds[enough] == 1).mean()) if enough.any() else 0.0,
        tuple(_never(problem, bounds, points, far, played, labels)), bounds, points, far,
    )  # fmt: skip


def _bounds(problem: Problem, seen: Array) -> Array:
    made = np.empty((len(problem.state), 2))
    for j, axis in enumerate(problem.state):
        made[j] = (axis.low, axis.high) if axis.slope is None else (seen[:, j].min(), seen[:, j].max())
    return made


def _between_bounds(bounds: Array, states: Array) -> Array:
    width = bounds[:, 1] - bounds[:, 0]
    made: Array = np.clip((states - bounds[:, 0]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    return made


def depth_of(samples: int, d: int) -> int:
    """Halvings per variable of the grid for so many samples."""
    fine = 1
    while fine < FINEST and 2.0 ** ((fine + 1) * d) <= samples / PER_CELL:
        fine += 1
    return fine


def cells_of(points: Array, depth: int) -> Array:
    """The cell of every point: whole numbers (n, d)."""
    made: Array = np.minimum((points * 2**depth).astype(np.int64), 2**depth - 1)
    return made


def share_of(problem: Problem, points: Array, far: Array | None, variables: tuple[int, ...]) -> Share:
    axes = list(variables)
    depth = depth_of(len(points), len(axes))
    seen = {tuple(cell) for cell in np.unique(cells_of(points[:, axes], depth), axis=0).tolist()}
    reached = None
    if far is not None:
        reached = len(seen | {tuple(cell) for cell in np.unique(cells_of(far[:, axes], depth), axis=0).tolist()})
    return Share(tuple(problem.state[j].name for j in axes), len(seen), reached, 2 ** (depth * len(axes)))


def _range(problem: Problem, data: Log, points: Array, far: Array | None, j: int) -> Range:
    axis = problem.state[j]
    seen = set(cells_of(points[:, j], 4).tolist())
    possible = 16 if far is None else len(seen | set(cells_of(far[:, j], 4).tolist()))
    values = np.concatenate([data.states[:, j], data.nexts[:, j]])
    declared = (-np.inf, np.inf) if axis.slope is not None else (axis.low, axis.high)
    return Range(axis.name, axis.unit, declared, (float(values.min()), float(values.max())), len(seen) / possible)


def _levels(problem: Problem, actions: Array) -> tuple[Array, tuple[str, ...]]:
    """The kind of every action, and what the kinds are called. Of several axes, the first says it."""
    space = problem.actions
    if isinstance(space, Finite):
        return np.searchsorted(np.sort(space.values), actions[:, 0]), tuple(f"{value:g}" for value in sorted(space.values))
    low, high = space.low[0], space.high[0]
    kind = np.clip(((actions[:, 0] - low) / (high - low) * LEVELS).astype(int), 0, LEVELS - 1)
    cuts = np.linspace(low, high, LEVELS + 1)
    return kind, tuple(f"{cuts[i]:.3g} ... {cuts[i + 1]:.3g}" for i in range(LEVELS))


def _actions_by_cell(points: Array, played: Array, kinds: int, depth: int) -> Array:
    """(visited cells, kinds): how often each action was played."""
    _, cell = np.unique(cells_of(points, depth), axis=0, return_inverse=True)
    counts = np.zeros((int(cell.max()) + 1, kinds), np.int64)
    np.add.at(counts, (cell.ravel(), played), 1)
    return counts


def _regions(problem: Problem, bounds: Array, points: Array, played: Array, kinds: int) -> tuple[Region, ...]:
    made = []
    for j, axis in enumerate(problem.state):
        quarter = cells_of(points[:, j], 2)
        for i in range(QUARTERS):
            here = played[quarter == i]
            shares = np.bincount(here, minlength=kinds) / max(len(here), 1)
            low, high = _box(bounds[[j]], (i,), 2)[0]
            made.append(Region(axis.name, low, high, len(here), tuple(shares.tolist())))
    return tuple(made)


def _box(bounds: Array, cell: tuple[int, ...], depth: int) -> list[tuple[float, float]]:
    """The physical bounds of a cell."""
    width = (bounds[:, 1] - bounds[:, 0]) / 2**depth
    low = bounds[:, 0] + width * np.array(cell)
    return list(zip(low.tolist(), (low + width).tolist(), strict=True))


def _never(problem: Problem, bounds: Array, points: Array, far: Array | None, played: Array, labels: tuple[str, ...]) -> list[str]:
    """Actions never played, then the boxes that random actions visit most and the data never does."""
    said = [f"action {labels[k]} is never played" for k in range(len(labels)) if not (played == k).any()]
    if far is None:
        for j, axis in enumerate(problem.state):
            missing = sorted(set(range(QUARTERS)) - set(cells_of(points[:, j], 2).tolist()))
            said += [f"{axis.name} {_between(*_box(bounds[[j]], (i,), 2)[0])}" for i in missing]
        return said
    depth = min(2, depth_of(len(points), len(problem.state)))
    seen = {tuple(cell) for cell in np.unique(cells_of(points, depth), axis=0).tolist()}
    cells, visits = np.unique(cells_of(far, depth), axis=0, return_counts=True)
    blank = [(int(n), tuple(cell)) for cell, n in zip(cells.tolist(), visits, strict=True) if tuple(cell) not in seen]
    for n, cell in sorted(blank, reverse=True)[:MOST_BLANK]:
        box = _box(bounds, cell, depth)
        where = ", ".join(f"{axis.name} {_between(*bounds)}" for axis, bounds in zip(problem.state, box, strict=True))
        said.append(f"{where} ({100 * n / len(far):.2g} % of the time of random actions)")
    if len(blank) > MOST_BLANK:
        said.append(f"and {len(blank) - MOST_BLANK} more such boxes")
    return said


def _between(low: float, high: float) -> str:
    return f"{low:.3g} ... {high:.3g}"
