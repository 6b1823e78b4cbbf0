"""Numbers as text: exact for machines, short for people."""

import math
from collections.abc import Iterable

import numpy as np

from spaql.errors import SpaqlError

DIGITS = 4  # significant ones, for people
TINY = 1e-12  # of a variable's range: shown as zero
LARGEST_SINGLE = float(np.finfo(np.float32).max)


def double(value: float) -> str:
    """The shortest decimal that reads back as the same double."""
    return repr(float(value))


def single(value: float) -> str:
    """The shortest decimal that reads back as the float nearest to the value."""
    if abs(value) > LARGEST_SINGLE:
        raise SpaqlError(f"{value:g} does not fit into single precision: export in double")
    return str(np.float32(value))


def single_at_least(value: float) -> float:
    """The smallest float that is not below: `x >= value` and `x >= single_at_least(value)` are the same for every float x."""
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(value)
        if float(near) < value:
            near = np.nextafter(near, np.float32(np.inf))
    return float(near) + 0.0  # no negative zero


def shown(value: float, digits: int = DIGITS) -> str:
    """For people: `digits` significant digits, without an exponent where that is as short."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    rounded = float(f"{value:.{digits}g}") + 0.0
    return f"{rounded:.{max(digits, 6)}g}"


def told_apart(values: Iterable[float], scale: float = 1.0) -> dict[float, str]:
    """For people: four significant digits, or as many as it takes to tell a value from its neighbours.

    What is nothing against `scale` is zero: a cut in the middle of a map lies some 1e-323 beside it.
    """
    order = sorted(set(values))
    flat = [0.0 if abs(value) < TINY * scale else value for value in order]
    texts = {}
    for i, value in enumerate(flat):
        near = [flat[k] for k in (i - 1, i + 1) if 0 <= k < len(flat) and flat[k] != value]
        digits = DIGITS
        while digits < 17 and any(shown(other, digits) == shown(value, digits) for other in near):
            digits += 1
        texts[order[i]] = shown(value, digits)
    return texts
