"""Episodes of decision trees in a learned model, compiled, several of them side by side.

Every operation of a step needs the result of the one before. With several episodes side by side the
processor works on another episode meanwhile, and sums over the episodes vectorise. Equation
numbers: docs/atlas-table.md.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spaql.gp.model import WIDER
from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.streams import uniform
from spaql.learners.atlas.cell_model import CellModel, descend_lanes, predict_lanes, width_of
from spaql.learners.atlas.endings import start_states
from spaql.learners.atlas.experience import Experience, features_of
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.trees.laws import CLIP, NO_LAWS, SCORES, THRESHOLD, LeafLaws, score
from spaql.trees.tree import LEAF, CompiledTree, Tree, descend, has_oblique

if TYPE_CHECKING:
    from spaql.learners.atlas.plan import Plan

SIDE_BY_SIDE = 16  # episodes under way at a time
REHEARSAL_STARTS = 64  # on which plans are compared


class World(NamedTuple):
    """A model whose box is larger than the data, and what happens at the edge of that box."""

    model: CellModel
    wall: Array  # (2, d) by side of the box: 1 where states stay, at a declared bound; 0: lost
    worst: float  # reward of each remaining step of a lost episode


class ModelEpisodes(NamedTuple):
    """The episodes to compute: from every state, each action is applied for `hold` steps, then the
    actions of the tree are; and one more episode with the actions of the tree from its first
    step on.
    """

    places: Array  # (n, d) states
    times: Array  # (n,) steps of the episode at which they are
    features: Array  # (trials, p) of the actions
    hold: int


class Kept(NamedTuple):
    """States at random moments of the episodes, until the rows are full; free rows are NaN."""

    key: np.uint64  # of the random numbers
    share: float  # of all moments
    places: Array  # (rows, d) states
    times: Array  # (rows,) steps of the episode


class Tracks(NamedTuple):
    """Working memory of the episodes under way, a column each."""

    x: Array  # (d + p, columns) states, then features of the action
    out: Array  # (width, columns) outputs of the model
    node: Array  # (columns,) leaf of a tree
    task: Array  # (columns,) which episode: its state * (trials + 1) + its trial
    time: Array  # (columns,) step of the episode


def new_tracks(d: int, p: int) -> Tracks:
    node, task, time = np.zeros((3, SIDE_BY_SIDE), np.int64)
    x, out = (np.zeros((rows, SIDE_BY_SIDE)) for rows in (d + p, width_of(d)))
    return Tracks(x, out, node, task, time)


@inlined
def _follow(laws: LeafLaws, tracks: Tracks, d: int, i: int) -> None:
    """Features (11) of what the law of a leaf applies in column i; of continuous laws u, u^2."""
    x, leaf = tracks.x, tracks.node[i]
    if laws.kind == CLIP:
        axes = len(laws.low)
        for output in range(axes):
            u = min(max(score(laws, leaf, output, x[:d, i]), laws.low[output]), laws.high[output])
            x[d + output, i], x[d + axes + output, i] = u, u * u
        return
    best, chosen = score(laws, leaf, 0, x[:d, i]), 0
    if laws.kind == SCORES:
        for output in range(1, len(laws.values)):
            value = score(laws, leaf, output, x[:d, i])
            if value > best:
                best, chosen = value, output
    elif laws.kind == THRESHOLD:
        chosen = len(laws.values) - 1 if best >= 0.0 else 0
    else:
        chosen = int(min(max(best, laws.low[0]), laws.high[0]) + 0.5)
    for j in range(1, len(laws.values)):
        x[d + j - 1, i] = 1.0 if j == chosen else 0.0


@inlined
def _act(
    controller: CompiledTree, oblique: bool, trials: ModelEpisodes, tracks: Tracks, d: int, n: int
) -> None:  # fmt: skip
    """Features of every episode's next action, into `tracks.x`."""
    if oblique:
        for i in range(n):
            tracks.node[i] = descend(controller.nodes, controller.weights, tracks.x, i, 0)
    else:
        descend_lanes(controller.nodes, tracks.x, tracks.node, n)
    episodes, lawful = len(trials.features) + 1, len(controller.laws.gains) > 0
    for i in range(n):
        if lawful:
            _follow(controller.laws, tracks, d, i)
        trial, place = tracks.task[i] % episodes, tracks.task[i] // episodes
        held = tracks.time[i] < trials.times[place] + trials.hold
        on_trial = trial < len(trials.features) and held
        for j in range(controller.actions.shape[1]):
            if on_trial:
                tracks.x[d + j, i] = trials.features[trial, j]
            elif not lawful:
                tracks.x[d + j, i] = controller.actions[tracks.node[i], j]


