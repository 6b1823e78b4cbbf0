"""Size against return: every tree that was found, the table it came from, and controllers made by hand."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spaql.colours import BLUE, GREY, INK, VERMILION
from spaql.compress.by_hand import baselines_for
from spaql.compress.frontier import FRESH, FRESH_SEED
from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.policy.policy import Policy


def frontier_figure(policy: "Policy", path: Path) -> None:
    """Draw the frontier of a compressed tree: PNG or SVG, by the ending of the path."""
    from matplotlib.figure import Figure

    if not policy.frontier or policy.table_policy is None:
        raise SpaqlError("only a compressed tree has a frontier: draw policy.compress()")
    table = policy.table_policy
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axis = figure.subplots()
    points = policy.frontier
    errors = [[point.mean - point.ci95[0] for point in points], [point.ci95[1] - point.mean for point in points]]
    sizes = [point.leaves for point in points]
    axis.errorbar(
        sizes, [point.mean for point in points], errors, marker="o", color=BLUE, capsize=2.5, label="best tree found"
    )
    level = table.evaluate(FRESH, FRESH_SEED)
    axis.axhspan(*level.ci95, color=GREY, alpha=0.25, linewidth=0)
    axis.axhline(level.mean, color=INK, linewidth=1, linestyle="--", label=f"table, {table.n_leaves:,} cells")
    for name, tree in baselines_for(table.problem).items():
        mean = replace(table, rules=tree).evaluate(FRESH, FRESH_SEED).mean
        axis.plot([tree.n_leaves], [mean], marker="D", linestyle="", color=VERMILION, label=f"by hand: {name}")
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
    try:
        figure.savefig(path, dpi=160)
    except (OSError, ValueError) as error:  # an ending Matplotlib does not know is a ValueError
        raise SpaqlError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
