"""`spaql reproduce | report`."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.app import INTERRUPTED, JSON_HELP, command
from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.experiments.store import Store


@command
def reproduce(
    more: Annotated[list[str] | None, typer.Argument(help="Further names for --only.", metavar="NAME")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="scaling, main, tuned, random, trpo, atlas, rivals, results, or a part such as main-cartpole.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small but real version: fewer agents, iterations and values of xi.")] = False,
    tuned: Annotated[bool, typer.Option("--tuned", help="Main runs with the best xi of our study instead of the published.")] = False,
    seeds: Annotated[int | None, typer.Option(help="Agents per experiment (20; with --quick 5, for atlas and results 3).")] = None,
    store: Annotated[Path, typer.Option(help="Folder of results; finished runs in it are not computed again.")] = Path("results"),
    jobs: Annotated[int | None, typer.Option(help="Processes (default: all cores).")] = None,
    executor: Annotated[str | None, typer.Option(help="local, or dask://HOST:PORT.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Compute damaged result files again.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Only compute; `spaql report` makes the page later.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Run the experiments of the paper; write results, tables, figures and one page to open.

    Example: spaql reproduce --quick --store demo
    """
    from spaql.experiments.reproduce import Request
    from spaql.experiments.reproduce import reproduce as run

    if more and not only:
        raise SpaqlError(f"what is {more[0]!r}? To run parts, use --only {' '.join(more)}")
    request = Request(store, (*(only or ()), *(more or ())), quick, tuned, seeds, jobs, executor, repair)
    begin = time.perf_counter()
    summary = run(request, progress=not quiet and not as_json)
    computing = time.perf_counter() - begin
    if summary.interrupted:
        print(
            f"interrupted: {summary.there + summary.computed} finished runs are kept; the same command goes on from there", file=sys.stderr
        )
        raise typer.Exit(INTERRUPTED)
    told = {"there": summary.there, "computed": summary.computed, "computing_seconds": computing}
    if no_report:
        print(json.dumps(told) if as_json else f"{summary.computed:,} runs computed, {summary.there:,} were there already")
        return
    _report(summary.store, as_json, told, quiet)


@command
def report(
    store: Annotated[Path, typer.Argument(help="A store written by `spaql reproduce`.")] = Path("results"),
    quiet: Annotated[bool, typer.Option("--quiet", help="Say only where the page is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Make tables, figures and page again from a store, without computing any run.

    Example: spaql report demo
    """
    from spaql.experiments.store import Store

    _report(Store(store, create=False), as_json, {}, quiet)


def _report(store: "Store", as_json: bool, told: dict[str, Any], quiet: bool) -> None:
    from spaql.report.making import make_report
    from spaql.report.summary import show_report, summary_of

    begin = time.perf_counter()
    made = make_report(store)
    told = told | {"report_seconds": time.perf_counter() - begin} | summary_of(made)
    print(json.dumps(told, indent=1)) if as_json else show_report(made, told, quiet)
