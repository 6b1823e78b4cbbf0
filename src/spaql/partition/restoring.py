"""A forest as plain arrays for a file, and back. Nothing in a file is trusted: depths, counts and action keys are computed anew."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import entry
from spaql.partition.forest import BALL, CAP, ESTIMATE, MAX_DEPTH, USED, Forest, Space, action_parts, child_key, root_key


def forest_arrays(forest: Forest, name: str) -> dict[str, Array]:
    """What a file holds of a forest."""
    used = int(forest.size[USED])
    arrays = {f"{name}_{field}": forest.balls[field][:used] for field in ("first", "q", "visits")}
    return arrays | ({f"{name}_estimate": forest.bounds[:used, ESTIMATE]} if len(forest.bounds) else {})


def forest_from(arrays: dict[str, Array], name: str, space: Space, lipschitz: float) -> Forest:
    """The forest of a file, checked so that compiled code can rely on it. `lipschitz`: of ZoomRL, whose values follow from estimates."""
    first, q, visits = (arrays[f"{name}_{field}"] for field in ("first", "q", "visits"))
    estimate = arrays.get(f"{name}_estimate")
    n = len(first) if first.ndim == 1 else -1
    if not (n >= space.trees and first.dtype == visits.dtype == np.int32 and q.dtype == np.float64 and q.shape == visits.shape == (n,)):
        raise ValueError(f"the {name} is malformed")
    if estimate is not None and (estimate.dtype != np.float64 or estimate.shape != (n,)):
        raise ValueError(f"the {name} is malformed")
    if not np.isfinite(q).all() or (visits < 0).any() or (estimate is not None and not np.isfinite(estimate).all()):
        raise ValueError(f"the {name} has values that are not finite or negative visits")
    forest = Forest(np.zeros(n, BALL), np.zeros(4, np.int64), np.zeros((0 if estimate is None else n, 2)))
    forest.balls["first"], forest.balls["q"], forest.balls["visits"] = first, q, visits
    if not restore(forest, space, np.zeros(n, np.int64)):
        raise ValueError(f"the {name} is not a partition")
    if estimate is not None:
        forest.bounds[:, ESTIMATE] = estimate
        if not np.array_equal(q, np.minimum(forest.bounds[:, CAP], estimate + lipschitz * 0.5 ** forest.balls["depth"])):
            raise ValueError(f"the values of the {name} do not follow from its estimates")
    return forest


@entry
def restore(forest: Forest, space: Space, key: Array) -> bool:
    """Recompute depths, counts and caps. False if the children of some ball overlap others, lie outside, come before it or are too deep.

    Children always come after their parent, so one pass in order visits every ball after its parent; a ball nobody owns is an error.
    """
    balls, n = forest.balls, len(forest.balls)
    bounded = len(forest.bounds) > 0
    for i in range(n):
        balls[i].depth = 0 if i < space.trees else -1
        key[i] = root_key(space)
        if bounded:
            forest.bounds[i, CAP] = np.inf
    arms, splits, deepest = 0, 0, 0
    for i in range(n):
        depth, first = balls[i].depth, balls[i].first
        if depth < 0:
            return False
        deepest = max(deepest, depth)
        if first == 0:
            arms += 1
            continue
        parts = action_parts(space, key[i])
        children = (1 << space.d) * parts
        if first <= i or first < space.trees or first > n - children or depth >= MAX_DEPTH:
            return False
        for child in range(children):
            if balls[first + child].depth >= 0:
                return False
            balls[first + child].depth = depth + 1
            key[first + child] = child_key(space, key[i], depth, child % parts)
            if bounded:
                forest.bounds[first + child, CAP] = balls[i].q
        splits += 1
    forest.size[0], forest.size[1], forest.size[2], forest.size[3] = n, arms, splits, deepest
    return True
