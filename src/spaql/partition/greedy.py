"""Finding balls in a forest, and the greedy policy as a state-only tree: its leaves know the best ball for each state.

Evaluation asks for the greedy ball millions of times between two changes of the partition. Merging the balls of all
actions over each state cell costs 10-20 us and makes the answer one descent without searching over actions.

A cell of the merged tree of a full forest has 2^d sub-cells; a cell of a sparse forest (merge.py) has
two, the halves along one coordinate after the other, so that states which nobody visited stay in large cells.
"""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined
from spaql.partition.forest import (
    COUNT_BITS,
    COUNT_MASK,
    DEEPEST,
    MAX_DEPTH,
    Forest,
    action_centre,
    action_parts,
    allocate,
    block,
    child_key,
    part_towards,
    root_key,
    worth,
)  # fmt: skip
from spaql.plants.axes import Space
from spaql.plants.chart import Chart

HALF = 1 << (MAX_DEPTH - 1)
CELL = np.dtype([("key", "i8"), ("spread", "f8"), ("ball", "i4")], align=True)
ENTRY = np.dtype([("key", "i8"), ("ball", "i4"), ("fork", "i4")], align=True)  # fork: while merging a sparse forest
LEVEL = np.dtype(
    [("q", "f8"), ("key", "i8"), ("ball", "i4"), ("base", "i4"), ("orthant", "i4"), ("low", "i4"), ("high", "i4")],
    align=True,
)
USED = 0  # entry of `Greedy.size`
LOW_HALF = (1 << 32) - 1


class Greedy(NamedTuple):
    # int64: first sub-cell | (sub-cells - 1) << 32, or the cell itself if it is a leaf; cell t: root of tree t
    jump: Array
    # of CELL: greedy ball, its action key, radius of its action interval in the cube or number of its actions
    cells: Array
    centre: Array  # float64 (axes, cells): physical centre of its action interval, or the first of its actions
    size: Array  # int64: [cells in use]
    depth: Array  # int64 per tree
    undecided: Array  # int64 per tree: 1 if some leaf may have a list of several actions


class Scratch(NamedTuple):
    """Working memory of searches in one forest."""

    stack: Array  # of ENTRY
    leaves: Array  # of ENTRY: those relevant to a state
    q: Array  # values of these leaves
    weight: Array  # their cumulative Boltzmann weights
    levels: Array  # of LEVEL: cells under way in `merge`
    path: Array  # int64 per level: orthants of the state
    next_path: Array  # the same for the state after the step
    x: Array  # the state in the cube
    next_x: Array
    chosen: Array  # int64: the ball whose action is applied, and its action key


def cell_room(space: Space, forest: Forest) -> int:
    """Cells the merged tree can need: a cell is split only where a ball over it is split, or a fork of such a ball."""
    return space.trees + 2 * len(forest.forks) if len(forest.forks) else len(forest.balls)


def new_greedy(space: Space, forest: Forest) -> Greedy:
    """Working memory for the policy of a forest, as long as the forest does not outgrow its arrays."""
    room = cell_room(space, forest)
    return Greedy(
        np.zeros(room, np.int64),
        np.zeros(room, CELL),
        np.zeros((max(space.k, 1), room)),
        np.zeros(1, np.int64),
        np.zeros(space.trees, np.int64),
        np.zeros(space.trees, np.int64),
    )


def scratch_width(space: Space, forest: Forest) -> int:
    """The most leaves over one state.

    Full: each split over the state made 2^d times as many balls as lie over it. Sparse: every ball may lie over the
    state, and every split ball may stand for a block.
    """
    parts = 1 << space.k if space.k else space.cut
    if len(forest.forks) == 0:
        return len(forest.balls) // (1 << space.d) + parts + 2
    # a list is cut into single actions only once
    return len(forest.balls) * (1 + (1 if space.cut > 2 else parts)) + parts + 2


def new_scratch(space: Space, forest: Forest) -> Scratch:
    width, sparse = scratch_width(space, forest), len(forest.forks) > 0
    return Scratch(
        stack=np.zeros(width + (space.d * len(forest.balls) if sparse else 0), ENTRY),
        leaves=np.zeros(width, ENTRY),
        q=np.zeros(width),
        weight=np.zeros(width),
        levels=np.zeros((space.d if sparse else 1) * MAX_DEPTH + 1, LEVEL),
        path=np.zeros(MAX_DEPTH, np.int64),
        next_path=np.zeros(MAX_DEPTH, np.int64),
        x=np.zeros(space.d),
        next_x=np.zeros(space.d),
        chosen=np.zeros(2, np.int64),
    )


# -- the merged tree ---------------------------------------------------------------------------------------------------


@inlined
def settle(space: Space, chart: Chart, greedy: Greedy, tree: int, index: int, ball: int, key: int, depth: int) -> None:
    """A leaf of the merged tree: store the greedy ball and its action."""
    greedy.jump[index] = index
    cell = greedy.cells[index]
    cell.ball, cell.key = ball, key
    if space.k > 0:
        for axis in range(space.k):
            centre = action_centre(space, key, depth, axis)
            greedy.centre[axis, index] = chart.acts[axis].centre + chart.acts[axis].scale * centre
        cell.spread = 0.5**depth
    else:
        greedy.centre[0, index] = chart.values[key >> COUNT_BITS]
        cell.spread = key & COUNT_MASK
        if (key & COUNT_MASK) > 1:
            greedy.undecided[tree] = 1


