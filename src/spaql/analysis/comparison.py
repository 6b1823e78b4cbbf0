"""Comparison of algorithms, or of whatever else was run with several seeds; as two tables of text."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np

from spaql.analysis import statistics
from spaql.analysis.samples import NOT_SEQUENCES, fraction, sample, summary
from spaql.analysis.statistics import MOST_SEEDS, Interval
from spaql.ground.arrays import Array
from spaql.ground.checks import choice, whole
from spaql.ground.errors import SpaqlError, echoed

# What an empty entry of a data frame becomes as text.
MISSING = ("", "None", "nan", "NaN", "<NA>", "NaT")


@dataclass(frozen=True)
class Group:
    """The runs of one algorithm."""

    name: str
    n: int
    mean: float
    sd: float
    interval: Interval  # of the mean, Student's
    bootstrap: Interval  # of the mean
    median: float
    iqm: float
    iqm_interval: Interval  # bootstrap
    low: float
    high: float


@dataclass(frozen=True)
class Pair:
    """Two groups; a is the one with the higher mean."""

    a: str
    b: str
    difference: float  # mean of a minus mean of b
    interval: Interval  # of the difference; not corrected for multiple comparisons
    t: float
    df: float
    p: float
    p_adjusted: float
    significant: bool  # p_adjusted < alpha
    effect: float  # Hedges' g
    improvement: float  # probability that a run of a is better than a run of b
    improvement_interval: Interval
    seeds_needed: int | None  # runs per group in a new comparison of a and b alone; None for more than 100,000


@dataclass(frozen=True)
class Comparison:
    """What `compare` found. Print it, or take `to_markdown()` or `to_pandas()`."""

    groups: tuple[Group, ...]  # highest mean first
    pairs: tuple[Pair, ...]
    alpha: float
    correction: str
    power: float
    metric: str

    def __str__(self) -> str:
        tables = (aligned(rows) for rows in (group_rows(self), pair_rows(self)))
        return "\n\n".join(f"{title}\n{table}" for title, table in zip(titles(self), tables, strict=True))

    def to_markdown(self) -> str:
        """The two tables of `str`, as Markdown."""
        tables = (markdown(rows) for rows in (group_rows(self), pair_rows(self)))
        return "\n\n".join(f"{title}\n\n{table}" for title, table in zip(titles(self), tables, strict=True))

    def to_pandas(self) -> tuple[Any, Any]:
        """Two DataFrames, groups and pairs, one row each (needs pandas).

        Every interval becomes two columns, `_low` and `_high`.
        """
        import pandas

        groups, pairs = (pandas.DataFrame([_flat(item) for item in items]) for items in (self.groups, self.pairs))
        return groups, pairs.astype({"seeds_needed": "Int64"})


def compare(
    runs: Any, *, metric: str | None = None, by: str = "algorithm", alpha: float = 0.05, correction: str = "holm",
    power: float = 0.8, seed: int = 0,
) -> Comparison:  # fmt: skip
    """Compare groups of runs: every group described, every pair tested. Higher scores are better.

    `runs` is either of

    - a mapping from a name to the scores of its runs, one per seed: numbers, or what `agent.evaluate()` returned (its
      mean counts), or what `agent.learn()` returned (its last `best_seen` counts);
    - a pandas or Polars DataFrame or a PyArrow table with one row per run: column `by` has the names, column `metric`
      the scores; "fresh" if not given.

    `alpha` is the level of the tests; all intervals have level 1 - alpha. `correction` is "holm", "bh" or "none".
    `seeds_needed` is computed for the power `power`. `seed` makes the bootstrap repeatable.
    """
    alpha, power, seed = fraction("alpha", alpha), fraction("power", power), whole("seed", seed, 0)
    choice("correction", correction, statistics.CORRECTIONS)
    if metric is not None and not isinstance(metric, str):
        raise SpaqlError(f"metric must be a name, not {echoed(metric)}")
    if isinstance(runs, Mapping):
        metric, groups = _from_mapping(runs, metric)
    elif hasattr(type(runs), "columns"):
        metric, groups = _from_frame(runs, metric or "fresh", by)
    else:
        raise SpaqlError(f"runs must be a mapping from names to scores, or a data frame, not {type(runs).__name__}")
    if len(groups) < 2:
        raise SpaqlError(f"a comparison needs at least two groups, not {len(groups)}")
    described = [(_group(name, values, 1 - alpha, seed), values) for name, values in groups.items()]
    described.sort(key=lambda item: -item[0].mean)
    pairs = [(a.name, x, b.name, y) for (a, x), (b, y) in combinations(described, 2)]
    tests = [statistics.welch(x, y, 1 - alpha) for _, x, _, y in pairs]
    corrected = statistics.adjusted([test.p for test in tests], correction)
    compared = []
    for (a, x, b, y), test, p in zip(pairs, tests, corrected, strict=True):
        better = statistics.probability_of_improvement(x, y, 1 - alpha, seed)
        compared.append(
            Pair(
                a, b, test.difference, test.interval, test.t, test.df, test.p, p, p < alpha, statistics.hedges_g(x, y),
                better.probability, better.interval, statistics.seeds_needed(x, y, power, alpha),
            )
        )  # fmt: skip
    return Comparison(tuple(group for group, _ in described), tuple(compared), alpha, correction, power, metric)


def _group(name: str, values: Array, level: float, seed: int) -> Group:
    mean, sd, n = summary(values)
    of_mean, of_iqm = (statistics.bootstrap_interval(values, statistic, level, seed) for statistic in ("mean", "iqm"))
    return Group(
        name, n, mean, sd, statistics.mean_interval(values, level), of_mean, float(np.median(values)),
        statistics.iqm(values), of_iqm, float(values.min()), float(values.max()),
    )  # fmt: skip


def _from_mapping(runs: Mapping[Any, Any], metric: str | None) -> tuple[str, dict[str, Array]]:
    groups: dict[str, Array] = {}
    known: set[str] = set()
    for key, items in runs.items():
        source, scores = _scores(f"group {str(key)!r}", items, metric)
        groups[str(key)] = sample(f"group {str(key)!r}", scores)
        known |= {source} if source else set()
    if len(known) > 1:
        raise SpaqlError(
            "some groups are evaluations and some are histories: best seen is biased upwards, give the same for all"
        )
    return known.pop() if known else metric or "score", groups


def _scores(name: str, items: Any, metric: str | None) -> tuple[str | None, Any]:
    """The metric of the items, None if they are plain numbers; and the scores."""
    from spaql.learners.history import COLUMNS, History
    from spaql.policy.evaluation import Evaluation

    if isinstance(items, NOT_SEQUENCES) or not hasattr(items, "__iter__"):
        return None, items
    items = list(items)
    if items and all(isinstance(item, Evaluation) for item in items):
        if metric not in (None, "fresh"):
            raise SpaqlError(
                f"{name} holds evaluations, whose metric is 'fresh', not {echoed(metric)}: "
                "give histories, or leave metric out"
            )
        return "fresh", [item.mean for item in items]
    if items and all(isinstance(item, History) for item in items):
        if metric is not None and metric not in COLUMNS:
            raise SpaqlError(
                f"{name} holds histories, which have no {metric!r}: give evaluations, or one of {', '.join(COLUMNS)}"
            )
        if not all(len(item) for item in items):
            raise SpaqlError(f"{name} holds a history without iterations: train the agent first")
        return metric or "best_seen", [getattr(item, metric or "best_seen")[-1] for item in items]
    return None, items


def _from_frame(frame: Any, metric: str, by: str) -> tuple[str, dict[str, Array]]:
    if hasattr(frame, "collect"):
        raise SpaqlError(f"runs is a {type(frame).__name__}: give the frame that its collect() returns")
    columns = [str(column) for column in getattr(frame, "column_names", frame.columns)]
    for role, column in (("by", by), ("metric", metric)):
        if column not in columns:
            raise SpaqlError(f"{role}={echoed(column)} is not a column of the frame: choose from {', '.join(columns)}")
    if by != "problem" and "problem" in columns:
        problems = sorted({str(problem) for problem in _column(frame, "problem")})
        if len(problems) > 1:
            raise SpaqlError(f"the frame has runs of several problems: select one of {', '.join(problems)} first")
    seeds = _column(frame, "seed") if "seed" in columns and "seed" not in (by, metric) else range(len(frame))
    scores: dict[str, list[Any]] = {}
    seen = set()
    for key, seed, score in zip(_column(frame, by), seeds, _column(frame, metric), strict=True):
        name = str(key)
        if name in MISSING:
            raise SpaqlError(f"column {echoed(by)} has an empty entry: name the group of every run")
        if (name, seed) in seen:  # counted as independent, equal runs would make every p too small
            raise SpaqlError(f"group {name!r} has seed {seed} more than once: select runs of one setting, each once")
        seen.add((name, seed))
        scores.setdefault(name, []).append(score)
    return metric, {name: sample(f"group {name!r}", values) for name, values in scores.items()}


def _column(frame: Any, name: str) -> list[Any]:
    column = frame[name]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _flat(item: Group | Pair) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for field in fields(item):
        value = getattr(item, field.name)
        if isinstance(value, tuple):
            result[f"{field.name}_low"], result[f"{field.name}_high"] = value
        else:
            result[field.name] = value
    return result


# -- a comparison as two tables of text: its groups, and its pairs -----------------------------------------------------


Rows = list[list[str]]
CORRECTED = {"holm": "p corrected by Holm", "bh": "p corrected by Benjamini-Hochberg", "none": "p not corrected"}


def titles(found: Comparison) -> tuple[str, str]:
    level = f"{100 * (1 - found.alpha):g} % intervals"
    test = f"a against b, Welch's test at {found.alpha:g}, {CORRECTED[found.correction]}"
    seeds = f"seeds per group for power {found.power:g}"
    return f"{found.metric}, highest mean first, {level}", f"{test}, {level}, {seeds}"


def group_rows(found: Comparison) -> Rows:
    show = _formatter(found)
    head = ["group", "n", "mean", "interval", "bootstrap", "median", "IQM", "IQM interval", "sd", "min", "max"]
    rows = [
        [
            g.name, str(g.n), show(g.mean), _range(g.interval, show), _range(g.bootstrap, show), show(g.median),
            show(g.iqm), _range(g.iqm_interval, show), show(g.sd), show(g.low), show(g.high),
        ]
        for g in found.groups
    ]  # fmt: skip
    return [head, *rows]


def pair_rows(found: Comparison) -> Rows:
    show = _formatter(found)
    head = ["a", "b", "a - b", "interval", "t", "df", "p", "p corrected", "differ", "Hedges g"]
    head += ["P(a > b)", "P interval", "seeds"]
    rows = [
        [
            pair.a, pair.b, show(pair.difference), _range(pair.interval, show), f"{pair.t:.2f}", f"{pair.df:.1f}",
            _probability(pair.p), _probability(pair.p_adjusted), "yes" if pair.significant else "no",
            f"{pair.effect:.2f}", f"{pair.improvement:.2f}", _range(pair.improvement_interval, "{:.2f}".format),
            f"> {MOST_SEEDS}" if pair.seeds_needed is None else str(pair.seeds_needed),
        ]
        for pair in found.pairs
    ]  # fmt: skip
    if found.correction == "none":
        return [row[:7] + row[8:] for row in (head, *rows)]
    return [head, *rows]


def _formatter(found: Comparison) -> Callable[[float], str]:
    """Five digits of the largest score, and the same number of places after the point for all numbers."""
    largest = max(max(abs(group.low), abs(group.high)) for group in found.groups)
    if largest != 0.0 and not 1e-6 < largest < 1e9:
        return "{:.4e}".format
    places = max(0, 4 - math.floor(math.log10(largest))) if largest else 0
    return f"{{:.{places}f}}".format


def _range(interval: Interval, show: Callable[[float], str]) -> str:
    return f"[{show(interval[0])}, {show(interval[1])}]"


def _probability(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def aligned(rows: Rows) -> str:
    names = [head in ("group", "a", "b") for head in rows[0]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, names, strict=True)
        lines.append("  ".join(cell.ljust(width) if name else cell.rjust(width) for cell, width, name in cells))
    return "\n".join(lines)


def markdown(rows: Rows) -> str:
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))
