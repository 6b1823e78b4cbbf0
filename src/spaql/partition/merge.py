"""The greedy policy of any forest, built anew or refreshed where it has changed.

One walk serves both kinds of forests. In a full forest a cell is cut along all coordinates at once, into 2^d sub-cells,
wherever a ball over it is split. In a sparse forest it is halved along one coordinate after the other, d times for
every depth, and only where a fork is.
"""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.partition.forest import Forest, action_parts, child_key, level_of, root_key, worth
from spaql.partition.greedy import LOW_HALF, USED, Greedy, Scratch, settle
from spaql.plants.axes import Space
from spaql.plants.chart import Chart


@inlined
def sort_out(
    forest: Forest, stack: Array, low: int, high: int, best: int, best_key: int, best_q: float
) -> tuple[int, int, int, float]:
    """Of the balls `stack[low:high]` leaves compete, and split balls stay, each at its first child or fork.

    Returns the new end of the stack, and ball, key and Q of the best leaf. Ties go to the larger action key, which is
    later in child order.
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
def narrow(
    forest: Forest, space: Space, stack: Array, low: int, high: int, level: int, part_of_cell: int,
    best: int, best_key: int, best_q: float,
) -> tuple[int, int, int, float]:  # fmt: skip
    """One sub-cell of a cell of this level: the balls and forks to which the split balls `stack[low:high]` lead in it.

    They are put at `high`. Where nothing is allocated, the unallocated children compete; of equal children the last
    part wins. Returns the new end of the stack, and ball, key and Q of the best leaf.
    """
    end, sparse = high, len(forest.forks) > 0
    for i in range(low, high):
        index, key = stack[i].ball, stack[i].key
        parts, depth = action_parts(space, key), forest.balls[index].depth
        target = forest.forks[stack[i].fork, part_of_cell] if sparse else stack[i].fork + part_of_cell * parts
        if sparse and target != 0 and level % space.d != space.d - 1:
            stack[end].ball, stack[end].key, stack[end].fork = index, key, target
            end += 1
            continue
        if target != 0:
            for part in range(parts):
                stack[end].ball, stack[end].key = target + part, child_key(space, key, depth, part)
                end += 1
            continue
        q, child = worth(forest, index), child_key(space, key, depth, parts - 1)
        if q > best_q or (q == best_q and child > best_key):
            best, best_key, best_q = index, child, q
    return end, best, best_key, best_q


@inlined
def merge(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, cell: int, level: int,
    low: int, high: int, best: int, best_key: int,
) -> None:  # fmt: skip
    """(Re)build the merged tree below `cell`, which was cut `level` times: in a sparse forest d times for every depth.

    `scratch.stack[low:high]`: the balls over the cell, or the forks of balls that are being halved; `best`: the greedy
    ball among the leaves over the cell that are not finer (-1: none).
    """
    stack, levels, top_level = scratch.stack, scratch.levels, level
    sparse = len(forest.forks) > 0
    sub_cells = 2 if sparse else 1 << space.d
    best_q = worth(forest, best) if best >= 0 else -np.inf
    if level == 0:
        greedy.undecided[tree] = 0
    while True:
        if not sparse or level % space.d == 0:
            high, best, best_key, best_q = sort_out(forest, stack, low, high, best, best_key, best_q)
        if high == low:
            settle(space, chart, greedy, tree, cell, best, best_key, level_of(forest, best))
            greedy.depth[tree] = max(greedy.depth[tree], -(-level // space.d) if sparse else level)
        else:
            here = levels[level]
            here.base, here.orthant, here.low, here.high = opened(greedy, cell, sub_cells), 0, low, high
            here.ball, here.key, here.q = best, best_key, best_q
            level += 1
        # the next sub-cell, after going up from cells that are complete
        while level > top_level and levels[level - 1].orthant == sub_cells:
            level -= 1
        if level == top_level:
            return
        here = levels[level - 1]
        part = here.orthant
        here.orthant += 1
        cell, low = here.base + part, here.high
        high, best, best_key, best_q = narrow(
            forest, space, stack, here.low, here.high, level - 1, part, here.ball, here.key, here.q
        )


@kernel
def merge_all(forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch) -> None:
    """Build the merged trees of all partitions from nothing."""
    greedy.size[USED] = space.trees
    for tree in range(space.trees):
        greedy.jump[tree] = tree
        greedy.depth[tree] = 0
        scratch.stack[0].ball, scratch.stack[0].key = tree, root_key(space)
        merge(forest, space, chart, greedy, scratch, tree, tree, 0, 0, 1, -1, 0)


@inlined
def merge_after(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, tree: int, path: Array, depth: int
) -> None:
    """Refresh the merged tree after the ball of depth `depth` over the state of `path` has changed."""
    stack, sparse = scratch.stack, len(forest.forks) > 0
    cuts = depth * space.d if sparse else depth
    stack[0].ball, stack[0].key = tree, root_key(space)
    low, high, cell, level = 0, 1, tree, 0
    best, best_key, best_q = -1, 0, -np.inf
    while level < cuts and greedy.jump[cell] >> 32 != 0:
        part = (path[level // space.d] >> (space.d - 1 - level % space.d)) & 1 if sparse else path[level]
        if not sparse or level % space.d == 0:
            high, best, best_key, best_q = sort_out(forest, stack, low, high, best, best_key, best_q)
        end, best, best_key, best_q = narrow(forest, space, stack, low, high, level, part, best, best_key, best_q)
        low, high = high, end
        cell = (greedy.jump[cell] & LOW_HALF) + part
        level += 1
    merge(forest, space, chart, greedy, scratch, tree, cell, level, low, high, best, best_key)
