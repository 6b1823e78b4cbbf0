"""Lessons, and trees that follow them: what a teacher did, or the search's own trials of other actions, as first trees.

model trees          a law tree of a given size that does about what was done at given states
random partitions    many different beginnings from the same lessons, with the laws that fit best in each
own lessons          policy improvement by rollouts: at moments of a good tree's closed loop every action is tried
                     for a few steps, then the tree goes on; where another action is worth more, that is the lesson
"""

import itertools
from typing import NamedTuple

import numpy as np

from spaql.compress.arena import HELD_STEPS, MAX_COST_QUANTILE, MOMENTS
from spaql.ground.arrays import Array
from spaql.laws.fit import MIN_LEAF_STATES, fit
from spaql.laws.search import SCREENING_EPISODES, STATES, Search
from spaql.laws.trials import Trials
from spaql.laws.vector import Units, measured_units
from spaql.learners.laws import Laws
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.policy.outputs import kinds_of, leaf
from spaql.trees.edits import Law, best_first, oblique, split_law, with_laws
from spaql.trees.laws import CLIP, ORDERED, SCORES
from spaql.trees.tree import LEAF, Tree, decide, leaf_of


class Lessons(NamedTuple):
    """Observations (n, variables) and what was done there (n, axes), physical; and how much each counts."""

    states: Array
    actions: Array
    weights: Array | None = None


def distilled(search: Search, lessons: Lessons, leaves: int, weighted: bool = False) -> list[Tree]:
    """Trees in units that do what the lessons say, one per kind of law."""
    problem, units = search.trials.problem, search.units
    states, weights = units.of(lessons.states), lessons.weights if weighted else None
    return [
        model_tree(units, kind, states, scores_of(problem, kind, lessons.actions), leaves, search.rng, weights)
        for kind in kinds_of(problem.actions)
    ]


# -- model trees -------------------------------------------------------------------------------------------------------
#
# Grown best first. A part is split where two laws explain much more than one; tests are quantiles of a variable or
# random directions through a state. How a law is fitted: fit.py.

FIT_ROUNDS = 5
TRIED_PER_AXIS = 9  # cuts of a variable; levels of a continuous action
TEST_ROUNDS = 2  # of the fits that compare tests
RANDOM_TESTS = 50  # per part


class Split(NamedTuple):
    """weights . z >= cut."""

    weights: Array
    cut: float


def scores_of(problem: Problem, kind: int, actions: Array) -> Array:
    """What laws of a kind should say where these actions are applied: (n, outputs), between -1 and 1."""
    if kind == CLIP:
        low, high = problem.actions.bounds
        clipped: Array = (2.0 * actions - low - high) / (high - low)
        return clipped
    assert isinstance(problem.actions, Finite)
    values = np.array(problem.actions.values, float)
    index = np.abs(actions[:, :1] - values).argmin(axis=1)
    if kind == SCORES:
        return np.where(index[:, None] == np.arange(len(values)), 1.0, -1.0)
    ordered: Array = (2.0 * index / (len(values) - 1) - 1.0)[:, None]
    return ordered if kind == ORDERED else np.sign(ordered)


