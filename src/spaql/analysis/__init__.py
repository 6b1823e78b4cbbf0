"""Statistics and figures."""

from spaql.analysis.comparison import Comparison, Group, Pair, compare
from spaql.analysis.statistics import (
    Improvement,
    Verdict,
    Welch,
    adjusted,
    bootstrap_interval,
    hedges_g,
    holm,
    iqm,
    mean_interval,
    probability_of_improvement,
    sd_from_half_width,
    seeds_needed,
    seeds_needed_from_summary,
    verdict,
    welch,
    welch_from_summary,
)

__all__ = [
    "Comparison", "Group", "Improvement", "Pair", "Verdict", "Welch", "adjusted", "bootstrap_interval", "compare",
    "hedges_g", "holm", "iqm", "mean_interval", "probability_of_improvement", "sd_from_half_width", "seeds_needed",
    "seeds_needed_from_summary", "verdict", "welch", "welch_from_summary",
]  # fmt: skip
