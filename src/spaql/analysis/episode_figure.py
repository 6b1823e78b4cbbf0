"""An episode as a picture: every observed variable, the action and the reward over the steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.analysis.style import WIDTH, axis_label, legend, sheet
from spaql.ground.arrays import Array
from spaql.ground.colours import BLUE, GREEN, GREY, ORANGE, VERMILION
from spaql.plants.axes import Continuous, Finite
from spaql.plants.catalog import step_time
from spaql.plants.limits import limit_table
from spaql.policy.digits import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spaql.plants.signals import Signals
    from spaql.policy.probe_results import Worst
    from spaql.training.episode import Episode

# -- what is drawn of an episode, one below the other: the same in figures and on the page of an explanation -----------

class Panel(NamedTuple):
    """A variable, or an axis of the action, over the steps, in physical units."""

    name: str
    unit: str
    values: Array  # (steps + 1) of a variable, (steps) of an action
    seen: int | None = None  # the place of the variable in the observation; None: the controller does not see it
    action: int | None = None  # the place of the axis in what the controller decides; None: it decides something else
    among: tuple[Continuous | Finite, int] | None = None  # of an action: the set it is one of, and its axis there
    reference: Array | None = None  # (steps + 1) what the variable shall follow
    followed: str = ""  # the name of this reference
    asked: Array | None = None  # (steps) the action that the controller wanted, where a loop may apply another one
    limit: tuple[float, float] | None = None


def panels_of(episode: "Episode") -> list[Panel]:
    """First what follows a reference and is seen as an error only, then what is seen, then the actions."""
    names, units = episode.columns()
    d, k, problem, traces = episode.observations.shape[1], episode.actions.shape[1], episode.problem, episode.traces
    table = [] if problem is None else limit_table(problem.limits, problem.state, problem.actions).tolist()
    limits = {int(place): (low, high) for place, low, high in table}
    seen = [Panel(names[j], units[j], episode.observations[:, j], seen=j, limit=limits.get(j)) for j in range(d)]
    actions = [
        Panel(names[d + j], units[d + j], episode.actions[:, j], action=j, limit=limits.get(d + j),
              among=None if problem is None else (problem.actions, j))
        for j in range(k)
    ]  # fmt: skip
    signals = None if problem is None else problem.signals
    if traces is None or signals is None:
        return [*seen, *actions]
    behind, measured = [], [axis.name for axis in signals.measured]
    for reference, trace in zip(signals.references, traces.references.T, strict=True):
        if reference.of is None:
            continue
        shown = next((panel for panel in seen if panel.name == reference.of), None)
        if shown is not None and shown.seen is not None:
            seen[shown.seen] = shown._replace(reference=trace, followed=reference.name)
        else:
            place = measured.index(reference.of)
            output, unit = traces.outputs[:, place], signals.measured[place].unit
            behind.append(Panel(reference.of, unit, output, reference=trace, followed=reference.name))
    return [*behind, *seen, *_applied(actions, signals, traces.applied)]


def _applied(actions: list[Panel], signals: "Signals", applied: Array) -> list[Panel]:
    """What reaches the plant: beside the changes that a controller asks for, or instead of what it asks for."""
    units = (*signals.actuator.units, *[""] * signals.actuator.axes)
    if signals.increments:
        named = enumerate(signals.action_names)
        return [*(Panel(name, units[j], applied[:, j], among=(signals.actuator, j)) for j, name in named), *actions]
    if not signals.rates and not signals.interlocks:
        return actions
    return [panel._replace(values=applied[:, j], asked=panel.values) for j, panel in enumerate(actions)]


# -- an episode as a picture: every observed variable, the action and the reward over the steps ------------------------

PANEL = 1.05  # inches, the height of a panel
MOST = 10  # panels below each other; more variables stand side by side
FEW = 5  # actions that each have a tick
REFERENCE: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.1}
TYPICAL: dict[str, Any] = {"color": GREY, "linewidth": 1.0}
ASKED: dict[str, Any] = {"color": ORANGE, "linestyle": ":", "linewidth": 1.1}
LIMIT: dict[str, Any] = {"color": VERMILION, "linestyle": "--", "linewidth": 1.1}


def episode_figure(episode: "Episode", path: str | PathLike[str] | None, worst: "Worst | None" = None) -> "Figure":
    """See `Episode.plot`."""
    with episode_sheet(episode, worst, path) as figure:
        return figure


def worst_figure(worst: "Worst", path: str | PathLike[str] | None) -> "Figure":
    """See `Worst.plot`."""
    return episode_figure(worst.episode, path, worst)


@contextmanager
def episode_sheet(
    episode: "Episode", worst: "Worst | None" = None, path: str | PathLike[str] | None = None
) -> Iterator["Figure"]:
    """A figure of the episode; of the worst one, with the typical one behind it."""
    from matplotlib.ticker import MaxNLocator

    problem, panels = episode.problem, panels_of(episode)
    seconds = None if problem is None else step_time(problem)
    count, tick = len(panels) + 1, 1.0 if seconds is None else seconds
    across = -(-count // MOST)
    down = -(-count // across)
    with sheet(PANEL * down + 0.75, WIDTH if across == 1 else 1.3 * WIDTH, path) as figure:
        grid = figure.subplots(down, across, sharex=True, squeeze=False)
        axes = list(grid.T.ravel())
        for axis in axes[count:]:
            axis.remove()
        usual: list[Panel | None] = [None] * len(panels) if worst is None else [*panels_of(worst.typical)]
        for axis, panel, behind in zip(axes, panels, usual, strict=False):
            _draw_panel(axis, panel, behind, tick)
            if problem is not None and problem.reference is not None and panel.seen is not None:
                axis.axhline(problem.reference[panel.seen], zorder=1, **REFERENCE)
            if panel.limit is not None:
                draw_limit(axis, *panel.limit)
        if worst is not None:
            stairs(axes[len(panels)], worst.typical.rewards, GREY, 0.9, tick)
        stairs(axes[len(panels)], episode.rewards, GREEN, tick=tick)
        if worst is None and np.ptp(episode.rewards) == 0.0:  # else the scale would show the noise of a constant
            axes[len(panels)].set_ylim(*sorted((0.0, 1.15 * float(episode.rewards[0]) or 1.0)))
        said = [*((panel.name, panel.unit) for panel in panels), ("reward", "")]
        for axis, (name, unit) in zip(axes, said, strict=False):
            axis.set_ylabel(axis_label(name, unit))
            axis.set_xlim(0, tick * (len(episode) if worst is None else max(len(episode), len(worst.typical))))
            axis.xaxis.set_major_locator(MaxNLocator(integer=seconds is None))
        for axis in {axes[count - 1], *axes[down - 1 : count : down]}:  # the last of every column
            axis.set_xlabel("step" if seconds is None else "time (s)")
            axis.tick_params(labelbottom=True)
        figure.align_ylabels(axes[:count])
        title = title_of(episode) if worst is None else _title_of_worst(worst)
        figure.suptitle(title, fontsize=9, fontweight="bold", x=0.01, ha="left")
        entries = _entries(panels, problem is not None and problem.reference is not None, worst is not None)
        if entries:
            legend(figure, entries)
        yield figure


def _draw_panel(axis: "Axes", panel: Panel, behind: Panel | None, tick: float) -> None:
    """`behind`: the same of a typical episode; `tick`: seconds per step, or 1."""
    if panel.among is not None or panel.action is not None:
        if behind is not None:
            stairs(axis, behind.values, GREY, 0.9, tick)
        if panel.asked is not None:
            axis.stairs(panel.asked, tick * np.arange(len(panel.asked) + 1), baseline=None, **ASKED)
        stairs(axis, panel.values, ORANGE, tick=tick)
        if panel.among is not None:
            fit_actions(axis, *panel.among)
        return
    if behind is not None:
        axis.plot(tick * np.arange(len(behind.values)), behind.values, **TYPICAL)
    if panel.reference is not None:
        axis.plot(tick * np.arange(len(panel.reference)), panel.reference, drawstyle="steps-post", **REFERENCE)
    axis.plot(tick * np.arange(len(panel.values)), panel.values, color=BLUE)


def _entries(panels: list[Panel], held: bool, worst: bool) -> list[Any]:
    """Of the legend. `held`: there is a state to hold."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=BLUE, label="the worst episode found")] if worst else []
    lines += [Line2D([], [], label="a typical one", **TYPICAL)] if worst else []
    if held or any(panel.reference is not None for panel in panels):
        lines.append(Line2D([], [], label="reference", **REFERENCE))
    if any(panel.asked is not None for panel in panels):
        lines.append(Line2D([], [], label="asked for", **ASKED))
    if any(panel.limit is not None for panel in panels):
        lines.append(Line2D([], [], label="limit", **LIMIT))
    return lines


def title_of(episode: "Episode") -> str:
    where = "" if episode.problem is None else f"{episode.problem.name}: "
    ended = ", terminated" if episode.terminated else ""
    return f"{where}{len(episode):,} steps, return {number(episode.total)}{ended}"


def _title_of_worst(worst: "Worst") -> str:
    ended = f", ended at step {len(worst.episode)}" if worst.episode.terminated else ""
    failed = ", a failure" if worst.failed else ""
    usual = f"fresh episodes {number(worst.evaluation.mean)} on average"
    return f"{worst.problem.name}: return {number(worst.total)}{ended}{failed}; {usual}"


def stairs(axis: "Axes", values: Array, colour: str, width: float = 1.4, tick: float = 1.0) -> None:
    """An action is applied for a whole step, and a reward belongs to one."""
    axis.stairs(values, tick * np.arange(len(values) + 1), baseline=None, color=colour, linewidth=width)


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
