"""Beginnings of a search from lessons: of a teacher, or of the search's own trials of other actions.

Policy improvement by rollouts: at moments of a good tree's closed loop every action is tried for a few steps, then the
tree goes on. Where another action is worth more, that is the lesson. One round and a polish take a law that cannot
swing the pendulum up to within a few of the optimum.
"""


import numpy as np

from spaql.ground.arrays import Array
from spaql.laws.distil import ROUNDS, SMALLEST, fit, law_of, model_tree, scores_of
from spaql.laws.search import Search
from spaql.laws.teacher import Lessons
from spaql.policy.outputs import kinds_of
from spaql.trees.edits import with_laws
from spaql.trees.tree import LEAF, Tree, decide, leaf_of

MOMENTS = 2000  # of a round
DRIFTS = 3  # of drifting
HOLDS = (5, 2)  # steps for which an action is tried, in turn
LEVELS = {1: 9, 2: 5, 3: 3}  # by axes, of continuous actions; more axes: the corners
MOST = 33  # actions tried
NOTABLE = 0.3  # of the mean gain: where less is to be gained, what was done is right; else luck decides there
EXTREME = 0.95  # quantile above which gains are cut: a single lost episode must not outweigh everything else
LEAST = 0.1  # of the mean gain: what a state counts where nothing is gained


def own_lessons(search: Search, tree: Tree, number: int, leaves: int) -> Lessons | None:
    """Better actions than those of a physical tree; None where the plant cannot go on from a moment.

    First at moments of its own closed loop, then at those of a tree that follows the lessons so far, which comes to
    other states (DAgger).
    """
    hold, at, found = HOLDS[number % len(HOLDS)], tree, []
    for _ in range(DRIFTS):
        lessons = _better(search, tree, at, hold)
        if lessons is None:
            break
        found.append(lessons)
        together = Lessons(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
        at = search.units.physical(distilled(search, together, leaves, False)[0])
    return together if found else None


def _better(search: Search, tree: Tree, at: Tree, hold: int) -> Lessons | None:
    """What is better than to follow `tree`, at moments of the closed loop of `at`."""
    space, seed = search.trials.problem.actions, int(search.rng.integers(2**31))
    actions = space.some(LEVELS.get(space.axes, 2), MOST)
    found = search.trials.alternatives(tree, at, actions, search.count(MOMENTS, 50), hold, seed)
    if found is None or len(found[0]) == 0:
        return None
    states, futures = found
    best = futures[:, :-1].argmax(axis=1)
    gained = np.maximum(futures[np.arange(len(best)), best] - futures[:, -1], 0.0)
    worth = gained > NOTABLE * gained.mean()
    better = np.where(worth[:, None], actions[best], decide(tree, states))
    weights = np.minimum(gained, np.quantile(gained, EXTREME))
    return Lessons(states, better, weights + LEAST * weights.mean())


def distilled(search: Search, lessons: Lessons, leaves: int, weighted: bool) -> list[Tree]:
    """Trees in units that do what the lessons say, one per kind of law."""
    problem, units = search.trials.problem, search.units
    states, weights = units.of(lessons.states), lessons.weights if weighted else None
    found = []
    for kind in kinds_of(problem.actions):
        scores = scores_of(problem, kind, lessons.actions)
        found.append(model_tree(units, kind, states, scores, leaves, search.rng, weights))
    return found


# -- random partitions whose laws are fitted to lessons: many different beginnings from the same lessons ---------------
#
# A model tree (distil.py) is one guess of where the tests belong, made for the sake of the fit. What a fit says about
# the closed loop is little; so many partitions are drawn, laws are fitted in each, and the plant says which are worth
# more.

DRAWN = 1200  # partitions
STATES = 1500  # that laws are fitted to
TRIED = 200  # of them on the plant, half of them those with the best fit
EPISODES = 16  # of each


def fitted_partitions(search: Search, lessons: Lessons, leaves: int, keep: int, share: float = 1.0) -> list[Tree]:
    """The best few on the plant, in units. Of one law there is one fit only: see `distilled`.

    `share`: of the partitions that are drawn.
    """
    rng = search.rng
    chosen = np.sort(rng.permutation(len(lessons.states))[:STATES])
    states, actions = search.units.of(lessons.states[chosen]), lessons.actions[chosen]
    if leaves == 1 or len(states) < SMALLEST * leaves:
        return []
    drawn = []
    for _ in range(search.count(round(share * DRAWN), 4)):
        tree = search.proposals.tree(leaves, states)
        assert tree.laws is not None
        found = _fitted(tree, states, scores_of(search.trials.problem, tree.laws.kind, actions), search.units.live)
        if found is not None:
            drawn.append(found)
    drawn.sort(key=lambda one: one[0])
    half = search.count(round(share * TRIED / 2), 2)
    rest = drawn[half:]
    tried = drawn[:half] + [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, half).astype(int)) if rest]
    return [tree for tree, _ in search.screened([(tree, 0) for _, tree in tried], keep, EPISODES)]


def _fitted(tree: Tree, states: Array, scores: Array, live: Array) -> tuple[float, Tree] | None:
    """The error, and the tree with laws that fit best in its leaves; None where a leaf has hardly a state."""
    assert tree.laws is not None
    inputs, leaf, error = np.concatenate([states * live, np.ones((len(states), 1))], axis=1), leaf_of(tree, states), 0.0
    gains, offsets = tree.laws.gains.copy(), tree.laws.offsets.copy()
    for node in np.flatnonzero(tree.nodes["feature"] == LEAF):
        members = np.flatnonzero(leaf == node)
        if len(members) < SMALLEST:
            return None
        law, wrong = fit(inputs[members], scores[members], np.ones(len(members)), ROUNDS)
        gains[node], offsets[node] = law_of(law, tree.laws.kind)
        error += wrong
    return error, with_laws(tree, gains, offsets)
