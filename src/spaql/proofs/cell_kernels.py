"""Compiled loops over cells: which of them stay, which arrive, and where a simulation of their
centres leads."""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.proofs.followed import DONE, Following, Grid, Stack, follow
from spaql.proofs.loop_model import ClosedLoop
from spaql.proofs.machine import run
from spaql.proofs.sets import SetWork

LONGEST = 400  # steps of the simulation that tells in which order cells are tried


@kernel
def stay(
    loop: ClosedLoop,
    w: SetWork,
    st: Stack,
    grid: Grid,
    other: Grid,
    cells: Array,
    task: Following,
    touched: Array,
    box: Array,
) -> int:
    """Tries cells of the grid once; those that do not stay get the bound -1. Returns how many
    went."""
    d, gone = loop.states, 0
    for n in range(len(cells)):
        cell = rest = cells[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            box[i, 0], box[i, 1] = _side(grid, i, at), _side(grid, i, at + 1)
        if follow(loop, w, st, box, task, grid, other) != DONE:
            grid.bound[cell] = -1
            touched[cell] = 1
            gone += 1
    return gone


@kernel
def induct(
    loop: ClosedLoop,
    w: SetWork,
    st: Stack,
    fine: Grid,
    grid: Grid,
    blocks: Array,
    size: int,
    task: Following,
    box: Array,
    worst: Array,
) -> int:
    """Tries blocks of size^d cells, given by their first cells, in this order. Those that arrive
    get their bound.

    Returns how many blocks arrived; `worst` becomes their bounds, or -1.
    """
    d, arrived = loop.states, 0
    for n in range(len(blocks)):
        rest = blocks[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            box[i, 0], box[i, 1] = _side(grid, i, at), _side(grid, i, at + size)
            st.corner[0, i], st.corner[1, i], st.corner[2, i] = at, at + size - 1, at
        worst[n] = -1
        if follow(loop, w, st, box, task, fine, grid) != DONE:
            continue
        worst[n] = int(st.answer[0])
        arrived += 1
        rest = blocks[n]
        for i in range(d - 1, -1, -1):
            at = rest % grid.shape[i]
            rest //= grid.shape[i]
            st.corner[0, i], st.corner[1, i], st.corner[2, i] = at, at + size - 1, at
        while True:
            cell = 0
            for i in range(d):
                cell = cell * grid.shape[i] + st.corner[2, i]
            grid.bound[cell] = worst[n]
            i = d - 1
            while i >= 0:
                st.corner[2, i] += 1
                if st.corner[2, i] <= st.corner[1, i]:
                    break
                st.corner[2, i] = st.corner[0, i]
                i -= 1
            if i < 0:
                break
    return arrived


@inlined
def _side(grid: Grid, i: int, at: int) -> float:
    """Where cell number `at` begins along variable i: the same number for the cell before, which
    ends there."""
    side: float = grid.low[i] + at * grid.step[i]
    return side


@kernel
def arrivals(
    loop: ClosedLoop,
    w: SetWork,
    fine: Grid,
    states: Array,
    steps: Array,
    lowest: Array,
    highest: Array,
) -> None:
    """By simulation in the middle of ranges: after how many steps a state is in a known cell of
    `fine`.

    `states` become the last ones, `lowest` and `highest` go around all of them.
    """
    d, m = loop.states, loop.actions
    for n in range(len(states)):
        for i in range(d):
            w.shrunk[i, 0] = w.shrunk[i, 1] = states[n, i]
        steps[n] = LONGEST
        for step in range(LONGEST):
            inside, cell = True, 0
            for i in range(d):
                at = np.floor((w.shrunk[i, 0] - fine.low[i]) / fine.step[i])
                inside &= (at >= 0.0) & (at < fine.shape[i])
                cell = cell * fine.shape[i] + (int(at) if inside else 0)
                lowest[i], highest[i] = (
                    min(lowest[i], w.shrunk[i, 0]),
                    max(highest[i], w.shrunk[i, 0]),
                )
            if inside and fine.bound[cell] >= 0:
                steps[n] = step
                break
            run(loop.tape, loop.begins[-2], loop.begins[-1], w.shrunk, False, False, w.r, w.out)
            for o in range(loop.seen):
                w.seen.middle[o, 0] = 0.5 * (w.out.box[o, 0] + w.out.box[o, 1])
            _act(loop, w)
            for q in range(m):
                w.shrunk[d + q, 0] = w.shrunk[d + q, 1] = w.applied[q, 0]
            for q in range(len(loop.noise)):
                w.shrunk[d + m + q, 0] = w.shrunk[d + m + q, 1] = 0.5
            for path in range(len(loop.begins) - 2):
                if (
                    run(
                        loop.tape,
                        loop.begins[path],
                        loop.begins[path + 1],
                        w.shrunk,
                        False,
                        True,
                        w.r,
                        w.out,
                    )
                    > 0
                ):
                    break
            for i in range(d):
                w.shrunk[i, 0] = w.shrunk[i, 1] = 0.5 * (w.out.box[i, 0] + w.out.box[i, 1])
        for i in range(d):
            states[n, i] = w.shrunk[i, 0]


@apart
def _act(loop: ClosedLoop, w: SetWork) -> None:
    """The action at what is seen, in `w.applied`."""
    node = 0
    while loop.feature[node] >= 0:
        total = -loop.cut[node]
        for o in range(loop.seen):
            total += loop.weights[node, o] * w.seen.middle[o, 0]
        node = loop.high[node] if total >= 0.0 else loop.low[node]
    for q in range(loop.actions):
        total = loop.offsets[node, q]
        for o in range(loop.seen):
            total += loop.gains[node, q, o] * w.seen.middle[o, 0]
        for k in range(loop.pieces.shape[2]):
            if loop.pieces[node, q, k, 0] <= total:
                w.applied[q, 0] = loop.pieces[node, q, k, 2] + loop.pieces[node, q, k, 3] * total
    if loop.scored == 1:
        best, highest = 0, -np.inf
        for k in range(len(loop.values)):
            total = loop.offsets[node, k]
            for o in range(loop.seen):
                total += loop.gains[node, k, o] * w.seen.middle[o, 0]
            if total > highest:
                best, highest = k, total
        w.applied[0, 0] = loop.values[best]
