"""`spaql sweep`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from spaql.cli.app import INTERRUPTED, JSON_HELP, STORE_HELP, command
from spaql.cli.arguments import counting, learner_help
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.learners.registry import card_of

RANGE_HELP = (
    "What to vary: xi=0.1..100:log, lam=0.5..2, distance=euclidean,sup; one value fixes an option. Repeat for several."
)
SAMPLES_HELP = f"{counting('samples')}: training steps per run (default: 2,000)."


@command
def sweep(
    problem: Annotated[str, typer.Argument(help="A name from `spaql problems`.")],
    algorithm: Annotated[str, typer.Argument(help=learner_help(lambda card: card.learns))],
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
    store: Annotated[Path, typer.Option(help=STORE_HELP)] = Path("results"),
    jobs: Annotated[int | None, typer.Option(help="Processes (default: all cores).")] = None,
    executor: Annotated[str | None, typer.Option(help="local, or dask://HOST:PORT.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Compute damaged result files again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Tune the options of a learner, and evaluate the best on other seeds.

    A killed command continues where it stopped.

    Example:
      spaql sweep pendulum spaql --option xi=0.1..100:log --trials 30 --seeds 3 --store tuning
    """
    from spaql.ground.writing import kept
    from spaql.studies.sweep import sweep as tune
    from spaql.studies.sweep_table import folder_of, keep, rows_of, show

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
        made = tune(
            problem,
            algorithm,
            option,
            store,
            trials=trials,
            seeds=seeds,
            best=best,
            final_seeds=final_seeds,
            iterations=200 if iterations is None else iterations,
            samples=2000 if samples is None else samples,
            rollouts=rollouts,
            fresh=fresh,
            sampler=sampler,
            seed=seed,
            jobs=jobs,
            executor=executor,
            repair=repair,
            on_progress=say,
        )
    if made.interrupted:
        print("interrupted: finished runs are kept; the same command continues from there", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    unwritten = kept(folder_of(made), lambda folder: keep(made, folder))
    where = None if unwritten is not None else folder_of(made) / f"{made.sweep.name}.md"
    if as_json:
        figures = {"problem": problem, "algorithm": algorithm, "computed": made.computed, "best": rows_of(made)}
        print(json.dumps(figures | {"kept": None if where is None else str(where)}))
    else:
        show(made, where)
    if unwritten is not None:
        raise unwritten
