"""A problem as it is written: in words, what `print(problem)` shows, and its loop and limits in files.

Files are read with distrust. A controller from a file keeps its memory.
"""

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.limits import Interlock, Limit, limit_units, limited_names
from spaql.plants.plant import loop_of
from spaql.plants.references import Reference
from spaql.plants.signals import Signals, signals_of

if TYPE_CHECKING:
    from spaql.plants.loop_plant import Surroundings
    from spaql.plants.problem import Problem

WIDTH = 80
NAME = 12  # letters of the column with what a line is about
LONGEST = 44  # letters of a variable's name that are aligned; a range has room beside them
HARD = "\N{NO-BREAK SPACE}"  # between what belongs together while lines are broken
MEANING = {  # of an end by the plant
    "failure": "an episode that the plant ends has failed",
    "success": "an episode that the plant ends has reached its goal",
}
MOST_ACTIONS = 12  # of a finite set that are listed
MOST_REMEMBERED = 8  # variables of the memory that are told in one line
UNPAID = "; it pays nothing yet: state a reward in spaql.loop"  # at the end of the summary of an FMU without a reward
IN_LOOP = "; in a loop: "  # in a summary, between what the plant is and what is around it
MOST_ENTRIES = 1000  # of a list in a file
LONGEST_NAME = 1000  # letters, in a file


def problem_text(problem: "Problem") -> str:
    """Name, summary, observed variables, actions, horizon, loop, reference and limits, in lines of 80 letters."""
    state, actions = problem.state, problem.actions
    names = limited_names(state, actions)
    units = [*(axis.unit for axis in state), *actions.axis_units]
    ranges = [*map(_range, state), *_ranges(actions)]
    width = min(max(map(len, names)), LONGEST)
    said = [f"{name:<{width}}  {_with(text, unit)}" for name, text, unit in zip(names, ranges, units, strict=True)]
    d = len(state)
    parts = loop_parts(problem)
    summary = problem.summary.partition(IN_LOOP)[0] if parts else problem.summary  # the rest is in the parts
    lines = [*_wrapped(f"{problem.name}: {summary}", "", "  ")]
    features = [] if problem.features is None else list(problem.features.texts.items())
    m = d - len(features)
    lines += _part("observed", said[:m])
    lines += _part("features", [f"{name} = {text}" for name, text in features])
    lines += _part("actions", said[d:])
    lines += _part("horizon", [f"{problem.horizon:,} steps"])
    for name, texts in parts.items():
        whole = [re.sub(r"\([^)]*\)", lambda inside: inside[0].replace(" ", HARD), text) for text in texts]
        lines += _part(name, whole)
    if problem.reference is not None:
        held = zip(names, problem.reference, units, strict=False)
        texts = [f"{name} = {_with(f'{value:.4g}', unit)}".replace(" ", HARD) for name, value, unit in held]
        lines += _part("hold" if parts else "reference", [", ".join(texts)])
    lines += _part("ends", [MEANING[problem.ends]] if problem.ends else [])
    of_limits = zip(problem.limits, limit_units(problem.limits, state, actions), strict=True)
    return "\n".join(lines + _part("limits", [limit.text(unit) for limit, unit in of_limits]))


def _part(name: str, texts: list[str]) -> list[str]:
    """Lines with the name before the first of them; none if there is nothing to say."""
    lines: list[str] = []
    for text in texts:
        lines += _wrapped(text, f"  {name if not lines else '':<{NAME}}", " " * (NAME + 4))
    return lines


def _wrapped(text: str, first: str, later: str) -> list[str]:
    lines = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [line.replace(HARD, " ") for line in lines]


def _range(axis: Axis) -> str:
    return "any number" + "," * bool(axis.unit) if axis.slope is not None else f"{axis.low:.4g} … {axis.high:.4g}"


def _ranges(actions: Continuous | Finite) -> list[str]:
    if isinstance(actions, Continuous):
        return [f"{low:.4g} … {high:.4g}" for low, high in zip(actions.low, actions.high, strict=True)]
    values = [f"{value:.4g}" for value in actions.values]
    shown = values if len(values) <= MOST_ACTIONS else [*values[: MOST_ACTIONS - 2], "...", values[-1]]
    return [f"one of {', '.join(shown)}" if len(values) > 1 else f"always {shown[0]}"]


