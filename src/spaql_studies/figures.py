"""The figures of all studies, drawn from the results of a store."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from pathlib import Path

from spaql.analysis.style import save, sheet
from spaql.ground.progress import at_work
from spaql_studies.parts import Results, studies
from spaql_studies.study import Drawing


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


class Drawn:
    """Figures that a second process draws, from the first on, while this one draws from the last on."""

    def __init__(self, helper: Executor, folder: Path) -> None:
        """`helper` is a process that began with `prepare(results)`."""
        self.helper, self.folder, self.left = helper, folder, deque(drawings())
        self.begun: dict[str, Future[Figure | None]] = {}
        self.lock = threading.Lock()
        self._next()

    def _next(self, _: object = None) -> None:
        """One at a time: whatever is not begun can be drawn here."""
        with self.lock:
            if not self.left:
                return
            try:
                future = self.helper.submit(_drawn, self.left[0], self.folder)
            except RuntimeError:  # the helper has ended, or was killed
                return
            self.begun[self.left.popleft()] = future
        future.add_done_callback(self._next)

    def take(self) -> str | None:
        """The last figure that nobody draws; None if there is no more."""
        with self.lock:
            return self.left.pop() if self.left else None


def draw_figures(
    results: Results, folder: Path, say: Callable[[str], None] | None = None, beside: Drawn | None = None
) -> list[Figure]:
    """Every figure there is data for, as PNG and SVG; `say(name)` is called before each that is drawn here."""
    names = list(drawings())
    drawn: dict[str, Figure | None] = {}
    ahead = iter(names) if beside is None else iter(beside.take, None)
    for name in ahead:
        at_work("drawing figures", len(drawn) + (len(beside.begun) if beside else 0), len(names))
        if say is not None:
            say(name)
        drawn[name] = draw_figure(results, name, folder)
    for name, future in beside.begun.items() if beside else ():
        try:
            drawn[name] = future.result()
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
