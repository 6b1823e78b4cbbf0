"""Writes the numbers, the pictures and the raw data of results.md: `python docs/make_results.py STORE`.

STORE is what `spaql reproduce --only results --store STORE` has left. In results.md everything between the marks `<!-- NAME -->` and
`<!-- /NAME -->` is replaced by the table NAME of that store; the sentences around them are written by people. The tables of single problems
are in the report of the store.
"""

import csv
import io
import re
import sys
from pathlib import Path

from spaql.analysis.style import png_of, sheet, write
from spaql_studies.figures import drawings
from spaql_studies.load import load_results
from spaql_studies.results import RESULTS, every_learner_tables
from spaql_studies.runs.store import Store
from spaql_studies.scores import ENTRANTS, runs_of, seconds_of
from spaql_studies.study import Results
from spaql_studies.tables import Table, markdown

PICTURES = {"results": "results.png", "results-agents": "results_agents.png"}  # by the name of the figure, without its number


def filled(text: str, tables: list[Table], summary: str) -> str:
    """The page with the numbers of these tables."""
    return replaced(text, {table.name: _block(table) for table in tables} | {"results-runs": summary}, "results")


def replaced(text: str, blocks: dict[str, str], prefix: str) -> str:
    """The page with new blocks. A block without marks, or marks without a block, would be a page that is not whole."""
    marks = set(re.findall(rf"<!-- ({prefix}[\w-]*) -->", text))
    if marks != set(blocks):
        raise SystemExit(f"marks and tables differ: {', '.join(sorted(marks ^ set(blocks)))}")
    for name, block in blocks.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}\n{block}\n{end}{rest.split(end, 1)[1]}"
    return text


def _block(table: Table) -> str:
    """Without its title, which stands above as a heading; of the notes only what is about this problem."""
    lines = markdown(table).splitlines()[2:]
    rows = [re.sub(r" ± [\d.,]+", "", line) for line in lines if line.startswith("|")]  # intervals are in the pictures
    notes = [note for note in table.notes if not note.startswith(("±", "Mean"))]
    return "\n".join([*rows, *(["", " ".join(notes)] if notes else [])])


def told(results: Results) -> str:
    """How much was computed."""
    runs = [run for part in RESULTS.parts for run in results.runs(*part)]
    samples = sum(run.train_samples + run.eval_samples for run in runs)
    minutes = sum(seconds_of(run) or 0.0 for run in runs) / 60
    return f"{len(runs):,} runs, {samples / 1e9:.1f} billion samples, {minutes:.0f} minutes of CPU time for learning."


def raw(results: Results) -> str:
    """One line per agent."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["problem", "algorithm", "seed", "fresh", "train_samples", "eval_samples", "cells", "cpu_seconds"])
    for problem in RESULTS.problems:
        for name in ENTRANTS:
            for run in runs_of(results, problem, name):
                seconds = seconds_of(run)
                counts = (
                    ["", "", "", ""]
                    if name == "Random"
                    else [run.train_samples, run.eval_samples, run.arms, f"{seconds:.3g}"]
                )
                writer.writerow([problem, name, run.seed, f"{run.fresh:.6g}", *counts])
    return text.getvalue()


def main(folder: Path, docs: Path) -> None:
    results = load_results(Store(folder, create=False))
    page = docs / "results.md"
    page.write_text(filled(page.read_text("utf-8"), every_learner_tables(results)[:1], told(results)), "utf-8")
    (docs / "results.csv").write_text(raw(results), "utf-8")
    for name, picture in PICTURES.items():
        _, drawing = next(found for number, found in drawings().items() if number.partition("-")[2] == name)
        with sheet(drawing.height, drawing.width) as figure:
            print(drawing.draw(figure, results))
            write(docs / "images" / picture, png_of(figure))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
