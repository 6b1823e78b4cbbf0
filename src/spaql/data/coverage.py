"""How much of the space a log covers, in cells of a dyadic grid over the declared bounds, as in a partition."""

import itertools
import math
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import sheet
from spaql.data import coverage_grid as grid
from spaql.data.log import Log, read_log
from spaql.ground.arrays import Array
from spaql.ground.checks import flag, whole
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work, working
from spaql.plants.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSED = "#F0B8A0"  # reached by random actions, never by the data
MOST = 12  # maps, of the least covered pairs
ACROSS = 3  # maps in a row
MOST_PAIRS = 15  # rows of the table of pairs


@dataclass(frozen=True, eq=False)
class Coverage:
    """See `spaql.coverage`. `print` shows it, `figure()` draws it."""

    problem: Problem
    log: Log
    ranges: tuple[grid.Range, ...]
    overall: grid.Share
    pairs: tuple[grid.Share, ...]
    action_labels: tuple[str, ...]
    regions: tuple[grid.Region, ...]
    all_actions: float  # share of the visited cells of the overall grid in which every action was applied
    one_action: float  # the same for only one action, of the cells with as many samples as there are actions
    never: tuple[str, ...]  # what was never seen, in words
    bounds: Array  # (d, 2) of the grid: as declared; of a variable without bounds, all that was seen or reached
    data: Array  # states of the log, in [0, 1]^d between the bounds
    reach: Array | None  # states that random actions reach, in [0, 1]^d between the bounds

    def __str__(self) -> str:
        """What a person needs to decide what to measure next."""
        data, against = self.log, "declared" if self.overall.reached is None else "reached"
        lines = [f"{data.name}: {len(data):,} samples, {data.episodes:,} episodes of {self.problem.name}", ""]
        ranges = [
            [f"{r.name}{f' ({r.unit})' if r.unit else ''}", _span(*r.declared), _span(*r.seen), _percent(r.share)]
            for r in self.ranges
        ]
        lines += [*_table(["variable", "declared", "seen", f"of what is {against}"], ranges), ""]
        grids = [_row("all variables", self.overall), *_pairs(self)]
        lines += [*_table(["grid", "cells with data", against, "share"], grids), ""]
        regions = [
            [r.variable, _span(r.low, r.high), f"{r.samples:,}", *map(_percent, r.actions)]
            for r in self.regions
            if r.samples
        ]
        lines += ["actions by region (share of the samples there)"]
        lines += [*_table(["variable", "region", "samples", *self.action_labels], regions), ""]
        lines += [
            f"every action in {_percent(self.all_actions)} of the visited cells; "
            f"only one action in {_percent(self.one_action)} of those with {len(self.action_labels)} samples or more"
        ]
        never = [f"  {text}" for text in self.never] or ["  nothing: every coarse box is visited"]
        return "\n".join([*lines, "never seen", *never])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity: open ends are None."""
        entries = {
            "problem": self.problem.name, "samples": len(self.log), "episodes": self.log.episodes,
            "overall": asdict(self.overall) | {"share": self.overall.share},
            "variables": [asdict(r) for r in self.ranges],
            "pairs": [asdict(pair) | {"share": pair.share} for pair in self.pairs],
            "actions": list(self.action_labels), "regions": [asdict(region) for region in self.regions],
            "every_action": self.all_actions, "only_one_action": self.one_action, "never": list(self.never),
        }  # fmt: skip
        plain: dict[str, Any] = _finite(entries)
        return plain

    def figure(self, path: str | PathLike[str] | None = None) -> "Figure":
        """A map per pair of variables: where the data is, and what it misses.

        The figure is written to `path` (.png, .svg, .pdf) if there is one.
        """
        from matplotlib.colors import ListedColormap, LogNorm

        d = len(self.problem.state)
        pairs = zip(itertools.combinations(range(d), 2), self.pairs, strict=True)
        worst = sorted(pairs, key=lambda entry: entry[1].share)[:MOST]
        shown: list[tuple[Any, Any]] = list(worst) or [((0, 0), self.overall)]
        across = min(ACROSS, len(shown))
        down = -(-len(shown) // across)
        with sheet(2.3 * down + 0.5, path=path) as figure:
            axes = figure.subplots(down, across, squeeze=False)
            depth = grid.depth_of(len(self.data), 2)
            size = 2**depth
            image: Any = None
            norm = LogNorm(1, max(2, len(self.data) / size))
            for spare in axes.ravel()[len(shown) :]:
                spare.set_axis_off()
            for axis, (pair, share) in zip(axes.ravel(), shown, strict=False):
                counts = _counts(self.data[:, pair], depth)
                if self.reach is not None:
                    missed = np.where((_counts(self.reach[:, pair], depth) > 0) & (counts == 0), 1.0, np.nan)
                    axis.imshow(missed.T, origin="lower", cmap=ListedColormap([MISSED]), aspect="auto")
                seen = np.where(counts > 0, counts, np.nan)
                image = axis.imshow(seen.T, origin="lower", cmap="viridis_r", norm=norm, aspect="auto")
                axis.set_title(f"{100 * share.share:.0f} %")
                for j, name in zip(pair, "xy", strict=True):
                    _label(self, axis, j, name, size)
                axis.grid(visible=False)
            figure.colorbar(image, ax=axes, label="samples per cell", shrink=0.8)
            against = "" if self.reach is None else "; reddish: reached by random actions, not by the data"
            figure.suptitle(f"{self.log.name}: {len(self.log):,} samples of {self.problem.name}{against}", fontsize=9)
        return figure


@working("reading the log")
def coverage(problem: Problem, log: Any, *, reach: int = 512, gaps: bool = False) -> Coverage:
    """How much of the space a log covers, per variable, per pair of variables and overall; which actions were where.

    `log` as for `Agent.replay`; it needs no reward. `reach`: random episodes that find out what can be reached, on
    compiled plants (0: no episodes; their steps are not learned from). A state that nothing has reached may still be
    reachable by good control: the share is a guide, not a proof.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"coverage takes a problem and a log, not {type(problem).__name__} first")
    at_work("reading the log")
    data = read_log(problem, log, flag("gaps", gaps), paid=False)
    episodes = whole("reach", reach, 0, 10**6)
    states = np.concatenate([data.states, data.nexts[data.last]])  # the last states of episodes were seen too
    far = grid.reached(problem, episodes) if problem.plant is not None and episodes > 0 else None
    bounds = grid.bounds_of(problem, states if far is None else np.concatenate([states, far]))
    points, far = grid.between_bounds(bounds, states), None if far is None else grid.between_bounds(bounds, far)
    applied, labels = grid.levels_of(problem, data.actions)
    acted, d = points[: len(applied)], len(problem.state)
    counts = grid.actions_by_cell(acted, applied, len(labels), grid.depth_of(len(points), d))
    kinds, enough = (counts > 0).sum(axis=1), counts.sum(axis=1) >= len(labels)
    return Coverage(
        problem,
        data,
        ranges=tuple(grid.range_of(problem, data, points, far, j) for j in range(d)),
        overall=grid.share_of(problem, points, far, tuple(range(d))),
        pairs=tuple(grid.share_of(problem, points, far, pair) for pair in itertools.combinations(range(d), 2)),
        action_labels=labels,
        regions=grid.regions_of(problem, bounds, acted, applied, len(labels)),
        all_actions=float((kinds == len(labels)).mean()),
        one_action=float((kinds[enough] == 1).mean()) if enough.any() else 0.0,
        never=tuple(grid.never_seen(problem, bounds, points, far, applied, labels)),
        bounds=bounds,
        data=points,
        reach=far,
    )


