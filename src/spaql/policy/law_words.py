"""Laws in words: "clip(-14·sin - 3·velocity, -2, 2)", "2 if -position + 50·velocity ≥ 0.46 else 0".

Everything can be typed in as it is read: a weight of one is left out, a zero with its variable.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from spaql.policy.digits import number, told_apart, with_unit
from spaql.trees.laws import CLIP, SCORES, LeafLaws
from spaql.trees.regions import constant_of, steps_of
from spaql.trees.tree import LEAF, Tree

MOST_STEPS = 6  # ordered actions whose cuts are told one by one


class Term(NamedTuple):
    """A part of a sum."""

    negative: bool
    digits: str  # without a sign; empty: one
    name: str  # of the variable; empty: it is the constant


def terms_of(weights: Sequence[float], names: Sequence[str], said: Callable[[int, float], str]) -> list[Term]:
    """The parts of a weighted sum. `said`: the digits of a weight, by variable and value."""
    return [
        Term(weight < 0, "" if abs(weight) == 1.0 else said(j, weight).removeprefix("-"), names[j])
        for j, weight in enumerate(weights)
        if weight != 0.0
    ]


def affine_text(terms: Sequence[Term]) -> str:
    """ "-14·sin - velocity + 0.5"."""
    text = ""
    for negative, digits, name in terms:
        sign = (" - " if negative else " + ") if text else ("-" if negative else "")
        text += sign + (f"{digits}·{name}" if digits and name else digits or name)
    return text or "0"


class LawWords:
    """How the laws of one tree are said.

    Numbers have four digits, and more where those of two leaves would look the same.
    """

    def __init__(self, tree: Tree, names: Sequence[str], action_units: Sequence[str]) -> None:
        assert tree.laws is not None
        self.laws, self.names, self.action_units = tree.laws, names, action_units
        leaves = np.flatnonzero(tree.nodes["feature"] == LEAF).tolist()
        laws, outputs = tree.laws, range(tree.laws.outputs)
        self.gains = [[told_apart(laws.gains[leaves, k, j].tolist(), 0.0) for j in range(len(names))] for k in outputs]
        self.offsets = [told_apart(laws.offsets[leaves, k].tolist(), 0.0) for k in outputs]
        self.cuts = told_apart(
            (cut for leaf in leaves for cut, _ in steps_of(laws, leaf)) if self.stepped else (), scale=0.0
        )
        constants = [constant_of(laws, leaf, axis) for leaf in leaves for axis in range(len(action_units))]
        self.values = told_apart([*laws.values.tolist(), *(value for value in constants if value is not None)], 0.0)

    @property
    def stepped(self) -> bool:
        """Thresholds and ordered actions: they change where a weighted sum passes a cut."""
        return self.laws.kind not in (CLIP, SCORES)

    def value(self, value: float) -> str:
        """A value of the action without its unit."""
        return self.values.get(value) or number(value)

    def terms(self, leaf: int, output: int, constant: bool = True) -> list[Term]:
        """A score, part by part; without its constant, where that is told as a cut."""
        gains, offset = self.laws.gains[leaf, output].tolist(), float(self.laws.offsets[leaf, output])
        terms = terms_of(gains, self.names, lambda j, gain: self.gains[output][j][gain])
        if constant and offset != 0.0:
            terms.append(Term(offset < 0, self.offsets[output][offset].removeprefix("-"), ""))
        return terms

    def steps(self, leaf: int) -> list[tuple[str, float]]:
        """Of thresholds and ordered actions: (cut, action from there on), the highest first."""
        return [(self.cuts[cut], action) for cut, action in steps_of(self.laws, leaf)]

    def law(self, leaf: int, axis: int = 0) -> str:
        """What a leaf applies along an axis of the action."""
        laws, unit = self.laws, self.action_units[axis]
        fixed = constant_of(laws, leaf, axis)
        if fixed is not None:
            return with_unit(self.value(fixed), unit)
        if laws.kind == CLIP:
            low, high = self.value(float(laws.low[axis])), self.value(float(laws.high[axis]))
            return with_unit(f"clip({affine_text(self.terms(leaf, axis))}, {low}, {high})", unit)
        if laws.kind == SCORES:
            return f"highest of ({'; '.join(self.scores(leaf))})"
        if len(laws.values) > MOST_STEPS:
            index, last = affine_text(self.terms(leaf, 0)), len(laws.values) - 1
            return f"number floor(clip({index}, 0, {last}) + 0.5) of {self.listed()}, counted from 0"
        return self._steps_text(leaf)

    def scores(self, leaf: int) -> list[str]:
        """Of the best of scores: "2 N: 3·x - 1" for every action."""
        return [
            f"{with_unit(self.value(float(value)), self.action_units[0])}: {affine_text(self.terms(leaf, k))}"
            for k, value in enumerate(self.laws.values)
        ]

    def _steps_text(self, leaf: int) -> str:
        """ "2 if 3·x - y ≥ 0.5, 1 if ≥ -0.5, else 0"."""
        steps, unit = self.steps(leaf), self.action_units[0]
        total = affine_text(self.terms(leaf, 0, constant=False))
        parts = [
            f"{with_unit(self.value(action), unit)} if {total + ' ' if k == 0 else ''}≥ {cut}"
            for k, (cut, action) in enumerate(steps)
        ]
        last = with_unit(self.value(float(self.laws.values[0])), unit)
        return ", ".join(parts) + (" else " if len(parts) == 1 else ", else ") + last

    def listed(self) -> str:
        """The finite actions in their order."""
        values = [self.value(float(value)) for value in self.laws.values]
        shown = values if len(values) <= 12 else [*values[:5], "…", *values[-2:]]
        return with_unit(", ".join(shown), self.action_units[0])


# -- how many numbers --------------------------------------------------------------------------------------------------


def count_numbers(tree: Tree) -> int:
    """How many numbers the printed controller contains: coefficients, cuts and constants.

    Weights of one and zeros are not printed, or read without effort: they are free. Every constant action counts.
    """
    total = 0
    for node, (cut, feature, _, _) in enumerate(tree.nodes.tolist()):
        if feature != LEAF:
            total += int(cut != 0.0) + _seen(tree.weights[node].tolist())
        elif tree.laws is None:
            total += tree.actions.shape[1]
        else:
            total += _numbers_of_leaf(tree.laws, node, tree.actions.shape[1])
    return total


def _seen(weights: Sequence[float]) -> int:
    return sum(weight != 0.0 and abs(weight) != 1.0 for weight in weights)


def _numbers_of_leaf(laws: LeafLaws, leaf: int, axes: int) -> int:
    gains, offsets = laws.gains[leaf], laws.offsets[leaf]
    if laws.kind == CLIP:
        fixed = [constant_of(laws, leaf, axis) is not None for axis in range(axes)]
        return sum(1 if fixed[k] else _seen(gains[k].tolist()) + int(offsets[k] != 0.0) for k in range(axes))
    if constant_of(laws, leaf) is not None:
        return 1
    weights = _seen(gains.ravel().tolist())
    if laws.kind == SCORES or len(laws.values) > MOST_STEPS:
        return weights + int((offsets != 0.0).sum())
    return weights + sum(cut != 0.0 for cut, _ in steps_of(laws, leaf))
