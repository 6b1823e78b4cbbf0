"""Coverage as a picture (a map per pair of variables), as text and as plain data; the grid in which it is counted."""

import itertools
import math
from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import sheet, write_as
from spaql.ground.arrays import Array
from spaql.ground.writing import form_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spaql.data.coverage import Coverage, Share

PER_CELL = 4  # samples per cell, if the samples were spread evenly: decides how fine the grid is
FINEST = 5  # halvings per variable at most
MISSED = "#F0B8A0"  # reached by random actions, never by the data
MOST = 12  # maps, of the least covered pairs
ACROSS = 3  # maps in a row


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


def draw(made: "Coverage", path: str | PathLike[str] | None) -> "Figure":
    """See `Coverage.figure`."""
    from matplotlib.colors import ListedColormap, LogNorm

    if path is not None:
        form_of(path)
    d = len(made.problem.state)
    pairs = zip(itertools.combinations(range(d), 2), made.pairs, strict=True)
    worst = sorted(pairs, key=lambda entry: entry[1].share)[:MOST]
    shown: list[tuple[Any, Any]] = list(worst) or [((0, 0), made.overall)]
    across = min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    with sheet(2.3 * down + 0.5) as figure:
        grid = figure.subplots(down, across, squeeze=False)
        depth = depth_of(len(made.data), 2)
        size = 2**depth
        image: Any = None
        norm = LogNorm(1, max(2, len(made.data) / size))
        for spare in grid.ravel()[len(shown) :]:
            spare.set_axis_off()
        for axis, (pair, share) in zip(grid.ravel(), shown, strict=False):
            counts = _counts(made.data[:, pair], depth)
            if made.reach is not None:
                missed = np.where((_counts(made.reach[:, pair], depth) > 0) & (counts == 0), 1.0, np.nan)
                axis.imshow(missed.T, origin="lower", cmap=ListedColormap([MISSED]), aspect="auto")
            seen = np.where(counts > 0, counts, np.nan)
            image = axis.imshow(seen.T, origin="lower", cmap="viridis_r", norm=norm, aspect="auto")
            axis.set_title(f"{100 * share.share:.0f} %")
            for j, name in zip(pair, "xy", strict=True):
                _label(made, axis, j, name, size)
            axis.grid(visible=False)
        figure.colorbar(image, ax=grid, label="samples per cell", shrink=0.8)
        against = "" if made.reach is None else "; reddish: reached by random actions, not by the data"
        figure.suptitle(f"{made.log.name}: {len(made.log):,} samples of {made.problem.name}{against}", fontsize=9)
        if path is not None:
            write_as(figure, path)
    return figure


def _counts(points: Any, depth: int) -> Any:
    counts = np.zeros((2**depth, 2**depth), np.int64)
    cells = cells_of(points, depth)
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1)
    return counts


def _label(made: "Coverage", axis: Any, j: int, which: str, size: int) -> None:
    """Physical values at both ends and in the middle."""
    variable, (low, high) = made.problem.state[j], made.bounds[j]
    texts = [f"{value:.3g}" for value in (low, (low + high) / 2, high)]
    getattr(axis, f"set_{which}ticks")(np.array([0.0, 0.5, 1.0]) * size - 0.5, texts)
    getattr(axis, f"set_{which}label")(f"{variable.name}{f' ({variable.unit})' if variable.unit else ''}")


# -- coverage as text and as plain data --------------------------------------------------------------------------------

MOST_PAIRS = 15  # rows of the table of pairs


def text_of(made: "Coverage") -> str:
    """What a person needs to decide what to measure next."""
    data, against = made.log, "declared" if made.overall.reached is None else "reached"
    lines = [f"{data.name}: {len(data):,} samples, {data.episodes:,} episodes of {made.problem.name}", ""]
    ranges = [
        [f"{r.name}{f' ({r.unit})' if r.unit else ''}", _span(*r.declared), _span(*r.seen), _percent(r.share)]
        for r in made.ranges
    ]
    lines += [*_table(["variable", "declared", "seen", f"of what is {against}"], ranges), ""]
    grids = [_row("all variables", made.overall), *_pairs(made)]
    lines += [*_table(["grid", "cells with data", against, "share"], grids), ""]
    regions = [
        [r.variable, _span(r.low, r.high), f"{r.samples:,}", *map(_percent, r.actions)]
        for r in made.regions
        if r.samples
    ]
    lines += ["actions by region (share of the samples there)"]
    lines += [*_table(["variable", "region", "samples", *made.action_labels], regions), ""]
    lines += [
        f"every action in {_percent(made.all_actions)} of the visited cells; "
        f"only one action in {_percent(made.one_action)} of those with {len(made.action_labels)} samples or more"
    ]
    never = [f"  {text}" for text in made.never] or ["  nothing: every coarse box is visited"]
    return "\n".join([*lines, "never seen", *never])


def plain_of(made: "Coverage") -> dict[str, Any]:
    """JSON has no infinity: open ends are None."""
    entries = {
        "problem": made.problem.name, "samples": len(made.log), "episodes": made.log.episodes,
        "overall": asdict(made.overall) | {"share": made.overall.share},
        "variables": [asdict(r) for r in made.ranges],
        "pairs": [asdict(pair) | {"share": pair.share} for pair in made.pairs],
        "actions": list(made.action_labels), "regions": [asdict(region) for region in made.regions],
        "every_action": made.all_actions, "only_one_action": made.one_action, "never": list(made.never),
    }  # fmt: skip
    plain: dict[str, Any] = _finite(entries)
    return plain


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _pairs(made: "Coverage") -> list[list[str]]:
    """The least covered pairs first: these are the ones to act on."""
    worst = sorted(made.pairs, key=lambda pair: pair.share)
    return [_row(" x ".join(pair.variables), pair) for pair in worst[:MOST_PAIRS]]


def _row(name: str, share: "Share") -> list[str]:
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
