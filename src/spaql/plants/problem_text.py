"""A problem in words: what `print(problem)` shows, and its loop in one line for files and exported code."""

import re
import textwrap
from typing import TYPE_CHECKING

from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.limits import Limit, limit_units, limited_names
from spaql.plants.plant import loop_of

if TYPE_CHECKING:
    from spaql.plants.loop_plant import Surroundings
    from spaql.plants.problem import Problem
    from spaql.plants.signals import Signals

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

def loop_line(signals: "Signals", around: "Surroundings") -> str:
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
