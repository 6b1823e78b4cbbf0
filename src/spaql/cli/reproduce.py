"""`spaql reproduce | report`."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.app import INTERRUPTED, JSON_HELP, STORE_HELP, command
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.studies import EXPERIMENTS

if TYPE_CHECKING:
    from spaql.runs.store import Store

NAMES = ", ".join(name for names in EXPERIMENTS.values() for name in names)


@command
def reproduce(
    more: Annotated[list[str] | None, typer.Argument(help="Further names for --only.", metavar="NAME")] = None,
    only: Annotated[list[str] | None, typer.Option(help=f"{NAMES}, or a part such as main-cartpole.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small but real version: fewer agents, iterations and values of xi.")
    ] = False,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Main runs with the best xi of our study instead of the published one.")
    ] = False,
    seeds: Annotated[int | None, typer.Option(help="Agents per experiment (default: 20, with --quick fewer).")] = None,
    store: Annotated[Path, typer.Option(help=STORE_HELP)] = Path("results"),
    jobs: Annotated[int | None, typer.Option(help="Processes (default: all cores).")] = None,
    executor: Annotated[str | None, typer.Option(help="local, or dask://HOST:PORT.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Compute damaged result files again.")] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Only compute; `spaql report` writes the page later.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Run the experiments of the paper, and write the report.

    Writes results, tables, figures and a page. A killed command continues where it stopped.

    Example:
      spaql reproduce --quick --store demo
    """
    from spaql.studies.reproduce import Request
    from spaql.studies.reproduce import reproduce as run

    if more and not only:
        raise SpaqlError(f"unexpected argument {more[0]!r}: to run parts, use --only {' '.join(more)}")
    request = Request(store, (*(only or ()), *(more or ())), quick, tuned, seeds, jobs, executor, repair)
    begin = time.perf_counter()
    summary = run(request, progress=not quiet and not as_json)
    computing = time.perf_counter() - begin
    for part, extra in summary.left_out.items():
        print(f"{part} was left out: it needs the extra, pip install 'spaql[{extra}]'", file=sys.stderr)
    if summary.interrupted:
        kept = f"{summary.there + summary.computed} finished runs are kept"
        print(f"interrupted: {kept}; the same command continues from there", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    figures = {"there": summary.there, "computed": summary.computed, "computing_seconds": computing}
    if no_report:
        text = f"{summary.computed:,} runs computed, {summary.there:,} were there already"
        print(json.dumps(figures) if as_json else text)
        return
    try:
        _report(summary.store, as_json, figures, quiet)
    except SpaqlError as error:
        raise SpaqlError(f"{error} (the runs are kept; spaql report {store} writes the report)") from error


@command
def report(
    store: Annotated[Path, typer.Argument(help="A store written by `spaql reproduce`.")] = Path("results"),
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the path of the page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Write the report of a store again, without computing runs.

    Example:
      spaql report demo
    """
    from spaql.runs.store import Store

    _report(Store(store, create=False), as_json, {}, quiet)


def _report(store: "Store", as_json: bool, figures: dict[str, Any], quiet: bool) -> None:
    from spaql.cli.report_text import show_report, summary_of
    from spaql.report.page import make_report
    from spaql.runs.runner import cores

    begin = time.perf_counter()
    with working("reading the runs", False if as_json or quiet else None):
        made = make_report(store, jobs=cores())
    figures = figures | {"report_seconds": time.perf_counter() - begin} | summary_of(made)
    print(json.dumps(figures, indent=1)) if as_json else show_report(made, figures, quiet)
