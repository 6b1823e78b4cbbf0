"""Tables that are written once and read as Markdown, CSV, LaTeX or HTML."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spaql.analysis.numbers import spread
from spaql.ground.writing import write_whole

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
    shape = "".join("l" if column.words else "r" for column in table.columns)
    lines = [" & ".join(map(_in_latex, cells)) + r" \\" for cells in table.cells()]
    heads = " & ".join(escaped(column.heading) for column in table.columns) + r" \\"
    begin = [f"% {table.title}", rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}"]
    ruled = [r"\toprule", heads, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([*begin, *ruled, r"\end{tabular}", *(f"% {note}" for note in table.notes)]) + "\n"


_SPECIAL = {"±": r"$\pm$", "≥": r"$\geq$", "−": "$-$", "–": "--", "×": r"$\times$", "ξ": r"$\xi$"}
_SPECIAL |= {"<": "$<$", ">": "$>$", "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}"}
_SPECIAL |= {sign: "\\" + sign for sign in "&%$#_{}"}


def _in_latex(cell: str) -> str:
    """Lines of a program one below the other, indented as they are."""
    lines = [r"\ " * (len(line) - len(line.lstrip())) + escaped(line.lstrip()) for line in cell.split("\n")]
    return lines[0] if len(lines) == 1 else r"\shortstack[l]{" + r" \\ ".join(lines) + "}"


def escaped(text: str) -> str:
    """Escapes the signs that LaTeX reads as commands; minus signs of numbers become real minus signs."""
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text)
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


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
    from spaql.analysis.statistics import mean_interval

    if len(values) < 2:
        return None
    low, high = mean_interval(values)
    return (high - low) / 2
