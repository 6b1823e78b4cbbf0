"""The partition: a forest of balls (cubes in the sup metric) in flat arrays.

SPAQL keeps one tree, AQL one per step of the episode, in the same arrays. A ball's geometry is implied by the path to
it, so only what is learned is stored: `q`, `visits`, `depth`, and `first`, which is 0 for a leaf and leads to the
children of a ball that was split. The order of the children: state sub-cubes first, for every coordinate the upper
half before the lower, the last coordinate varying fastest; inside each sub-cube a block with one ball per part of the
actions, upper half before lower (continuous) or first part before second (list).

- In a *full* forest all children of a ball are contiguous, and `first` is the first child.
- In a *sparse* forest (many state variables: most of the 2^d blocks of a split would never be visited) `first` is a
  fork: one binary choice per state coordinate leads to the block, and a block is allocated when a state in it is
  visited. Until then the split ball stands for its unallocated children, which would have its values. Arms are counted
  as if all children were allocated, as in the paper, and the learners behave to the bit as in a full forest.

Cells are half-open: a point on a cut belongs to the upper cell, and the upper edge of the cube to the last cell.

The action part of a ball is one integer, its *action key*:
- continuous: the path of the action orthants, k bits per level, most significant level first;
- finite: first action << 31 | number of actions. A split cuts a list in two halves, or at once into single actions
  (`space.cut`).
Among balls that share a state, the later in child order has the larger key.
"""

import math
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, entry, inlined
from spaql.plants.axes import Space

MAX_DEPTH = 15  # a cell of depth 15 would need 4**15 = 1e9 visits to split
COUNT_BITS = 31
COUNT_MASK = (1 << COUNT_BITS) - 1
SPARSE_FROM = 6  # state variables: with fewer, a full forest is small, and faster (benchmarks/dimensions.py)

BALL = np.dtype([("q", "f8"), ("first", "i4"), ("visits", "i4"), ("depth", "i4")], align=True)
# entries of `size`
USED = 0  # balls in use
ARMS = 1
SPLITS = 2  # splits made
DEEPEST = 3  # depth of the deepest ball
FORKS = 4  # forks in use
# columns of `bounds`, which only ZoomRL has
ESTIMATE = 0  # Q(B) in the equations
CAP = 1  # the bound from the balls around the ball
CHILD_Q = 2  # the index that the children of the ball begin with


class Forest(NamedTuple):
    balls: Array  # of BALL
    size: Array  # int64: USED, ARMS, SPLITS, DEEPEST, FORKS
    bounds: Array = np.zeros((0, 3))  # ZoomRL: ESTIMATE, CAP, CHILD_Q of every ball; empty for other learners
    # sparse: where the upper and the lower half lead, 0 where nothing is allocated; full: empty
    forks: Array = np.zeros((0, 2), np.int32)


def new_forest(space: Space, sparse: bool | None = None) -> Forest:
    """Every tree one ball: all states, all actions, Q = H, no visits. `sparse`: by default in many dimensions."""
    sparse = space.d >= SPARSE_FROM if sparse is None else sparse
    capacity = max(1024, space.trees)
    forks = np.zeros((fork_room(space, capacity) if sparse else 0, 2), np.int32)
    forest = Forest(np.zeros(capacity, BALL), np.array([space.trees, space.trees, 0, 0, 1]), forks=forks)
    forest.balls["q"][: space.trees] = space.horizon
    return forest


def fork_room(space: Space, capacity: int) -> int:
    """Forks that `capacity` balls can need: one per split, at most d - 1 more per block; fork 0 leads nowhere."""
    return space.d * capacity + 1


def grown(forest: Forest, space: Space, room: int) -> Forest:
    """The same forest with room for `room` more balls (doubling)."""
    used, capacity = int(forest.size[USED]), len(forest.balls)
    return forest if used + room <= capacity else resized(forest, space, max(used + room, 2 * capacity))


def resized(forest: Forest, space: Space, capacity: int) -> Forest:
    """A copy with room for `capacity` balls."""
    used, forked = int(forest.size[USED]), int(forest.size[FORKS])
    balls = np.zeros(capacity, BALL)  # the memory behind `used` is reserved, not touched
    bounds = np.zeros((capacity if len(forest.bounds) else 0, 3))
    forks = np.zeros((fork_room(space, capacity) if len(forest.forks) else 0, 2), np.int32)
    balls[:used], bounds[:used], forks[:forked] = forest.balls[:used], forest.bounds[:used], forest.forks[:forked]
    return Forest(balls, forest.size.copy(), bounds, forks)


def step_room(forest: Forest, space: Space) -> int:
    """Balls that one learning step can add: all children of a split, or one block."""
    return (1 if len(forest.forks) else int(1 << space.d)) * (1 << space.k if space.k else space.cut)


@apart
def copy_into(source: Forest, target: Forest) -> None:
    """Make `target`, which has the room, the same partition as `source`."""
    for i in range(source.size[USED]):
        target.balls[i] = source.balls[i]
    if len(source.forks) > 0:
        for i in range(source.size[FORKS]):
            target.forks[i, 0], target.forks[i, 1] = source.forks[i, 0], source.forks[i, 1]
    for i in range(len(source.size)):
        target.size[i] = source.size[i]


