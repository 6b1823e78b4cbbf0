"""Ambulance: choose where to wait for the next call (Sinclair, Banerjee and Yu 2019).

The state is where the last call came from. The way from there to the station costs alpha per unit of length, the
way from the station to the next call 1 - alpha.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from spaql.plants.axes import Axis, Continuous
from spaql.plants.equations import Entry, Equations, Interface, Known, clipped


class Parameters(NamedTuple):
    alpha: float = 0.25  # the papers have 0, 0.25 and 1


def in_the_middle() -> tuple[float]:
    return (0.5,)


def call_beta(
    _last: float, _station: float, u1: float, u2: float, u3: float, u4: float, u5: float, u6: float, p: Parameters
) -> tuple[float]:
    """Beta(5, 2), exactly: the fifth smallest of six uniform numbers, that is the second largest."""
    first, second = max(u1, u2), min(u1, u2)
    second, first = max(second, min(first, u3)), max(first, u3)
    second, first = max(second, min(first, u4)), max(first, u4)
    second, first = max(second, min(first, u5)), max(first, u5)
    second = max(second, min(first, u6))
    return (second,)


def call_uniform(_last: float, _station: float, u: float, p: Parameters) -> tuple[float]:
    return (u,)


def limit(call: float, p: Parameters) -> tuple[float]:
    return (clipped(call, 0.0, 1.0),)


def outcome(last: float, station: float, call: float, p: Parameters) -> tuple[float, bool]:
    return 1.0 - (p.alpha * abs(last - station) + (1.0 - p.alpha) * abs(station - call)), False


BETA = Equations(("call",), in_the_middle, call_beta, limit, outcome, chances=6)
UNIFORM = BETA._replace(move=call_uniform, chances=1)


def interface(_p: Parameters, mean: float) -> Interface:
    """The reference is the mean of the calls."""
    return Interface((Axis("call", 0.0, 1.0),), Continuous((0.0,), (1.0,), ("station",)), (mean,))


# Where the ambulance waits does not change where the next call comes from: every step has its best place by itself.
BY_NUMBERS = "the best place to wait after every call, computed in `tests/plants/test_ambulance.py`"

_beta = Entry(
    title="Ambulance",
    summary="wait in [0, 1] for calls from Beta(5, 2); 5 steps",
    env_id="spaql/Ambulance-v0",
    equations=BETA,
    parameters=Parameters(),
    ranges={"alpha": (0.0, 1.0)},
    interface=partial(interface, mean=5.0 / 7.0),
    horizon=5,
    # the best of 0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10 on seeds 0 to 3 after 2000 iterations: mean fresh return
    xi={"AQL": 0.3, "SPAQL": 0.03, "SPAQL-TS": 0.0},
    samples=1_000,
    best_known=Known(4.36976, BY_NUMBERS),
)
PROBLEMS = {
    "ambulance": _beta,
    "ambulance-uniform": replace(
        _beta,
        title="Ambulance, uniform calls",
        summary="the same with calls from everywhere; 5 steps",
        env_id="spaql/AmbulanceUniform-v0",
        equations=UNIFORM,
        interface=partial(interface, mean=0.5),
        xi={"AQL": 0.3, "SPAQL": 0.01, "SPAQL-TS": 0.1},
        best_known=Known(3.88657, BY_NUMBERS),
    ),
}
