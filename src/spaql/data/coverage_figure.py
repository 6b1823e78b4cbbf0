"""Coverage as a picture: a map per pair of variables."""

import itertools
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import sheet, write_as
from spaql.data.grid import cells_of, depth_of
from spaql.writing import form_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spaql.data.coverage import Coverage

MISSED = "#F0B8A0"  # reached by random actions, never by the data
MOST = 12  # maps, of the least covered pairs
ACROSS = 3  # maps in a row


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
