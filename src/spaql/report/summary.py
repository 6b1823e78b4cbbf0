"""What `spaql reproduce` and `spaql report` say at the end."""

from typing import Any

from spaql.analysis.tables import NOTHING, number, probability, spread
from spaql.report.making import Report

SHOWN = ("pendulum", "cartpole")


def summary_of(made: Report) -> dict[str, Any]:
    """For machines."""
    results = made.results
    return {
        "report": str(made.page),
        "runs": {part: len(runs) for part, runs in results.parts.items()},
        "missing": results.missing,
        "published": sorted(results.published),
        "tables": {table.name: table.rows for table in made.tables},
        "figures": [str(figure.png) for figure in made.figures],
    }


def show_report(made: Report, told: dict[str, Any], quiet: bool) -> None:
    """For people: the paper's two tables in short, those of Atlas and of every learner, and where the rest is."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    roomy = console.width >= 92  # else the number of arms gives way
    for table in made.tables:
        if table.name not in SHOWN or quiet:
            continue
        shown = Table(title=table.title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title_justify="left")
        for heading in ("", "paper", "best seen", "fresh", *(["arms"] if roomy else []), "verdict", "p"):
            shown.add_column(heading, justify="left" if heading in ("", "verdict") else "right", no_wrap=True)
        digits = 0 if max(abs(row["fresh"]) for row in table.rows) > 500 else 1  # so that it fits into 80 columns
        for row in table.rows:
            means = [spread(row[name], row[f"{name}_half_width"], digits) for name in ("paper_reward", "best_seen", "fresh")]
            label = row["label"].replace("Random, torque in [0, 2]", "Random [0, 2]").replace("Random, whole range", "Random, all")
            shown.add_row(
                label,
                *means,
                *([number(row["arms"], 0)] if roomy else []),
                row["verdict"].removeprefix("differs: ") or NOTHING,
                probability(row["p"]),
            )
        console.print(shown)
    for table in [] if quiet else [table for table in made.tables if table.name.startswith(("atlas-", "results-"))]:
        shown = Table(title=table.title, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title_justify="left")
        chosen = [column for column in table.columns if roomy or not column.heading.startswith(("agents", "its", "of these"))]
        for column in chosen:
            shown.add_column(column.heading, justify="left" if column.words else "right")
        for row in table.rows:
            shown.add_row(*(column.show(row) for column in chosen))
        console.print(shown)
    for part, count in made.results.missing.items():
        console.print(f"{part}: {count} runs are missing; the report shows what is there", highlight=False)
    if "computed" in told:
        seconds = f"{told['computing_seconds']:.0f} s computing, {told['report_seconds']:.0f} s for the report"
        console.print(f"{told['computed']:,} runs computed, {told['there']:,} were there already; {seconds}", highlight=False)
    folder = made.page.parent
    if not quiet:
        console.print(f"tables: {folder}/tables/   figures: {folder}/figures/   runs: {folder}/runs/", highlight=False)
    console.print(f"open {made.page}", highlight=False, soft_wrap=True)
