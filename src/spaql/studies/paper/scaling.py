"""The scaling study: what the scale of the bonus does."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.numbers import agents, caption_number, listed
from spaql.analysis.style import COLOURS, INK, ORDER, RING, entry, legend, letters, line_of, marker_of, mean_and_half
from spaql.ground.arrays import Array
from spaql.runs.rows import Run
from spaql.studies.paper.plan import main_runs
from spaql.studies.parts import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.22  # between the algorithms at one xi

Groups = dict[str, dict[float, list[Run]]]  # by algorithm and xi


def scaling(figure: "Figure", results: Results, titles: Mapping[str, str]) -> str | None:
    """One panel per problem in `titles`. Returns the caption, or None without data."""
    from matplotlib.lines import Line2D

    found = [(groups_of(results.runs("scaling", problem)), problem, title) for problem, title in titles.items()]
    found = [one for one in found if one[0]]
    if not found:
        return None
    axes = figure.subplots(1, len(found), squeeze=False)[0]
    ringed = False
    for axis, (groups, problem, _) in zip(axes, found, strict=True):
        ringed |= _panel(axis, groups, main_runs(results, problem))
    if len(found) > 1:
        letters(list(axes), [title for _, _, title in found])
    axes[0].set_ylabel("best average return seen")
    entries = [entry(name, linestyle="none") for name in ORDER if any(name in groups for groups, _, _ in found)]
    legend(figure, entries + [Line2D([], [], label="ξ of the main runs", **RING)] * ringed, 1.0)
    return _caption(found, ringed)


def groups_of(runs: Sequence[Run]) -> Groups:
    groups: Groups = {}
    for run in runs:
        if run.xi is not None:
            groups.setdefault(run.algorithm, {}).setdefault(run.xi, []).append(run)
    return groups


def _panel(axis: "Axes", groups: Groups, main: Sequence[Run]) -> bool:
    """Draws a panel. Was there an xi of the main runs to mark?"""
    grid = sorted({xi for group in groups.values() for xi in group})  # equidistant on the axis: all can be told apart
    used = {(run.algorithm, run.xi) for run in main}
    names, ringed = [name for name in ORDER if name in groups], False
    for place, name in enumerate(names):
        means = _means(groups[name])
        level, spread = float(np.mean(means)), float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
        axis.axhspan(level - spread, level + spread, color=COLOURS[name], alpha=0.13, linewidth=0)
        axis.axhline(level, **line_of(name, linestyle=(0, (5, 2)), linewidth=1))
        halves = [mean_and_half(np.array([run.best_seen for run in runs]))[1] for runs in groups[name].values()]
        x = [grid.index(xi) + APART * (place - (len(names) - 1) / 2) for xi in groups[name]]
        axis.errorbar(x, means, [np.nan if half is None else float(half) for half in halves], **marker_of(name))
        marked = [i for i, xi in enumerate(groups[name]) if (name, xi) in used]
        axis.plot([x[i] for i in marked], [means[i] for i in marked], zorder=5, **RING)
        ringed |= bool(marked)
    axis.set_xticks(range(len(grid)), [f"{xi:g}" for xi in grid], fontsize=7.5)
    axis.set(xlabel="scale ξ of the bonus", xlim=(-0.6, len(grid) - 0.4))
    axis.grid(visible=False, axis="x")
    return ringed


def _means(group: dict[float, list[Run]]) -> list[float]:
    return [float(np.mean([run.best_seen for run in runs])) for runs in group.values()]


def _caption(found: Sequence[tuple[Groups, str, str]], ringed: bool) -> str:
    cells = [runs for groups, _, _ in found for group in groups.values() for runs in group.values()]
    counts = [len(runs) for runs in cells]
    told = f"Best evaluation average seen after {cells[0][0].iterations} training episodes (AQL: the last one) "
    told += "against the scale ξ of the "
    told += f"bonus: mean of {agents(counts)}{' with 95 % intervals' if max(counts) > 1 else ''}; dashed lines and "
    told += "bands: mean and standard "
    told += f"deviation over ξ{'; rings: the ξ of the main runs' if ringed else ''}. "
    facts = [listed([_best(name, groups[name]) for name in ORDER if name in groups]) for groups, _, _ in found]
    if len(found) > 1:
        return (
            told
            + "Best: "
            + "; ".join(f"{title}, {fact}" for (_, _, title), fact in zip(found, facts, strict=True))
            + "."
        )
    return told + f"Best: {facts[0]}."


def _best(name: str, group: dict[float, list[Run]]) -> str:
    means = _means(group)
    best = [xi for xi, mean in zip(group, means, strict=True) if mean == max(means)]
    others = f" and {len(best) - 1} more" if len(best) > 1 else ""
    return f"{name} {caption_number(max(means))} (ξ = {best[0]:g}{others})"


# -- the domain of a ball, on the library's own partition --------------------------------------------------------------

STATE = -0.08  # the state whose relevant balls are shown
VISITED = (-0.62, 0.7)  # state and action of the transitions: they split the ball they fall into


def domains(figure: "Figure") -> str:
    """Three stages of one partition. Returns the caption."""
    from spaql.learners.spaql import SPAQL
    from spaql.plants.problem import cube

    agent = SPAQL(cube(state_dim=1, actions=1, horizon=10), seed=0, xi=1.0)
    stages = [agent.leaves()]
    while len(stages) < 3:
        agent.update([VISITED[0]], [VISITED[1]], 0.5, [VISITED[0]])
        if len(agent.leaves()) > len(stages[-1]):
            stages.append(agent.leaves())
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    relevant = [_domain_panel(axis, leaves) for axis, leaves in zip(axes, stages, strict=True)]
    letters(list(axes), ["the root", "after its split", "one child split again"])
    axes[0].set_ylabel("action")
    splits = len(stages) - 1
    return (
        "dom(B) is B without all balls of strictly smaller radius; state and action have one axis each, from −1 to "
        "1. The partition of a "
        f"real agent before, after one and after {splits} splits: a ball that has been split is covered by its "
        "children and has an empty "
        f"domain, so the domains are the {', '.join(str(len(leaves)) for leaves in stages[:-1])} and "
        f"{len(stages[-1])} leaves. Shaded: "
        f"the {', '.join(map(str, relevant[:-1]))} and {relevant[-1]} balls relevant in the state x, those whose "
        "domain meets the line."
    )


def _domain_panel(axis: "Axes", leaves: Array) -> int:
    from matplotlib.patches import Rectangle

    relevant = 0
    for leaf in leaves:
        (x,), a, radius = leaf["state"], float(np.squeeze(leaf["action"])), float(leaf["radius"])
        meets = x - radius <= STATE < x + radius
        relevant += bool(meets)
        corner, side = (x - radius, a - radius), 2 * radius
        if meets:
            axis.add_patch(Rectangle(corner, side, side, facecolor=COLOURS["SPAQL"], alpha=0.25, linewidth=0))
        axis.add_patch(Rectangle(corner, side, side, facecolor="none", edgecolor=INK, linewidth=0.9))
        size = 6.8 if radius < 0.3 else 8.0
        axis.text(
            x - radius + 0.05, a - radius + 0.05, _label(leaf), ha="left", va="bottom", fontsize=size, linespacing=1.35
        )
    axis.axvline(STATE, color=COLOURS["SPAQL"], linewidth=1.5)
    axis.annotate("x", (STATE, -1.04), ha="center", va="top", annotation_clip=False, style="italic")
    axis.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), xlabel="state", xticks=(-1, 1), yticks=(-1, 1), aspect="equal")
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    return relevant


def _label(leaf: Any) -> str:
    return f"depth {leaf['depth']}\nr = {Fraction(float(leaf['radius']))}"
