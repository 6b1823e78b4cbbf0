"""All sizes of tree that a compression found, as the explanation page draws them."""

import math
from typing import Any

from spaql.compress.frontier import FrontierPoint
from spaql.policy.evaluation import Evaluation
from spaql.policy.words import number, percent


def frontier(sizes: list[FrontierPoint], chosen: int, own: Evaluation | None) -> dict[str, Any] | None:
    """All sizes of tree that a compression found: places in a picture of 100 by 100, and the numbers."""
    if not sizes:
        return None
    points = [frontier_point(one) for one in sizes]
    level = None if own is None else own.mean
    ends = [value for point in points for value in (point["low"], point["high"])] + ([] if level is None else [level])
    bottom, top = min(ends), max(ends)
    room = 0.06 * (top - bottom) or 1.0
    bottom, top = bottom - room, top + room
    most = max(2, *(point["leaves"] for point in points))
    for point in points:
        point["x"] = 100 * math.log(point["leaves"]) / math.log(most)
        point["y"], point["y_low"], point["y_high"] = (
            100 * (top - point[name]) / (top - bottom) for name in ("mean", "low", "high")
        )
        point["chosen"] = point["leaves"] == chosen
    marks = [value for value in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if value <= most]
    return {
        "points": points,
        "level": None if level is None else 100 * (top - level) / (top - bottom),
        "level_text": None if level is None else number(level),
        "x_ticks": [(100 * math.log(value) / math.log(most), value) for value in marks],
        "y_ticks": [(100 * (top - value) / (top - bottom), number(value)) for value in round_numbers(bottom, top)],
    }


def round_numbers(low: float, high: float) -> list[float]:
    """Two to five values between both, at steps of 1, 2 or 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(part * size for part in (2.0, 1.0, 0.5) if (high - low) >= 2.0 * part * size)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def frontier_point(one: FrontierPoint) -> dict[str, Any]:
    low, high = one.ci95
    texts = {"interval": f"{number(low)} … {number(high)}", "mean_text": number(one.mean)}
    texts["fidelity"] = percent(one.fidelity) if math.isfinite(one.fidelity) else "–"
    return {"leaves": one.leaves, "mean": one.mean, "low": low, "high": high} | texts
