"""The greedy policy of any forest, built anew or refreshed where it has changed."""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.partition.forest import Forest, action_parts, child_key, level_of, root_key, worth
from spaql.partition.greedy import LOW_HALF, USED, Greedy, Scratch, settle
from spaql.plants.axes import Space
from spaql.plants.chart import Chart

# -- the merged policy of a sparse forest: a binary tree that halves one state coordinate after the other --------------
#
# A cell is halved only where a fork of the forest is.

@inlined
def sort_out(
    forest: Forest, stack: Array, low: int, high: int, best: int, best_key: int, best_q: float
) -> tuple[int, int, int, float]:
    """Of the balls `stack[low:high]` leaves compete, and split balls stay, each at its first fork.

    Returns the new end of the stack, and ball, key and Q of the best leaf.
    """
    keep = low
    for i in range(low, high):
        index, key = stack[i].ball, stack[i].key
        ball = forest.balls[index]
        if ball.first != 0:
            stack[keep].ball, stack[keep].key, stack[keep].fork = index, key, ball.first
            keep += 1
        elif ball.q > best_q or (ball.q == best_q and key > best_key):
            best, best_key, best_q = index, key, ball.q
    return keep, best, best_key, best_q


@inlined
def opened(greedy: Greedy, cell: int, count: int) -> int:
    """The first sub-cell of a cell; one that was a leaf gets `count` of them."""
    if greedy.jump[cell] >> 32 == 0:
        base = greedy.size[USED]
        greedy.size[USED] += count
        for i in range(base, base + count):
            greedy.jump[i] = i
        greedy.jump[cell] = base | ((count - 1) << 32)
    first: int = greedy.jump[cell] & LOW_HALF
    return first


@inlined
def halve(
    forest: Forest, space: Space, stack: Array, low: int, high: int, level: int, side: int,
    best: int, best_key: int, best_q: float,
) -> tuple[int, int, int, float]:  # fmt: skip
    """One half of a cell: the balls and forks to which the forks `stack[low:high]` lead are put at `high`.

    `level` is that of the cell, d for every depth. Where nothing is allocated, the unallocated children compete; of
    equal children the last part wins. Returns the new end of the stack, and ball, key and Q of the best leaf.
    """
    end, last = high, level % space.d == space.d - 1
    for i in range(low, high):
        index, key = stack[i].ball, stack[i].key
        target = forest.forks[stack[i].fork, side]
        if target != 0 and not last:
            stack[end].ball, stack[end].key, stack[end].fork = index, key, target
            end += 1
            continue
        parts, depth = action_parts(space, key), forest.balls[index].depth
        if target != 0:
            for part in range(parts):
                stack[end].ball, stack[end].key = target + part, child_key(space, key, depth, part)
                end += 1
            continue
        q, child = worth(forest, index), child_key(space, key, depth, parts - 1)
        if q > best_q or (q == best_q and child > best_key):
            best, best_key, best_q = index, child, q
    return end, best, best_key, best_q