@inlined
def _lost(world: World, x: Array, d: int, i: int) -> bool:
    """Whether the state in column i has left the data at a side that is no wall."""
    lost = False
    for j in range(d):
        lost = lost or (x[j, i] <= world.model.low[j] and world.wall[0, j] == 0.0)
        lost = lost or (x[j, i] >= world.model.high[j] and world.wall[1, j] == 0.0)
    return lost


@inlined
def _enter(trials: ModelEpisodes, tracks: Tracks, task: int, i: int) -> None:
    """Episode number `task` begins in column i."""
    place = task // (len(trials.features) + 1)
    for j in range(trials.places.shape[1]):
        tracks.x[j, i] = trials.places[place, j]
    tracks.task[i], tracks.time[i] = task, trials.times[place]


@kernel
def rehearse(
    world: World, controller: CompiledTree, trials: ModelEpisodes, horizon: int, returns: Array,
    kept: Kept,
    tracks: Tracks,
) -> int:  # fmt: skip
    """Returns of `trials`, (places * (trials + 1),), into `returns`. Returns the steps computed."""
    model, x, task, time = world.model, tracks.x, tracks.task, tracks.time
    d, p = trials.places.shape[1], controller.actions.shape[1]
    oblique = has_oblique(controller.nodes, controller.weights)
    tasks, steps, full = len(returns), 0, 0  # `full`: rows of `kept` in use
    n = min(tasks, SIDE_BY_SIDE)
    for i in range(n):
        _enter(trials, tracks, i, i)
    for i in range(tasks):
        returns[i] = 0.0
    entered = n
    while n > 0:
        if full < len(kept.places):
            for i in range(n):
                moment = task[i] * horizon + time[i]
                if full < len(kept.places) and uniform(kept.key, moment) < kept.share:
                    for j in range(d):
                        kept.places[full, j] = x[j, i]
                    kept.times[full] = time[i]
                    full += 1
        _act(controller, oblique, trials, tracks, d, n)
        descend_lanes(model.nodes, x, tracks.node, n)
        predict_lanes(model, x, tracks.node, tracks.out, p, n)
        descend_lanes(model.ends, x, tracks.node, n)
        steps += n
        for i in range(n - 1, -1, -1):
            end = tracks.node[i]
            time[i] += 1
            returns[task[i]] += tracks.out[d, i]
            over = True
            if model.ending[end] == 1:
                returns[task[i]] += model.last_reward[end]
            elif _lost(world, x, d, i):
                returns[task[i]] += (horizon - time[i]) * world.worst  # (35)
            else:
                over = time[i] >= horizon
            if over and entered < tasks:
                _enter(trials, tracks, entered, i)
                entered += 1
            elif over:
                n -= 1
                for j in range(d):
                    x[j, i] = x[j, n]
                task[i], time[i] = task[n], time[n]
    return steps


# -- from plans and trees to what the kernel takes -------------------------------------------------


