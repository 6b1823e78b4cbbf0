"""`spaql export`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from spaql.cli.app import command
from spaql.cli.arguments import Fallback, GivenProblem, Monitored, monitor_of, plant_of
from spaql.cli.explain import File, Form, Laws, Proven, Step, check_forms, formed, read_policy
from spaql.cli.plant_options import NOTHING
from spaql.export import FORMATS, KINDS, MONITORED
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.ground.writing import kept, write_whole


@command
def export(
    file: File,
    *,
    to: Annotated[str, typer.Option(help=f"One of {', '.join([*FORMATS, *KINDS])}.")] = "c",
    out: Annotated[
        Path | None, typer.Option(help="File to write, or the folder of a library (default: the terminal).")
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Export a compressed tree with at most this many leaves.")
    ] = None,
    laws: Laws = None,
    form: Form = "auto",
    step: Step = None,
    proof: Proven = None,
    monitor: Monitored = None,
    fallback: Fallback = None,
    problem: GivenProblem = None,
    precision: Annotated[str, typer.Option(help="c: double, single, or fixed (integers alone).")] = "double",
    dt: Annotated[float | None, typer.Option(help="fmu2, fmu3, arduino: seconds between samples.")] = None,
    sizes: Annotated[
        bool, typer.Option("--sizes", help="c: measure flash, RAM and time on an AVR and a Cortex-M (docs/exports.md).")
    ] = False,
    test_main: Annotated[
        bool, typer.Option("--test-main", help="c: add a main function that reads observations and prints actions.")
    ] = False,
) -> None:
    """Write a controller as code, text or drawing.

    Tables and trees apply exactly the actions of the agent's deterministic policy.

    Example:
      spaql export results/agent.spaql --to c --out controller.c
      spaql export results/agent.spaql --to c --monitor velocity=-6:6 --fallback 0
    """
    from spaql.export import export as write
    from spaql.export.packages import package, write_package
    from spaql.ground.checks import choice

    choice("--to", to, [*FORMATS, *KINDS])
    choice("--precision", precision, ("double", "single", "fixed"))
    if to != "c" and (precision != "double" or test_main or sizes):
        raise SpaqlError(f"--precision, --sizes and --test-main go with --to c, not with --to {to}")
    check_forms(form, max_leaves, laws, out)
    if monitor and to not in (*MONITORED, *KINDS):
        raise SpaqlError(f"--monitor goes with --to {', '.join([*MONITORED, *KINDS])}, not with --to {to}")
    if to in KINDS and out is None:
        raise SpaqlError(f"--to {to} writes files: say where with --out")
    if to not in KINDS and dt is not None:
        raise SpaqlError(f"--dt goes with --to {', '.join(KINDS)}, not with --to {to}")
    options: dict[str, Any] = {"precision": precision, "main": test_main, "sizes": sizes} if to == "c" else {}
    if problem is not None and problem.endswith(".fmu"):
        raise SpaqlError(f"--problem {problem}: put spaql.from_fmu(...) into a Python file and give FILE.py:NAME")
    with working("reading the agent"):
        stated = plant_of(problem, NOTHING)
        policy = formed(read_policy(file, step, stated), form, max_leaves, laws)
        policy = policy if proof is None else policy.with_proof(proof)
        guard = monitor_of(monitor, fallback, stated)
        options |= {} if guard is None else {"monitor": guard}
        parts = package(policy, to, dt=dt, **options) if to in KINDS else {}
        text = "" if to in KINDS else write(policy, to, **options)
    for note in policy.notes:
        print(f"spaql: warning: {note}", file=sys.stderr)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    if to in KINDS:
        write_package(out, parts)
        print(f"wrote {out}", file=sys.stderr)
        return
    unwritten = kept(
        out.parent, lambda folder: write_whole(folder / out.name, lambda target: target.write(text.encode()))
    )
    if unwritten is not None:
        raise unwritten
    print(f"wrote {out}", file=sys.stderr)
