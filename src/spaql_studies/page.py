"""The report of `spaql reproduce`: tables, figures and one HTML file, from the runs in a store. Computes no runs."""

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work
from spaql.ground.workers import worker_processes
from spaql.ground.writing import make_folder, write_whole
from spaql.learners import registry
from spaql.report.shell import embedded, inlined, render, write_html
from spaql_studies import facts
from spaql_studies.figures import Figure, draw_figures, prepare
from spaql_studies.load import load_results
from spaql_studies.parts import studies
from spaql_studies.runs.store import Store
from spaql_studies.study import Agents, Results, Section, Tables
from spaql_studies.tables import NOTHING, Table, number, write_tables

MANY = 200  # runs, from which on drawing takes longer than to begin a process


@dataclass(frozen=True)
class Report:
    """What was written."""

    page: Path
    results: Results
    tables: Tables
    figures: list[Figure]


def tables_of(results: Results) -> Tables:
    """All tables there is data for, by study."""
    return {study.name: study.tables(results) for study in studies()}


def make_report(store: Store, say: Callable[[str], None] | None = None, jobs: int = 1) -> Report:
    """DIR/tables, DIR/figures and DIR/report.html. If it may, a second process draws figures of many runs."""
    at_work("reading the runs")
    results = load_results(store)
    if not any(runs for part, runs in results.parts.items() if part not in results.published):
        hint = f"compute some with spaql reproduce --store {store.folder}"
        raise SpaqlError(f"{store.folder} holds no finished run: {hint}")
    for name in ("tables", "figures"):
        make_folder(store.folder / name)
    at_work("making tables")
    many = sum(map(len, results.parts.values())) >= MANY
    with worker_processes(1, prepare, results) if jobs > 1 and many else contextlib.nullcontext() as helper:
        tables = tables_of(results)
        written = write_tables(chain(*tables.values()), store.folder / "tables")
        figures = draw_figures(results, store.folder / "figures", say, helper)
    at_work("writing the page")
    _forget_older(store.folder, [*written, *(path for figure in figures for path in (figure.png, figure.svg))])
    page = store.folder / "report.html"
    write_page(results, tables, figures, page)
    return Report(page, results, tables, figures)


def _forget_older(folder: Path, written: list[Path]) -> None:
    """Remove files that an earlier report has written and this report has not; other files are left alone."""
    memory = folder / "report.json"
    with contextlib.suppress(OSError, ValueError, TypeError):
        for name in json.loads(memory.read_text("utf-8")):
            old = folder / name
            if old not in written and old.parent in (folder / "tables", folder / "figures"):
                old.unlink(missing_ok=True)
    text = json.dumps([str(path.relative_to(folder)) for path in written])
    write_whole(memory, lambda file: file.write(text.encode()))


MOST_ROWS = 100  # of a table of seeds
# A sign beside each verdict, for readers who cannot tell the colours apart: start of the text, sign, style.
MARKS = (
    ("reproduced", "✓", "good"),
    ("holds by", "◐", "partly"),
    ("holds", "✓", "good"),
    ("differs: better", "▲", "other"),
    ("differs: worse", "▼", "other"),
    ("differs", "≠", "other"),
    ("does not hold", "✗", "bad"),
    ("not comparable", "○", "none"),
)


def write_page(results: Results, tables: Tables, figures: list[Figure], path: Path) -> None:
    """One file that can be sent and kept: style, scripts, figures and data are in it.

    Links to single files lead to the folders beside the page.
    """
    curves, shown = facts.curve_data(results), facts.studies_of(results)
    text = render(
        "page.html",
        "spaql_studies",
        title=next((study.title for study in shown if study.title), "Results of spaql"),
        openings=[study.opening for study in shown if study.opening],
        when=facts.when(results),
        summary=facts.summary(results, tables),
        key_figures=facts.key_figures(results, tables),
        remarks=facts.remarks(results),
        sections=_sections(tables, _figures(figures, path), bool(curves)),
        problems=[(problem["name"], problem["title"]) for problem in curves],
        curves=embedded(curves),
        seeds=_seeds(results),
        commands=facts.commands(results),
        part_heads=facts.PART_HEADS,
        parts=facts.part_rows(results),
        origin_heads=facts.ORIGIN,
        origin=facts.origin(results),
        versions=sorted({run.version for runs in results.parts.values() for run in runs}),
        runs=str(path.parent / "runs"),
    )
    write_html(path, text)


