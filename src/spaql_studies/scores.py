"""Every learner on every problem: what each reaches, a matrix of scores, and every agent."""

import textwrap
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from spaql.analysis.style import COLOURS, mean_and_half, short
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS, learners, rivals
from spaql.plants.catalog import CATALOG
from spaql.policy.digits import counted
from spaql_studies.benchmark import figures_of
from spaql_studies.figures import dots, dotted_level, marker_of, panel_grid, side_by_side
from spaql_studies.parts import TITLES
from spaql_studies.runs.rows import Run
from spaql_studies.study import Results
from spaql_studies.tables import NOTHING, Row, agents, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPARED = tuple(card for card in learners() if not card.simulator)
ENTRANTS = tuple(card.name for card in COMPARED)
PUBLISHED = tuple(card.name for card in rivals())  # shown beside them where the package has their runs
WIDE_RANGE = 20.0  # of returns: those that differ by more are told with one digit, others with three


def rows_by_problem(results: Results) -> dict[str, list[Row]]:
    """Of the problems there are runs for."""
    return {problem: rows for problem in TITLES if (rows := result_rows(results, problem))}


def runs_of(results: Results, problem: str, algorithm: str) -> list[Run]:
    """Runs of the plan, or published ones beside them."""
    card = CARDS[algorithm]
    experiment = ("trpo" if card.in_paper else "rivals") if card.rival else "results"
    return results.runs(experiment, problem, algorithm)


def result_rows(results: Results, problem: str) -> list[Row]:
    """One row per learner with runs; none without runs of the plan. `score`: 0 is Random, 1 the best known."""
    if not results.runs("results", problem):
        return []
    rows = [_row(problem, name, runs) for name in (*ENTRANTS, *PUBLISHED) if (runs := runs_of(results, problem, name))]
    best = CATALOG[problem].best_known.value
    random = next((row["fresh"] for row in rows if not CARDS[row["algorithm"]].learns), None)
    for row in rows:
        row["best_known"] = best
        if random is not None and best is not None and best > random:
            row["score"] = (row["fresh"] - random) / (best - random)
            half = row["fresh_half_width"]
            row["score_half_width"] = None if half is None else half / (best - random)
    return rows


def _row(problem: str, algorithm: str, runs: Sequence[Run]) -> Row:
    learns = CARDS[algorithm].learns
    row: Row = {"problem": problem, "algorithm": algorithm, "agents": len(runs), "xi": runs[0].xi}
    row |= figures_of(runs, "fresh", "fresh_half_width", "worst_agent", "best_agent")
    row |= {"score": None, "score_half_width": None, "best_known": None}
    samples = figures_of(runs, "train_samples", "eval_samples")
    row |= samples | {"samples": sum(samples.values())} if learns else dict.fromkeys((*samples, "samples"))
    arms = [run.arms for run in runs if run.arms is not None]
    seconds = [cpu for run in runs if (cpu := seconds_of(run)) is not None]
    row["cells"] = fmean(arms) if arms and learns else None
    return row | {"cpu_seconds": fmean(seconds) if seconds and learns else None}


def seconds_of(run: Run) -> float | None:
    """CPU seconds of learning; of TRPO those of the clock, nothing else was kept."""
    return float(run.cpu_curve[-1]) if len(run.cpu_curve) else run.seconds if CARDS[run.algorithm].rival else None


def digits_of(rows: Sequence[Row]) -> int:
    returns = [row["fresh"] for row in rows]
    return 1 if max(returns) - min(returns) > WIDE_RANGE else 3


def score_text(row: Row) -> str:
    """Two digits; more, where two would say 1.00 of a mean that is surely below the best known."""
    score, digits = row["score"], 2
    if score is None:
        return NOTHING
    below = score < 1.0 - (row["score_half_width"] or 0.0)
    while below and digits < 6 and round(score, digits) >= 1.0:
        digits += 1
    return f"{round(score, digits) + 0.0:.{digits}f}"  # never minus nought


# -- a matrix of scores ------------------------------------------------------------------------------------------------

