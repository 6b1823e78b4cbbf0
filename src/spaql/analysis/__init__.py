"""Statistics and figures."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_COMPARING = ("Comparison", "Group", "Pair", "compare")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'spaql.analysis' has no attribute {name!r}")
    value = getattr(import_module(f"spaql.analysis.{'comparison' if name in _COMPARING else 'statistics'}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
