"""From data to a plan: model, support points, values, and what to play in every cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.arrays import Array
from spaql.explain.tree import LEAF
from spaql.learners.atlas.endings import ending_tree
from spaql.learners.atlas.fitting import design, fit_base, fit_cells
from spaql.learners.atlas.growing import grow
from spaql.learners.atlas.imagining import follow
from spaql.learners.atlas.model import Model, imagine
from spaql.learners.atlas.values import Links, Support, Work, count_near, iterate, link, new_work

MODEL_SMALLEST = 12
ROLLOUTS, LENGTH, HELD = 500, 20, 4  # of the model, for support points where no data fell
RADIUS = 0.1
SWEEPS, TOLERANCE = 3000, 1e-5


@dataclass
class Plan:
    centre: Array
    scale: Array
    model: Model
    support: Support
    value: Array
    curiosity: Array
    q: Array
    neighbours: int
    info: dict[str, Any]


def make_plan(data, features, settings, previous, key, starts=None, horizon=200):
    states, actions, rewards, nexts, ended = data
    n, d = states.shape
    centre, scale = states.mean(axis=0), 4.0 * states.std(axis=0)
    inverse = np.where(scale > 1e-9 * np.maximum(np.abs(centre), 1e-300), 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
    z, after = (states - centre) * inverse, (nexts - centre) * inverse
    model = fit_model(z, features, actions, rewards, after, ended, settings)
    support, terminal = support_points(model, z, after, settings["cells"], key, settings, previous, centre, inverse, starts, horizon)
    m, k = len(support.points), min(settings["neighbours"], len(support.points))
    work = new_work(k, d)
    a = len(features)
    links = Links(np.zeros((m, a)), np.zeros((m, a)), np.zeros((m, a, k), np.int64), np.zeros((m, a, k)))
    link(model, support, settings["gamma"], settings["hold"], 0, m, links, work)
    value, q = np.zeros(m), np.zeros((m, a))
    if previous is not None:
        value = previous.value_at(support.points / np.where(inverse > 0, inverse, 1.0) + centre)
    over = support.ended == 1
    value[over] = terminal[over] / settings["gamma"]
    sweeps = iterate(links, support.ended, np.zeros(m), True, value, q, SWEEPS, TOLERANCE)
    counts, curiosity = np.ones(m), np.zeros(m)
    if settings["explore"]:
        count_near(support, z, settings.get("radius", RADIUS) * np.sqrt(d), counts, work)
        bonus = 1.0 / np.sqrt(counts)
        bonus[over] = 0.0
        iterate(links, support.ended, bonus, False, curiosity, np.zeros((m, a)), 300, 1e-3)
        curiosity = bonus + settings["gamma"] * curiosity
    return dict(centre=centre, inverse=inverse, model=model, support=support, value=value, curiosity=curiosity, q=q, k=k, work=work, sweeps=sweeps)


def parents_of(nodes: Array) -> Array:
    parents = np.full(len(nodes), -1, np.int64)
    inner = np.flatnonzero(nodes["feature"] != LEAF)
    parents[nodes["low"][inner]] = inner
    parents[nodes["high"][inner]] = inner
    return parents


def fit_model(z, features, actions, rewards, after, ended, settings):
    nodes, order, ranges = grow(z, settings["model_cells"], settings.get("smallest", MODEL_SMALLEST), True)
    rows = features[actions]
    left = np.column_stack([after - z, rewards])
    base = fit_base(z, rows, left, ended) if settings.get("base", True) else np.zeros((design(z[:1], rows[:1]).shape[1], z.shape[1] + 1))
    maps, spread = fit_cells(z, rows, left, ended, parents_of(nodes), order, ranges, settings.get("ridge", 1.0), settings.get("shrink", 1.0))
    maps += base[: maps.shape[1]]
    inside = rewards[~ended] if not ended.all() else np.zeros(1)
    limits = np.array([inside.min(), inside.max()])
    low, high = np.minimum(z.min(axis=0), after.min(axis=0)), np.maximum(z.max(axis=0), after.max(axis=0))
    extra = np.zeros(0)
    if ended.any():
        from spaql.explain.playing import find_leaves
        zs = np.ascontiguousarray(z[ended])
        leaf = np.zeros(len(zs), np.int64)
        find_leaves(nodes, np.zeros((len(nodes), z.shape[1])), zs, leaf)
        terms = design(zs, rows[ended])
        k = maps.shape[1]
        ordinary = (terms[:, :k] * maps[leaf, :, -1]).sum(axis=1) + (terms[:, k:] * base[k:, -1]).sum(axis=1)
        extra = rewards[ended] - np.clip(ordinary, *limits)
    return Model(nodes, base, maps, features, low, high, limits, *ending_tree(after, ended, extra))


def support_points(model, z, after, most, key, settings, previous, centre, inverse, firsts, horizon):
    d = z.shape[1]
    starts = np.ascontiguousarray(z[np.random.default_rng(int(key)).integers(0, len(z), ROLLOUTS)])
    imagined = np.zeros((ROLLOUTS * LENGTH, d))
    made = imagine(model, starts, LENGTH, HELD, np.uint64(key), imagined, np.zeros((2, d)))
    parts = [some(z, settings.get("cap", 10**9)), some(after, settings.get("cap", 10**9)), imagined[:made]]
    if previous is not None and settings.get("follow", 0):
        n = settings["follow"]
        begin = np.ascontiguousarray(((firsts - centre) * inverse)[np.arange(n) % len(firsts)])
        states = np.zeros((n * horizon, d))
        ratio = np.where(inverse > 0, previous.inverse / np.where(inverse > 0, inverse, 1.0), 0.0)
        offset = (centre - previous.centre) * previous.inverse
        table = np.where(previous.support.of_cell >= 0, previous.q.argmax(axis=1)[previous.support.of_cell], 0)
        made = follow(model, previous.support.cells, table, ratio, offset, begin, horizon, settings.get("chance", 0.2), np.uint64(key + 1), states, np.zeros((3, d)))
        states = some(states[:made], settings.get("fcap", 10000))
        parts.append(states)
    pool = np.ascontiguousarray(np.concatenate(parts))
    end = leaves_of(model.ends, pool)
    over = model.ending[end] == 1
    cells, of_cell, points = cover(np.ascontiguousarray(pool[~over]), most, settings.get("crowd", 0.0))
    _, _, gone = cover(np.ascontiguousarray(pool[over]), most // 4, 0.0) if over.any() else (None, None, np.zeros((0, d)))
    points = np.concatenate([points, gone])
    ended = (np.arange(len(points)) >= len(points) - len(gone)).astype(np.int64)
    nodes, order, ranges = grow(points, len(points), 2, False, 0.0, 0.0)
    leaves = np.flatnonzero(nodes["feature"] == LEAF)
    of_node = np.full(len(nodes), -1, np.int64)
    of_node[leaves] = order[ranges[leaves, 0]]
    low, high = np.zeros((len(nodes), d)), np.zeros((len(nodes), d))
    low[leaves] = high[leaves] = points[of_node[leaves]]
    for node in range(len(nodes) - 1, -1, -1):
        if nodes["feature"][node] != LEAF:
            sides = [nodes["low"][node], nodes["high"][node]]
            low[node], high[node] = low[sides].min(axis=0), high[sides].max(axis=0)
    terminal = np.zeros(len(points))
    if len(gone):
        terminal[ended == 1] = model.last_reward[leaves_of(model.ends, gone)]
    return Support(cells, of_cell, points, ended, nodes, of_node, low, high), terminal


def some(points, most):
    return points if len(points) <= most else points[np.arange(most) * len(points) // most]


def leaves_of(nodes, states):
    from spaql.explain.playing import find_leaves
    found = np.zeros(len(states), np.int64)
    find_leaves(nodes, np.zeros((len(nodes), states.shape[1])), np.ascontiguousarray(states), found)
    return found


def cover(pool, most, crowd):
    cells, order, ranges = grow(pool, most, 2, False, crowd)
    leaves = np.flatnonzero(cells["feature"] == LEAF)
    points, of_cell = np.zeros((len(leaves), pool.shape[1])), np.full(len(cells), -1, np.int64)
    for i, node in enumerate(leaves):
        inside = pool[order[ranges[node, 0] : ranges[node, 1]]]
        points[i] = inside[np.argmin(((inside - inside.mean(axis=0)) ** 2).sum(axis=1))]
        of_cell[node] = i
    return cells, of_cell, points
