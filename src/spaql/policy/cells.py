"""The cells of a learned partition in physical units, and the binary tree whose leaves they are."""

from dataclasses import dataclass

import numpy as np

from spaql.arrays import Array
from spaql.partition.forest import MAX_DEPTH
from spaql.plants.chart import SIGMOID, Chart
from spaql.policy.knowledge import Rows
from spaql.policy.lookup import first_at_least
from spaql.trees.tree import Builder, Tree

SUBNORMAL = 1e-300  # smaller numbers vanish in the map to the cube: the partition takes them for zero, and so do people
TOP = 1 << MAX_DEPTH  # cells of the finest grid along one axis


@dataclass(frozen=True, eq=False)
class Cells:
    """The state cells of a greedy policy.

    Positions are those of the finest grid, counted from the upper end of the cube.
    """

    corner: Array  # int64 (n, d): upper end
    size: Array  # int64 (n, d): edges
    rows: Rows


def physical_cuts(chart: Chart, feature: int, positions: Array) -> Array:
    """The smallest observation above each cut, exact to the last bit.

    Positions are those of the finest grid, counted in cells from the upper end.
    """
    axis = chart.axes[feature]
    if axis["scale"] == 0.0:  # a constant variable lies on the middle of the cube, which belongs to the upper half
        return np.full(len(positions), axis["centre"])
    reach = (40.0 if axis["kind"] == SIGMOID else 1.0) / axis["scale"]
    low, high = np.full(len(positions), axis["centre"] - reach), np.full(len(positions), axis["centre"] + reach)
    d = len(chart.axes)
    first_at_least(
        chart, feature, np.asarray(positions, np.int64) - 1, low, high, chart.axes["centre"].copy(), np.empty(d)
    )
    high[np.abs(high) < SUBNORMAL] = 0.0
    return high


def cut_tables(chart: Chart, cells: Cells) -> list[dict[int, float]]:
    """Physical values of all cuts between cells, by variable and grid position."""
    tables = []
    for j in range(cells.corner.shape[1]):
        ends = np.unique(np.concatenate([cells.corner[:, j], cells.corner[:, j] + cells.size[:, j]]))
        # a split tests the middle of its cell, which may be the end of no cell that is left when it is the end of
        # others
        inner = ends[(ends > 0) & (ends < TOP)]
        tables.append(dict(zip(inner.tolist(), physical_cuts(chart, j, inner).tolist(), strict=True)))
    return tables


def table_tree(chart: Chart, cells: Cells) -> tuple[Tree, Array]:
    """The partition as it is: every split one test per variable. Also the cell of each node (-1 for tests)."""
    d, cuts, action = cells.corner.shape[1], cut_tables(chart, cells), cells.rows.action
    builder = Builder(d, action.shape[1])
    cell_of_node: list[int] = []

    def build(low: Array, high: Array, members: Array) -> int:
        """The sub-tree of a box that is exactly filled by its members.

        Coordinates grow downwards, towards the lower end of the cube.
        """
        if len(members) == 1:
            cell_of_node.append(int(members[0]))
            return builder.leaf(action[members[0]])
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
