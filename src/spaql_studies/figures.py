"""The figures of all studies, drawn from the results of a store, and the parts that several of them have."""

import contextlib
import math
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import BAND, COLOURS, INK, mean_and_half, png_of, sheet, svg_of, write
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.learners.registry import CARDS, learners, rivals
from spaql_studies.parts import studies
from spaql_studies.study import Drawing, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet
    from matplotlib.lines import Line2D

# One line and marker per algorithm everywhere: those on its card.
DASHES = {card.name: card.look.line for card in CARDS.values()}
MARKERS = {card.name: card.look.marker for card in CARDS.values()}
RING: dict[str, Any] = {
    "color": INK, "linestyle": "none", "marker": "o", "markersize": 8.5, "markerfacecolor": "none",
    "markeredgewidth": 0.9,
}  # fmt: skip
# The order of legends and rows: our learners, rivals, and the learner that learns nothing.
ORDER = [
    *(card.name for card in reversed(learners()) if card.learns),
    *(card.name for card in rivals()),
    *(card.name for card in learners() if not card.learns),
]


@dataclass(frozen=True)
class Figure:
    """A drawn figure. `name` is the stem of its files, `caption` says what it shows and what to notice."""

    name: str
    title: str
    caption: str
    png: Path
    svg: Path
    study: str


def drawings() -> dict[str, tuple[str, Drawing]]:
    """All drawings with their study, by the names of their files: numbered from 01 on, in the order of the studies."""
    planned = [(study.name, drawing) for study in studies() for drawing in study.figures]
    return {f"{place:02}-{drawing[1].name}": drawing for place, drawing in enumerate(planned, 1)}


def draw_figures(
    results: Results, folder: Path, say: Callable[[str], None] | None = None, helper: Executor | None = None
) -> list[Figure]:
    """Every figure there is data for, as PNG and SVG; `say(name)` is called before each that is drawn here.

    `helper`: a second process, which began with `prepare(results)`. It draws from the first on, this one from the last.
    """
    names = list(drawings())
    begun: dict[str, Future[Figure | None]] = {}
    drawn: dict[str, Figure | None] = {}
    with contextlib.suppress(RuntimeError):  # the helper has ended, or was killed
        begun = {name: helper.submit(_drawn, name, folder) for name in names} if helper is not None else {}
    for name in reversed(names) if begun else names:
        if name in begun and not begun[name].cancel():
            continue
        at_work("drawing figures", len(drawn), len(names))
        if say is not None:
            say(name)
        drawn[name] = draw_figure(results, name, folder)
    for name in [name for name in names if name not in drawn]:
        try:
            drawn[name] = begun[name].result()
        except BrokenExecutor:  # the helper was killed: nothing is lost but its time
            drawn[name] = draw_figure(results, name, folder)
    return [figure for name in names if (figure := drawn[name]) is not None]


def draw_figure(results: Results, name: str, folder: Path) -> Figure | None:
    """The figure with this name; None without data."""
    study, drawing = drawings()[name]
    with sheet(drawing.height, drawing.width) as figure:
        caption = drawing.draw(figure, results)
        if caption is None:
            return None
        return Figure(name, drawing.title, caption, *save(figure, folder, name, drawing.title), study)


_prepared: list[Results] = []  # in a helper


def prepare(results: Results) -> None:
    """Hand the results to a helper, once for all figures."""
    _prepared[:] = [results]


def _drawn(name: str, folder: Path) -> Figure | None:
    return draw_figure(_prepared[0], name, folder)


# -- parts of figures ------------------------------------------------------------------------------------------------


def save(figure: "Sheet", folder: Path, name: str, title: str) -> tuple[Path, Path]:
    """NAME.png on white and NAME.svg without background. The same figure gives the same bytes. Inside `sheet` only."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    write(png, png_of(figure))
    figure.set_layout_engine("none")  # the places found for the PNG are those of the SVG too
    write(svg, svg_of(figure, name, title).encode())
    return png, svg


def line_of(algorithm: str, **more: Any) -> dict[str, Any]:
    """Arguments of `plot` for a curve of an algorithm."""
    return {"color": COLOURS[algorithm], "linestyle": DASHES[algorithm]} | more


def marker_of(algorithm: str, **more: Any) -> dict[str, Any]:
    """Arguments of `errorbar` for a point of an algorithm."""
    return {"color": COLOURS[algorithm], "marker": MARKERS[algorithm], "linestyle": "none", "linewidth": 1.2} | more


def plot_band(axis: "Axes", algorithm: str, x: Array, values: Array, marks: int = 8, floor: float = -np.inf) -> Array:
    """Mean over agents with its 95 % interval as a band (not below `floor`), and some markers on the line.

    Returns the mean.
    """
    mean, half = mean_and_half(values)
    if half is not None:
        low, high = np.maximum(mean - half, floor), mean + half
        axis.fill_between(x, low, high, color=COLOURS[algorithm], alpha=BAND, linewidth=0)
    # each algorithm has its own places for the markers, or markers of curves on the same level hide each other
    place, stride = ORDER.index(algorithm), max(1, len(x) // marks)
    where = (stride * (1 + place) // 6, stride)
    axis.plot(x, mean, **line_of(algorithm, zorder=3 - 0.1 * place, marker=MARKERS[algorithm], markevery=where))
    return mean


def fresh_strip(panel: "Axes", groups: Sequence[tuple[str, Array]], width: float = 0.2) -> "Axes":
    """A narrow panel at the right of a panel: what the kept agents are worth, with 95 % intervals over the agents."""
    axis = panel.inset_axes((1.03, 0.0, width, 1.0), sharey=panel)
    for place, (algorithm, values) in enumerate(groups):
        mean, half = mean_and_half(values)
        axis.errorbar(place, mean, half, **marker_of(algorithm))
    axis.set(xlim=(-0.7, len(groups) - 0.3), xticks=[])
    axis.set_title("fresh", loc="center", fontsize=8.5, fontweight="normal")
    axis.patch.set(facecolor=INK, alpha=0.06)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.tick_params(left=False, labelleft=False)
    return axis


def entry(algorithm: str, label: str | None = None, **more: Any) -> "Line2D":
    """A line of the legend."""
    from matplotlib.lines import Line2D

    marker = {} if not CARDS[algorithm].learns else {"marker": MARKERS[algorithm]}
    return Line2D([], [], label=label or algorithm, **(line_of(algorithm) | marker | more))


def panel_grid(
    figure: "Sheet", titles: Sequence[str], columns: int, inches: tuple[float, float], title: tuple[int, float]
) -> list["Axes"]:
    """A panel for each title, in at most so many columns.

    `inches`: the height of the figure without panels, and of a row of them; `title`: letters in a line, and their size.
    """
    columns = min(columns, len(titles))
    rows = math.ceil(len(titles) / columns)
    figure.set_figheight(inches[0] + inches[1] * rows)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis in axes[len(titles) :]:
        axis.set_visible(False)
    for axis, text in zip(axes, titles, strict=False):
        axis.set_title(textwrap.fill(text, title[0]), fontsize=title[1])
    return axes[: len(titles)]


def side_by_side(count: int) -> Array:
    """Places of so many agents, from -1 to 1."""
    return np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1)


def dots(size: float) -> dict[str, Any]:
    """Arguments of `plot` for single agents."""
    return {"linestyle": "none", "marker": "o", "markersize": size, "markeredgewidth": 0, "alpha": 0.5}


def dotted_level(axis: "Axes", value: float | None, zorder: float) -> None:
    """The best return that is known, if one is."""
    if value is not None:
        axis.axhline(value, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=zorder)
