"""The greedy policy of a partition and a partition in training, as records, and the greedy action of an observation."""

from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.streams import derive, uniform
from spaql.learners.update import Rule
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH, Forest
from spaql.partition.greedy import LOW_HALF, Greedy, Scratch, cell_of, coordinates
from spaql.plants.axes import Space
from spaql.plants.chart import Chart, to_cube


class Actor(NamedTuple):
    """A greedy policy: what choosing an action reads."""

    space: Space  # sizes of the problem
    chart: Chart  # between physical units and the cube
    greedy: Greedy  # the merged policy of a partition


class Trainee(NamedTuple):
    """A partition in training."""

    space: Space  # sizes of the problem
    chart: Chart  # between physical units and the cube
    rule: Rule  # of the update
    forest: Forest  # the partition itself
    greedy: Greedy  # its merged policy: AQL refreshes it after every step, SPAQL merges it after the episode
    scratch: Scratch  # working memory, and what an episode remembers from one step to the next


class Exploration(NamedTuple):
    """How the actions of one training episode are drawn."""

    key: np.uint64  # random stream of the actions
    tau: float  # Boltzmann temperature of SPAQL and SPAQL-TS; 0 for the other learners, which are greedy


@inlined
def actor_of(trainee: Trainee) -> Actor:
    """The greedy policy of a trainee."""
    return Actor(trainee.space, trainee.chart, trainee.greedy)


@inlined
def act(
    actor: Actor,
    tree: int,
    observation: Array,
    x: Array,
    key: np.uint64,
    counter: int,
    deterministic: bool,
    action: Array,
) -> int:
    """The same action, to the bit, as the lock-step rollouts choose. Returns -1 or the bad dimension.

    The descent is `partition.greedy.descend`, without the path of the state being written down first.
    """
    space, chart, greedy = actor.space, actor.chart, actor.greedy
    bad = to_cube(chart, observation, x)
    here, level, next_j = tree, MAX_DEPTH - 1, 0
    while greedy.jump[here] >> 32 != 0:
        first_j, next_j = coordinates(greedy.jump[here] >> 32, space.d, next_j)
        orthant = 0
        for j in range(first_j, next_j):
            orthant = (orthant << 1) | int((cell_of(x[j]) >> level) & 1)
        here = (greedy.jump[here] & LOW_HALF) + orthant
        if next_j == space.d:
            level, next_j = level - 1, 0
    cell = greedy.cells[here]
    if space.k > 0:
        for axis in range(space.k):
            offset = 0.0 if deterministic else 2.0 * uniform(key, counter + axis) - 1.0
            action[axis] = greedy.centre[axis, here] + chart.acts[axis].scale * (cell.spread * offset)
    else:
        chosen = 0 if deterministic else int(uniform(key, counter) * cell.spread)
        action[0] = chart.values[(cell.key >> COUNT_BITS) + chosen]
    return bad


@kernel
def predict_batch(
    space: Space, chart: Chart, greedy: Greedy, observations: Array, tree: Array, key: np.uint64, deterministic: bool,
    x: Array, actions: Array,
) -> int:  # fmt: skip
    """Actions of a batch; `x` is working memory. Returns -1, or row * d + dimension of the first bad observation.

    No `Actor`: to hand over a record within a record would cost `predict` a twentieth of its time.
    """
    actor = Actor(space, chart, greedy)
    for i in range(len(observations)):
        bad = act(actor, tree[i], observations[i], x, derive(key, i), 0, deterministic, actions[i])
        if bad >= 0:
            return i * space.d + bad
    return -1


@kernel
def act_once(
    actor: Actor, observation: Array, key: np.uint64, step: int, deterministic: bool, x: Array, action: Array
) -> int:
    """One step of a rollout in a Gymnasium environment; `x` is working memory. Returns -1 or the bad dimension."""
    tree = step if actor.space.trees > 1 else 0
    counter = step * actor.space.k if actor.space.k > 0 else step
    return act(actor, tree, observation, x, key, counter, deterministic, action)
