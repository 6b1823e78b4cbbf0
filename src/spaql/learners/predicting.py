"""The greedy action for observations from outside."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.partition.forest import COUNT_BITS, MAX_DEPTH, Space
from spaql.partition.greedy import LOW_HALF, Greedy, coordinates
from spaql.partition.search import cell_of
from spaql.plants.chart import Chart, to_cube
from spaql.streams import derive, uniform


@inlined
def act(
    space: Space, chart: Chart, greedy: Greedy, tree: int, observation: Array, x: Array,
    key: np.uint64, counter: int, deterministic: bool, action: Array,
) -> int:  # fmt: skip
    """The same action, to the bit, as the lock-step rollouts choose. Returns -1 or the bad dimension."""
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
    space: Space, chart: Chart, greedy: Greedy, observations: Array, tree: Array, key: np.uint64, deterministic: bool, x: Array,
    actions: Array,
) -> int:  # fmt: skip
    """Actions of a batch; `x` is working memory. Returns -1, or row * d + dimension of the first bad observation."""
    for i in range(len(observations)):
        bad = act(space, chart, greedy, tree[i], observations[i], x, derive(key, i), 0, deterministic, actions[i])
        if bad >= 0:
            return i * space.d + bad
    return -1


@kernel
def act_once(
    sizes: tuple[int, int, int, int], axes: Array, acts: Array, values: Array, jump: Array, cells: Array, centre: Array,
    observation: Array, key: np.uint64, step: int, deterministic: bool, work: Array,
) -> int:  # fmt: skip
    """One step of an evaluation rollout in a Gymnasium environment: `work` is x, then the action. Few arguments: it is called often."""
    d, k, m, trees = sizes
    space = Space(d, k, m, 0, trees, 2)
    greedy = Greedy(jump, cells, centre, work, work, work)  # `act` looks at no more
    tree = step if trees > 1 else 0
    counter = step * k if k > 0 else step
    return act(space, Chart(axes, acts, values), greedy, tree, observation, work[:d], key, counter, deterministic, work[d:])
