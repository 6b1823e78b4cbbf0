"""The checker's compiled work on many sets { c + G xi + r : |xi_k| <= 1, |r_i| <= R_i } cut with B: see
checked_sets.py."""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel

ROUND = 2e-13  # more than the relative rounding of the sums here, of at most some 1,500 terms
SLACK = 1e-9  # of a noise symbol: more than the rounding of where it is cut
LOST = 1e-15  # of a part of a box, by the way to its middle and back


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


@kernel
def map_way(box: Array, low: Array, high: Array, h: float, way: Array, holds: Array) -> float:
    """Picard's operator X + [0, h] f(way), with f in [low, high] (variables, sets). A way that it maps into itself
    holds all solutions, and so does what it is mapped to; any other way is made larger. Returns the widest side."""
    widest = 0.0
    for n in range(box.shape[0]):
        inside = True
        for i in range(low.shape[0]):
            least, most = _mapped(box[n, i, 0], box[n, i, 1], low[i, n], high[i, n], h)
            inside &= way[n, i, 0] <= least and most <= way[n, i, 1]
            widest = max(widest, most - least) if most - least >= 0.0 else np.inf
        holds[n] |= inside
        for i in range(low.shape[0]):
            least, most = _mapped(box[n, i, 0], box[n, i, 1], low[i, n], high[i, n], h)
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


@kernel
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


@kernel
def mean_values(
    c: Array, G: Array, middle: Array, whole: Array, parts: int, sl: Array, sh: Array, at_low: Array, at_high: Array,
    rest: Array, c2: Array, G2: Array, R2: Array,
) -> bool:  # fmt: skip
    """What a program with these slopes, (results, inputs, parts * sets), over boxes `towards` the whole, makes of sets:
    c' = its value in the middle, G' = J G, and R' all that this leaves. False: it is not known."""
    count, d, width = c.shape[0], c.shape[1], middle.shape[1]
    known = True
    for n in range(count):
        for i in range(d):
            centre = 0.5 * (at_low[i, n] + at_high[i, n])
            left, size = (at_high[i, n] - at_low[i, n]) + rest[n, i], abs(centre)
            for k in range(G.shape[2]):
                G2[n, i, k] = 0.0
            for j in range(width):
                low, high = 0.0, 0.0
                for part in range(parts):
                    low, high = low + sl[i, j, part * count + n] / parts, high + sh[i, j, part * count + n] / parts
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
            known &= R2[n, i] < np.inf
    return known
