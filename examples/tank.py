"""Tank: hold the level of a tank by a valve.

A plant of the catalog, whole: such a file in src/spaql/plants/library/ is all that `spaql.make("tank")` needs.
"""

from typing import NamedTuple

from spaql.plants.axes import Axis, Continuous
from spaql.plants.equations import Entry, Equations, Interface, Known, clipped


class Parameters(NamedTuple):
    inflow: float = 0.1  # m/step with the valve open
    outflow: float = 0.1  # 1/step
    height: float = 1.0  # m


def half_full(u: float) -> tuple[float]:
    """Between 0.4 and 0.6 m."""
    return (0.4 + 0.2 * u,)


def fill(level: float, valve: float, p: Parameters) -> tuple[float]:
    return limit(level + p.inflow * valve - p.outflow * level, p)


def limit(level: float, p: Parameters) -> tuple[float]:
    return (clipped(level, 0.0, p.height),)


def outcome(_level: float, _valve: float, level: float, p: Parameters) -> tuple[float, bool]:
    return 1.0 - (level - 0.5) ** 2, False


def interface(p: Parameters) -> Interface:
    """The reference is the tank half full."""
    return Interface((Axis("level", 0.0, p.height, unit="m"),), Continuous((0.0,), (1.0,), ("valve",)), (0.5,))


PROBLEMS = {
    "tank": Entry(
        title="Tank",
        summary="hold the level of a tank, valve in [0, 1]; 20 steps",
        env_id="spaql/Tank-v0",
        equations=Equations(("level",), half_full, fill, limit, outcome),
        parameters=Parameters(),
        interface=interface,
        horizon=20,
        best_known=Known(20.0, "the horizon: no step pays more than 1"),
    ),
}
