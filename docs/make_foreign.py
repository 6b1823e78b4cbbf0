"""Writes the numbers and the controllers of foreign.md: `python docs/make_foreign.py STORE`.

STORE is what `spaql reproduce --only foreign --store STORE` has left. What stands between the marks `<!-- foreign... -->` of the page is replaced.
"""

import sys
from pathlib import Path

from make_laws import block
from make_results import replaced

from spaql.analysis.tables import Table
from spaql.runs.store import Store
from spaql.studies.foreign.tables import foreign_tables, title_of, told
from spaql.studies.load import load_results
from spaql.studies.parts import Results


def controllers(table: Table) -> str:
    """As they are printed, line by line."""
    parts = []
    for row in table.rows:
        title = f"{title_of(row['plant'])}, {row['who']}: {told(row['typical_fresh'])} (seed {row['typical_seed']})"
        parts.append(f"**{title}**\n\n```text\n{row['controller']}\n```")
    return "\n\n".join([*parts, *table.notes])


def blocks_of(results: Results) -> dict[str, str]:
    """By their marks."""
    return {table.name: controllers(table) if table.name == "foreign-controllers" else block(table) for table in foreign_tables(results)}


def main(folder: Path, page: Path) -> None:
    blocks = blocks_of(load_results(Store(folder, create=False)))
    if not blocks:
        raise SystemExit(f"{folder} has no runs of foreign: spaql reproduce --only foreign --store {folder}")
    page.write_text(replaced(page.read_text("utf-8"), blocks, "foreign"), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent / "foreign.md")