def _sections(tables: Tables, drawn: list[dict[str, Any]], curves: bool) -> list[dict[str, Any]]:
    """The sections of all studies that have something to show."""
    sections = []
    for study in studies():
        figures = [figure for figure in drawn if figure["study"] == study.name]
        by_name = {table.name: table for table in tables.get(study.name, [])}
        rest = set(by_name) - {name for section in study.sections for name in section.tables or ()}
        for section in study.sections:
            wanted = rest if section.tables is None else section.tables
            shown = [table for name, table in by_name.items() if name in wanted]
            sections.append(_section(section, shown, figures if section.figures else [], curves and section.curves))
    return [section for section in sections if section["tables"] or section["figures"] or section["curves"]]


def _section(section: Section, tables: list[Table], figures: list[dict[str, Any]], curves: bool) -> dict[str, Any]:
    """A section as the template wants it. Tables that are read one after the other repeat no note."""
    shown = [_table(table, section.captions) for table in tables]
    shown = _without_echo(shown) if section.tables is None else shown
    return vars(section) | {"figures": figures, "tables": shown, "curves": curves}


def _table(table: Table, caption: bool) -> dict[str, Any]:
    """A table as the template wants it.

    The reason of a verdict goes below the verdict, which makes the table narrower.
    """
    heads = [column.heading for column in table.columns]
    why = heads.index("why") if {"why", "verdict"} <= set(heads) else None
    rows = []
    for texts in table.cells():
        cells = [_cell(heads[i], text, table.columns[i].words) for i, text in enumerate(texts) if i != why]
        if why is not None and texts[why] != NOTHING:
            next(cell for cell in cells if cell["heading"] == "verdict")["why"] = texts[why]
        rows.append(cells)
    columns = [column for i, column in enumerate(table.columns) if i != why]
    shown = [{"text": column.heading, "words": column.words} for column in columns]
    return vars(table) | {"heads": shown, "rows": rows, "classes": " ".join(table.classes), "caption": caption}


def _without_echo(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    notes: set[str] = set()
    for table in tables:
        table["notes"] = [note for note in table["notes"] if note not in notes]
        notes |= set(table["notes"])
    return tables


def _cell(heading: str, text: str, words: bool) -> dict[str, Any]:
    mean, _, half = text.partition(" ± ")
    cell: dict[str, Any] = {"heading": heading, "text": text, "mean": mean, "half": half, "words": words}
    cell |= {"empty": text == NOTHING, "kind": "", "why": ""}
    if heading == "verdict":
        cell |= next(({"mark": mark, "kind": kind} for start, mark, kind in MARKS if text.startswith(start)), {})
    return cell


def _figures(figures: Sequence[Figure], path: Path) -> list[dict[str, Any]]:
    drawn = inlined([(figure.svg, figure.png, figure.title) for figure in figures])
    return [
        {
            "number": place,
            "study": figure.study,
            "title": figure.title,
            "caption": figure.caption,
            "drawing": drawing,
            "files": [(file.name, _beside(file, path)) for file in (figure.png, figure.svg)],
        }
        for place, (figure, drawing) in enumerate(zip(figures, drawn, strict=True), 1)
    ]


def _beside(file: Path, page: Path) -> str:
    """The way from the page to a file, for a link."""
    from urllib.parse import quote

    return quote(Path(os.path.relpath(file, page.parent)).as_posix())


def _seeds(results: Results) -> list[dict[str, Any]]:
    """Every agent that is in a mean above, by problem and algorithm."""
    return [
        {"name": compared.problem, "title": compared.title, "groups": [_agents(group) for group in compared.groups]}
        for study in studies()
        for compared in study.compared(results)
    ]


def _agents(group: Agents) -> dict[str, Any]:
    rows = []
    for run in group.runs[:MOST_ROWS]:
        arms = None if not registry.CARDS[group.algorithm].learns else run.arms
        counts = [number(value, 0) for value in (arms, run.train_samples, run.eval_samples)]
        rows.append([str(run.seed), number(run.best_seen), number(run.fresh), *counts])
    return {"label": group.label, "rows": rows, "left_out": len(group.runs) - len(rows)}