def world_of(problem: Problem, plan: "Plan", model: CellModel) -> World:
    """A model in the metric of a plan, with room around the data; declared bounds are walls."""
    wall, margin = np.zeros((2, len(problem.state))), WIDER * (plan.model.high - plan.model.low)
    low, high = plan.model.low - margin, plan.model.high + margin
    for j, axis in enumerate(problem.state):
        if axis.slope is None and plan.inverse[j] > 0.0:
            ends = axis.low, axis.high
            bottom, top = ((end - plan.centre[j]) * plan.inverse[j] for end in ends)
            if bottom >= low[j]:
                low[j], wall[0, j] = bottom, 1.0
            if top <= high[j]:
                high[j], wall[1, j] = top, 1.0
    angles = plan.model.turn > 0.0
    wall[:, (plan.inverse == 0.0) | angles] = 1.0
    low, high = np.where(angles, plan.model.low, low), np.where(angles, plan.model.high, high)
    return World(model._replace(low=low, high=high), wall, min(float(model.rewards[0]), 0.0))


def controller_of(plan: "Plan", tree: Tree, actions: Continuous | Finite) -> CompiledTree:
    """A tree of physical observations in the metric of a plan."""
    nodes, weights = tree.nodes.copy(), tree.weights
    inner = nodes["feature"] != LEAF
    oblique = nodes["feature"] == tree.variables
    axis = inner & ~oblique
    feature = nodes["feature"][axis]
    shifted = nodes["cut"][axis] - plan.centre[feature]
    # a variable that never changed is at its centre, on one side of the cut
    inverse = plan.inverse[feature]
    nodes["cut"][axis] = np.where(inverse > 0.0, shifted * inverse, np.sign(shifted))
    if oblique.any():
        nodes["cut"][oblique] -= weights[oblique] @ plan.centre
        weights = weights * plan.scale
    laws = _laws_in_metric(plan, tree.laws)
    return CompiledTree(nodes, weights, features_of(actions, tree.actions), laws)


def _laws_in_metric(plan: "Plan", laws: LeafLaws | None) -> LeafLaws:
    """Laws of the metric's states; those of continuous actions say u, which is in [-1, 1]."""
    if laws is None:
        return NO_LAWS
    gains, offsets = laws.gains * plan.scale, laws.offsets + laws.gains @ plan.centre
    if laws.kind != CLIP:
        return laws._replace(gains=gains, offsets=offsets)
    middle, half = (laws.low + laws.high) / 2, (laws.high - laws.low) / 2
    high = np.ones(len(half))
    offsets = (offsets - middle) / half
    return laws._replace(gains=gains / half[:, None], offsets=offsets, low=-high, high=high)


def imagined_returns(
    worlds: Sequence[World], controller: CompiledTree, begin: Array, first: int, horizon: int,
    tracks: Tracks
) -> tuple[Array, int]:
    """The return from each of the states `begin`, number `first` and following, and the steps of
    all episodes.

    Start states take turns between the worlds, so that a tree cannot live on the mistakes of one of
    them.
    """
    earned, steps, turns = np.zeros(len(begin)), 0, len(worlds)
    d, p = begin.shape[1], controller.actions.shape[1]
    nothing = Kept(np.uint64(0), 0.0, np.zeros((0, d)), np.zeros(0, np.int64))
    for which, world in enumerate(worlds):
        mine = slice((which - first) % turns, None, turns)
        places = np.ascontiguousarray(begin[mine])
        returns = np.zeros(len(places))
        if len(returns):
            trials = ModelEpisodes(places, np.zeros(len(places), np.int64), np.zeros((0, p)), 0)
            steps += rehearse(world, controller, trials, horizon, returns, nothing, tracks)
        earned[mine] = returns
    return earned, steps


def rehearsed(
    problem: Problem, memory: Experience, plan: "Plan", models: Sequence[CellModel]
) -> float:  # fmt: skip
    """The mean return of a plan's table in the models, over twice the time of an episode.

    What fails soon after an episode's end is not sound.
    """
    starts = start_states(memory, plan.samples, problem.horizon, REHEARSAL_STARTS)
    worlds = [world_of(problem, plan, model) for model in models]
    controller = controller_of(plan, plan.table, problem.actions)
    tracks = new_tracks(len(problem.state), plan.model.features.shape[1])
    begin, horizon = plan.into_metric(starts), 2 * problem.horizon
    return float(imagined_returns(worlds, controller, begin, 0, horizon, tracks)[0].mean())