def model_tree(
    units: Units, kind: int, states: Array, scores: Array, leaves: int, rng: np.random.Generator,
    weights: Array | None = None,
) -> Tree:  # fmt: skip
    """In units, as `states` are; fewer leaves where the states do not allow more.

    `weights`: how much each state counts.
    """
    if len(states) > STATES:
        chosen = np.sort(rng.permutation(len(states))[:STATES])
        states, scores = states[chosen], scores[chosen]
        weights = None if weights is None else weights[chosen]
    weights = np.ones(len(states)) if weights is None else weights / max(float(weights.mean()), 1e-300)
    inputs = np.concatenate([states * units.live, np.ones((len(states), 1))], axis=1)
    everywhere = np.arange(len(states))
    law, error = fit(inputs, scores, weights, FIT_ROUNDS)
    tree = leaf(units.problem.actions, *law_of(law, kind), kind)
    Part = tuple[int, Array, float]

    def offer(part: Part) -> tuple[float, Split] | None:
        """Of a node, the states in it, and the error there."""
        _, members, error = part
        best: tuple[float, Split] | None = None
        for test in _tests(states[members], units.live, rng):
            high = states[members] @ test.weights >= test.cut
            if min(high.sum(), (~high).sum()) < MIN_LEAF_STATES:
                continue
            sides = members[~high], members[high]
            left = sum(fit(inputs[side], scores[side], weights[side], TEST_ROUNDS)[1] for side in sides)
            if best is None or error - left > best[0]:
                best = (error - left, test)
        return best

    def divide(part: Part, test: Split) -> tuple[Part, Part] | None:
        nonlocal tree
        node, members, _ = part
        high = states[members] @ test.weights >= test.cut
        below, above = members[~high], members[high]
        (low_law, low_error), (high_law, high_error) = (
            fit(inputs[side], scores[side], weights[side], FIT_ROUNDS) for side in (below, above)
        )
        n = len(tree.nodes)
        tree = oblique(split_law(tree, node, test.weights, test.cut, law_of(low_law, kind), law_of(high_law, kind)))
        return (n, below, low_error), (n + 1, above, high_error)

    for _ in itertools.islice(best_first((0, everywhere, error), offer, divide), leaves - 1):
        pass
    return tree


def _tests(states: Array, live: Array, rng: np.random.Generator) -> list[Split]:
    """Quantiles of every variable, and random directions through states."""
    d, tests = states.shape[1], []
    for j in np.flatnonzero(live):
        cuts = np.unique(np.quantile(states[:, j], np.linspace(0, 1, TRIED_PER_AXIS + 2)[1:-1]))
        tests += [Split(np.eye(d)[j], float(cut)) for cut in cuts]
    for _ in range(RANDOM_TESTS if live.sum() > 1 else 0):
        weights = rng.normal(size=d) * live
        weights /= np.linalg.norm(weights)
        tests.append(Split(weights, float(weights @ states[int(rng.integers(len(states)))])))
    return tests


def law_of(fitted: Array, kind: int) -> Law:
    """Gains (outputs, variables) and offsets; the highest of scores stays the same if the first is taken from all."""
    gains, offsets = fitted[:-1].T.copy(), fitted[-1].copy()
    if kind == SCORES:
        gains, offsets = gains - gains[:1], offsets - offsets[:1]
    return gains, offsets


# -- random partitions whose laws are fitted to lessons ----------------------------------------------------------------
#
# A model tree is one guess of where the tests belong, made for the sake of the fit. What a fit says about the closed
# loop is little; so many partitions are drawn, laws are fitted in each, and the plant says which are worth more.

DRAWN_PARTITIONS = 1200
TRIED_PARTITIONS = 200  # on the plant, half of them those with the best fit
PARTITION_STATES = 1500  # that laws are fitted to


def fitted_partitions(search: Search, lessons: Lessons, leaves: int, keep: int, share: float = 1.0) -> list[Tree]:
    """The best few on the plant, in units. Of one law there is one fit only: see `distilled`.

    `share`: of the partitions that are drawn.
    """
    rng = search.rng
    chosen = np.sort(rng.permutation(len(lessons.states))[:PARTITION_STATES])
    states, actions = search.units.of(lessons.states[chosen]), lessons.actions[chosen]
    if leaves == 1 or len(states) < MIN_LEAF_STATES * leaves:
        return []
    drawn = []
    for _ in range(search.tried(round(share * DRAWN_PARTITIONS), 4)):
        tree = search.proposals.tree(leaves, states)
        assert tree.laws is not None
        scores = scores_of(search.trials.problem, tree.laws.kind, actions)
        fitted = _fitted(tree, states, scores, search.units.live)
        if fitted is not None:
            drawn.append(fitted)
    drawn.sort(key=lambda fitted: fitted[0])
    half = search.tried(round(share * TRIED_PARTITIONS / 2), 2)
    rest = drawn[half:]
    tried = drawn[:half] + [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, half).astype(int)) if rest]
    return [tree for tree, _ in search.screened([(tree, 0) for _, tree in tried], keep, 2 * SCREENING_EPISODES)]


