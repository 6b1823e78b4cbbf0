"""One affine law by hand, with gains by the names of the variables: P, PI and LQR controllers are of this kind.

spaql.law(problem, {"angle": -3.0, "velocity": -0.5}, offset=0.2)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import numbers, real
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.loop import extended
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.plants.statements import dt_of
from spaql.policy.outputs import kinds_of, leaf
from spaql.policy.policy import Policy
from spaql.policy.words import action_names, variable_names
from spaql.trees.laws import ORDERED, SCORES


def law(problem: Problem, gains: Any, offset: Any = 0.0, name: str = "law") -> Policy:
    """The policy of one affine law, `action = gains . observation + offset`, held within the range of the action.

    - `gains`: a number per variable by name, or a vector in the order of `problem.state`; names that are missing have
      none. Where there are several action axes: one of these for each, by the name of the axis or in their order.
    - `offset`: a number for all action axes, or one for each, by name or in their order.
    - `name`: what kind of controller it is, for people: "PI".

    Of two actions the last is applied where the sum is not negative, else the first; of more, the rounded sum is the
    number of the action, counted from 0. One law per action, in their order, makes the highest sum choose.
    """
    actions, axes = checked_problem(problem).actions, action_names(problem)
    rows, outputs = _rows(gains, axes), axes
    kind = kinds_of(actions)[0]
    if kind == ORDERED and len(rows) == len(actions.values):
        kind, outputs = SCORES, [f"{value:g}" for value in actions.values]
    if len(rows) != len(outputs):
        wanted = f"{len(outputs)} laws, one for each of {', '.join(outputs)}" if len(outputs) > 1 else "one law"
        raise SpaqlError(f"gains must be {wanted}: a number per variable, by name or in the order of the variables")
    if not isinstance(name, str):
        raise SpaqlError(f"name must be a text, not {echoed(name)}")
    offsets = vector("offset", [offset] * len(outputs) if isinstance(offset, int | float) else offset, outputs)
    variables = variable_names(problem)
    laws = zip(outputs, rows, strict=True)
    return one_law(
        problem, np.array([vector(f"gains of {output}", row, variables) for output, row in laws]), offsets, kind, name
    )


def _rows(gains: Any, axes: Sequence[str]) -> list[Any]:
    """The laws one by one, from a mapping by axis, a list of laws, or one law."""
    if isinstance(gains, Mapping):
        return [gains.get(axis, {}) for axis in _known("gains", gains, axes)] if len(axes) > 1 else [gains]
    several = isinstance(gains, Sequence | np.ndarray) and len(gains) > 0 and not isinstance(gains, str)
    if several and all(isinstance(row, Mapping | Sequence | np.ndarray) for row in gains):
        return list(gains)
    return [gains]


def one_law(problem: Problem, gains: Array, offsets: Array, kind: int, name: str) -> Policy:
    """The policy of one law: gains (outputs, variables) and offsets (outputs,) of a kind of trees/laws.py."""
    return Policy(problem, leaf(problem.actions, gains, offsets, kind), name, problem.name)


def checked_problem(problem: Any) -> Problem:
    if not isinstance(problem, Problem):
        kind = type(problem).__name__
        raise SpaqlError(f"the problem must come from spaql.make, from_gym, from_plant or from_data, not {kind}")
    return problem


def vector(what: str, given: Any, names: Sequence[str], missing: Any = 0.0) -> Array:
    """Finite numbers in the order of `names`, from a mapping by name or from a vector.

    `missing`: what stands for names that a mapping leaves out, one number or one per name; NaN where they must be told.
    """
    if isinstance(given, Mapping):
        values = np.array(np.broadcast_to(np.asarray(missing, float), (len(names),)))
        for j, name in enumerate(_known(what, given, names)):
            if name in given:
                values[j] = real(f"{what}: {name}", given[name])
        lacking = [name for name, value in zip(names, values, strict=True) if np.isnan(value)]
        if lacking:
            raise SpaqlError(f"{what} lacks {', '.join(lacking)}")
        return values
    values = numbers(what, given, (len(names),))
    if not np.isfinite(values).all():
        raise SpaqlError(f"{what} must be finite numbers, not {values.tolist()}")
    return values


def _known(what: str, given: Mapping[Any, Any], names: Sequence[str]) -> Sequence[str]:
    for name in given:
        if name not in names:
            raise SpaqlError(f"{what}: there is no {echoed(name)}, only {', '.join(names)}")
    return names


# -- PID controllers: one affine law of an error, its integral and its difference --------------------------------------
#
# spaql.pid(problem, kp=0.3, ki=2.0)                       of a problem with one reference
# spaql.pid(problem, kp=-3.0, kd=-0.5, of="angle")         of a variable that shall be zero

def pid(
    problem: Problem,
    kp: float,
    ki: float = 0.0,
    kd: float = 0.0,
    *,
    of: str | None = None,
    set_point: float | None = None,
    action: str | None = None,
    bias: float = 0.0,
    limit: float | None = None,
    dt: float | None = None,
) -> Policy:
    """action = kp * error + ki * integral of the error + kd * its derivative + bias, within the range of the action.

    - `of`: the measured variable that is controlled; if one variable alone follows a reference, that one
    - `set_point`: where it shall be, of a variable without a reference; zero, if none is given
    - `action`: the axis that is controlled, if there are several; the others are zero
    - `limit`: the integral stays within -limit ... limit, against windup
    - `dt`: seconds per step, for a problem that is in no loop (`spaql.loop`) yet; by default that of its plant, or 1

    The policy belongs to the same plant in the same loop, with the memory that it needs. Where actions are increments,
    it is the velocity form: the change of the action is kp * change of the error + ki * dt * error.
    """
    signals = checked_problem(problem).signals
    gains = {"kp": real("kp", kp), "ki": real("ki", ki), "kd": real("kd", kd)}
    errors = [] if signals is None else [name.removesuffix("_error") for name in signals.errors]
    followed = errors[0] if of is None and len(errors) == 1 else _variable(problem, of)
    more: dict[str, Any] = {}
    if followed not in errors:
        point = 0.0 if set_point is None else real("set_point", set_point)
        more["references"] = (_fixed(problem, followed, point),)
    elif set_point is not None:
        raise SpaqlError(f"{followed} follows a reference: leave set_point out")
    if signals is None:
        more["dt"] = dt_of(problem, dt)
    elif dt is not None:
        raise SpaqlError(f"{problem.name} states dt in its loop, {signals.dt:g} s: leave dt out")
    seconds = more["dt"] if signals is None else signals.dt
    error = f"{followed}_error"
    bounded = f", {real('limit', limit, 0.0, above=True):g}" if limit is not None else ""
    sums = {
        error: gains["kp"], f"integral({error}{bounded})": gains["ki"], f"difference({error})": gains["kd"] / seconds,
    }  # fmt: skip
    if signals is not None and signals.increments:
        if gains["kd"] != 0.0:
            raise SpaqlError("kd with increments would need a second difference: use kp and ki only")
        sums = {error: gains["ki"] * seconds, f"difference({error})": gains["kp"]}
    used = {name: gain for name, gain in sums.items() if gain != 0.0} or {error: 0.0}
    names = [axis.name for axis in problem.state]
    limited = [limit.variable for limit in problem.limits if limit.variable in names]
    shown = list(dict.fromkeys([*used, *limited]))  # what has a limit is seen, to be counted
    in_loop = extended(problem, [name for name in used if name != error], shown, **more)
    axes = action_names(in_loop)
    if len(axes) > 1 and action not in axes:
        raise SpaqlError(f"action=... names the axis that is controlled: {', '.join(axes)}")
    gains_by_name: Any = {action: used} if len(axes) > 1 else used
    offset: Any = {action: real("bias", bias)} if len(axes) > 1 else real("bias", bias)
    kind = "P" + ("I" if gains["ki"] else "") + ("D" if gains["kd"] else "") + " controller"
    return law(in_loop, gains_by_name, offset, name=kind)


def _variable(problem: Problem, of: str | None) -> str:
    names = [axis.name for axis in (problem.state if problem.signals is None else problem.signals.measured)]
    if not isinstance(of, str) or of not in names:
        raise SpaqlError(f"of=... names the variable that is controlled: {', '.join(names)}")
    return of


def _fixed(problem: Problem, variable: str, set_point: float) -> Reference:
    """A reference that never moves, in the range of its variable."""
    axes = problem.state if problem.signals is None else problem.signals.measured
    axis = next(axis for axis in axes if axis.name == variable)
    wide = max(1.0, 2.0 * abs(set_point))
    low, high = (axis.low, axis.high) if axis.slope is None else (-wide, wide)
    return Reference(f"{variable} set point", low, high, of=variable, values=(set_point,))
