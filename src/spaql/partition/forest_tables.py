"""A forest as tables: all its leaves, and plain arrays for a file.

Nothing in a file is trusted: depths, counts and action keys are computed anew.
"""

from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry, inlined
from spaql.partition.forest import (
    ARMS,
    BALL,
    CAP,
    CHILD_Q,
    COUNT_BITS,
    COUNT_MASK,
    DEEPEST,
    ESTIMATE,
    FORKS,
    MAX_DEPTH,
    SPLITS,
    USED,
    Forest,
    action_centre,
    action_parts,
    block,
    child_key,
    root_key,
)  # fmt: skip
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
    count, d = 0, space.d
    for root in range(space.trees):
        stack[0].ball, stack[0].key, stack[0].unallocated = root, root_key(space), 0
        for j in range(d):
            centre[0, j] = 0.0
        top = 1
        while top > 0:
            top -= 1
            ball, ball_key = stack[top].ball, stack[top].key
            for j in range(d):
                state[count, j] = centre[top, j]  # of a split ball: overwritten when its children are on the stack
            if stack[top].unallocated == 1 or forest.balls[ball].first == 0:
                leaf[count], key[count], tree[count] = ball, ball_key, root
                count += 1
                continue
            parts, depth = action_parts(space, ball_key), forest.balls[ball].depth
            for orthant in range((1 << d) - 1, -1, -1):
                first = block(forest, space, ball, orthant, parts)
                for part in range(parts - 1, -1, -1):
                    stack[top].ball, stack[top].unallocated = (ball, 1) if first == 0 else (first + part, 0)
                    stack[top].key = child_key(space, ball_key, depth, part)
                    for j in range(d):
                        lower = (orthant >> (d - 1 - j)) & 1
                        centre[top, j] = state[count, j] + 0.5 ** (depth + 1) * (1 - 2 * lower)
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


# -- the arrays of a file ----------------------------------------------------------------------------------------------


def forest_arrays(forest: Forest, name: str) -> dict[str, Array]:
    """What a file holds of a forest."""
    used = int(forest.size[USED])
    arrays = {f"{name}_{field}": forest.balls[field][:used] for field in ("first", "q", "visits")}
    arrays |= {f"{name}_forks": forest.forks[: int(forest.size[FORKS])]} if len(forest.forks) else {}
    return arrays | ({f"{name}_estimate": forest.bounds[:used, ESTIMATE]} if len(forest.bounds) else {})


def forest_from(arrays: dict[str, Array], name: str, space: Space, lipschitz: float) -> Forest:
    """The forest of a file, checked so that compiled code can rely on it.

    `lipschitz` is an option of ZoomRL, whose values follow from its estimates.
    """
    first, q, visits = (arrays[f"{name}_{field}"] for field in ("first", "q", "visits"))
    estimate, forks = arrays.get(f"{name}_estimate"), arrays.get(f"{name}_forks", np.zeros((0, 2), np.int32))
    n = len(first) if first.ndim == 1 else -1
    types = first.dtype == visits.dtype == np.int32 and q.dtype == np.float64
    if not (n >= space.trees and types and q.shape == visits.shape == (n,)):
        raise ValueError(f"the {name} is malformed")
    if estimate is not None and (estimate.dtype != np.float64 or estimate.shape != (n,)):
        raise ValueError(f"the {name} is malformed")
    if forks.dtype != np.int32 or forks.ndim != 2 or forks.shape[1] != 2 or (len(forks) and forks[0].any()):
        raise ValueError(f"the {name} is malformed")
    if not np.isfinite(q).all() or (visits < 0).any() or (estimate is not None and not np.isfinite(estimate).all()):
        raise ValueError(f"the {name} has values that are not finite or negative visits")
    bounds = np.zeros((0 if estimate is None else n, 3))
    forest = Forest(np.zeros(n, BALL), np.zeros(5, np.int64), bounds, np.ascontiguousarray(forks))
    forest.balls["first"], forest.balls["q"], forest.balls["visits"] = first, q, visits
    forked, walk = np.zeros(len(forks), np.bool_), np.zeros((space.d + 2, 2), np.int64)
    if not restore(forest, space, np.zeros(n, np.int64), forked, walk):
        raise ValueError(f"the {name} is not a partition")
    if estimate is not None:
        forest.bounds[:, ESTIMATE] = estimate
        radius = 0.5 ** forest.balls["depth"]
        if not np.array_equal(q, np.minimum(forest.bounds[:, CAP], estimate + lipschitz * radius)):
            raise ValueError(f"the values of the {name} do not follow from its estimates")
        forest.bounds[:, CHILD_Q] = np.minimum(q, space.horizon + lipschitz * (0.5 * radius))
    return forest


