"""What a search may choose: actions and tests, at random or because they promise something."""

from dataclasses import dataclass

import numpy as np

from spaql.compress.arena import HELD_STEPS, MAX_COST_QUANTILE, MOMENTS, Arena, Moments
from spaql.compress.cart import best_splits, cost_tree
from spaql.ground.arrays import Array
from spaql.plants.problem import LEVELS, MOST_CONSTANT, Continuous, Finite
from spaql.trees.edits import split, with_action
from spaql.trees.tree import Tree, leaf_of


def _step(rng: np.random.Generator) -> float:
    """Mostly small, sometimes large."""
    return float(rng.normal() * 10.0 ** rng.uniform(-2.5, 0.0))


class Actions:
    """A finite set, or a box: then levels or corners, known actions, and any small step from the present one."""

    def __init__(self, actions: Continuous | Finite, known: Array, rng: np.random.Generator) -> None:
        self.rng, self.finite = rng, isinstance(actions, Finite)
        if actions.axes == 1:
            self.tried = actions.some(LEVELS, MOST_CONSTANT)
        else:
            self.tried = np.concatenate([[actions.middle], actions.some(2, MOST_CONSTANT)])
        self.low, self.high = actions.bounds
        self.all = actions.some() if isinstance(actions, Finite) else np.concatenate([self.tried, known])
        self.how_often = 0.2 if self.finite else 0.35  # that a change is one of actions

    def any(self) -> Array:
        among = self.tried if self.rng.random() < 0.5 else self.all
        chosen: Array = among[int(self.rng.integers(len(among)))]
        return chosen

    def other(self, action: Array) -> Array:
        """Another action than this, if there is one."""
        if not self.finite and self.rng.random() < 0.7:
            width = (self.high - self.low) / 2
            return np.asarray(np.clip(action + np.array([_step(self.rng) for _ in width]) * width, self.low, self.high))
        chosen = self.any()
        for _ in range(5):
            if not np.array_equal(chosen, action):
                break
            chosen = self.any()
        return chosen


class Cuts:
    """Tests at visited values. `scale`: a typical step of every variable."""

    def __init__(self, scale: Array, oblique: bool, rng: np.random.Generator) -> None:
        self.rng, self.oblique, self.scale = rng, oblique and len(scale) > 1, scale

    def random(self, tree: Tree, states: Array, leaf: Array, actions: Actions) -> Tree:
        """Half of the times in the leaf of a random moment, else in a random leaf; one side gets another action."""
        rng, d = self.rng, tree.variables
        moment = int(rng.integers(len(states)))
        if rng.random() < 0.5:
            seen = np.unique(leaf)
            here = np.flatnonzero(leaf == seen[rng.integers(len(seen))])
            moment = int(here[rng.integers(len(here))])
        at, old = int(leaf[moment]), tree.actions[leaf[moment]]
        low, high = (old, actions.other(old)) if rng.random() < 0.5 else (actions.other(old), old)
        weights = np.zeros(d)
        if self.oblique and rng.random() < 0.5:
            pair = rng.choice(d, 2, replace=False)  # a weighted sum of more than two can hardly be read
            weights[pair] = rng.normal(size=2) / self.scale[pair]
        else:
            weights[rng.integers(d)] = 1.0
        return split(tree, at, weights, float(weights @ states[moment]), low, high)

    def promising(self, tree: Tree, states: Array, futures: Array, tried: Array, most: int) -> list[Tree]:
        """New tests and new actions by what they would gain at moments with known futures, the most promising first."""
        ranked: list[tuple[float, int, Tree]] = []
        inside = leaf_of(tree, states)
        gain = futures - futures[:, -1:]  # the last: as it is
        for leaf in np.unique(inside):
            here = inside == leaf
            x, g = states[here], gain[here]
            actions = np.concatenate([tried, [tree.actions[leaf]]])
            whole = g.sum(axis=0)
            if whole.max() > 0:
                ranked.append((float(whole.max()), len(ranked), with_action(tree, int(leaf), actions[whole.argmax()])))
            for test in best_splits(x, -g, self.scale, self.oblique):
                if test.below != test.above:
                    child = split(tree, int(leaf), test.weights, test.cut, actions[test.below], actions[test.above])
                    ranked.append((-test.cost, len(ranked), child))
        ranked.sort(key=lambda entry: (-entry[0], entry[1]))
        return [child for _, _, child in ranked[:most]]

    def moved(self, tree: Tree, node: int) -> tuple[float, Array | None]:
        """Another cut, or other weights, of a test."""
        cut, feature, rng = float(tree.nodes["cut"][node]), int(tree.nodes["feature"][node]), self.rng
        if feature < tree.variables:
            return cut + _step(rng) * float(self.scale[feature]), None
        weights = tree.weights[node].copy()
        size = float(np.abs(weights * self.scale).max()) or 1.0
        if rng.random() < 0.5:
            return cut + _step(rng) * size, None
        used = np.flatnonzero(weights)
        j = int(used[rng.integers(len(used))])
        weights[j] += _step(rng) * size / self.scale[j]
        return cut, weights if weights[j] != 0 else None


