"""The policy of a learner that keeps a forest: its cells as a table, and what the forest knows about them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.partition.forest import MAX_DEPTH, USED, Forest, resized
from spaql.partition.forest_tables import standing
from spaql.partition.greedy import new_scratch
from spaql.plants.axes import Space
from spaql.plants.chart import Chart, to_cube
from spaql.policy.cells import TOP, Cells, alternatives, exact_tree, key_action, list_cells, survey, table_tree
from spaql.policy.knowledge import Choice, Knowledge, KnownRows, KnownTable, Opinion, Samples
from spaql.policy.policy import Policy
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.learners.forest_agent import ForestAgent


@dataclass(frozen=True, eq=False, kw_only=True)
class ForestKnowledge(Knowledge):
    """The forest as it was when the policy was made; the agent may learn on.

    Visits are told of the table alone: cells share balls, and balls inherit visits, so that a sum over cells would
    count steps several times.
    """

    cells: Cells
    forest: Forest
    space: Space
    chart: Chart

    def opinion(self, observation: Array) -> Opinion:
        """All balls over the state, best first; of equal balls the last first, as the learner decides."""
        point = np.empty(self.space.d)
        if to_cube(self.chart, observation, point) >= 0:
            return Opinion((), None)
        scratch = new_scratch(self.space, self.forest)
        balls, q = np.empty((len(scratch.q), 2), np.int64), np.empty(len(scratch.q))
        tree = min(self.step, self.space.trees - 1)
        count = alternatives(self.forest, self.space, scratch, tree, point, balls, q)
        order = sorted(range(count), key=lambda c: (-q[c], -c))
        depth, visits, _ = standing(self.forest, balls[:count, 0])
        choices = []
        for c in order:
            action = np.empty(max(self.space.k, 1))
            key_action(self.space, self.chart, balls[c, 1], depth[c], action)
            choices.append(Choice(action, float(q[c])))
        return Opinion(tuple(choices), int(visits[order[0]]))

    def exact(self) -> Tree:
        return exact_tree(self.chart, self.cells)


def forest_policy(agent: "ForestAgent", step: int | None = None) -> Policy:
    """The table of the greedy policy (of one time step, where there is one per step)."""
    at = _step_of(agent, step)
    cells = cells_of(agent, at)
    rules, row_of_node = table_tree(agent.chart, cells)
    space, live = agent.state.space, agent.state.forest
    history, per_step = agent.history, space.trees > 1
    samples = Samples()
    if len(history.table):
        samples = Samples(int(history.train_samples[-1]), int(history.eval_samples[-1]))
    knowledge = ForestKnowledge(
        agent.algorithm, agent.seed, samples, KnownTable(rules, row_of_node, cells.rows), step=at, per_step=per_step,
        cells=cells, forest=resized(live, space, int(live.size[USED])), space=space, chart=agent.chart,
    )  # fmt: skip
    origin = f"{agent.algorithm} on {agent.problem.name}, seed {agent.seed}" + (f", step {at}" if per_step else "")
    return Policy(agent.problem, rules, "table", origin, knowledge, notes=agent.notes)


def cells_of(agent: "ForestAgent", step: int = 0) -> Cells:
    """The cells of the greedy policy (of step `step`, where there is one per step).

    The action of a cell is the centre of the greedy ball's action interval, or its (first) action. The visits of a cell
    are those of the greedy ball, which include the visits of the balls it was split from.
    """
    state, space, d = agent.state, agent.state.space, agent.state.space.d
    greedy = state.policy(agent.chart)
    tree, room = min(step, space.trees - 1), int(greedy.size[0])
    corner, size = np.zeros((room + 1, d), np.int64), np.zeros((room + 1, d), np.int64)
    waiting = d * MAX_DEPTH if len(state.forest.forks) else (1 << d) * (MAX_DEPTH + 1)
    n = list_cells(greedy, d, tree, np.zeros((waiting + 2, d + 2), np.int64), corner, size)
    corner, size = corner[:n], size[:n]
    centres = np.ascontiguousarray(1.0 - (2 * corner + size) / TOP)
    best, second, q = np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64), np.zeros((n, 2))
    survey(state.forest, space, new_scratch(space, state.forest), tree, centres, best, second, q)
    depth, visits, _ = standing(state.forest, best[:, 0])
    # meaningless where there is no second ball, and not used there
    other_depth, _, _ = standing(state.forest, second[:, 0])
    axes = max(space.k, 1)
    action, runner_up = np.empty((n, axes)), np.full((n, axes), np.nan)
    for i in range(n):
        key_action(space, agent.chart, best[i, 1], depth[i], action[i])
        if second[i, 0] >= 0:
            key_action(space, agent.chart, second[i, 1], other_depth[i], runner_up[i])
    return Cells(corner, size, KnownRows(action, q[:, 0], visits.astype(np.int64), runner_up, q[:, 1]))


def _step_of(agent: "ForestAgent", step: int | None) -> int:
    """Learners with one policy per time step must be asked for one of them."""
    trees = agent.state.space.trees
    if trees == 1:
        return 0
    if step is None:
        raise SpaqlError(
            f"{agent.algorithm} has one policy per time step: choose one with policy(step=...), from 0 to {trees - 1}"
        )
    if not 0 <= step < trees:
        raise SpaqlError(f"step must be from 0 to {trees - 1}, not {step}")
    return step
