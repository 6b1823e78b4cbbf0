"""How a policy is put into words: names, numbers, tests, rules, actions, shares of time.

`why`, texts, tables, pages and drawings all speak through this file. Numbers for machines are in
`spaql.export.heading`.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from spaql.plants.problem import Problem
from spaql.policy.digits import column, number, percent, share_of_time, told_apart, with_unit
from spaql.policy.law_words import LawWords, Term, affine_text, terms_of
from spaql.trees.regions import LeafRegion, regions
from spaql.trees.tree import LEAF, Tree

LONGEST = 60  # letters of a name that are shown

__all__ = [  # the numbers of `digits` are part of the vocabulary
    "Words", "action_names", "action_units", "column", "different", "formula_lines", "number", "one_line", "percent",
    "share_of_time", "told_apart", "values_text", "variable_names", "variable_units", "with_unit",
]  # fmt: skip

# -- names -------------------------------------------------------------------------------------------------------------


def one_line(text: str, longest: int = 1000) -> str:
    """One line of printable signs, fit for comments and labels.

    Invisible signs can break a comment or turn it around.
    """
    line = " ".join("".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def different(names: Sequence[str], fold: bool = False) -> list[str]:
    """The names, later ones with a number where they repeat an earlier one.

    `fold`: capitals and small letters are the same.
    """
    taken: set[str] = set()
    result = []
    for name in names:
        new, count = name, 1
        while (new.casefold() if fold else new) in taken:
            count += 1
            new = f"{name}_{count}"
        taken.add(new.casefold() if fold else new)
        result.append(new)
    return result


def variable_names(problem: Problem) -> list[str]:
    return different([one_line(axis.name, LONGEST) or f"x{j}" for j, axis in enumerate(problem.state)])


def formula_lines(problem: Problem) -> list[str]:
    """ "energy = 0.5 * velocity ** 2 + 15 * cos - 15", one for each feature."""
    formulas = () if problem.features is None else problem.features.formulas
    return [f"{one_line(name)} = {formula.text}" for name, formula in formulas]


def variable_units(problem: Problem) -> list[str]:
    return [one_line(axis.unit, LONGEST) for axis in problem.state]


def action_names(problem: Problem) -> list[str]:
    axes = problem.actions.axes
    given = (*problem.actions.names, *[""] * axes)[:axes]
    return different(
        [one_line(name, LONGEST) or (f"action {j + 1}" if axes > 1 else "action") for j, name in enumerate(given)]
    )


def action_units(problem: Problem) -> list[str]:
    axes = problem.actions.axes
    return [one_line(unit, LONGEST) for unit in (*problem.actions.units, *[""] * axes)[:axes]]


def values_text(names: Sequence[str], values: Sequence[float], units: Sequence[str]) -> str:
    """ "angle = 0.03 rad, velocity = 1 rad/s"."""
    parts = zip(names, values, units, strict=True)
    return ", ".join(f"{name} = {with_unit(number(float(value)), unit)}" for name, value, unit in parts)


# -- a policy ----------------------------------------------------------------------------------------------------------


class Words:
    """How the parts of one tree are said.

    Numbers have four significant digits, and more where two cuts or two actions would look the same.
    """

    def __init__(self, problem: Problem, tree: Tree) -> None:
        self.problem, self.tree = problem, tree
        self.names, self.units = variable_names(problem), variable_units(problem)
        self.formulas = formula_lines(problem)
        self.action_names, self.action_units = action_names(problem), action_units(problem)
        feature, cut = tree.nodes["feature"], tree.nodes["cut"]
        scales = [1 / axis.slope if axis.slope is not None else (axis.high - axis.low or 1.0) for axis in problem.state]
        self.cuts = [told_apart(cut[feature == j].tolist(), scale) for j, scale in enumerate(scales)]
        self.sums = told_apart(cut[feature == tree.variables].tolist())  # of oblique tests
        applied = tree.actions[feature == LEAF]
        self.applied = [
            told_apart(applied[:, j].tolist(), float(np.ptp(applied[:, j])) or 1.0) for j in range(applied.shape[1])
        ]
        self.law_words = None if tree.laws is None else LawWords(tree, self.names, self.action_units)

    # -- tests and rules

    def cut(self, node: int) -> str:
        """The number a test compares with, without its unit."""
        feature, cut = int(self.tree.nodes["feature"][node]), float(self.tree.nodes["cut"][node])
        return self.sums[cut] if feature == self.tree.variables else self.cuts[feature][cut]

    def tested(self, node: int, number: Callable[[float], str] = number) -> str:
        """What a test compares: "angle", or of an oblique one "0.31·angle - 1.2·velocity"."""
        feature = int(self.tree.nodes["feature"][node])
        if feature < self.tree.variables:
            return self.names[feature]
        if self.tree.laws is not None:
            return affine_text(self.test_terms(node, number))
        terms = [(number(w), self.names[j]) for j, w in enumerate(self.tree.weights[node].tolist()) if w != 0]
        return " + ".join(f"{w}·{name}" for w, name in terms).replace("+ -", "- ") or "0"

    def test_terms(self, node: int, number: Callable[[float], str] = number) -> list[Term]:
        """The sum of an oblique test, part by part."""
        return terms_of(self.tree.weights[node].tolist(), self.names, lambda _, weight: number(weight))

    def test(self, node: int, high: bool = True) -> str:
        """What sends a state to the high side, or to the low one: "angle ≥ 0.03 rad"."""
        feature = int(self.tree.nodes["feature"][node])
        unit = self.units[feature] if feature < self.tree.variables else ""
        return f"{self.tested(node)} {'≥' if high else '<'} {with_unit(self.cut(node), unit)}"

    def value(self, feature: int, value: float) -> str:
        """A value of a variable with its unit; a cut has as many digits as in its test."""
        return with_unit(self.bound(feature, value), self.units[feature])

    def bound(self, feature: int, value: float) -> str:
        """The same without the unit."""
        return self.cuts[feature].get(value) or number(value)

    def interval(self, feature: int, region: LeafRegion, name: str = "") -> str:
        """The bounds of a region on one variable, with the name in its place; empty if there are none."""
        low, high = float(region.low[feature]), float(region.high[feature])
        texts, unit = self.cuts[feature], self.units[feature]
        if low > -np.inf and high < np.inf:
            if name:
                return f"{texts[low]} ≤ {name} < {with_unit(texts[high], unit)}"
            return f"{texts[low]} to {texts[high]}"
        if low > -np.inf:
            return f"{name} ≥ {with_unit(texts[low], unit) if name else texts[low]}".lstrip()
        return f"{name} < {with_unit(texts[high], unit) if name else texts[high]}".lstrip() if high < np.inf else ""

    @cached_property
    def regions(self) -> dict[int, LeafRegion]:
        """By leaf, from left to right."""
        return {region.leaf: region for region in regions(self.tree)}

    def rule(self, leaf: int) -> list[str]:
        """All that must hold in a leaf: one condition per variable that is tested, then the oblique tests."""
        region = self.regions[leaf]
        bounds = [self.interval(j, region, name) for j, name in enumerate(self.names)]
        return [text for text in bounds if text] + [self.test(node, high) for node, high in region.oblique]

    # -- actions and observations

    def applied_value(self, axis: int, value: float) -> str:
        """One axis of an action, without its unit; actions of leaves have as many digits as tell them apart."""
        if self.law_words is not None:
            return self.law_words.value(value)
        return self.applied[axis].get(value) or number(value)

    def action(self, action: Sequence[float]) -> str:
        """ "torque = 1.5 N m"."""
        parts = zip(self.action_names, action, self.action_units, strict=True)
        return ", ".join(
            f"{name} = {with_unit(self.applied_value(axis, float(value)), unit)}"
            for axis, (name, value, unit) in enumerate(parts)
        )

    def leaf_action(self, leaf: int) -> str:
        """What a leaf does, in one line: its action, or its laws."""
        return self.action(self.tree.actions[leaf].tolist()) if self.law_words is None else "; ".join(self.laws(leaf))

    def leaf_lines(self, leaf: int) -> list[str]:
        """The same, for the boxes of drawings: long ones are broken where one would pause."""
        if self.law_words is None:
            return [self.leaf_action(leaf)]
        return [line for law in self.laws(leaf) for line in law.replace("highest of (", "highest of (; ").split("; ")]

    def laws(self, leaf: int) -> list[str]:
        """The same, one line for each axis of the action: "torque = clip(-14·sin - 3·velocity, -2, 2) N m"."""
        return [f"{name} = {self.law(leaf, axis)}" for axis, name in enumerate(self.action_names)]

    def law(self, leaf: int, axis: int = 0) -> str:
        """What a leaf does along one axis of the action: what stands behind the sign of equality."""
        if self.law_words is not None:
            return self.law_words.law(leaf, axis)
        return with_unit(self.applied_value(axis, float(self.tree.actions[leaf, axis])), self.action_units[axis])

    def observation(self, observation: Sequence[float]) -> str:
        """ "angle = 0.03 rad, velocity = 1 rad/s"."""
        return values_text(self.names, observation, self.units)
