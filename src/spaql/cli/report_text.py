"""The last lines of `spaql reproduce` and `spaql report`."""

from typing import Any

from spaql.report.page import Report
from spaql.studies import studies

ROOMY = 92  # width of a terminal that shows all columns of a table


def summary_of(made: Report) -> dict[str, Any]:
    """For machines."""
    results = made.results
    return {
        "report": str(made.page),
        "runs": {str(part): len(runs) for part, runs in results.parts.items()},
        "missing": {str(part): count for part, count in results.missing.items()},
        "published": sorted(map(str, results.published)),
        "tables": {table.name: table.rows for tables in made.tables.values() for table in tables},
        "figures": [str(figure.png) for figure in made.figures],
    }


def show_report(made: Report, figures: dict[str, Any], quiet: bool) -> None:
    """For people: the tables that the studies show in a terminal, and where the rest is."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    roomy = console.width >= ROOMY
    for study in [] if quiet else studies():
        for table in made.tables[study.name]:
            short = study.in_terminal(table, roomy)
            if short is not None:
                look: dict[str, Any] = {"box": SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
                shown = Table(title=short.title, title_justify="left", **look)
                for column in short.columns:
                    shown.add_column(column.heading, justify="left" if column.words else "right")
                for cells in short.cells():
                    shown.add_row(*cells)
                console.print(shown)
    for part, count in made.results.missing.items():
        console.print(f"{part}: {count} runs are missing; the report shows what is there", highlight=False)
    if "computed" in figures:
        seconds = f"{figures['computing_seconds']:.0f} s computing, {figures['report_seconds']:.0f} s for the report"
        runs = f"{figures['computed']:,} runs computed, {figures['there']:,} were there already"
        console.print(f"{runs}; {seconds}", highlight=False)
    folder = made.page.parent
    if not quiet:
        console.print(f"tables: {folder}/tables/   figures: {folder}/figures/   runs: {folder}/runs/", highlight=False)
    console.print(f"open {made.page}", highlight=False, soft_wrap=True)
