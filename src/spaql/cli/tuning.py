"""`spaql tune`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from spaql.cli.app import AsJson, command, write_out
from spaql.cli.arguments import PROBLEM_HELP, problem_of
from spaql.cli.plant_options import NOTHING, PlantOptions, with_plant
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import working
from spaql.ground.writing import check_file

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
