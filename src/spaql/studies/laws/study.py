"""A few laws: controllers that fit on a slide, for nine problems."""

from spaql.analysis.tables import Table
from spaql.studies.laws.plan import EXPERIMENTS
from spaql.studies.laws.tables import law_tables
from spaql.studies.study import Section, Study, without_columns

WORDS = (
    "Trees of one to eight affine laws, searched for on the plant: tests and laws are weighted sums of the observed "
    "variables, with numbers of one or two digits. Seeds were not used for tuning, and all agents count, not only the "
    "best one."
)


def _in_terminal(table: Table, roomy: bool) -> Table | None:
    if table.name == "laws-controllers":
        return None  # too wide; `spaql report` shows it
    return table if roomy else without_columns(table, "agents", "worst 5 %", "CPU")


STUDY = Study(
    "laws",
    experiments=EXPERIMENTS,
    tables=law_tables,
    sections=(Section("laws", "A few laws", WORDS, tables=None),),
    in_terminal=_in_terminal,
)
