"""One visit of a ball, for every learner with a partition (AQL, NBQL, SPAQL, SPAQL-TS; ZoomRL with its own (4)).

Equation numbers: docs/algorithms.md.
"""

import math
from typing import NamedTuple

from spaql.arrays import Array
from spaql.compiling import inlined
from spaql.fastmath import exp
from spaql.learners.zoomrl_update import zoom
from spaql.partition.forest import MAX_DEPTH, Forest, split
from spaql.plants.space import Space

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
