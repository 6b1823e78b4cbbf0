"""A linear model tree: a law tree of a given size that does about what was done at given states.

Grown best first. A part is split where two laws explain much more than one; tests are quantiles of a variable or random
directions through a state. Scores saturate at -1 and 1 (see units.py): where a law and what it is to explain are beyond
the same end there is no error, so such states are left out of the next fit.
"""

import itertools
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.laws.vector import Units
from spaql.plants.problem import Finite, Problem
from spaql.policy.outputs import make_laws
from spaql.trees.edits import Law, best_first, oblique, split_law
from spaql.trees.laws import CLIP, ORDERED, SCORES
from spaql.trees.tree import LEAF, NODE, Tree

RIDGE = 1e-3  # times the number of states
ROUNDS = 5  # of a fit
TRIED = 2  # rounds of the fits that compare tests
QUANTILES = 9  # cuts tried per variable
DIRECTIONS = 50  # random tests tried per part
SMALLEST = 20  # states in a leaf
MOST = 4000  # states that a tree is fitted to
END = 0.99  # of the range: a score beyond is saturated


class Split(NamedTuple):
    """weights . z >= cut."""

    weights: Array
    cut: float


def scores_of(problem: Problem, kind: int, actions: Array) -> Array:
    """What laws of a kind should say where these actions are applied: (n, outputs), between -1 and 1."""
    if kind == CLIP:
        low, high = problem.actions.bounds
        found: Array = (2.0 * actions - low - high) / (high - low)
        return found
    assert isinstance(problem.actions, Finite)
    values = np.array(problem.actions.values, float)
    index = np.abs(actions[:, :1] - values).argmin(axis=1)
    if kind == SCORES:
        found = np.where(index[:, None] == np.arange(len(values)), 1.0, -1.0)
        return found
    found = (2.0 * index / (len(values) - 1) - 1.0)[:, None]
    return found if kind == ORDERED else np.sign(found)


def model_tree(
    units: Units,
    kind: int,
    states: Array,
    scores: Array,
    leaves: int,
    rng: np.random.Generator,
    weights: Array | None = None,
) -> Tree:
    """In units, as `states` are; fewer leaves where the states do not allow more.

    `weights`: how much each state counts.
    """
    if len(states) > MOST:
        chosen = np.sort(rng.permutation(len(states))[:MOST])
        states, scores = states[chosen], scores[chosen]
        weights = None if weights is None else weights[chosen]
    weights = np.ones(len(states)) if weights is None else weights / max(float(weights.mean()), 1e-300)
    inputs = np.concatenate([states * units.live, np.ones((len(states), 1))], axis=1)
    everywhere = np.arange(len(states))
    law, error = fit(inputs, scores, weights, ROUNDS)
    tree = _leaf(units.problem, kind, law_of(law, kind))
    Part = tuple[int, Array, float]

    def offer(part: Part) -> tuple[float, Split] | None:
        """Of a leaf, the states in it, and the error there."""
        _, members, error = part
        best: tuple[float, Split] | None = None
        for test in _tests(states[members], units.live, rng):
            high = states[members] @ test.weights >= test.cut
            if min(high.sum(), (~high).sum()) < SMALLEST:
                continue
            left = sum(
                fit(inputs[side], scores[side], weights[side], TRIED)[1] for side in (members[~high], members[high])
            )
            if best is None or error - left > best[0]:
                best = (error - left, test)
        return best

    def divide(part: Part, test: Split) -> tuple[Part, Part] | None:
        nonlocal tree
        leaf, members, _ = part
        high = states[members] @ test.weights >= test.cut
        below, above = members[~high], members[high]
        (low_law, low_error), (high_law, high_error) = (
            fit(inputs[side], scores[side], weights[side], ROUNDS) for side in (below, above)
        )
        n = len(tree.nodes)
        tree = oblique(split_law(tree, leaf, test.weights, test.cut, law_of(low_law, kind), law_of(high_law, kind)))
        return (n, below, low_error), (n + 1, above, high_error)

    for _ in itertools.islice(best_first((0, everywhere, error), offer, divide), leaves - 1):
        pass
    return tree


def fit(inputs: Array, scores: Array, weights: Array, rounds: int) -> tuple[Array, float]:
    """Gains with the offset last, (variables + 1, outputs), and the squared error of the saturated scores."""
    ridge = RIDGE * len(inputs) * np.eye(inputs.shape[1])
    weighted = inputs * weights[:, None]
    law: Array = np.linalg.solve(weighted.T @ inputs + ridge, weighted.T @ scores)
    for _ in range(rounds - 1):
        said = inputs @ law
        same = ((said > 1.0) & (scores >= END)) | ((said < -1.0) & (scores <= -END))
        if not same.any():
            break
        for output in range(scores.shape[1]):
            kept = np.flatnonzero(~same[:, output])
            if len(kept) < SMALLEST:
                continue
            right = weighted[kept].T @ scores[kept, output] + ridge @ law[:, output]
            law[:, output] = np.linalg.solve(weighted[kept].T @ inputs[kept] + ridge, right)
    wrong = np.clip(inputs @ law, -1.0, 1.0) - scores
    return law, float(weights @ (wrong * wrong).sum(axis=1))


def _tests(states: Array, live: Array, rng: np.random.Generator) -> list[Split]:
    """Quantiles of every variable, and random directions through states."""
    d, found = states.shape[1], []
    for j in np.flatnonzero(live):
        cuts = np.unique(np.quantile(states[:, j], np.linspace(0, 1, QUANTILES + 2)[1:-1]))
        found += [Split(np.eye(d)[j], float(cut)) for cut in cuts]
    for _ in range(DIRECTIONS if live.sum() > 1 else 0):
        weights = rng.normal(size=d) * live
        weights /= np.linalg.norm(weights)
        found.append(Split(weights, float(weights @ states[int(rng.integers(len(states)))])))
    return found


def law_of(fitted: Array, kind: int) -> Law:
    """Gains (outputs, variables) and offsets; the highest of scores stays the same if the first is taken from all."""
    gains, offsets = fitted[:-1].T.copy(), fitted[-1].copy()
    if kind == SCORES:
        gains, offsets = gains - gains[:1], offsets - offsets[:1]
    return gains, offsets


def _leaf(problem: Problem, kind: int, law: Law) -> Tree:
    nodes = np.zeros(1, NODE)
    nodes["feature"] = LEAF
    laws = make_laws(law[0][None], law[1][None], problem.actions, kind)
    return Tree(nodes, np.zeros((1, problem.actions.axes)), np.zeros((1, len(problem.state))), laws)
