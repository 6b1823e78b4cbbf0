"""Oil discovery: drill where the oil is, and pay for the way there (Sinclair, Banerjee and Yu 2019).

How much oil lies at y, f(y), is not known to the controller; most lies at BEST. `oil-laplace` has a peak there,
`oil-quadratic` a hill; the larger k, the narrower.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from spaql.plants.axes import Axis, Continuous
from spaql.plants.equations import Entry, Equations, Interface, Known, clipped

BEST = 0.7 + math.pi / 60.0  # not where a cell has its centre


class Parameters(NamedTuple):
    k: float = 1.0  # the papers have 1, 10 and 50


def at_the_left_end() -> tuple[float]:
    return (0.0,)


def go(_location: float, target: float, p: Parameters) -> tuple[float]:
    return (target,)


def limit(location: float, p: Parameters) -> tuple[float]:
    return (clipped(location, 0.0, 1.0),)


def outcome_laplace(before: float, _target: float, location: float, p: Parameters) -> tuple[float, bool]:
    oil = math.exp(-p.k * abs(location - BEST))
    return max(0.0, oil - abs(before - location)), False


def outcome_quadratic(before: float, _target: float, location: float, p: Parameters) -> tuple[float, bool]:
    oil = 1.0 - p.k * (location - BEST) ** 2
    return max(0.0, oil - abs(before - location)), False


LAPLACE = Equations(("location",), at_the_left_end, go, limit, outcome_laplace)
QUADRATIC = LAPLACE._replace(outcome=outcome_quadratic)


def interface(_p: Parameters) -> Interface:
    """The reference is the place with most oil."""
    return Interface((Axis("location", 0.0, 1.0),), Continuous((0.0,), (1.0,), ("target",)), (BEST,))


# Go to a at once and stay: five times the oil at a, less the way a. Of the peak a = BEST, of the hill a little less.
BY_HAND = "the optimum by hand, checked by numbers in `tests/plants/test_oil.py`"

_laplace = Entry(
    title="Oil, a peak",
    summary="drill for oil in [0, 1], a peak of width 1/k; 5 steps",
    env_id="spaql/OilLaplace-v0",
    equations=LAPLACE,
    parameters=Parameters(),
    ranges={"k": (0.0, 1e6)},
    interface=interface,
    horizon=5,
    # the best of 0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10 on seeds 0 to 3 after 2000 iterations by the mean fresh return over
    # k = 1, 10, 50
    xi={"AQL": 1.0, "SPAQL": 0.03, "SPAQL-TS": 0.1},
    samples=1_000,
    best_known=Known(5.0 - BEST, BY_HAND),
)
PROBLEMS = {
    "oil-laplace": _laplace,
    "oil-quadratic": replace(
        _laplace,
        title="Oil, a hill",
        summary="the same with a hill, 1 - k y^2; 5 steps",
        env_id="spaql/OilQuadratic-v0",
        equations=QUADRATIC,
        xi={"AQL": 1.0, "SPAQL": 0.01, "SPAQL-TS": 0.3},
        best_known=Known(5.0 - BEST + 1.0 / 20.0, BY_HAND),
    ),
}
