"""Ambulance: choose where to wait for the next call (Sinclair, Banerjee and Yu 2019).

The state is where the last call came from. The way from there to the station costs alpha per unit, from there to the next call 1 - alpha.
"""

from typing import NamedTuple

from spaql.plants.model import Model, clipped


class Parameters(NamedTuple):
    alpha: float = 0.25  # the papers have 0, 0.25 and 1


RANGES = {"alpha": (0.0, 1.0)}


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


def judge(last: float, station: float, call: float, p: Parameters) -> tuple[float, bool]:
    return 1.0 - (p.alpha * abs(last - station) + (1.0 - p.alpha) * abs(station - call)), False


BETA = Model(("call",), in_the_middle, call_beta, limit, judge, chances=6)
UNIFORM = BETA._replace(move=call_uniform, chances=1)
