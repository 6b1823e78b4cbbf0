"""The checker's compiled work on many sets { c + G xi + r : |xi_k| <= 1, |r_i| <= R_i } cut with B (checked_sets.py),
and their way through a substep of a differential equation (checked_flows.py)."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.proofs.checked_functions import outward
from spaql.proofs.checked_work import Work

ROUND = 2e-13  # more than the relative rounding of the sums here, of at most some 1,500 terms
SLACK = 1e-9  # of a noise symbol: more than the rounding of where it is cut
LOST = 1e-15  # of a part of a box, by the way to its middle and back
PARTS = 2  # boxes over which slopes are averaged
TRIES, FINER = 20, 2  # of a box around the way
WIDE = 1e6
WHY = (
    "", "the derivative is not defined everywhere on the way", "a way grows without bound",
    "no box around a way is mapped into itself", "a remainder is not bounded", "a set is not known",
)  # fmt: skip


@kernel
def boxes_around(c: Array, G: Array, R: Array, B: Array, box: Array) -> None:
    """The smallest boxes around sets; NaN where nothing is known."""
    for n in range(c.shape[0]):
        for i in range(c.shape[1]):
            size = R[n, i]
            for k in range(G.shape[2]):
                size += abs(G[n, i, k])
            size += ROUND * (size + abs(c[n, i])) + 1e-300
            low, high = c[n, i] - size, c[n, i] + size
            box[n, i, 0] = B[n, i, 0] if B[n, i, 0] > low else low
            box[n, i, 1] = B[n, i, 1] if B[n, i, 1] < high else high


@inlined
def _cut(c: Array, G: Array, R: Array, row: Array, sign: float, least: float) -> None:
    """One set, where sign * row . xi >= least: row_k xi_k >= least - the others' sizes. `row` may be one of G: of it
    only what is not yet cut is read, once."""
    total = 0.0
    for k in range(len(row)):
        total += abs(row[k])
    for k in range(len(row)):
        size = abs(row[k])
        if not size > 1e-9 * total:
            continue
        bound = (least - (total - size) * (1.0 + ROUND)) / size - SLACK
        if not bound > -1.0:
            continue
        bound = min(bound, 1.0)
        middle = 0.5 * (1.0 + bound) if sign * row[k] > 0.0 else -0.5 * (1.0 + bound)
        half = 0.5 * (1.0 - bound) + SLACK
        for i in range(len(c)):
            moved = middle * G[i, k]
            R[i] += 5e-16 * (abs(c[i]) + abs(moved) + abs(G[i, k]))
            c[i] += moved
            G[i, k] *= half


@kernel
def cut_all(c: Array, G: Array, R: Array, rows: Array, least: Array) -> None:
    for n in range(c.shape[0]):
        _cut(c[n], G[n], R[n], rows[n], 1.0, least[n])


@kernel
def tighten(c: Array, G: Array, R: Array, B: Array) -> None:
    """Noise symbols need not reach what the box cuts off."""
    for n in range(c.shape[0]):
        for i in range(c.shape[1]):
            for side in range(2):
                reach, sign = R[n, i], 1.0 - 2.0 * side
                for k in range(G.shape[2]):
                    reach += abs(G[n, i, k])
                inside = sign * (B[n, i, side] - c[n, i])
                if inside > -reach:
                    loose = R[n, i] * (1.0 + ROUND) + ROUND * abs(c[n, i])
                    _cut(c[n], G[n], R[n], G[n, i], sign, inside - loose)


# -- differential equations --------------------------------------------------------------------------------------------


class Equation(NamedTuple):
    """Lines of the programs of a plant, and which are results: f, the polynomial and action, x[K]; and a substep."""

    rates: Array
    polynomial: Array
    rest: Array
    rates_at: Array
    polynomial_at: Array
    rest_at: Array
    h: float  # at least its length
    power: float  # at least its K-th power


class FlowRoom(NamedTuple):
    """Memory `w` for so many sets."""

    numbers: Array  # (3, lines, PARTS * sets)
    slopes: Array  # (2, lines, inputs, PARTS * sets); beyond those of a program zero
    none: Array  # (1, 0, 1)
    said: Array  # (2, PARTS * sets)
    holds: Array  # (sets,)
    way: Array  # (sets, inputs, 2)
    lagrange: Array  # (sets, variables, 2)
    middle: Array  # (sets, inputs)
    whole: Array  # (sets, inputs, 2)
    rows: Array  # (PARTS * sets, inputs, 2)
    points: Array  # (sets, inputs, 2)
    at: Array  # (sets, states, 2)


def flow_room(equation: Equation, sets: int, d: int, states: int) -> FlowRoom:
    most = max(len(equation.rates), len(equation.polynomial), len(equation.rest))
    e, rows, width = np.empty, PARTS * sets, states + 1
    return FlowRoom(
        numbers=e((3, most, rows)), slopes=np.zeros((2, len(equation.polynomial), width, rows)), none=e((1, 0, 1)),
        said=np.ones((2, rows), np.bool_), holds=np.zeros(sets, np.bool_), way=np.zeros((sets, width, 2)),
        lagrange=e((sets, d, 2)), middle=e((sets, width)), whole=e((sets, width, 2)), rows=e((rows, width, 2)),
        points=e((sets, width, 2)), at=e((sets, states, 2)),
    )  # fmt: skip


@apart
def ranges(work: Work, lines: Array, boxes: Array, w: FlowRoom) -> bool:
    """Of all lines over boxes, into `w.numbers`. False: they are not defined everywhere."""
    for n in range(len(boxes)):
        w.said[0, n] = True
    low, high, error = w.numbers[0], w.numbers[1], w.numbers[2]
    work(lines, boxes, False, low, high, error, w.none, w.none, w.said[0], w.said[1])
    defined = True
    for n in range(len(boxes)):
        defined &= w.said[0, n]
    return defined


@kernel
def enclose_ways(work: Work, equation: Equation, box: Array, w: FlowRoom) -> int:
    """Boxes of state and action: a box that holds all states of a substep into `w.way`, and t^K x[K] over it, for t
    from 0 to h, into `w.lagrange`. Returns which of WHY not."""
    d, finer, held = w.lagrange.shape[1], 0, False
    for n in range(len(box)):
        w.holds[n] = False
        for i in range(box.shape[1]):
            w.way[n, i, 0], w.way[n, i, 1] = box[n, i, 0], box[n, i, 1]
    for _ in range(TRIES):
        if not ranges(work, equation.rates, w.way, w):
            return 1
        low, high = w.numbers[0], w.numbers[1]
        if not map_way(box, equation.rates_at, low, high, equation.h, w.way, w.holds) < WIDE:
            return 2
        held = True
        for n in range(len(box)):
            held &= w.holds[n]
        finer += held
        if finer == FINER:
            break
    if not held:
        return 3
    if not ranges(work, equation.rest, w.way, w):
        return 4
    for n in range(len(box)):
        for i in range(d):
            k = equation.rest_at[i]
            low, high = min(w.numbers[0, k, n], 0.0) * equation.power, max(w.numbers[1, k, n], 0.0) * equation.power
            w.lagrange[n, i, 0], w.lagrange[n, i, 1] = outward(low, high)
    return 0


@kernel
def move(
    work: Work, equation: Equation, c: Array, G: Array, box: Array, first: float, last: float, w: FlowRoom, c2: Array,
    G2: Array, R2: Array, B2: Array,
) -> int:  # fmt: skip
    """The sets around all states from the first to the last of these times of a substep, with `w` from `enclose_ways`;
    of sets without R, in these boxes."""
    count, states, d = c.shape[0], c.shape[1], w.lagrange.shape[1]
    for n in range(count):
        for i in range(states):
            w.middle[n, i], w.whole[n, i, 0], w.whole[n, i, 1] = c[n, i], box[n, i, 0], box[n, i, 1]
        w.middle[n, states], w.whole[n, states, 0], w.whole[n, states, 1] = 0.5 * (first + last), first, last
    towards(w.middle, w.whole, PARTS, w.rows, w.points)
    if not ranges(work, equation.polynomial, w.points, w):
        return 5
    for n in range(count):
        for i in range(states):
            k = equation.polynomial_at[i]
            w.at[n, i, 0], w.at[n, i, 1] = w.numbers[0, k, n], w.numbers[1, k, n]
    low, high, error = w.numbers[0], w.numbers[1], w.numbers[2]
    work(equation.polynomial, w.rows, False, low, high, error, w.slopes[0], w.slopes[1], w.said[0], w.said[1])
    lines = equation.polynomial_at
    if not mean_values(
        c, G, w.middle, w.whole, PARTS, lines, w.slopes[0], w.slopes[1], w.at, w.lagrange, c2, G2, R2
    ):  # fmt: skip
        return 5
    for n in range(count):
        for i in range(states):
            row = (PARTS - 1) * count + n
            least, most = low[lines[i], row], high[lines[i], row]
            if i < d:
                least, most = outward(least + w.lagrange[n, i, 0], most + w.lagrange[n, i, 1])
                least, most = max(least, w.way[n, i, 0]), min(most, w.way[n, i, 1])
            B2[n, i, 0], B2[n, i, 1] = least, most
    tighten(c2, G2, R2, B2)
    return 0


@apart
def map_way(box: Array, rates: Array, low: Array, high: Array, h: float, way: Array, holds: Array) -> float:
    """Picard's operator X + [0, h] f(way), with f in the lines `rates`. A way that it maps into itself
    holds all solutions, and so does what it is mapped to; any other way is made larger. Returns the widest side."""
    widest = 0.0
    for n in range(box.shape[0]):
        inside = True
        for i in range(len(rates)):
            least, most = _mapped(box[n, i, 0], box[n, i, 1], low[rates[i], n], high[rates[i], n], h)
            inside &= way[n, i, 0] <= least and most <= way[n, i, 1]
            widest = max(widest, most - least) if most - least >= 0.0 else np.inf
        holds[n] |= inside
        for i in range(len(rates)):
            least, most = _mapped(box[n, i, 0], box[n, i, 1], low[rates[i], n], high[rates[i], n], h)
            if holds[n]:
                way[n, i, 0], way[n, i, 1] = max(way[n, i, 0], least), min(way[n, i, 1], most)
            else:
                more = 0.1 * (most - least) + 1e-12 * (abs(least) + abs(most)) + 1e-15
                way[n, i, 0], way[n, i, 1] = min(way[n, i, 0], least - more), max(way[n, i, 1], most + more)
    return widest


@inlined
def _mapped(a: float, b: float, low: float, high: float, h: float) -> tuple[float, float]:
    least, most = a + min(h * low, 0.0), b + max(h * high, 0.0)
    # two roundings of each sum
    return least - 4e-16 * (abs(a) + abs(h * low)) - 1e-300, most + 4e-16 * (abs(b) + abs(h * high)) + 1e-300


@apart
def towards(middle: Array, whole: Array, parts: int, boxes: Array, points: Array) -> None:
    """Boxes that grow from a middle to the whole, the last ones of which hold it, (parts * sets, variables, 2)."""
    count, width = middle.shape
    for n in range(count):
        for j in range(width):
            at, low, high = middle[n, j], min(whole[n, j, 0], middle[n, j]), max(whole[n, j, 1], middle[n, j])
            points[n, j, 0] = points[n, j, 1] = at
            for part in range(parts):
                share = (part + 1.0) / parts
                least, most = at + share * (low - at), at + share * (high - at)
                boxes[part * count + n, j, 0] = least - LOST * (abs(least) + abs(at)) - 1e-300
                boxes[part * count + n, j, 1] = most + LOST * (abs(most) + abs(at)) + 1e-300


@apart
def mean_values(
    c: Array, G: Array, middle: Array, whole: Array, parts: int, lines: Array, sl: Array, sh: Array, at: Array,
    lagrange: Array, c2: Array, G2: Array, R2: Array,
) -> bool:  # fmt: skip
    """What a program with these slopes, (lines, inputs, parts * sets), over boxes `towards` the whole, makes of sets:
    c' = its value `at` the middle, G' = J G, and R' all that this leaves. False: it is not known."""
    count, d, width = c.shape[0], c.shape[1], middle.shape[1]
    known = True
    for n in range(count):
        for i in range(d):
            centre = 0.5 * (at[n, i, 0] + at[n, i, 1])
            left, size = at[n, i, 1] - at[n, i, 0], abs(centre)
            if i < lagrange.shape[1]:
                left += max(abs(lagrange[n, i, 0]), abs(lagrange[n, i, 1]))
            for k in range(G.shape[2]):
                G2[n, i, k] = 0.0
            for j in range(width):
                low, high = 0.0, 0.0
                for part in range(parts):
                    row = part * count + n
                    low, high = low + sl[lines[i], j, row] / parts, high + sh[lines[i], j, row] / parts
                slope = 0.5 * (low + high)
                reach = max(whole[n, j, 1] - middle[n, j], middle[n, j] - whole[n, j, 0], 0.0)
                left += (0.5 * (high - low) + ROUND * (abs(low) + abs(high))) * reach
                if j >= d:  # the time, no noise symbol of which is kept
                    left += abs(slope) * reach
                for k in range(G.shape[2] if j < d and slope != 0.0 else 0):
                    term = slope * G[n, j, k]
                    G2[n, i, k] += term
                    size += abs(term)
            c2[n, i], R2[n, i] = centre, left * (1.0 + ROUND) + ROUND * size + 1e-300
            known &= R2[n, i] < np.inf and abs(centre) < np.inf
    return known
