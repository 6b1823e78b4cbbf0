"""The checker's way through a differential equation: see flows.py for the theorem, with which this file shares no code.

The plant's own derivative is run on power series (checked_series.py), for many sets at a time. What must not happen
between samples is asked of the plant's own `over`, with every comparison narrowed by the mean value theorem.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs import enclosures as en
from spaql.proofs.checked_program import Program, Worked, Written, program_of, worked
from spaql.proofs.checked_series import solution
from spaql.proofs.checked_sets import ROUND, Many, acting, around_of, box_of, many, there, tightened
from spaql.proofs.checked_steps import ended_of
from spaql.proofs.checker import CheckedLoop, require
from spaql.proofs.plant_runs import runnable, runs
from spaql.proofs.quantities import Quantity

DEGREE = 5  # of the remainder
COLUMNS = 100  # noise symbols per variable, beside one each
PARTS = 2  # boxes over which slopes are averaged
TRIES, FINER = 20, 3  # of a box around the way
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
        around, lagrange = _around_the_way(plant, spread, length[1])
        *during, after = _moved(plant, spread, [*[(0.0, length[1])] * asked, length], around, lagrange)
        for middle in during:
            box = box_of(middle)
            require((box[..., 0] <= box[..., 1]), "a way is empty")
            low, high = np.minimum(way[..., 0], box[:, :d, 0]), np.maximum(way[..., 1], box[:, :d, 1])
            way, perhaps = np.stack([low, high], axis=2), perhaps | _over(plant, middle)[:, 0]
        sets = _reduced(after, columns)
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


class Taylor(NamedTuple):
    """Of the solution, as functions of state, action and the time since: f, the polynomial and action, x[K]."""

    rates: Program
    polynomial: Program
    rest: Program


@functools.lru_cache(maxsize=4)
def taylor(derivative: Any, d: int, m: int) -> Taylor:
    written = Written()
    *numbers, time = written.inputs(d + m + 1)
    held = numbers[d:]
    x, ends = solution(runnable(derivative), numbers[:d], held), []
    for j in range(d):
        total: Any = x[j][DEGREE - 1]
        for k in reversed(range(DEGREE - 1)):
            total = x[j][k] + (0.0 if isinstance(total, float) and total == 0.0 else total * time)
        ends.append(total)
    programs = [x[j][1] for j in range(d)], [*ends, *held], [x[j][DEGREE] for j in range(d)]
    return Taylor(*(program_of(results, written, d + m + 1) for results in programs))


def taylor_of(plant: Any) -> Taylor:
    return taylor(plant.flow.derivative, plant.state_dim, plant.action_dim)


def without_time(boxes: Array) -> Array:
    return np.concatenate([boxes, np.zeros((len(boxes), 1, 2))], axis=1)


def _around_the_way(plant: Any, sets: Many, h: float) -> tuple[Array, Array]:
    """(boxes that Picard's operator maps into themselves, t^K x[K] over them from 0 to h); both of state and action."""
    d, programs = plant.state_dim, taylor_of(plant)
    box = box_of(sets)
    way = box.copy()

    def mapped(over: Array) -> Array:
        """X + [0, h] f(over)"""
        rates = worked(programs.rates, without_time(over), False)
        require(rates.finite, "the derivative is not defined everywhere on the way")
        grown = en.mul((np.zeros(()), np.full((), h)), (rates.low.T, rates.high.T))
        low, high = en.add((box[:, :d, 0], box[:, :d, 1]), (np.minimum(grown[0], 0.0), np.maximum(grown[1], 0.0)))
        require(high - low < WIDE, "a way grows without bound")
        result = over.copy()
        result[:, :d] = np.stack([low, high], axis=2)
        return result

    holds = np.zeros(len(box), bool)
    for _ in range(TRIES):
        after = mapped(way)
        more = 0.1 * (after[..., 1] - after[..., 0]) + 1e-12 * np.abs(after).sum(axis=2) + 1e-15
        low, high = np.minimum(way[..., 0], after[..., 0] - more), np.maximum(way[..., 1], after[..., 1] + more)
        larger = np.stack([low, high], axis=2)
        larger[:, d:] = box[:, d:]
        way = np.where(holds[:, None, None], way, larger)
        after = mapped(way)
        holds = np.asarray(((way[..., 0] <= after[..., 0]) & (after[..., 1] <= way[..., 1])).all(axis=1))
        if holds.all():
            break
    require(holds, "no box around a way is mapped into itself")
    for _ in range(FINER):
        after = mapped(way)
        way = np.stack([np.maximum(way[..., 0], after[..., 0]), np.minimum(way[..., 1], after[..., 1])], axis=2)
    last = worked(programs.rest, without_time(way), False)
    power = en.exactly(h)
    for _ in range(DEGREE - 1):
        power = en.mul(power, en.exactly(h))
    left = en.mul((np.zeros(()), power[1]), (last.low.T, last.high.T))
    require(np.isfinite(left[0]) & np.isfinite(left[1]), "a remainder is not bounded")
    lagrange = np.zeros_like(way)
    lagrange[:, :d] = np.stack([np.minimum(left[0], 0.0), np.maximum(left[1], 0.0)], axis=2)
    return way, lagrange


def _moved(plant: Any, sets: Many, times: list[tuple[float, float]], around: Array, lagrange: Array) -> list[Many]:
    """The sets around all states during each of these times; all evaluations go through the derivative at once."""
    centred, _ = around_of(sets)
    wide, middles, rows = [], [], []
    for first, last in times:
        time = np.tile([first, last], (len(centred), 1, 1))
        wide.append(np.concatenate([centred, time], axis=1))
        middles.append(np.concatenate([sets.c, time.mean(axis=2)], axis=1))
        for part in range(1, PARTS + 1):
            ends = middles[-1][..., None] + (wide[-1] - middles[-1][..., None]) * (part / PARTS)
            lost = (np.abs(ends) + np.abs(middles[-1])[..., None]) * 1e-15 + 1e-300
            rows.append(ends + lost * [-1.0, 1.0])
    points = [np.stack([middle, middle], axis=2) for middle in middles]
    polynomial = taylor_of(plant).polynomial
    over, at = worked(polynomial, np.concatenate(rows), True), worked(polynomial, np.concatenate(points), False)
    results = []
    for k, (box, middle) in enumerate(zip(wide, middles, strict=True)):
        reach = np.maximum(box[..., 1] - middle, middle - box[..., 0])
        results.append(_mean_value(plant, sets, over, at, k, reach, around, lagrange))
    return results


def _mean_value(
    plant: Any, sets: Many, over: Worked, at: Worked, k: int, reach: Array, around: Array, lagrange: Array
) -> Many:
    """Of the times number k: `over` has PARTS boxes for each, the last one whole, and `at` a point."""
    (n, states), d = sets.c.shape, plant.state_dim
    c, G, R, B = np.zeros((n, states)), np.zeros_like(sets.G), np.zeros((n, states)), np.zeros((n, states, 2))
    for i in range(states):
        ranges = np.stack([over.low[i], over.high[i]], axis=1).reshape(-1, PARTS, n, 2)[k]
        both = over.slope_low[i].T, over.slope_high[i].T
        slopes = [side.reshape(-1, PARTS, n, reach.shape[1])[k].mean(axis=0) for side in both]
        B[:, i], low, high = ranges[-1], at.low[i].reshape(-1, n)[k], at.high[i].reshape(-1, n)[k]
        c[:, i] = 0.5 * (low + high)
        centre, half = 0.5 * (slopes[0] + slopes[1]), 0.5 * (slopes[1] - slopes[0])
        G[:, i] = np.einsum("nj,njk->nk", centre[:, :states], sets.G)
        R[:, i] = (high - low) + ((half + ROUND * np.abs(centre)) * reach).sum(axis=1)
        R[:, i] += np.abs(centre[:, states]) * reach[:, states] + np.abs(lagrange[:, i]).max(axis=1)
        size = np.abs(c[:, i]) + np.einsum("nj,njk->n", np.abs(centre[:, :states]), np.abs(sets.G))
        R[:, i] = R[:, i] * (1.0 + ROUND) + ROUND * size + 1e-300
    low, high = en.add((B[..., 0], B[..., 1]), (lagrange[..., 0], lagrange[..., 1]))
    B[:, :d] = np.stack([np.maximum(low, around[..., 0]), np.minimum(high, around[..., 1])], axis=2)[:, :d]
    require(np.isfinite(R) & np.isfinite(c), "a set is not known")
    return tightened(sets._replace(c=c, G=G, R=R, B=B))


def _over(plant: Any, sets: Many) -> Array:
    """(n, 2): whether the episode perhaps, and surely, ends at some state, or at all states, of each set."""
    n, d, flow = len(sets.c), plant.state_dim, plant.flow
    if flow.over is None:
        return np.zeros((n, 2), bool)
    state = sets._replace(c=sets.c[:, :d], G=sets.G[:, :d], R=sets.R[:, :d], B=sets.B[:, :d])
    around, _ = around_of(state)
    points = np.stack([state.c, state.c], axis=2)
    reach = np.maximum(around[..., 1] - state.c, state.c - around[..., 0])

    def narrow(gap: Quantity) -> en.Pair:
        """g(c) + J d, with d in the noise symbols, in the rows of the sets; those of their centres as they are."""
        low, high = gap.low.copy(), gap.high.copy()
        if gap.slope is None:
            return low, high
        with np.errstate(all="ignore"):
            centre, half = (0.5 * (gap.slope[0][:n] + sign * gap.slope[1][:n]) for sign in (1.0, -1.0))
            rows = np.einsum("nj,njk->nk", centre, state.G)
            away = np.abs(rows).sum(axis=1) + (np.abs(centre) * state.R).sum(axis=1)
            away += ((np.abs(half) + ROUND * np.abs(centre)) * reach).sum(axis=1)
            size = np.einsum("nj,njk->n", np.abs(centre), np.abs(state.G)) + np.abs(low[n:]) + np.abs(high[n:])
            away = away * (1.0 + ROUND) + ROUND * size + 1e-300
            least, most = low[n:] - away, high[n:] + away
        known = least <= most
        low[:n] = np.where(known, np.maximum(low[:n], least), low[:n])
        high[:n] = np.where(known, np.minimum(high[:n], most), high[:n])
        return low, high

    perhaps, surely = np.zeros(n, bool), np.ones(n, bool)
    for way, ended in runs(flow.over, np.concatenate([around, points]), True, False, narrow=narrow):
        possible, said, known = way.possible[:n], ended_of(ended, way, 2 * n)[:n], way.finite[:n]
        perhaps |= possible & (said[:, 0] | ~known)
        surely &= ~possible | (said[:, 1] & known)
    return np.stack([perhaps, surely & perhaps], axis=1)


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
