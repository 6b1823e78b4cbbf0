"""What the page says about the runs: how many, how well they agree with the paper, where they come from."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.learners.registry import CARDS
from spaql.policy.digits import counted
from spaql.report.shell import one_plain, plain
from spaql_studies.parts import TITLES, experiments, in_order, studies, title_of
from spaql_studies.runs.rows import Run
from spaql_studies.study import Agents, Fact, Part, Results, Study, Tables
from spaql_studies.tables import duration, half_width, large, listed, moment, period, ranges, span


def computed(results: Results) -> list[Run]:
    """The runs of this store, without the runs published with the package."""
    return [run for part in _ordered(results) if part not in results.published for run in results.parts[part]]


def _ordered(results: Results) -> list[Part]:
    return in_order(part for part, runs in results.parts.items() if runs)


def studies_of(results: Results) -> list[Study]:
    """The studies of which runs were computed."""
    there = {part.experiment for part in _ordered(results) if part not in results.published}
    return [study for study in studies() if any(experiment.name in there for experiment in study.experiments)]


# -- the summary -------------------------------------------------------------------------------------------------------


def summary(results: Results, tables: Tables) -> str:
    """One sentence."""
    runs = computed(results)
    spent = duration(sum(run.seconds for run in runs))
    done = f"{counted(len(runs), 'run')} with {large(_samples(runs))} samples, {spent} of computing time"
    verdicts = [study.verdict(tables.get(study.name, [])) for study in studies_of(results)]
    return f"{': '.join(filter(None, [done, '; '.join(filter(None, verdicts))]))}."


def when(results: Results) -> str:
    """The line below the title."""
    runs = computed(results)
    versions = listed(sorted({run.version for run in runs}))
    times = period([run.finished for run in runs]) if runs else ""
    return f"Computed {times} UTC with spaql {versions}" if runs else "Nothing was computed here"


def _samples(runs: Iterable[Run]) -> int:
    return sum(run.train_samples + run.eval_samples for run in runs)


def key_figures(results: Results, tables: Tables) -> list[Fact]:
    """The numbers of the summary, for a reader in a hurry."""
    runs = computed(results)
    spent = duration(sum(run.seconds for run in runs))
    figures = [(f"{len(runs):,}", "runs"), (large(_samples(runs)), "samples"), (spent, "computing time")]
    return [*figures, *(fact for study in studies() for fact in study.key_figures(tables.get(study.name, [])))]


def remarks(results: Results) -> list[Fact]:
    """What a reader must know before believing a number, each with its heading.

    Empty for a whole run of the paper with TRPO.
    """
    facts = [fact for study in studies() for fact in study.remarks(results)]
    if results.missing:
        parts = listed(f"{title_of(part)} ({count:,})" for part, count in results.missing.items())
        rest = "Means and intervals are over the runs that are there. The same command computes the rest."
        facts.append((f"{counted(sum(results.missing.values()), 'run')} missing", f"{parts}. {rest}"))
    facts += _borrowed(results)
    kinds = ((CARDS[run.algorithm], run.code) for run in computed(results))
    # rivals and model-based learners use other source files
    codes = {code for card, code in kinds if not card.rival and not card.model_based}
    if len(codes) > 1:
        text = f"The runs come from {len(codes)} versions of the code; see the versions at the end of the page."
        facts.append(("Different code", text))
    return facts


def _published(results: Results, experiment: str) -> list[Part]:
    """The parts of an experiment whose runs came with the package."""
    return [part for part in experiments()[experiment].parts if part in results.published]


def _borrowed(results: Results) -> list[Fact]:
    facts: list[Fact] = []
    for experiment in experiments():
        parts = _published(results, experiment)
        if parts:
            runs = [run for part in parts for run in results.parts[part]]
            problems = dict.fromkeys(run.problem for run in runs)
            known = [problem for problem in TITLES if problem in problems]
            where = listed(TITLES.get(problem, problem) for problem in dict.fromkeys([*known, *problems]))
            names = sorted({run.algorithm for run in runs})
            counts = span(Counter((run.problem, run.algorithm) for run in runs).values())
            were, their = ("was", "Its") if len(names) == 1 else ("were", "Their")
            text = f"{their} runs on {where} ({counts} agents each) are published with the package."
            text += f" `spaql reproduce --only {experiment}` computes them."
            elsewhere = {run.algorithm for run in computed(results)} & set(names)  # on other problems
            which = f"{listed(names)} on {where}" if elsewhere else listed(names)
            facts.append((f"{which} {were} not computed here", text))
    return facts


# -- where the runs come from ------------------------------------------------------------------------------------------


PART_HEADS = (
    "part", "runs", "seeds", "training episodes", "evaluation rollouts", "fresh episodes",
    "finished (UTC)", "computing time", "fingerprint",
)  # fmt: skip


def part_rows(results: Results) -> list[list[str]]:
    """One row per part of the experiment, under `PART_HEADS`."""
    return [[title_of(part), *_part_row(results, part, results.parts[part])] for part in _ordered(results)]


def _part_row(results: Results, part: Part, runs: list[Run]) -> list[str]:
    missing = results.missing.get(part, 0)
    count = f"{len(runs):,} of {len(runs) + missing:,}" if missing else f"{len(runs):,}"
    finished = "as published" if part in results.published else moment(max(run.finished for run in runs))
    digest = hashlib.sha256("".join(sorted(run.digest for run in runs)).encode()).hexdigest()[:12]
    training, evaluation = experiments()[part.experiment].lengths(runs)
    fresh, spent = span(run.episodes for run in runs), duration(sum(run.seconds for run in runs))
    return [count, ranges(run.seed for run in runs), training, evaluation, fresh, finished, spent, digest]


def commands(results: Results) -> list[Fact]:
    """The commands that made the store, with the time at which each was last given."""
    given: dict[str, str] = {}
    for plan in results.plans.values():
        command, written = str(plan.get("command", "")), str(plan.get("written", ""))
        given[command] = max(given.get(command, ""), written)
    return [
        (command, moment(written)) for command, written in sorted(given.items(), key=lambda item: item[1]) if command
    ]


ORIGIN = ("finished (UTC)", "spaql", "code", "Python", "libraries", "computers")


def origin(results: Results) -> list[tuple[str, list[str]]]:
    """Times, versions and computers of the runs computed here, and of published runs: one column each."""
    columns = {"computed here": computed(results)}
    for name, experiment in experiments().items():
        if experiment.published is not None:
            parts = _published(results, name)
            columns[experiment.published.label] = [run for part in parts for run in results.parts[part]]
    return [(name, _origin(runs)) for name, runs in columns.items() if runs]


def _origin(runs: Sequence[Run]) -> list[str]:
    """The texts under `ORIGIN`."""

    def values(value: Callable[[Run], str]) -> str:
        """All different values; with the number of runs of each if there are several."""
        counts = Counter(map(value, runs))
        texts = (text if len(counts) == 1 else f"{text} ({counted(n, 'run')})" for text, n in counts.most_common())
        return "; ".join(texts)

    return [
        period([run.finished for run in runs]),
        values(lambda run: run.version),
        "; ".join(f"{code} ({listed(names)})" for code, names in _codes(runs).items()),
        values(lambda run: run.python),
        values(lambda run: ", ".join(f"{name} {version}" for name, version in run.libraries.items())),
        values(lambda run: run.host),
    ]


def _codes(runs: Iterable[Run]) -> dict[str, list[str]]:
    learners: dict[str, dict[str, None]] = {}
    for run in runs:
        learners.setdefault(run.code, {})[run.algorithm] = None
    return {code: list(names) for code, names in learners.items()}


# -- the learning curves of the page: averaged, thinned and rounded for its script -------------------------------------


AXES = ("iterations", "train", "all")
METRICS = ("best_seen", "evaluation", "arms")
MOST_POINTS = 200  # of a mean curve
MOST_LINE_POINTS = 100  # of the curve of a single agent
MOST_LINES = 25  # single agents


def curve_data(results: Results) -> list[dict[str, Any]]:
    """The curves by problem; only problems with a learner that learns."""
    return [
        {"name": compared.problem, "title": compared.title, "series": [_series(group) for group in compared.groups]}
        for study in studies()
        for compared in study.compared(results)
        if compared.curves
    ]


def _series(group: Agents) -> dict[str, Any]:
    from spaql.analysis.style import COLOURS

    runs = group.runs
    series: dict[str, Any] = {
        "label": group.label,
        "colour": COLOURS[group.algorithm],
        "dashes": group.dashes,
        "agents": len(runs),
    }
    if not CARDS[group.algorithm].learns:  # drawn as a level
        fresh = [run.fresh for run in runs]
        half = half_width(fresh)
        series["level"] = [one_plain(fmean(fresh)), None if half is None else one_plain(half, 3)]
    else:
        # an iteration of a rival is a batch of samples, not an episode
        axes = AXES[1:] if CARDS[group.algorithm].rival else AXES
        series["curves"] = {axis: curve for axis in axes if (curve := _curve(runs, axis)) is not None}
        series["lines"] = _lines(runs[:MOST_LINES], axes)
    if group.paper:
        series["paper"] = {name: list(pair) for name, pair in group.paper.items()}
    return series


def places(run: Run, axis: str) -> Array:
    """Where the points of a run's curve lie on an axis."""
    if axis == "iterations":
        return np.arange(1, len(run.best_seen_curve) + 1)
    return run.train_samples_curve + (run.eval_samples_curve if axis == "all" else 0)


