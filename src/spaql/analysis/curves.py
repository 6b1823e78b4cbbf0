"""The learning curve that `spaql train` leaves."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import (
    BAND,
    COLOURS,
    episodes,
    legend,
    letters,
    mean_and_half,
    plain_log,
    png_of,
    sheet,
    thinned,
    write,
)

if TYPE_CHECKING:
    from spaql.learners.history import History

__all__ = ["COLOURS", "learning_curve"]


def learning_curve(histories: Sequence["History"], algorithm: str, problem: str, path: Path) -> None:
    """Best seen and arms over iterations: mean over the agents with its 95 % interval, every agent as a thin line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    length, colour, count = min(len(history) for history in histories), COLOURS[algorithm], len(histories)
    chosen = thinned(length)
    look: dict[str, Any] = {"color": colour, "linewidth": 1.8}
    with sheet(3.1) as figure:
        axes = figure.subplots(1, 2)
        for axis, field, label in zip(axes, ("best_seen", "arms"), ("best average return seen", "arms"), strict=True):
            values = np.array([getattr(history, field)[chosen] for history in histories], float)
            mean, half = mean_and_half(values)
            if half is not None:
                low = np.maximum(mean - half, 1.0) if field == "arms" else mean - half
                axis.fill_between(chosen + 1, low, mean + half, color=colour, alpha=BAND, linewidth=0)
                axis.plot(chosen + 1, values.T, color=colour, linewidth=0.5, alpha=0.5)
            axis.plot(chosen + 1, mean, **look)
            axis.set_ylabel(label)
            episodes(axis, length)
        axes[1].set_yscale("log")
        axes[1].set_ylim(bottom=0.8 * float(mean.min()))
        plain_log(axes[1], "y")
        letters(list(axes), [f"{algorithm} on {problem}", "size"])
        entries = [Line2D([], [], label=f"mean of {count} agents" if count > 1 else "one agent", **look)]
        if count > 1:
            entries.append(Line2D([], [], color=colour, linewidth=0.5, alpha=0.5, label="single agents"))
            band = Patch(color=colour, alpha=BAND, linewidth=0, label="95 % interval of the mean")
            entries.append(band)  # type: ignore[arg-type]
        legend(figure, entries)
        write(path, png_of(figure))
