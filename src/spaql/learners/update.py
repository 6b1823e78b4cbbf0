"""One visit of a ball, for every learner with a partition (AQL, NBQL, SPAQL, SPAQL-TS; ZoomRL with its own (4)).

Equation numbers: docs/algorithms.md.
"""

import math
from typing import NamedTuple

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined
from spaql.ground.fastmath import exp
from spaql.partition.forest import CAP, CHILD_Q, ESTIMATE, MAX_DEPTH, USED, Forest, split
from spaql.plants.axes import Space

# -- ZoomRL's visit of a ball: its estimate changes, its index follows, and it is split when it is certain enough ------
#
# `ball.q` is the index, so that everything that compares balls (acting, V, the greedy policy, tables) works as for the
# other learners. Equation numbers: docs/zoomrl.md.

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


MAX_VISITS = (1 << 31) - 1
# kinds of partition
ADAPTIVE = 0  # split by visits: AQL, SPAQL
NET = 1  # fixed: NBQL
ZOOM = 2  # split by confidence: ZoomRL


class Rule(NamedTuple):
    """Parameters of the update."""

    xi: float  # scale of the bonus
    lam: float  # width of the Gaussian of SPAQL-TS, infinite for none
    sup: int  # 1: sup metric, 0: Euclidean, in the cube
    terminate: int  # 1: V = 0 after a terminated step; 0: as in the paper, V is never zeroed
    reference: Array  # x_ref in the cube
    kind: int = ADAPTIVE
    lipschitz: float = 0.0  # of ZoomRL


@inlined
def update(forest: Forest, space: Space, rule: Rule, index: int, key: int, reward: float, value: float) -> bool:
    """One visit of a ball. True if it was split."""
    ball = forest.balls[index]
    v = min(ball.visits, MAX_VISITS - 1) + 1
    ball.visits = v
    alpha = (space.horizon + 1.0) / (space.horizon + v)  # (1) learning rate
    bonus = rule.xi / math.sqrt(v)  # (2) optimism
    if rule.kind == ZOOM:
        return zoom(forest, space, rule.lipschitz, index, key, alpha, reward + value + bonus, bonus)
    ball.q = (1.0 - alpha) * ball.q + alpha * (reward + value + bonus)  # (4)
    if rule.kind == NET:
        return False
    if v >= (1 << (2 * ball.depth)) and ball.depth < MAX_DEPTH:  # (5) split when n(B) >= 4^depth
        split(forest, space, index, key)
        return True
    return False


@inlined
def gaussian(rule: Rule, x: Array) -> float:
    """(7) weight of SPAQL-TS: exp(-(D(x, x_ref) / lambda)^2), x the state before the step."""
    if math.isinf(rule.lam):
        return 1.0
    squared = 0.0
    for j in range(len(x)):
        gap = (x[j] - rule.reference[j]) / rule.lam
        squared = max(squared, gap * gap) if rule.sup == 1 else squared + gap * gap
    return exp(-squared)
