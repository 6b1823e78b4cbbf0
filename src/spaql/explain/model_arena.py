"""A learned model as the arena of a search: trees are tried in it without a step of the plant."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.explain.arena import MOMENT_EPISODES, Moments
from spaql.explain.tree import LEAF, Tree
from spaql.learners.atlas.memory import features_of
from spaql.learners.atlas.model import Model, cell_of, predict, width_of
from spaql.plants.problem import Problem
from spaql.streams import uniform

if TYPE_CHECKING:
    from spaql.learners.atlas.planning import Plan

BEYOND = 0.25  # of the range of the data: whoever goes further is lost, because nothing is known there


class World(NamedTuple):
    """The model with room around the data, and what happens outside."""

    model: Model
    wall: Array  # (2, d) 1: the box ends at a declared bound, where states stay; 0: beyond it nothing is known
    worst: float  # reward of every step that is left, for who is lost


class Player(NamedTuple):
    """A tree in the metric of the model."""

    nodes: Array
    weights: Array
    features: Array  # (nodes, p) of its actions


class ModelArena:
    """Episodes of the learned model from start states that were seen. A moment's memory: state and time."""

    branches, samples = True, 0

    def __init__(self, problem: Problem, plan: "Plan", starts: Array) -> None:
        self.problem, self.plan, self.begin = problem, plan, np.ascontiguousarray(plan.into_metric(starts))
        self.variables, self.starts, self.steps = len(problem.state), len(starts), 0
        self.world, self._work = _world(problem, plan), np.zeros((2, width_of(len(problem.state))))

    def returns(self, tree: Tree, first: int, last: int) -> Array:
        found, none = np.zeros(last - first), np.zeros((0, self.variables))
        begin, player = self.begin[first:last], self._player(tree)
        self.steps += play(self.world, player, begin, self.problem.horizon, found, np.uint64(0), 0.0, none, none[:, 0], self._work)
        return found

    def moments(self, tree: Tree, count: int, seed: int) -> Moments:
        begin, player, before = self.begin[:MOMENT_EPISODES], self._player(tree), self.steps
        self.returns(tree, 0, len(begin))
        share = count / (self.steps - before)
        room = np.full((2 * count, self.variables), np.nan), np.zeros(2 * count)
        found = np.zeros(len(begin))
        self.steps += play(self.world, player, begin, self.problem.horizon, found, np.uint64(seed), share, *room, self._work)
        kept = ~np.isnan(room[0][:, 0])
        return Moments(self.plan.out_of_metric(room[0][kept]), (room[0][kept], room[1][kept].astype(np.int64)))

    def futures(self, tree: Tree, moments: Moments, actions: Array, hold: int) -> Array:
        places, times = moments.memory
        found = np.zeros((len(places), len(actions) + 1))
        trials = features_of(self.problem.actions, np.ascontiguousarray(actions, float))
        player, horizon = self._player(tree), self.problem.horizon
        self.steps += play_on(self.world, player, places, times, trials, hold, horizon, found, self._work)
        return found

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
        return Player(nodes, weights, features_of(self.problem.actions, tree.actions))


def _world(problem: Problem, plan: "Plan") -> World:
    model, wall = plan.model, np.zeros((2, len(problem.state)))
    margin = BEYOND * (model.high - model.low)
    low, high = model.low - margin, model.high + margin
    for j, axis in enumerate(problem.state):
        if axis.slope is None and plan.inverse[j] > 0.0:
            bottom, top = ((bound - plan.centre[j]) * plan.inverse[j] for bound in (axis.low, axis.high))
            if bottom >= low[j]:
                low[j], wall[0, j] = bottom, 1.0
            if top <= high[j]:
                high[j], wall[1, j] = top, 1.0
    wall[:, plan.inverse == 0.0] = 1.0
    return World(model._replace(low=low, high=high), wall, min(float(model.rewards[0]), 0.0))


@inlined
def _advance(world: World, features: Array, z: Array, after: Array) -> tuple[float, int]:
    """One step, in place. Returns the reward and how it ended: 0 it goes on, 1 the episode is over, 2 lost."""
    model = world.model
    reward = predict(model, cell_of(model.nodes, z), z, features, after)
    end, lost = cell_of(model.ends, after), False
    for j in range(len(z)):
        z[j] = after[j]
        lost = lost or (after[j] <= model.low[j] and world.wall[0, j] == 0.0) or (after[j] >= model.high[j] and world.wall[1, j] == 0.0)
    if model.ending[end] == 1:
        return reward + model.last_reward[end], 1
    return reward, 2 if lost else 0


@inlined
def _leaf(player: Player, z: Array) -> int:
    here, d = 0, len(z)
    while player.nodes[here].feature != LEAF:
        feature = player.nodes[here].feature
        if feature < d:
            value = z[feature]
        else:
            value = 0.0
            for j in range(d):
                value += player.weights[here, j] * z[j]
        here = player.nodes[here].high if value >= player.nodes[here].cut else player.nodes[here].low
    return here


@kernel
def play(
    world: World, player: Player, begin: Array, horizon: int, returns: Array, key: np.uint64, share: float, places: Array, times: Array,
    work: Array,
) -> int:  # fmt: skip
    """Episodes of a tree; a random share of all moments is kept in `places` and `times`. Returns the steps."""
    z, after, steps, kept = work[0, : begin.shape[1]], work[1], 0, 0
    for i in range(len(begin)):
        for j in range(len(z)):
            z[j] = begin[i, j]
        returns[i] = 0.0
        for h in range(horizon):
            if kept < len(places) and uniform(key, i * horizon + h) < share:
                for j in range(len(z)):
                    places[kept, j] = z[j]
                times[kept] = h
                kept += 1
            reward, end = _advance(world, player.features[_leaf(player, z)], z, after)
            returns[i] += reward
            steps += 1
            if end > 0:
                returns[i] += (horizon - h - 1) * world.worst if end == 2 else 0.0
                break
    return steps


@kernel
def play_on(
    world: World, player: Player, places: Array, times: Array, trials: Array, hold: int, horizon: int, returns: Array, work: Array
) -> int:  # fmt: skip
    """From kept moments: every trial for `hold` steps, then the tree, to the end of the episode; last, the tree alone."""
    z, after, steps = work[0, : places.shape[1]], work[1], 0
    for i in range(len(places)):
        for trial in range(len(trials) + 1):
            for j in range(len(z)):
                z[j] = places[i, j]
            total = 0.0
            for h in range(times[i], horizon):
                if trial < len(trials) and h < times[i] + hold:
                    reward, end = _advance(world, trials[trial], z, after)
                else:
                    reward, end = _advance(world, player.features[_leaf(player, z)], z, after)
                total += reward
                steps += 1
                if end > 0:
                    total += (horizon - h - 1) * world.worst if end == 2 else 0.0
                    break
            returns[i, trial] = total
    return steps
