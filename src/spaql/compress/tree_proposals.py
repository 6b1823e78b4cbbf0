"""What a search may choose: actions and tests, at random or because they promise something."""

import itertools
from dataclasses import dataclass

import numpy as np

from spaql.compress.arena import Arena, Moments
from spaql.compress.cart import best_splits, cost_tree
from spaql.ground.arrays import Array
from spaql.plants.problem import Continuous, Finite
from spaql.trees.edits import split, with_action
from spaql.trees.tree import Tree, leaf_of

MOST_TRIED = 9  # actions tried at every moment
MOST_KNOWN = 64  # actions of the table that are remembered
LEVELS = 5  # of a single continuous action


def _step(rng: np.random.Generator) -> float:
    """Mostly small, sometimes large."""
    return float(rng.normal() * 10.0 ** rng.uniform(-2.5, 0.0))


class Actions:
    """A finite set, or a box: then levels or corners, known actions, and any small step from the present one."""

    def __init__(self, actions: Continuous | Finite, known: Array, rng: np.random.Generator) -> None:
        self.rng, self.finite = rng, isinstance(actions, Finite)
        if isinstance(actions, Finite):
            self.all = np.array(actions.values, float)[:, None]
            self.tried = self.all[np.unique(np.linspace(0, len(self.all) - 1, MOST_TRIED).round().astype(int))]
        else:
            self.low, self.high = actions.bounds
            if len(self.low) == 1:
                self.tried = np.linspace(self.low, self.high, LEVELS)
            else:
                corners = np.array(
                    list(itertools.islice(itertools.product(*zip(self.low, self.high, strict=True)), 256))
                )
                few = corners[rng.permutation(len(corners))[: MOST_TRIED - 1]]
                self.tried = np.concatenate([few, [(self.low + self.high) / 2]])
            kept = known[rng.permutation(len(known))[:MOST_KNOWN]]
            self.all = np.concatenate([self.tried, kept.reshape(-1, len(self.low))])
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
            for one in best_splits(x, -g, self.scale, self.oblique):
                if one.below != one.above:
                    made = split(tree, int(leaf), one.weights, one.cut, actions[one.below], actions[one.above])
                    ranked.append((-one.cost, len(ranked), made))
        ranked.sort(key=lambda one: (-one[0], one[1]))
        return [made for _, _, made in ranked[:most]]

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

RACE = 24  # start states after which a bad candidate is given up
CLEAR = 1.0  # standard errors that count as clearly worse in a race


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

    def challenge(self, tree: Tree, holder: Scored, slack: float = 0.0) -> Scored | None:
        """The tree with its score, if it is not worse than the holder by more than `slack`.

        Given up early where that is clear, and where none of the first episodes notices the change.
        """
        race, starts = self.race, self.arena.starts
        returns = self.arena.returns(tree, 0, race)
        if race < starts:
            lead = returns - holder.returns[:race] + slack
            mean = lead.mean()
            if mean < 0 and mean < -CLEAR * lead.std() / np.sqrt(race):
                return None
            if np.array_equal(returns, holder.returns[:race]):
                return None
            returns = np.concatenate([returns, self.arena.returns(tree, race, starts)])
        mean = float(returns.mean())
        return Scored(tree, returns, mean) if mean >= holder.mean - slack else None

    def best(self, trees: list[Tree], keep: int, first: int = RACE, second: int = 2) -> list[Scored]:
        """The best few that differ.

        All are tried on the `first` start states, `second` times as many as are kept on all.
        """
        tried, first = [], min(first, self.race)
        for tree in trees:
            tried.append((tree, self.arena.returns(tree, 0, first)))
            if self.spent:
                break
        tried.sort(key=lambda one: -one[1].mean())
        scored: dict[bytes, Scored] = {}
        for tree, begun in tried[: second * keep]:
            returns = np.concatenate([begun, self.arena.returns(tree, first, self.arena.starts)])
            scored.setdefault(returns.tobytes(), Scored(tree, returns, float(returns.mean())))
        return sorted(scored.values(), key=lambda one: -one.mean)[:keep]


# -- policy iteration with rollouts: a better tree from the alternatives of the present one ----------------------------
#
# At moments of the closed loop every action is tried for a few steps, then the present tree goes on. The next tree is
# grown from what each action costs there; at the moments of its own closed loop the actions are tried next.

ROUNDS = 10  # trees made one from the other, at most
REMEMBERED = 6  # rounds whose moments are used again
PER_ROUND = 0.01  # of the budget
MOST_SPENT = 0.15  # of the budget, in all rounds
FEWEST = 40  # moments per round, at least
MOST = 2000  # moments per round, at most
EXTREME = (
    0.95  # quantile of the costs above which they are cut: a single lost episode must not outweigh everything else
)
HOLD = 5  # steps for which an action is tried: a single one hardly matters
TOLERANCE = 0.3  # of the best return: to go on from the latest tree is faster, unless it is worse than the best by more


def iterate(
    judge: ArenaJudge, begin: Scored, leaves: int, actions: Actions, cuts: Cuts, rng: np.random.Generator
) -> list[Scored]:
    """All trees made on the way, in order.

    Each from the one before, or from the best if the one before is much worse.
    """
    best, latest, made = begin, begin, [begin]
    memory: list[Moments] = []
    before = judge.arena.steps
    judge.score(begin.tree)
    # steps to go on from a moment, about
    each = (judge.arena.steps - before) / judge.arena.starts * (len(actions.tried) + 1) / 2
    count = int(np.clip(PER_ROUND * judge.budget / (REMEMBERED * each), FEWEST, MOST))
    for _ in range(ROUNDS):
        if judge.spent or judge.arena.steps - before > MOST_SPENT * judge.budget:
            break
        memory = [*memory[1 - REMEMBERED :], judge.arena.moments(latest.tree, count, int(rng.integers(2**62)))]
        moments = together(memory)
        present = latest if latest.mean >= best.mean - TOLERANCE * abs(best.mean) else best
        futures = judge.arena.futures(present.tree, moments, actions.tried, HOLD)[:, :-1]
        latest = judge.score(
            cost_tree(moments.states, costs_of(futures), actions.tried, leaves, cuts.scale, cuts.oblique)
        )
        made.append(latest)
        if latest.mean > best.mean:
            best = latest
    return made


def together(moments: list[Moments]) -> Moments:
    memory = tuple(np.concatenate(parts) for parts in zip(*(one.memory for one in moments), strict=True))
    return Moments(np.concatenate([one.states for one in moments]), memory)


def costs_of(futures: Array) -> Array:
    """What each action loses against the best."""
    costs: Array = futures.max(axis=1, keepdims=True) - futures
    cut: Array = np.minimum(costs, np.quantile(costs.max(axis=1), EXTREME))
    return cut