# -- parts of the text and of the picture ------------------------------------------------------------------------------


def _counts(points: Any, depth: int) -> Any:
    counts = np.zeros((2**depth, 2**depth), np.int64)
    cells = grid.cells_of(points, depth)
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1)
    return counts


def _label(made: Coverage, axis: Any, j: int, which: str, size: int) -> None:
    """Physical values at both ends and in the middle."""
    variable, (low, high) = made.problem.state[j], made.bounds[j]
    texts = [f"{value:.3g}" for value in (low, (low + high) / 2, high)]
    getattr(axis, f"set_{which}ticks")(np.array([0.0, 0.5, 1.0]) * size - 0.5, texts)
    getattr(axis, f"set_{which}label")(f"{variable.name}{f' ({variable.unit})' if variable.unit else ''}")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _pairs(made: Coverage) -> list[list[str]]:
    """The least covered pairs first: these are the ones to act on."""
    worst = sorted(made.pairs, key=lambda pair: pair.share)
    return [_row(" x ".join(pair.variables), pair) for pair in worst[:MOST_PAIRS]]


def _row(name: str, share: grid.Share) -> list[str]:
    whole = share.declared if share.reached is None else share.reached
    return [name, f"{share.seen:,}", f"{whole:,}", _percent(share.share)]


def _span(low: float, high: float) -> str:
    return "any" if math.isinf(low) else f"{low:.3g} ... {high:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Columns as wide as they need to be: the first column aligned left, the others right."""
    widths = [max(len(row[j]) for row in [head, *rows]) for j in range(len(head))]

    def line(row: list[str]) -> str:
        return "  ".join(
            text.ljust(width) if j == 0 else text.rjust(width)
            for j, (text, width) in enumerate(zip(row, widths, strict=True))
        )

    return [line(head), "-" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, rows)]
