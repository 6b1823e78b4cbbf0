"""Numbers for people: significant digits, shares of time, units. `Words` puts them into sentences."""

import math
from collections.abc import Iterable, Sequence

DIGITS = 4  # significant ones
TINY = 1e-12  # of a variable's range: shown as zero


def number(value: float, digits: int = DIGITS) -> str:
    """`digits` significant digits, without an exponent where that is as short."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    rounded = float(f"{value:.{digits}g}") + 0.0
    return f"{rounded:.{max(digits, 6)}g}"


def told_apart(values: Iterable[float], scale: float = 1.0) -> dict[float, str]:
    """Four significant digits, or as many as it takes to tell a value from its neighbours.

    What is nothing against `scale` is zero: a cut in the middle of a map lies some 1e-323 beside it.
    """
    order = sorted(set(values))
    flat = [0.0 if abs(value) < TINY * scale else value for value in order]
    texts = {}
    for i, value in enumerate(flat):
        near = [flat[k] for k in (i - 1, i + 1) if 0 <= k < len(flat) and flat[k] != value]
        digits = DIGITS
        while digits < 17 and any(number(other, digits) == number(value, digits) for other in near):
            digits += 1
        texts[order[i]] = number(value, digits)
    return texts


def column(values: Sequence[float]) -> list[str]:
    """Finite numbers to compare, one below the other.

    Five significant digits of the largest, and more where they hardly differ.
    """
    largest, spread = max(map(abs, values)), max(values) - min(values)
    digits = min(max(5, 3 + math.ceil(math.log10(largest / spread))), 12) if spread > 0.0 else 5
    place = math.floor(math.log10(largest)) if largest > 0.0 else 0
    form = f".{max(0, digits - 1 - place)}f" if -4 <= place < 9 else f".{digits - 1}e"
    texts = [format(value, form) for value in values]
    return [text.rjust(max(map(len, texts))) for text in texts]


def percent(part: float) -> str:
    """One decimal; "0 %" is exact, and "100 %" up to the rounding of a sum of shares."""
    if part == 0.0 or part > 1.0 - 1e-9:
        return f"{100 * part:.0f} %"
    return "< 0.1 %" if part < 0.001 else "> 99.9 %" if part >= 0.9995 else f"{100 * part:.1f} %"


def share_of_time(part: float) -> str:
    """Empty if it is not known."""
    return "" if math.isnan(part) else "never" if part == 0.0 else percent(part)


def with_unit(value: str, unit: str) -> str:
    """ "0.03 rad"."""
    return f"{value} {unit}" if unit else value


def counted(count: int, thing: str) -> str:
    """ "1 law", "2 laws"."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def rounded(value: float, digits: int) -> list[float]:
    """The two neighbours of a number with so many digits; one if it has no more digits itself."""
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    ends = {float(f"{end * unit:.6g}") for end in (math.floor(value / unit + 1e-9), math.ceil(value / unit - 1e-9))}
    return sorted(end for end in ends if end != 0.0)
