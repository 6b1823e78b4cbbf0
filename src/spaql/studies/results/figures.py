"""Every learner on every problem at a glance: a matrix of scores, and every agent."""

import math
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from spaql.analysis.numbers import agents, counted, listed, short
from spaql.analysis.style import COLOURS, INK, marker_of, mean_and_half
from spaql.analysis.tables import Row
from spaql.learners.registry import CARDS
from spaql.plants.catalog import CATALOG
from spaql.studies.parts import TITLES, Results
from spaql.studies.results.tables import ENTRANTS, PUBLISHED, digits_of, result_rows, runs_of, score_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From worse than Random over Random to the best known: told apart by the colour-blind, and in grey print by how dark
# they are
SHADES = ((-0.5, "#d98a52"), (0.0, "#f4f1ea"), (0.6, "#8cc3cb"), (1.0, "#10566b"))
DARK, LIGHT = "#1d2125", "#ffffff"  # on a shade, whatever the theme of the page
LIGHT_FROM = 0.78  # from this score on light letters are read better than dark ones
COLUMNS, TITLE_WIDTH = 5, 19


def matrix(figure: "Figure", results: Results) -> str | None:
    """Returns the caption, or None without runs."""
    found = _found(results)
    if not found:
        return None
    figure.set_figheight(0.5 + 0.4 * len(found))
    axis = figure.subplots()
    axis.set(xlim=(0, len(ENTRANTS) + 0.9), ylim=(len(found), 0))
    for y, rows in enumerate(found.values()):
        axis.text(len(ENTRANTS) + 0.1, y + 0.5, _budget(rows), va="center", fontsize=6.2, linespacing=1.6)
        for row in rows:
            if row["algorithm"] in ENTRANTS:
                _cell(axis, ENTRANTS.index(row["algorithm"]), y, row, digits_of(rows))
    axis.set_xticks([*np.arange(len(ENTRANTS)) + 0.5, len(ENTRANTS) + 0.5], [*ENTRANTS, "samples"])
    axis.set_yticks(np.arange(len(found)) + 0.5, [textwrap.fill(TITLES[problem], TITLE_WIDTH) for problem in found])
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.grid(False)
    axis.spines[:].set_visible(False)
    return _caption(results, found)


def _found(results: Results) -> dict[str, list[Row]]:
    return {problem: rows for problem in TITLES if (rows := result_rows(results, problem))}


def _budget(rows: list[Row]) -> str:
    """The samples of those with iterations, at most, and of Atlas."""
    used = {
        row["algorithm"]: row["samples"] for row in rows if row["algorithm"] in ENTRANTS and row["samples"] is not None
    }
    others = [samples for name, samples in used.items() if CARDS[name].learns_by != "samples"]
    counting = [f"{name} {short(samples)}" for name, samples in used.items() if CARDS[name].learns_by == "samples"]
    return "\n".join([f"≤ {short(max(others))}"] * bool(others) + counting)


def _cell(axis: "Axes", x: int, y: int, row: Row, digits: int) -> None:
    from matplotlib.patches import Rectangle

    score = row["score"] or 0.0
    shade, ink = shade_of(score), LIGHT if score > LIGHT_FROM else DARK
    axis.add_patch(Rectangle((x + 0.02, y + 0.03), 0.96, 0.94, facecolor=shade, linewidth=0))
    digits = 0 if abs(row["fresh"]) >= 1000 else digits  # that many letters would not fit
    half = "" if row["fresh_half_width"] is None else f" ± {row['fresh_half_width']:.{digits}f}"
    said = score_text(row).replace("-", "−")
    axis.text(x + 0.5, y + 0.36, said, color=ink, ha="center", va="center", fontsize=9, fontweight="bold")
    told = f"{row['fresh']:,.{digits}f}".replace("-", "−") + half
    axis.text(x + 0.5, y + 0.74, told, color=ink, ha="center", va="center", fontsize=6.2)


def shade_of(score: float) -> str:
    from matplotlib.colors import to_hex, to_rgb

    at = [place for place, _ in SHADES]
    mixed = [float(np.interp(score, at, [to_rgb(colour)[channel] for _, colour in SHADES])) for channel in range(3)]
    return to_hex(tuple(mixed))  # type: ignore[arg-type]


def _caption(results: Results, found: dict[str, list[Row]]) -> str:
    rows = [row for rows in found.values() for row in rows if row["algorithm"] in ENTRANTS]
    best = {problem: max(rows, key=lambda row: row["fresh"])["algorithm"] for problem, rows in found.items()}
    leads = {name: sum(leader == name for leader in best.values()) for name in (*ENTRANTS, *PUBLISHED)}
    episodes = max(run.episodes for problem in found for run in results.runs("results", problem))
    told = f"Score of {agents([row['agents'] for row in rows])} on {episodes:,} fresh episodes: 0 is Random, 1 the "
    told += "best known; below it "
    told += "the mean fresh return with half its 95 % interval over the agents. "
    told += "Best known is an optimum, or the best published result. "
    unknown = [TITLES[problem] for problem in found if CATALOG[problem].best_known.value is None]
    told += f"None is known on {listed(unknown)}. " if unknown else ""
    lead = listed([f"{name} on {count}" for name, count in leads.items() if count])
    return told + f"The best mean has {lead} of {counted(len(found), 'problem')}, published rivals included."


def every_agent(figure: "Figure", results: Results) -> str | None:
    """Returns the caption, or None without runs."""
    found = _found(results)
    if not found:
        return None
    columns = min(COLUMNS, len(found))
    figure.set_figheight(0.2 + 2.1 * math.ceil(len(found) / columns))
    panels = figure.subplots(math.ceil(len(found) / columns), columns, squeeze=False)
    for axis in panels.flat[len(found) :]:
        axis.set_visible(False)
    for axis, (problem, rows) in zip(panels.flat, found.items(), strict=False):
        shown = [row["algorithm"] for row in rows]
        for place, name in enumerate(shown):
            _strip(axis, place, name, np.array([run.fresh for run in runs_of(results, problem, name)]))
        best = CATALOG[problem].best_known.value
        if best is not None:
            axis.axhline(best, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
        axis.set_title(textwrap.fill(TITLES[problem], TITLE_WIDTH), fontsize=7.5)
        axis.set(xlim=(-0.6, len(shown) - 0.4))
        axis.set_xticks(range(len(shown)), shown, rotation=90, fontsize=6.5)
        axis.tick_params(axis="y", labelsize=6.5, pad=1.5)
        axis.tick_params(axis="x", length=0)
        axis.grid(False, axis="x")
    told = (
        "Mean fresh return of every agent (dots), their mean and its 95 % interval (markers). Dotted: the best known. "
    )
    return told + "Higher is better; every panel has its own axis."


def _strip(axis: "Axes", place: int, algorithm: str, values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> None:
    if not len(values):
        return
    spread = 0.28 * np.linspace(-1.0, 1.0, len(values)) if len(values) > 1 else np.zeros(1)
    axis.plot(
        place + spread,
        values,
        linestyle="none",
        marker="o",
        markersize=1.8,
        markeredgewidth=0,
        color=COLOURS[algorithm],
        alpha=0.5,
    )
    mean, half = mean_and_half(values)
    axis.errorbar(place, mean, half, **marker_of(algorithm, markersize=4.0, zorder=4))
