"""SPAQL and SPAQL-TS, one step at a time.

One partition for all steps, Boltzmann exploration; the leaf that contains (x, a) is updated.
"""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry, inlined
from spaql.ground.fastmath import exp
from spaql.ground.streams import uniform
from spaql.learners.act import Exploration, Trainee
from spaql.learners.update import Rule, gaussian, update
from spaql.partition.forest import COUNT_BITS, COUNT_MASK, Forest, action_centre
from spaql.partition.greedy import Scratch, allocated, containing, find_path, relevant
from spaql.plants.axes import Space
from spaql.plants.chart import Chart, to_cube

TINY = 1e-290  # instead of max|Q|, where all Q are zero: the choice is then uniform


@inlined
def see(forest: Forest, space: Space, scratch: Scratch) -> int:
    """The leaves relevant to the state of `scratch.path`, into `scratch.leaves` and `scratch.q`."""
    return relevant(forest, space, 0, scratch.path, scratch.stack, scratch.leaves, scratch.q)


@inlined
def boltzmann(scratch: Scratch, count: int, tau: float) -> None:
    """(6) P ~ exp(Q / max|Q| / tau) over the relevant leaves: cumulative sums into `scratch.weight`."""
    q, weight = scratch.q, scratch.weight
    largest, smallest = q[0], q[0]
    for i in range(1, count):
        largest = max(largest, q[i])
        smallest = min(smallest, q[i])
    scale = max(abs(largest), abs(smallest))
    scale = 1.0 / (max(scale, TINY) * tau)
    for i in range(count):
        weight[i] = exp((q[i] - largest) * scale)
    for i in range(1, count):
        weight[i] += weight[i - 1]


@inlined
def explore(trainee: Trainee, exploration: Exploration, count: int, step: int, action: Array) -> None:
    """Draw a relevant leaf into `scratch.chosen`, and an action uniformly inside it, in physical units."""
    forest, space, chart, scratch, key = trainee.forest, trainee.space, trainee.chart, trainee.scratch, exploration.key
    boltzmann(scratch, count, exploration.tau)
    at = step * (space.k + 2)  # counter of this step's random numbers
    mark = uniform(key, at) * scratch.weight[count - 1]
    i = 0
    while i < count - 1 and scratch.weight[i] <= mark:
        i += 1
    scratch.chosen[0], scratch.chosen[1] = scratch.leaves[i].ball, scratch.leaves[i].key
    scratch.chosen[0] = allocated(forest, space, 0, scratch.path, scratch.chosen[0], scratch.chosen[1])
    inside(forest, space, chart, scratch.chosen, key, at + 1, action)


@inlined
def inside(
    forest: Forest, space: Space, chart: Chart, chosen: Array, key: np.uint64, counter: int, action: Array
) -> None:
    """An action uniformly inside the chosen ball, in physical units."""
    ball, ball_key = chosen[0], chosen[1]
    if space.k == 0:
        offset = int(uniform(key, counter) * (ball_key & COUNT_MASK))
        action[0] = chart.values[(ball_key >> COUNT_BITS) + offset]
        return
    depth = forest.balls[ball].depth
    for axis in range(space.k):
        a = action_centre(space, ball_key, depth, axis) + 0.5**depth * (2.0 * uniform(key, counter + axis) - 1.0)
        action[axis] = chart.acts[axis].centre + chart.acts[axis].scale * a


@inlined
def learn_spaql(
    forest: Forest, space: Space, rule: Rule, scratch: Scratch, ball: int, key: int, reward: float, terminated: bool
) -> int:
    """Update the chosen ball; `scratch.x` is the state before the step, `scratch.path` belongs to the state after it.

    Returns the number of leaves relevant to the state after the step.
    """
    count = see(forest, space, scratch)
    value, at = -np.inf, -1
    for i in range(count):
        value = max(value, scratch.q[i])
        at = i if scratch.leaves[i].ball == ball else at
    value = min(float(space.horizon), value)  # (3) V(x') = min(H, max Q)
    if terminated and rule.terminate == 1:
        value = 0.0
    value *= gaussian(rule, scratch.x)  # (4) with the weight (7)
    divided = update(forest, space, rule, ball, key, reward, value)
    if at >= 0 and divided:
        count = see(forest, space, scratch)
    elif at >= 0:
        scratch.q[at] = forest.balls[ball].q
    return count


@entry
def learn_outside(
    forest: Forest, space: Space, rule: Rule, scratch: Scratch, action: Array, reward: float, terminated: bool
) -> None:
    """One transition from elsewhere: `scratch.x` to `scratch.next_x`, `action` a cube point or an index."""
    find_path(forest, scratch.x, scratch.path)
    ball, key = containing(forest, space, 0, scratch.path, action)
    find_path(forest, scratch.next_x, scratch.path)
    learn_spaql(forest, space, rule, scratch, ball, key, reward, terminated)


@entry
def first_step(trainee: Trainee, exploration: Exploration, observation: Array, action: Array) -> int:
    """Begin an episode: choose the first action. Returns -1 or the bad dimension."""
    forest, scratch = trainee.forest, trainee.scratch
    bad = to_cube(trainee.chart, observation, scratch.x)
    find_path(forest, scratch.x, scratch.path)
    explore(trainee, exploration, see(forest, trainee.space, scratch), 0, action)
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
    forest, space, scratch = trainee.forest, trainee.space, trainee.scratch
    bad = to_cube(trainee.chart, observation, scratch.next_x)
    if bad >= 0:
        return bad
    find_path(forest, scratch.next_x, scratch.path)
    count = learn_spaql(forest, space, trainee.rule, scratch, scratch.chosen[0], scratch.chosen[1], reward, terminated)
    explore(trainee, exploration, count, step, action)
    for j in range(space.d):
        scratch.x[j] = scratch.next_x[j]
    return -1
