"""How every figure looks, and how it is written: fonts, colours, line styles, the same bytes for the same data."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import checked_path
from spaql.ground.writing import form_of, make_folder, write_whole
from spaql.learners.registry import CARDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# The colour of text, axes and grid, and of nothing else: a page replaces it by `currentColor` to follow its theme.
INK = "#22262b"
# One colour per algorithm everywhere: that on its card.
COLOURS = {card.name: card.look.colour for card in CARDS.values()}

WIDTH = 7.2  # inches: two columns of a journal
DPI = 200
BAND = 0.2  # opacity of intervals
MOST_POINTS = 300  # of a curve: more points cannot be seen, and would make the vector files large
FONTS = "DejaVu Sans, Verdana, sans-serif"
SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans", "font.size": 8.5, "text.color": INK,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "axes.titlesize": 9,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.facecolor": "none", "axes.linewidth": 0.8,
    "axes.axisbelow": True, "axes.labelsize": 8.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": INK, "grid.alpha": 0.14, "grid.linewidth": 0.6,
    "xtick.color": INK, "ytick.color": INK, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "figure.facecolor": "none", "figure.edgecolor": "none", "figure.dpi": 100,
    "legend.frameon": False, "legend.fontsize": 8.5, "lines.linewidth": 1.4, "lines.markersize": 4.2,
    "errorbar.capsize": 2.2, "svg.fonttype": "none", "path.simplify": False,
}  # fmt: skip


@contextmanager
def sheet(height: float, width: float = WIDTH, path: str | PathLike[str] | None = None) -> Iterator["Figure"]:
    """A figure in our style; written to `path` at the end, if there is one.

    pyplot is not used, and the user's settings and backend are neither used nor changed.
    """
    import matplotlib
    from matplotlib.figure import Figure

    form = None if path is None else form_of(path)  # a bad name is an error before the work
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)  # type: ignore[arg-type]
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)  # type: ignore[union-attr, call-arg]
        yield figure
        if path is not None:
            picture = io.BytesIO()
            figure.savefig(picture, format=form, dpi=160, facecolor="white")
            write_whole(checked_path(path), lambda file: file.write(picture.getvalue()))


def svg_of(figure: "Figure", name: str, title: str) -> str:
    """Without background, fit for a page. Inside `sheet` only."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    figure.set_facecolor("none")
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        canvas = FigureCanvasSVG(figure)
        canvas.print_svg(text, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    return tidy(text.getvalue(), name, title)


def png_of(figure: "Figure") -> bytes:
    """On white. `savefig` would draw everything twice."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.dpi = DPI
    figure.set_facecolor("white")
    file = io.BytesIO()
    FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return file.getvalue()


def write(path: Path, data: bytes) -> None:
    make_folder(path.parent)
    write_whole(path, lambda file: file.write(data))


def tidy(svg: str, name: str, title: str) -> str:
    """Fit for a page with other figures: no prologue, no style sheet for the whole page, no id used twice."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s*<defs>\s*<style type="text/css">[^<]*</style>\s*</defs>', "", svg)
    root = f'<svg role="img" aria-label="{escape(title)}" style="stroke-linejoin: round; stroke-linecap: butt"'
    svg = svg.replace("<svg", root, 1).replace("'DejaVu Sans'", FONTS)
    svg = re.sub(r' (?:d|x|y|transform)="[^"]*"', _rounded, svg)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", svg)
    return re.sub(r'(?<= id=")|(?<=url\(#)|(?<=href="#)', f"{name}-", svg)


def _rounded(found: re.Match[str]) -> str:
    """A hundredth of a point is less than can be seen or printed."""
    return re.sub(r"\d+\.\d{3,}", lambda long: f"{float(long[0]):.2f}", found[0])


def mean_and_half(values: Array) -> tuple[Array, Array | None]:
    """Mean over the agents (first axis), and half the width of Student's 95 % interval; one agent has no interval."""
    from scipy.special import stdtrit

    n, mean = len(values), np.mean(values, axis=0)
    return mean, stdtrit(n - 1, 0.975) * np.std(values, axis=0, ddof=1) / np.sqrt(n) if n > 1 else None


def thinned(length: int, most: int = MOST_POINTS) -> Array:
    """Indices of at most `most` of `length` points, with the first and the last."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(int))


def legend(figure: "Figure", entries: Sequence["Line2D"], length: float = 2.6) -> None:
    """Below the figure, in one row."""
    figure.legend(
        handles=entries, loc="outside lower center", ncols=len(entries),
        handlelength=length, columnspacing=1.8, borderaxespad=0.2,
    )  # fmt: skip


def letters(axes: Sequence["Axes"], titles: Sequence[str]) -> None:
    """Panel titles: (a), (b), ... if there are several."""
    for letter, axis, title in zip("abcdefgh", axes, titles, strict=False):
        axis.set_title(f"({letter})  {title}" if len(axes) > 1 else title)


def episodes(axis: "Axes", length: int) -> None:
    """The axis of training episodes."""
    from matplotlib.ticker import MaxNLocator

    axis.set(xlabel="training episode", xlim=(0, max(length, 2)))
    axis.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))


def axis_label(name: str, unit: str = "", longest: int = 16) -> str:
    """A name, in several lines if it is long, and its unit below. Broken between words, before a bracket, after a _."""
    words = name.replace("(", " (").split()
    parts = [part for word in words for part in ([word] if len(word) <= longest + 4 else re.split(r"(?<=_)", word))]
    lines = [""]
    for part in parts:
        joined = f"{lines[-1]}{'' if lines[-1].endswith('_') or part.startswith('(') else ' '}{part}".strip()
        if len(joined) <= longest:
            lines[-1] = joined
        else:
            lines.append(part)
    return "\n".join([line for line in lines if line] + ([f"({unit})"] if unit else []))


def short(value: float) -> str:
    """1234567 as 1.23 M."""
    for unit, size in ((" M", 1e6), (" k", 1e3)):
        if abs(value) >= size:
            scaled = value / size
            return (f"{scaled:,.0f}" if abs(scaled) >= 1000 else f"{scaled:.3g}") + unit
    return f"{value:.3g}"


def plain_log(axis: "Axes", which: str) -> None:
    """Powers of ten as plain text: 1 k, 10 k, ... A formula would need fonts that a page does not have."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    line = axis.xaxis if which == "x" else axis.yaxis
    line.set_major_locator(LogLocator(10, numticks=12))
    line.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    line.set_minor_formatter(NullFormatter())
