"""`spaql prove`."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from spaql.cli.app import AsJson, command
from spaql.cli.arguments import GivenProblem, plant_of, policy_in
from spaql.cli.plant_options import NOTHING
from spaql.ground.errors import SpaqlError
from spaql.ground.writing import check_file

FILE_HELP = (
    "An agent written by `spaql train --out`, or a policy written by `spaql export --to json`."
)
RANGE = "NAME=LOW..HIGH"
NEVER_HELP = "Bounds that are never left (default: no episode ends in failure). Repeat for several."
REACH_HELP = (
    "Bounds that are reached and kept, or the word end: the episode ends. Repeat for several."
)
AT_HELP = "Of a differential equation: bounds at a time in seconds, or FROM..TO. Repeat for several."
START_HELP = "The starts of a variable (default: all start states). Repeat for several."
Ranges = list[str] | None


@command
def prove(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    never: Annotated[Ranges, typer.Option(metavar=RANGE, help=NEVER_HELP)] = None,
    reach: Annotated[Ranges, typer.Option(metavar=RANGE, help=REACH_HELP)] = None,
    at: Annotated[Ranges, typer.Option(metavar="TIME:NAME=LOW..HIGH", help=AT_HELP)] = None,
    start: Annotated[Ranges, typer.Option(metavar=RANGE, help=START_HELP)] = None,
    steps: Annotated[
        str | None, typer.Option(help="How many, or ever (default: ever if it can be proven).")
    ] = None,
    parameter: Annotated[
        Ranges, typer.Option(metavar=RANGE, help="A parameter of the plant. Repeat.")
    ] = None,
    sensor: Annotated[
        Ranges, typer.Option(metavar="NAME=ERROR", help="How far a sensor may be off. Repeat.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Of CPU; what is not proven by then is open.")
    ] = 60.0,
    out: Annotated[Path | None, typer.Option(help="Write the certificate there.")] = None,
    check: Annotated[
        Path | None, typer.Option(help="Check this certificate instead of proving.")
    ] = None,
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
        goal: Any = "end" if reach == ["end"] else _ranges("--reach", reach) or None
        count = math.inf if steps == "ever" else None if steps is None else _whole(steps)
        proof = policy.prove(
            _ranges("--never", never) or None, goal, _ranges("--start", start) or None, count, at=_times(at) or None,
            parameters=_ranges("--parameter", parameter), sensors=_numbers("--sensor", sensor), seconds=seconds,
        )  # fmt: skip
    print(json_of(proof) if as_json else f"{'CHECKED ' if check is not None else ''}{proof}")
    if out is not None:
        proof.save(out)
    if not proof.holds:
        raise typer.Exit(1)


def _times(texts: Ranges) -> dict[Any, dict[str, tuple[float, float]]]:
    """Bounds by time, or by (from, to), as `Policy.prove` takes them."""
    times: dict[Any, dict[str, tuple[float, float]]] = {}
    for text in texts or ():
        when, colon, bounds = text.partition(":")
        first, dots, last = when.partition("..")
        if not colon:
            raise SpaqlError(f"--at takes TIME:NAME=LOW..HIGH, such as 0.5..1:angle=0..1, not {text!r}")
        key = (_number("--at", first), _number("--at", last)) if dots else _number("--at", first)
        times.setdefault(key, {}).update(_ranges("--at", [bounds]))
    return times


def _whole(text: str) -> int:
    if not text.isdigit():
        raise SpaqlError(f"--steps is a whole number, or ever, not {text!r}")
    return int(text)


def _named(option: str, texts: Ranges) -> dict[str, str]:
    named: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip() or name.strip() in named:
            raise SpaqlError(f"{option} takes NAME=..., each name once, not {text!r}")
        named[name.strip()] = value
    return named


def _ranges(option: str, texts: Ranges) -> dict[str, tuple[float, float]]:
    ranges = {}
    for name, value in _named(option, texts).items():
        low, dots, high = value.partition("..")
        if not dots:
            raise SpaqlError(
                f"{option} {name}: a range is LOW..HIGH, such as -0.2..0.2, not {value!r}"
            )
        ranges[name] = _number(option, low), _number(option, high)
    return ranges


def _numbers(option: str, texts: Ranges) -> dict[str, float]:
    return {name: _number(option, value) for name, value in _named(option, texts).items()}


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise SpaqlError(f"{option}: {text!r} is not a number") from error
