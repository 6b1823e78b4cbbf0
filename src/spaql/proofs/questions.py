"""What is asked of a proof, checked: the plant with its ranges, the starts, bounds by name, the
number of steps."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import flag, numbers, real, whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.equations import Between
from spaql.plants.loop import signals_around
from spaql.plants.problem import Problem
from spaql.policy.controller import Controller
from spaql.proofs.loop_model import enclosed, start_box
from spaql.proofs.one_plant import Bounds, OnePlant, one_plant
from spaql.trees.tree import Tree

Windows = tuple[tuple[float, float, Bounds], ...]  # from, to (s), and the bounds in between
CLOSE = 1e-9  # of a sample: how near to one a time must be


class Question(NamedTuple):
    """What is to be proven, of which loop."""

    problem: Problem  # with the parameters that are ranges, and in no loop: that is a part of its plant
    rules: Tree | None  # of the law, if one is given; a controller that is a Python function is a part of the plant
    names: list[str]  # of the plant's state variables
    start: Array  # (states, 2)
    limits: Array  # (states, 2) never outside
    never: Bounds | None
    goes_on: bool  # no episode ends
    reach: Bounds | str | None
    steps: float  # infinite: for ever
    asked_steps: bool  # whether the user said how many
    sensors: Array  # (seen,)
    wrong: tuple[float, ...]  # sensors as they are asked about: of what is measured
    parameters: Bounds
    single: bool
    seconds: float
    at: "Windows"  # where the state is to be at these times
    dt: float | None  # s, of a plant with a differential equation
    loop: tuple[str, ...]  # what a certificate says of the loop


def question(
    about: Problem | Controller, never: Any, reach: Any, start: Any, steps: Any, parameters: Any, sensors: Any,
    single: Any, seconds: Any, at: Any = None, law: Tree | None = None,
) -> Question:  # fmt: skip
    """`about`: the problem of a policy, whose rules are `law`, or a controller that is a Python function."""
    ranges = {name: _range(f"parameters: {name}", value) for name, value in _mapping("parameters", parameters).items()}
    given = about.problem if isinstance(about, Controller) else about
    wrong = _sensors([axis.name for axis in signals_around(given).measured], sensors)
    named = [name for bounds in (never, reach) if isinstance(bounds, Mapping) for name in bounds]
    whole_plant = one_plant(about, ranges, wrong, named, law)
    problem, names = whole_plant.problem, whole_plant.names
    flow = getattr(problem.plant, "flow", None)
    bounds = None if never is None else _bounds("never", never, names)
    goal = reach if reach in (None, "end") else _bounds("reach", reach, names)
    if never is None and reach is None and at is None:
        if not problem.ends:
            raise SpaqlError(f"say what to prove: never={{'{names[0]}': (low, high)}}, or reach=... by name, or 'end'")
        goal = "end" if problem.ends == "success" else None
    if at is not None and goal == "end":  # what has ended is nowhere: any bounds would hold there
        raise SpaqlError("`at` and reach='end' are two questions: ask for one after the other")
    limits = bounds_of(bounds or {}, names)
    box = _start(whole_plant, start, ranges)
    if (box[:, 0] < limits[:, 0]).any() or (box[:, 1] > limits[:, 1]).any():
        raise SpaqlError("never: some start states are outside of these bounds")
    count = (
        math.inf if steps == math.inf else float(whole("steps", problem.horizon if steps is None else steps, 1, 10**5))
    )
    if not np.isfinite(box).all():
        raise SpaqlError("start: its bounds must be finite numbers")
    goes_on = goal is None and (flow is None or flow.over is not None)
    # neither memory nor features in single precision are covered
    exported = flag("single", single) and whole_plant.loop is None and problem.features is None
    return Question(
        problem=problem, rules=whole_plant.rules, names=names, start=box, limits=limits, never=bounds, goes_on=goes_on,
        reach=goal, steps=count, asked_steps=steps is not None, sensors=whole_plant.sensors,
        wrong=tuple(whole_plant.wrong.tolist()), parameters=ranges, single=exported,
        seconds=real("seconds", seconds, 0.0, 1e6), at=_windows(problem, at, names, count, box),
        dt=None if flow is None else flow.dt, loop=() if whole_plant.loop is None else whole_plant.loop.words,
    )  # fmt: skip


def _windows(problem: Problem, given: Any, names: list[str], steps: float, start: Array) -> Windows:
    """Bounds at times, or from one time to another, each the end of a sample."""
    if given is None:
        return ()
    flow = getattr(problem.plant, "flow", None)
    if flow is None:
        raise SpaqlError("`at` gives bounds by time, which only plants of spaql.from_ode have")
    if not isinstance(given, Mapping) or not given:
        such = "{1.0: {'angle': (0, 1)}} or {(0.5, 1.0): {'angle': (0, 1)}}"
        raise SpaqlError(f"at gives bounds by time in seconds, such as {such}, not {echoed(given)}")
    windows = []
    for when, bounds in given.items():
        low, high = _range("at", when if isinstance(when, tuple | list) else (when, when))
        ranges = _bounds(f"at {low:g} s" if low == high else f"at {low:g} to {high:g} s", bounds, names)
        for time in (low, high):
            late = not 0.0 <= time < math.inf
            if late or abs(time / flow.dt - round(time / flow.dt)) > CLOSE:
                raise SpaqlError(f"at: {time:g} s is not the end of a sample: give a multiple of {flow.dt:g} s")
        if round(high / flow.dt) > steps:
            raise SpaqlError(f"at: {high:g} s is after {steps:g} samples: give more `steps`")
        outside = [name for name, ends in ranges.items() if not _within(start[names.index(name)], ends)]
        if round(low / flow.dt) == 0 and outside:  # the starts themselves, which no step leads to
            raise SpaqlError(f"at: some start states are outside of the bounds of {outside[0]}")
        windows.append((low, high, ranges))
    return tuple(windows)


def _within(inner: Array, ends: tuple[float, float]) -> bool:
    return bool(ends[0] <= inner[0] and inner[1] <= ends[1])


def windows_in_steps(windows: Windows, dt: float | None, names: list[str]) -> tuple[Array, Array]:
    """(first and last step, bounds of all variables) of each."""
    times, within = np.zeros((len(windows), 2), np.int64), np.tile([-np.inf, np.inf], (len(windows), len(names), 1))
    for row, (low, high, bounds) in enumerate(windows):
        times[row] = round(low / (dt or 1.0)), round(high / (dt or 1.0))
        for name, ends in bounds.items():
            within[row, names.index(name)] = ends
    return times, within


def bounds_of(bounds: Bounds, names: list[str]) -> Array:
    """Of all variables, infinite where a variable is not named."""
    rows = np.tile([-np.inf, np.inf], (len(names), 1))
    for name, ends in bounds.items():
        rows[names.index(name)] = ends
    return rows


def _mapping(what: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise SpaqlError(f"{what} gives numbers by name, not {echoed(given)}")
    return given


def _range(what: str, given: Any) -> tuple[float, float]:
    if isinstance(given, Between):
        return given.low, given.high
    low, high = numbers(what, given, (2,)).tolist()
    if not low <= high:
        raise SpaqlError(f"{what}: low must not be above high, got {low:g} and {high:g}")
    return low, high


def _bounds(what: str, given: Any, names: list[str]) -> Bounds:
    ranges = {name: _range(f"{what}: {name}", value) for name, value in _mapping(what, given).items()}
    for name in ranges:
        if name not in names:
            raise SpaqlError(f"{what}: the plant has no variable {echoed(name)}: choose among {', '.join(names)}")
    if not ranges:
        raise SpaqlError(f"{what} names no variable: choose among {', '.join(names)}")
    return ranges


def _start(about: OnePlant, given: Any, ranges: Bounds) -> Array:
    """All states in which an episode may begin. In a loop, memory and what was measured follow from the others."""
    names, loop = about.names, about.loop
    chosen = len(names) if loop is None else loop.chosen
    wanted: list[Any] = [None] * len(names)
    if isinstance(given, Mapping):
        for name, ends in _bounds("start", given, names).items():
            wanted[names.index(name)] = ends
    elif given is not None:
        wanted = numbers("start, a range for each state variable,", given, (len(names), 2)).tolist()
        if not all(low <= high for low, high in wanted):
            raise SpaqlError("start: low must not be above high")
    for name, ends in ranges.items():  # held for an episode: all their values are starts
        wanted[names.index(name)] = ends
    if None in wanted[:chosen]:
        begins = start_box(about.alone)
        begins = begins if loop is None else np.concatenate([begins, loop.begins])
        wanted[:chosen] = [ends or tuple(row) for ends, row in zip(wanted, begins.tolist(), strict=False)]
    box = np.array(wanted[:chosen], float)
    if loop is None:
        return box
    if not np.isfinite(box).all():
        raise SpaqlError("start: its bounds must be finite numbers")
    box = enclosed(loop.first, np.concatenate([box, np.tile([0.0, 1.0], (loop.sensors, 1))]))
    for j in range(chosen, len(names)):
        low, high = wanted[j] or box[j]
        least, most = loop.always.get(names[j], (-math.inf, math.inf))
        if low < least or most < high:
            raise SpaqlError(f"start: {names[j]} is always within {least:g} to {most:g}")
        if not (low <= box[j, 0] and box[j, 1] <= high):
            begun = f"{box[j, 0]:g}" if box[j, 0] == box[j, 1] else f"{box[j, 0]:g} to {box[j, 1]:g}"
            raise SpaqlError(f"start: {names[j]} begins with {begun}, which is not within {low:g} to {high:g}")
        box[j] = low, high
    return box


def _sensors(seen: list[str], given: Any) -> Array:
    errors = np.zeros(len(seen))
    if not isinstance(given, Mapping):
        errors[:] = real("sensors, how far each may be off,", given, 0.0, 1e6)
        return errors
    for name, value in _mapping("sensors", given).items():
        if name not in seen:
            raise SpaqlError(f"sensors: {echoed(name)} is not observed: choose among {', '.join(seen)}")
        errors[seen.index(name)] = real(f"sensors: {name}", value, 0.0, 1e6)
    return errors
