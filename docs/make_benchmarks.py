"""Writes the numbers of benchmarks.md, and the controllers of laws.md: `python docs/make_benchmarks.py STORE...`.

A STORE is what `spaql reproduce --only laws` (or few, or foreign) `--store STORE` has left: its table is replaced, between the marks `<!-- NAME -->`.
What others have published comes with the package, and is always written.
"""

import sys
from dataclasses import replace
from pathlib import Path

from make_results import replaced

from spaql.analysis.numbers import number
from spaql.analysis.tables import Column, Table, markdown
from spaql.runs.store import Store
from spaql.studies.few.tables import few_tables
from spaql.studies.foreign.study import TASKS, foreign_tables, told
from spaql.studies.foreign.study import others as others_of_plants
from spaql.studies.foreign.study import title_of as plant_title
from spaql.studies.laws.study import law_tables, title_of
from spaql.studies.laws.study import others as others_of_laws
from spaql.studies.load import load_results
from spaql.studies.parts import Results

LAWS = ("problem", "laws", "numbers", "samples", "fresh return", "worst agent")
FEW = ("problem", "samples", "fresh return", "worst agent", "agents in doubt", "laws")
FOREIGN = ("Laws", "Atlas")
SHOWN = (("cartpole-500", 1), ("pendulum", 2), ("mountain-car-continuous", 3), ("cartpole-swing-up", 3))  # controllers: laws at most


def blocks_of(results: Results) -> dict[str, str]:
    """By their marks."""
    tables = {table.name: table for table in (*law_tables(results), *few_tables(results), *foreign_tables(results))}
    blocks = {name: narrow(tables[name], kept) for name, kept in (("laws", LAWS), ("few", FEW)) if name in tables}
    if "laws-controllers" in tables:
        blocks["laws-controllers"] = controllers(tables["laws-controllers"])
    return blocks | ({"foreign": beside_each_other(tables["foreign"])} if "foreign" in tables else {}) | {"others": published()}


def narrow(table: Table, headings: tuple[str, ...]) -> str:
    """Some of its columns, without title and notes."""
    return lines_of(replace(table, columns=tuple(column for column in table.columns if column.heading in headings)))


def lines_of(table: Table) -> str:
    return "\n".join(line for line in markdown(table).splitlines() if line.startswith("|"))


def controllers(table: Table) -> str:
    """Some of them, as they are printed, line by line; docs/make_slide.py reads them."""
    parts = []
    for row in (row for shown in SHOWN for row in table.rows if (row["problem"], row["at_most"]) == shown):
        laws = f"{row['at_most']} laws at most" if row["at_most"] > 1 else "one law"
        title = f"{title_of(row['problem'])}, {laws}: {number(row['typical_fresh'], 1)} (seed {row['typical_seed']})"
        parts.append(f"**{title}**\n\n```text\n{row['controller']}\n```")
    return "\n\n".join(parts)


def beside_each_other(table: Table) -> str:
    """A row for each plant: return, worst agent and samples of these learners."""
    own = [row for row in table.rows if "worst_agent" in row]
    cells = {(row["plant"], row["who"]): f"{told(row['fresh'])} [{told(row['worst_agent'])}], {number(row['samples'], 0)}" for row in own}
    learners = [Column(who, lambda row, who=who: cells.get((row["plant"], who), "–")) for who in FOREIGN]
    plants = [{"plant": name} for name in dict.fromkeys(row["plant"] for row in own)]
    return lines_of(Table("foreign", "", (Column("plant", lambda row: plant_title(row["plant"]), words=True), *learners), plants))


def published() -> str:
    """A row for each problem, highest return first, and the sources. What two lists have is told once."""
    sources: list[str] = []
    rows = []
    for problem in dict.fromkeys([*others_of_laws(), *others_of_plants()]):
        found, seen = [], set()
        for who, samples, returns, how, where in others_of_plants().get(problem, []):
            if samples is None and returns is None:
                continue
            source = sources[-1] if where == "the same figure" else where.partition(", ")[0]
            low, high = returns if isinstance(returns, list) else (returns, returns)
            shown = how if low is None else told(low) if low == high else f"{told(low)} to {told(high)}"
            after = f" ({samples:,})" if samples else ""
            found.append((low, f"{who}{after}: {shown}", _place(sources, source)))
            seen.add((low, source))
        for what, returns, where in others_of_laws().get(problem, []):
            source = where.partition(", ")[0]
            if (returns, source) not in seen:
                found.append((returns, f"{what}: {told(returns)}", _place(sources, source)))
        found.sort(key=lambda one: -float("inf") if one[0] is None else one[0], reverse=True)
        if not found:
            continue
        title = plant_title(problem) if problem in TASKS else title_of(problem)
        rows.append({"problem": title, "told": "; ".join(f"{text} [{place}]" for _, text, place in found)})
    columns = (Column("problem", lambda row: row["problem"], words=True), Column("published", lambda row: row["told"], words=True))
    listed = "; ".join(f"[{place}] {source}" for place, source in enumerate(sources, 1))
    return f"{lines_of(Table('others', '', columns, rows))}\n\nSources: {listed}."


def _place(sources: list[str], source: str) -> int:
    if source not in sources:
        sources.append(source)
    return sources.index(source) + 1


def main(stores: list[Path], docs: Path) -> None:
    blocks = blocks_of(Results({}))
    for folder in stores:
        blocks |= blocks_of(load_results(Store(folder, create=False)))
    for name, block in blocks.items():
        page = docs / ("laws.md" if name == "laws-controllers" else "benchmarks.md")
        page.write_text(replaced(page.read_text("utf-8"), {name: block}, name), "utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]], Path(__file__).parent)
