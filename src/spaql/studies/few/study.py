"""Laws after few samples: Atlas with laws as its controller, what its model says of them, and others beside it."""

from spaql.analysis.tables import Table
from spaql.studies.few.figures import few_figure
from spaql.studies.few.tables import FEW, few_tables
from spaql.studies.study import Drawing, Section, Study, without_columns

WORDS = (
    "Atlas with one to three affine laws as its controller, found in a Gaussian-process model of a few hundred or "
    "thousand samples; with one setting for all problems, on seeds that were not used for tuning. All agents count, "
    "not only the best one. For comparison there are published results."
)


def _in_terminal(table: Table, roomy: bool) -> Table | None:
    if table.name == "few-others":
        return None  # too wide; `spaql report` shows it
    return table if roomy else without_columns(table, "agents", "worst 5 %", "at most", "numbers")


STUDY = Study(
    "few",
    experiments=(FEW,),
    tables=few_tables,
    sections=(Section("few", "Laws after few samples", WORDS, tables=None, figures=True),),
    figures=(Drawing("few", "Laws after few samples", few_figure, 5.0),),
    in_terminal=_in_terminal,
)
