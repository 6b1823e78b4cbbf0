"""`spaql sweep | reproduce | report`."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spaql.cli.app import INTERRUPTED, AsJson, command
from spaql.cli.arguments import counting, learner_help
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.learners.registry import card_of
from spaql_studies.parts import EXPERIMENTS, studies

if TYPE_CHECKING:
    from spaql_studies.page import Report
    from spaql_studies.runs.store import Store

NAMES = ", ".join(name for names in EXPERIMENTS.values() for name in names)
ROOMY = 92  # width of a terminal that shows all columns of a table
STORE_HELP = "Folder of results; finished runs in it are not computed again."
StoreFolder = Annotated[Path, typer.Option(help=STORE_HELP)]
Jobs = Annotated[int | None, typer.Option(help="Processes (default: all cores).")]
Executor = Annotated[str | None, typer.Option(help="local, or dask://HOST:PORT.")]
Repair = Annotated[bool, typer.Option("--repair", help="Compute damaged result files again.")]
RANGE_HELP = (
    "What to vary: xi=0.1..100:log, lam=0.5..2, distance=euclidean,sup; one value fixes an option. Repeat for several."
)
SAMPLES_HELP = f"{counting('samples')}: training steps per run (default: 2,000)."


@command
def sweep(
    problem: Annotated[str, typer.Argument(help="A name from `spaql problems`.")],
    algorithm: Annotated[str, typer.Argument(help=learner_help(lambda card: card.learns))],
    *,
    option: Annotated[list[str], typer.Option(metavar="NAME=RANGE", help=RANGE_HELP)],
    trials: Annotated[int, typer.Option(help="Sets of options to try.")] = 30,
    seeds: Annotated[int, typer.Option(help="Seeds per trial, from 0 on (at most 100).")] = 3,
    best: Annotated[int, typer.Option(help="How many of the best sets of options to evaluate again.")] = 3,
    final_seeds: Annotated[int, typer.Option(help="Seeds of that evaluation, from 1000 on.")] = 10,
    iterations: Annotated[int | None, typer.Option(help="Training episodes per run (default: 200).")] = None,
    samples: Annotated[int | None, typer.Option(help=SAMPLES_HELP)] = None,
    rollouts: Annotated[
        int | None, typer.Option(help="Evaluation rollouts per episode (default: the problem's).")
    ] = None,
    fresh: Annotated[int, typer.Option(help="Episodes of the fresh evaluation of a run.")] = 200,
    sampler: Annotated[str, typer.Option(help="random, or tpe (Optuna, extra `sweep`).")] = "random",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    store: StoreFolder = Path("results"),
    jobs: Jobs = None,
    executor: Executor = None,
    repair: Repair = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tune the options of a learner, and evaluate the best on other seeds.

    A killed command continues where it stopped.

    Example:
      spaql sweep pendulum spaql --option xi=0.1..100:log --trials 30 --seeds 3 --store tuning
    """
    from spaql.ground.writing import kept
    from spaql_studies.sweep import sweep as tune
    from spaql_studies.sweep_table import folder_of, keep, rows_of, show

    by_samples = card_of(algorithm).learns_by == "samples"
    if by_samples and (iterations is not None or rollouts is not None):
        raise SpaqlError(
            f"{algorithm} is trained by --samples, without rollouts: leave --iterations and --rollouts out"
        )
    if not by_samples and samples is not None:
        raise SpaqlError(f"--samples is for {counting('samples')}; {algorithm} is trained by --iterations")
    bar = sys.stderr.isatty() and not (quiet or as_json)  # in a file, lines instead
    say = None if quiet or as_json or bar else lambda text: print(text, file=sys.stderr, flush=True)
    with working("reading the store", bar):
        result = tune(
            problem,
            algorithm,
            option,
            store,
            iterations=200 if iterations is None else iterations,
            samples=2000 if samples is None else samples,
            trials=trials, seeds=seeds, best=best, final_seeds=final_seeds, rollouts=rollouts, fresh=fresh,
            sampler=sampler, seed=seed, jobs=jobs, executor=executor, repair=repair, on_progress=say,
        )  # fmt: skip
    if result.interrupted:
        print("interrupted: finished runs are kept; the same command continues from there", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    unwritten = kept(folder_of(result), lambda folder: keep(result, folder))
    where = None if unwritten is not None else folder_of(result) / f"{result.sweep.name}.md"
    if as_json:
        figures = {"problem": problem, "algorithm": algorithm, "computed": result.computed, "best": rows_of(result)}
        print(json.dumps(figures | {"kept": None if where is None else str(where)}))
    else:
        show(result, where)
    if unwritten is not None:
        raise unwritten


@command
def reproduce(
    more: Annotated[list[str] | None, typer.Argument(help="Further names for --only.", metavar="NAME")] = None,
    *,
    only: Annotated[list[str] | None, typer.Option(help=f"{NAMES}, or a part such as main-cartpole.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small but real version: fewer agents, iterations and values of xi.")
    ] = False,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Main runs with the best xi of our study instead of the published one.")
    ] = False,
    seeds: Annotated[int | None, typer.Option(help="Agents per experiment (default: 20, with --quick fewer).")] = None,
    store: StoreFolder = Path("results"),
    jobs: Jobs = None,
    executor: Executor = None,
    repair: Repair = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Only compute; `spaql report` writes the page later.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the experiments of the paper, and write the report.

    Writes results, tables, figures and a page. A killed command continues where it stopped.

    Example:
      spaql reproduce --quick --store demo
    """
    from spaql_studies.reproduce import Request
    from spaql_studies.reproduce import reproduce as run

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
    *,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the path of the page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of a store again, without computing runs.

    Example:
      spaql report demo
    """
    from spaql_studies.runs.store import Store

    _report(Store(store, create=False), as_json, {}, quiet)


def _report(store: "Store", as_json: bool, figures: dict[str, Any], quiet: bool) -> None:
    from spaql_studies.page import make_report
    from spaql_studies.runs.runner import cores

    begin = time.perf_counter()
    with working("reading the runs", False if as_json or quiet else None):
        report = make_report(store, jobs=cores())
    figures = figures | {"report_seconds": time.perf_counter() - begin}
    if not as_json:
        _show(report, figures, quiet)
        return
    results = report.results
    figures |= {
        "report": str(report.page),
        "runs": {str(part): len(runs) for part, runs in results.parts.items()},
        "missing": {str(part): count for part, count in results.missing.items()},
        "published": sorted(map(str, results.published)),
        "tables": {table.name: table.rows for tables in report.tables.values() for table in tables},
        "figures": [str(figure.png) for figure in report.figures],
    }
    print(json.dumps(figures, indent=1))


def _show(report: "Report", figures: dict[str, Any], quiet: bool) -> None:
    """The tables that the studies show in a terminal, and where the rest is."""
    from rich.console import Console

    from spaql.policy.knowledge import bare_table

    console = Console()
    for study in [] if quiet else studies():
        for table in report.tables[study.name]:
            short = study.in_terminal(table, console.width >= ROOMY)
            if short is not None:
                shown = bare_table(title=short.title, title_justify="left")
                for column in short.columns:
                    shown.add_column(column.heading, justify="left" if column.words else "right")
                for cells in short.cells():
                    shown.add_row(*cells)
                console.print(shown)
    for part, count in report.results.missing.items():
        console.print(f"{part}: {count} runs are missing; the report shows what is there", highlight=False)
    if "computed" in figures:
        seconds = f"{figures['computing_seconds']:.0f} s computing, {figures['report_seconds']:.0f} s for the report"
        runs = f"{figures['computed']:,} runs computed, {figures['there']:,} were there already"
        console.print(f"{runs}; {seconds}", highlight=False)
    folder = report.page.parent
    if not quiet:
        console.print(f"tables: {folder}/tables/   figures: {folder}/figures/   runs: {folder}/runs/", highlight=False)
    console.print(f"open {report.page}", highlight=False, soft_wrap=True)
