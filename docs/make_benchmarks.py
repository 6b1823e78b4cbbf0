"""Writes the numbers of benchmarks.md and boards.md, and the controllers of gallery.md: `python docs/make_benchmarks.py STORE...`.

A STORE is what `spaql reproduce --only laws` (or few, foreign, boards) `--store STORE` has left: its table is replaced, between the marks `<!-- NAME -->`.
What others have published comes with the package, and is always written.
"""

import sys
from dataclasses import replace
from pathlib import Path

from make_results import replaced

from spaql_studies import boards
from spaql_studies.benchmark import published_of, return_of, title_of_problem
from spaql_studies.few import few_tables
from spaql_studies.foreign import TASKS, digits_of, foreign_tables, title_of_plant
from spaql_studies.laws import law_tables
from spaql_studies.load import load_results, others
from spaql_studies.runs.store import Store
from spaql_studies.study import Results
from spaql_studies.tables import Column, Table, markdown, number, shown

LAWS = ("problem", "laws", "numbers", "samples", "fresh return", "worst agent")
FEW = ("problem", "samples", "fresh return", "worst agent", "agents in doubt", "laws")
FOREIGN = ("Laws", "Atlas")
BOARDS = ("problem", "laws", "numbers", "samples", "score or return", "worst agent", "agents")
BESIDE = ("problem", "controller", "return", "how", "source")
SHOWN = (("cartpole-500", 1), ("pendulum", 2), ("mountain-car-continuous", 3), ("cartpole-swing-up", 3))  # controllers: laws at most


def blocks_of(results: Results) -> dict[str, str]:
    """By their marks."""
    tables = {table.name: table for table in (*law_tables(results), *few_tables(results), *foreign_tables(results))}
    blocks = {name: narrow(tables[name], kept) for name, kept in (("laws", LAWS), ("few", FEW)) if name in tables}
    if "laws-controllers" in tables:
        blocks["laws-controllers"] = controllers(tables["laws-controllers"])
    blocks |= board_blocks({table.name: table for table in boards.board_tables(results)})
    return blocks | ({"foreign": beside_each_other(tables["foreign"])} if "foreign" in tables else {}) | {"others": published()}


def board_blocks(tables: dict[str, Table]) -> dict[str, str]:
    """Of boards.md."""
    if "boards" not in tables:
        return {}
    laws = [f"{boards.title_of_board(row['problem'])}, {row['who']}:\n\n```text\n{row['controller']}\n```" for row in tables["boards-laws"].rows]
    return {
        "boards-reached": narrow(tables["boards"], BOARDS),
        "boards-others": narrow(tables["boards-others"], BESIDE),
        "boards-pendulums": lines_of(tables["boards-pendulums"]),
        "boards-laws": "\n\n".join(laws),
    }


def narrow(table: Table, headings: tuple[str, ...]) -> str:
    """Some of its columns, without title and notes."""
    return lines_of(replace(table, columns=tuple(column for column in table.columns if column.heading in headings)))


def lines_of(table: Table) -> str:
    return "\n".join(line for line in markdown(table).splitlines() if line.startswith("|"))


def controllers(table: Table) -> str:
    """Some of them, as they are printed, line by line; docs/make_slide.py reads them."""
    parts = []
    for row in (row for chosen in SHOWN for row in table.rows if (row["problem"], row["at_most"]) == chosen):
        laws = f"{row['at_most']} laws at most" if row["at_most"] > 1 else "one law"
        title = f"{title_of_problem(row['problem'])}, {laws}: {number(row['typical_fresh'], 1)} (seed {row['typical_seed']})"
        parts.append(f"**{title}**\n\n```text\n{row['controller']}\n```")
    return "\n\n".join(parts)


def beside_each_other(table: Table) -> str:
    """A row for each plant: return, worst agent and samples of these learners."""
    own = [row for row in table.rows if "worst_agent" in row]
    reached = {(row["plant"], row["who"]): [shown(row[name], digits_of) for name in ("fresh", "worst_agent")] for row in own}
    samples = {(row["plant"], row["who"]): number(row["samples"], 0) for row in own}
    cells = {key: f"{mean} [{worst}], {samples[key]}" for key, (mean, worst) in reached.items()}
    learners = [Column(who, lambda row, who=who: cells.get((row["plant"], who), "–")) for who in FOREIGN]
    plants = [{"plant": name} for name in dict.fromkeys(row["plant"] for row in own)]
    return lines_of(Table("foreign", "", (Column("plant", lambda row: title_of_plant(row["plant"]), words=True), *learners), plants))


def published() -> str:
    """A row for each problem, highest return first, and the sources. What two lists have is told once."""
    sources: list[str] = []
    rows = []
    for problem in dict.fromkeys([*others("laws"), *others("samples")]):
        found, seen = [], set()
        for line in (line for kind in ("samples", "laws") if problem in others(kind) for line in published_of(problem, kind)):
            if line["samples"] is None and line["fresh"] is None:
                continue
            source = sources[-1] if line["source"] == "the same figure" else line["source"].partition(", ")[0]
            if (line["fresh"], source) in seen and not line["how"]:  # a law that the list over samples has too
                continue
            told = line["how"] if line["fresh"] is None else return_of(line, digits_of)
            after = f" ({line['samples']:,})" if line["samples"] else ""
            found.append((line["fresh"], f"{line['who']}{after}: {told}", _place(sources, source)))
            seen |= {(line["fresh"], source)} if line["how"] else set()
        found.sort(key=lambda one: -float("inf") if one[0] is None else one[0], reverse=True)
        if not found:
            continue
        title = title_of_plant(problem) if problem in TASKS else title_of_problem(problem)
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
        page = docs / ("gallery.md" if name == "laws-controllers" else "boards.md" if name.startswith("boards") else "benchmarks.md")
        page.write_text(replaced(page.read_text("utf-8"), {name: block}, name), "utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]], Path(__file__).parent)