def _with(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text


# -- the loop ----------------------------------------------------------------------------------------------------------

def loop_line(signals: Signals, around: "Surroundings") -> str:
    """In one line."""
    parts = [str(reference) for reference in signals.references]
    kept = [item.name for item in signals.items]
    parts += [f"memory {', '.join(kept[:MOST_REMEMBERED])}{', ...' * (len(kept) > MOST_REMEMBERED)}"] if kept else []
    parts += [f"noise on {', '.join(signals.measured[j].name for j, _ in around.noise)}"] if around.noise else []
    for what, steps in (("sensor", around.sensor_delay), ("actuator", around.actuator_delay)):
        parts += [f"{what} delay {steps}"] if steps else []
    parts += ["increments"] if signals.increments else []
    parts += ["rate limit"] if signals.rates else []
    parts += [str(lock) for lock in signals.interlocks]
    return "; ".join(parts) or "as it is"


def loop_parts(problem: "Problem") -> dict[str, list[str]]:
    """By name of the part: its lines. What stands on the plant's side is not known of a problem from a file."""
    signals, stated = problem.signals, loop_of(problem)
    if signals is None:
        return {}
    seen = {axis.name for axis in signals.state}
    named = signals.errors.items()
    errors = [f"{name} = {signals.references[k].name} - {signals.measured[j].name}" for name, (k, j) in named]
    names, units = signals.action_names, signals.actuator.axis_units
    changes = {
        kind: [
            f"{name}: at most {_with(f'{most:g}', unit)} per step"
            for name, most, unit in zip(names, given, units, strict=False)
        ]
        for kind, given in (("increments", signals.increments), ("rates", signals.rates))
    }
    parts = {
        "references": [str(reference) for reference in signals.references],
        "errors": errors,
        "memory": _joined([item.name for item in signals.items]),
        "not seen": _joined([name for name in signals.axes if name not in seen]),
        "noise": [],
        "delay": [],
        **changes,
        "interlocks": [str(lock) for lock in signals.interlocks],
        "trips": [],
        "step": [f"{signals.dt:g} s"] if any(item.kind == "integral" for item in signals.items) else [],
    }
    if stated is not None:  # what stands on the plant's side is not known of a problem from a file
        measured, around = signals.measured, stated[2]
        parts["noise"] = _joined(
            [f"{measured[j].name} {_with(f'{spread:g}', measured[j].unit)}" for j, spread in around.noise]
        )
        late = {"sensor": around.sensor_delay, "actuator": around.actuator_delay}
        parts["delay"] = _joined([f"{what} {n} step{'s' * (n > 1)}" for what, n in late.items() if n])
        ends = [Limit(measured[j].name, low, high).text(measured[j].unit) for j, low, high in around.trips]
        parts["trips"] = [f"{end}, or the episode ends at a cost of {around.trip_cost:g}" for end in ends]
    return parts


def _joined(texts: list[str]) -> list[str]:
    return [", ".join(texts)] if texts else []


# -- in files: plain data, in which what is infinite is null -----------------------------------------------------------

def signals_for_file(signals: Signals) -> dict[str, Any]:
    """Plain data; what is infinite is null."""
    data = signals.parts()
    data |= {name: [_plain(asdict(part)) for part in data[name]] for name in ("measured", "references", "interlocks")}
    kind = "finite" if signals.actuator.values else "continuous"
    return data | {"actuator": {"kind": kind} | _plain(asdict(signals.actuator))}


def _plain(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in entries.items()}


def actions_of_file(entries: Any) -> Continuous | Finite:
    """An action space by its kind."""
    actions = _tuples(entries)
    kind = actions.pop("kind", None)
    if kind not in ("finite", "continuous"):
        raise ValueError("actions must be of kind 'finite' or 'continuous'")
    return (Finite if kind == "finite" else Continuous)(**actions)


def signals_of_file(entries: Any, summary: str) -> Signals | None:
    """What `signals_for_file` has written; None if nothing was. `summary`: of the problem, which names its loop."""
    if entries is None:
        if IN_LOOP in summary:  # without them, interlocks and memory would be lost in silence
            raise ValueError("its controller is for a loop, and the signals of the loop are missing")
        return None
    names = {part.name for part in fields(Signals)}
    if not isinstance(entries, dict) or set(entries) != names:
        raise ValueError(f"signals must be an object with {', '.join(sorted(names))}")
    parts: dict[str, Any] = {
        "measured": _list(entries["measured"], lambda entry: Axis(**_open(entry))),
        "references": _list(entries["references"], lambda entry: Reference(**_tuples(entry))),
        "interlocks": _list(entries["interlocks"], lambda entry: Interlock(**_open(entry))),
        "actuator": actions_of_file(entries["actuator"]),
        "memory": _list(entries["memory"], _text), "shown": _list(entries["shown"], _text),
        "increments": _list(entries["increments"], _positive), "rates": _list(entries["rates"], _positive),
        "dt": _positive(entries["dt"]), "horizon": int(_positive(entries["horizon"])),
    }  # fmt: skip
    for per_action in (parts["increments"], parts["rates"]):
        if len(per_action) not in (0, parts["actuator"].axes):
            raise ValueError("increments and rates are a number per action axis, or none")
    return signals_of(**parts)


def limits_for_file(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """Plain data; an open end is null."""
    return [_plain(asdict(limit)) for limit in limits]


def limits_of_file(entries: Any) -> tuple[Limit, ...]:
    """What `limits_for_file` has written."""
    if not isinstance(entries, list) or len(entries) > MOST_ENTRIES:
        raise SpaqlError(f"limits must be a list of at most {MOST_ENTRIES}")
    for limit in entries:
        if not isinstance(limit, dict) or limit.keys() != {"variable", "low", "high"}:
            raise SpaqlError("a limit must be an object with variable, low and high")
    return tuple(Limit(limit["variable"], **_open({end: limit[end] for end in ("low", "high")})) for limit in entries)


def check_loop(signals: Signals | None, given: Signals | None) -> None:
    """A controller goes on with another problem only if that has a loop, too, where the loop restricts actions."""
    if signals is not None and given is None and (signals.interlocks or signals.rates):
        raise ValueError("its controller has interlocks or rate limits: give the problem in its loop, spaql.loop(...)")


def _list(entries: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    if not isinstance(entries, list | tuple) or len(entries) > MOST_ENTRIES:
        raise ValueError(f"signals have lists of at most {MOST_ENTRIES}")
    return tuple(read(value) for value in entries)


def _open(entries: Any) -> dict[str, Any]:
    """Without what is null: its default is infinite."""
    kept = {key: value for key, value in dict(entries).items() if value is not None}
    for key in ("name", "unit", "when", "action"):
        if key in kept:
            _text(kept[key])
    return kept


def _tuples(entries: Any) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in _open(entries).items()}


def _text(name: Any) -> str:
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise ValueError(f"a name must be text of at most {LONGEST_NAME} letters")
    name.encode()  # half of a pair of surrogates is no text
    return name


def _positive(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
        raise ValueError(f"signals have numbers above 0, not {number!r}")
    return float(number)
