"""A learned model as the arena of a search: trees are tried in it without a step of the plant."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.explain.arena import MOMENT_EPISODES, Moments
from spaql.explain.rehearsing import Kept, Player, Trials, World, new_tracks, rehearse
from spaql.explain.tree import LEAF, Tree
from spaql.learners.atlas.memory import features_of
from spaql.learners.atlas.model import Model
from spaql.plants.problem import Problem

if TYPE_CHECKING:
    from spaql.learners.atlas.planning import Plan

BEYOND = 0.25  # of the range of the data: whoever goes further is lost, because nothing is known there


class ModelArena:
    """Episodes of learned models from start states that were seen. A moment's memory: state, time, and which model.

    Start states take turns between the models, so that a tree cannot live on the mistakes of one of them.
    """

    branches, samples = True, 0

    def __init__(self, problem: Problem, plan: "Plan", starts: Array, models: Sequence[Model], horizon: int | None = None) -> None:
        self.horizon = problem.horizon if horizon is None else horizon
        self.problem, self.plan, self.begin = problem, plan, np.ascontiguousarray(plan.into_metric(starts))
        self.variables, self.starts, self.steps = len(problem.state), len(starts), 0
        self.worlds = [_world(problem, plan, model) for model in models]
        self._tracks = new_tracks(self.variables, plan.model.features.shape[1])
        self._no_trials, self._nothing = np.zeros((0, plan.model.features.shape[1])), self._keep(0, 0, 0.0)

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        found, player = np.zeros(last - first), self._player(tree)
        for which in range(len(self.worlds)):
            mine = slice((which - first) % len(self.worlds), None, len(self.worlds))
            found[mine] = self._play(which, player, self.begin[first:last][mine], None, self._no_trials, 0, self._nothing)
        return found

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        begin, before, player, all_kept = self.begin[:MOMENT_EPISODES], self.steps, self._player(tree), []
        self.returns(tree, 0, len(begin))
        share, room = count / (self.steps - before), 2 * count // len(self.worlds)
        for which in range(len(self.worlds)):
            kept = self._keep(room, seed + which, share)
            self._play(which, player, begin[which :: len(self.worlds)], None, self._no_trials, 0, kept)
            used = ~np.isnan(kept.places[:, 0])
            all_kept.append((kept.places[used], kept.times[used], np.full(used.sum(), which)))
        memory = tuple(np.concatenate(parts) for parts in zip(*all_kept, strict=True))
        return Moments(self.plan.out_of_metric(memory[0]), memory)

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        trials, player = features_of(self.problem.actions, np.ascontiguousarray(actions, float)), self._player(tree)
        places, times, models = moments.memory
        found = np.zeros((len(places), len(actions) + 1))
        for which in range(len(self.worlds)):
            mine = models == which
            found[mine] = self._play(which, player, places[mine], times[mine], trials, hold, self._nothing).reshape(-1, len(actions) + 1)
        return found

    def _play(self, which: int, player: Player, places: Array, times: Array | None, features: Array, hold: int, kept: Kept) -> Array:
        found = np.zeros(len(places) * (len(features) + 1))
        if len(found):
            begun = np.zeros(len(places), np.int64) if times is None else times
            trials = Trials(np.ascontiguousarray(places), begun, features, hold)
            self.steps += rehearse(self.worlds[which], player, trials, self.horizon, found, kept, self._tracks)
        return found

    def _keep(self, room: int, seed: int, share: float) -> Kept:
        return Kept(np.uint64(seed), share, np.full((room, self.variables), np.nan), np.zeros(room, np.int64))

    def _player(self, tree: Tree) -> Player:
        plan, nodes, weights = self.plan, tree.nodes.copy(), tree.weights
        inner = nodes["feature"] != LEAF
        oblique = nodes["feature"] == tree.variables
        axis = inner & ~oblique
        feature = nodes["feature"][axis]
        shifted = nodes["cut"][axis] - plan.centre[feature]
        # a variable that never changed is at its centre, on one side of the cut
        nodes["cut"][axis] = np.where(plan.inverse[feature] > 0.0, shifted * plan.inverse[feature], np.sign(shifted))
        if oblique.any():
            scale = np.where(plan.inverse > 0.0, 1.0 / np.where(plan.inverse > 0.0, plan.inverse, 1.0), 0.0)
            nodes["cut"][oblique] -= weights[oblique] @ plan.centre
            weights = weights * scale
        return Player(nodes, weights, bool(oblique.any()), features_of(self.problem.actions, tree.actions))


def _world(problem: Problem, plan: "Plan", model: Model) -> World:
    wall, margin = np.zeros((2, len(problem.state))), BEYOND * (plan.model.high - plan.model.low)
    low, high = plan.model.low - margin, plan.model.high + margin
    for j, axis in enumerate(problem.state):
        if axis.slope is None and plan.inverse[j] > 0.0:
            bottom, top = ((bound - plan.centre[j]) * plan.inverse[j] for bound in (axis.low, axis.high))
            if bottom >= low[j]:
                low[j], wall[0, j] = bottom, 1.0
            if top <= high[j]:
                high[j], wall[1, j] = top, 1.0
    wall[:, plan.inverse == 0.0] = 1.0
    return World(model._replace(low=low, high=high), wall, min(float(model.rewards[0]), 0.0))
