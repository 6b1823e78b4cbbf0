"""Trees from examples: the states a controller meets, and what it applies there."""

import itertools

import numpy as np

from spaql.arrays import Array
from spaql.trees.best_first import best_first
from spaql.trees.tree import Builder, Tree

SMALLEST = 5  # examples in a leaf


def distilled(states: Array, actions: Array, most: int) -> list[Tree]:
    """Nested trees with 1, 2, ...

    up to `most` leaves, each made from the last by the split that explains most (CART, best first).
    """
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
    if n < 2 * SMALLEST:
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
        fall = np.where(
            (np.diff(value) > 0) & (size >= SMALLEST) & (n - size >= SMALLEST), whole - left - right, -np.inf
        )
        at = int(np.argmax(fall))
        if fall[at] > best[0] + 1e-9:
            best = (float(fall[at]), j, float((value[at] + value[at + 1]) / 2))
    return best