def _metrics(runs: Sequence[Run]) -> list[str]:
    return [name for name in METRICS if all(len(getattr(run, f"{name}_curve")) for run in runs)]


def _curve(runs: Sequence[Run], axis: str) -> dict[str, Any] | None:
    """Means over all agents and their intervals, from where all agents have a value to where the first agent ends."""
    at = [places(run, axis) for run in runs]
    first, last = max(int(x[0]) for x in at), min(int(x[-1]) for x in at)
    if first > last:
        return None
    same = all(np.array_equal(x, at[0]) for x in at)
    grid = at[0][spaced(0, len(at[0]) - 1)] if same else spaced(first, last)
    curve: dict[str, Any] = {"x": plain(grid, 9)}
    for name in _metrics(runs):
        values = np.array([_read(x, getattr(run, f"{name}_curve"), grid) for run, x in zip(runs, at, strict=True)])
        mean = values.mean(axis=0)
        curve[name] = [plain(mean.round() if name == "arms" else mean), _half(values)]
    return curve


def _read(x: Array, y: Array, grid: Array) -> Array:
    """Values between the points of the run, as in the figures. A batch of TRPO in which no episode ended has none."""
    known = np.isfinite(y)
    return np.interp(grid, x[known], y[known], left=np.nan) if known.any() else np.full(len(grid), np.nan)


