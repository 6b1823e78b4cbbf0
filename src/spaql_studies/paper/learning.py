"""Learning curves: return and arms over the training episodes, and the return over samples against TRPO."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import INK, episodes, legend, letters, plain_log, short, thinned
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS, learners
from spaql_studies.figures import ORDER, RING, entry, fresh_strip, line_of, plot_band
from spaql_studies.paper.plan import main_runs, random_runs
from spaql_studies.runs.rows import Run
from spaql_studies.study import Results
from spaql_studies.tables import agents, caption_number, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Series:
    """The agents of one algorithm: one row per agent, one column per iteration; and the fresh mean of each kept
    agent."""

    algorithm: str
    seen: Array
    arms: Array
    fresh: Array


@dataclass(frozen=True)
class Level:
    """A policy that does not learn."""

    label: str
    value: float
    dashes: Any = None


def series_of(runs: Sequence[Run]) -> list[Series]:
    series = []
    for name in ORDER:
        chosen = [run for run in runs if run.algorithm == name]
        if chosen:
            length = min(len(run.best_seen_curve) for run in chosen)
            seen, arms = (
                np.array([getattr(run, f"{curve}_curve")[:length] for run in chosen], float)
                for curve in ("best_seen", "arms")
            )
            series.append(Series(name, seen, arms, np.array([run.fresh for run in chosen])))
    return series


def levels_of(results: Results, problem: str) -> list[Level]:
    """Random over the whole range and, where there is one, the paper's, which applies no negative torque."""
    kinds = (("Random", None, None), ("Random, torque ≥ 0", 0.0, (0, (1, 3))))
    levels = [(label, random_runs(results, problem, low), dashes) for label, low, dashes in kinds]
    return [Level(label, float(np.mean([run.fresh for run in runs])), dashes) for label, runs, dashes in levels if runs]


def learning(figure: "Figure", results: Results, problem: str, title: str) -> str | None:
    """Returns the caption, or None without data."""
    runs = main_runs(results, problem)
    if not runs:
        return None
    series, levels = series_of(runs), levels_of(results, problem)
    axes = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
    draw_returns(axes[0], series, levels)
    draw_arms(axes[1], series)
    letters(list(axes), ["return", "size"])
    learning_legend(figure, series, levels)
    return _caption(title, runs, series)


def draw_returns(axis: "Axes", series: Sequence[Series], levels: Sequence[Level]) -> None:
    """The curves, and beside them the fresh returns of the kept agents."""
    for line in series:
        chosen = thinned(line.seen.shape[1])
        plot_band(axis, line.algorithm, chosen + 1, line.seen[:, chosen])
    strip = fresh_strip(axis, [(line.algorithm, line.fresh) for line in series])
    for level in levels:
        for panel in (axis, strip):
            panel.axhline(level.value, **_look(level), zorder=3.5)
    axis.set_ylabel("best average return seen")
    episodes(axis, max(line.seen.shape[1] for line in series))


def draw_arms(axis: "Axes", series: Sequence[Series]) -> None:
    for line in series:
        chosen = thinned(line.arms.shape[1])
        plot_band(axis, line.algorithm, chosen + 1, line.arms[:, chosen], floor=1.0)  # nobody has fewer
    axis.set_yscale("log")
    plain_log(axis, "y")
    lowest = min(float(line.arms.mean(axis=0).min()) for line in series)
    bottom = 10 ** np.floor(np.log10(max(lowest, 1.0)))
    axis.set_ylim(bottom, max(axis.get_ylim()[1], 10.5 * bottom))  # with two labels at least
    axis.set_ylabel("arms")
    episodes(axis, max(line.arms.shape[1] for line in series))


def learning_legend(figure: "Figure", series: Sequence[Series], levels: Sequence[Level]) -> None:
    learned = [entry(line.algorithm) for line in series]
    legend(figure, learned + [entry("Random", level.label, **_look(level)) for level in levels])


def _look(level: Level) -> dict[str, Any]:
    return line_of("Random", **({} if level.dashes is None else {"linestyle": level.dashes}))


def _caption(title: str, runs: Sequence[Run], series: Sequence[Series]) -> str:
    counts = [len(line.fresh) for line in series]
    bands = ", means with 95 % intervals" if max(counts) > 1 else ""
    xi = {run.algorithm: run.xi for run in runs}
    text = f"{title}, {agents(counts)} "
    text += f"({listed([f'{line.algorithm} with ξ = {xi[line.algorithm]:g}' for line in series])}): best evaluation "
    text += f"average seen (AQL: the last one) and number of arms over the training episodes{bands}; in the strip "
    text += f"the kept agents on {runs[0].episodes:,} fresh episodes."
    seen, fresh = (
        [float(values.mean()) for values in returns]
        for returns in ([s.seen[:, -1] for s in series], [s.fresh for s in series])
    )
    widest = int(np.argmax(np.subtract(seen, fresh)))
    if seen[widest] > fresh[widest]:
        text += f" Seen is above fresh, most so for {series[widest].algorithm}: "
        text += f"{caption_number(seen[widest])} to {caption_number(fresh[widest])}."
    arms = sorted((float(line.arms[:, -1].mean()), line.algorithm) for line in series)
    if len(arms) > 1:
        (few, small), (many, large) = arms[0], arms[-1]
        text += f" {large} ends with {many:,.0f} arms, {many / few:,.0f} times as many as {small} ({few:,.0f})."
    return text


# -- learning curves over samples instead of iterations: agents use different numbers of samples per episode -----------

POINTS = 250

Curve = tuple[Array, Array]  # samples, agents x samples (or their mean)


