"""What is not observed: where it matters, what was seen and applied some steps before tells what comes next.

A wall that stores heat, a valve that answers late, a load that nobody measures. Noise of a sensor is another matter:
the steps before help a little there, by averaging.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.gp.gaussian_process import fit_scales, leave_one_out_error
from spaql.gp.model import FITTED, Model, changes_of, outputs_of
from spaql.gp.transitions import Data, follows_of, inputs_of, jumped, thinned, without_jumps
from spaql.ground.arrays import Array
from spaql.plants.loop import signals_around
from spaql.plants.memory import parsed
from spaql.plants.problem import Problem

SEEN, APPLIED = 2, 4  # steps back, of variables and of actions
ROWS = 200  # steps that are compared, at most
FEWEST = 60  # at least
LITTLE = 0.05  # of the changes of a variable: what is missed less is no matter
MUCH = 0.6  # of what is missed: so much may be left with what is remembered
EVIDENCE = 30.0  # its logarithm must grow by more, so that it is no accident
WORSE = 1.1  # times what is left may be left with fewer remembered values
ENOUGH = 0.2  # of what is missed, or of LITTLE: nobody needs less to be left


RARE_SHARE = 0.02  # of the steps may be outliers, as a fall is: they are no sign of a wrong model


def unpredicted(model: Model, data: Data) -> dict[int, float]:
    """By variable the part of its changes that the model misses in steps it has not seen; -1: of the reward."""
    outputs, d = outputs_of(model, thinned(without_jumps(data), FITTED)), len(model.scales)
    asked = {j: outputs[j] for j in range(d) if model.shifts[j] < 0}
    asked |= {} if model.reward_model is None else {-1: outputs[d]}
    return {
        j: leave_one_out_error(values.x, values.y, scales, base, RARE_SHARE)
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
    left: float  # and by whoever remembers
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
    measured = {*(axis.name for axis in signals.measured), *signals.errors}  # not what is remembered already
    found = hidden_in(model, data, [j for j, name in enumerate(names) if name in measured])
    steps: dict[tuple[bool, int], int] = {}
    for one in found:
        for recalled in one.recalled:
            which = recalled.applied, recalled.place
            steps[which] = max(steps.get(which, 0), recalled.steps)
    memory = []
    for (applied, j), most in sorted(steps.items()):
        # without those in between nobody could tell what the oldest will be in the next step
        kind, of = ("previous", signals.action_names[j]) if applied else ("past", names[j])
        asked = [f"{kind}({of}, {k})" for k in range(1, most + 1)]
        memory += [one for one in asked if parsed(one, names, signals.action_names)[0].name not in names]
    return Advice(tuple(memory), {names[one.variable]: (one.missed, one.left) for one in found})


def hidden_in(model: Model, data: Data, among: Sequence[int]) -> list[Hidden]:
    """Which of these variables can be predicted much better by what was seen and applied before."""
    rows = _rows(data)
    if len(rows) < FEWEST:
        return []
    x, changes = inputs_of(model.units, data.states, data.actions), changes_of(model, data)
    d, found = data.states.shape[1], []
    every = [Recalled(k, j, False) for k in range(1, SEEN + 1) for j in among]
    every += [Recalled(k, j, True) for k in range(1, APPLIED + 1) for j in range(x.shape[1] - d)]
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        for j in among:
            y = changes[rows, j]
            if np.ptp(y) == 0.0:
                continue
            usual, least = _explained(x, rows, y, [], d)
            if usual < LITTLE:
                continue
            left, evidence = _explained(x, rows, y, every, d)
            if left < MUCH * usual and evidence < least - EVIDENCE:
                kept, left = _needed(x, rows, y, every, d, max(WORSE * left, ENOUGH * min(usual, LITTLE)))
                found.append(Hidden(j, usual, left, tuple(kept)))
    return found


def _rows(data: Data) -> Array:
    """Steps that the plant alone has made, with enough others before them in the same episode."""
    follows, back = follows_of(data) & ~np.r_[False, jumped(data)[:-1]], max(SEEN, APPLIED)
    enough = ~jumped(data)
    enough[:back] = False
    for k in range(back):
        enough[back:] &= follows[back - k : len(follows) - k]
    found = np.flatnonzero(enough)
    chosen: Array = found[np.linspace(0, len(found) - 1, min(len(found), ROWS)).astype(int)]
    return chosen


def _explained(x: Array, rows: Array, y: Array, recalled: list[Recalled], d: int) -> tuple[float, float]:
    """The part of the changes that is missed, and the negative logarithm of the evidence."""
    more = [x[rows - one.steps, one.place + d * one.applied] for one in recalled]
    inputs = np.column_stack([x[rows], *more])
    scales, evidence = fit_scales(inputs, y)
    return leave_one_out_error(inputs, y, scales), evidence


def _needed(
    x: Array, rows: Array, y: Array, recalled: list[Recalled], d: int, most: float
) -> tuple[list[Recalled], float]:
    """As few as miss no more than `most`, and what these miss; the oldest are left out first."""
    kept, left = list(recalled), most
    for one in sorted(recalled, reverse=True):
        fewer = [other for other in kept if other != one]
        without = _explained(x, rows, y, fewer, d)[0]
        if fewer and without <= most:
            kept, left = fewer, without
    return kept, left
