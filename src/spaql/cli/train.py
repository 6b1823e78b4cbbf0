"""`spaql problems | learners | train | evaluate`."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from spaql.cli.app import INTERRUPTED, AsJson, command
from spaql.cli.arguments import (
    OPTION_HELP,
    PROBLEM_HELP,
    Baselines,
    GivenProblem,
    agents_of,
    baselines_of,
    counting,
    learner_help,
    options_given,
    plant_of,
    settings,
)  # fmt: skip
from spaql.cli.plant_files import is_python
from spaql.cli.plant_options import NOTHING, PlantOptions, parsed, with_plant, wrong
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.learners import registry

DEFAULT_ITERATIONS = 2000
DEFAULT_SAMPLES = 1000
SIMULATED_SAMPLES = 100_000_000  # of a learner for fast simulators: seconds to a minute
SAMPLES_HELP = (
    f"{counting('samples')}: training steps, instead of episodes "
    f"(default: {DEFAULT_SAMPLES:,}, for laws {SIMULATED_SAMPLES:,})."
)
ROLLOUTS_HELP = f"Evaluation rollouts per episode (default: the problem's; none for {counting('samples')})."
OUT_HELP = "Folder for the agents and the learning-curve picture; agents that are there are kept (earlier-1-...)."
# Options of learners had flags of their own before there was --option: they still work.
OF_LEARNER = typer.Option(hidden=True)


@command
def problems(as_json: AsJson = False) -> None:
    """List the problems by name.

    Example:
      spaql problems
    """
    from spaql.plants.catalog import CATALOG

    if as_json:
        print(json.dumps({name: entry.summary for name, entry in CATALOG.items()}, indent=1))
        return
    for name, entry in CATALOG.items():
        print(f"{name:24} {entry.summary}")


@command
def learners(as_json: AsJson = False) -> None:
    """List the learners and their options.

    Example:
      spaql learners
    """
    from spaql.learners.options import ABOUT, options_of

    shown = {card.name.lower(): (card, options_of(registry.learner_class(card))) for card in registry.learners()}
    if as_json:
        entries = {
            name: {"about": card.about, "options": {option.name: option.metadata[ABOUT] for option in options}}
            for name, (card, options) in shown.items()
        }
        print(json.dumps(entries, indent=1))
        return
    for name, (card, options) in shown.items():
        print(f"{name:10} {card.about}")
        for option in options:
            default = "" if option.default is None else f" ({option.default})"
            print(f"{'':10}   {option.name}{default}: {option.metadata[ABOUT]}")


@command
@with_plant
def train(
    problem: Annotated[str, typer.Argument(help=PROBLEM_HELP)],
    algorithm: Annotated[str, typer.Argument(help=learner_help())],
    *,
    iterations: Annotated[
        int | None, typer.Option(help=f"Training episodes (default: {DEFAULT_ITERATIONS:,}).")
    ] = None,
    samples: Annotated[int | None, typer.Option(help=SAMPLES_HELP)] = None,
    rollouts: Annotated[int | None, typer.Option(help=ROLLOUTS_HELP)] = None,
    seeds: Annotated[int, typer.Option(help="Number of agents.")] = 1,
    first_seed: Annotated[int, typer.Option(help="Seed of the first agent; the others follow.")] = 0,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    xi: Annotated[float | None, OF_LEARNER] = None,
    lam: Annotated[float | None, OF_LEARNER] = None,
    distance: Annotated[str | None, OF_LEARNER] = None,
    temperature_rule: Annotated[str | None, OF_LEARNER] = None,
    bootstrap: Annotated[str | None, OF_LEARNER] = None,
    step: Annotated[float | None, OF_LEARNER] = None,
    lipschitz: Annotated[float | None, OF_LEARNER] = None,
    low: Annotated[float | None, OF_LEARNER] = None,
    plant: PlantOptions = NOTHING,
    fresh: Annotated[int, typer.Option(help="Fresh episodes in which the result is evaluated (0: none).")] = 1000,
    jobs: Annotated[int | None, typer.Option(help="Agents trained at once (default: all cores).")] = None,
    baseline: Baselines = None,
    out: Annotated[Path | None, typer.Option(help=OUT_HELP)] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder for checkpoints; with several agents, a subfolder each.")
    ] = None,
    every: Annotated[int | None, typer.Option(help="Training episodes between checkpoints (default: 100).")] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="The history as a .csv file, written during training; several agents: NAME-seed0.csv, ..."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train agents, and report their returns.

    Examples:
      spaql train cartpole-fitted laws --samples 2000000 --out results
      spaql train cartpole-fitted spaql-ts --seeds 8 --out results
      spaql train pendulum spaql --set m=2 --set process_noise.velocity=0.1
      spaql train pendulum atlas --samples 2000 --option cells=4000 --option gamma=0.99
      spaql train motor.py:problem atlas --set mass=2
      spaql train motor.py:motor laws --reference "target of speed=0:150, hold 30:80" --noise speed=0.5
      spaql train motor.fmu atlas --observe speed --action voltage=-24:24 --reward paid.py:reward --horizon 200
    """
    from spaql.cli.train_runs import callbacks_of, compared_with, kept_and_judged, kept_where, trained
    from spaql.cli.train_text import show_runs
    from spaql.ground.checks import whole
    from spaql.ground.writing import make_folder

    whole("--fresh", fresh, 0, 10**8)
    if iterations is not None and samples is not None:
        raise SpaqlError("--iterations and --samples both say how long to learn: give one of them")
    card = registry.card_of(algorithm)
    if card.learns_by == "samples":
        usual = SIMULATED_SAMPLES if card.simulator else DEFAULT_SAMPLES
        samples = usual if samples is None and iterations is None else samples
    elif samples is not None:
        raise SpaqlError(f"--samples goes with {counting('samples')}; the others learn by episodes: --iterations")
    elif iterations is None:
        iterations = DEFAULT_ITERATIONS
    callbacks = callbacks_of(checkpoint, every, log, seeds)
    reference, plant = _learners_reference(plant)
    given = {
        "xi": xi, "lam": lam, "distance": distance, "temperature_rule": temperature_rule, "bootstrap": bootstrap,
        "low": low, "step": step, "lipschitz": lipschitz, "reference": reference,
    }  # fmt: skip
    options = options_given(option, {name: value for name, value in given.items() if value is not None})
    agents = agents_of(problem, algorithm, plant, range(first_seed, first_seed + max(seeds, 0)), options)
    others = baselines_of(baseline, agents[0].problem if is_python(problem) or problem.endswith(".fmu") else None)
    if others:
        from spaql.analysis.paired import check_together

        whole("--fresh, with --baseline,", fresh, 2)
        check_together({f"seed {agent.seed}": agent for agent in agents}, others)
    if out is not None:
        make_folder(out)
    begin = time.perf_counter()
    progress = not quiet and not as_json
    runs, failed = trained(
        agents, iterations, rollouts, samples=samples, jobs=jobs, progress=progress, callbacks=callbacks
    )
    seconds = time.perf_counter() - begin
    with working(f"running {fresh:,} fresh episodes", progress and sys.stderr.isatty()):
        complete, earlier, unwritten = kept_and_judged(runs, out, fresh)
        table, refused = compared_with(runs, others)
    show_runs(runs, seconds, None if unwritten else out, as_json, table, earlier)
    if unwritten is not None:
        raise SpaqlError("; ".join(str(error) for error in (failed, unwritten) if error is not None)) from unwritten
    if failed is not None:
        raise SpaqlError(f"{failed} ({kept_where(runs, out, checkpoint)})") from failed
    if refused is not None:
        raise refused
    if not complete:
        print(f"interrupted: {kept_where(runs, out, checkpoint)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


def _learners_reference(plant: PlantOptions) -> tuple[list[float] | None, PlantOptions]:
    """`--reference 0,0,0,0` has been an option of SPAQL-TS, and still is; the rest are signals to follow."""
    plain = [text for text in plant.reference or () if "=" not in text]
    signals = [text for text in plant.reference or () if "=" in text]
    points = [parsed("reference", text, lambda point: list(map(float, point.split(",")))) for text in plain]
    if len(points) > 1:
        raise SpaqlError(wrong("reference", plain[1]))
    return points[0] if points else None, plant._replace(reference=signals or None)


@command
@with_plant
def evaluate(
    file: Annotated[Path, typer.Argument(help="An agent written by `spaql train --out` or `agent.save`.")],
    *,
    episodes: Annotated[int, typer.Option(help="Fresh episodes.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the episodes.")] = 0,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Use the centre of the greedy cell.")] = False,
    baseline: Baselines = None,
    problem: GivenProblem = None,
    plant: PlantOptions = NOTHING,
    as_json: AsJson = False,
) -> None:
    """Evaluate a saved agent in fresh episodes, on its problem or a changed one.

    Examples:
      spaql evaluate results/agent.spaql --episodes 1000
      spaql evaluate results/agent.spaql --set observation_noise=0.02
      spaql evaluate results/agent.spaql --problem motor.py:problem --baseline motor.py:pi
    """
    from spaql.analysis.paired import OWN, beside, check_together
    from spaql.cli.train_text import compared_json, compared_table
    from spaql.ground.checks import whole
    from spaql.learners.files import load

    whole("--episodes", episodes, 1 if baseline is None else 2, 10**8), whole("--seed", seed, 0)
    stated = plant_of(problem, plant)
    agent = load(file, stated)
    if plant.changes and problem is None:
        from spaql.plants.make import make_from_catalog

        parameters = {**agent.problem.parameters, **settings(plant.changes)}
        agent = load(file, make_from_catalog(agent.problem.name, parameters))
    if not agent.problem.can_run:
        where = "--problem FILE.py:NAME, or --problem FILE.fmu with the options of `spaql train`"
        raise SpaqlError(f"the plant {agent.problem.name} is not in {file}: give it, {where}")
    others = baselines_of(baseline, stated)
    check_together({OWN: agent}, others)
    with working(f"running {episodes:,} fresh episodes", False if as_json else None):
        result = agent.evaluate(episodes, seed, deterministic=deterministic)
        table = beside({OWN: agent}, {OWN: result}, others)
    if as_json:
        figures: dict[str, Any] = {"problem": agent.problem.name, "algorithm": agent.algorithm}
        compared = {} if table is None else {"compared": compared_json(table)}
        print(json.dumps(figures | result.to_dict() | {"arms": agent.arms} | compared))
        return
    print(agent)
    print(result)
    if table is not None:
        from rich.console import Console

        console = Console()
        console.print(compared_table(table, console.width))
