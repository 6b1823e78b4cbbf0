"""Why a function applies this action: nobody can look into it, but how it follows each variable can be measured."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Finite
from spaql.policy.digits import number, with_unit
from spaql.policy.words import action_names, action_units, variable_names, variable_units

if TYPE_CHECKING:
    from spaql.policy.controller import Controller

NUDGE = 1e-4  # of the size of a variable: the difference by which slopes are measured


@dataclass(frozen=True, eq=False)
class ControllerWhy:
    """The answer of `controller.why(observation)`; print it."""

    observation: Array
    action: Array
    bound: tuple[float | None, ...]  # of each axis of the action: where it is held; None: it is not at a bound
    slopes: Array  # (axes, variables) change of the action per unit of the variable; NaN where the function fails
    words: str

    def __str__(self) -> str:
        return self.words


def explain_controller(controller: "Controller", x: Array, action: Array) -> ControllerWhy:
    problem, d = controller.problem, len(x)
    continuous = not isinstance(problem.actions, Finite)
    low, high = problem.actions.bounds
    held = [
        float(low[j])
        if continuous and action[j] <= low[j]
        else float(high[j])
        if continuous and action[j] >= high[j]
        else None
        for j in range(len(action))
    ]
    slopes = np.full((len(action), d), np.nan)
    for j in range(d if continuous else 0):
        shift = np.zeros(d)
        shift[j] = NUDGE * max(1.0, abs(x[j]))
        try:
            slopes[:, j] = (controller.decide([x + shift])[0] - controller.decide([x - shift])[0]) / (2.0 * shift[j])
        except SpaqlError:
            continue  # beside the observation the function may have no value
    names, units = variable_names(problem), variable_units(problem)
    seen = ", ".join(
        f"{name} = {with_unit(number(float(v)), unit)}" for name, v, unit in zip(names, x, units, strict=True)
    )
    lines = [f"At {seen}", f"{controller.name} applies"]
    for k, (name, unit) in enumerate(zip(action_names(problem), action_units(problem), strict=True)):
        bound = "" if held[k] is None else ", where it is held by its bound"
        lines.append(f"  {name} = {with_unit(number(float(action[k])), unit)}{bound}")
        told = [
            f"{number(slope)} per unit of {names[j]}"
            for j, slope in enumerate(slopes[k])
            if slope and np.isfinite(slope)
        ]
        if told:
            lines.append(f"  local gains: {', '.join(told)}")
    return ControllerWhy(x, action, tuple(held), slopes, "\n".join(lines))
