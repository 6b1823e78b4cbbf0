"""Tables, figures and page from what a store holds. Computes no runs."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spaql.analysis.atlas_tables import atlas_tables
from spaql.analysis.claims import claims_table
from spaql.analysis.figures import Figure, draw_figures
from spaql.analysis.pair_tables import comparison_tables, study_table
from spaql.analysis.paper_tables import result_tables
from spaql.analysis.results_tables import results_tables
from spaql.analysis.tables import Table, write_tables
from spaql.errors import SpaqlError
from spaql.experiments.results import Results, load_results
from spaql.experiments.rows import write_whole
from spaql.experiments.store import Store
from spaql.report.page import write_page


@dataclass(frozen=True)
class Report:
    """What was written."""

    page: Path
    results: Results
    tables: list[Table]
    figures: list[Figure]


def tables_of(results: Results) -> list[Table]:
    """All tables there is data for, the paper's first."""
    made = [*result_tables(results), claims_table(results), study_table(results), *comparison_tables(results), *atlas_tables(results)]
    return [table for table in [*made, *results_tables(results)] if table is not None]


def make_report(store: Store, say: Callable[[str], None] | None = None) -> Report:
    """DIR/tables, DIR/figures and DIR/report.html."""
    results = load_results(store)
    if not any(runs for part, runs in results.parts.items() if part not in results.published):
        raise SpaqlError(f"{store.folder} holds no finished run: compute some with spaql reproduce --store {store.folder}")
    rooms = {name: store.folder / name for name in ("tables", "figures")}
    for room in rooms.values():
        try:
            room.mkdir(exist_ok=True)
        except OSError as error:
            raise SpaqlError(f"cannot write to {room}: {error.strerror or error}") from error
    tables = tables_of(results)
    written = write_tables(tables, rooms["tables"])
    figures = draw_figures(results, rooms["figures"], say)
    _forget_older(store.folder, [*written, *(path for figure in figures for path in (figure.png, figure.svg))])
    page = store.folder / "report.html"
    write_page(results, tables, figures, page)
    return Report(page, results, tables, figures)


def _forget_older(folder: Path, written: list[Path]) -> None:
    """Remove what an earlier report had written and this one has not; nothing else in the folders is ours."""
    memory = folder / "report.json"
    with contextlib.suppress(OSError, ValueError, TypeError):
        for name in json.loads(memory.read_text("utf-8")):
            old = folder / name
            if old not in written and old.parent in (folder / "tables", folder / "figures"):
                old.unlink(missing_ok=True)
    text = json.dumps([str(path.relative_to(folder)) for path in written])
    write_whole(memory, lambda file: file.write(text.encode()))