def _fitted(tree: Tree, states: Array, scores: Array, live: Array) -> tuple[float, Tree] | None:
    """The error, and the tree with laws that fit best in its leaves; None where a leaf has hardly a state."""
    assert tree.laws is not None
    inputs = np.concatenate([states * live, np.ones((len(states), 1))], axis=1)
    at, error = leaf_of(tree, states), 0.0
    gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
    for node in np.flatnonzero(tree.nodes["feature"] == LEAF):
        members = np.flatnonzero(at == node)
        if len(members) < MIN_LEAF_STATES:
            return None
        law, wrong = fit(inputs[members], scores[members], np.ones(len(members)), FIT_ROUNDS)
        gains[node], offsets[node] = law_of(law, tree.laws.kind)
        error += wrong
    return error, with_laws(tree, gains, offsets)


# -- own lessons: one round and a polish take a law that cannot swing the pendulum up to within a few of the optimum ---

DRIFT_ROUNDS = 2  # in which a tree that follows the lessons comes to other states
MAX_ACTIONS = 33
MIN_GAIN_SHARE = 0.3  # of the mean gain: where less is to be gained, luck decides, and what was done is right
MIN_WEIGHT_SHARE = 0.1  # of the mean gain: what a state counts where nothing is gained


def own_lessons(search: Search, tree: Tree, leaves: int) -> Lessons | None:
    """Better actions than those of a physical tree; None where the plant cannot go on from a moment.

    First at moments of its own closed loop, then at those of a tree that follows the lessons so far, which comes to
    other states (DAgger).
    """
    at, rounds = tree, []
    for _ in range(1 + DRIFT_ROUNDS):
        lessons = _better(search, tree, at)
        if lessons is None:
            break
        rounds.append(lessons)
        together = Lessons(*(np.concatenate(parts) for parts in zip(*rounds, strict=True)))
        at = search.units.physical(distilled(search, together, leaves)[0])
    return together if rounds else None


def _better(search: Search, tree: Tree, at: Tree) -> Lessons | None:
    """What is better than to follow `tree`, at moments of the closed loop of `at`."""
    actions, seed = tried_actions(search.trials.problem.actions), int(search.rng.integers(2**31))
    tried = search.trials.alternatives(tree, at, actions, search.tried(MOMENTS, 50), HELD_STEPS, seed)
    if tried is None or len(tried[0]) == 0:
        return None
    states, futures = tried
    best = futures[:, :-1].argmax(axis=1)
    gained = np.maximum(futures[np.arange(len(best)), best] - futures[:, -1], 0.0)
    worth = gained > MIN_GAIN_SHARE * gained.mean()
    better = np.where(worth[:, None], actions[best], decide(tree, states))
    weights = np.minimum(gained, np.quantile(gained, MAX_COST_QUANTILE))
    return Lessons(states, better, weights + MIN_WEIGHT_SHARE * weights.mean())


def tried_actions(actions: Continuous | Finite) -> Array:
    """(n, axes) physical; with many axes the first of the corners."""
    return actions.some(max(2, min(TRIED_PER_AXIS, int(MAX_ACTIONS ** (1 / actions.axes)))), MAX_ACTIONS)


def fitted_laws(agent: Laws, trials: Trials, leaves: int, stage: int) -> list[Tree]:
    """Physical trees that do what the teacher did, one per kind of law; none without a teacher."""
    taught, d = agent.state.taught, len(agent.searched.state)
    if len(taught) == 0:
        return []
    lessons = Lessons(taught[:, :d], taught[:, d:])
    search = Search(trials, measured_units(agent.searched, lessons.states), agent.seed, stage)
    return [search.units.physical(law) for law in distilled(search, lessons, leaves)]
