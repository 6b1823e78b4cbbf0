"""Size against return: the best tree of every size, judged on fresh episodes beside the table it was made from."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.plants.problem import Finite
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.policy.policy import Policy

FRESH = 1000  # episodes of the comparison with the table
FRESH_IN_PYTHON = 20  # the same, in an environment that is not compiled
FRESH_SEED = 2**41  # start states that neither search nor usage have seen
NEAR = 0.1  # of the range of a continuous action: actions that differ by less count as the same


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """The best tree found with so many leaves, on fresh episodes."""

    leaves: int
    mean: float
    ci95: tuple[float, float]
    fidelity: float  # share of the table's time in which the tree does the same (continuous actions: NEAR the same)
    worse: float  # p of the one-sided paired test that it is worse than the table
    tree: Tree


def palette_of(table: "Policy") -> Array:
    """The actions a leaf may apply: the table's, and the finite set, or the ends and middle of a continuous range."""
    applied = [table.rules.actions[table.rules.leaves()]]
    actions = table.problem.actions
    if isinstance(actions, Finite):
        applied.append(np.array(actions.values, float)[:, None])
    else:
        low, high = actions.bounds
        applied.append(np.array([low, (low + high) / 2, high]))
    return np.unique(np.concatenate(applied), axis=0)


def frontier_of(table: "Policy", trees: dict[int, Tree], episodes: int) -> tuple[list[FrontierPoint], int]:
    """Every size on fresh episodes, with the table on the same start states; and the plant steps this took."""
    from scipy.stats import ttest_1samp

    assert table.usage is not None
    reference, states = table.evaluate(episodes, FRESH_SEED), table.usage.states
    span, wanted, steps = np.ptp(palette_of(table), axis=0), table.decide(states), reference.samples
    points = []
    for leaves in sorted(trees):
        tree = replace(table, rules=trees[leaves])
        fresh = tree.evaluate(episodes, FRESH_SEED)
        steps += fresh.samples
        lost = reference.returns - fresh.returns
        varies = np.ptp(lost) > 0
        worse = float(ttest_1samp(lost, 0.0, alternative="greater").pvalue) if varies else float(lost[0] <= 0)
        near = np.all(np.abs(tree.decide(states) - wanted) <= NEAR * span, axis=1)
        points.append(FrontierPoint(leaves, fresh.mean, fresh.ci95, float(near.mean()), worse, tree.rules))
    return points, steps
