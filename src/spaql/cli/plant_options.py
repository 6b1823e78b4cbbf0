"""The options that state a plant and the loop around it, the same in all commands.

    spaql train motor.py:motor laws --reference "target of speed=0:150, hold 30:80" --memory "integral(speed_error)"
        --observe speed_error,current --noise speed=0.5 --delay actuator=1 --limit current=-8:8 --dt 0.01

Those of the loop are what `spaql.loop` takes in Python (docs/loop.md), one option for each.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from spaql.ground.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.plants.limits import Interlock
    from spaql.plants.problem import Problem
    from spaql.plants.references import Reference

LOOP_PANEL = "Loop around the plant (docs/loop.md)"
FMU_PANEL = "FMU"
PYTHON = "FILE.py:FUNCTION"
SET_HELP = (
    "A parameter of the problem: m=2, m=0.8..1.2 (drawn in every episode), horizon=300, "
    "process_noise.velocity=0.1, observation_noise=0.05. Repeat for several."
)
OBSERVE_HELP = (
    "The variables the controller sees, such as speed_error,current; for a .fmu, its measured variables (see "
    "--measure)."
)
REWARD_HELP = (
    "The reward. In a loop: a function of variables and actions by name; .fmu: of observation, action and next "
    "observation, as numbers."
)
MEASURE_HELP = ".fmu in a loop: its measured variables; --observe then names what the controller sees."
RANGE = "NAME=LOW:HIGH, or an open end"
FORMS = {  # of the options that are parsed here: what they take, and an example
    "reference": (
        "NAME of VARIABLE=LOW:HIGH, then hold STEPS or LEAST:MOST, rate STEP, values A/B/C or unit UNIT",
        "target of speed=0:150, hold 30:80",
    ),
    "limit": (RANGE, "current=-8:8"),
    "monitor": (RANGE, "velocity=-6:6"),
    "trip": (RANGE, "current=-20:20"),
    "noise": ("NAME=NUMBER", "speed=0.5"),
    "delay": ("sensor=STEPS or actuator=STEPS", "actuator=1"),
    **dict.fromkeys(("increments", "rates"), ("a NUMBER, or NAME=NUMBER", "voltage=2")),
    "interlock": ("VARIABLE>=NUMBER: ACTION=LOW:HIGH", "current>=8: voltage=-24:0"),
    **dict.fromkeys(("never", "reach", "start", "parameter"), ("NAME=LOW..HIGH", "angle=-0.2..0.2")),
    "sensor": ("NAME=ERROR", "angle=0.01"),
    "at": ("TIME:NAME=LOW..HIGH", "0.5..1:angle=0..1"),
    "feature": ("NAME=FORMULA", "energy = 0.5*velocity**2 + 15*cos - 15"),
}
Many = list[str] | None


def _loop(about: str, metavar: str | None = None) -> Any:
    return typer.Option(metavar=metavar, help=about, rich_help_panel=LOOP_PANEL)


def _fmu(about: str, metavar: str) -> Any:
    return typer.Option(metavar=metavar, help=f".fmu: {about}", rich_help_panel=FMU_PANEL)


def _many(metavar: str, about: str) -> Any:
    return _loop(f"{about} Repeat for several.", metavar)


class PlantOptions(NamedTuple):
    """As they were typed, in the order of the help."""

    horizon: Annotated[int | None, typer.Option(help="Gymnasium ids and FMUs: steps per episode.")] = None
    changes: Annotated[Many, typer.Option("--set", metavar="NAME=VALUE", help=SET_HELP)] = None
    observe: Annotated[str | None, _loop(OBSERVE_HELP)] = None
    action: Annotated[
        Many,
        _fmu("an input used as action: voltage=-24:24, or valve=0,1 for a set. Repeat for several.", "NAME=LOW:HIGH"),
    ] = None
    reward: Annotated[str | None, _loop(REWARD_HELP, PYTHON)] = None
    terminated: Annotated[str | None, _fmu("whether an episode ends; a function like --reward.", PYTHON)] = None
    dt: Annotated[
        float | None, _loop("Seconds per step: of a .fmu (default: its own), and for integrals in a loop (default: 1).")
    ] = None
    reference: Annotated[Many, _many("TEXT", f"A reference to follow: '{FORMS['reference'][1]}'.")] = None
    memory: Annotated[
        Many, _many("TEXT", "A variable computed from past values: 'integral(speed_error)', 'previous(voltage)'.")
    ] = None
    limit: Annotated[
        Many, _many("NAME=LOW:HIGH", "A limit whose violations are reported: current=-8:8, level=:2.")
    ] = None
    ends: Annotated[str | None, _loop("What an end of an episode by the plant is: failure or success.")] = None
    trip: Annotated[Many, _many("NAME=LOW:HIGH", "A limit on a measured variable that ends the episode.")] = None
    trip_cost: Annotated[float | None, _loop("Cost of a trip; more than a whole episode can cost.")] = None
    noise: Annotated[Many, _many("NAME=NUMBER", "Standard deviation of the sensor noise of a variable.")] = None
    delay: Annotated[Many, _many("NAME=STEPS", "Dead time in steps: sensor=1 or actuator=2.")] = None
    increments: Annotated[
        Many, _many("NAME=NUMBER", "Actions are changes, at most this much per step: 2, or voltage=2.")
    ] = None
    rates: Annotated[Many, _many("NAME=NUMBER", "Rate limit of the actuator per step: 2, or voltage=2.")] = None
    interlock: Annotated[Many, _many("TEXT", f"A rule that restricts actions: '{FORMS['interlock'][1]}'.")] = None
    measure: Annotated[str | None, _loop(MEASURE_HELP)] = None
    feature: Annotated[
        Many, _many("NAME=FORMULA", f"A variable that is a formula of others: '{FORMS['feature'][1]}'.")
    ] = None

    @property
    def looped(self) -> bool:
        """Whether they state a loop: limits, and what an end means, need none."""
        named = ("reference", "memory", "trip", "trip_cost", "noise", "delay", "increments", "rates", "interlock")
        return any(getattr(self, name) is not None for name in (*named, "measure"))


NOTHING = PlantOptions()
Command = TypeVar("Command", bound=Callable[..., None])


def with_plant(function: Command) -> Command:
    """A command with these options in the place of its parameter `plant`, in which it gets them together."""

    @functools.wraps(function)
    def run(**given: Any) -> None:
        plant = PlantOptions(**{name: given.pop(name) for name in PlantOptions._fields})
        function(plant=plant, **given)

    hints, kind = get_type_hints(PlantOptions, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    group = [inspect.Parameter(name, kind, default=None, annotation=hint) for name, hint in hints.items()]
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        parameters += group if parameter.name == "plant" else [parameter.replace(kind=kind)]
    shown: Any = run
    shown.__signature__ = inspect.Signature(parameters)  # what typer makes the options of
    return shown  # type: ignore[no-any-return]


def in_loop(
    problem: "Problem", plant: PlantOptions, observe: str | None, reward: Callable[..., float] | None
) -> "Problem":
    """The problem in the loop that was typed."""
    from spaql.ground.checks import choice
    from spaql.plants.featured import with_features
    from spaql.plants.limits import Limit
    from spaql.plants.loop import loop
    from spaql.plants.make import limited
    from spaql.plants.problem import ENDS

    if plant.ends is not None:
        problem = replace(problem, ends=choice("--ends", plant.ends, ENDS[1:]))
    features = by_name("feature", plant.feature, str)
    limits = [Limit(*parsed("limit", text, bounds_of)) for text in plant.limit or ()]
    if plant.trip and plant.trip_cost is None:
        raise SpaqlError("--trip needs --trip-cost too, more than a whole episode can cost; else ending it would pay")
    if not plant.looped and observe is None and reward is None:
        problem = with_features(problem, features)
        return limited(problem, (*problem.limits, *limits)) if limits else problem
    return loop(
        problem,
        references=[parsed("reference", text, _reference) for text in plant.reference or ()],
        memory=[name for text in plant.memory or () for name in names(text)],
        observe=() if observe is None else names(observe),
        noise=by_name("noise", plant.noise, float),
        delay=by_name("delay", plant.delay, _whole),
        increments=_per_action("increments", plant.increments),
        rates=_per_action("rates", plant.rates),
        interlocks=[parsed("interlock", text, _interlock) for text in plant.interlock or ()],
        limits=limits,
        trips=[Limit(*parsed("trip", text, bounds_of)) for text in plant.trip or ()],
        trip_cost=plant.trip_cost,
        reward=reward,
        dt=plant.dt,
        features=features,
    )


def names(text: str) -> list[str]:
    """Names that are separated by commas; commas within brackets belong to a name."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


