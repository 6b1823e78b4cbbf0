"""Draws the slide of the README and of the landing page: `python docs/make_slide.py [FOLDER]`.

Controllers and returns are those of gallery.md, which `python docs/make_benchmarks.py STORE` writes; nothing is computed here.
"""

import re
import sys
from pathlib import Path

from spaql.analysis.style import INK, png_of, sheet, write
from spaql.ground.colours import BLUE, GREY
from spaql_studies.load import others
from spaql_studies.tables import number

PAGE = Path(__file__).parent / "gallery.md"
# The heading of a controller on the page, the title on the slide, the problem, and who stands beside it: how it begins in others.json, and its name
SHOWN = (
    ("CartPole, 500 steps, one law", "CartPole: balance for 500 steps", "cartpole-500", "PPO, DQN and most others", "PPO, DQN"),
    ("Pendulum, 2 laws at most", "Pendulum: swing up with little torque", "pendulum", "TQC, one agent", "TQC"),
    ("MountainCar, continuous, 3 laws at most", "MountainCar: climb a hill with a weak engine", "mountain-car-continuous", "SAC, one agent", "SAC"),
    ("Cart-pole swing-up, 3 laws at most", "Cart-pole: swing up and hold", "cartpole-swing-up", "Black-DROPS, a network, median after 280", "Black-DROPS"),
)
LINE, GAP, TOP = 0.175, 0.36, 0.62  # inches: a line of a law, between two controllers, the head


def controller(text: str, heading: str) -> tuple[str, list[str]]:
    """The return and the lines of a controller."""
    found = re.search(rf"\*\*{re.escape(heading)}: (\S+) \(seed \d+\)\*\*\n\n```text\n(.*?)\n```", text, re.DOTALL)
    assert found is not None, heading
    return found[1], found[2].split("\n")


def other(problem: str, begins: str) -> str:
    """What others have published."""
    return number(next(value for what, _, value, *_ in others("laws")[problem] if what.startswith(begins)), 1)


def main(folder: Path) -> None:
    text = PAGE.read_text("utf-8")
    made = [(title, *controller(text, heading), name, other(problem, begins)) for heading, title, problem, begins, name in SHOWN]
    height = TOP + sum(GAP + LINE * (len(lines) + 1.4) for _, _, lines, _, _ in made)
    with sheet(height, 8.7) as figure:
        figure.set_layout_engine("none")  # placed by hand
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set(xlim=(0, 8.7), ylim=(height, 0))
        axis.axis("off")
        axis.text(0.25, 0.34, "The whole controller", fontsize=12, fontweight="bold", va="center", color=INK)
        axis.text(7.15, 0.34, "its return", fontsize=10, ha="right", va="center", color=BLUE, fontweight="bold")
        axis.text(8.45, 0.34, "a network's", fontsize=10, ha="right", va="center", color=GREY, fontweight="bold")
        y = TOP
        for title, earned, lines, name, theirs in made:
            axis.plot((0.25, 8.45), (y, y), color=INK, linewidth=0.5, alpha=0.4)
            axis.text(0.25, y + 0.2, title, fontsize=9.5, fontweight="bold", va="center", color=INK)
            axis.text(7.15, y + 0.22, earned.replace("-", "−"), fontsize=15, ha="right", va="center", color=BLUE, fontweight="bold")
            axis.text(8.45, y + 0.22, theirs.replace("-", "−"), fontsize=15, ha="right", va="center", color=GREY)
            axis.text(8.45, y + 0.46, name, fontsize=8, ha="right", va="center", color=GREY)
            for place, line in enumerate(lines):
                axis.text(0.25, y + 0.45 + LINE * place, line.replace(" m/step", ""), fontsize=8.2, family="monospace", va="center", color=INK)
            y += GAP + LINE * (len(lines) + 1.4)
        write(folder / "slide.png", png_of(figure))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images")
