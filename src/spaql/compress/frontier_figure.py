"""Size against return: every tree that was found, the table it came from, and controllers made by hand."""

import io
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from spaql.compress.by_hand import baselines_for
from spaql.compress.frontier import episodes_for, restated
from spaql.ground.checks import checked_path
from spaql.ground.colours import BLUE, GREY, INK, VERMILION
from spaql.ground.errors import SpaqlError
from spaql.ground.writing import check_file, form_of, write_whole
from spaql.learners.agent import Agent

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


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
    for name, tree in baselines_for(table.problem).items():
        mean = replace(table, rules=tree).evaluate(episodes).mean
        axis.plot([tree.n_leaves], [mean], marker="D", linestyle="", color=VERMILION, label=f"by hand: {name}")
    for k, (name, own) in enumerate(_of_problem(baselines, len(policy.problem.state)).items()):
        mean, leaves = own.evaluate(episodes).mean, _leaves(own)
        if leaves is None:
            axis.axhline(mean, color=VERMILION, linewidth=1, linestyle=LINES[k % len(LINES)], label=name)
        else:
            axis.plot([leaves], [mean], marker="Ds^v"[k % 4], linestyle="", color=VERMILION, label=name)
    chosen = next((point for point in points if point.tree is policy.rules), None)
    if chosen is not None:
        axis.plot(
            [chosen.leaves],
            [chosen.mean],
            marker="o",
            markersize=13,
            markerfacecolor="none",
            color=INK,
            linestyle="",
            label="chosen",
        )
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
    for name, one in baselines.items():
        problem = getattr(one, "problem", None)
        if not callable(getattr(one, "evaluate", None)) or problem is None or len(problem.state) != variables:
            raise SpaqlError(f"{name} is no controller of this problem: make one with spaql.Controller")
    return baselines


def _leaves(controller: Any) -> int | None:
    """Of a policy, or of an agent with one policy for all steps."""
    if isinstance(controller, Agent):
        return None if controller.card.per_step else controller.policy().n_leaves
    return controller.n_leaves if hasattr(controller, "n_leaves") else None
