"""AQL, NBQL and ZoomRL, one step at a time: one partition per step of the episode, greedy while training, the argmax ball is updated."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import entry, inlined
from spaql.learners.spaql_steps import inside
from spaql.learners.update import ADAPTIVE, Rule, update
from spaql.partition.forest import Forest, Space, worth
from spaql.partition.greedy import Greedy, Scratch, descend
from spaql.partition.merging import merge_after
from spaql.partition.search import born, containing, find_path, last_argmax, relevant
from spaql.plants.chart import Chart, to_cube


@inlined
def learn_aql(
    forest: Forest, space: Space, chart: Chart, rule: Rule, greedy: Greedy, scratch: Scratch,
    step: int, reward: float, terminated: bool,
) -> None:  # fmt: skip
    """Update the played ball; `scratch.path` is the state before the step, `scratch.next_path` after it."""
    value = 0.0  # (3) V = 0 after the last step
    if step < space.horizon - 1 and not (terminated and rule.terminate == 1):
        cell = descend(greedy, step + 1, space.d, scratch.next_path)
        value = min(float(space.horizon), worth(forest, greedy.cells[cell].ball))  # (3) V(x') = min(H, max Q)
    ball, key = scratch.chosen[0], scratch.chosen[1]
    depth = forest.balls[ball].depth
    update(forest, space, rule, ball, key, reward, value)
    merge_after(forest, space, chart, greedy, scratch, step, scratch.path, depth)


@inlined
def greedy_ball(forest: Forest, space: Space, tree: int, x: Array, scratch: Scratch) -> int:
    """Position in `scratch.found` of the argmax ball, searched in the partition itself."""
    find_path(forest, x, scratch.path)
    return last_argmax(scratch.q, relevant(forest, space, tree, scratch.path, scratch.stack, scratch.found, scratch.q))


@entry
def learn_outside(
    forest: Forest, space: Space, rule: Rule, scratch: Scratch, action: Array, step: int, reward: float, terminated: bool
) -> None:
    """One transition from elsewhere: `scratch.x` to `scratch.next_x`, `action` a cube point or an index; it plays no role in AQL."""
    value = 0.0
    if step < space.horizon - 1 and not (terminated and rule.terminate == 1):
        best = scratch.found[greedy_ball(forest, space, step + 1, scratch.next_x, scratch)]
        value = min(float(space.horizon), worth(forest, best.ball))  # (3)
    if rule.kind == ADAPTIVE:
        best = scratch.found[greedy_ball(forest, space, step, scratch.x, scratch)]
        ball, key = born(forest, space, step, scratch.path, best.ball, best.key), best.key
    else:
        find_path(forest, scratch.x, scratch.path)
        ball, key = containing(forest, space, step, scratch.path, action)
    update(forest, space, rule, ball, key, reward, value)


@entry
def first_step(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, key: np.uint64, observation: Array, action: Array
) -> int:
    """Begin an episode: choose the first action. Returns -1 or the bad dimension."""
    bad = to_cube(chart, observation, scratch.x)
    find_path(forest, scratch.x, scratch.path)
    _choose(forest, space, chart, greedy, scratch, key, 0, scratch.path, action)
    return bad


@entry
def next_step(
    forest: Forest, space: Space, chart: Chart, rule: Rule, greedy: Greedy, scratch: Scratch, key: np.uint64, step: int,
    observation: Array, reward: float, terminated: bool, action: Array,
) -> int:  # fmt: skip
    """Learn from step `step - 1` and choose action `step`. Returns -1 or the bad dimension; then nothing was learned."""
    bad = to_cube(chart, observation, scratch.next_x)
    if bad >= 0:
        return bad
    find_path(forest, scratch.next_x, scratch.next_path)
    learn_aql(forest, space, chart, rule, greedy, scratch, step - 1, reward, terminated)
    if step < space.horizon:
        _choose(forest, space, chart, greedy, scratch, key, step, scratch.next_path, action)
    for level in range(len(scratch.path)):
        scratch.path[level] = scratch.next_path[level]
    return -1


@inlined
def _choose(
    forest: Forest, space: Space, chart: Chart, greedy: Greedy, scratch: Scratch, key: np.uint64, step: int, path: Array, action: Array
) -> None:
    cell = greedy.cells[descend(greedy, step, space.d, path)]
    scratch.chosen[0], scratch.chosen[1] = born(forest, space, step, path, cell.ball, cell.key), cell.key
    inside(forest, space, chart, scratch.chosen, key, step * (space.k + 1), action)
