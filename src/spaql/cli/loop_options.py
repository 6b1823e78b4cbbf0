"""Loops on the command line: references, memory, noise, delay and limits around any problem.

    spaql train motor.py:motor laws --reference "target of speed=0:150, hold 30:80" --memory "integral(speed_error)"
        --observe speed_error,current --noise speed=0.5 --delay actuator=1 --limit current=-8:8 --dt 0.01

What `spaql.loop` takes in Python (docs/loop.md), one option for each.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from spaql.ground.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.plants.limits import Interlock, Limit
    from spaql.plants.problem import Problem
    from spaql.plants.references import Reference

EXAMPLES = {
    "reference": "target of speed=0:150, hold 30:80",
    "memory": "integral(speed_error)",
    "limit": "current=-8:8",
    "trip": "current=-20:20",
    "noise": "speed=0.5",
    "delay": "actuator=1",
    "increments": "voltage=2",
    "rates": "voltage=2",
    "interlock": "current>=8: voltage=-24:0",
}
FORMS = {
    "reference": "NAME of VARIABLE=LOW:HIGH, then hold STEPS or LEAST:MOST, rate STEP, values A/B/C or unit UNIT",
    "limit": "NAME=LOW:HIGH, or an open end",
    "trip": "NAME=LOW:HIGH, or an open end",
    "noise": "NAME=NUMBER",
    "delay": "sensor=STEPS or actuator=STEPS",
    "increments": "a NUMBER, or NAME=NUMBER",
    "rates": "a NUMBER, or NAME=NUMBER",
    "interlock": "VARIABLE>=NUMBER: ACTION=LOW:HIGH",
}


IN_A_LOOP = "Loop around the plant (docs/loop.md)"


def _many(form: str, about: str) -> Any:
    return Annotated[
        list[str] | None, typer.Option(metavar=form, help=f"{about} Repeat for several.", rich_help_panel=IN_A_LOOP)
    ]


# The options by name, in the order of the help. `--observe`, `--reward` and `--dt` belong to FMUs too: plant_files.py
OPTIONS: dict[str, Any] = {
    "reference": _many("TEXT", f"A reference to follow: '{EXAMPLES['reference']}'."),
    "memory": _many("TEXT", f"A variable computed from past values: '{EXAMPLES['memory']}', 'previous(voltage)'."),
    "limit": _many("NAME=LOW:HIGH", "A limit whose violations are reported: current=-8:8, level=:2."),
    "ends": Annotated[
        str | None,
        typer.Option(help="What an end of an episode by the plant is: failure or success.", rich_help_panel=IN_A_LOOP),
    ],
    "trip": _many("NAME=LOW:HIGH", "A limit on a measured variable that ends the episode."),
    "trip_cost": Annotated[
        float | None,
        typer.Option(help="Cost of a trip; more than a whole episode can cost.", rich_help_panel=IN_A_LOOP),
    ],
    "noise": _many("NAME=NUMBER", "Standard deviation of the sensor noise of a variable."),
    "delay": _many("NAME=STEPS", "Dead time in steps: sensor=1 or actuator=2."),
    "increments": _many("NAME=NUMBER", "Actions are changes, at most this much per step: 2, or voltage=2."),
    "rates": _many("NAME=NUMBER", "Rate limit of the actuator per step: 2, or voltage=2."),
    "interlock": _many("TEXT", f"A rule that restricts actions: '{EXAMPLES['interlock']}'."),
    "measure": Annotated[
        str | None,
        typer.Option(
            help=".fmu in a loop: its measured variables; --observe then names what the controller sees.",
            rich_help_panel=IN_A_LOOP,
        ),
    ],
}


class Around(NamedTuple):
    """The options that state a loop, as they were typed."""

    reference: list[str] | None = None
    memory: list[str] | None = None
    limit: list[str] | None = None
    ends: str | None = None
    trip: list[str] | None = None
    trip_cost: float | None = None
    noise: list[str] | None = None
    delay: list[str] | None = None
    increments: list[str] | None = None
    rates: list[str] | None = None
    interlock: list[str] | None = None
    measure: str | None = None

    @property
    def any(self) -> bool:
        """Whether there is a loop: limits, and what an end means, need none."""
        return any(value is not None for name, value in self._asdict().items() if name not in ("limit", "ends"))


NOTHING_AROUND = Around()
Command = TypeVar("Command", bound=Callable[..., None])


def with_loop(function: Command) -> Command:
    """A command with the options of a loop, which it gets together, as `around`."""

    @functools.wraps(function)
    def run(*args: Any, **given: Any) -> None:
        function(*args, around=Around(**{name: given.pop(name) for name in OPTIONS}), **given)

    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.name != "around"]
    kind = inspect.Parameter.KEYWORD_ONLY
    more = [inspect.Parameter(name, kind, default=None, annotation=option) for name, option in OPTIONS.items()]
    shown: Any = run
    shown.__signature__ = signature.replace(parameters=[*own, *more])  # what typer makes the options of
    return shown  # type: ignore[no-any-return]


def in_loop(
    problem: "Problem", around: Around, observe: str | None, reward: Callable[..., float] | None, dt: float | None
) -> "Problem":
    """The problem in the loop that was typed."""
    from spaql.ground.checks import choice
    from spaql.plants.loop import loop
    from spaql.plants.make import limited
    from spaql.plants.problem import ENDS

    if around.ends is not None:
        problem = replace(problem, ends=choice("--ends", around.ends, ENDS[1:]))
    limits = [_limit("limit", text) for text in around.limit or ()]
    if around.trip and around.trip_cost is None:
        raise SpaqlError("--trip needs --trip-cost too, more than a whole episode can cost; else ending it would pay")
    if not around.any and observe is None and reward is None:
        return limited(problem, (*problem.limits, *limits)) if limits else problem
    return loop(
        problem,
        references=[_reference(text) for text in around.reference or ()],
        memory=[name for text in around.memory or () for name in names(text)],
        observe=() if observe is None else names(observe),
        noise=_numbers("noise", around.noise),
        delay={what: _whole(steps) for what, steps in _numbers("delay", around.delay).items()},
        increments=_per_action("increments", around.increments),
        rates=_per_action("rates", around.rates),
        interlocks=[_interlock(text) for text in around.interlock or ()],
        limits=limits,
        trips=[_limit("trip", text) for text in around.trip or ()],
        trip_cost=around.trip_cost,
        reward=reward,
        dt=dt,
    )


def names(text: str) -> list[str]:
    """Names that are separated by commas; commas within brackets belong to a name."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


