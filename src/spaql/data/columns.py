"""How a log names things: one row per step, physical units."""

from spaql.errors import SpaqlError, echoed
from spaql.plants.problem import Problem

NEXT = "next_"
FLAGS = ("terminated", "truncated")
RESERVED = ("action", "reward", "episode", "step", "time", *FLAGS)


def state_columns(problem: Problem) -> list[str]:
    """The observed variables, as the problem calls them."""
    names = [axis.name for axis in problem.state]
    for name in names:
        if name in RESERVED or names.count(name) > 1 or (name.startswith(NEXT) and name.removeprefix(NEXT) in names):
            raise SpaqlError(
                f"{problem.name} cannot have logs: "
                f"its variable {echoed(name)} has the name of another column; rename its axis"
            )
    return names


def next_columns(problem: Problem) -> list[str]:
    return [NEXT + name for name in state_columns(problem)]


def action_columns(problem: Problem) -> list[str]:
    """`action`, or `action0`, `action1`, ... if there are several axes."""
    axes = problem.actions.axes
    return ["action"] if axes == 1 else [f"action{j}" for j in range(axes)]


def named_actions(problem: Problem) -> list[str] | None:
    """The names of the problem's actions, for use in a log; None without names, or if other columns have one."""
    names, taken = list(problem.actions.names), {*state_columns(problem), *next_columns(problem), *RESERVED}
    return names if names and not taken & set(names) and len(set(names)) == len(names) else None
