"""From a learned partition to a policy: its state cells in physical units, and the binary tree whose leaves they are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.explain.playing import first_at_least, key_action, list_cells, survey
from spaql.explain.tree import Builder, Tree
from spaql.partition.forest import MAX_DEPTH
from spaql.partition.greedy import new_scratch
from spaql.partition.leaves import standing
from spaql.plants.chart import SIGMOID, Chart

if TYPE_CHECKING:
    from spaql.learners.agent import Agent

SUBNORMAL = 1e-300  # smaller numbers vanish in the map to the cube: the partition takes them for zero, and so do people
TOP = 1 << MAX_DEPTH  # cells of the finest grid along one axis


@dataclass(frozen=True, eq=False)
class Cells:
    """The state cells of a greedy policy. Positions are those of the finest grid, counted from the upper end of the cube."""

    corner: Array  # int64 (n, d): upper end; empty where the cells are not of a grid
    size: Array  # int64 (n, d): edges; empty too
    action: Array  # (n, axes), physical: the centre of the greedy ball's action interval, or its (first) action
    q: Array  # of the greedy ball
    visits: Array  # of the greedy ball, those inherited from the balls it was split from included
    runner_up: Array  # (n, axes): the best other action, NaN if there is none
    runner_up_q: Array


def cells_of(agent: "Agent", step: int = 0) -> Cells:
    """The cells of the greedy policy (of step `step`, where there is one per step)."""
    state, space, d = agent.state, agent.state.space, agent.state.space.d
    greedy = state.policy(agent.chart)
    tree, room = min(step, space.trees - 1), int(greedy.size[0])
    corner, size = np.zeros((room + 1, d), np.int64), np.zeros((room + 1, d), np.int64)
    waiting = d * MAX_DEPTH if len(state.forest.forks) else (1 << d) * (MAX_DEPTH + 1)
    n = list_cells(greedy, d, tree, np.zeros((waiting + 2, d + 2), np.int64), corner, size)
    corner, size = corner[:n], size[:n]
    centres = 1.0 - (2 * corner + size) / TOP
    best, second, q = np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64), np.zeros((n, 2))
    survey(state.forest, space, new_scratch(space, state.forest), tree, np.ascontiguousarray(centres), best, second, q)
    depth, visits, _ = standing(state.forest, best[:, 0])
    other_depth, _, _ = standing(state.forest, second[:, 0])  # where there is none it is never asked for
    axes = max(space.k, 1)
    action, runner_up = np.empty((n, axes)), np.full((n, axes), np.nan)
    for i in range(n):
        key_action(space, agent.chart, best[i, 1], depth[i], action[i])
        if second[i, 0] >= 0:
            key_action(space, agent.chart, second[i, 1], other_depth[i], runner_up[i])
    return Cells(corner, size, action, q[:, 0], visits.astype(np.int64), runner_up, q[:, 1])


def physical_cuts(chart: Chart, feature: int, positions: Array) -> Array:
    """For grid positions (cells from the upper end): the smallest observation that lies above the cut, exact to the last bit."""
    axis = chart.axes[feature]
    if axis["scale"] == 0.0:  # a constant variable lies on the middle of the cube, which belongs to the upper half
        return np.full(len(positions), axis["centre"])
    reach = (40.0 if axis["kind"] == SIGMOID else 1.0) / axis["scale"]
    low, high = np.full(len(positions), axis["centre"] - reach), np.full(len(positions), axis["centre"] + reach)
    d = len(chart.axes)
    first_at_least(chart, feature, np.asarray(positions, np.int64) - 1, low, high, chart.axes["centre"].copy(), np.empty(d))
    high[np.abs(high) < SUBNORMAL] = 0.0
    return high


def cut_tables(chart: Chart, cells: Cells) -> list[dict[int, float]]:
    """Physical values of all cuts between cells, by variable and grid position."""
    tables = []
    for j in range(cells.corner.shape[1]):
        ends = np.unique(np.concatenate([cells.corner[:, j], cells.corner[:, j] + cells.size[:, j]]))
        # a split tests the middle of its cell, which may be the end of no cell that is left when it is the end of others
        inner = ends[(ends > 0) & (ends < TOP)]
        tables.append(dict(zip(inner.tolist(), physical_cuts(chart, j, inner).tolist(), strict=True)))
    return tables


def table_tree(chart: Chart, cells: Cells, axes: int) -> tuple[Tree, Array]:
    """The partition as it is: every split one test per variable. Also the cell of each node (-1 for tests)."""
    d, cuts = cells.corner.shape[1], cut_tables(chart, cells)
    builder = Builder(d, axes)
    cell_of_node: list[int] = []

    def build(low: Array, high: Array, members: Array) -> int:
        """The sub-tree of a box that is exactly filled by its members. Coordinates grow downwards, towards the lower end of the cube."""
        if len(members) == 1:
            cell_of_node.append(int(members[0]))
            return builder.leaf(cells.action[members[0]])
        widths = high - low
        j = int(np.argmax(widths))  # all halves of one split before the next split begins
        middle = int(low[j] + widths[j] // 2)
        node = builder.test(j, cuts[j][middle])
        cell_of_node.append(-1)
        upper = cells.corner[members, j] < middle
        sides = []
        for inside, begin, end in ((~upper, middle, int(high[j])), (upper, int(low[j]), middle)):
            box = low.copy(), high.copy()
            box[0][j], box[1][j] = begin, end
            sides.append(build(*box, members[inside]))
        builder.join(node, *sides)
        return node

    build(np.zeros(d, np.int64), np.full(d, TOP, np.int64), np.arange(len(cells.size)))
    return builder.tree(), np.array(cell_of_node)


def refuse_time(agent: "Agent", step: int | None) -> int:
    """The policies of AQL, NBQL and ZoomRL change from step to step; the others' do not."""
    trees = agent.state.space.trees
    if trees == 1:
        return 0
    if step is None:
        raise SpaqlError(f"{agent.algorithm} has one policy per time step: choose one with policy(step=...), from 0 to {trees - 1}")
    if not 0 <= step < trees:
        raise SpaqlError(f"step must be from 0 to {trees - 1}, not {step}")
    return step
