"""Draws the pictures of the tutorial: `python docs/make_tutorial_images.py [FOLDER]`. It runs the tutorial, and shows what came out.

It also names the lines that the tutorial says are printed, and that are not: numbers change when algorithms do.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from make_algorithm_images import ACTIONS, keep

from spaql.analysis.style import INK, letters, sheet

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from pages import program_of  # noqa: E402

WATER, PIPE = "#56B4E9", 3.0


def tutorial() -> dict[str, object]:
    """The names of the tutorial's program when it has run."""
    scope: dict[str, object] = {"__name__": "tutorial"}
    home, text, printed = Path.cwd(), (HERE / "tutorial.md").read_text(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(program_of(text), "tutorial.md", "exec"), scope)
        finally:
            os.chdir(home)
    lines = {line.strip() for line in printed.getvalue().splitlines()}
    for block in re.findall(r"```\n\n((?:    .*\n|\n)+)", text):
        for line in block.split("\n"):
            if line.strip() and line.strip() not in lines:
                print(f"the tutorial shows, but does not print: {line.strip()}")
    return scope


def draw_plant(folder: Path) -> None:
    """The two tanks."""
    from matplotlib.patches import Rectangle

    with sheet(2.9, 4.6) as figure:
        axis = figure.subplots()
        for bottom, level, name in ((2.6, 1.05, "h₁"), (0.4, 0.8, "h₂")):
            axis.add_patch(Rectangle((1.0, bottom), 2.0, level, facecolor=WATER, alpha=0.55, linewidth=0))
            axis.plot([1.0, 1.0, 3.0, 3.0], [bottom + 1.6, bottom, bottom, bottom + 1.6], color=INK, linewidth=2)
            axis.annotate("", (1.25, bottom), (1.25, bottom + level), arrowprops={"arrowstyle": "<->", "color": INK})
            axis.text(1.35, bottom + level / 2, name, va="center")
        axis.plot([1.0, 3.0], [1.15, 1.15], color="#D55E00", linestyle=(0, (4, 3)))
        axis.text(3.1, 1.15, "setpoint 15 cm", va="center", color="#D55E00")
        axis.plot([1.0, 3.0], [4.2, 4.2], color=INK, linestyle=(0, (1, 1.5)))
        axis.text(3.1, 4.2, "rim 35 cm: must not overflow", va="center")
        flows = ((2.0, 4.9, 4.3, "pump: off, half, full"), (2.4, 2.6, 2.05, "outlet"), (2.4, 0.4, -0.1, "outlet"))
        for x, begin, end, words in flows:
            axis.annotate("", (x, end), (x, begin), arrowprops={"arrowstyle": "-|>", "color": "#0072B2", "linewidth": PIPE})
            axis.text(x + 0.25, (begin + end) / 2, words, va="center")
        axis.annotate("", (4.0, 0.6), (3.0, 0.6), arrowprops={"arrowstyle": "-|>", "color": "#0072B2", "linewidth": 1.5})
        axis.text(4.1, 0.6, "tap: now and then", va="center")
        axis.set(xlim=(0.8, 6.2), ylim=(-0.2, 5.0), aspect="equal")
        axis.set_axis_off()
        keep(figure, folder / "tutorial_plant.png")


def draw_policies(folder: Path, scope: dict) -> None:
    """What is applied where, and one episode of each."""
    from matplotlib.colors import ListedColormap

    upper, lower = np.meshgrid(np.linspace(0.0005, 0.3495, 300), np.linspace(0.0005, 0.3495, 300))
    points = np.column_stack([upper.ravel(), lower.ravel()])
    shown = {"SPAQL-TS": scope["agents"][0].policy(), "Atlas": scope["policy"]}
    with sheet(4.6) as figure:
        axes = figure.subplots(2, 2, sharey="row", height_ratios=(1.5, 1.0))
        for (above, below), policy in zip(axes.T, shown.values(), strict=True):
            applied = policy.decide(points)[:, 0].reshape(upper.shape)
            above.imshow(applied, origin="lower", extent=(0, 35, 0, 35), cmap=ListedColormap(ACTIONS), vmin=-0.25, vmax=1.25, aspect="auto")
            levels = 100 * policy.episode(seed=SEED).observations
            above.plot(levels[:, 0], levels[:, 1], color=INK, linewidth=0.9)
            above.plot(*levels[0], marker="o", color="white", markeredgecolor=INK, markersize=5)
            above.set(xlabel="upper level (cm)", xlim=(0, 35), ylim=(0, 35))
            above.grid(visible=False)
            minutes = np.arange(len(levels)) * 5 / 60
            below.plot(minutes, levels[:, 0], color="#56B4E9", label="upper")
            below.plot(minutes, levels[:, 1], color="#0072B2", label="lower", linewidth=1.8)
            below.axhline(15, color=INK, linestyle=(0, (1, 1.5)), linewidth=1)
            below.axhline(35, color="#D55E00", linewidth=1)
            below.set(xlabel="minutes", ylim=(0, 37))
        axes[0, 0].set_ylabel("lower level (cm)")
        axes[1, 0].set_ylabel("level (cm)")
        axes[1, 1].legend(loc="upper right", fontsize=7.5, ncols=2, bbox_to_anchor=(1.0, 0.93))
        letters(list(axes[0]), list(shown))
        keep(figure, folder / "tutorial.png")


SEED = 3

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images"
    draw_plant(target)
    draw_policies(target, tutorial())
