"""The domain of a ball, on the library's own partition."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import COLOURS, INK, letters
from spaql.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    relevant = [_panel(axis, leaves) for axis, leaves in zip(axes, stages, strict=True)]
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


def _panel(axis: "Axes", leaves: Array) -> int:
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
