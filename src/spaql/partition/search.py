"""Finding balls.

The path of a state through the tree, the leaves relevant to a state, the leaf that contains a state and an action.
"""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined
from spaql.partition.forest import (
    COUNT_BITS,
    COUNT_MASK,
    DEEPEST,
    MAX_DEPTH,
    Forest,
    action_parts,
    allocate,
    block,
    child_key,
    part_towards,
    root_key,
    worth,
)
from spaql.plants.axes import Space

HALF = 1 << (MAX_DEPTH - 1)


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
def relevant(forest: Forest, space: Space, root: int, path: Array, stack: Array, found: Array, q: Array) -> int:
    """All leaves of a tree whose state part contains the state of `path`: in child order into `found`, values into `q`.

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
            found[count].ball, found[count].key, q[count] = index, key, ball.q
            count += 1
            continue
        parts = action_parts(space, key)
        base = block(forest, space, index, path[ball.depth], parts)
        if base == 0:
            for part in range(parts):
                found[count].ball, found[count].key = index, child_key(space, key, ball.depth, part)
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
