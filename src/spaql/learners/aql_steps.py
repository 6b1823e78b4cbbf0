"""AQL, NBQL and ZoomRL, one step at a time.

A partition per step of the episode, greedy while training; the argmax ball is updated.
"""

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry, inlined
from spaql.learners.act import Exploration, Trainee
from spaql.learners.spaql_steps import inside
from spaql.learners.update import ADAPTIVE, Rule, update
from spaql.partition.forest import Forest, worth
from spaql.partition.greedy import Scratch, allocated, containing, descend, find_path, last_argmax, relevant
from spaql.partition.merge import merge_after
from spaql.plants.axes import Space
from spaql.plants.chart import to_cube


@inlined
def learn_aql(trainee: Trainee, step: int, reward: float, terminated: bool) -> None:
    """Update the chosen ball; `scratch.path` is the state before the step, `scratch.next_path` after it."""
    space, rule, forest, greedy, scratch = trainee.space, trainee.rule, trainee.forest, trainee.greedy, trainee.scratch
    value = 0.0  # (3) V = 0 after the last step
    if step < space.horizon - 1 and not (terminated and rule.terminate == 1):
        cell = descend(greedy, step + 1, space.d, scratch.next_path)
        value = min(float(space.horizon), worth(forest, greedy.cells[cell].ball))  # (3) V(x') = min(H, max Q)
    ball, key = scratch.chosen[0], scratch.chosen[1]
    depth = forest.balls[ball].depth
    update(forest, space, rule, ball, key, reward, value)
    merge_after(forest, space, trainee.chart, greedy, scratch, step, scratch.path, depth)


@inlined
def greedy_ball(forest: Forest, space: Space, tree: int, x: Array, scratch: Scratch) -> int:
    """Position in `scratch.leaves` of the argmax ball, searched in the partition itself."""
    find_path(forest, x, scratch.path)
    return last_argmax(scratch.q, relevant(forest, space, tree, scratch.path, scratch.stack, scratch.leaves, scratch.q))


@entry
def learn_outside(
    forest: Forest,
    space: Space,
    rule: Rule,
    scratch: Scratch,
    action: Array,
    step: int,
    reward: float,
    terminated: bool,
) -> None:
    """One transition from elsewhere: `scratch.x` to `scratch.next_x`, `action` a cube point or an index.

    AQL ignores the action.
    """
    value = 0.0
    if step < space.horizon - 1 and not (terminated and rule.terminate == 1):
        best = scratch.leaves[greedy_ball(forest, space, step + 1, scratch.next_x, scratch)]
        value = min(float(space.horizon), worth(forest, best.ball))  # (3)
    if rule.kind == ADAPTIVE:
        best = scratch.leaves[greedy_ball(forest, space, step, scratch.x, scratch)]
        ball, key = allocated(forest, space, step, scratch.path, best.ball, best.key), best.key
    else:
        find_path(forest, scratch.x, scratch.path)
        ball, key = containing(forest, space, step, scratch.path, action)
    update(forest, space, rule, ball, key, reward, value)


@entry
def first_step(trainee: Trainee, exploration: Exploration, observation: Array, action: Array) -> int:
    """Begin an episode: choose the first action. Returns -1 or the bad dimension."""
    scratch = trainee.scratch
    bad = to_cube(trainee.chart, observation, scratch.x)
    find_path(trainee.forest, scratch.x, scratch.path)
    _choose(trainee, exploration, 0, scratch.path, action)
    return bad


@entry
def next_step(
    trainee: Trainee,
    exploration: Exploration,
    step: int,
    observation: Array,
    reward: float,
    terminated: bool,
    action: Array,
) -> int:
    """Learn from step `step - 1`, choose action `step`. Returns -1 or the bad dimension; then nothing was learned."""
    scratch = trainee.scratch
    bad = to_cube(trainee.chart, observation, scratch.next_x)
    if bad >= 0:
        return bad
    find_path(trainee.forest, scratch.next_x, scratch.next_path)
    learn_aql(trainee, step - 1, reward, terminated)
    if step < trainee.space.horizon:
        _choose(trainee, exploration, step, scratch.next_path, action)
    for level in range(len(scratch.path)):
        scratch.path[level] = scratch.next_path[level]
    return -1


@inlined
def _choose(trainee: Trainee, exploration: Exploration, step: int, path: Array, action: Array) -> None:
    """The greedy ball over a state into `scratch.chosen`, and an action uniformly inside it, in physical units."""
    space, forest, greedy, scratch = trainee.space, trainee.forest, trainee.greedy, trainee.scratch
    cell = greedy.cells[descend(greedy, step, space.d, path)]
    scratch.chosen[0], scratch.chosen[1] = allocated(forest, space, step, path, cell.ball, cell.key), cell.key
    inside(forest, space, trainee.chart, scratch.chosen, exploration.key, step * (space.k + 1), action)
