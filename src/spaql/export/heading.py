"""What stands on top of an export: what the policy is, where it comes from, and what a program takes and gives."""

from spaql.plants.problem import Axis, Finite
from spaql.policy.digits import counted
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, action_units, number, one_line, variable_names, variable_units
from spaql.version import __version__

MOST_VALUES = 12  # of a finite action set that are listed


def title(policy: Policy) -> str:
    """What it is and where it comes from."""
    leaves = "1 leaf" if policy.n_leaves == 1 else f"{policy.n_leaves:,} leaves"
    if policy.has_laws:
        leaves = f"{counted(policy.n_leaves, 'law')}, {counted(policy.numbers, 'number')}"
    return f"{one_line(policy.kind)} of {one_line(policy.origin)}: {leaves}"


def facts(policy: Policy, interface: bool = True, place: str = "[{}]", first: int = 0) -> list[str]:
    """The comment on top of a program: the same policy gives the same bytes, the only date is that of its certificate.

    `interface`: with its inputs and outputs; `place` and `first` are how the language writes an element, such as
    "({})" and 1.
    """
    problem = policy.problem
    lines = [
        f"Controller: {title(policy)}.",
        f"Written by spaql {__version__}.",
        f"Problem: {one_line(problem.name)}: {one_line(problem.summary)}.",
    ]
    if policy.certificate is not None:
        lines += ["", *(one_line(line) for line in policy.certificate.lines)]
    if interface:
        lines += ["", "Observation, in this order:"]
        names, units = variable_names(problem), variable_units(problem)
        for j, (name, unit, axis) in enumerate(zip(names, units, problem.state, strict=True)):
            lines.append(f"  obs{place.format(first + j)}  {labelled(name, unit)}, {range_text(axis)}")
        lines.append("Action:")
        for j, (name, unit) in enumerate(zip(action_names(problem), action_units(problem), strict=True)):
            lines.append(f"  action{place.format(first + j)}  {labelled(name, unit)}, {choices_text(policy, j)}")
    nan = "NaN fails every test, so that its else branch is taken"
    if policy.has_laws:
        applied = "an action of the set" if isinstance(problem.actions, Finite) else "zero, or what is nearest to it"
        nan = f"NaN fails every test, and a law that it leaves without a number applies {applied}"
    return [*lines, "", f"Observations are not checked: {nan}. The caller should check them."]


def labelled(name: str, unit: str) -> str:
    """ "angle [rad]"."""
    return f"{name} [{unit}]" if unit else name


def range_text(axis: Axis) -> str:
    return "any number" if axis.slope is not None else f"from {number(axis.low)} to {number(axis.high)}"


def choices_text(policy: Policy, axis: int) -> str:
    actions = policy.problem.actions
    if not isinstance(actions, Finite):
        return f"from {number(actions.low[axis])} to {number(actions.high[axis])}"
    values = [number(value) for value in actions.values]
    return "one of " + ", ".join(
        values if len(values) <= MOST_VALUES else [*values[: MOST_VALUES - 2], "...", values[-1]]
    )
