"""The greedy policy of any forest, built anew or refreshed where it has changed."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import apart, inlined
from spaql.partition.forest import Forest, action_parts, child_key, root_key
from spaql.partition.greedy import LOW_HALF, USED, Greedy, Scratch, settle
from spaql.partition.merge_sparse import merge_sparse, merge_sparse_after
from spaql.plants.chart import Chart
from spaql.plants.space import Space


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
        # leaves compete, split balls stay for the sub-cells
        keep = low
        for i in range(low, high):
            ball, key = stack[i].ball, stack[i].key
            if balls[ball].first != 0:
                stack[keep].ball, stack[keep].key = ball, key
                keep += 1
                continue
            q = balls[ball].q
            if q > best_q or (q == best_q and key > best_key):
                best, best_q, best_key = ball, q, key
        if keep == low:
            settle(space, chart, greedy, tree, cell, best, best_key, balls[best].depth)
            greedy.depth[tree] = max(greedy.depth[tree], depth)
        else:
            if greedy.jump[cell] >> 32 == 0:
                base = greedy.size[USED]
                greedy.size[USED] += sub_cells
                for i in range(base, base + sub_cells):
                    greedy.jump[i] = i
                greedy.jump[cell] = base | ((sub_cells - 1) << 32)
            base = greedy.jump[cell] & LOW_HALF
            level = levels[depth]
            level.base, level.orthant, level.low, level.high = base, 0, low, keep
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


@apart
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
