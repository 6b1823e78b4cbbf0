"""Tables, figures and page from the runs in a store. Computes no runs."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from spaql.analysis.tables import write_tables
from spaql.ground.errors import SpaqlError
from spaql.ground.processes import worker_processes
from spaql.ground.progress import at_work
from spaql.ground.writing import make_folder, write_whole
from spaql.report.page import write_page
from spaql.runs.store import Store
from spaql.studies import studies
from spaql.studies.figures import Drawn, Figure, draw_figures, prepare
from spaql.studies.load import load_results
from spaql.studies.parts import Results
from spaql.studies.study import Tables

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
    with worker_processes(1, prepare, results) if jobs > 1 and _many(results) else contextlib.nullcontext() as helper:
        beside = None if helper is None else Drawn(helper, store.folder / "figures")
        tables = tables_of(results)
        written = write_tables(chain(*tables.values()), store.folder / "tables")
        figures = draw_figures(results, store.folder / "figures", say, beside)
    at_work("writing the page")
    _forget_older(store.folder, [*written, *(path for figure in figures for path in (figure.png, figure.svg))])
    page = store.folder / "report.html"
    write_page(results, tables, figures, page)
    return Report(page, results, tables, figures)


def _many(results: Results) -> bool:
    return sum(len(runs) for runs in results.parts.values()) >= MANY


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
