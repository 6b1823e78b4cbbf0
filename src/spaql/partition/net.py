"""A fixed net: every tree split down to the same depth before anything is learned."""

import math

import numpy as np

from spaql.arrays import Array
from spaql.compiling import entry
from spaql.partition.forest import BALL, USED, Forest, action_parts, child_key, new_forest, root_key, split
from spaql.plants.space import Space


def depth_of(step: float) -> int:
    """The coarsest halving of the cube whose centres leave no point farther away than `step` in the sup metric."""
    return max(0, math.ceil(-math.log2(step)))


def net_size(space: Space, depth: int) -> int:
    """Balls of a net, with the split balls above its cells."""
    cells = space.trees
    size = cells
    for level in range(depth):
        actions = space.m if space.m and level == 0 else 1  # a list is cut into single actions at once
        cells *= (1 << (space.d + space.k)) * actions
        size += cells
    return size


def new_net(space: Space, depth: int) -> Forest:
    """All cells of depth `depth`, Q = H, no visits."""
    size = net_size(space, depth)
    small = new_forest(space, sparse=False)  # every cell is there from the beginning
    forest = Forest(np.zeros(max(size, len(small.balls)), BALL), small.size)
    forest.balls[: space.trees] = small.balls[: space.trees]
    split_all(forest, space, np.zeros(size, np.int64), depth)
    return forest


@entry
def split_all(forest: Forest, space: Space, key: Array, depth: int) -> None:
    """Children come after their parents, so one pass in order reaches every ball."""
    for root in range(space.trees):
        key[root] = root_key(space)
    for index in range(len(key)):
        level, first = forest.balls[index].depth, forest.size[USED]
        if level == depth:
            return
        parts = action_parts(space, key[index])
        split(forest, space, index, key[index])
        for child in range(forest.size[USED] - first):
            key[first + child] = child_key(space, key[index], level, child % parts)
