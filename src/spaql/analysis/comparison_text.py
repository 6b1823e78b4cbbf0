"""A comparison as two tables of text: its groups, and its pairs."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from spaql.analysis.statistics import MOST_SEEDS, Interval

if TYPE_CHECKING:
    from spaql.analysis.comparison import Comparison

Rows = list[list[str]]
CORRECTIONS = {
    "holm": "p corrected by Holm",
    "bh": "p corrected by Benjamini-Hochberg",
    "none": "p not corrected",
}


def titles(found: "Comparison") -> tuple[str, str]:
    level = f"{100 * (1 - found.alpha):g} % intervals"
    test = f"a against b, Welch's test at {found.alpha:g}, {CORRECTIONS[found.correction]}"
    seeds = f"seeds per group for power {found.power:g}"
    return f"{found.metric}, highest mean first, {level}", f"{test}, {level}, {seeds}"


def group_rows(found: "Comparison") -> Rows:
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


def pair_rows(found: "Comparison") -> Rows:
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


def _formatter(found: "Comparison") -> Callable[[float], str]:
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
