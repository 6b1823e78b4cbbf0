"""A policy in words: tests, rules, actions, and the comment on top of exported programs."""

from collections.abc import Callable

import numpy as np

import spaql
from spaql.arrays import Array
from spaql.explain.export.names import action_names, action_units, plain, variable_names, variable_units
from spaql.explain.export.numbers import shown, told_apart
from spaql.explain.export.structure import Region
from spaql.explain.policy import Policy
from spaql.explain.tree import LEAF
from spaql.plants.problem import Axis, Finite

MOST_VALUES = 12  # of a finite action set that are listed


def title(policy: Policy) -> str:
    """What it is and where it comes from."""
    leaves = "1 leaf" if policy.n_leaves == 1 else f"{policy.n_leaves} leaves"
    return f"{plain(policy.kind)} of {plain(policy.origin)}: {leaves}"


def facts(policy: Policy, interface: bool = True) -> list[str]:
    """The comment on top of a program: no date, so that the same policy gives the same bytes. `interface`: with its inputs and outputs."""
    problem = policy.problem
    lines = [
        f"Controller: {title(policy)}.",
        f"Written by spaql {spaql.__version__}.",
        f"Problem: {plain(problem.name)}: {plain(problem.summary)}.",
    ]
    if interface:
        lines += ["", "Observation, in this order:"]
        names, units = variable_names(problem), variable_units(problem)
        for j, (name, unit, axis) in enumerate(zip(names, units, problem.state, strict=True)):
            lines.append(f"  obs[{j}]  {with_unit(name, unit)}, {range_text(axis)}")
        lines.append("Action:")
        for j, (name, unit) in enumerate(zip(action_names(problem), action_units(problem), strict=True)):
            lines.append(f"  action[{j}]  {with_unit(name, unit)}, {choices_text(policy, j)}")
    return [*lines, "", "Input is not checked: NaN fails every test, so that its else branch is taken. The caller must check it."]


def with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def range_text(axis: Axis) -> str:
    return "any number" if axis.slope is not None else f"from {shown(axis.low)} to {shown(axis.high)}"


def choices_text(policy: Policy, axis: int) -> str:
    actions = policy.problem.actions
    if not isinstance(actions, Finite):
        return f"from {shown(actions.low[axis])} to {shown(actions.high[axis])}"
    values = [shown(value) for value in actions.values]
    return "one of " + ", ".join(values if len(values) <= MOST_VALUES else [*values[: MOST_VALUES - 2], "...", values[-1]])


class Words:
    """How the parts of one policy are said: four significant digits, and more where two cuts or two actions would look the same."""

    def __init__(self, policy: Policy, share: bool = False) -> None:
        problem, tree = policy.problem, policy.rules
        self.tree, self.problem = tree, problem
        self.names, self.units = variable_names(problem), variable_units(problem)
        self.action_names, self.action_units = action_names(problem), action_units(problem)
        feature, cut = tree.nodes["feature"], tree.nodes["cut"]
        scales = [1 / axis.slope if axis.slope is not None else (axis.high - axis.low or 1.0) for axis in problem.state]
        self.cuts = [told_apart(cut[feature == j].tolist(), scale) for j, scale in enumerate(scales)]
        played = tree.actions[feature == LEAF]
        self.played = [told_apart(played[:, j].tolist(), float(np.ptp(played[:, j])) or 1.0) for j in range(played.shape[1])]
        self.shares: Array = policy.share if share else np.full(len(tree.nodes), np.nan)

    def test(self, node: int) -> str:
        """What sends a state to the high side."""
        feature, cut = int(self.tree.nodes["feature"][node]), float(self.tree.nodes["cut"][node])
        if feature == self.tree.variables:
            return self.oblique(node, True)
        return f"{self.names[feature]} ≥ {self._cut(feature, cut)}"

    def oblique(self, node: int, high: bool, number: Callable[[float], str] = shown) -> str:
        terms = [(number(w), self.names[j]) for j, w in enumerate(self.tree.weights[node].tolist()) if w != 0]
        total = " + ".join(f"{w} × {name}" for w, name in terms).replace("+ -", "- ") or "0"
        return f"{total} {'≥' if high else '<'} {number(float(self.tree.nodes['cut'][node]))}"

    def _cut(self, feature: int, cut: float) -> str:
        return f"{self.cuts[feature][cut]} {self.units[feature]}".rstrip()

    def interval(self, feature: int, region: Region, name: str = "") -> str:
        """The bounds of a region on one variable, with the name in its place; empty if there are none."""
        low, high = float(region.low[feature]), float(region.high[feature])
        texts = self.cuts[feature]
        if low > -np.inf and high < np.inf:
            if name:
                return f"{texts[low]} ≤ {name} < {self._cut(feature, high)}"
            return f"{texts[low]} to {texts[high]}"
        if low > -np.inf:
            return f"{name} ≥ {self._cut(feature, low) if name else texts[low]}".lstrip()
        return f"{name} < {self._cut(feature, high) if name else texts[high]}".lstrip() if high < np.inf else ""

    def conditions(self, region: Region) -> list[str]:
        """What holds in a region: one condition per bounded variable, then the oblique tests."""
        bounds = [self.interval(j, region, name) for j, name in enumerate(self.names)]
        return [text for text in bounds if text] + [self.oblique(node, high) for node, high in region.oblique]

    def value(self, leaf: int, axis: int) -> str:
        return self.played[axis][float(self.tree.actions[leaf, axis])]

    def action(self, leaf: int) -> str:
        parts = []
        for axis, (name, unit) in enumerate(zip(self.action_names, self.action_units, strict=True)):
            parts.append(f"{name} = {self.value(leaf, axis)} {unit}".rstrip())
        return ", ".join(parts)

    @property
    def shares_known(self) -> bool:
        return not bool(np.isnan(self.shares).any())

    def share(self, leaf: int) -> str:
        """Of time; empty if it is not known."""
        part = float(self.shares[leaf])
        if np.isnan(part):
            return ""
        if part == 0:
            return "never"
        return "< 0.1 %" if part < 0.001 else f"{100 * part:.1f} %" if part < 0.1 else f"{100 * part:.0f} %"
