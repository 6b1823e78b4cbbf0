"""PID controllers: one affine law of an error, its integral and its difference.

spaql.pid(problem, kp=0.3, ki=2.0)                       of a problem with one reference
spaql.pid(problem, kp=-3.0, kd=-0.5, of="angle")         of a variable that shall be zero
"""

from typing import Any

from spaql.checks import real
from spaql.errors import SpaqlError
from spaql.plants.loop import extended
from spaql.plants.loop_checks import dt_of
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.policy.law import checked_problem, law
from spaql.policy.policy import Policy
from spaql.policy.words import action_names


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
    made = extended(problem, [name for name in used if name != error], shown, **more)
    axes = action_names(made)
    if len(axes) > 1 and action not in axes:
        raise SpaqlError(f"action=... names the axis that is controlled: {', '.join(axes)}")
    told: Any = {action: used} if len(axes) > 1 else used
    offset: Any = {action: real("bias", bias)} if len(axes) > 1 else real("bias", bias)
    kind = "P" + ("I" if gains["ki"] else "") + ("D" if gains["kd"] else "") + " controller"
    return law(made, told, offset, name=kind)


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