@apart
def merge_sparse(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, cell: int, level: int,
    low: int, high: int, best: int, best_key: int,
) -> None:  # fmt: skip
    """(Re)build the merged tree below `cell`; `level` is d for every depth and one for every halving.

    `scratch.stack[low:high]`: the balls over the cell, or the forks of balls that are being halved; `best`: the greedy
    ball among the leaves over the cell that are not finer (-1: none).
    """
    stack, levels, top_level = scratch.stack, scratch.levels, level
    best_q = worth(forest, best) if best >= 0 else -np.inf
    if level == 0:
        greedy.undecided[tree] = 0
    while True:
        if level % space.d == 0:
            high, best, best_key, best_q = sort_out(forest, stack, low, high, best, best_key, best_q)
        if high == low:
            settle(space, chart, greedy, tree, cell, best, best_key, level_of(forest, best))
            greedy.depth[tree] = max(greedy.depth[tree], -(-level // space.d))
        else:
            here = levels[level]
            here.base, here.orthant, here.low, here.high = opened(greedy, cell, 2), 0, low, high
            here.ball, here.key, here.q = best, best_key, best_q
            level += 1
        while level > top_level and levels[level - 1].orthant == 2:
            level -= 1
        if level == top_level:
            return
        here = levels[level - 1]
        side = here.orthant
        here.orthant += 1
        cell, low = here.base + side, here.high
        high, best, best_key, best_q = halve(
            forest, space, stack, here.low, here.high, level - 1, side, here.ball, here.key, here.q
        )


@apart
def merge_sparse_after(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, path: Array, depth: int
) -> None:  # fmt: skip
    """Refresh the merged tree after the ball of depth `depth` over the state of `path` has changed."""
    stack = scratch.stack
    stack[0].ball, stack[0].key = tree, root_key(space)
    low, high, cell, level = 0, 1, tree, 0
    best, best_key, best_q = -1, 0, -np.inf
    while level < depth * space.d and greedy.jump[cell] >> 32 != 0:
        if level % space.d == 0:
            high, best, best_key, best_q = sort_out(forest, stack, low, high, best, best_key, best_q)
        side = (path[level // space.d] >> (space.d - 1 - level % space.d)) & 1
        end, best, best_key, best_q = halve(forest, space, stack, low, high, level, side, best, best_key, best_q)
        low, high = high, end
        cell = (greedy.jump[cell] & LOW_HALF) + side
        level += 1
    merge_sparse(forest, space, chart, greedy, scratch, tree, cell, level, low, high, best, best_key)


@inlined
def merge(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, cell: int, depth: int,
    low: int, high: int, best: int, best_key: int,
) -> None:  # fmt: skip
    """(Re)build the merged tree below `cell`, whose depth is `depth`.

    `scratch.stack[low:high]` are the balls of that depth over the cell; `best` is the greedy ball among the shallower
    leaves over the cell (-1: none). Ties go to the larger action key, which is later in child order.
    """
    balls, stack, levels = forest.balls, scratch.stack, scratch.levels
    top_depth = depth
    best_q = balls[best].q if best >= 0 else -np.inf
    if depth == 0:
        greedy.undecided[tree] = 0
    sub_cells = 1 << space.d
    while True:
        high, best, best_key, best_q = sort_out(forest, stack, low, high, best, best_key, best_q)
        if high == low:
            settle(space, chart, greedy, tree, cell, best, best_key, balls[best].depth)
            greedy.depth[tree] = max(greedy.depth[tree], depth)
        else:
            level = levels[depth]
            level.base, level.orthant, level.low, level.high = opened(greedy, cell, sub_cells), 0, low, high
            level.ball, level.key, level.q = best, best_key, best_q
            depth += 1
        # the next sub-cell, after going up from cells that are complete
        while depth > top_depth and levels[depth - 1].orthant == sub_cells:
            depth -= 1
        if depth == top_depth:
            return
        level = levels[depth - 1]
        cell = level.base + level.orthant
        best, best_key, best_q = level.ball, level.key, level.q
        low = high = level.high
        for i in range(level.low, level.high):
            key = stack[i].key
            parts = action_parts(space, key)
            first = balls[stack[i].ball].first + level.orthant * parts
            for part in range(parts):
                stack[high].ball, stack[high].key = first + part, child_key(space, key, depth - 1, part)
                high += 1
        level.orthant += 1


@kernel
def merge_all(forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch) -> None:
    """Build the merged trees of all partitions from nothing."""
    greedy.size[USED] = space.trees
    for tree in range(space.trees):
        greedy.jump[tree] = tree
        greedy.depth[tree] = 0
        scratch.stack[0].ball, scratch.stack[0].key = tree, root_key(space)
        if len(forest.forks) > 0:
            merge_sparse(forest, space, chart, greedy, scratch, tree, tree, 0, 0, 1, -1, 0)
        else:
            merge(forest, space, chart, greedy, scratch, tree, tree, 0, 0, 1, -1, 0)


@inlined
def merge_after(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, path: Array, depth: int
) -> None:
    """Refresh the merged tree after the ball of depth `depth` over the state of `path` has changed."""
    if len(forest.forks) > 0:
        merge_sparse_after(forest, space, chart, greedy, scratch, tree, path, depth)
        return
    balls, stack = forest.balls, scratch.stack
    stack[0].ball, stack[0].key = tree, root_key(space)
    low, high, cell = 0, 1, tree
    best, best_key, best_q = -1, 0, -np.inf
    for level in range(depth):
        end = high
        for i in range(low, high):
            key, ball = stack[i].key, balls[stack[i].ball]
            if ball.first != 0:
                parts = action_parts(space, key)
                for part in range(parts):
                    stack[end].ball = ball.first + path[level] * parts + part
                    stack[end].key = child_key(space, key, level, part)
                    end += 1
            elif ball.q > best_q or (ball.q == best_q and key > best_key):
                best, best_key, best_q = stack[i].ball, key, ball.q
        low, high = high, end
        cell = (greedy.jump[cell] & LOW_HALF) + path[level]
    merge(forest, space, chart, greedy, scratch, tree, cell, depth, low, high, best, best_key)
