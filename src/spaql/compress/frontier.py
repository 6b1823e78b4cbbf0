"""Size against return: the best tree of every size, judged on fresh episodes beside the table it was made from."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.problem import Finite
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.policy.evaluation import Evaluation
    from spaql.policy.policy import Policy

FRESH = 1000  # episodes of the comparison with the table
FRESH_IN_PYTHON = 20  # the same, in an environment that is not compiled
TOLD_IN_PYTHON = 50  # episodes of the returns that are told there; on compiled plants as many as of the comparison
FRESH_SEED = 2**41  # start states that neither search nor usage have seen
ALPHA = 0.05  # of the test whether a tree is worse than the table
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
    applied = [] if table.has_laws else [table.rules.actions[table.rules.leaves()]]
    actions = table.problem.actions
    if isinstance(actions, Finite):
        applied.append(np.array(actions.values, float)[:, None])
    else:
        low, high = actions.bounds
        applied.append(np.array([low, (low + high) / 2, high]))
    return np.unique(np.concatenate(applied), axis=0)


def monotone(points: list[FrontierPoint]) -> list[FrontierPoint]:
    """The sizes, smallest first, that earn more than all smaller ones."""
    kept: list[FrontierPoint] = []
    for point in points:
        if not kept or point.mean > kept[-1].mean:
            kept.append(point)
    return kept


def honest(points: list[FrontierPoint], leaves: int) -> FrontierPoint:
    """The best point of at most so many leaves: nothing is returned that is worse than a smaller tree."""
    return max((one for one in points if one.leaves <= leaves), key=lambda one: (one.mean, -one.leaves))


class Judged(NamedTuple):
    """Trees of several sizes on fresh episodes."""

    points: list[FrontierPoint]
    samples: int  # steps that this took
    policy: "Policy"  # the table


def chosen_of(points: list[FrontierPoint], max_leaves: int | None) -> FrontierPoint:
    """The best of at most so many leaves; without a number, the smallest not significantly worse than the table."""
    if max_leaves is not None:
        return honest(points, max_leaves)
    good = [point for point in points if point.worse >= ALPHA]
    return min(good, key=lambda point: point.leaves) if good else max(points, key=lambda point: point.mean)


def notes_on(point: FrontierPoint, judged: Judged, more: str) -> tuple[str, ...]:
    """A warning where a tree is significantly worse than the table. `more`: what could help."""
    if point.worse >= ALPHA:
        return ()
    size = f"{point.leaves} leaves" if point.leaves > 1 else "one leaf"
    episodes = episodes_for(judged.policy)  # the numbers that are told wherever the policy is shown
    mean, table = (one.evaluate(episodes).mean for one in (_tree(judged.policy, point), judged.policy))
    compared = f"{mean:.5g} against {table:.5g} on the same {episodes:,} fresh episodes"
    return (f"the tree with {size} is significantly worse than the table it was made from ({compared}): {more}",)


def episodes_for(policy: "Policy") -> int:
    """How many episodes of `evaluate()` stand behind a return that is told of a policy, wherever it is told."""
    return FRESH if policy.problem.plant is not None else TOLD_IN_PYTHON


def restated(policy: "Policy", fresh: "Evaluation | None" = None) -> list[FrontierPoint]:
    """The frontier with the returns that `evaluate()` tells: one set of numbers wherever a policy is shown.

    The episodes that chose the size were others. `fresh`: what is known of the policy itself already, because
    episodes cost in an environment.
    """
    if not policy.problem.can_run:
        return list(policy.frontier)
    made = []
    for point in policy.frontier:
        known = fresh if point.tree is policy.rules else None
        told = known or _tree(policy, point).evaluate(episodes_for(policy))
        made.append(replace(point, mean=told.mean, ci95=told.ci95))
    return made


def _tree(policy: "Policy", point: FrontierPoint) -> "Policy":
    return replace(policy, rules=point.tree)


def frontier_of(table: "Policy", trees: dict[int, Tree], episodes: int) -> Judged:
    """Every size on fresh episodes, with the table on the same start states."""
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
    return Judged(points, steps, table)
