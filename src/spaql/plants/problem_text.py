"""A problem in words: what `print(problem)` shows."""

import re
import textwrap
from typing import TYPE_CHECKING

from spaql.plants.axes import Axis, Continuous, Finite
from spaql.plants.limits import limit_units, limited_names
from spaql.plants.loop_text import IN_LOOP, loop_parts

if TYPE_CHECKING:
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
    lines += _part("observed", said[:d]) + _part("actions", said[d:])
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
