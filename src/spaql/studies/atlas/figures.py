"""Fresh return over all samples, and over CPU seconds: Atlas, SPAQL, and common algorithms for comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.numbers import agents, caption_number, listed
from spaql.analysis.style import BAND, COLOURS, INK, MARKERS, entry, legend, letters, line_of, mean_and_half, plain_log
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS, learners, rivals
from spaql.plants.catalog import CATALOG
from spaql.runs.rows import Run
from spaql.studies.atlas.plan import CONTESTS
from spaql.studies.parts import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Atlas and everybody it is compared with on a problem, over the same samples: the numbers behind its figures and
#
# tables.

ENTRANTS = [
    *(card.name for card in learners() if card.model_based),
    *(card.name for card in sorted(rivals(), key=lambda card: card.in_paper)),  # first what a user would pick today
    *(card.name for card in reversed(learners()) if card.keeps_best),
]
TRPO_POINTS, TRPO_WINDOW = 40, 0.12


@dataclass(frozen=True, eq=False)
class Line:
    """The agents of one algorithm at its checkpoints: one row per agent. A tree that was not made is not a number."""

    algorithm: str
    nominal: tuple[int, ...]  # samples as planned
    samples: Array  # samples used, evaluation counted: the mean over the agents
    returns: Array
    seconds: Array
    tree_leaves: Array
    tree_returns: Array
    tree_seconds: Array
    fresh: bool = True  # TRPO's curve is the return of the episodes it has learned from; the rest are fresh episodes


def contest_of(results: Results, problem: str) -> list[Line]:
    """Everybody with runs on the problem; nobody without runs of Atlas and its contest."""
    runs = results.runs("atlas", problem)
    if not runs:
        return []
    runs = [*runs, *results.runs("rivals", problem)]
    made = [line_of_runs(problem, name, [run for run in runs if run.algorithm == name]) for name in ENTRANTS]
    made.append(_trpo(results.runs("trpo", problem)))
    return sorted((line for line in made if line is not None), key=lambda line: ENTRANTS.index(line.algorithm))


def line_of_runs(problem: str, algorithm: str, runs: Sequence[Run]) -> Line | None:
    if not runs:
        return None
    contest = CONTESTS[problem]
    planned = contest.atlas if CARDS[algorithm].model_based else contest.rivals.get(algorithm, contest.spaql)
    length = min(len(run.checkpoints) for run in runs)
    names = ("checkpoints", "checkpoint_returns", "cpu_curve", "tree_leaves", "tree_returns", "tree_cpu_curve")
    samples, *rest = (np.array([getattr(run, name)[:length] for run in runs], float) for name in names)
    returns, seconds, *trees = rest
    return Line(algorithm, planned[:length], samples.mean(axis=0), returns, seconds, trees[0], trees[1], trees[2])


def _trpo(runs: Sequence[Run]) -> Line | None:
    """As published: returns of training episodes, and beside them the fresh returns of the end.

    Seconds are those of the clock.
    """
    if not runs:
        return None
    samples = runs[0].train_samples_curve
    grid = np.geomspace(samples[0], samples[-1], TRPO_POINTS)
    # The batches of all agents meet similar start states at the same time: single ones go up and down together, which
    # no interval shows
    near = [np.abs(np.log(samples / x)) <= max(TRPO_WINDOW, np.abs(np.log(samples / x)).min()) for x in grid]
    curves = np.array([[np.nanmean(run.evaluation_curve[chosen]) for chosen in near] for run in runs])
    returns = np.concatenate([curves, np.array([[run.fresh] for run in runs])], axis=1)
    at = np.append(grid, samples[-1])
    seconds = np.array([run.seconds * at / run.train_samples for run in runs])
    nothing = np.full(returns.shape, np.nan)
    return Line(
        "TRPO", tuple(at.astype(int).tolist()), at, returns, seconds, 0 * nothing, nothing, nothing, fresh=False
    )


# -- fresh return over all samples, and over CPU seconds: Atlas, SPAQL, and common algorithms for comparison -----------

# Returns of Pendulum reach from -1700 to -136: on a linear axis nobody could tell the good ones apart
LOGARITHMIC = {"pendulum": (-150, -200, -300, -500, -1000, -1500)}
MOST = {"cartpole": 200.0, "cartpole-500": 500.0}  # no return is above: intervals end there too


def over_samples(figure: "Figure", results: Results, problem: str, title: str) -> str | None:
    """Returns the caption, or None without runs."""
    lines = contest_of(results, problem)
    if not lines:
        return None
    axes, best = figure.subplots(1, 2, sharey=True), CATALOG[problem].best_known.value
    for line in lines:
        _draw(axes[0], line, line.samples, MOST.get(problem, np.inf))
        _draw(axes[1], line, line.seconds.mean(axis=0), MOST.get(problem, np.inf))
    for axis, label in zip(axes, ("samples, training and evaluation", "CPU seconds of learning"), strict=True):
        axis.set_xscale("log")
        plain_log(axis, "x")
        axis.set_xlabel(label)
        if best is not None:
            axis.axhline(best, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=2.2)
    axes[0].set_ylabel("fresh average return")
    returns_axis(axes[0], problem)
    letters(list(axes), ["over samples", "over CPU time"])
    trees = [line for line in lines if np.isfinite(line.tree_returns).any()]
    more = [entry(line.algorithm, f"{line.algorithm}, small tree", **_hollow(line)) for line in trees]
    legend(figure, [entry(line.algorithm) for line in lines] + more, 2.2)
    return _caption(problem, title, lines, max(run.episodes for run in results.runs("atlas", problem)))


def _draw(axis: "Axes", line: Line, x: Array, most: float) -> None:
    mean, half = mean_and_half(line.returns)
    first = CARDS[line.algorithm].model_based
    look = line_of(line.algorithm, linewidth=2.0 if first else 1.3, zorder=4.0 if first else 3.0)
    if line.fresh:
        axis.plot(x, mean, marker=MARKERS[line.algorithm], **look)
    else:  # the fresh end stands beside the curve, which is about something else
        axis.plot(x[:-1], mean[:-1], **look)
        axis.plot(x[-1:], mean[-1:], marker=MARKERS[line.algorithm], **look)
    if half is not None:
        shown = slice(None) if line.fresh else slice(-1)
        axis.fill_between(
            x[shown],
            (mean - half)[shown],
            np.minimum(mean + half, most)[shown],
            color=COLOURS[line.algorithm],
            alpha=BAND,
            linewidth=0,
        )
    made = np.isfinite(line.tree_returns).all(axis=0)
    if made.any():
        tree, spread = mean_and_half(line.tree_returns[:, made])
        # as the bands: no interval reaches beyond what can be earned
        whisker = None if spread is None else [spread, np.minimum(spread, most - tree)]
        axis.errorbar(x[made], tree, whisker, color=COLOURS[line.algorithm], linewidth=1.1, zorder=4.2, **_hollow(line))


def _hollow(line: Line) -> dict[str, Any]:
    return {"linestyle": "none", "marker": "s", "markerfacecolor": "none", "markersize": 5.0}


def returns_axis(axis: "Axes", problem: str) -> None:
    """The axis of returns, logarithmic where a linear one would hide what matters."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if problem in LOGARITHMIC:
        axis.set_yscale("symlog", linthresh=100.0)
        axis.yaxis.set_major_locator(FixedLocator(LOGARITHMIC[problem]))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}".replace("-", "−")))
        axis.set_ylim(-1900.0, -122.0)


def _caption(problem: str, title: str, lines: list[Line], episodes: int) -> str:
    counts = [len(line.returns) for line in lines]
    ends = listed(
        f"{line.algorithm} {caption_number(float(line.returns[:, -1].mean()))} after {line.samples[-1]:,.0f} samples"
        for line in lines
    )
    told = f"{title}, {agents(counts)}: mean return on {episodes:,} fresh episodes after so many samples, evaluation "
    told += "rollouts counted, "
    told += f"with 95 % intervals over the agents; at the end {ends}."
    best = CATALOG[problem].best_known.value
    if best is not None:
        told += f" Dotted: the best known, {caption_number(best)}."
    if any(np.isfinite(line.tree_returns).any() for line in lines):
        kind = "oblique trees" if CONTESTS[problem].oblique else "trees"
        told += f" Squares: {kind} of at most {CONTESTS[problem].leaves} leaves, found in Atlas' model without "
        told += "further samples."
    if not all(line.fresh for line in lines):
        told += " TRPO as published: the curve is the return of the episodes it learned from, averaged over 12 % to "
        told += "both sides, its mark is "
        told += "fresh, its seconds are wall-clock seconds."
    return told
