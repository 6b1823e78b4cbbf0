"""The regions of a policy as states for dtControl."""

import itertools
import math

import numpy as np

from spaql.export.heading import double
from spaql.ground.arrays import Array
from spaql.ground.checks import choice
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Axis
from spaql.policy.policy import Policy
from spaql.trees.regions import LeafRegion, regions

MOST_POINTS = 2_000_000  # states in one file
INSET = 1e-6  # of a region's width: where its corners are taken; dtControl does not read the last digits of a number


def to_dtcontrol(policy: Policy, points: str = "corners") -> str:
    """A controller as dtControl reads it from a .csv file: states, each with what is applied there.

    dtControl knows states, not regions. `points`: "centres", one state per region; or "corners", also the corners of
    every region, just inside, from which it can tell where the regions end.
    """
    choice("points", points, ("centres", "corners"))
    tree = policy.rules
    if tree.laws is not None:
        raise SpaqlError("dtControl supports one constant action per region, not laws: export C, Python or JSON")
    if tree.oblique:
        raise SpaqlError(
            "a tree with oblique tests has no boxes to take states from: dtControl needs axis-aligned tests"
        )
    found = [(region, *_finite_box(policy, region)) for region in regions(tree) if not region.empty]
    states_per_region = 1 if points == "centres" else 1 + 2**tree.variables
    if len(found) * states_per_region > MOST_POINTS:
        raise SpaqlError(f"{len(found) * states_per_region} states are more than {MOST_POINTS}: use points='centres'")
    lines = ["#NON-PERMISSIVE", f"#BEGIN {tree.variables} {tree.actions.shape[1]}"]
    for region, low, high in found:
        action = ",".join(map(double, tree.actions[region.leaf]))
        centre = np.clip(low + (high - low) / 2, low, high)
        chosen = {tuple(centre.tolist())}
        if points == "corners":
            inset = INSET * (high - low)
            chosen |= set(itertools.product(*zip((low + inset).tolist(), (high - inset).tolist(), strict=True)))
        lines += [f"{','.join(map(double, state))},{action}" for state in sorted(chosen)]
    return "\n".join(lines) + "\n"


def _finite_box(policy: Policy, region: LeafRegion) -> tuple[Array, Array]:
    """Lowest and highest state of a region.

    Open ends are put where the map has got almost to its edge, and beyond all cuts.
    """
    low, high = region.low.copy(), np.nextafter(region.high, -np.inf)
    for j, axis in enumerate(policy.problem.state):
        least, most = _reach(axis)
        low[j] = low[j] if math.isfinite(low[j]) else min(least, high[j] - (most - least) * 0.01)
        high[j] = high[j] if math.isfinite(region.high[j]) else max(most, low[j])
    return low, high


def _reach(axis: Axis) -> tuple[float, float]:
    if axis.slope is None:
        return axis.low, axis.high
    reach = math.atanh(0.99) / axis.slope
    return axis.centre - reach, axis.centre + reach
