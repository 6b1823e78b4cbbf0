"""The report of `spaql reproduce` as one HTML file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaql.analysis.paper_tables import TITLES
from spaql.analysis.tables import NOTHING, Table, number
from spaql.experiments.plan import MAIN
from spaql.experiments.results import Results
from spaql.report.curve_data import Group, curve_data, groups_of
from spaql.report.facts import ORIGIN, PAPER_TABLES, PART_HEADS, commands, key_figures, origin, part_rows, remarks, summary, when
from spaql.report.shell import embedded, render, write_html
from spaql.report.svg import inlined

if TYPE_CHECKING:
    from spaql.analysis.figures import Figure

MOST_ROWS = 100  # of a table of seeds
CARDS = (*PAPER_TABLES, "claims")  # too wide for a telephone and worth reading there: one card per row
HINTS = {
    "pendulum": "Return: minus the cost of an episode of 200 steps. Nearer to zero is better.",
    "pendulum-5": "Return: minus the cost of an episode of 200 steps. Nearer to zero is better.",
    "pendulum-scaled": "Return: the rewards of 200 steps, each scaled to lie between 0 and 1. Higher is better, 200 at most.",
    "cartpole": "Return: steps for which the pole stays up. Higher is better, 200 at most.",
}
# A sign beside each verdict, so that it is told apart without colours
MARKS = (
    ("reproduced", "✓", "good"), ("holds by", "◐", "partly"), ("holds", "✓", "good"), ("differs: better", "▲", "other"),
    ("differs: worse", "▼", "other"), ("differs", "≠", "other"), ("does not hold", "✗", "bad"), ("not comparable", "○", "none"),
)  # fmt: skip


def write_page(results: Results, tables: list[Table], figures: "list[Figure]", path: Path) -> None:
    """One file that can be sent and kept: style, scripts, figures and data are in it. Links to the single files lead beside it."""
    by_name = {table.name: table for table in tables}
    first = [by_name[name] for name in PAPER_TABLES if name in by_name]
    claims = [by_name["claims"]] if "claims" in by_name else []
    beyond = [table for table in tables if table.name.startswith("atlas-")]
    every = [table for table in tables if table.name.startswith("results")]
    drawn = _figures(figures, path)
    curves = curve_data(results)
    text = render(
        "page.html",
        title="Reproducing “Control with adaptive Q-learning”",
        when=when(results),
        summary=summary(results, tables),
        key_figures=key_figures(results, tables),
        remarks=remarks(results),
        tables=[_table(table) for table in first],
        claims=[_table(table) for table in claims],
        further=_without_echo([_table(table) for table in tables if table not in first + claims + beyond + every]),
        beyond=_without_echo([_table(table) for table in beyond]),
        beyond_figures=[figure for figure in drawn if "-atlas-" in figure["name"]],
        every=_without_echo([_table(table) for table in every]),
        every_figures=[figure for figure in drawn if "-results" in figure["name"]],
        problems=[(problem["name"], problem["title"]) for problem in curves],
        curves=embedded(curves),
        figures=[figure for figure in drawn if not any(mark in figure["name"] for mark in ("-atlas-", "-results"))],
        seeds=_seeds(results),
        commands=commands(results),
        part_heads=PART_HEADS,
        parts=part_rows(results),
        origin_heads=ORIGIN,
        origin=origin(results),
        versions=sorted({run.version for runs in results.parts.values() for run in runs}),
        runs=str(path.parent / "runs"),
    )
    write_html(path, text)


def _table(table: Table) -> dict[str, Any]:
    """A table as the template wants it. The reason of a verdict goes below the verdict, which makes the table narrower."""
    heads = [column.heading for column in table.columns]
    why = heads.index("why") if {"why", "verdict"} <= set(heads) else None
    rows = []
    for texts in table.cells():
        cells = [_cell(heads[i], text, table.columns[i].words) for i, text in enumerate(texts) if i != why]
        if why is not None and texts[why] != NOTHING:
            next(cell for cell in cells if cell["heading"] == "verdict")["why"] = texts[why]
        rows.append(cells)
    return {
        "name": table.name,
        "title": table.title,
        "heads": [{"text": column.heading, "words": column.words} for i, column in enumerate(table.columns) if i != why],
        "rows": rows,
        "hint": HINTS.get(table.name),
        "notes": table.notes,
        "cards": table.name in CARDS,
        "bare": table.name == "claims",  # stands alone under a heading that says the same
        "sortable": table.name.startswith(("tests-", "scaling", "atlas-", "results")),
    }


def _without_echo(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tables that are read one after the other say the same only once."""
    said: set[str] = set()
    for table in tables:
        table["notes"] = [note for note in table["notes"] if note not in said]
        said |= set(table["notes"])
    return tables


def _cell(heading: str, text: str, words: bool) -> dict[str, Any]:
    mean, _, half = text.partition(" ± ")
    cell: dict[str, Any] = {"heading": heading, "text": text, "mean": mean, "half": half, "words": words}
    cell |= {"empty": text == NOTHING, "kind": "", "why": ""}
    if heading == "verdict":
        cell |= next(({"mark": mark, "kind": kind} for start, mark, kind in MARKS if text.startswith(start)), {})
    return cell


def _figures(figures: "Sequence[Figure]", path: Path) -> list[dict[str, Any]]:
    drawn = inlined([(figure.svg, figure.png, figure.title) for figure in figures])
    return [
        {"number": place, "name": figure.name, "title": figure.title, "caption": figure.caption, "drawing": drawing,
         "files": [(file.name, _beside(file, path)) for file in (figure.png, figure.svg)]}
        for place, (figure, drawing) in enumerate(zip(figures, drawn, strict=True), 1)
    ]  # fmt: skip


def _beside(file: Path, page: Path) -> str:
    """The way from the page to a file, for a link."""
    from urllib.parse import quote

    return quote(Path(os.path.relpath(file, page.parent)).as_posix())


def _seeds(results: Results) -> list[dict[str, Any]]:
    """Every agent that is in a mean above, by problem and algorithm."""
    return [
        {"name": problem, "title": TITLES[problem], "groups": [_agents(group) for group in groups_of(results, problem)]}
        for problem in MAIN
        if results.main(problem) or results.parts.get(f"random-{problem}")
    ]


def _agents(group: Group) -> dict[str, Any]:
    rows = []
    for run in group.runs[:MOST_ROWS]:
        arms = None if group.algorithm == "Random" else run.arms
        counts = [number(value, 0) for value in (arms, run.train_samples, run.eval_samples)]
        rows.append([str(run.seed), number(run.best_seen), number(run.fresh), *counts])
    return {"label": group.label, "rows": rows, "left_out": len(group.runs) - len(rows)}
