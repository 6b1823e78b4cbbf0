"""Numbers as people read them: returns, counts, probabilities, times, lists."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

NOTHING = "–"
MOST_RANGES = 6  # of a list of numbers; further ranges are only counted


# -- in tables ---------------------------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 2) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


def spread(mean: float | None, half: float | None, digits: int = 2) -> str:
    """Mean and half of the 95 % interval."""
    return number(mean, digits) if half is None else f"{number(mean, digits)} ± {half:,.{digits}f}"


def probability(p: float | None) -> str:
    if p is None:
        return NOTHING
    return f"{p:.2f}" if p >= 0.095 else f"{p:.1g}" if p >= 1e-300 else "0"


# -- in captions and along axes ----------------------------------------------------------------------------------------


def caption_number(value: float) -> str:
    """A return or a count: as many digits as a sentence needs."""
    return f"{value:,.{0 if abs(value) >= 200 else 1}f}".replace("-", "−")


def short(value: float) -> str:
    """1234567 as 1.23 M."""
    for unit, size in ((" M", 1e6), (" k", 1e3)):
        if abs(value) >= size:
            scaled = value / size
            return (f"{scaled:,.0f}" if abs(scaled) >= 1000 else f"{scaled:.3g}") + unit
    return f"{value:.3g}"


def agents(counts: Sequence[int]) -> str:
    """20 agents each, or 5 to 20."""
    low, high = min(counts), max(counts)
    if low != high:
        return f"{low} to {high} agents each"
    return counted(low, "agent") + (" each" if len(counts) > 1 else "")


# -- in sentences ------------------------------------------------------------------------------------------------------


def listed(items: Iterable[Any]) -> str:
    """a, b and c."""
    words = [str(item) for item in items]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def counted(count: int, noun: str) -> str:
    """1 run, 2 runs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def large(count: float) -> str:
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,.0f}"


def span(numbers: Iterable[int]) -> str:
    """From the lowest to the highest."""
    found = sorted(set(numbers))
    return NOTHING if not found else f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def ranges(numbers: Iterable[int]) -> str:
    """0–19, or 0–3, 5, 7–19."""
    runs: list[list[int]] = []
    for one in sorted(set(numbers)):
        if runs and one == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], one]
        else:
            runs.append([one])
    shown = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    more = f" and {len(shown) - MOST_RANGES} more ranges" if len(shown) > MOST_RANGES else ""
    return ", ".join(shown[:MOST_RANGES]) + more


# -- times -------------------------------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def moment(text: str) -> str:
    """A time of a store as people write it; a text that is no time stays as it is."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time.day} {time:%B %Y, %H:%M}"


def period(texts: Sequence[str]) -> str:
    """From the first to the last time; the day stands once."""
    first, last = moment(min(texts)), moment(max(texts))
    day, _, time = last.rpartition(", ")
    return first if first == last else f"{first} to {time if day and first.startswith(day) else last}"