@entry
def restore(forest: Forest, space: Space, key: Array, forked: Array, walk: Array) -> bool:
    """Recompute depths, counts and caps.

    False if the children of some ball overlap other children, lie outside the arrays, come before the ball or are too
    deep. Children always come after their parent, so one pass in order visits every ball after its parent; a ball or
    a fork without a parent is an error. `forked`, `walk`: working memory, the forks that have a parent and the forks
    still to be followed.
    """
    balls, n, sparse = forest.balls, len(forest.balls), len(forest.forks) > 0
    for i in range(n):
        balls[i].depth = 0 if i < space.trees else -1
        key[i] = root_key(space)
        if len(forest.bounds) > 0:
            forest.bounds[i, CAP] = np.inf
    arms, splits, deepest, forks = space.trees, 0, 0, 1
    for i in range(n):
        depth, first = balls[i].depth, balls[i].first
        if depth < 0:
            return False
        deepest = max(deepest, depth)
        if first == 0:
            continue
        if depth >= MAX_DEPTH:
            return False
        parts = action_parts(space, key[i])
        children = (1 << space.d) * parts
        if sparse:
            met = _own_forks(forest, space, key, i, parts, forked, walk)
            if met < 0:
                return False
            forks += met
        elif not _own_children(forest, space, key, i, parts, first, children):
            return False
        arms += children - 1
        splits += 1
        deepest = max(deepest, depth + 1)
    size = forest.size
    size[USED], size[ARMS], size[SPLITS], size[DEEPEST], size[FORKS] = n, arms, splits, deepest, forks
    return not sparse or forks == len(forest.forks)


@inlined
def _own_children(forest: Forest, space: Space, key: Array, parent: int, parts: int, first: int, count: int) -> bool:
    """Balls `first` ... `first + count - 1` become children of `parent`, unless one of them has a parent already."""
    balls, depth = forest.balls, forest.balls[parent].depth
    if first <= parent or first < space.trees or first > len(balls) - count:
        return False
    for child in range(count):
        if balls[first + child].depth >= 0:
            return False
        balls[first + child].depth = depth + 1
        key[first + child] = child_key(space, key[parent], depth, child % parts)
        if len(forest.bounds) > 0:
            forest.bounds[first + child, CAP] = balls[parent].q
    return True


@inlined
def _own_forks(forest: Forest, space: Space, key: Array, parent: int, parts: int, forked: Array, walk: Array) -> int:
    """The forks of `parent` and the blocks they lead to become its own.

    Returns the number of these forks, -1 if something is wrong.
    """
    met, top = 0, 1
    walk[0, 0], walk[0, 1] = forest.balls[parent].first, 0
    while top > 0:
        top -= 1
        fork, coordinate = walk[top, 0], walk[top, 1]
        if fork < 1 or fork >= len(forest.forks) or forked[fork]:
            return -1
        forked[fork] = True
        met += 1
        for side in range(2):
            target = forest.forks[fork, side]
            if target == 0:
                continue
            if coordinate < space.d - 1:
                walk[top, 0], walk[top, 1] = target, coordinate + 1
                top += 1
            elif not _own_children(forest, space, key, parent, parts, target, parts):
                return -1
    return met
