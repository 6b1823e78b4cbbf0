"""Compiled: episodes of trees in a learned model, several at once.

One step waits for the last; side by side the steps of several episodes fill the time, and sums over the lanes vectorise.
"""

from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.explain.tree import LEAF
from spaql.learners.atlas.model import BLOCK, Model, width_of
from spaql.streams import uniform

SIDE_BY_SIDE = 16


class World(NamedTuple):
    """The model with room around the data, and what happens outside."""

    model: Model
    wall: Array  # (2, d) 1: the box ends at a declared bound, where states stay; 0: beyond it nothing is known
    worst: float  # reward of every step that is left, for who is lost


class Player(NamedTuple):
    """A tree in the metric of the model."""

    nodes: Array
    weights: Array
    oblique: bool
    features: Array  # (nodes, p) of its actions


class Trials(NamedTuple):
    """From every place at its time, each of these actions for `hold` steps, then the tree; last, the tree alone."""

    places: Array  # (n, d)
    times: Array  # (n,)
    features: Array  # (trials, p)
    hold: int


class Kept(NamedTuple):
    """A random share of all moments, as many as there is room for; a row that stays free is NaN."""

    key: np.uint64
    share: float
    places: Array
    times: Array


class Tracks(NamedTuple):
    """Room for the episodes under way, a column each."""

    x: Array  # (d + p, columns) states, then features of the action
    out: Array  # (width, columns)
    node: Array
    task: Array  # which place and trial
    time: Array


def new_tracks(d: int, p: int) -> Tracks:
    node, task, time = np.zeros((3, SIDE_BY_SIDE), np.int64)
    return Tracks(np.zeros((d + p, SIDE_BY_SIDE)), np.zeros((width_of(d), SIDE_BY_SIDE)), node, task, time)


@inlined
def _descend(nodes: Array, x: Array, node: Array, n: int) -> None:
    """Every column's leaf, all of them one level down at a time."""
    for i in range(n):
        node[i] = 0
    moved = True
    while moved:
        moved = False
        for i in range(n):
            here = nodes[node[i]]
            below = here.high if x[max(here.feature, 0), i] >= here.cut else here.low
            node[i] = node[i] if here.feature == LEAF else below
            moved = moved or here.feature != LEAF


@inlined
def _leaf(player: Player, x: Array, i: int) -> int:
    here, d = 0, player.weights.shape[1]
    while player.nodes[here].feature != LEAF:
        feature = player.nodes[here].feature
        if feature < d:
            value = x[feature, i]
        else:
            value = 0.0
            for j in range(d):
                value += player.weights[here, j] * x[j, i]
        here = player.nodes[here].high if value >= player.nodes[here].cut else player.nodes[here].low
    return here


@inlined
def _act(player: Player, trials: Trials, tracks: Tracks, d: int, n: int) -> None:
    if player.oblique:
        for i in range(n):
            tracks.node[i] = _leaf(player, tracks.x, i)
    else:
        _descend(player.nodes, tracks.x, tracks.node, n)
    tries = len(trials.features) + 1
    for i in range(n):
        trial = tracks.task[i] % tries
        tried = trial < len(trials.features) and tracks.time[i] < trials.times[tracks.task[i] // tries] + trials.hold
        for j in range(player.features.shape[1]):
            tracks.x[d + j, i] = trials.features[trial, j] if tried else player.features[tracks.node[i], j]


@inlined
def _advance(model: Model, tracks: Tracks, d: int, p: int, n: int) -> None:
    """Next states into `x`, rewards into `out[d]`: `model.predict` for all columns."""
    x, out, node, maps, base = tracks.x, tracks.out, tracks.node, model.maps, model.base
    _descend(model.nodes, x, node, n)
    for i in range(n):
        cell = node[i]
        for c in range(0, maps.shape[2], BLOCK):
            s0, s1, s2, s3 = maps[cell, 0, c], maps[cell, 0, c + 1], maps[cell, 0, c + 2], maps[cell, 0, c + 3]
            for j in range(d + p):
                value = x[j, i]
                s0 += maps[cell, 1 + j, c] * value
                s1 += maps[cell, 1 + j, c + 1] * value
                s2 += maps[cell, 1 + j, c + 2] * value
                s3 += maps[cell, 1 + j, c + 3] * value
            out[c, i], out[c + 1, i], out[c + 2, i], out[c + 3, i] = s0, s1, s2, s3
    row = 1 + d + p
    for a in range(d):
        for b in range(a, d):
            for c in range(d + 1):
                weight = base[row, c]
                for i in range(n):
                    out[c, i] += weight * (x[a, i] * x[b, i])
            row += 1
    for a in range(d):
        for b in range(d, d + p):
            for c in range(d + 1):
                weight = base[row, c]
                for i in range(n):
                    out[c, i] += weight * (x[a, i] * x[b, i])
            row += 1
    least, most = model.rewards[0], model.rewards[1]
    for i in range(n):
        out[d, i] = min(max(out[d, i], least), most)
    for c in range(d):
        low, high = model.low[c], model.high[c]
        for i in range(n):
            x[c, i] = min(max(x[c, i] + out[c, i], low), high)


@inlined
def _lost(world: World, x: Array, d: int, i: int) -> bool:
    lost = False
    for j in range(d):
        lost = lost or (x[j, i] <= world.model.low[j] and world.wall[0, j] == 0.0)
        lost = lost or (x[j, i] >= world.model.high[j] and world.wall[1, j] == 0.0)
    return lost


@inlined
def _enter(trials: Trials, tracks: Tracks, task: int, i: int) -> None:
    at = task // (len(trials.features) + 1)
    for j in range(trials.places.shape[1]):
        tracks.x[j, i] = trials.places[at, j]
    tracks.task[i], tracks.time[i] = task, trials.times[at]


@kernel
def rehearse(world: World, player: Player, trials: Trials, horizon: int, returns: Array, kept: Kept, tracks: Tracks) -> int:
    """The return of every trial from every place (places * (trials + 1)). Returns the steps."""
    model, x, task, time = world.model, tracks.x, tracks.task, tracks.time
    d, p = trials.places.shape[1], player.features.shape[1]
    tasks, steps, found = len(returns), 0, 0
    n = min(tasks, SIDE_BY_SIDE)
    for i in range(n):
        _enter(trials, tracks, i, i)
    for i in range(tasks):
        returns[i] = 0.0
    entered = n
    while n > 0:
        if found < len(kept.places):
            for i in range(n):
                if found < len(kept.places) and uniform(kept.key, task[i] * horizon + time[i]) < kept.share:
                    for j in range(d):
                        kept.places[found, j] = x[j, i]
                    kept.times[found] = time[i]
                    found += 1
        _act(player, trials, tracks, d, n)
        _advance(model, tracks, d, p, n)
        _descend(model.ends, x, tracks.node, n)
        steps += n
        for i in range(n - 1, -1, -1):
            end = tracks.node[i]
            time[i] += 1
            returns[task[i]] += tracks.out[d, i]
            over = True
            if model.ending[end] == 1:
                returns[task[i]] += model.last_reward[end]
            elif _lost(world, x, d, i):
                returns[task[i]] += (horizon - time[i]) * world.worst
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
