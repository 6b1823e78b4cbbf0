"""Beyond the paper: Atlas against SPAQL and common algorithms for comparison."""

from functools import partial

from spaql.analysis.tables import Table
from spaql.studies.atlas.figures import over_samples
from spaql.studies.atlas.plan import ATLAS, CONTESTS, RIVALS
from spaql.studies.atlas.tables import atlas_tables
from spaql.studies.parts import TITLES
from spaql.studies.study import Drawing, Section, Study, without_columns

WORDS = (
    "Atlas keeps every sample, learns a model on cells of the state space, plans in it and returns a table or a "
    "small tree. Here it is compared with the paper’s algorithms and with common choices from Stable-Baselines3, over "
    "all samples, on seeds that were not used for tuning."
)


def _over_samples(problem: str) -> Drawing:
    title = TITLES[problem]
    return Drawing(f"atlas-{problem}", f"Atlas on {title}", partial(over_samples, problem=problem, title=title), 3.4)


def _in_terminal(table: Table, roomy: bool) -> Table:
    return table if roomy else without_columns(table, "agents", "its")


STUDY = Study(
    "atlas",
    experiments=(ATLAS, RIVALS),
    tables=atlas_tables,
    sections=(Section("beyond", "Beyond the paper: Atlas", WORDS, tables=None, figures=True),),
    figures=tuple(_over_samples(problem) for problem in CONTESTS),
    in_terminal=_in_terminal,
)
