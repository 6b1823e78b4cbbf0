"""Fresh return over samples: of Atlas and everybody in its contest, and of laws after few samples beside others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import BAND, COLOURS, INK, legend, letters, mean_and_half, plain_log
from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS, learners, rivals
from spaql.plants.catalog import CATALOG
from spaql_studies.benchmark import MODEL_BASED, Contender, groups_of, published_of, title_of_problem
from spaql_studies.figures import MARKERS, dots, dotted_level, entry, line_of, panel_grid, side_by_side
from spaql_studies.parts import TITLES
from spaql_studies.runs.rows import Run
from spaql_studies.study import Results
from spaql_studies.tables import Row, agents, caption_number, listed, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def at_checkpoints(runs: Sequence[Run], *names: str) -> list[Array]:
    """These columns, agents x checkpoints, as far as all agents come."""
    length = min(len(run.checkpoints) for run in runs)
    return [np.array([getattr(run, name)[:length] for run in runs], float) for name in names]


def contest_of(results: Results, problem: str, tasks: Sequence[Contender]) -> list[Line]:
    """Everybody with runs on the problem; nobody without runs of Atlas and its contest."""
    if not results.runs("atlas", problem):
        return []
    lines = [_line(task, runs) for _, task, runs in groups_of(results, {problem: tasks}, "atlas", "rivals")]
    trpo = results.runs("trpo", problem)
    lines += [_trpo(trpo)] if trpo else []
    return sorted(lines, key=lambda line: ENTRANTS.index(line.algorithm))


def _line(task: Contender, runs: Sequence[Run]) -> Line:
    samples, returns, seconds = at_checkpoints(runs, "checkpoints", "checkpoint_returns", "cpu_curve")
    leaves, tree_returns, tree_seconds = at_checkpoints(runs, "tree_leaves", "tree_returns", "tree_cpu_curve")
    planned = task.samples[: samples.shape[1]]
    return Line(
        task.algorithm, planned, samples.mean(axis=0), returns, seconds, leaves, tree_returns, tree_seconds
    )


def _trpo(runs: Sequence[Run]) -> Line:
    """As published: returns of training episodes, and beside them the fresh returns of the end.

    Seconds are those of the clock.
    """
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


# -- a contest, over all samples and over CPU seconds ------------------------------------------------------------------

# Returns of Pendulum reach from -1700 to -136: on a linear axis nobody could tell the good ones apart
LOGARITHMIC = {"pendulum": (-150, -200, -300, -500, -1000, -1500)}
MOST_RETURN = {"cartpole": 200.0, "cartpole-500": 500.0}  # no return is above: intervals end there too
HOLLOW: dict[str, Any] = {"linestyle": "none", "marker": "s", "markerfacecolor": "none", "markersize": 5.0}


def over_samples(figure: "Figure", results: Results, problem: str, tasks: Sequence[Contender]) -> str | None:
    """Returns the caption, or None without runs."""
    lines = contest_of(results, problem, tasks)
    if not lines:
        return None
    axes = figure.subplots(1, 2, sharey=True)
    for line in lines:
        for axis, x in zip(axes, (line.samples, line.seconds.mean(axis=0)), strict=True):
            _draw(axis, line, x, MOST_RETURN.get(problem, np.inf))
    for axis, label in zip(axes, ("samples, training and evaluation", "CPU seconds of learning"), strict=True):
        axis.set_xscale("log")
        plain_log(axis, "x")
        axis.set_xlabel(label)
        dotted_level(axis, CATALOG[problem].best_known.value, 2.2)
    axes[0].set_ylabel("fresh average return")
    returns_axis(axes[0], problem)
    letters(list(axes), ["over samples", "over CPU time"])
    trees = [line for line in lines if np.isfinite(line.tree_returns).any()]
    more = [entry(line.algorithm, f"{line.algorithm}, small tree", **HOLLOW) for line in trees]
    legend(figure, [entry(line.algorithm) for line in lines] + more, 2.2)
    return _caption(tasks[0], lines, max(run.episodes for run in results.runs("atlas", problem)))


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
    measured = np.isfinite(line.tree_returns).all(axis=0)
    if measured.any():
        tree, spread = mean_and_half(line.tree_returns[:, measured])
        # as the bands: no interval reaches beyond what can be earned
        whisker = None if spread is None else [spread, np.minimum(spread, most - tree)]
        axis.errorbar(x[measured], tree, whisker, color=COLOURS[line.algorithm], linewidth=1.1, zorder=4.2, **HOLLOW)


def returns_axis(axis: "Axes", problem: str) -> None:
    """The axis of returns, logarithmic where a linear one would hide what matters."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if problem in LOGARITHMIC:
        axis.set_yscale("symlog", linthresh=100.0)
        axis.yaxis.set_major_locator(FixedLocator(LOGARITHMIC[problem]))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}".replace("-", "−")))
        axis.set_ylim(-1900.0, -122.0)


