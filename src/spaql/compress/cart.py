"""Trees from examples: the states a controller meets, and what it applies there."""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.trees.edits import best_first, constant, simplified, split
from spaql.trees.tree import Tree

MIN_LEAF_STATES = 5


Part = tuple[int, Array]  # a leaf, and the states in it
Choice = Callable[[Array, list["CostSplit"]], tuple[float, "CostSplit"] | None]  # from costs in a leaf and its splits


def distilled(states: Array, actions: Array, most: int) -> list[Tree]:
    """Nested trees with 1, 2, ... up to `most` leaves, each from the last by the split that explains most (CART)."""
    values, label = np.unique(actions, axis=0, return_inverse=True)
    wrong = 1.0 - np.eye(len(values))[label.ravel()]

    def choose(costs: Array, splits: list[CostSplit]) -> tuple[float, CostSplit] | None:
        best = max(splits, key=lambda test: test.explained)
        gain = best.explained - float((costs.sum(axis=0) ** 2).sum()) / len(costs)  # fall of Gini's impurity
        return (gain, best) if gain > ROUNDING else None

    return list(_grown(states, wrong, values, most, np.ones(states.shape[1]), False, choose))


# -- a tree from what actions cost at given states: a state counts as much as a wrong action would lose there ----------

USEFUL = 0.1  # share of a leaf's cost that a split must save; else the split that explains most prepares those below it
HOPE = 0.3  # share of its cost that a leaf may save in the long run


class CostSplit(NamedTuple):
    """weights . x >= cut, and the actions (by number) that cost least on both sides."""

    cost: float  # left after it
    explained: float  # squared error of the costs that it explains
    weights: Array
    cut: float
    below: int
    above: int


def cost_tree(states: Array, costs: Array, actions: Array, most: int, scale: Array, oblique: bool = False) -> Tree:
    """A tree of at most `most` leaves, grown where it saves most. `costs` (states, actions)."""

    def choose(costs: Array, splits: list[CostSplit]) -> tuple[float, CostSplit]:
        cost = float(costs.sum(axis=0).min())
        saving, explaining = min(splits, key=lambda test: test.cost), max(splits, key=lambda test: test.explained)
        saved = cost - saving.cost
        return max(saved, HOPE * cost), saving if saved >= USEFUL * cost else explaining

    *_, tree = _grown(states, costs, actions, most, scale, oblique, choose)
    return simplified(tree)


def _grown(
    states: Array, costs: Array, actions: Array, most: int, scale: Array, oblique: bool, choose: Choice
) -> Iterator[Tree]:
    """A tree of one leaf, then the same after each split, in whose leaves stand the actions that cost least."""
    tree = constant(states.shape[1], actions[costs.sum(axis=0).argmin()])

    def offer(part: Part) -> tuple[float, CostSplit] | None:
        own = costs[part[1]]
        splits = best_splits(states[part[1]], own, scale, oblique, MIN_LEAF_STATES) if own.sum(axis=0).min() > 0 else []
        return choose(own, splits) if splits else None

    def divide(part: Part, chosen: CostSplit) -> tuple[Part, Part] | None:
        nonlocal tree
        leaf, members = part
        high = states[members] @ chosen.weights >= chosen.cut
        below, above = members[~high], members[high]
        if len(below) == 0 or len(above) == 0:
            return None  # the middle between two values may round to one of them
        fresh = len(tree.nodes)
        cheapest = [actions[costs[side].sum(axis=0).argmin()] for side in (below, above)]
        tree = split(tree, leaf, chosen.weights, chosen.cut, *cheapest)
        return (fresh, below), (fresh + 1, above)

    yield tree
    for _ in itertools.islice(best_first((0, np.arange(len(states))), offer, divide), most - 1):
        yield tree


def best_splits(states: Array, costs: Array, scale: Array, oblique: bool, smallest: int = 1) -> list[CostSplit]:
    """Per direction the split that leaves least cost, and the one that explains most squared error of the costs."""
    n, splits = len(states), []
    if n < 2 * smallest:
        return []
    total = costs.sum(axis=0)
    size = np.arange(1, n)
    for weights in _directions(states, costs, scale, oblique):
        value = states @ weights
        order = np.argsort(value, kind="stable")
        value = value[order]
        allowed = value[1:] > value[:-1]
        allowed[: smallest - 1] = False
        allowed[n - smallest :] = False
        if not allowed.any():
            continue
        below = np.cumsum(costs[order].T, axis=1)[:, :-1]
        above = total[:, None] - below
        cost = np.where(allowed, below.min(axis=0) + above.min(axis=0), np.inf)
        explained = np.where(allowed, (below**2).sum(axis=0) / size + (above**2).sum(axis=0) / (n - size), -np.inf)
        for at in {int(np.argmin(cost)), int(np.argmax(explained))}:
            cut = value[at] + (value[at + 1] - value[at]) / 2
            sides = int(below[:, at].argmin()), int(above[:, at].argmin())
            splits.append(CostSplit(float(cost[at]), float(explained[at]), weights, float(cut), *sides))
    return splits


def _directions(states: Array, costs: Array, scale: Array, oblique: bool) -> list[Array]:
    """Every variable; with oblique tests also every pair.

    A pair is weighed to tell best where one of the two most useful actions beats the other.
    """
    d = states.shape[1]
    directions = list(np.eye(d))
    if not oblique or len(states) < 8:
        return directions
    first = int(costs.sum(axis=0).argmin())
    # the action that helps most where the first is not good
    second = int(np.minimum(costs, costs[:, [first]]).sum(axis=0).argmin())
    lead = costs[:, second] - costs[:, first]
    root = np.sqrt(np.abs(lead))
    for pair in itertools.combinations(range(d), 2):
        scaled = np.column_stack([states[:, pair] / scale[list(pair)], np.ones(len(states))])
        fitted = np.linalg.lstsq(root[:, None] * scaled, root * np.sign(lead), rcond=None)[0][:2]
        if np.abs(fitted).min() > 1e-6 * np.abs(fitted).max():
            weights = np.zeros(d)
            weights[list(pair)] = fitted / np.abs(fitted).max() / scale[list(pair)]
            directions.append(weights)
    return directions
