"""All leaves of a partition as a table."""

from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry
from spaql.partition.forest import (
    ARMS,
    CHILD_Q,
    COUNT_BITS,
    COUNT_MASK,
    DEEPEST,
    USED,
    Forest,
    action_centre,
    action_parts,
    block,
    child_key,
    root_key,
)
from spaql.plants.axes import Space

PENDING = np.dtype([("key", "i8"), ("ball", "i4"), ("unallocated", "i4")], align=True)


@entry
def list_leaves(
    forest: Forest, space: Space, stack: Array, centre: Array, leaf: Array, key: Array, tree: Array, state: Array
) -> None:  # fmt: skip
    """Ball, action key, tree and state centre of every leaf, in child order.

    The ball of an unallocated leaf is the one that stands for it. `stack`, `centre`: working memory, the balls still
    to be looked at.
    """
    found, d = 0, space.d
    for root in range(space.trees):
        stack[0].ball, stack[0].key, stack[0].unallocated = root, root_key(space), 0
        for j in range(d):
            centre[0, j] = 0.0
        top = 1
        while top > 0:
            top -= 1
            ball, ball_key = stack[top].ball, stack[top].key
            for j in range(d):
                state[found, j] = centre[top, j]  # of a split ball: overwritten when its children are on the stack
            if stack[top].unallocated == 1 or forest.balls[ball].first == 0:
                leaf[found], key[found], tree[found] = ball, ball_key, root
                found += 1
                continue
            parts, depth = action_parts(space, ball_key), forest.balls[ball].depth
            for orthant in range((1 << d) - 1, -1, -1):
                first = block(forest, space, ball, orthant, parts)
                for part in range(parts - 1, -1, -1):
                    stack[top].ball, stack[top].unallocated = (ball, 1) if first == 0 else (first + part, 0)
                    stack[top].key = child_key(space, ball_key, depth, part)
                    for j in range(d):
                        lower = (orthant >> (d - 1 - j)) & 1
                        centre[top, j] = state[found, j] + 0.5 ** (depth + 1) * (1 - 2 * lower)
                    top += 1


@entry
def action_centres(space: Space, key: Array, depth: Array, centres: Array) -> None:
    for i in range(len(key)):
        for axis in range(space.k):
            centres[i, axis] = action_centre(space, key[i], depth[i], axis)


def standing(forest: Forest, ball: Array) -> tuple[Array, Array, Array]:
    """Depth, visits and Q of leaves, given by their balls or by the balls that stand for them."""
    balls, unallocated = forest.balls[ball], forest.balls["first"][ball] != 0
    visits, q = balls["visits"], balls["q"]
    if len(forest.bounds):
        visits, q = np.where(unallocated, 0, visits), np.where(unallocated, forest.bounds[ball, CHILD_Q], q)
    return balls["depth"] + unallocated, visits, q


def leaf_table(forest: Forest, space: Space) -> Array:
    """All leaves as a structured array, in cube coordinates."""
    arms, pending = int(forest.size[ARMS]), _most_pending(forest, space)
    leaf, key, tree = np.empty(arms, np.int32), np.empty(arms, np.int64), np.empty(arms, np.int32)
    state = np.empty((arms, space.d))
    list_leaves(forest, space, np.zeros(pending, PENDING), np.empty((pending, space.d)), leaf, key, tree, state)
    depth, visits, q = standing(forest, leaf)
    fields: list[Any] = [("tree", "i4"), ("state", "f8", (space.d,)), ("radius", "f8"), ("depth", "i1")]
    fields += [("visits", "i4"), ("q", "f8")]
    if space.k:
        fields.append(("action", "f8", (space.k,)) if space.k > 1 else ("action", "f8"))
    else:
        fields += [("action_mask", "u8" if space.m <= 64 else "O"), ("action_first", "i4"), ("action_count", "i4")]
    table = np.empty(arms, fields)
    table["tree"], table["state"], table["depth"], table["radius"] = tree, state, depth, 0.5 ** depth.astype(float)
    table["visits"], table["q"] = visits, q
    if space.k:
        centres = np.empty((arms, space.k))
        action_centres(space, key, depth, centres)
        table["action"] = centres.reshape(table["action"].shape)
    else:
        table["action_first"], table["action_count"] = key >> COUNT_BITS, key & COUNT_MASK
        kinds, kind = np.unique(key, return_inverse=True)  # many leaves, few sets of actions
        masks = [((1 << int(k & COUNT_MASK)) - 1) << int(k >> COUNT_BITS) for k in kinds]
        table["action_mask"] = np.array(masks, table.dtype["action_mask"])[kind]
    return table


def _most_pending(forest: Forest, space: Space) -> int:
    """At most the children of one ball per level wait on the stack; in a full forest no more than there are balls."""
    waiting = (int(forest.size[DEEPEST]) + 1) * (1 << space.d) * (1 << space.k if space.k else max(space.cut, 2)) + 1
    return waiting if len(forest.forks) else min(waiting, int(forest.size[USED]))
