"""The regions of a policy as CSV: for a spreadsheet, and for dtControl."""

import csv
import io
import itertools
import math

import numpy as np

from spaql.arrays import Array
from spaql.checks import choice
from spaql.errors import SpaqlError
from spaql.explain.export.numbers import double
from spaql.explain.export.structure import Region, regions
from spaql.explain.export.wording import Words, with_unit
from spaql.explain.policy import Policy
from spaql.plants.problem import Axis

MOST_POINTS = 2_000_000
INSET = 1e-6  # of a region's width: where its corners are taken; dtControl does not read the last digits of a number


def to_csv(policy: Policy, share: bool = True) -> str:
    """One row per region: bounds of every variable (from: inclusive, below: exclusive), action, and what is known about it."""
    words, oblique = Words(policy, share), policy.rules.oblique
    low, high = policy.bounds()
    shared = words.shares_known
    heads = [f"{with_unit(n, u)} {end}" for n, u in zip(words.names, words.units, strict=True) for end in ("from", "below")]
    heads += ["oblique tests"] if oblique else []
    heads += [with_unit(n, u) for n, u in zip(words.action_names, words.action_units, strict=True)]
    heads += ["share of time"] if shared else []
    cells = policy.cells if policy.cell_of_node is not None else None
    heads += ["q", "visits"] if cells is not None else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    for region in regions(policy.rules):
        leaf = region.leaf
        row = [double(end) for j in range(len(words.names)) for end in (low[leaf, j], high[leaf, j])]
        row += [" and ".join(words.oblique(node, side, double) for node, side in region.oblique)] if oblique else []
        row += [double(value) for value in policy.rules.actions[leaf]]
        row += [double(words.shares[leaf])] if shared else []
        if cells is not None and policy.cell_of_node is not None:
            cell = int(policy.cell_of_node[leaf])
            row += [double(cells.q[cell]), str(int(cells.visits[cell]))]
        writer.writerow(row)
    return text.getvalue()


def to_dtcontrol(policy: Policy, points: str = "corners") -> str:
    """A controller as dtControl reads it from a .csv file: states, each with what is played there.

    dtControl knows states, not regions. `points`: "centres", one state per region; or "corners", also the corners of every region, just
    inside, from which it can tell where the regions end.
    """
    choice("points", points, ("centres", "corners"))
    tree = policy.rules
    if tree.oblique:
        raise SpaqlError("a tree with oblique tests has no boxes to take states from: dtControl needs axis-aligned tests")
    found = [(region, *_finite_box(policy, region)) for region in regions(tree)]
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


def _finite_box(policy: Policy, region: Region) -> tuple[Array, Array]:
    """Lowest and highest state of a region. Open ends are put where the map has got almost to its edge, and beyond all cuts."""
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
