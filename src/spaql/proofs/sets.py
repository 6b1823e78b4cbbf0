"""Sets of states, and one step of the closed loop on them.

A set is the image of a cube, in a box:   { c + G xi + r :  |xi_k| <= 1, |r_i| <= R_i }  cut with
B. It has a noise symbol per variable, those of the start. A set that is followed for long has more of
them. They take R in each step, and the smallest of them are wrapped in R (mean_values.py).

With x = c + d, the line u_c + g d of the controller, off by at most e, and slopes J averaged over
boxes that shrink to c,

    f(x, u)  in  f(c, u_c) + (J_x + J_u g) d + J_u e           (mean value form, as in linear_loop.py)

so the next c is f(c, u_c), the next G is A G with A = mid J_x + mid J_u g, and the next R is |A| R,
|J_u| e, what slopes differ from their middle times |d|, and rounding. The range of the program
itself over the set, values cut by what the answers to the plant's conditions say, is the next B: it
knows of walls and of limits of speed. Where slopes are not known (a jump), B alone is the next set.

Where a test, a threshold or a condition of the plant can go both ways, the set is taken twice, each
time with the bounds of xi that its side allows: of a . xi >= b follows a_k xi_k >= b - sum of
|a_j|, j not k.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined
from spaql.proofs.loop_model import ClosedLoop, memory_of
from spaql.proofs.machine import Result
from spaql.proofs.operations import Registers
from spaql.proofs.score_bounds import ROUND, ScoreBounds, View, empty_score, view

MOST = 40  # sets that one set may become in a step
TOO_MANY, UNKNOWN = -1, -2
SLACK = 1e-9  # of a noise symbol: more than the rounding of a cut


class Sets(NamedTuple):
    """Room for sets, a row each."""

    centre: Array  # (sets, states)
    shape: Array  # (sets, states, symbols) G
    rest: Array  # (sets, states) R
    box: Array  # (sets, states, 2) B
    way: Array  # (sets, states, 2) around all states during the step that led to it, of a differential equation
    node: Array  # of the tree at which the set stands; -1: its action is decided
    action: Array  # (sets,)
    reward: Array  # (sets, 2) of the step that led to it
    over: Array  # whether the episode ended in that step: 0 no, 1 perhaps, 2 surely


class SetWork(NamedTuple):
    """Memory for one thread. `after`: what a step makes of a set."""

    r: Registers
    out: Result
    seen: View
    score: ScoreBounds
    todo: Sets
    after: Sets
    box: Array  # (states, 2) of the set
    around: Array  # (states, 2) of the set and its centre
    whole: Array  # (inputs, 2)
    middle: Array  # (inputs,)
    shrunk: Array  # (inputs, 2)
    mean: Array  # (states, inputs, 2)
    symbols: Array  # (symbols,) a row times G
    line: Array  # (actions, states) g
    applied: Array  # (actions, 4): u_c, e, least, most
    step: Array  # (states, states) A
    difference: Array  # (seen,) of two rows of gains
    moving: Sets  # within a step of a differential equation: the set, and those of a substep
    around_way: Array  # (states, 2) box around all states during a substep
    lagrange: Array  # (states, 2)
    gaps: Array  # (gaps, 2)
    centres: Array  # (gaps, 2) at the centre of a set
    column: Array  # (states,) of a shape


def room(loop: ClosedLoop, sets: int) -> Sets:
    d, z = loop.states, np.zeros
    return Sets(
        z((sets, d)), z((sets, d, loop.columns)), z((sets, d)), z((sets, d, 2)), z((sets, d, 2)), z(sets, np.int64),
        z(sets), z((sets, 2)), z(sets, np.int64),
    )  # fmt: skip


def work_for(loop: ClosedLoop) -> SetWork:
    d, m, z = loop.states, loop.actions, np.zeros
    inputs = d + 1 if loop.flow.substeps > 0 else d + m + len(loop.noise)
    return SetWork(
        *memory_of(loop), view(loop), empty_score(loop), room(loop, MOST), room(loop, MOST), z((d, 2)), z((d, 2)),
        z((inputs, 2)), z(inputs), z((inputs, 2)), z((d, inputs, 2)), z(loop.columns), z((m, d)), z((m, 4)),
        z((d, d)), z(loop.seen), room(loop, 3), z((d, 2)), z((d, 2)), z((loop.flow.gaps, 2)),
        z((loop.flow.gaps, 2)), z(d),
    )  # fmt: skip


@inlined
def copy_set(source: Sets, at: int, target: Sets, to: int) -> None:
    for i in range(source.centre.shape[1]):
        target.centre[to, i], target.rest[to, i] = source.centre[at, i], source.rest[at, i]
        target.box[to, i, 0], target.box[to, i, 1] = source.box[at, i, 0], source.box[at, i, 1]
        for k in range(source.shape.shape[2]):
            target.shape[to, i, k] = source.shape[at, i, k]
    target.node[to], target.action[to] = source.node[at], source.action[at]


@apart
def begin(sets: Sets, box: Array, blurred: float) -> None:
    """The first set becomes a box of the state; a held action is chosen later. `blurred`: 1.0 if the sides of the box
    are rounded themselves, else 0.0."""
    d = len(box)
    for i in range(sets.centre.shape[1]):
        low, high = (box[i, 0], box[i, 1]) if i < d else (0.0, 0.0)
        rest = 1e-15 * (abs(low) + abs(high)) + 1e-300
        sets.centre[0, i], sets.rest[0, i] = 0.5 * (low + high), rest
        sets.box[0, i, 0], sets.box[0, i, 1] = low - blurred * rest, high + blurred * rest
        for k in range(sets.shape.shape[2]):
            sets.shape[0, i, k] = 0.5 * (high - low) if i == k else 0.0


@apart
def widest_symbol(sets: Sets, at: int, widest: Array) -> int:
    """The noise symbol, which still is a variable of the start, that makes a set widest."""
    symbol, most = 0, -1.0
    for k in range(len(widest)):
        effect = 0.0
        for i in range(len(widest)):
            effect += abs(sets.shape[at, i, k]) / widest[i]
        if effect > most:
            symbol, most = k, effect
    return symbol


@apart
def box_of(sets: Sets, at: int, box: Array) -> bool:
    """The smallest box around the set; False if it is empty."""
    d = sets.centre.shape[1]
    for i in range(d):
        size = sets.rest[at, i]
        for k in range(sets.shape.shape[2]):
            size += abs(sets.shape[at, i, k])
        centre = sets.centre[at, i]
        size += ROUND * (size + abs(centre)) + 1e-300
        box[i, 0], box[i, 1] = max(centre - size, sets.box[at, i, 0]), min(centre + size, sets.box[at, i, 1])
        if box[i, 0] > box[i, 1]:
            return False
        if not box[i, 0] <= box[i, 1]:  # infinities met: nothing is known
            box[i, 0], box[i, 1] = -np.inf, np.inf
    return True


@apart
def keep(sets: Sets, at: int, row: Array, sign: float, least: float) -> None:
    """Cuts the noise symbols to where sign * row . xi >= least."""
    d, total = sets.centre.shape[1], 0.0
    for k in range(len(row)):
        total += abs(row[k])
    for k in range(len(row)):
        size = abs(row[k])
        if size <= 1e-9 * total:
            continue
        bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK
        if not bound > -1.0:
            continue
        bound = min(bound, 1.0)
        middle, half = 0.5 * (1.0 + bound), 0.5 * (1.0 - bound) + SLACK
        up = 1.0 if sign * row[k] > 0.0 else -1.0
        for i in range(d):
            moved = up * middle * sets.shape[at, i, k]
            sets.rest[at, i] += 4e-16 * (abs(sets.centre[at, i]) + abs(moved) + abs(sets.shape[at, i, k]))
            sets.centre[at, i] += moved
            sets.shape[at, i, k] *= half


@apart
def tighten(sets: Sets, at: int) -> None:
    """What the box of a set cuts off, its noise symbols need not reach either."""
    d = sets.centre.shape[1]
    for i in range(d):
        size = sets.rest[at, i]
        for k in range(sets.shape.shape[2]):
            size += abs(sets.shape[at, i, k])
        row, rest = sets.shape[at, i], sets.rest[at, i] * (1.0 + ROUND) + ROUND * abs(sets.centre[at, i])
        if sets.box[at, i, 0] > sets.centre[at, i] - size:
            keep(sets, at, row, 1.0, sets.box[at, i, 0] - sets.centre[at, i] - rest)
        if sets.box[at, i, 1] < sets.centre[at, i] + size:
            keep(sets, at, row, -1.0, sets.centre[at, i] - sets.box[at, i, 1] - rest)
