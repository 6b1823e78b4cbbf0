"""From data to a plan: a model, support points, their values, and what to play in every cell."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.explain.tree import LEAF, Tree
from spaql.learners.atlas.memory import Transitions
from spaql.learners.atlas.model import Model, fit_model
from spaql.learners.atlas.support import Guide, Support, support_points
from spaql.learners.atlas.values import count_near, iterate, link, look_ahead, look_ahead_all, new_links, new_work, values_at

SPREAD = 4.0  # standard deviations that count as one unit of distance
MOST_SWEEPS, TOLERANCE = 2000, 1e-5
CURIOUS_SWEEPS, CURIOUS_TOLERANCE = 300, 1e-3
STRETCHES = 30  # of the data, in turn left out when others judge
RADIUS = 0.1  # times sqrt(d): states this near count as visited


class Settings(NamedTuple):
    """See `Atlas`."""

    cells: int
    model_cells: int
    neighbours: int
    hold: int
    gamma: float
    explore: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """What was made of the data. Nothing in it changes any more."""

    centre: Array  # the metric: z = (observation - centre) * inverse
    inverse: Array
    model: Model
    support: Support
    value: Array  # by support point
    curiosity: Array  # by support point: how much there is to be seen from here
    q: Array  # (support points, actions)
    actions: Array  # (actions, axes) physical
    gamma: float
    neighbours: int
    samples: int  # transitions it was made from

    @property
    def cells(self) -> int:
        """Of the table: support points of states in which episodes go on."""
        return int((self.support.ended == 0).sum())

    def into_metric(self, observations: Array) -> Array:
        z: Array = (observations - self.centre) * self.inverse
        return z

    def out_of_metric(self, states: Array) -> Array:
        observations: Array = states / np.where(self.inverse > 0.0, self.inverse, 1.0) + self.centre
        return observations

    def look_ahead(self, observation: Array) -> tuple[Array, Array]:
        """Q of every action, and the next observation each is expected to lead to."""
        q, after = np.zeros(len(self.actions)), np.zeros((len(self.actions), len(self.centre)))
        work = new_work(self.neighbours, len(self.centre))
        look_ahead(self.model, self.support, self.value, self.gamma, True, self.into_metric(observation), q, after, work)
        return q, self.out_of_metric(after)

    def q_at(self, observations: Array) -> Array:
        """Q of every action (n, actions) by look-ahead."""
        states = np.ascontiguousarray(self.into_metric(observations))
        q, after = np.zeros((len(states), len(self.actions))), np.zeros((len(self.actions), len(self.centre)))
        work = new_work(self.neighbours, len(self.centre))
        look_ahead_all(self.model, self.support, self.value, self.gamma, states, q, after, work)
        return q

    @cached_property
    def best(self) -> Array:
        """By support point: the action with the highest Q, of equals the first."""
        best: Array = self.q.argmax(axis=1)
        return best

    @cached_property
    def table(self) -> Tree:
        """What is played in every cell, in physical units."""
        nodes = self.support.cells.copy()
        inner = nodes["feature"] != LEAF
        feature = nodes["feature"][inner]
        nodes["cut"][inner] = nodes["cut"][inner] / self.inverse[feature] + self.centre[feature]
        played = np.zeros((len(nodes), self.actions.shape[1]))
        played[~inner] = self.actions[self.best[self.support.of_cell[~inner]]]
        return Tree(nodes, played, np.zeros((len(nodes), len(self.centre))))


def make_plan(data: Transitions, choices: Array, actions: Array, horizon: int, settings: Settings, last: Plan | None, key: int) -> Plan:
    """`choices` (actions, p): features of the `actions` (actions, axes) to choose from; `key`: of its random numbers."""
    d = data.states.shape[1]
    centre, inverse = _metric(data.states)
    z, after = (data.states - centre) * inverse, (data.nexts - centre) * inverse
    model = fit_model(z, data.features, data.rewards, after, data.ended, choices, settings.model_cells)
    guide = None if last is None else _guide(last, centre, inverse)
    starts = (data.states[data.starts] - centre) * inverse
    support = support_points(model, z, after, starts, horizon, guide, settings.cells, key)
    m = len(support.points)
    over, neighbours = support.ended == 1, min(settings.neighbours, m)
    work, links = new_work(neighbours, d), new_links(m, len(actions), neighbours)
    link(model, support, settings.gamma, settings.hold, links, work)

    value, q = np.zeros(m), np.zeros((m, len(actions)))
    if last is not None:  # a warm start
        known = np.ascontiguousarray(last.into_metric(support.points / np.where(inverse > 0.0, inverse, 1.0) + centre))
        values_at(last.support, last.value, known, value, new_work(1, d))
    value[over] = _last_rewards(model, support.points[over]) / settings.gamma
    iterate(links, support.ended, np.zeros(0), value, q, np.zeros(m, np.int64), MOST_SWEEPS, TOLERANCE)

    visits, curiosity = np.zeros(m), np.zeros(m)
    count_near(support, z, RADIUS * np.sqrt(d), visits, work)
    if settings.explore:
        novelty = np.where(over, 0.0, 1.0 / np.sqrt(1.0 + visits))
        iterate(links, support.ended, novelty, curiosity, np.zeros_like(q), np.zeros(m, np.int64), CURIOUS_SWEEPS, CURIOUS_TOLERANCE)
        curiosity = novelty + settings.gamma * curiosity
    return Plan(centre, inverse, model, support, value, curiosity, q, actions, settings.gamma, neighbours, data.samples)


def models_in_doubt(data: Transitions, plan: Plan, most: int, others: bool) -> list[Model]:
    """Models of the same data, each without another third of it: where they disagree, nobody knows. `others`: with other thirds."""
    z, after = plan.into_metric(data.states), plan.into_metric(data.nexts)
    n = len(z)
    stretch = np.arange(n) * STRETCHES // n  # neighbours in time tell nearly the same
    third = (stretch + (stretch // 3 if others else 0)) % 3
    kept = [third != left_out for left_out in range(3)] if n >= STRETCHES else []
    return [fit_model(z[k], data.features[k], data.rewards[k], after[k], data.ended[k], plan.model.features, most) for k in kept]


def _metric(states: Array) -> tuple[Array, Array]:
    """Centre and inverse scale; a variable that does not vary has scale 0 and is left out of all distances."""
    centre, spread = states.mean(axis=0), SPREAD * states.std(axis=0)
    varies = spread > 1e-9 * np.maximum(np.abs(centre), 1e-290)
    return centre, np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)


def _guide(last: Plan, centre: Array, inverse: Array) -> Guide:
    ratio = np.where(inverse > 0.0, last.inverse / np.where(inverse > 0.0, inverse, 1.0), 0.0)
    action = np.where(last.support.of_cell >= 0, last.best[np.maximum(last.support.of_cell, 0)], 0)
    return Guide(last.support.cells, action, ratio, (centre - last.centre) * last.inverse)


def _last_rewards(model: Model, points: Array) -> Array:
    from spaql.learners.atlas.model import leaves_of

    found: Array = model.last_reward[leaves_of(model.ends, points)]
    return found
