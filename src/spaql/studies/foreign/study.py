"""Other people's plants: what SPAQL, Laws and Atlas reach on them with default settings."""

from spaql.analysis.tables import Table
from spaql.studies.foreign.plan import FOREIGN
from spaql.studies.foreign.tables import foreign_tables
from spaql.studies.study import Section, Study, without_columns

WORDS = (
    "Environments of other packages (MuJoCo, Box2D, dm_control, pc-gym and gym-electric-motor), with default settings "
    "and few samples. Seeds were not used for tuning, and all agents count, not only the best one. For comparison "
    "there are published results."
)


def _in_terminal(table: Table, roomy: bool) -> Table | None:
    if table.name != "foreign":
        return None  # too wide; `spaql report` shows them
    return without_columns(table, "source") if roomy else without_columns(table, "source", "size", "CPU")


STUDY = Study(
    "foreign",
    experiments=(FOREIGN,),
    tables=foreign_tables,
    sections=(Section("foreign", "Other people's plants", WORDS, tables=None),),
    in_terminal=_in_terminal,
)
