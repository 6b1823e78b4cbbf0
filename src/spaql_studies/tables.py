"""Numbers as people read them, and tables that are written once and read as Markdown, CSV, LaTeX or HTML."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from spaql.analysis.statistics import mean_interval
from spaql.export.latex import tabular
from spaql.ground.writing import write_whole
from spaql.policy.digits import counted

NOTHING = "–"
MOST_RANGES = 6  # of a list of numbers; further ranges are only counted


# -- in tables ---------------------------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


def spread(mean: float | None, half: float | None, digits: int = 2) -> str:
    """Mean and half of the 95 % interval."""
    return number(mean, digits) if half is None else f"{number(mean, digits)} ± {half:,.{digits}f}"


def probability(p: float | None) -> str:
    if p is None:
        return NOTHING
    return f"{p:.2f}" if p >= 0.095 else f"{p:.1g}" if p >= 1e-300 else "0"


# -- in captions and along axes ----------------------------------------------------------------------------------------


def caption_number(value: float) -> str:
    """A return or a count: as many digits as a sentence needs."""
    return f"{value:,.{0 if abs(value) >= 200 else 1}f}".replace("-", "−")


def agents(counts: Sequence[int]) -> str:
    """20 agents each, or 5 to 20."""
    low, high = min(counts), max(counts)
    if low != high:
        return f"{low} to {high} agents each"
    return counted(low, "agent") + (" each" if len(counts) > 1 else "")


# -- in sentences ------------------------------------------------------------------------------------------------------


def listed(items: Iterable[Any]) -> str:
    """a, b and c."""
    words = [str(item) for item in items]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def large(count: float) -> str:
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,.0f}"


def span(numbers: Iterable[int]) -> str:
    """From the lowest to the highest."""
    ordered = sorted(set(numbers))
    return NOTHING if not ordered else f"{ordered[0]:,}" if len(ordered) == 1 else f"{ordered[0]:,} to {ordered[-1]:,}"


def ranges(numbers: Iterable[int]) -> str:
    """0–19, or 0–3, 5, 7–19."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    shown = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    more = f" and {len(shown) - MOST_RANGES} more ranges" if len(shown) > MOST_RANGES else ""
    return ", ".join(shown[:MOST_RANGES]) + more


# -- times -------------------------------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def moment(text: str) -> str:
    """A time of a store as people write it; a text that is no time stays as it is."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time.day} {time:%B %Y, %H:%M}"


def period(texts: Sequence[str]) -> str:
    """From the first to the last time; the day stands once."""
    first, last = moment(min(texts)), moment(max(texts))
    day, _, time = last.rpartition(", ")
    return first if first == last else f"{first} to {time if day and first.startswith(day) else last}"


# -- tables ------------------------------------------------------------------------------------------------------------


Row = dict[str, Any]


Digits = int | Callable[[float], int]  # after the point: as many for all numbers, or by their size


def shown(value: float | None, digits: Digits, half: float | None = None) -> str:
    """A number, with half of its interval if it has one."""
    return spread(value, half, digits if isinstance(digits, int) else digits(value or 0.0))


@dataclass(frozen=True)
class Column:
    """A heading, and the text of a row under it: a line, or the lines of a program."""

    heading: str
    show: Callable[[Row], str]
    words: bool = False  # text, set flush left; numbers are set flush right

    @classmethod
    def text(cls, heading: str, name: str) -> "Column":
        """What a row has under this name, as it is; nothing where it has no such entry."""
        return cls(heading, lambda row: row.get(name, ""), words=True)

    @classmethod
    def count(cls, heading: str, name: str) -> "Column":
        return cls(heading, lambda row: str(row[name]))

    @classmethod
    def number(cls, heading: str, name: str, digits: Digits = 2) -> "Column":
        return cls(heading, lambda row: shown(row.get(name), digits))

    @classmethod
    def mean(cls, heading: str, name: str, digits: Digits = 2) -> "Column":
        """With half of its interval, which the row has under `NAME_half_width`."""
        return cls(heading, lambda row: shown(row.get(name), digits, row.get(f"{name}_half_width")))


@dataclass(frozen=True)
class Table:
    """`rows` hold plain values under machine-readable names (the CSV); `columns` say how people read them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[Row]
    notes: tuple[str, ...] = ()
    hint: str = ""  # a sentence beside the title, on pages only
    # classes of the style sheet of pages: sortable, dense, cards (one card per row on a telephone)
    classes: tuple[str, ...] = ("sortable",)

    def cells(self) -> list[list[str]]:
        return [[column.show(row) for column in self.columns] for row in self.rows]


def markdown(table: Table) -> str:
    heads = [column.heading for column in table.columns]
    rules = ["---" if column.words else "---:" for column in table.columns]
    rows = [[_in_markdown(cell) for cell in cells] for cells in (heads, rules, *table.cells())]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join([f"**{table.title}**", "", *lines, "", *(f"{note}\n" for note in table.notes)])


def _in_markdown(cell: str) -> str:
    lines = cell.replace("|", "\\|").split("\n")
    return lines[0] if len(lines) == 1 else "<br>".join(f"`{line}`" for line in lines)


def comma_separated(table: Table) -> str:
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.rows)
    return text.getvalue()


def latex(table: Table) -> str:
    """A `tabular` in booktabs style, to be \\input into a paper."""
    headings = [(column.heading, column.words) for column in table.columns]
    return tabular(table.title, headings, table.cells(), table.notes)


FORMATS: dict[str, Callable[[Table], str]] = {"md": markdown, "csv": comma_separated, "tex": latex}


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Every table in every format: folder/NAME.md, .csv, .tex."""
    paths = []
    for table in tables:
        for ending, form in FORMATS.items():
            path, text = folder / f"{table.name}.{ending}", form(table)
            write_whole(path, lambda file, text=text: file.write(text.encode()))
            paths.append(path)
    return paths


def half_width(values: Sequence[float]) -> float | None:
    """Half of Student's 95 % interval of the mean; None for a single value."""
    if len(values) < 2:
        return None
    low, high = mean_interval(values)
    return (high - low) / 2
