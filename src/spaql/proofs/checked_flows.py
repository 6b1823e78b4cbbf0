"""The checker's way through a differential equation: see flows.py for the theorem, with which this file shares no code.

The plant's own derivative is run on power series (checked_series.py), for many sets at a time. What must not happen
between samples is asked of the plant's own `over`, with every comparison narrowed by the mean value theorem.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs import checked_functions as en
from spaql.proofs import checked_program as op
from spaql.proofs.checked_kernels import ROUND, WHY, Equation, FlowRoom, enclose_ways, flow_room, move
from spaql.proofs.checked_program import Program, Truth, whole_program
from spaql.proofs.checked_sets import (
    Many,
    acting,
    around_of,
    box_of,
    many,
    reduced,
    spread_out,
    there,
    tightened,
    together,
)
from spaql.proofs.checked_work import Worked, worked, working
from spaql.proofs.checker import CheckedLoop, require
from spaql.proofs.plant_runs import DEGREE, recordings, taylor_of

COLUMNS = 100  # noise symbols per variable, beside one each
AT_ONCE = 256  # sets, so that memory stays small


class FlowStep(NamedTuple):
    """What one sample makes of sets."""

    sets: Many  # at its end; `over`: the episode perhaps, surely ends
    way: Array  # (n, d, 2) around all states on the way


def flowed(
    loop: CheckedLoop, sets: Many, substeps: int, columns: int = COLUMNS, bounds: Array | None = None
) -> FlowStep:
    """All sets a sample on, with the action held. `columns`: noise symbols that are kept; `bounds`: within which all
    states on the way are to be, else the way may lead anywhere. Where the box around the way of a substep shows all
    that is asked, no set around it is worked out."""
    if len(sets.c) > AT_ONCE:
        some = (sets.take(slice(k, k + AT_ONCE)) for k in range(0, len(sets.c), AT_ONCE))
        parts = [flowed(loop, part, substeps, columns, bounds) for part in some]
        return FlowStep(together([part.sets for part in parts]), np.concatenate([part.way for part in parts]))
    acts = acting(loop, sets)
    require(len(acts) > 0, "no state goes on")
    held = [_with_action(*act) for act in acts]
    sets = Many(*(np.concatenate(parts) for parts in zip(*held, strict=True)))
    plant: Any = loop.problem.plant
    d, (equation, shortest) = plant.state_dim, equation_of(plant, substeps)
    w = flow_room(equation, len(sets.c), d, sets.c.shape[1])
    free = np.tile([-np.inf, np.inf], (d, 1)) if bounds is None else bounds
    way = np.tile([np.inf, -np.inf], (len(sets.c), d, 1))
    perhaps = np.zeros(len(sets.c), bool)
    for _ in range(substeps):
        spread = spread_out(sets)
        box, _ = around_of(spread)
        why = enclose_ways(working(), equation, box, w)
        require(why == 0, WHY[why])
        around = w.way[:, :d]
        during, ends = around, _over(plant, around)[:, 0]
        if ends.any() or not ((free[:, 0] <= around[..., 0]) & (around[..., 1] <= free[:, 1])).all():
            middle = _moved(equation, spread, box, 0.0, w)
            during = box_of(middle)[:, :d]
            require((during[..., 0] <= during[..., 1]), "a way is empty")
            ends = _over(plant, during, middle)[:, 0]
        low, high = np.minimum(way[..., 0], during[..., 0]), np.maximum(way[..., 1], during[..., 1])
        way, perhaps = np.stack([low, high], axis=2), perhaps | ends
        sets = reduced(_moved(equation, spread, box, shortest, w), columns)
    surely = _over(plant, box_of(sets)[:, :d], sets)[:, 1] & perhaps if perhaps.any() else perhaps
    c, G, R, B = (np.ascontiguousarray(part[:, :d]) for part in sets[:4])
    over = np.stack([perhaps, surely], axis=1)
    final = Many(c, G, R, B, sets.owner, np.zeros((len(c), 2)), sets.age + 1, over)
    return FlowStep(final, way)


def _with_action(sets: Many, u: Array, g: Array, e: Array, least: Array, most: Array) -> Many:
    """State and action: what was rest of the state is a noise symbol of both."""
    n, d = sets.c.shape
    own = np.concatenate([sets.G, np.eye(d) * sets.R[:, None]], axis=2)
    c, G = np.concatenate([sets.c, u], axis=1), np.concatenate([own, np.einsum("nmd,ndk->nmk", g, own)], axis=1)
    reach = np.einsum("nmd,ndk->nm", np.abs(g), np.abs(own))
    size = np.abs(c) + np.concatenate([np.abs(own).sum(axis=2), reach], axis=1)
    R = np.concatenate([np.zeros((n, d)), e * (1.0 + ROUND)], axis=1) + ROUND * size + 1e-300
    B = np.concatenate([box_of(sets), np.stack([least, most], axis=2)], axis=1)
    return tightened(Many(c, G, R, B, sets.owner, sets.reward, sets.age, sets.over))


def equation_of(plant: Any, substeps: int) -> tuple[Equation, float]:
    """As compiled code takes it; and less than the length of a substep."""
    h = plant.flow.dt / substeps
    longest = power = math.nextafter(h, math.inf)
    for _ in range(DEGREE - 1):
        power = math.nextafter(power * longest, math.inf)
    f, polynomial, rest = taylor_of(plant)
    first, second, third = (np.array(program.results) for program in (f, polynomial, rest))
    equation = Equation(f.lines, polynomial.lines, rest.lines, first, second, third, longest, power)
    return equation, math.nextafter(h, 0.0)


def _moved(equation: Equation, sets: Many, box: Array, first: float, w: FlowRoom) -> Many:
    """The sets around all states from then to the end of a substep."""
    c, G, R, B = (np.empty_like(part) for part in sets[:4])
    why = move(working(), equation, sets.c, sets.G, box, first, equation.h, w, c, G, R, B)
    require(why == 0, WHY[why])
    return sets._replace(c=c, G=G, R=R, B=B)


# -- what must not happen ----------------------------------------------------------------------------------------------


class OverWay(NamedTuple):
    """One way through `over`: its lines, which of them compare, and what these compare with zero."""

    lines: list[tuple[int, int, int, float]]
    comparisons: list[int]
    gaps: Program
    result: Any


@functools.lru_cache(maxsize=4)
def asked_by(over: Any, d: int) -> list[OverWay]:
    ways = []
    for written, _, result in recordings(over, d).values():
        lines = list(written.lines)
        comparisons = [k for k, line in enumerate(lines) if line[0] in (op.GE, op.GT, op.EQ)]
        gaps = tuple(written.place(op.SUB, *lines[k][1:3]) for k in comparisons)
        ways.append(OverWay(lines, comparisons, whole_program(written, d)._replace(results=gaps), result))
    return ways


def _over(plant: Any, boxes: Array, sets: Many | None = None) -> Array:
    """(n, 2): whether the episode perhaps, and surely, ends at some state, or at all states, of each box; of the sets
    in them, if there are some."""
    n, d, flow = len(boxes), plant.state_dim, plant.flow
    if flow.over is None:
        return np.zeros((n, 2), bool)
    both = boxes
    if sets is not None:
        state = sets._replace(c=sets.c[:, :d], G=sets.G[:, :d], R=sets.R[:, :d], B=sets.B[:, :d])
        around, _ = around_of(state)
        both = np.concatenate([around, np.stack([state.c, state.c], axis=2)])
    perhaps, surely = np.zeros(n, bool), np.ones(n, bool)
    for way in asked_by(flow.over, d):
        gaps = worked(way.gaps, both, sets is not None)
        low, high = (gaps.low - gaps.error, gaps.high + gaps.error) if sets is None else _narrowed(state, around, gaps)
        known, (possible, said) = gaps.finite[:n], _said(way, low, high)
        perhaps |= possible & (~said[1] | ~known)
        surely &= ~possible | (said[0] & known)
    return np.stack([perhaps, surely & perhaps], axis=1)


def _narrowed(state: Many, around: Array, gaps: Worked) -> en.Pair:
    """Ranges of gaps over sets, and their mean value form g(c) + J x, with x in the noise symbols."""
    n, wide = len(state.c), gaps.error[:, : len(state.c)]
    low, high = gaps.low[:, :n] - wide, gaps.high[:, :n] + wide
    reach = np.maximum(around[..., 1] - state.c, state.c - around[..., 0])
    with np.errstate(all="ignore"):
        first, last = gaps.slope_low[..., :n], gaps.slope_high[..., :n]  # (gaps, d, n)
        slope, half = 0.5 * (first + last), 0.5 * (last - first)
        rows = np.einsum("gjn,njk->gnk", slope, state.G)
        away = np.abs(rows).sum(axis=2) + np.einsum("gjn,nj->gn", np.abs(slope), state.R)
        away += np.einsum("gjn,nj->gn", half + ROUND * np.abs(slope), reach)
        least, most = gaps.low[:, n:], gaps.high[:, n:]
        size = np.einsum("gjn,njk->gn", np.abs(slope), np.abs(state.G)) + np.abs(least) + np.abs(most)
        away = away * (1.0 + ROUND) + ROUND * size + wide + 1e-300
        least, most = least - away, most + away
    known = least <= most
    return np.where(known, np.maximum(low, least), low), np.where(known, np.minimum(high, most), high)


def _said(way: OverWay, low: Array, high: Array) -> tuple[Array, tuple[Array, Array]]:
    """(which sets can go this way, where what it says surely holds and surely does not), from ranges of its gaps."""
    possible, truths = np.ones(low.shape[1], bool), dict[int, tuple[Array, Array]]()
    for k, gap_low, gap_high in zip(way.comparisons, low, high, strict=False):  # of none there are lines instead
        code = way.lines[k][0]
        sure, no = gap_low >= 0.0, gap_high < 0.0
        if code == op.GT:
            sure, no = gap_low > 0.0, gap_high <= 0.0
        elif code == op.EQ:
            sure, no = (gap_low == 0.0) & (gap_high == 0.0), (gap_low > 0.0) | (gap_high < 0.0)
        truths[k] = sure, no
    for k, (code, a, b, _) in enumerate(way.lines):
        if code == op.AND:
            truths[k] = truths[a][0] & truths[b][0], truths[a][1] | truths[b][1]
        elif code == op.OR:
            truths[k] = truths[a][0] | truths[b][0], truths[a][1] & truths[b][1]
        elif code == op.NOT:
            truths[k] = truths[a][::-1]
        elif code in (op.YES, op.NO):
            possible &= ~truths[a][1 if code == op.YES else 0]
    said = way.result
    if isinstance(said, Truth):
        return possible, truths[said.place]
    every = np.full(len(possible), bool(said))
    return possible, (every, ~every)


def check_flow(
    loop: CheckedLoop, boxes: Array, substeps: int, steps: int, limits: Array, times: Array, within: Array,
    until_end: bool, goes_on: bool,
) -> int:  # fmt: skip
    """Start boxes followed within the limits, and within those of windows of time. Returns after how many samples all
    episodes have ended, or `steps`."""
    for (first, _), bounds in zip(times, within, strict=True):
        inside = (bounds[:, 0] <= boxes[..., 0]) & (boxes[..., 1] <= bounds[:, 1])
        require((first > 0) | inside, "a start is elsewhere at a time")
    sets = many(boxes)
    for step in range(1, steps + 1):
        inside = [limits, *(b for (first, last), b in zip(times, within, strict=True) if first < step <= last)]
        low, high = np.max([b[:, 0] for b in inside], axis=0), np.min([b[:, 1] for b in inside], axis=0)
        sets, way = flowed(loop, sets, substeps, bounds=np.stack([low, high], axis=1))
        box = box_of(sets)
        require((limits[:, 0] <= way[..., 0]) & (way[..., 1] <= limits[:, 1]), "a set leaves the bounds claimed")
        for (first, last), bounds in zip(times, within, strict=True):
            if first <= step <= last:
                require((bounds[:, 0] <= box[..., 0]) & (box[..., 1] <= bounds[:, 1]), "a set is elsewhere at a time")
            if first < step <= last:
                require((bounds[:, 0] <= way[..., 0]) & (way[..., 1] <= bounds[:, 1]), "a set is elsewhere at a time")
        perhaps, surely = sets.over.T
        require(not goes_on or ~perhaps, "an episode may end")
        if until_end:
            sets = there(sets.take(~surely))
            if len(sets.c) == 0:
                return step
        require(len(sets.c) < 100_000, "there are too many sets")
    require(not until_end, "an episode may go on")
    return steps
