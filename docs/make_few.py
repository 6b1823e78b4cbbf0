"""Writes the numbers and the picture of "Laws after a few hundred samples" in atlas-results.md: `python docs/make_few.py STORE`.

STORE is what `spaql reproduce --only few --store STORE` has left. What stands between the marks `<!-- few... -->` of the page is replaced; before that, keep the numbers of the
version before in CHANGELOG.md.
"""

import sys
from pathlib import Path

from make_laws import block
from make_results import replaced

from spaql.analysis.style import png_of, sheet, write
from spaql.runs.store import Store
from spaql.studies.few.study import STUDY
from spaql.studies.load import load_results
from spaql.studies.parts import Results

PICTURE = "few.png"


def blocks_of(results: Results, caption: str) -> dict[str, str]:
    """By their marks."""
    picture = f"![Fresh returns of every agent over samples, one panel per problem, with what others have published](images/{PICTURE})"
    return {table.name: block(table) for table in STUDY.tables(results)} | {"few-figure": f"{picture}\n\n*{caption}*"}


def main(folder: Path, docs: Path) -> None:
    results, page, drawing = load_results(Store(folder, create=False)), docs / "atlas-results.md", STUDY.figures[0]
    with sheet(drawing.height, drawing.width) as figure:
        caption = drawing.draw(figure, results)
        if caption is None:
            raise SystemExit(f"{folder} has no runs of few: spaql reproduce --only few --store {folder}")
        write(docs / "images" / PICTURE, png_of(figure))
    page.write_text(replaced(page.read_text("utf-8"), blocks_of(results, caption), "few"), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
