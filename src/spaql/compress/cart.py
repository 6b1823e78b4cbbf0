"""Trees from examples: the states a controller meets, and what it applies there."""

import itertools
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.trees.edits import best_first, constant, simplified, split
from spaql.trees.tree import Builder, Tree

MIN_LEAF_STATES = 5


def distilled(states: Array, actions: Array, most: int) -> list[Tree]:
    """Nested trees with 1, 2, ... up to `most` leaves, each from the last by the split that explains most (CART)."""
    values, label = np.unique(actions, axis=0, return_inverse=True)
    label = label.ravel()
    splits: dict[int, tuple[int, float, int, int]] = {}  # region: feature, cut, regions below and above
    members = [np.arange(len(states))]  # by region, in the order in which they were made

    def offer(region: int) -> tuple[float, tuple[int, float]] | None:
        gain, feature, cut = _best_split(states[members[region]], label[members[region]], len(values))
        return (gain, (feature, cut)) if gain > 0 else None

    def divide(region: int, split: tuple[int, float]) -> tuple[int, int]:
        (feature, cut), inside = split, members[region]
        above = states[inside, feature] >= cut
        low, high = len(members), len(members) + 1
        members.extend([inside[~above], inside[above]])
        splits[region] = (feature, cut, low, high)
        return low, high

    def build(expanded: int) -> Tree:
        """The tree after so many splits: later ones are left out."""
        builder = Builder(states.shape[1], actions.shape[1])

        def make(region: int) -> int:
            if region in splits and splits[region][2] <= 2 * expanded:
                feature, cut, low, high = splits[region]
                node = builder.test(feature, cut)
                below = make(low)
                builder.join(node, below, make(high))
                return node
            return builder.leaf(values[np.bincount(label[members[region]], minlength=len(values)).argmax()])

        make(0)
        return builder.tree()

    trees = [build(0)]
    for _ in itertools.islice(best_first(0, offer, divide), most - 1):
        trees.append(build(len(trees)))
    return trees


def _best_split(x: Array, label: Array, classes: int) -> tuple[float, int, float]:
    """Largest fall of Gini's impurity times the number of examples: (fall, variable, cut)."""
    n, best = len(label), (0.0, 0, 0.0)
    if n < 2 * MIN_LEAF_STATES:
        return best
    total = np.bincount(label, minlength=classes).astype(float)
    whole = n - (total**2).sum() / n
    for j in range(x.shape[1]):
        order = np.argsort(x[:, j], kind="stable")
        value = x[order, j]
        counts = np.zeros((n, classes))
        counts[np.arange(n), label[order]] = 1.0
        below = np.cumsum(counts, axis=0)[:-1]
        size = np.arange(1, n)
        left = size - (below**2).sum(axis=1) / size
        right = (n - size) - ((total - below) ** 2).sum(axis=1) / (n - size)
        allowed = (np.diff(value) > 0) & (size >= MIN_LEAF_STATES) & (n - size >= MIN_LEAF_STATES)
        fall = np.where(allowed, whole - left - right, -np.inf)
        at = int(np.argmax(fall))
        if fall[at] > best[0] + 1e-9:
            best = (float(fall[at]), j, float((value[at] + value[at + 1]) / 2))
    return best


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
    tree = constant(states.shape[1], actions[costs.sum(axis=0).argmin()])

    def offer(part: tuple[int, Array]) -> tuple[float, CostSplit] | None:
        """Of a leaf and the states in it."""
        members = part[1]
        cost = float(costs[members].sum(axis=0).min())
        splits = best_splits(states[members], costs[members], scale, oblique, MIN_LEAF_STATES) if cost > 0 else []
        if not splits:
            return None
        saving, explaining = min(splits, key=lambda test: test.cost), max(splits, key=lambda test: test.explained)
        saved = cost - saving.cost
        return max(saved, HOPE * cost), saving if saved >= USEFUL * cost else explaining

    def divide(part: tuple[int, Array], chosen: CostSplit) -> tuple[tuple[int, Array], tuple[int, Array]] | None:
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

    for _ in itertools.islice(best_first((0, np.arange(len(states))), offer, divide), most - 1):
        pass
    return simplified(tree)


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
