"""`spaql bench`."""

import json
import sys
from collections.abc import Iterable, Sequence
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

    say, shown = None if as_json else _say, show
    if checks.device(device) == "cuda":
        from spaql.cuda.card_speed import measure_card

        figures, shown = measure_card(say), show_card
    elif cold:
        figures, shown = measure_cold(say), show_cold
    else:
        figures = measure(problem or ["pendulum", "cartpole"], iterations, rounds, say, settings(changes))
    print(json.dumps(figures, indent=1)) if as_json else shown(figures)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def show(figures: dict[str, Any]) -> None:
    for name, speeds in figures["problems"].items():
        rates = {"plain Gymnasium loop": speeds["gymnasium_loop"], "bare plant, lock-step": speeds["bare_plant"]}
        rates |= {algorithm: entry["steps_per_second"] for algorithm, entry in speeds["learners"].items()}
        rows = []
        for label, rate in rates.items():
            share, times = rate / speeds["bare_plant"], rate / speeds["gymnasium_loop"]
            rows.append((label, f"{rate / 1e6:.3g}", f"{100 * share:.3g} %", f"{times:,.0f}"))
        title = f"{name}, {speeds['rollouts']} rollouts, {figures['iterations']:,} iterations"
        _table(title, ("million steps / s", "of bare plant", "times Gymnasium"), rows)
    threads, rounds = figures["threads"], figures["rounds"]
    how = "one round" if rounds == 1 else f"each figure is the best of {rounds} rounds, taken in turn"
    _line(
        f"{threads['jobs']} threads: {threads['speed_up']:.2f} times as fast as one. "
        f"Learning on CartPole-v1 through from_gym: {100 * figures['from_gym_overhead']:.0f} % more time "
        "than the environment alone."
    )
    _line(f"One core; {how}.")


def show_card(figures: dict[str, Any]) -> None:
    rows = []
    for name, figure in figures["problems"].items():
        card, core, same = figure["card"], figure["core"], "yes" if figure["same"] else "no"
        rows.append((name, f"{card / 1e9:.1f}", f"{card / core:,.0f}", same, f"{figure['compiled']:.1f}"))
    headings = ("billion steps / s", "times one core", "same bits", "compiled in s")
    _table(f"two laws on {figures['device']}, double precision", headings, rows)


def show_cold(figures: dict[str, dict[str, Any]]) -> None:
    rows = [
        (name, f"{figure['wall']:.1f}", f"{figure['cpu']:.1f}", f"{figure['compilations']} functions")
        for name, figure in figures.items()
    ]
    _table("from an empty compile cache to the first result", ("wall s", "CPU s", "compiled"), rows)


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """`headings`: of all columns but the first."""
    from rich.console import Console
    from rich.table import Table

    table = Table("", title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _line(text: str) -> None:
    from rich.console import Console

    Console().print(text, highlight=False)
