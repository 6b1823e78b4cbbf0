"""What is done with one controller: `spaql tune | export | prove`."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from spaql.cli.app import AsJson, command, write_out
from spaql.cli.arguments import (
    PROBLEM_HELP,
    Fallback,
    GivenProblem,
    Monitored,
    monitor_of,
    plant_of,
    policy_in,
    problem_of,
)
from spaql.cli.explain import File, Form, Laws, Proven, Step, check_forms, formed, read_policy
from spaql.cli.plant_options import NOTHING, PlantOptions, by_name, dotted, number, parsed, with_plant
from spaql.export import FORMATS, KINDS, MONITORED
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.ground.writing import check_file


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
    write_out(out, text)


# -- `spaql prove` -----------------------------------------------------------------------------------------------------


RANGE = "NAME=LOW..HIGH"
NEVER_HELP = "Bounds that are never left (default: no episode ends in failure). Repeat for several."
REACH_HELP = "Bounds that are reached and kept, or the word end: the episode ends. Repeat for several."
AT_HELP = "Of a differential equation: bounds at a time in seconds, or FROM..TO. Repeat for several."
START_HELP = "The starts of a variable (default: all start states). Repeat for several."
Ranges = list[str] | None


@command
def prove(
    file: File,
    never: Annotated[Ranges, typer.Option(metavar=RANGE, help=NEVER_HELP)] = None,
    reach: Annotated[Ranges, typer.Option(metavar=RANGE, help=REACH_HELP)] = None,
    at: Annotated[Ranges, typer.Option(metavar="TIME:NAME=LOW..HIGH", help=AT_HELP)] = None,
    start: Annotated[Ranges, typer.Option(metavar=RANGE, help=START_HELP)] = None,
    steps: Annotated[str | None, typer.Option(help="How many, or ever (default: ever if it can be proven).")] = None,
    parameter: Annotated[Ranges, typer.Option(metavar=RANGE, help="A parameter of the plant. Repeat.")] = None,
    sensor: Annotated[Ranges, typer.Option(metavar="NAME=ERROR", help="How far a sensor may be off. Repeat.")] = None,
    seconds: Annotated[float, typer.Option(help="Of CPU; what is not proven by then is open.")] = 60.0,
    out: Annotated[Path | None, typer.Option(help="Write the certificate there.")] = None,
    check: Annotated[Path | None, typer.Option(help="Check this certificate instead of proving.")] = None,
    problem: GivenProblem = None,
    as_json: AsJson = False,
) -> None:
    """Prove what a controller does, for all start states, or check a certificate.

    The exit code is 0 if it is proven for every start, else 1.

    Example:
      spaql prove results/agent.spaql --never angle=-0.2..0.2 --out angle.proof.json
    """
    from spaql.proofs.check_proof import check_proof
    from spaql.proofs.proof import json_of

    check_file(out)
    policy = policy_in(file, plant_of(problem, NOTHING))
    if check is not None:
        proof = check_proof(check, policy)
    else:
        goal: Any = "end" if reach == ["end"] else by_name("reach", reach, dotted)
        if steps not in (None, "ever") and not str(steps).isdigit():
            raise SpaqlError(f"--steps is a whole number, or ever, not {steps!r}")
        proof = policy.prove(
            by_name("never", never, dotted) or None, goal or None, by_name("start", start, dotted) or None,
            math.inf if steps == "ever" else None if steps is None else int(steps),
            at=_times(at) or None, parameters=by_name("parameter", parameter, dotted),
            sensors=by_name("sensor", sensor, number), seconds=seconds,
        )  # fmt: skip
    print(json_of(proof) if as_json else f"{'CHECKED ' if check is not None else ''}{proof}")
    if out is not None:
        proof.save(out)
    if not proof.holds:
        raise typer.Exit(1)


def _times(texts: Ranges) -> dict[Any, dict[str, tuple[float, float]]]:
    """Bounds by time, or by (from, to), as `Policy.prove` takes them."""
    times: dict[Any, dict[str, tuple[float, float]]] = {}

    def add(text: str) -> None:
        when, bounds = text.split(":", 1)
        times.setdefault(dotted(when) if ".." in when else number(when), {}).update(by_name("at", [bounds], dotted))

    for text in texts or ():
        parsed("at", text, add)
    return times


# -- `spaql tune` ------------------------------------------------------------------------------------------------------


DEMANDS = "What is asked of the loop"
LOG = "A recorded step response"


def _asked(about: str) -> Any:
    return typer.Option(help=about, rich_help_panel=DEMANDS)


def _logged(about: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=about, metavar=metavar, rich_help_panel=LOG)


@command
@with_plant
def tune(
    problem: Annotated[str | None, typer.Argument(help=f"{PROBLEM_HELP} Or give --log.")] = None,
    *,
    form: Annotated[
        str, typer.Option(help="P, PI, PD, PID, 'PI + feedforward', 'PID + feedforward' or cascade.")
    ] = "PI",
    overshoot: Annotated[float, _asked("Percent of a step of the reference.")] = 10.0,
    settling_time: Annotated[float | None, _asked("Seconds until it stays within 2 %.")] = None,
    gain_margin: Annotated[float | None, _asked("A factor: 2 to 5.")] = None,
    phase_margin: Annotated[float | None, _asked("Degrees: 30 to 70.")] = None,
    ms: Annotated[float, _asked("Largest sensitivity: 1.2 (robust) to 2 (fast).")] = 1.6,
    follow: Annotated[str | None, typer.Option(help="The reference to follow, if there are several.")] = None,
    actuator: Annotated[str | None, typer.Option(help="The action that controls, if there are several.")] = None,
    inner: Annotated[str | None, typer.Option(help="cascade: the measured variable of the inner loop.")] = None,
    log: Annotated[Path | None, _logged("A log with a column time, or --dt (csv, parquet).")] = None,
    input_column: Annotated[str | None, _logged("Its column of what was applied.", "--input", metavar="COLUMN")] = None,
    output: Annotated[str | None, _logged("Its column of what was measured.", metavar="COLUMN")] = None,
    limits: Annotated[str | None, _logged("Of the actuator: 0:100.", metavar="LOW:HIGH")] = None,
    integrating: Annotated[
        bool | None,
        typer.Option("--integrating/--settles", help="What the output does after a step.", rich_help_panel=LOG),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the controller as JSON, for `spaql export`.")] = None,
    plant: PlantOptions = NOTHING,
    as_json: AsJson = False,
) -> None:
    """Find the gains of a PID controller.

    From a plant in a loop, or from a recorded step response.

    Examples:
      spaql tune motor.py:problem --form PID --overshoot 5 --out pid.json
      spaql tune --log step.csv --input valve --output level --limits 0:100
    """
    from spaql.export import export
    from spaql.tuning.tune import tune as tuned

    check_file(out)
    if (problem is None) == (log is None):
        raise SpaqlError("give a problem, or a step response with --log, --input, --output and --limits")
    subject = log if problem is None else problem_of(problem, plant)
    with working("tuning", False if as_json else None):
        policy = tuned(
            subject, form, overshoot=overshoot, settling_time=settling_time, gain_margin=gain_margin,
            phase_margin=phase_margin, ms=ms, reference=follow, action=actuator, inner=inner, input=input_column,
            output=output, limits=None if limits is None else _ends(limits), integrating=integrating,
            dt=plant.dt if problem is None else None,
        )  # fmt: skip
        text = export(policy, "json")
    print(json.dumps(policy.tuning.to_dict()) if as_json else policy)
    if out is not None:
        write_out(out, text)


def _ends(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    try:
        return float(low), float(high if colon else "")
    except ValueError as error:
        raise SpaqlError(f"--limits is LOW:HIGH, such as 0:100, not {text!r}") from error