def _caption(task: Contender, lines: list[Line], episodes: int) -> str:
    """`task`: that of Atlas."""
    counts = [len(line.returns) for line in lines]
    ends = listed(
        f"{line.algorithm} {caption_number(float(line.returns[:, -1].mean()))} after {line.samples[-1]:,.0f} samples"
        for line in lines
    )
    text = f"{TITLES[task.problem]}, {agents(counts)}: mean return on {episodes:,} fresh episodes after so many "
    text += f"samples, evaluation rollouts counted, with 95 % intervals over the agents; at the end {ends}."
    best = CATALOG[task.problem].best_known.value
    if best is not None:
        text += f" Dotted: the best known, {caption_number(best)}."
    if any(np.isfinite(line.tree_returns).any() for line in lines):
        kind = "oblique trees" if task.oblique else "trees"
        text += f" Squares: {kind} of at most {task.leaves} leaves, found in Atlas' model without further samples."
    if not all(line.fresh for line in lines):
        text += " TRPO as published: the curve is the return of the episodes it learned from, averaged over 12 % to "
        text += "both sides, its mark is fresh, its seconds are wall-clock seconds."
    return text


# -- laws after few samples: every agent, and what others have published -----------------------------------------------

RIVALS = tuple(card.name for card in rivals() if not card.in_paper)
COLUMNS = 3
SHAPES = ("P", "o", "s")  # of the tasks on a problem
ALIKE = 0.04  # of a return: published ones that differ by less share a name
DOTS_WIDTH = 0.04  # of the dots of the agents, in powers of ten of samples
OTHERS: dict[str, Any] = {"color": INK, "marker": "d", "markerfacecolor": "none", "markersize": 5.0, "linewidth": 1.0}


def few_figure(figure: "Figure", results: Results, tasks: Mapping[str, Sequence[Contender]]) -> str | None:
    """A panel per problem. Returns the caption, or None without runs."""
    problems = [problem for problem in tasks if results.runs("few", problem)]
    if not problems:
        return None
    axes = panel_grid(figure, [title_of_problem(problem) for problem in problems], COLUMNS, (0.5, 2.2), (26, 8.0))
    for place, (axis, problem) in enumerate(zip(axes, problems, strict=True)):
        _panel(axis, results, problem, tasks[problem])
        if place % COLUMNS == 0:
            axis.set_ylabel("fresh return")
    names = [name for name in RIVALS if any(results.runs("rivals", problem, name) for problem in problems)]
    published = entry(MODEL_BASED, "others, as published", linestyle="none", **OTHERS)
    ours = entry(MODEL_BASED, "laws of Atlas, mean of the agents", linestyle="none", marker=SHAPES[0])
    legend(figure, [ours, *(entry(name) for name in names), published], 2.2)
    groups = [task.runs(results, ("few",)) for problem in problems for task in tasks[problem]]
    counts = [len(group) for group in groups if group]
    episodes = span(run.episodes for group in groups for run in group)
    text = f"Fresh return over all samples, {agents(counts)} on {episodes} fresh episodes: every agent (dots), "
    text += "the mean and its 95 % interval (markers). Diamonds: what others have published, where it is a return; the "
    text += "table below has the rest, with sources. "
    text += "Lines: runs of Stable-Baselines3 with published settings. " if names else ""
    text += "Dotted: the best known. " if any(problem in CATALOG for problem in problems) else ""
    return text + "Every panel has its own axes."


def _panel(axis: "Axes", results: Results, problem: str, tasks: Sequence[Contender]) -> None:
    for name in RIVALS:
        runs = results.runs("rivals", problem, name)
        if runs:
            x, y = (values.mean(axis=0) for values in at_checkpoints(runs, "checkpoints", "checkpoint_returns"))
            axis.plot(x, y, marker=MARKERS[name], markersize=2.5, **line_of(name, linewidth=1.0, zorder=2.5))
    for place, lines in enumerate(_alike([line for line in published_of(problem) if line["fresh"] is not None])):
        _published(axis, lines, place)
    for task, shape in zip(tasks, SHAPES, strict=False):
        runs = task.runs(results, ("few",))
        if runs:
            _agents(axis, runs, task.label, shape)
    dotted_level(axis, CATALOG[problem].best_known.value if problem in CATALOG else None, 1.5)
    axis.set_xscale("log")
    axis.margins(y=0.12)
    low, high = axis.get_xlim()  # at least a power of ten around what is there, and room for names at the left
    axis.set_xlim(low / 2.5, max(high * 1.3, low * 10.0))
    plain_log(axis, "x")
    returns_axis(axis, problem)
    axis.set_xlabel("samples")
    if axis.get_legend_handles_labels()[1]:
        axis.legend(fontsize=6.5, loc="lower right", handlelength=1.0, borderaxespad=0.1)


def _agents(axis: "Axes", runs: Sequence[Run], label: str, shape: str) -> None:
    """All of them side by side, and their mean."""
    x, y = at_checkpoints(runs, "checkpoints", "checkpoint_returns")
    places, colour = x * 10.0 ** (DOTS_WIDTH * side_by_side(len(x)))[:, None], COLOURS[MODEL_BASED]
    axis.plot(places, y, color=colour, zorder=3.5, **dots(2.0))
    look: dict[str, Any] = {"color": colour, "linewidth": 1.2, "marker": shape, "zorder": 4.0, "label": label or None}
    axis.errorbar(x.mean(axis=0), *mean_and_half(y), **look)


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
