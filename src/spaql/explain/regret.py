"""Trees from what actions cost: every state is a lesson, weighed by how much a wrong action would lose there."""

import heapq
import itertools
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.explain.edits import constant, simplified, split
from spaql.explain.tree import Tree

SMALLEST = 5  # lessons in a leaf
USEFUL = 0.1  # share of a leaf's cost that a test must save; else it is chosen to tell apart what comes later
HOPE = 0.3  # share of its cost that a leaf may save in the long run


class Test(NamedTuple):
    """weights . x >= cut, and the actions (by number) that cost least on both sides."""

    cost: float  # left after it
    told: float  # how much squared error of the costs it explains
    weights: Array
    cut: float
    below: int
    above: int


def taught(states: Array, costs: Array, actions: Array, most: int, scale: Array, oblique: bool = False) -> Tree:
    """A tree of at most `most` leaves, grown where it saves most. `costs` (states, actions)."""
    tree = constant(states.shape[1], actions[costs.sum(axis=0).argmin()])
    heap: list[tuple[float, int, int, Array, Test]] = []
    offered, leaves = itertools.count(), 1

    def offer(leaf: int, members: Array) -> None:
        cost = float(costs[members].sum(axis=0).min())
        tests = best_tests(states[members], costs[members], scale, oblique, SMALLEST) if cost > 0 else []
        if tests:
            saving, telling = min(tests, key=lambda test: test.cost), max(tests, key=lambda test: test.told)
            saved = cost - saving.cost
            chosen = saving if saved >= USEFUL * cost else telling
            heapq.heappush(heap, (-max(saved, HOPE * cost), next(offered), leaf, members, chosen))

    offer(0, np.arange(len(states)))
    while heap and leaves < most:
        _, _, leaf, members, test = heapq.heappop(heap)
        high = states[members] @ test.weights >= test.cut
        below, above = members[~high], members[high]
        if len(below) == 0 or len(above) == 0:
            continue  # the middle between two values may round to one of them
        fresh, leaves = len(tree.nodes), leaves + 1
        tree = split(
            tree, leaf, test.weights, test.cut, actions[costs[below].sum(axis=0).argmin()], actions[costs[above].sum(axis=0).argmin()]
        )
        offer(fresh, below)
        offer(fresh + 1, above)
    return simplified(tree)


def best_tests(states: Array, costs: Array, scale: Array, oblique: bool, smallest: int = 1) -> list[Test]:
    """Per direction the test after which least cost is left, and the one that explains most squared error of the costs."""
    n, found = len(states), []
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
        told = np.where(allowed, (below**2).sum(axis=0) / size + (above**2).sum(axis=0) / (n - size), -np.inf)
        for at in {int(np.argmin(cost)), int(np.argmax(told))}:
            cut = value[at] + (value[at + 1] - value[at]) / 2
            sides = int(below[:, at].argmin()), int(above[:, at].argmin())
            found.append(Test(float(cost[at]), float(told[at]), weights, float(cut), *sides))
    return found


def _directions(states: Array, costs: Array, scale: Array, oblique: bool) -> list[Array]:
    """Every variable; with oblique tests also every pair, weighed to tell best where one of the two most useful actions beats the other."""
    d = states.shape[1]
    directions = list(np.eye(d))
    if not oblique or len(states) < 8:
        return directions
    first = int(costs.sum(axis=0).argmin())
    second = int(np.minimum(costs, costs[:, [first]]).sum(axis=0).argmin())  # what helps most where the first is not good
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
