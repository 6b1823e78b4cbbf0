"""The figures of all studies, drawn from the results of a store."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spaql.analysis.style import save, sheet
from spaql.progress import at_work
from spaql.studies import studies
from spaql.studies.parts import Results
from spaql.studies.study import Drawing


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
    return {f"{place:02}-{one[1].name}": one for place, one in enumerate(planned, 1)}


def draw_figures(results: Results, folder: Path, say: Callable[[str], None] | None = None) -> list[Figure]:
    """Every figure there is data for, as PNG and SVG; `say(name)` is called before each."""
    drawn = []
    for place, (name, (study, drawing)) in enumerate(drawings().items()):
        at_work("drawing figures", place, len(drawings()))
        if say is not None:
            say(name)
        with sheet(drawing.height, drawing.width) as figure:
            caption = drawing.draw(figure, results)
            if caption is not None:
                png, svg = save(figure, folder, name, drawing.title)
                drawn.append(Figure(name, drawing.title, caption, png, svg, study))
    return drawn
