"""Every learner on every problem."""

from spaql.analysis.numbers import listed
from spaql.analysis.tables import Table
from spaql.studies.results.figures import every_agent, matrix
from spaql.studies.results.tables import COMPARED, OVERVIEW, RESULTS, every_learner_tables
from spaql.studies.study import Drawing, Section, Study, without_columns

WORDS = (
    f"{listed(card.name for card in COMPARED)} on all problems of the package, on seeds that were not used for "
    "tuning. Learners with evaluation rollouts have the paper’s protocol; those that count samples "
    f"({listed(card.name for card in COMPARED if card.learns_by == 'samples')}) have a few thousand samples."
)


def _in_terminal(table: Table, roomy: bool) -> Table | None:
    """One problem each; the overview is too wide."""
    if table.name == OVERVIEW:
        return None
    return table if roomy else without_columns(table, "agents", "of these")


STUDY = Study(
    "results",
    experiments=(RESULTS,),
    tables=every_learner_tables,
    sections=(Section("every", "Every learner on every problem", WORDS, tables=None, figures=True),),
    figures=(
        Drawing("results", "Every learner on every problem", matrix, 5.6),
        Drawing("results-agents", "Every agent on every problem", every_agent, 6.4),
    ),
    in_terminal=_in_terminal,
)
