"""The checker's way through a differential equation: see flows.py for the theorem, with which this file shares no code.

The plant's own derivative is run on power series (checked_series.py), for many sets at a time. What must not happen
between samples is asked of the plant's own `over`, with every comparison narrowed by the mean value theorem.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs import checked_functions as en
from spaql.proofs.checked_kernels import ROUND, map_way, mean_values, tighten, towards
from spaql.proofs.checked_program import (
    AND,
    EQ,
    GE,
    GT,
    NO,
    NOT,
    OR,
    SUB,
    YES,
    Program,
    Truth,
    whole_program,
)  # fmt: skip
from spaql.proofs.checked_sets import Many, acting, around_of, box_of, many, there, tightened
from spaql.proofs.checked_work import Worked, worked
from spaql.proofs.checker import CheckedLoop, require
from spaql.proofs.plant_runs import DEGREE, recordings, taylor_of

COLUMNS = 100  # noise symbols per variable, beside one each
PARTS = 2  # boxes over which slopes are averaged
TRIES, FINER = 20, 2  # of a box around the way
WIDE = 1e6


class FlowStep(NamedTuple):
    """What one sample makes of sets."""

    sets: Many  # at its end; `over`: the episode perhaps, surely ends
    way: Array  # (n, d, 2) around all states on the way


def flowed(
    loop: CheckedLoop, sets: Many, substeps: int, columns: int = COLUMNS, between: bool = True
) -> FlowStep:
    """All sets a sample on, with the action held. `columns`: noise symbols that are kept; `between`: whether anything
    is asked there, else the way may lead anywhere."""
    acts = acting(loop, sets)
    require(len(acts) > 0, "no state goes on")
    held = [_with_action(*act) for act in acts]
    sets = Many(*(np.concatenate(parts) for parts in zip(*held, strict=True)))
    plant: Any = loop.problem.plant
    d, h = plant.state_dim, plant.flow.dt / substeps
    length = np.nextafter(h, 0.0), np.nextafter(h, np.inf)
    asked = between or plant.flow.over is not None
    way = np.tile([np.inf, -np.inf] if asked else [-np.inf, np.inf], (len(sets.c), d, 1))
    perhaps = np.zeros(len(sets.c), bool)
    for _ in range(substeps):
        spread = _spread_out(sets)
        box, _ = around_of(spread)
        around, lagrange = _around_the_way(plant, box, length[1])
        if asked:
            middle = _moved(plant, spread, box, 0.0, length[1], around, lagrange)
            during = box_of(middle)
            require((during[..., 0] <= during[..., 1]), "a way is empty")
            low, high = np.minimum(way[..., 0], during[:, :d, 0]), np.maximum(way[..., 1], during[:, :d, 1])
            way, perhaps = np.stack([low, high], axis=2), perhaps | _over(plant, middle)[:, 0]
        sets = _reduced(_moved(plant, spread, box, *length, around, lagrange), columns)
    surely = _over(plant, sets)[:, 1] & perhaps
    final = Many(
        sets.c[:, :d], sets.G[:, :d], sets.R[:, :d], sets.B[:, :d], sets.owner, np.zeros((len(sets.c), 2)),
        sets.age + 1, np.stack([perhaps, surely], axis=1),
    )  # fmt: skip
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


def _spread_out(sets: Many) -> Many:
    """With a noise symbol for each rest."""
    columns = np.eye(sets.c.shape[1]) * (sets.R * (1.0 + ROUND))[:, None]
    return sets._replace(G=np.concatenate([sets.G, columns], axis=2), R=np.zeros_like(sets.R))


def _reduced(sets: Many, columns: int) -> Many:
    """The largest noise symbols; the others become rest."""
    most = (1 + columns) * sets.c.shape[1]
    if sets.G.shape[2] <= most:
        return sets
    box = box_of(sets)
    size = (np.abs(sets.G) / (box[..., 1] - box[..., 0] + 1e-30)[:, :, None]).sum(axis=1)
    order = np.argsort(-size, axis=1, kind="stable")
    G = np.take_along_axis(sets.G, order[:, None], axis=2)
    R = sets.R + np.abs(G[:, :, most:]).sum(axis=2) * (1.0 + ROUND)
    return sets._replace(G=G[:, :, :most], R=R * (1.0 + ROUND))


def _around_the_way(plant: Any, box: Array, h: float) -> tuple[Array, Array]:
    """(boxes that hold all states of a substep, t^K x[K] over them from 0 to h), from boxes of state and action."""
    d, programs, none = plant.state_dim, taylor_of(plant), np.zeros((len(box), 1, 2))
    way, holds, finer = np.concatenate([box, none], axis=1), np.zeros(len(box), bool), 0
    for _ in range(TRIES):
        rates = worked(programs.rates, way, False)
        require(rates.finite, "the derivative is not defined everywhere on the way")
        widest = map_way(box, rates.low, rates.high, h, way, holds)
        require(widest < WIDE, "a way grows without bound")
        finer += int(holds.all())
        if finer == FINER:
            break
    require(holds, "no box around a way is mapped into itself")
    last = worked(programs.rest, way, False)
    power = en.exactly(h)
    for _ in range(DEGREE - 1):
        power = en.mul(power, en.exactly(h))
    left = en.mul((np.zeros(()), power[1]), (last.low.T, last.high.T))
    require(np.isfinite(left[0]) & np.isfinite(left[1]), "a remainder is not bounded")
    return way[:, :d], np.stack([np.minimum(left[0], 0.0), np.maximum(left[1], 0.0)], axis=2)


def _moved(plant: Any, sets: Many, box: Array, first: float, last: float, around: Array, lagrange: Array) -> Many:
    """The sets around all states from the first to the last of these times."""
    n, states = sets.c.shape
    d, polynomial = plant.state_dim, taylor_of(plant).polynomial
    time = np.tile([first, last], (n, 1, 1))
    whole = np.concatenate([box, time], axis=1)
    middle = np.concatenate([sets.c, time.mean(axis=2)], axis=1)
    rows, points = np.empty((PARTS * n, states + 1, 2)), np.empty((n, states + 1, 2))
    towards(middle, whole, PARTS, rows, points)
    over, at = worked(polynomial, rows, True), worked(polynomial, points, False)
    rest = np.zeros((n, states))
    rest[:, :d] = np.abs(lagrange).max(axis=2)
    c, G, R = np.empty_like(sets.c), np.empty_like(sets.G), np.empty_like(sets.R)
    known = mean_values(
        sets.c, sets.G, middle, whole, PARTS, over.slope_low, over.slope_high, at.low, at.high, rest, c, G, R
    )
    require(known and np.isfinite(c).all(), "a set is not known")
    B = np.stack([over.low[:, -n:].T, over.high[:, -n:].T], axis=2)
    low, high = en.add((B[:, :d, 0], B[:, :d, 1]), (lagrange[..., 0], lagrange[..., 1]))
    B[:, :d] = np.stack([np.maximum(low, around[..., 0]), np.minimum(high, around[..., 1])], axis=2)
    tighten(c, G, R, B)
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
        comparisons = [k for k, line in enumerate(lines) if line[0] in (GE, GT, EQ)]
        gaps = tuple(written.place(SUB, *lines[k][1:3]) for k in comparisons)
        ways.append(OverWay(lines, comparisons, whole_program(written, d)._replace(results=gaps), result))
    return ways


def _over(plant: Any, sets: Many) -> Array:
    """(n, 2): whether the episode perhaps, and surely, ends at some state, or at all states, of each set."""
    n, d, flow = len(sets.c), plant.state_dim, plant.flow
    if flow.over is None:
        return np.zeros((n, 2), bool)
    state = sets._replace(c=sets.c[:, :d], G=sets.G[:, :d], R=sets.R[:, :d], B=sets.B[:, :d])
    around, _ = around_of(state)
    both = np.concatenate([around, np.stack([state.c, state.c], axis=2)])
    perhaps, surely = np.zeros(n, bool), np.ones(n, bool)
    for way in asked_by(flow.over, d):
        gaps = worked(way.gaps, both, True)
        known, (low, high) = gaps.finite[:n], _narrowed(state, around, gaps)
        possible, said = _said(way, low, high)
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
        sure = gap_low >= 0.0 if code == GE else gap_low > 0.0 if code == GT else (gap_low == 0.0) & (gap_high == 0.0)
        no = gap_high < 0.0 if code == GE else gap_high <= 0.0 if code == GT else (gap_low > 0.0) | (gap_high < 0.0)
        truths[k] = sure, no
    for k, (code, a, b, _) in enumerate(way.lines):
        if code == AND:
            truths[k] = truths[a][0] & truths[b][0], truths[a][1] | truths[b][1]
        elif code == OR:
            truths[k] = truths[a][0] | truths[b][0], truths[a][1] & truths[b][1]
        elif code == NOT:
            truths[k] = truths[a][::-1]
        elif code in (YES, NO):
            possible &= ~truths[a][1 if code == YES else 0]
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
        sets, way = flowed(loop, sets, substeps)
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