# -- comparing trees in an arena: on a few start states first, on all of them if it is close ---------------------------

RACE = 24  # start states after which a candidate that is worse by more than a standard error is given up


@dataclass(frozen=True, eq=False)
class Scored:
    """A tree and its returns from all start states of an arena."""

    tree: Tree
    returns: Array
    mean: float

    @property
    def leaves(self) -> int:
        return self.tree.n_leaves


class ArenaJudge:
    """Start states stay the same, so that trees differ by what they do and not by luck."""

    def __init__(self, arena: Arena, budget: int) -> None:
        self.arena, self.budget = arena, budget
        self.race = min(RACE, arena.starts)

    @property
    def spent(self) -> bool:
        return self.arena.steps >= self.budget

    def score(self, tree: Tree) -> Scored:
        returns = self.arena.returns(tree, 0, self.arena.starts)
        return Scored(tree, returns, float(returns.mean()))

    def challenge(self, tree: Tree, holder: Scored) -> Scored | None:
        """The tree with its score, if it is not worse than the holder.

        Given up early where that is clear, and where none of the first episodes notices the change.
        """
        race, starts = self.race, self.arena.starts
        returns = self.arena.returns(tree, 0, race)
        if race < starts:
            lead = returns - holder.returns[:race]
            mean = lead.mean()
            if mean < 0 and mean < -lead.std() / np.sqrt(race):
                return None
            if np.array_equal(returns, holder.returns[:race]):
                return None
            returns = np.concatenate([returns, self.arena.returns(tree, race, starts)])
        mean = float(returns.mean())
        return Scored(tree, returns, mean) if mean >= holder.mean else None

    def best(self, trees: list[Tree], keep: int, first: int = RACE, second: int = 2) -> list[Scored]:
        """The best few that differ.

        All are tried on the `first` start states, `second` times as many as are kept on all.
        """
        tried, first = [], min(first, self.race)
        for tree in trees:
            tried.append((tree, self.arena.returns(tree, 0, first)))
            if self.spent:
                break
        tried.sort(key=lambda entry: -entry[1].mean())
        scored: dict[bytes, Scored] = {}
        for tree, begun in tried[: second * keep]:
            returns = np.concatenate([begun, self.arena.returns(tree, first, self.arena.starts)])
            scored.setdefault(returns.tobytes(), Scored(tree, returns, float(returns.mean())))
        return sorted(scored.values(), key=lambda entry: -entry.mean)[:keep]


# -- policy iteration with rollouts: a better tree from the alternatives of the present one ----------------------------
#
# At moments of the closed loop every action is tried for a few steps, then the present tree goes on. The next tree is
# grown from what each action costs there; at the moments of its own closed loop the actions are tried next.

ROUNDS = 10  # trees made one from the other, at most
ITERATION_SHARE = 0.15  # of the budget, in all rounds


def iterate(
    judge: ArenaJudge, begin: Scored, leaves: int, actions: Actions, cuts: Cuts, rng: np.random.Generator
) -> list[Scored]:
    """All trees made on the way, in order, each from the one before."""
    trees, memory, before = [begin], list[Moments](), judge.arena.steps
    judge.score(begin.tree)
    # steps to go on from a moment, about
    each = (judge.arena.steps - before) / judge.arena.starts * (len(actions.tried) + 1) / 2
    count = int(np.clip(ITERATION_SHARE * judge.budget / (ROUNDS**2 * each), RACE, MOMENTS))
    for _ in range(ROUNDS):
        if judge.spent or judge.arena.steps - before > ITERATION_SHARE * judge.budget:
            break
        latest = trees[-1].tree
        memory.append(judge.arena.moments(latest, count, int(rng.integers(2**62))))
        moments = together(memory)
        futures = judge.arena.futures(latest, moments, actions.tried, HELD_STEPS)[:, :-1]
        tree = cost_tree(moments.states, costs_of(futures), actions.tried, leaves, cuts.scale, cuts.oblique)
        trees.append(judge.score(tree))
    return trees


def together(moments: list[Moments]) -> Moments:
    memory = tuple(np.concatenate(parts) for parts in zip(*(some.memory for some in moments), strict=True))
    return Moments(np.concatenate([some.states for some in moments]), memory)


def costs_of(futures: Array) -> Array:
    """What each action loses against the best."""
    costs: Array = futures.max(axis=1, keepdims=True) - futures
    cut: Array = np.minimum(costs, np.quantile(costs.max(axis=1), MAX_COST_QUANTILE))
    return cut
