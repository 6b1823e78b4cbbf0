"""`spaql bench`."""

import json
import sys
from typing import Annotated, Any

import typer

from spaql.cli.app import AsJson, command
from spaql.cli.arguments import settings
from spaql.cli.plant_options import SET_HELP


@command
def bench(
    *,
    problem: Annotated[list[str] | None, typer.Option(help="Repeat for several (default: pendulum, cartpole).")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=SET_HELP)] = None,
    iterations: Annotated[int, typer.Option(help="Training episodes per run.")] = 2000,
    rounds: Annotated[int, typer.Option(help="Rounds of measurement; each figure is the best of them.")] = 3,
    cold: Annotated[
        bool, typer.Option("--cold", help="Measure instead the first programs on an empty compile cache.")
    ] = False,
    device: Annotated[str, typer.Option(help="cuda: laws on a graphics card, beside one core of the CPU.")] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Measure the speed on this machine.

    Steps per second compared with the bare plant and a plain Gymnasium loop.

    Examples:
      spaql bench --rounds 3
      spaql bench --device cuda
    """
    from spaql.ground import checks
    from spaql.training.speed import measure, measure_cold

    if checks.device(device) == "cuda":
        from spaql.cuda.card_speed import measure_card

        card = measure_card(None if as_json else _say)
        print(json.dumps(card, indent=1)) if as_json else show_card(card)
        return
    if cold:
        programs = measure_cold(None if as_json else _say)
        print(json.dumps(programs, indent=1)) if as_json else show_cold(programs)
        return
    problems, say = problem or ["pendulum", "cartpole"], None if as_json else _say
    figures = measure(problems, iterations, rounds, say, settings(changes))
    print(json.dumps(figures, indent=1)) if as_json else show(figures)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def show(figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, speeds in figures["problems"].items():
        table = Table(title=f"{name}, {speeds['rollouts']} rollouts, {figures['iterations']:,} iterations")
        for heading in ("", "million steps / s", "of bare plant", "times Gymnasium"):
            table.add_column(heading, justify="right" if heading else "left")
        rows = [("plain Gymnasium loop", speeds["gymnasium_loop"]), ("bare plant, lock-step", speeds["bare_plant"])]
        rows += [(algorithm, entry["steps_per_second"]) for algorithm, entry in speeds["learners"].items()]
        for label, rate in rows:
            share, times = rate / speeds["bare_plant"], rate / speeds["gymnasium_loop"]
            table.add_row(label, f"{rate / 1e6:.3g}", f"{100 * share:.3g} %", f"{times:,.0f}")
        console.print(table)
    threads = figures["threads"]
    console.print(
        f"{threads['jobs']} threads: {threads['speed_up']:.2f} times as fast as one. "
        f"Learning on CartPole-v1 through from_gym: {100 * figures['from_gym_overhead']:.0f} % more time "
        "than the environment alone.",
        highlight=False,
    )
    rounds = figures["rounds"]
    how = "one round" if rounds == 1 else f"each figure is the best of {rounds} rounds, taken in turn"
    console.print(f"One core; {how}.", highlight=False)


def show_card(figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"two laws on {figures['device']}, double precision")
    for heading in ("", "billion steps / s", "times one core", "same bits", "compiled in s"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, figure in figures["problems"].items():
        card, core, same = figure["card"], figure["core"], "yes" if figure["same"] else "no"
        table.add_row(name, f"{card / 1e9:.1f}", f"{card / core:,.0f}", same, f"{figure['compiled']:.1f}")
    Console().print(table)


def show_cold(figures: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="from an empty compile cache to the first result")
    for heading in ("", "wall s", "CPU s", "compiled"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, figure in figures.items():
        table.add_row(name, f"{figure['wall']:.1f}", f"{figure['cpu']:.1f}", f"{figure['compilations']} functions")
    Console().print(table)
