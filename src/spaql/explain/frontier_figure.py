"""Size against return: every tree that was found, the table it came from, and controllers made by hand."""

from pathlib import Path
from typing import TYPE_CHECKING

from spaql.errors import SpaqlError
from spaql.explain.baselines import baselines_for
from spaql.explain.rolling import play_episodes
from spaql.training.history import Evaluation

if TYPE_CHECKING:
    from spaql.explain.policy import Policy


def frontier_figure(policy: "Policy", path: Path) -> None:
    """Draw the frontier of a compressed tree: PNG or SVG, by the ending of the path."""
    from matplotlib.figure import Figure

    from spaql.analysis.style import INK
    from spaql.explain.compress import FRESH, FRESH_SEED

    if not policy.frontier or policy.table_policy is None:
        raise SpaqlError("only a compressed tree has a frontier: draw policy.compress()")
    table = policy.table_policy
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axis = figure.subplots()
    points = policy.frontier
    errors = [[point.mean - point.ci95[0] for point in points], [point.ci95[1] - point.mean for point in points]]
    sizes = [point.leaves for point in points]
    axis.errorbar(sizes, [point.mean for point in points], errors, marker="o", color="#0072B2", capsize=2.5, label="best tree found")
    level = Evaluation(play_episodes(table.problem, table.rules, FRESH, FRESH_SEED).returns, 0)
    axis.axhspan(*level.ci95, color="#7F7F7F", alpha=0.25, linewidth=0)
    axis.axhline(level.mean, color=INK, linewidth=1, linestyle="--", label=f"table, {table.n_leaves:,} cells")
    for name, tree in baselines_for(table.problem).items():
        mean = float(play_episodes(table.problem, tree, FRESH, FRESH_SEED).returns.mean())
        axis.plot([tree.n_leaves], [mean], marker="D", linestyle="", color="#D55E00", label=f"by hand: {name}")
    chosen = next((point for point in points if point.tree is policy.rules), None)
    if chosen is not None:
        axis.plot(
            [chosen.leaves], [chosen.mean], marker="o", markersize=13, markerfacecolor="none", color=INK, linestyle="", label="chosen"
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
