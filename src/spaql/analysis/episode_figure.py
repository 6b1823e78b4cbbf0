"""An episode as a picture: every observed variable, the action and the reward over the steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import WIDTH, axis_label, legend, sheet, write_as
from spaql.arrays import Array
from spaql.colours import BLUE, GREEN, GREY, ORANGE, VERMILION
from spaql.plants.axes import Continuous, Finite
from spaql.plants.limits import limit_table
from spaql.policy.digits import number
from spaql.writing import form_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spaql.policy.worst import Worst
    from spaql.training.episode import Episode

PANEL = 1.05  # inches, the height of a panel
MOST = 10  # panels below each other; more variables stand side by side
FEW = 5  # actions that each have a tick
REFERENCE: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.1}
TYPICAL: dict[str, Any] = {"color": GREY, "linewidth": 1.0}
LIMIT: dict[str, Any] = {"color": VERMILION, "linestyle": "--", "linewidth": 1.1}


def episode_figure(episode: "Episode", path: str | PathLike[str] | None) -> "Figure":
    """See `Episode.plot`."""
    return _written(episode, path)


def worst_figure(worst: "Worst", path: str | PathLike[str] | None) -> "Figure":
    """See `Worst.plot`."""
    return _written(worst.episode, path, worst)


def _written(episode: "Episode", path: str | PathLike[str] | None, worst: "Worst | None" = None) -> "Figure":
    if path is not None:
        form_of(path)
    with episode_sheet(episode, worst) as figure:
        if path is not None:
            write_as(figure, path)
    return figure


@contextmanager
def episode_sheet(episode: "Episode", worst: "Worst | None" = None) -> Iterator["Figure"]:
    """A figure of the episode; of the worst one, with the typical one behind it."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    names, units = episode.columns()
    d, k, problem = episode.observations.shape[1], episode.actions.shape[1], episode.problem
    panels = d + k + 1
    across = -(-panels // MOST)
    down = -(-panels // across)
    with sheet(PANEL * down + 0.75, WIDTH if across == 1 else 1.3 * WIDTH) as figure:
        grid = figure.subplots(down, across, sharex=True, squeeze=False)
        axes = list(grid.T.ravel())
        for axis in axes[panels:]:
            axis.remove()
        for j in range(d):
            if worst is not None:
                axes[j].plot(worst.typical.observations[:, j], **TYPICAL)
            axes[j].plot(episode.observations[:, j], color=BLUE)
            if problem is not None and problem.reference is not None:
                axes[j].axhline(problem.reference[j], zorder=1, **REFERENCE)
        for j in range(k):
            if worst is not None:
                stairs(axes[d + j], worst.typical.actions[:, j], GREY, 0.9)
            stairs(axes[d + j], episode.actions[:, j], ORANGE)
            if problem is not None:
                fit_actions(axes[d + j], problem.actions, j)
        if worst is not None:
            stairs(axes[d + k], worst.typical.rewards, GREY, 0.9)
        stairs(axes[d + k], episode.rewards, GREEN)
        if worst is None and np.ptp(episode.rewards) == 0.0:  # else the scale would show the noise of a constant
            axes[d + k].set_ylim(*sorted((0.0, 1.15 * float(episode.rewards[0]) or 1.0)))
        for axis, name, unit in zip(axes, [*names, "reward"], [*units, ""], strict=False):
            axis.set_ylabel(axis_label(name, unit))
            axis.set_xlim(0, len(episode) if worst is None else max(len(episode), len(worst.typical)))
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if problem is not None:
            for place, low, high in limit_table(problem.limits, problem.state, problem.actions).tolist():
                draw_limit(axes[int(place)], low, high)
        for axis in {axes[panels - 1], *axes[down - 1 : panels : down]}:  # the last of every column
            axis.set_xlabel("step")
            axis.tick_params(labelbottom=True)
        figure.align_ylabels(axes[:panels])
        title = title_of(episode) if worst is None else _title_of_worst(worst)
        figure.suptitle(title, fontsize=9, fontweight="bold", x=0.01, ha="left")
        lines = [] if problem is None or problem.reference is None else [Line2D([], [], label="reference", **REFERENCE)]
        lines += [Line2D([], [], label="limit", **LIMIT)] if problem is not None and problem.limits else []
        if worst is not None:
            colours = Line2D([], [], color=BLUE, label="the worst episode found")
            lines = [colours, Line2D([], [], label="a typical one", **TYPICAL), *lines]
        if lines:
            legend(figure, lines)
        yield figure


def title_of(episode: "Episode") -> str:
    where = "" if episode.problem is None else f"{episode.problem.name}: "
    ended = ", terminated" if episode.terminated else ""
    return f"{where}{len(episode):,} steps, return {number(episode.total)}{ended}"


def _title_of_worst(worst: "Worst") -> str:
    ended = f", ended at step {len(worst.episode)}" if worst.episode.terminated else ""
    failed = ", a failure" if worst.failed else ""
    usual = f"fresh episodes {number(worst.evaluation.mean)} on average"
    return f"{worst.problem.name}: return {number(worst.total)}{ended}{failed}; {usual}"


def stairs(axis: "Axes", values: Array, colour: str, width: float = 1.4) -> None:
    """An action is applied for a whole step, and a reward belongs to one."""
    axis.stairs(values, np.arange(len(values) + 1), baseline=None, color=colour, linewidth=width)


def fit_actions(axis: "Axes", actions: Continuous | Finite, j: int) -> None:
    """The whole range is shown, and of a small set every action."""
    low, high = (float(end[j]) for end in actions.bounds)
    room = 0.08 * (high - low) or 1.0
    axis.set_ylim(low - room, high + room)
    if isinstance(actions, Finite) and len(actions.values) <= FEW:
        axis.set_yticks(actions.values, [number(value) for value in actions.values])


def draw_limit(axis: "Axes", low: float, high: float) -> None:
    """A line at every end, in sight even if nothing came near it, and a shade beyond."""
    ends = [end for end in (low, high) if np.isfinite(end)]
    for end in ends:
        axis.axhline(end, **LIMIT)
    bottom, top = axis.get_ylim()
    room = 0.06 * (max(top, *ends) - min(bottom, *ends))
    bottom, top = min(bottom, min(ends) - room), max(top, max(ends) + room)
    axis.set_ylim(bottom, top)
    if np.isfinite(low):
        axis.axhspan(bottom, low, color=VERMILION, alpha=0.08, linewidth=0)
    if np.isfinite(high):
        axis.axhspan(high, top, color=VERMILION, alpha=0.08, linewidth=0)
