"""Oil discovery: drill where the oil is, and pay for the way there (Sinclair, Banerjee and Yu 2019).

How much oil lies at y is not known: f(y), most at BEST. `oil-laplace` has a peak there, `oil-quadratic` a hill; the larger k, the narrower.
"""

import math
from typing import NamedTuple

from spaql.plants.model import Model, clipped

BEST = 0.7 + math.pi / 60.0  # not where a cell has its centre


class Parameters(NamedTuple):
    k: float = 1.0  # the papers have 1, 10 and 50


RANGES = {"k": (0.0, 1e6)}


def at_the_left_end() -> tuple[float]:
    return (0.0,)


def go(_location: float, target: float, p: Parameters) -> tuple[float]:
    return (target,)


def limit(location: float, p: Parameters) -> tuple[float]:
    return (clipped(location, 0.0, 1.0),)


def judge_laplace(before: float, _target: float, location: float, p: Parameters) -> tuple[float, bool]:
    oil = math.exp(-p.k * abs(location - BEST))
    return max(0.0, oil - abs(before - location)), False


def judge_quadratic(before: float, _target: float, location: float, p: Parameters) -> tuple[float, bool]:
    oil = 1.0 - p.k * (location - BEST) ** 2
    return max(0.0, oil - abs(before - location)), False


LAPLACE = Model(("location",), at_the_left_end, go, limit, judge_laplace)
QUADRATIC = LAPLACE._replace(judge=judge_quadratic)
