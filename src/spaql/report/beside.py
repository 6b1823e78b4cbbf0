"""Controllers of one's own beside the one that is explained, in the same fresh episodes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spaql.analysis.paired import compare
from spaql.policy.policy import Policy
from spaql.policy.words import number, percent

OWN = "this controller"
UNKNOWN = "–"


def beside(policy: Policy, baselines: Mapping[str, Any], episodes: int) -> Any:
    """The table of `spaql.compare`, with this controller among the others; None without others."""
    return compare({OWN: policy, **baselines}, episodes) if baselines else None


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
