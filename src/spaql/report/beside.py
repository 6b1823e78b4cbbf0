"""Controllers of one's own beside the learned one, in the same fresh episodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spaql.analysis.paired import check_same_problem, compared
from spaql.ground.errors import SpaqlError
from spaql.policy.evaluation import Evaluation
from spaql.policy.words import number, percent

OWN = "this controller"
UNKNOWN = "–"


def beside(learned: Mapping[str, Any], known: Mapping[str, Evaluation], baselines: Mapping[str, Any]) -> Any:
    """The table of `spaql.compare` of learned controllers, whose returns are known, and others; None without others."""
    if not baselines:
        return None
    together = check_together(learned, baselines)
    told = next(iter(known.values()))
    return compared(
        together, {**known, **{name: one.evaluate(len(told.returns), told.seed) for name, one in baselines.items()}}
    )


def check_together(learned: Mapping[str, Any], baselines: Mapping[str, Any]) -> dict[str, Any]:
    """All of them, by name; refuses a name that is taken, and a controller of another problem."""
    for name in learned.keys() & baselines.keys():
        raise SpaqlError(f"--baseline: {name!r} is the name of the learned controller: rename the other")
    together = {**learned, **baselines}
    check_same_problem(together)
    return together


def rows_of(table: Any) -> list[tuple[str, ...]]:
    """The same in words, the headings first, then the best; without columns of which nothing is known."""
    rows: list[tuple[str, ...]] = [("controller", "return", "95 %", "worst 5 %", "failures", "numbers", "p")]
    unknown = table["numbers"].isna()
    for name, row in table.iterrows():
        failures = percent(float(row["failures"])) if "failures" in row else UNKNOWN
        chance = float(row["p"])
        p = "" if np.isnan(chance) else "< 0.001" if chance < 0.001 else f"{chance:.3f}"
        numbers = UNKNOWN if unknown[name] else f"{int(row['numbers']):,}"
        interval = f"{number(row['low'])} to {number(row['high'])}"
        rows.append((str(name), number(row["mean"]), interval, number(row["worst 5 %"]), failures, numbers, p))
    known = [j for j in range(len(rows[0])) if any(row[j] != UNKNOWN for row in rows[1:])]
    return [tuple(row[j] for j in known) for row in rows]