def curve_of(runs: Sequence[Run], evaluation: bool) -> Curve:
    """All agents on the same numbers of samples, equidistant on a logarithmic axis, as far as all of them come."""
    samples = [run.train_samples_curve + (run.eval_samples_curve if evaluation else 0) for run in runs]
    low, high = max(float(x[0]) for x in samples), min(float(x[-1]) for x in samples)
    grid = np.geomspace(low, max(high, low), POINTS)
    curves = []
    for x, run in zip(samples, runs, strict=True):
        known = np.isfinite(run.best_seen_curve)  # a batch in which no episode ended has no return
        curves.append(np.interp(grid, x[known], run.best_seen_curve[known]))
    return grid, np.array(curves)


def takeover(ours: Curve, rival: Curve) -> float | None:
    """The number of samples from which on the rival's mean is above ours for good, as far as both are known.

    Zero: wherever both are known; None: not even at the end of that range.
    """
    low, high = max(ours[0][0], rival[0][0]), min(ours[0][-1], rival[0][-1])
    if low >= high:
        return None
    grid = np.geomspace(low, high, 2000)
    ahead = np.interp(grid, *rival) > np.interp(grid, *ours)
    if not ahead[-1]:
        return None
    behind = np.flatnonzero(~ahead)
    return float(grid[behind[-1] + 1]) if len(behind) else 0.0


def overtaken_at(runs: Sequence[Run], rivals: Sequence[Run], evaluation: bool = False) -> float | None:
    """When the mean of the rivals is above that of the runs for good; see `takeover`."""
    (x, ours), (y, theirs) = curve_of(runs, evaluation), curve_of(rivals, evaluation)
    return takeover((x, ours.mean(axis=0)), (y, theirs.mean(axis=0)))


# -- learning curves against TRPO, over the number of samples ----------------------------------------------------------

BATCH = 200  # the paper counts in batches of so many samples

BEST_KEPT = [card.name for card in reversed(learners()) if card.keeps_best]


def against_trpo(figure: "Figure", results: Results, problem: str, title: str) -> str | None:
    """Returns the caption, or None unless there is TRPO and somebody to compare it with."""
    runs, rival = main_runs(results, problem), results.runs("trpo", problem)
    if not runs or not rival:
        return None
    groups = {name: [run for run in [*runs, *rival] if run.algorithm == name] for name in ORDER}
    groups = {name: group for name, group in groups.items() if group}
    levels = levels_of(results, problem)[:1]
    axes = figure.subplots(1, 2, sharey=True)
    series = []
    for axis, evaluation in zip(axes, (False, True), strict=True):
        curves = {name: curve_of(group, evaluation) for name, group in groups.items()}
        means = {name: (x, plot_band(axis, name, x, values)) for name, (x, values) in curves.items()}
        axis.set_xscale("log")
        plain_log(axis, "x")
        axis.set_xlabel("training and evaluation samples" if evaluation else f"training samples ({BATCH} per batch)")
        series.append({name: takeover(means[name], means["TRPO"]) for name in BEST_KEPT if name in means})
    fresh = [(name, np.array([run.fresh for run in group])) for name, group in groups.items()]
    strip = fresh_strip(axes[1], fresh, 0.22)
    for axis in (*axes, strip):
        for level in levels:
            axis.axhline(level.value, **line_of("Random"), zorder=3.5)
    bottom, top = axes[0].get_ylim()
    axes[0].set_ylim(bottom - 0.06 * (top - bottom), top)
    for axis, places in zip(axes, series, strict=True):
        _mark(axis, places, means["TRPO"])  # which has no evaluation samples: the same in both panels
    axes[0].set_ylabel("average return")
    letters(list(axes), ["training samples only", "evaluation counted too"])
    legend(figure, [entry(name) for name in groups] + [entry("Random") for _ in levels])
    counts = [len(group) for name, group in groups.items() if not CARDS[name].rival]
    intervals = ", means with 95 % intervals," if max(counts) > 1 else ""
    return (
        f"{title}, {agents(counts)} (TRPO {len(rival)}): best average seen (AQL: the last one; TRPO: mean return of "
        f"the training episodes of a batch){intervals} as far as all agents come; in the strip the kept agents on "
        f"fresh episodes. (a) Counted as in the paper, {_told(series[0])}. (b) With the evaluation rollouts, which "
        f"TRPO does not need, {_told(series[1])}."
    )


def _mark(axis: "Axes", found: dict[str, float | None], rival: Curve) -> None:
    """A ring at each crossing, and its number of samples at the foot of the panel, where no curve is."""
    bottom, top = axis.get_ylim()
    places = sorted(at for at in found.values() if at)
    for i, at in enumerate(places):
        height = float(np.interp(at, *rival))
        axis.plot([at], [height], **RING, zorder=5)
        axis.vlines(at, bottom, height, color=INK, linewidth=0.8, linestyle=(0, (2, 2)), zorder=2.1, alpha=0.7)
        side, shift = ("right", 0.97) if i == 0 and len(places) > 1 else ("left", 1.03)
        axis.text(at * shift, bottom + 0.015 * (top - bottom), _rounded(at), ha=side, va="bottom", fontsize=7.5)


def _told(found: dict[str, float | None]) -> str:
    """When TRPO overtakes SPAQL-TS and SPAQL."""
    words = [
        f"has not overtaken {name} as far as both are known"
        if at is None
        else f"overtakes {name} for good at {_rounded(at)} samples"
        if at
        else f"is above {name} from the start"
        for name, at in found.items()
    ]
    return f"TRPO {listed(words)}" if words else "there is neither SPAQL nor SPAQL-TS to compare TRPO with"


def _rounded(samples: float) -> str:
    return short(float(f"{samples:.2g}"))
