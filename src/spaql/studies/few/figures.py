"""Laws after few samples: every agent, and what others have published, over samples."""

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.numbers import agents, span
from spaql.analysis.style import COLOURS, INK, MARKERS, entry, legend, line_of, mean_and_half, plain_log
from spaql.analysis.tables import Row
from spaql.ground.arrays import Array
from spaql.learners.registry import rivals
from spaql.plants.catalog import CATALOG
from spaql.studies.atlas.figures import returns_axis
from spaql.studies.few.tables import MODEL_BASED, TASKS, FewTask, published_of, runs_of
from spaql.studies.laws.study import title_of
from spaql.studies.parts import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS, TITLE_WIDTH = 3, 26
SHAPES = ("P", "o", "s")  # of the tasks on a problem
ALIKE = 0.04  # of a return: published ones that differ by less share a name
WIDE = 0.04  # of the dots of the agents, in powers of ten of samples
OTHERS: dict[str, Any] = {"color": INK, "marker": "d", "markerfacecolor": "none", "markersize": 5.0, "linewidth": 1.0}


def few_figure(figure: "Figure", results: Results) -> str | None:
    """Returns the caption, or None without runs."""
    found = [problem for problem in TASKS if results.runs("few", problem)]
    if not found:
        return None
    columns = min(COLUMNS, len(found))
    rows = math.ceil(len(found) / columns)
    figure.set_figheight(0.5 + 2.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    for axis in panels.flat[len(found) :]:
        axis.set_visible(False)
    shown: set[str] = set()
    for axis, problem in zip(panels.flat, found, strict=False):
        shown |= _panel(axis, results, problem)
    for axis in panels[:, 0]:
        axis.set_ylabel("fresh return")
    names = [name for name in _rivals() if name in shown]
    published = entry(MODEL_BASED, "others, as published", linestyle="none", **OTHERS)
    ours = entry(MODEL_BASED, "laws of Atlas, mean of the agents", linestyle="none", marker=SHAPES[0])
    legend(figure, [ours, *(entry(name) for name in names), published], 2.2)
    return _caption(results, found, names)


def _rivals() -> list[str]:
    return [card.name for card in rivals() if not card.in_paper]


def _panel(axis: "Axes", results: Results, problem: str) -> set[str]:
    """One problem; returns the rivals in it."""
    drawn = set()
    for name in _rivals():
        runs = results.runs("rivals", problem, name)
        if runs:
            length = min(len(run.checkpoints) for run in runs)
            x, y = (
                np.array([getattr(run, column)[:length] for run in runs], float).mean(axis=0)
                for column in ("checkpoints", "checkpoint_returns")
            )
            axis.plot(x, y, marker=MARKERS[name], markersize=2.5, **line_of(name, linewidth=1.0, zorder=2.5))
            drawn.add(name)
    for place, lines in enumerate(_alike([line for line in published_of(problem) if line["fresh"] is not None])):
        _published(axis, lines, place)
    for place, task in enumerate(TASKS[problem]):
        _task(axis, results, problem, task, SHAPES[place])
    best = CATALOG[problem].best_known.value if problem in CATALOG else None
    if best is not None:
        axis.axhline(best, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
    axis.set_xscale("log")
    _room(axis)
    plain_log(axis, "x")
    returns_axis(axis, problem)
    axis.set_xlabel("samples")
    axis.set_title(textwrap.fill(title_of(problem), TITLE_WIDTH), fontsize=8)
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=6.5, loc="lower right", handlelength=1.0, borderaxespad=0.1)
    return drawn


def _alike(lines: list[Row]) -> list[list[Row]]:
    """Lines with about the same return after the same samples together: they share one name."""
    groups: list[list[Row]] = []
    for line in lines:
        for group in groups:
            if group[0]["samples"] == line["samples"] and abs(line["fresh"] / group[0]["fresh"] - 1.0) < ALIKE:
                group.append(line)
                break
        else:
            groups.append([line])
    return groups


def _published(axis: "Axes", lines: list[Row], place: int) -> None:
    for line in lines:
        axis.plot([line["samples"]] * 2, [line["fresh"], line["most"]], zorder=3.0, **OTHERS)
    names, middle = ", ".join(line["who"] for line in lines), (lines[-1]["fresh"] + lines[-1]["most"]) / 2
    away = (-4.0, -2.0 - 6.0 * (place % 2))  # names of neighbours would hide each other
    axis.annotate(
        names, (lines[0]["samples"], middle), away, textcoords="offset points", ha="right", va="top", fontsize=6.0
    )


def _task(axis: "Axes", results: Results, problem: str, task: FewTask, shape: str) -> None:
    runs = runs_of(results, problem, task)
    if not runs:
        return
    length, colour = min(len(run.checkpoints) for run in runs), COLOURS[MODEL_BASED]
    x, y = (
        np.array([getattr(run, column)[:length] for run in runs], float)
        for column in ("checkpoints", "checkpoint_returns")
    )
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 2.0, "markeredgewidth": 0, "alpha": 0.5}
    axis.plot(_beside(x), y, color=colour, zorder=3.5, **dots)
    mean, half = mean_and_half(y)
    axis.errorbar(
        x.mean(axis=0), mean, half, color=colour, linewidth=1.2, marker=shape, zorder=4.0, label=task.label or None
    )


def _beside(x: Array) -> Array:
    """The agents side by side."""
    wide = WIDE * np.linspace(-1.0, 1.0, len(x)) if len(x) > 1 else np.zeros(1)
    placed: Array = x * 10.0 ** wide[:, None]
    return placed


def _room(axis: "Axes") -> None:
    """At least a power of ten around what is there, and room for names at the left."""
    axis.margins(y=0.12)
    low, high = axis.get_xlim()
    axis.set_xlim(low / 2.5, max(high * 1.3, low * 10.0))


def _caption(results: Results, found: list[str], names: list[str]) -> str:
    runs = [runs_of(results, problem, task) for problem in found for task in TASKS[problem]]
    counts = [len(group) for group in runs if group]
    episodes = span(run.episodes for group in runs for run in group)
    text = f"Fresh return over all samples, {agents(counts)} on {episodes} fresh episodes: every agent (dots), "
    text += "the mean and its 95 % interval (markers). Diamonds: what others have published, where it is a return; the "
    text += "table below has the rest, with sources. "
    if names:
        text += "Lines: runs of Stable-Baselines3 with published settings. "
    if any(problem in CATALOG for problem in found):
        text += "Dotted: the best known. "
    return text + "Every panel has its own axes."