@inlined
def coordinates(last: int, d: int, done: int) -> tuple[int, int]:
    """First and end of the state coordinates along which a cell is cut; `last` is the number of its last sub-cell.

    With 2^d sub-cells all coordinates; with two the next coordinate, if `done` coordinates are cut on this level.
    """
    return (0, d) if last == (1 << d) - 1 else (done, done + 1)


@inlined
def descend(greedy: Greedy, tree: int, d: int, path: Array) -> int:
    """The leaf cell of the merged tree that contains a state."""
    cell, level, next_j = tree, 0, 0
    while greedy.jump[cell] >> 32 != 0:
        _, next_j = coordinates(greedy.jump[cell] >> 32, d, next_j)
        orthant = (path[level] >> (d - next_j)) & (greedy.jump[cell] >> 32)
        cell = (greedy.jump[cell] & LOW_HALF) + orthant
        if next_j == d:
            level, next_j = level + 1, 0
    return cell


# -- the forest itself: the path of a state, the leaves relevant to it, the leaf of a state and an action --------------


@inlined
def cell_of(x: float) -> np.int32:
    """Index of a cube coordinate in the finest grid, counted from the upper end.

    `x` is finite and at most a rounding outside [-1, 1]. Scaling by a power of two and flooring are exact, so a point
    belongs to the same cell whatever computed it.
    """
    below = np.int32(np.floor(x * HALF)) + np.int32(HALF)
    return np.int32(2 * HALF - 1) - min(max(below, np.int32(0)), np.int32(2 * HALF - 1))


@inlined
def find_path(forest: Forest, x: Array, path: Array) -> None:
    """The orthant a state lies in, at every depth of the forest and one more: the path holds after a split too."""
    d, levels = len(x), min(forest.size[DEEPEST] + 1, MAX_DEPTH)
    for level in range(levels):
        path[level] = 0
    for j in range(d):
        cell = cell_of(x[j])
        for level in range(levels):
            path[level] |= ((cell >> (MAX_DEPTH - 1 - level)) & 1) << (d - 1 - j)


@inlined
def relevant(forest: Forest, space: Space, root: int, path: Array, stack: Array, leaves: Array, q: Array) -> int:
    """All leaves of a tree whose state part contains the state of `path`: in child order, values into `q`.

    An unallocated leaf is named by the ball that stands for it: see `allocated`. Returns the number of leaves.
    """
    count = 0
    stack[0].ball, stack[0].key = root, root_key(space)
    top = 1
    while top > 0:
        top -= 1
        index, key = stack[top].ball, stack[top].key
        ball = forest.balls[index]
        if ball.first == 0:
            leaves[count].ball, leaves[count].key, q[count] = index, key, ball.q
            count += 1
            continue
        parts = action_parts(space, key)
        base = block(forest, space, index, path[ball.depth], parts)
        if base == 0:
            for part in range(parts):
                leaves[count].ball, leaves[count].key = index, child_key(space, key, ball.depth, part)
                q[count] = worth(forest, index)
                count += 1
            continue
        for part in range(parts - 1, -1, -1):
            stack[top].ball, stack[top].key = base + part, child_key(space, key, ball.depth, part)
            top += 1
    return count


@inlined
def last_argmax(q: Array, count: int) -> int:
    """Position of the greedy leaf among `relevant` ones; ties: the last in child order."""
    best = 0
    for i in range(1, count):
        if q[i] >= q[best]:
            best = i
    return best


@inlined
def containing(forest: Forest, space: Space, root: int, path: Array, action: Array) -> tuple[int, int]:
    """The leaf that contains a state and an action, with its key; it will be updated, so it is allocated if needed.

    `action`: cube coordinates, or the index in a finite set.
    """
    index, key = root, root_key(space)
    while forest.balls[index].first != 0:
        ball = forest.balls[index]
        part = 0
        if space.k > 0:
            for axis in range(space.k):
                lower = (cell_of(action[axis]) >> (MAX_DEPTH - 1 - ball.depth)) & 1
                part |= lower << (space.k - 1 - axis)
        elif (key & COUNT_MASK) > 1 and space.cut > 2:
            part = int(action[0]) - (key >> COUNT_BITS)
        elif (key & COUNT_MASK) > 1 and action[0] >= (key >> COUNT_BITS) + (key & COUNT_MASK) // 2:
            part = 1
        parts = action_parts(space, key)
        first = block(forest, space, index, path[ball.depth], parts)
        index = (allocate(forest, space, index, path[ball.depth], parts) if first == 0 else first) + part
        key = child_key(space, key, ball.depth, part)
    return index, key


@apart
def allocated_below(forest: Forest, space: Space, root: int, path: Array, index: int, key: int) -> int:
    """The child, with this action key, of the split ball `index` over the state of `path`: allocates its block."""
    ball, ball_key = root, root_key(space)
    while True:
        depth, parts = forest.balls[ball].depth, action_parts(space, ball_key)
        part = part_towards(space, ball_key, depth, key)
        if ball == index:
            return allocate(forest, space, index, path[depth], parts) + part
        ball = block(forest, space, ball, path[depth], parts) + part
        ball_key = child_key(space, ball_key, depth, part)


@inlined
def allocated(forest: Forest, space: Space, root: int, path: Array, index: int, key: int) -> int:
    """The leaf with this action key over the state of `path`; `index`: the leaf, or the ball that stands for it."""
    return index if forest.balls[index].first == 0 else allocated_below(forest, space, root, path, index, key)
