"""Size against return: the best tree of every size, judged on fresh episodes beside the table it was made from."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import checked_path
from spaql.ground.colours import BLUE, GREY, INK, VERMILION
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import FRESH_SEED
from spaql.ground.writing import check_file, form_of, write_whole
from spaql.learners.agent import Agent
from spaql.plants.problem import Finite
from spaql.policy.evaluation import ALPHA, less
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.policy.evaluation import Evaluation
    from spaql.policy.policy import Policy

FRESH = 1000  # episodes of the comparison with the table
FRESH_IN_PYTHON = 20  # the same, in an environment that is not compiled
TOLD_IN_PYTHON = 50  # episodes of the returns that are told there; on compiled plants as many as of the comparison
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
    return max((point for point in points if point.leaves <= leaves), key=lambda point: (point.mean, -point.leaves))


def chosen_of(points: list[FrontierPoint], max_leaves: int | None) -> FrontierPoint:
    """The best of at most so many leaves; without a number, the smallest not significantly worse than the table."""
    if max_leaves is not None:
        return honest(points, max_leaves)
    good = [point for point in points if point.worse >= ALPHA]
    return min(good, key=lambda point: point.leaves) if good else max(points, key=lambda point: point.mean)


def notes_on(point: FrontierPoint, table: "Policy", more: str) -> tuple[str, ...]:
    """A warning where a tree is significantly worse than the table. `more`: what could help."""
    if point.worse >= ALPHA:
        return ()
    size = f"{point.leaves} leaves" if point.leaves > 1 else "one leaf"
    episodes = episodes_for(table)  # the numbers that are told wherever the policy is shown
    mean, of_table = (policy.evaluate(episodes).mean for policy in (_tree(table, point), table))
    compared = f"{mean:.5g} against {of_table:.5g} on the same {episodes:,} fresh episodes"
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
    points = []
    for point in policy.frontier:
        known = fresh if point.tree is policy.rules else None
        evaluation = known or _tree(policy, point).evaluate(episodes_for(policy))
        points.append(replace(point, mean=evaluation.mean, ci95=evaluation.ci95))
    return points


def _tree(policy: "Policy", point: FrontierPoint) -> "Policy":
    return replace(policy, rules=point.tree)


def frontier_of(table: "Policy", trees: dict[int, Tree], episodes: int) -> tuple[list[FrontierPoint], int]:
    """Every size on fresh episodes, with the table on the same start states; and the steps that this took."""
    assert table.usage is not None
    reference, states = table.evaluate(episodes, FRESH_SEED), table.usage.states
    span, wanted, steps = np.ptp(palette_of(table), axis=0), table.decide(states), reference.samples
    points = []
    for leaves in sorted(trees):
        tree = replace(table, rules=trees[leaves])
        fresh = tree.evaluate(episodes, FRESH_SEED)
        steps += fresh.samples
        worse = less(fresh.returns, reference.returns)
        near = np.all(np.abs(tree.decide(states) - wanted) <= NEAR * span, axis=1)
        points.append(FrontierPoint(leaves, fresh.mean, fresh.ci95, float(near.mean()), worse, tree.rules))
    return points, steps


def kind_of(tree: Tree) -> str:
    return "compressed tree" if tree.laws is None else "law tree"


def compressed(
    policy: "Policy", trees: dict[int, Tree], max_leaves: int | None, samples: int, more: str, leaves: int | None = None
) -> "Policy":
    """The policy as one of the trees: of so many `leaves` at most, or else the one that was asked for; all are judged.

    `samples`: that the search has used; `more`: what could help where the tree is worse than the table.
    """
    table = policy.table_policy or policy
    points, steps = frontier_of(table, trees, FRESH if policy.problem.plant is not None else FRESH_IN_PYTHON)
    point = chosen_of(monotone(points), max_leaves) if leaves is None else honest(points, leaves)
    return replace(
        policy, rules=point.tree, kind=kind_of(point.tree), table_policy=table, samples=samples + steps,
        frontier=tuple(monotone(points)), notes=notes_on(point, table, more), certificate=None, proof=None,
    )  # fmt: skip


# -- size against return as a figure -----------------------------------------------------------------------------------

LINES = ("-.", ":")  # of controllers without leaves


def frontier_figure(policy: "Policy", path: str | PathLike[str], baselines: Mapping[str, Any]) -> None:
    """Draw the frontier of a compressed tree: PNG or SVG, by the ending of the path.

    `baselines`: further controllers by name, a point where they have leaves, else a line.
    """
    from matplotlib.figure import Figure

    target, form = checked_path(path), form_of(path)
    check_file(target)
    if not policy.frontier or policy.table_policy is None:
        raise SpaqlError("only a compressed tree has a frontier: draw policy.compress()")
    table = policy.table_policy
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axis = figure.subplots()
    points, episodes = restated(policy), episodes_for(policy)
    errors = [[point.mean - point.ci95[0] for point in points], [point.ci95[1] - point.mean for point in points]]
    sizes = [point.leaves for point in points]
    axis.errorbar(
        sizes, [point.mean for point in points], errors, marker="o", color=BLUE, capsize=2.5, label="best tree found"
    )
    level = table.evaluate(episodes)
    axis.axhspan(*level.ci95, color=GREY, alpha=0.25, linewidth=0)
    axis.axhline(level.mean, color=INK, linewidth=1, linestyle="--", label=f"table, {table.n_leaves:,} cells")
    for k, (name, own) in enumerate(_of_problem(baselines, len(policy.problem.state)).items()):
        mean, leaves = own.evaluate(episodes).mean, _leaves(own)
        if leaves is None:
            axis.axhline(mean, color=VERMILION, linewidth=1, linestyle=LINES[k % len(LINES)], label=name)
        else:
            axis.plot([leaves], [mean], marker="Ds^v"[k % 4], linestyle="", color=VERMILION, label=name)
    chosen = next((point for point in points if point.tree is policy.rules), None)
    if chosen is not None:
        place = [chosen.leaves], [chosen.mean]
        axis.plot(*place, "o", markersize=13, markerfacecolor="none", color=INK, linestyle="", label="chosen")
    axis.set_xscale("log", base=2)
    ticks = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= 2 * max(sizes)]
    axis.set_xticks(ticks, [str(n) for n in ticks])
    axis.set(xlabel="leaves", ylabel="fresh return", title=f"{policy.origin}: size against return")
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    picture = io.BytesIO()
    figure.savefig(picture, format=form, dpi=160)
    write_whole(target, lambda file: file.write(picture.getvalue()))


def _of_problem(baselines: Mapping[str, Any], variables: int) -> Mapping[str, Any]:
    if not isinstance(baselines, Mapping):
        raise SpaqlError(f"baselines are controllers by name, such as {{'PI': pi}}, not {type(baselines).__name__}")
    for name, controller in baselines.items():
        problem = getattr(controller, "problem", None)
        if not callable(getattr(controller, "evaluate", None)) or problem is None or len(problem.state) != variables:
            raise SpaqlError(f"{name} is no controller of this problem: make one with spaql.Controller")
    return baselines


def _leaves(controller: Any) -> int | None:
    """Of a policy, or of an agent with one policy for all steps."""
    if isinstance(controller, Agent):
        return None if controller.card.per_step else controller.policy().n_leaves
    return controller.n_leaves if hasattr(controller, "n_leaves") else None