# -- what was typed ----------------------------------------------------------------------------------------------------

Parsed = TypeVar("Parsed")


def wrong(option: str, text: str) -> str:
    form, example = FORMS[option]
    return f"--{option} takes {form}, such as {example!r}, not {text!r}"


def parsed(option: str, text: str, parse: Callable[[str], Parsed]) -> Parsed:
    """`parse(text)`, or what the option takes."""
    try:
        return parse(text)
    except SpaqlError:  # of a text that has the form, but says what cannot be
        raise
    except (ValueError, KeyError) as error:
        raise SpaqlError(wrong(option, text)) from error


def _sides(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, value = text.split("=", 1)
    if not name.strip():
        raise ValueError
    return name.strip(), value


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise SpaqlError(f"{text!r} is not a number") from error


def dotted(text: str) -> tuple[float, float]:
    """LOW..HIGH."""
    low, high = text.split("..", 1)
    return number(low), number(high)


def bounds_of(text: str) -> tuple[str, float, float]:
    name, ends = _sides(text)
    low, high = ends.split(":", 1)
    return name, float(low) if low.strip() else -math.inf, float(high) if high.strip() else math.inf


def _matched(pattern: str, text: str) -> tuple[Any, ...]:
    match = re.fullmatch(pattern, text)
    if match is None:
        raise ValueError
    return match.groups()


def _reference(text: str) -> "Reference":
    from spaql.plants.references import Reference

    first, *rest = (part.strip() for part in text.split(","))
    name, followed, low, high = _matched(r"(.+?)(?:\s+of\s+(.+?))?\s*=\s*([^:]+):([^:]+)", first)
    parts = [part.split(maxsplit=1) for part in rest]
    more = {word: _REFERENCE[word](value) for word, value in parts}
    if len(more) < len(parts):
        raise ValueError
    return Reference(name.strip(), float(low), float(high), followed, **more)


def _hold(text: str) -> int | tuple[int, int]:
    least, colon, most = text.partition(":")
    return (int(least), int(most)) if colon else int(least)


_REFERENCE: dict[str, Callable[[str], Any]] = {
    "hold": _hold,
    "rate": float,
    "values": lambda text: tuple(float(value) for value in text.split("/")),
    "unit": str,
}


def _interlock(text: str) -> "Interlock":
    from spaql.plants.limits import Interlock

    variable, side, at, rest = _matched(r"\s*(.+?)\s*([<>])=?\s*([^:<>=]+):(.+)", text)
    action, low, high = bounds_of(rest)
    threshold = {"above" if side == ">" else "below": float(at)}
    return Interlock(variable, **threshold, action=action, low=low, high=high)


def _whole(text: str) -> Any:
    return int(float(text)) if float(text).is_integer() else float(text)  # 1.5 steps are refused by spaql.loop


def by_name(option: str, texts: list[str] | None, parse: Callable[[str], Parsed]) -> dict[str, Parsed]:
    """NAME=VALUE, each name once."""
    values: dict[str, Parsed] = {}
    for text in texts or ():
        name, value = parsed(option, text, lambda entry: (_sides(entry)[0], parse(_sides(entry)[1])))
        if name in values:
            raise SpaqlError(f"--{option} {text}: {name} is given twice")
        values[name] = value
    return values


def _per_action(option: str, texts: list[str] | None) -> float | dict[str, float] | None:
    if texts is not None and len(texts) == 1 and "=" not in texts[0]:
        return parsed(option, texts[0], float)
    return by_name(option, texts, float) or None
