"""`spaql sweep`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from spaql.cli.app import INTERRUPTED, JSON_HELP, command
from spaql.errors import SpaqlError

RANGE_HELP = "What to vary: xi=0.1..100:log, lam=0.5..2, distance=euclidean,sup; one value fixes an option. Repeat for several."


@command
def sweep(
    problem: Annotated[str, typer.Argument(help="A name from `spaql problems`.")],
    algorithm: Annotated[str, typer.Argument(help="aql, nbql, zoomrl, spaql, spaql-ts or atlas.")],
    option: Annotated[list[str], typer.Option(metavar="NAME=RANGE", help=RANGE_HELP)],
    trials: Annotated[int, typer.Option(help="Sets of options to try.")] = 30,
    seeds: Annotated[int, typer.Option(help="Seeds per trial, from 0 on (at most 100).")] = 3,
    best: Annotated[int, typer.Option(help="How many of the best are judged again.")] = 3,
    final_seeds: Annotated[int, typer.Option(help="Seeds, from 1000 on, on which they are.")] = 10,
    iterations: Annotated[int | None, typer.Option(help="Training episodes per run (default 200).")] = None,
    samples: Annotated[int | None, typer.Option(help="atlas: training steps per run (default 2000).")] = None,
    rollouts: Annotated[int | None, typer.Option(help="Evaluation rollouts per episode (default: the problem's).")] = None,
    fresh: Annotated[int, typer.Option(help="Episodes of the fresh evaluation of a run.")] = 200,
    sampler: Annotated[str, typer.Option(help="random, or tpe (Optuna, extra `sweep`).")] = "random",
    seed: Annotated[int, typer.Option(help="Of the search itself.")] = 0,
    store: Annotated[Path, typer.Option(help="Folder of results; finished runs in it are not computed again.")] = Path("results"),
    jobs: Annotated[int | None, typer.Option(help="Processes (default: all cores).")] = None,
    executor: Annotated[str | None, typer.Option(help="local, or dask://HOST:PORT.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Compute damaged result files again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not tell how far it is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Tune the options of a learner on some seeds, and judge the best on others. Goes on where it was interrupted.

    Example: spaql sweep pendulum spaql --option xi=0.1..100:log --trials 30 --seeds 3 --store tuning
    """
    from spaql.experiments.sweep import Sweep, run_sweep
    from spaql.experiments.sweep_table import keep, rows_of, show

    if algorithm.lower() == "atlas" and (iterations is not None or rollouts is not None):
        raise SpaqlError("atlas is trained by --samples, without rollouts: leave --iterations and --rollouts out")
    if algorithm.lower() != "atlas" and samples is not None:
        raise SpaqlError(f"--samples is for atlas; {algorithm} is trained by --iterations")
    length = 200 if iterations is None else iterations, 2000 if samples is None else samples
    asked = Sweep(
        problem, algorithm, tuple(option), store, trials, seeds, best, final_seeds, *length, rollouts, fresh, sampler, seed,
        jobs, executor, repair,
    )  # fmt: skip
    made = run_sweep(asked, None if quiet or as_json else lambda text: print(text, file=sys.stderr, flush=True))
    if made.interrupted:
        print("interrupted: finished runs are kept; the same command goes on from there", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    kept = keep(made)
    if as_json:
        print(json.dumps({"problem": problem, "algorithm": algorithm, "computed": made.computed, "best": rows_of(made), "kept": str(kept)}))
        return
    show(made, kept)
