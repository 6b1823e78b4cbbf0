"""The partition: a forest of balls (cubes in the sup metric) in flat arrays.

SPAQL keeps one tree, AQL one per step of the episode, in the same arrays. A ball's geometry is implied by the path to it, so only what
is learned is stored: `q`, `visits`, `depth`, and the index of its first child (0 for a leaf; no child has index 0). The children of a
ball are contiguous, in this order: state sub-cubes first, for every coordinate the upper half before the lower, the last coordinate
varying fastest; inside each sub-cube the actions, upper half before lower (continuous) or first part before second (list).

Cells are half-open: a point on a cut belongs to the upper cell, and the upper edge of the cube to the last cell.

The action part of a ball is one integer, its *action key*:
- continuous: the path of the action orthants, k bits per level, most significant level first;
- finite: first action << 31 | number of actions. A split cuts a list in two halves, or at once into single actions (`space.cut`).
Among balls that share a state, the later in child order has the larger key.
"""

from typing import Any, NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import entry, inlined

MAX_DEPTH = 15  # a cell of depth 15 would need 4**15 = 1e9 visits to split
COUNT_BITS = 31
COUNT_MASK = (1 << COUNT_BITS) - 1
MAX_AXES = 4  # continuous action axes: their key has k * MAX_DEPTH <= 63 bits
MAX_SPLIT = 1 << 14  # children of one split


class Space(NamedTuple):
    """Sizes of the problem, as the kernels need them."""

    d: int  # state dimensions
    k: int  # continuous action axes, 0 for a finite set
    m: int  # actions of a finite set, 0 if continuous
    horizon: int
    trees: int
    cut: int = 2  # parts a split makes of a list of actions: two halves, or more than 2 for single actions


BALL = np.dtype([("q", "f8"), ("first", "i4"), ("visits", "i4"), ("depth", "i4")], align=True)
USED, ARMS, SPLITS, DEEPEST = range(4)
ESTIMATE, CAP = 0, 1  # columns of `bounds`


class Forest(NamedTuple):
    balls: Array  # of BALL
    size: Array  # int64: balls in use, arms, splits made, depth of the deepest ball
    bounds: Array = np.zeros((0, 2))  # ZoomRL: per ball its estimate, and the bound on it from the balls around it; the others: empty


def new_forest(space: Space) -> Forest:
    """Every tree one ball: all states, all actions, Q = H, no visits."""
    forest = Forest(np.zeros(max(1024, space.trees), BALL), np.array([space.trees, space.trees, 0, 0]))
    forest.balls["q"][: space.trees] = space.horizon
    return forest


def grown(forest: Forest, room: int) -> Forest:
    """The same forest with room for `room` more balls (doubling)."""
    used, capacity = int(forest.size[USED]), len(forest.balls)
    return forest if used + room <= capacity else resized(forest, max(used + room, 2 * capacity))


def resized(forest: Forest, capacity: int) -> Forest:
    """A copy with room for `capacity` balls."""
    used = int(forest.size[USED])
    balls, bounds = np.zeros(capacity, BALL), np.zeros((capacity if len(forest.bounds) else 0, 2))  # the room behind is not even touched
    balls[:used], bounds[:used] = forest.balls[:used], forest.bounds[:used]
    return Forest(balls, forest.size.copy(), bounds)


def split_room(space: Space) -> int:
    """Children of one split at most: 2^d state sub-cubes times the parts of the actions."""
    return int(1 << space.d) * (1 << space.k if space.k else space.cut)


@inlined
def copy_into(source: Forest, target: Forest) -> None:
    """Make `target`, which has the room, the same partition as `source`."""
    for i in range(source.size[USED]):
        target.balls[i] = source.balls[i]
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
    ball.first = used
    for i in range(used, used + children):
        child = forest.balls[i]
        child.first, child.q, child.visits, child.depth = 0, ball.q, ball.visits, ball.depth + 1
    forest.size[USED] = used + children
    forest.size[ARMS] += children - 1
    forest.size[SPLITS] += 1
    forest.size[DEEPEST] = max(forest.size[DEEPEST], ball.depth + 1)


@entry
def list_leaves(forest: Forest, space: Space, state: Array, key: Array, stack: Array, leaf: Array, tree: Array) -> None:
    """State centre and action key of every ball; the leaves and their trees, in child order."""
    found = 0
    for root in range(space.trees):
        key[root] = root_key(space)
        stack[0] = root
        top = 1
        while top > 0:
            top -= 1
            ball = stack[top]
            first, depth = forest.balls[ball].first, forest.balls[ball].depth
            if first == 0:
                leaf[found], tree[found] = ball, root
                found += 1
                continue
            parts = action_parts(space, key[ball])
            for child in range((1 << space.d) * parts - 1, -1, -1):
                stack[top] = first + child
                top += 1
                key[first + child] = child_key(space, key[ball], depth, child % parts)
                for j in range(space.d):
                    lower = ((child // parts) >> (space.d - 1 - j)) & 1
                    state[first + child, j] = state[ball, j] + 0.5 ** (depth + 1) * (1 - 2 * lower)


def leaf_table(forest: Forest, space: Space) -> Array:
    """All leaves as a structured array, in cube coordinates."""
    used, arms = int(forest.size[USED]), int(forest.size[ARMS])
    states, keys = np.zeros((used, space.d)), np.empty(used, np.int64)
    leaf, tree = np.empty(arms, np.int32), np.empty(arms, np.int32)
    list_leaves(forest, space, states, keys, np.empty(used, np.int32), leaf, tree)
    depth, key = forest.balls["depth"][leaf], keys[leaf]
    fields: list[Any] = [("tree", "i4"), ("state", "f8", (space.d,)), ("radius", "f8"), ("depth", "i1"), ("visits", "i4"), ("q", "f8")]
    if space.k:
        fields.append(("action", "f8", (space.k,)) if space.k > 1 else ("action", "f8"))
    else:
        fields += [("action_mask", "u8" if space.m <= 64 else "O"), ("action_first", "i4"), ("action_count", "i4")]
    table = np.empty(arms, fields)
    table["tree"], table["state"], table["depth"], table["radius"] = tree, states[leaf], depth, 0.5 ** depth.astype(float)
    table["visits"], table["q"] = forest.balls["visits"][leaf], forest.balls["q"][leaf]
    if space.k:
        centres = np.empty((arms, space.k))
        action_centres(space, key, depth, centres)
        table["action"] = centres.reshape(table["action"].shape)
    else:
        table["action_first"], table["action_count"] = key >> COUNT_BITS, key & COUNT_MASK
        table["action_mask"] = [((1 << int(k & COUNT_MASK)) - 1) << int(k >> COUNT_BITS) for k in key]
    return table


@entry
def action_centres(space: Space, key: Array, depth: Array, centres: Array) -> None:
    for i in range(len(key)):
        for axis in range(space.k):
            centres[i, axis] = action_centre(space, key[i], depth[i], axis)