def learners_reference(around: Around) -> tuple[str | None, Around]:
    """`--reference 0,0,0,0` has been an option of SPAQL-TS, and still is; the rest are signals to follow."""
    plain = [text for text in around.reference or () if "=" not in text]
    signals = [text for text in around.reference or () if "=" in text]
    for text in plain[1:] if plain and _is_numbers(plain[0]) else plain:
        raise SpaqlError(_wrong("reference", text))
    return plain[0] if plain else None, around._replace(reference=signals or None)


def _is_numbers(text: str) -> bool:
    try:
        return len([float(part) for part in text.split(",")]) > 0
    except ValueError:
        return False


# -- what was typed ----------------------------------------------------------------------------------------------------


def _wrong(option: str, text: str) -> str:
    return f"--{option} takes {FORMS[option]}, such as {EXAMPLES[option]!r}, not {text!r}"


def _reference(text: str) -> "Reference":
    from spaql.plants.references import Reference

    first, *rest = (part.strip() for part in text.split(","))
    found = re.fullmatch(r"(.+?)(?:\s+of\s+(.+?))?\s*=\s*([^:]+):([^:]+)", first)
    told: dict[str, Any] = {}
    try:
        if found is None:
            raise ValueError
        for part in rest:
            word, value = part.split(maxsplit=1)
            if word in told:
                raise ValueError
            told[word] = _REFERENCE[word](value)
        low, high = float(found[3]), float(found[4])
    except (ValueError, KeyError) as error:
        raise SpaqlError(_wrong("reference", text)) from error
    return Reference(found[1].strip(), low, high, found[2], **told)


def _hold(text: str) -> int | tuple[int, int]:
    least, colon, most = text.partition(":")
    return (int(least), int(most)) if colon else int(least)


_REFERENCE: dict[str, Callable[[str], Any]] = {
    "hold": _hold,
    "rate": float,
    "values": lambda text: tuple(float(value) for value in text.split("/")),
    "unit": str,
}


def _limit(option: str, text: str) -> "Limit":
    from spaql.plants.limits import Limit

    return Limit(*_range(option, text, text))


def _range(option: str, text: str, whole: str) -> tuple[str, float, float]:
    name, equals, ends = (part.strip() for part in text.partition("="))
    low, colon, high = ends.partition(":")
    try:
        if not (name and equals and colon):
            raise ValueError
        return name, float(low) if low.strip() else -math.inf, float(high) if high.strip() else math.inf
    except ValueError as error:
        raise SpaqlError(_wrong(option, whole)) from error


def _numbers(option: str, texts: list[str] | None) -> dict[str, float]:
    made: dict[str, float] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        try:
            if not (name and equals):
                raise ValueError
            number = float(value)
        except ValueError as error:
            raise SpaqlError(_wrong(option, text)) from error
        if name in made:
            raise SpaqlError(f"--{option} {text}: {name} is given twice")
        made[name] = number
    return made


def _whole(steps: float) -> Any:
    return int(steps) if steps == round(steps) else steps  # 1.5 steps are refused by spaql.loop


def _per_action(option: str, texts: list[str] | None) -> float | dict[str, float] | None:
    if texts is not None and len(texts) == 1 and "=" not in texts[0]:
        try:
            return float(texts[0])
        except ValueError as error:
            raise SpaqlError(_wrong(option, texts[0])) from error
    return _numbers(option, texts) or None


def _interlock(text: str) -> "Interlock":
    from spaql.plants.limits import Interlock

    found = re.fullmatch(r"\s*(.+?)\s*([<>])=?\s*([^:<>=]+):(.+)", text)
    try:
        if found is None:
            raise ValueError
        at = float(found[3])
    except ValueError as error:
        raise SpaqlError(_wrong("interlock", text)) from error
    action, low, high = _range("interlock", found[4], text)
    threshold = {"above" if found[2] == ">" else "below": at}
    return Interlock(found[1], **threshold, action=action, low=low, high=high)