@inlined
def root_key(space: Space) -> int:
    return 0 if space.k > 0 else space.m


@inlined
def action_parts(space: Space, key: int) -> int:
    """Into how many parts a split cuts the actions of a ball."""
    if space.k > 0:
        return 1 << space.k
    count = key & COUNT_MASK
    return 1 if count == 1 else 2 if space.cut == 2 else count


@inlined
def child_key(space: Space, key: int, depth: int, part: int) -> int:
    """Action key of part `part` of a ball of depth `depth`."""
    if space.k > 0:
        return key | (part << (space.k * (MAX_DEPTH - 1 - depth)))
    first, count = key >> COUNT_BITS, key & COUNT_MASK
    if count == 1:
        return key
    if space.cut > 2:
        return ((first + part) << COUNT_BITS) | 1
    half = count // 2
    if part == 0:
        return (first << COUNT_BITS) | half
    return ((first + half) << COUNT_BITS) | (count - half)


@inlined
def part_towards(space: Space, key: int, depth: int, target: int) -> int:
    """The part of a ball's actions to which the actions of the key `target` belong."""
    if space.k > 0:
        return (target >> (space.k * (MAX_DEPTH - 1 - depth))) & ((1 << space.k) - 1)
    first, count, wanted = key >> COUNT_BITS, key & COUNT_MASK, target >> COUNT_BITS
    if count == 1:
        return 0
    if space.cut > 2:
        return wanted - first
    return 1 if wanted >= first + count // 2 else 0


@inlined
def action_centre(space: Space, key: int, depth: int, axis: int) -> float:
    """Centre of a ball's action interval on one axis, in the cube."""
    centre, radius = 0.0, 1.0
    for level in range(depth):
        radius *= 0.5
        part = key >> (space.k * (MAX_DEPTH - 1 - level))
        lower = (part >> (space.k - 1 - axis)) & 1
        centre += radius * (1 - 2 * lower)
    return centre


@inlined
def split(forest: Forest, space: Space, index: int, key: int) -> None:
    """Children inherit Q and visits. The caller has made room."""
    ball, used = forest.balls[index], forest.size[USED]
    children = (1 << space.d) * action_parts(space, key)
    if len(forest.forks) > 0:
        ball.first = _new_fork(forest)
    else:
        ball.first = used
        for i in range(used, used + children):
            child = forest.balls[i]
            child.first, child.q, child.visits, child.depth = 0, ball.q, ball.visits, ball.depth + 1
        forest.size[USED] = used + children
    forest.size[ARMS] += children - 1
    forest.size[SPLITS] += 1
    forest.size[DEEPEST] = max(forest.size[DEEPEST], ball.depth + 1)


@inlined
def block(forest: Forest, space: Space, index: int, orthant: int, parts: int) -> int:
    """The first of a split ball's children over one state sub-cube, 0 if these are not allocated."""
    node: int = forest.balls[index].first
    if len(forest.forks) == 0:
        return node + orthant * parts
    for j in range(space.d - 1, -1, -1):
        node = forest.forks[node, (orthant >> j) & 1]
    return node


@inlined
def worth(forest: Forest, index: int) -> float:
    """Q of a leaf, or of the unallocated children a split ball stands for."""
    ball = forest.balls[index]
    q: float = forest.bounds[index, CHILD_Q] if ball.first != 0 and len(forest.bounds) > 0 else ball.q
    return q


@inlined
def level_of(forest: Forest, index: int) -> int:
    """Depth of a leaf, or of the unallocated children a split ball stands for."""
    ball = forest.balls[index]
    depth: int = ball.depth + (1 if ball.first != 0 else 0)
    return depth


@inlined
def allocate(forest: Forest, space: Space, index: int, orthant: int, parts: int) -> int:
    """Make the children of a split ball over one state sub-cube. Returns the first; the caller has made room."""
    ball, forks = forest.balls[index], forest.forks
    node = ball.first
    for j in range(space.d - 1, 0, -1):
        side = (orthant >> j) & 1
        if forks[node, side] == 0:
            forks[node, side] = _new_fork(forest)
        node = forks[node, side]
    first: int = forest.size[USED]
    forks[node, orthant & 1] = first
    bounded, q = len(forest.bounds) > 0, worth(forest, index)
    for i in range(first, first + parts):
        child = forest.balls[i]
        child.first, child.q, child.visits, child.depth = 0, q, 0 if bounded else ball.visits, ball.depth + 1
        if bounded:
            forest.bounds[i, ESTIMATE], forest.bounds[i, CAP] = space.horizon, ball.q
    forest.size[USED] = first + parts
    return first


@inlined
def _new_fork(forest: Forest) -> int:
    fork: int = forest.size[FORKS]
    forest.forks[fork, 0], forest.forks[fork, 1] = 0, 0  # a forest copied into a larger one leaves its forks behind
    forest.size[FORKS] = fork + 1
    return fork


# -- a fixed net: every tree split down to the same depth before anything is learned -----------------------------------

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
