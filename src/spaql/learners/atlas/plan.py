"""From data to a plan: model, support points, values, actions. Equations: docs/atlas-table.md."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spaql.gp.circles import turns_of
from spaql.gp.learned_problem import declared_of
from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.ground.errors import SpaqlError
from spaql.learners.atlas.cell_fit import Examples
from spaql.learners.atlas.cell_model import CellModel, fit_model, leaves_of
from spaql.learners.atlas.experience import Transitions
from spaql.learners.atlas.support import Guide, Support, support_points
from spaql.learners.atlas.values import (
    Outlook,
    count_near,
    iterate,
    link,
    look_ahead,
    look_ahead_all,
    new_links,
    new_work,
    values_at,
)
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.trees.tree import LEAF, Tree

METRIC_DEVIATIONS = 4.0  # standard deviations that count as one unit of distance, in (10)
MOST_SWEEPS = 2000  # of the iteration of values
VALUE_TOLERANCE = 1e-5  # it ends when no value changes by a larger share of the range of values
CURIOUS_SWEEPS = 300  # the same for the values of exploration, which need less precision
CURIOUS_TOLERANCE = 1e-3
# parts of the data, consecutive in time: models in doubt leave out every third
DOUBT_STRETCHES = 30
MOST_ACTIONS = 256
MOST_LINKS = 2**27  # cells * actions * neighbours; each takes 12 bytes
# times sqrt(d): data within this distance of a support point count as its visits, in (31)
VISIT_RADIUS = 0.1


class Settings(NamedTuple):
    """See `Atlas`."""

    cells: int
    model_cells: int
    neighbours: int
    hold: int
    gamma: float
    explore: bool


def planned_actions(problem: Problem, levels: int | None, settings: Settings) -> Array:
    """(n, axes) the actions among which plans choose, each tried at every support point."""
    space = problem.actions
    if levels is not None and isinstance(space, Finite):
        held = f"{problem.name} has a finite set of {len(space.values)}"
        raise SpaqlError(f"levels divide a continuous action; {held}: leave levels out")
    asked, levels = levels is not None, (5 if space.axes == 1 else 3) if levels is None else levels
    count = len(space.values) if isinstance(space, Finite) else levels**space.axes
    if count > MOST_ACTIONS and not asked and isinstance(space, Continuous):
        return one_axis_each(space)
    if count > MOST_ACTIONS:
        many = f"{count} are more than {MOST_ACTIONS}"
        raise SpaqlError(f"Atlas tries every action: {many}; use fewer actions or levels")
    if settings.cells * count * settings.neighbours > MOST_LINKS:
        sizes = f"{settings.cells} cells with {count} actions and {settings.neighbours} neighbours"
        raise SpaqlError(f"{sizes} are too many: use fewer cells")
    return space.some(levels)


def one_axis_each(space: Continuous) -> Array:
    """The middle, and the ends of each axis with the others in the middle: where all combinations are too many."""
    actions = np.tile(space.middle, (2 * space.axes + 1, 1))
    for j, (low, high) in enumerate(zip(*space.bounds, strict=True)):
        actions[1 + 2 * j : 3 + 2 * j, j] = low, high
    return actions


@dataclass(frozen=True, eq=False)
class Plan:
    """A model of the data, and the values and actions that follow from it. It does not change."""

    centre: Array  # the metric (10): z = (observation - centre) * inverse
    inverse: Array  # 0 for a variable that does not vary
    model: CellModel
    support: Support
    value: Array  # by support point: V of (27)
    curiosity: Array  # by support point: C of (32)
    q: Array  # (support points, actions)
    actions: Array  # (actions, axes) physical
    gamma: float
    neighbours: int
    samples: int  # transitions in memory when it was made

    @property
    def cells(self) -> int:
        """Cells of the table: support points at which the episode has not ended."""
        return int((self.support.ended == 0).sum())

    def into_metric(self, observations: Array) -> Array:
        z: Array = (observations - self.centre) * self.inverse  # (10)
        return z

    def out_of_metric(self, states: Array) -> Array:
        observations: Array = states / np.where(self.inverse > 0.0, self.inverse, 1.0) + self.centre
        return observations

    @property
    def scale(self) -> Array:
        """Of a variable in the metric; 0 for one that does not vary."""
        varies = self.inverse > 0.0
        return np.where(varies, 1.0 / np.where(varies, self.inverse, 1.0), 0.0)

    def look_ahead(self, observation: Array) -> tuple[Array, Array]:
        """Q of every action, and the next observation each is expected to lead to."""
        q, after = self.new_outcomes()
        work = new_work(self.support, self.neighbours)
        look_ahead(self.outlook(curious=False), self.into_metric(observation), q, after, work)
        return q, self.out_of_metric(after)

    def new_outcomes(self) -> tuple[Array, Array]:
        """Room for Q of every action, and for the next state."""
        return np.zeros(len(self.actions)), np.zeros((len(self.actions), len(self.centre)))

    def q_at(self, observations: Array) -> Array:
        """Q of every action (n, actions) by look-ahead."""
        states = np.ascontiguousarray(self.into_metric(observations))
        q, after = np.zeros((len(states), len(self.actions))), self.new_outcomes()[1]
        work = new_work(self.support, self.neighbours)
        look_ahead_all(self.outlook(curious=False), states, q, after, work)
        return q

    def outlook(self, curious: bool) -> Outlook:
        """What a look-ahead goes by: rewards and values, or the values of exploration alone."""
        value = self.curiosity if curious else self.value
        return Outlook(self.model, self.support, value, self.gamma, not curious)

    @cached_property
    def best(self) -> Array:
        """By support point: the action with the highest Q, of equals the first."""
        best: Array = self.q.argmax(axis=1)  # (30)
        return best

    @cached_property
    def table(self) -> Tree:
        """The action of every cell, in physical units."""
        nodes = self.support.cells.copy()
        inner = nodes["feature"] != LEAF
        feature = nodes["feature"][inner]
        nodes["cut"][inner] = nodes["cut"][inner] / self.inverse[feature] + self.centre[feature]
        actions = np.zeros((len(nodes), self.actions.shape[1]))
        actions[~inner] = self.actions[self.best[self.support.of_cell[~inner]]]
        return Tree(nodes, actions, np.zeros((len(nodes), len(self.centre))))

    def rows(self, visits: Array) -> Array:
        """The cells of the table as a structured array; `visits`: by support point."""
        alive = np.flatnonzero(self.support.ended == 0)
        d, axes = len(self.centre), self.actions.shape[1]
        fields = [("state", "f8", (d,)), ("action", "f8", (axes,)), ("q", "f8"), ("visits", "i8")]
        rows = np.zeros(len(alive), np.dtype(fields))
        rows["state"] = self.out_of_metric(self.support.points[alive])
        rows["action"] = self.actions[self.best[alive]]
        rows["q"], rows["visits"] = self.q[alive].max(axis=1), visits[alive]
        return rows


def make_plan(
    data: Transitions, choices: Array, actions: Array, problem: Problem, settings: Settings,
    last: Plan | None, key: int
) -> Plan:  # fmt: skip
    """`choices` (actions, p): features of `actions` (actions, axes); `key`: of random numbers."""
    d = data.states.shape[1]
    centre, inverse = _metric(data.states)
    examples = _in_metric(data, centre, inverse)
    turns = turns_of(data.states, data.nexts, *declared_of(problem))
    turns = np.where(turns[1] > 0.0, [(turns[0] - centre) * inverse, turns[1] * inverse], 0.0)
    model = fit_model(examples, choices, settings.model_cells, turns)
    guide = None if last is None else _guide(last, centre, inverse)
    starts = (data.states[data.starts] - centre) * inverse
    support = support_points(model, examples, starts, problem.horizon, guide, settings.cells, key)
    m = len(support.points)
    over, neighbours = support.ended == 1, min(settings.neighbours, m)
    work, links = new_work(support, neighbours), new_links(m, len(actions), neighbours)
    link(model, support, settings.gamma, settings.hold, links, work)

    value, q = np.zeros(m), np.zeros((m, len(actions)))
    if last is not None:  # a warm start
        observations = support.points / np.where(inverse > 0.0, inverse, 1.0) + centre
        before = np.ascontiguousarray(last.into_metric(observations))
        values_at(last.support, last.value, before, value, new_work(last.support, 1))
    value[over] = _last_rewards(model, support.points[over]) / settings.gamma  # (28)
    best = np.zeros(m, np.int64)
    iterate(links, support.ended, np.zeros(0), value, q, best, MOST_SWEEPS, VALUE_TOLERANCE)

    visits, curiosity = np.zeros(m), np.zeros(m)
    count_near(support, examples.states, VISIT_RADIUS * np.sqrt(d), visits, work)
    if settings.explore:
        novelty = np.where(over, 0.0, 1.0 / np.sqrt(1.0 + visits))  # (31)
        best, unused = np.zeros(m, np.int64), np.zeros_like(q)
        sweeps, tolerance = CURIOUS_SWEEPS, CURIOUS_TOLERANCE
        iterate(links, support.ended, novelty, curiosity, unused, best, sweeps, tolerance)
        curiosity = novelty + settings.gamma * curiosity  # (32)
    gamma, samples = settings.gamma, data.samples
    return Plan(
        centre, inverse, model, support, value, curiosity, q, actions, gamma, neighbours, samples
    )  # fmt: skip


def models_in_doubt(data: Transitions, plan: Plan, most: int, others: bool) -> list[CellModel]:
    """Models of the same data, each without another third of it: where they disagree, the data do
    not decide.

    `others`: the data are divided into thirds in another way.
    """
    examples = _in_metric(data, plan.centre, plan.inverse)
    n = len(examples.states)
    # not single samples, whose neighbours in time contain nearly the same
    stretch = np.arange(n) * DOUBT_STRETCHES // n
    third = (stretch + (stretch // 3 if others else 0)) % 3
    kept = [third != left_out for left_out in range(3)] if n >= DOUBT_STRETCHES else []
    turns = np.array([plan.model.low, plan.model.turn]) * (plan.model.turn > 0.0)
    return [fit_model(examples.only(chosen), plan.model.features, most, turns) for chosen in kept]


def _metric(states: Array) -> tuple[Array, Array]:
    """Centre and inverse scale, which is 0 for a variable that does not vary."""
    centre, spread = states.mean(axis=0), METRIC_DEVIATIONS * states.std(axis=0)  # (10)
    varies = spread > ROUNDING * np.maximum(np.abs(centre), 1e-290)
    return centre, np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)


def _in_metric(data: Transitions, centre: Array, inverse: Array) -> Examples:
    z, after = (data.states - centre) * inverse, (data.nexts - centre) * inverse
    return Examples(z, data.features, data.rewards, after, data.ended)


def _guide(last: Plan, centre: Array, inverse: Array) -> Guide:
    """The table of the last plan, for states in the metric of a new one."""
    ratio = np.where(inverse > 0.0, last.inverse / np.where(inverse > 0.0, inverse, 1.0), 0.0)
    action = np.where(last.support.of_cell >= 0, last.best[np.maximum(last.support.of_cell, 0)], 0)
    return Guide(last.support.cells, action, ratio, (centre - last.centre) * last.inverse)


def _last_rewards(model: CellModel, points: Array) -> Array:
    """What the last step earns beyond an ordinary one, by support point where episodes have ended.
    """
    rewards: Array = model.last_reward[leaves_of(model.ends, points)]
    return rewards
