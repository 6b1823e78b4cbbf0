"""What is not observed: where it matters, what was seen and applied some steps before tells what
comes next.

A wall that stores heat, a valve that answers late, a load that nobody measures. Noise of a sensor
is another matter: the steps before help a little there, by averaging.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.gp.gaussian_process import fit_scales, leave_one_out_error
from spaql.gp.model import FITTED, POINTS, Model, changes_of, outputs_of
from spaql.gp.transitions import Data, follows_of, inputs_of, jumped, thinned, without_jumps
from spaql.ground.arrays import Array
from spaql.plants.loop import signals_around
from spaql.plants.memory import parsed
from spaql.plants.problem import Problem

SEEN = 2  # steps back, of variables
APPLIED = 4  # the same of actions
MIN_ROWS = 60  # steps that are compared, at least; at most as many as a process has points
LITTLE = 0.05  # of the changes of a variable: what is missed less is no matter
MUCH = 0.6  # of what is missed: so much may be left with what is remembered
WORSE = 1.1  # times what is left may be left with fewer remembered values


def unpredicted(model: Model, data: Data) -> dict[int, float]:
    """By variable the part of its changes that the model misses in unseen steps; -1: the reward."""
    outputs, d = outputs_of(model, thinned(without_jumps(data), FITTED)), len(model.scales)
    asked = {j: outputs[j] for j in range(d) if model.shifts[j] < 0}
    asked |= {} if model.reward_model is None else {-1: outputs[d]}
    return {
        j: leave_one_out_error(values.x, values.y, scales, base)
        for j, (values, scales, base) in asked.items()
    }


class Recalled(NamedTuple):
    """A value of so many steps before."""

    steps: int
    place: int
    applied: bool  # of an action; else of a variable


class Hidden(NamedTuple):
    """That a variable depends on what is not observed."""

    variable: int
    missed: float  # part of its changes that is missed by whoever sees only the state of today
    remaining: float  # and by whoever remembers
    recalled: tuple[Recalled, ...]


class Advice(NamedTuple):
    """What to remember, since something is not observed."""

    memory: tuple[str, ...]  # as for `spaql.loop`; (): nothing
    missed: dict[str, tuple[float, float]]  # by variable the part of its changes that is missed, without and with

    def __str__(self) -> str:
        less = [
            f"{100 * b:.0f} % of the changes of {name} instead of {100 * min(a, 1.0):.0f} %"
            for name, (a, b) in self.missed.items()
        ]
        return f"something is not observed: a model that remembers the steps before would miss {', '.join(less)}"


NONE = Advice((), {})


def advice_of(problem: Problem, model: Model, data: Data) -> Advice:
    """From the data: nothing is remembered that does not help much."""
    signals, names = signals_around(problem), [axis.name for axis in problem.state]
    # not what is remembered already
    measured = {*(axis.name for axis in signals.measured), *signals.errors}
    depending = hidden_in(model, data, [j for j, name in enumerate(names) if name in measured])
    steps: dict[tuple[bool, int], int] = {}
    for hidden in depending:
        for recalled in hidden.recalled:
            which = recalled.applied, recalled.place
            steps[which] = max(steps.get(which, 0), recalled.steps)
    memory = []
    for (applied, j), most in sorted(steps.items()):
        # without those in between nobody could tell what the oldest will be in the next step
        kind, of = ("previous", signals.action_names[j]) if applied else ("past", names[j])
        terms = [f"{kind}({of}, {k})" for k in range(1, most + 1)]
        memory += [
            term for term in terms if parsed(term, names, signals.action_names)[0].name not in names
        ]
    missed = {names[hidden.variable]: (hidden.missed, hidden.remaining) for hidden in depending}
    return Advice(tuple(memory), missed)


def hidden_in(model: Model, data: Data, among: Sequence[int]) -> list[Hidden]:
    """Which of these variables can be predicted much better by what was seen and applied before."""
    rows = _rows(data)
    if len(rows) < MIN_ROWS:
        return []
    x = inputs_of(model.units, data.states, data.actions)
    changes, d, depending = changes_of(model, data), data.states.shape[1], []
    every = [Recalled(k, j, False) for k in range(1, SEEN + 1) for j in among]
    every += [Recalled(k, j, True) for k in range(1, APPLIED + 1) for j in range(x.shape[1] - d)]
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save
        for j in among:
            y = changes[rows, j]
            if np.ptp(y) == 0.0:
                continue
            missed = _missed(x, rows, y, [], d)
            if missed < LITTLE:
                continue
            least = _missed(x, rows, y, every, d)
            if least < MUCH * missed:
                kept = _needed(x, rows, y, every, d, max(WORSE * least, LITTLE * missed))
                depending.append(Hidden(j, missed, _missed(x, rows, y, kept, d), tuple(kept)))
    return depending


def _rows(data: Data) -> Array:
    """Steps that the plant alone has made, with enough others before them in the same episode."""
    follows, back = follows_of(data) & ~np.r_[False, jumped(data)[:-1]], max(SEEN, APPLIED)
    enough = ~jumped(data)
    enough[:back] = False
    for k in range(back):
        enough[back:] &= follows[back - k : len(follows) - k]
    rows = np.flatnonzero(enough)
    chosen: Array = rows[np.linspace(0, len(rows) - 1, min(len(rows), POINTS)).astype(int)]
    return chosen


def _missed(x: Array, rows: Array, y: Array, recalled: list[Recalled], d: int) -> float:
    """The part of the changes that is missed with these values."""
    more = [x[rows - value.steps, value.place + d * value.applied] for value in recalled]
    inputs = np.column_stack([x[rows], *more])
    return leave_one_out_error(inputs, y, fit_scales(inputs, y)[0])


def _needed(
    x: Array, rows: Array, y: Array, recalled: list[Recalled], d: int, most: float
) -> list[Recalled]:
    """As few as miss no more than `most`; the oldest are left out first."""
    kept = list(recalled)
    for value in sorted(recalled, reverse=True):
        fewer = [other for other in kept if other != value]
        if fewer and _missed(x, rows, y, fewer, d) <= most:
            kept = fewer
    return kept