def _half(values: Array) -> list[float | int | None] | None:
    from spaql.analysis.style import mean_and_half

    half = mean_and_half(values)[1]
    return None if half is None else plain(half, 4)


def spaced(first: int, last: int, most: int = MOST_POINTS) -> Array:
    """Whole numbers that lie close enough on a linear and on a logarithmic axis."""
    even = np.linspace(first, last, most * 3 // 5)
    shift = int(first == 0)  # indices from 0: the point of an index lies one further on the axis
    dense = np.geomspace(first + shift, last + shift, most - len(even)) - shift
    return np.unique(np.concatenate([even, dense]).round().astype(int))


def _lines(runs: Sequence[Run], axes: Sequence[str]) -> dict[str, Any]:
    """Every agent by itself.

    A value that is the same for all agents stands once; an evaluation that is equal to best seen is left out.
    """
    length = min(len(run.best_seen_curve) for run in runs)
    chosen = spaced(0, length - 1, MOST_LINE_POINTS)
    lines: dict[str, Any] = {}
    for axis in axes:
        at = [places(run, axis)[chosen] for run in runs]
        same = all(np.array_equal(x, at[0]) for x in at)
        lines[axis] = [plain(at[0], 9)] if same else [plain(x, 9) for x in at]
    for name in _metrics(runs):
        if name == "evaluation" and all(
            np.array_equal(run.evaluation_curve, run.best_seen_curve, equal_nan=True) for run in runs
        ):
            continue
        lines[name] = [plain(getattr(run, f"{name}_curve")[chosen], 5) for run in runs]
    return lines
