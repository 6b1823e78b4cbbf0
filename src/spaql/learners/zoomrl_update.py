"""ZoomRL's visit of a ball: its estimate changes, its index follows, and it is split when it is certain enough.

`ball.q` is the index, so that everything that compares balls (acting, V, the greedy policy, tables) works as for the
other learners. Equation numbers: docs/zoomrl.md.
"""

from spaql.compiling import inlined
from spaql.partition.forest import CAP, CHILD_Q, ESTIMATE, MAX_DEPTH, USED, Forest, split
from spaql.plants.space import Space


@inlined
def index_of(estimate: float, cap: float, lipschitz: float, depth: int) -> float:
    """(8) index(B) = min over the balls B' around B, B itself included, of Q(B') + L rad(B').

    `cap` is the index of the ball from which B was split.
    """
    return min(cap, estimate + lipschitz * 0.5**depth)


@inlined
def zoom(
    forest: Forest, space: Space, lipschitz: float, index: int, key: int, alpha: float, target: float, confidence: float
) -> bool:  # fmt: skip
    """One visit of a ball. True if it was split."""
    ball, bounds = forest.balls[index], forest.bounds
    bounds[index, ESTIMATE] = (1.0 - alpha) * bounds[index, ESTIMATE] + alpha * target  # (4)
    ball.q = index_of(bounds[index, ESTIMATE], bounds[index, CAP], lipschitz, ball.depth)
    if confidence > lipschitz * 0.5**ball.depth or ball.depth == MAX_DEPTH:  # (9) activate when conf(B) <= L rad(B)
        return False
    first = forest.size[USED]
    split(forest, space, index, key)
    # children begin optimistic again, as far as the index of the larger ball allows
    bounds[index, CHILD_Q] = index_of(space.horizon, ball.q, lipschitz, ball.depth + 1)
    for i in range(first, forest.size[USED]):  # none in a sparse forest: its children are allocated later
        child = forest.balls[i]
        bounds[i, ESTIMATE], bounds[i, CAP] = space.horizon, ball.q
        child.visits, child.q = 0, bounds[index, CHILD_Q]
    return True
