"""Writes the numbers and the controllers of laws.md: `python docs/make_laws.py STORE`.

STORE is what `spaql reproduce --only laws --store STORE` has left; the environments of MuJoCo and Box2D come from the runs that the package publishes.
"""

import sys
from pathlib import Path

from make_results import replaced

from spaql.analysis.numbers import number
from spaql.analysis.tables import Table, markdown
from spaql.runs.store import Store
from spaql.studies.laws.tables import law_tables, title_of
from spaql.studies.load import load_results


def block(table: Table) -> str:
    """Without its title, which stands above as a heading."""
    rows = [line for line in markdown(table).splitlines() if line.startswith("|")]
    return "\n".join([*rows, "", " ".join(table.notes)])


def controllers(table: Table) -> str:
    """As they are printed, line by line."""
    parts = []
    for row in table.rows:
        laws = f"{row['at_most']} laws at most" if row["at_most"] > 1 else "one law"
        title = f"{title_of(row['problem'])}, {laws}: {number(row['typical_fresh'], 1)} (seed {row['typical_seed']})"
        parts.append(f"**{title}**\n\n```text\n{row['controller']}\n```")
    return "\n\n".join(parts)


def main(folder: Path, page: Path) -> None:
    tables = {table.name: table for table in law_tables(load_results(Store(folder, create=False)))}
    blocks = {name: controllers(table) if name == "laws-controllers" else block(table) for name, table in tables.items()}
    page.write_text(replaced(page.read_text("utf-8"), blocks, "laws"), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent / "laws.md")
