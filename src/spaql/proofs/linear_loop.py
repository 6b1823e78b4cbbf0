"""The theorem of the linear loop: no start in a box ever leaves a region around it.

The region X is a box, |x_i - z_i| <= h_i, cut with |g (x - z)| <= l for the line g of every action.
One step is

    x' - z  =  A (x - z) + b w + e         for every x in X, with |w| <= W and |e_i| <= E_i

A is the Jacobian of the loop whose controller is a line u = u_z + g (x - z); w is what the
controller's actions may be off that line while x is in X, its score one column b = df/du for all
variables; e has the rest: curvature (mean value form, |J(x) - J(z)| |x - z| averaged over boxes
that shrink to z), other values of held parameters, noise, rounding. A law that pushes one way or
the other, sign(s), is a line and a band too: sign(s) - k s is within +-max(1, k S - 1) for
|s| <= S. That is why lines bound the region: over a box alone, S would be the sum of all gains
times all sides.

Let P_0 = 1, P_1, ... be any matrices (here the powers of A as computed), D_t = A P_t - P_{t+1}, and
E' such that

    E'  >=  E + sum_i |D_i| (|b| W + E') + max_t |D_t| y             y: half widths of the start box
    around z

Then x_t - z = P_t y_0 + sum_{i < t} P_i (b w_i + e_i) for some y_0 in the start box, |w_i| <= W,
|e_i| <= E', as long as x_0 ... x_{t-1} were in X. Proof: multiply by A, and count what is new and
the D_i ... as the new e. So all x_t are within

    |r (x_t - z)|  <=  max_t ( |r P_t| y + sum_{i < t} (|r P_i b| W + |r P_i| E') )        for every
    row r

and if that is inside X, for the unit rows and the lines g, the claim follows by induction. For
ever: P_T = 0 for some T, so that D_{T-1} = A P_{T-1}. A variable that is in the start or in the
range of a step from X is inside, too: what a step limits needs no sum.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.over_boxes import Workplace, limited
from spaql.proofs.remainders import ROUNDED, Frame, LinearRegion, Remainder, remainder

LONGEST = 6000  # steps after which what is left of a disturbance may be dropped
ROUNDS = 80  # of making the box larger, or smaller
SLOPES = np.geomspace(0.25, 2.5, 13)  # of the line through a threshold, in units of what corrects it in one step
WIDER = 1.02
GUESSED = 0.8  # of a guess, to come to the least region from below


# -- all steps ---------------------------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """What all later effects add up to, for states and lines (rows r) after 0, 1, ... steps."""

    begun: Array  # (steps, rows) |r P_t| y
    pushed: Array  # (steps + 1, rows, columns) sum_{i < t} |r P_i b|
    left: Array  # (steps + 1, rows, states) sum_{i < t} |r P_i|
    columns: Array  # (states, columns) those that are not zero
    driven: Array  # which these are
    defects: Array  # (states, states) sum_i |D_i|
    defect: Array  # (states,) max_t |D_t| y
    last: int  # whether `steps` end: 1, or go on for ever: 0


def sums_of(frame: Frame, start: Array, steps: int | None) -> Sums | None:
    """`start`: half widths; `steps` None: for ever. None: the sums have no end."""
    n, driven = len(frame.centre), np.flatnonzero(frame.all_columns.any(axis=0))
    columns = frame.all_columns[:, driven]
    P = powers_of(frame.matrix, None if steps is None else steps + 1)
    if P is None:
        return None
    after = np.concatenate([P[1:], np.zeros((1, n, n))])
    size = np.abs(frame.matrix) @ np.abs(P)
    defect = np.abs(frame.matrix @ P - after) + size * (4 * n * 2.0**-53) + 1e-300
    if steps is not None:
        defect[-1] = 0.0  # no step follows
    rows = np.vstack([np.eye(n), frame.gains])
    seen, lost = rows @ P, np.abs(rows) @ np.abs(P) * (8 * n * 2.0**-53)
    most = np.abs(seen) + lost
    pushed = np.cumsum(np.abs(seen @ columns) + lost @ np.abs(columns), axis=0)
    left, none = np.cumsum(most, axis=0), np.zeros((1, len(rows), n))
    return Sums(
        most @ start, np.concatenate([none[:, :, :1].repeat(columns.shape[1], axis=2), pushed]),
        np.concatenate([none, left]), columns, driven, defect.sum(axis=0), (defect @ start).max(axis=0),
        int(steps is not None),
    )  # fmt: skip


def reached(sums: Sums, left: Remainder) -> Array | None:
    """How far from z any state comes, and any line: (states + actions,)."""
    band, rest = left.band[sums.driven], left.rest
    pushed = np.abs(sums.columns) @ band
    for _ in range(20):
        rest_and_defects = (left.rest + sums.defects @ (pushed + rest) + sums.defect) * ROUNDED
        if (rest_and_defects <= rest).all():
            break
        rest = rest_and_defects * (1.0 + 1e-6)
    else:
        return None
    grown = sums.pushed @ band + sums.left @ rest
    begun = (sums.begun + grown[:-1]).max(axis=0)
    farthest: Array = np.maximum(begun, 0.0 if sums.last else grown[-1]) * ROUNDED + 1e-300
    return farthest


def powers_of(matrix: Array, count: int | None) -> Array | None:
    """1, A, A A, ... as computed, by doubling; `count` None: until they have died out. None: they do not."""
    powers, most = np.eye(len(matrix))[None], LONGEST if count is None else count
    while len(powers) < most:
        with np.errstate(all="ignore"):
            powers = np.concatenate([powers, matrix @ powers[-1] @ powers])
        size = np.abs(powers).max(axis=(1, 2))
        if not size.max() < 1e9:
            return None
        if count is None and (size < 1e-9).any():
            return powers[: int(np.argmax(size < 1e-9)) + 1]
    return None if count is None else powers[:count]


def invariant(
    place: Workplace, frame: Frame, start: Array, limits: Array, steps: int | None, guess: Array | None = None,
) -> tuple[LinearRegion, Remainder] | None:  # fmt: skip
    """A region that no start leaves, with what its linear step leaves over; None if none is found
    within the limits. `guess`: a size to begin with; the first region that does is then enough."""
    n, moving = place.loop.states, ~place.held
    away = np.max(np.abs(start - frame.centre[:, None]), axis=1) * ROUNDED
    begin = np.where(moving, away, 0.0)
    size = np.concatenate([away, np.abs(frame.gains) @ begin]) * WIDER + 1e-12  # of the box, and of the lines
    sums = sums_of(frame, begin, steps)
    if sums is None:
        return None
    if guess is not None:
        size = np.maximum(size, GUESSED * guess)
    always = limited(place, start)
    if ((frame.centre < always[:, 0]) | (frame.centre > always[:, 1]))[moving].any():
        return None
    farthest = np.max(np.abs(always - frame.centre[:, None]), axis=1)
    proven = None
    for _ in range(ROUNDS):
        box = np.where(moving[:, None], frame.centre[:, None] + size[:n, None] * [-1.0, 1.0], start)
        box = np.stack([np.maximum(box[:, 0], always[:, 0]), np.minimum(box[:, 1], always[:, 1])], axis=1)
        if (box[moving] < limits[moving, :1]).any() or (box[moving] > limits[moving, 1:]).any():
            return proven
        region = LinearRegion(box, size[n:])
        left = remainder(place, frame, region)
        need = reached(sums, left) if left.safe and not left.ends else None
        if need is None:
            return proven
        need[:n] = np.where(moving, np.minimum(need[:n], farthest), away)
        if (need <= size).all():
            done = proven is not None and bool((need > 0.99 * size).all())
            proven, size = (region, left), need * 1.001 + 1e-12
            if done or guess is not None:
                return proven
        elif proven is not None:
            return proven
        else:
            size = np.maximum(size, need * WIDER + 1e-12)
    return proven
