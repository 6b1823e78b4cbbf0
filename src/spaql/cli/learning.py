"""`spaql problems | train | evaluate | bench`."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from spaql.cli.app import INTERRUPTED, JSON_HELP, SET_HELP, command, floats, settings
from spaql.cli.making import OPTION_HELP, agents_of, options_given
from spaql.cli.training import callbacks_of, kept_and_judged, kept_where, trained
from spaql.errors import SpaqlError


@command
def problems(as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False) -> None:
    """List the problems by name.

    Example: spaql problems
    """
    from spaql.plants.catalog import CATALOG

    if as_json:
        print(json.dumps({name: entry.summary for name, entry in CATALOG.items()}, indent=1))
        return
    for name, entry in CATALOG.items():
        print(f"{name:24} {entry.summary}")


@command
def train(
    problem: Annotated[str, typer.Argument(help="A name from `spaql problems`, or a Gymnasium id.")],
    algorithm: Annotated[str, typer.Argument(help="aql, spaql, spaql-ts, nbql, zoomrl, atlas or random.")],
    iterations: Annotated[int | None, typer.Option(help="Training episodes (default: 2000).")] = None,
    samples: Annotated[int | None, typer.Option(help="atlas: training steps, instead of episodes (default: 5000).")] = None,
    rollouts: Annotated[int | None, typer.Option(help="Evaluation rollouts per episode (default: the problem's; atlas: none).")] = None,
    seeds: Annotated[int, typer.Option(help="Number of agents.")] = 1,
    first_seed: Annotated[int, typer.Option(help="Seed of the first agent; the others follow.")] = 0,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    xi: Annotated[float | None, typer.Option(help="Scale of the bonus (default: the paper's for the problem).")] = None,
    lam: Annotated[float | None, typer.Option(help="SPAQL-TS: width of the Gaussian (1.2).")] = None,
    reference: Annotated[str | None, typer.Option(help="SPAQL-TS: state to hold, numbers separated by commas.")] = None,
    distance: Annotated[str | None, typer.Option(help="SPAQL-TS: euclidean or sup.")] = None,
    temperature_rule: Annotated[str | None, typer.Option(help="SPAQL, SPAQL-TS: published or paper.")] = None,
    bootstrap: Annotated[str | None, typer.Option(help="paper or terminate.")] = None,
    step: Annotated[
        float | None,
        typer.Option(help="NBQL: step of the net, in the cube [-1, 1] (default: 0.25, or coarser where that makes too many cells)."),
    ] = None,
    lipschitz: Annotated[float | None, typer.Option(help="ZoomRL: Lipschitz constant of Q in the cube (xi).")] = None,
    low: Annotated[float | None, typer.Option(help="random: lowest action (the paper's Random on pendulum: 0).")] = None,
    horizon: Annotated[int | None, typer.Option(help="Gymnasium ids: steps per episode.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=SET_HELP)] = None,
    fresh: Annotated[int, typer.Option(help="Episodes of the fresh re-evaluation (0: none).")] = 1000,
    jobs: Annotated[int | None, typer.Option(help="Agents trained at once (default: all cores).")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the agents and the learning-curve picture.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Folder for the agent on the way; several agents: a folder each in it.")] = None,
    every: Annotated[int | None, typer.Option(help="Training episodes between checkpoints (default: 100).")] = None,
    log: Annotated[Path | None, typer.Option(help="The history as a growing .csv file; several agents: NAME-seed0.csv, ...")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Train agents and report what they are worth.

    Example: spaql train cartpole spaql-ts --seeds 8 --out results
    Another: spaql train pendulum spaql --set m=2 --set process_noise.velocity=0.1
    Another: spaql train pendulum atlas --samples 2000 --option cells=4000 --option gamma=0.99
    """
    from spaql.checks import whole
    from spaql.reporting import show_runs, writable

    whole("--fresh", fresh, 0, 10**8)
    if algorithm.lower() == "atlas":
        samples = 5000 if samples is None and iterations is None else samples
    elif samples is not None:
        raise SpaqlError("--samples goes with atlas; the others learn by episodes: --iterations")
    elif iterations is None:
        iterations = 2000
    callbacks = callbacks_of(checkpoint, every, log, seeds)
    given = {
        "xi": xi, "lam": lam, "distance": distance, "temperature_rule": temperature_rule, "bootstrap": bootstrap, "low": low,
        "step": step, "lipschitz": lipschitz,
        "reference": None if reference is None else floats("reference", reference),
    }  # fmt: skip
    options = options_given(option, {name: value for name, value in given.items() if value is not None})
    agents = agents_of(problem, algorithm, horizon, settings(changes), range(first_seed, first_seed + max(seeds, 0)), options)
    if out is not None:
        writable(out)
    begin = time.perf_counter()
    runs = trained(agents, iterations, rollouts, samples=samples, jobs=jobs, progress=not quiet and not as_json, callbacks=callbacks)
    seconds = time.perf_counter() - begin
    complete = kept_and_judged(runs, out, fresh)
    show_runs(runs, seconds, out, as_json)
    if not complete:
        print(f"interrupted: {kept_where(runs, out, checkpoint)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


@command
def evaluate(
    file: Annotated[Path, typer.Argument(help="An agent written by `spaql train --out` or `agent.save`.")],
    episodes: Annotated[int, typer.Option(help="Fresh rollouts.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the rollouts.")] = 0,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Play the centre of the greedy cell.")] = False,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=SET_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Evaluate a saved agent on fresh rollouts, on the problem it has learned or on a changed one.

    Example: spaql evaluate results/agent.spaql --episodes 1000
    Another: spaql evaluate results/agent.spaql --set observation_noise=0.02
    """
    from spaql.checks import whole
    from spaql.files import load

    whole("--episodes", episodes, 1, 10**8), whole("--seed", seed, 0)
    agent, given = load(file), settings(changes)
    if given:
        from spaql.plants.catalog import make_from_catalog

        agent = load(file, make_from_catalog(agent.problem.name, {**agent.problem.parameters, **given}))
    result = agent.evaluate(episodes, seed, deterministic=deterministic)
    low, high = result.ci95
    if as_json:
        print(
            json.dumps(
                {"problem": agent.problem.name, "algorithm": agent.algorithm, "mean": result.mean, "ci95": [low, high],
                 "episodes": episodes, "samples": result.samples, "arms": agent.arms, "seed": seed}
            )
        )  # fmt: skip
        return
    print(agent)
    if agent.problem.parameters:
        print(agent.problem)
    print(f"fresh return {result.mean:.2f}, 95 % interval {low:.2f} ... {high:.2f} ({episodes} episodes, {result.samples} steps)")


@command
def bench(
    problem: Annotated[list[str] | None, typer.Option(help="Repeat for several (default: pendulum, cartpole).")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=SET_HELP)] = None,
    iterations: Annotated[int, typer.Option(help="Training episodes per run.")] = 2000,
    rounds: Annotated[int, typer.Option(help="Every figure is the best of this many, taken in turn.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Measure steps per second against the bare plant and a plain Gymnasium loop, in one run.

    Example: spaql bench --rounds 3
    """
    from spaql.bench import measure, show

    figures = measure(problem or ["pendulum", "cartpole"], iterations, rounds, None if as_json else _say, settings(changes))
    print(json.dumps(figures, indent=1)) if as_json else show(figures)


def _say(text: str) -> None:
    print(text, file=sys.stderr)