# From worse than Random over Random to the best known: told apart by the colour-blind, and in grey print by how dark
# they are
SHADES = ((-0.5, "#d98a52"), (0.0, "#f4f1ea"), (0.6, "#8cc3cb"), (1.0, "#10566b"))
DARK, LIGHT = "#1d2125", "#ffffff"  # on a shade, whatever the theme of the page
LIGHT_FROM = 0.78  # from this score on light letters are read better than dark ones
TITLE_WIDTH = 19  # letters


def matrix(figure: "Figure", results: Results) -> str | None:
    """Returns the caption, or None without runs."""
    rows_of = rows_by_problem(results)
    if not rows_of:
        return None
    figure.set_figheight(0.5 + 0.4 * len(rows_of))
    axis = figure.subplots()
    axis.set(xlim=(0, len(ENTRANTS) + 0.9), ylim=(len(rows_of), 0))
    for y, rows in enumerate(rows_of.values()):
        axis.text(len(ENTRANTS) + 0.1, y + 0.5, _budget(rows), va="center", fontsize=6.2, linespacing=1.6)
        for row in rows:
            if row["algorithm"] in ENTRANTS:
                _cell(axis, ENTRANTS.index(row["algorithm"]), y, row, digits_of(rows))
    axis.set_xticks([*np.arange(len(ENTRANTS)) + 0.5, len(ENTRANTS) + 0.5], [*ENTRANTS, "samples"])
    axis.set_yticks(np.arange(len(rows_of)) + 0.5, [textwrap.fill(TITLES[problem], TITLE_WIDTH) for problem in rows_of])
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.grid(False)
    axis.spines[:].set_visible(False)
    return _caption(results, rows_of)


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
    text = f"{row['fresh']:,.{digits}f}".replace("-", "−") + half
    axis.text(x + 0.5, y + 0.74, text, color=ink, ha="center", va="center", fontsize=6.2)


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
    text = f"Score of {agents([row['agents'] for row in rows])} on {episodes:,} fresh episodes: 0 is Random, 1 the "
    text += "best known; below it the mean fresh return with half its 95 % interval over the agents. "
    text += "Best known is an optimum, or the best published result. "
    unknown = [TITLES[problem] for problem in found if CATALOG[problem].best_known.value is None]
    text += f"None is known on {listed(unknown)}. " if unknown else ""
    lead = listed([f"{name} on {count}" for name, count in leads.items() if count])
    return text + f"The best mean has {lead} of {counted(len(found), 'problem')}, published rivals included."


def every_agent(figure: "Figure", results: Results) -> str | None:
    """Returns the caption, or None without runs."""
    rows_of = rows_by_problem(results)
    if not rows_of:
        return None
    axes = panel_grid(figure, [TITLES[problem] for problem in rows_of], 5, (0.2, 2.1), (TITLE_WIDTH, 7.5))
    for axis, (problem, rows) in zip(axes, rows_of.items(), strict=True):
        shown = [row["algorithm"] for row in rows]
        for place, name in enumerate(shown):
            _strip(axis, place, name, np.array([run.fresh for run in runs_of(results, problem, name)]))
        dotted_level(axis, CATALOG[problem].best_known.value, 1.5)
        axis.set(xlim=(-0.6, len(shown) - 0.4))
        axis.set_xticks(range(len(shown)), shown, rotation=90, fontsize=6.5)
        axis.tick_params(axis="y", labelsize=6.5, pad=1.5)
        axis.tick_params(axis="x", length=0)
        axis.grid(False, axis="x")
    text = "Mean fresh return of every agent (dots), their mean and its 95 % interval (markers). "
    return text + "Dotted: the best known. Higher is better; every panel has its own axis."


def _strip(axis: "Axes", place: int, algorithm: str, values: Array) -> None:
    axis.plot(place + 0.28 * side_by_side(len(values)), values, color=COLOURS[algorithm], **dots(1.8))
    mean, half = mean_and_half(values)
    axis.errorbar(place, mean, half, **marker_of(algorithm, markersize=4.0, zorder=4))
