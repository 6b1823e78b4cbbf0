"""Episodes in the learned model."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.learners.atlas.model import Model, cell_of, predict
from spaql.learners.atlas.values import Support
from spaql.streams import uniform


@kernel
def rehearse(model: Model, support: Support, table: Array, starts: Array, horizon: int, gamma: float, total: Array, discounted: Array, work: Array) -> None:
    """Play the table from every start; undiscounted and discounted returns."""
    d = starts.shape[1]
    z, after = work[0, :d], work[1, :d]
    for i in range(len(starts)):
        for j in range(d):
            z[j] = starts[i, j]
        total[i], discounted[i], g = 0.0, 0.0, 1.0
        for _ in range(horizon):
            action = table[support.of_cell[cell_of(support.cells, z)]]
            reward = predict(model, cell_of(model.nodes, z), z, action, after)
            end = cell_of(model.ends, after)
            if model.ending[end] == 1:
                reward += model.last_reward[end]
            total[i] += reward
            discounted[i] += g * reward
            if model.ending[end] == 1:
                break
            g *= gamma
            for j in range(d):
                z[j] = after[j]


@kernel
def follow(
    model: Model, cells: Array, table: Array, ratio: Array, offset: Array, starts: Array, length: int, chance: float, key: np.uint64,
    states: Array, work: Array,
) -> int:  # fmt: skip
    """Model rollouts of an older table (in its own metric: ratio * z + offset), now and then a random action; fills `states`."""
    from_uniform, made, d = len(model.features), 0, starts.shape[1]
    z, after, seen = work[0, :d], work[1, :d], work[2, :d]
    for i in range(len(starts)):
        for j in range(d):
            z[j] = starts[i, j]
        for t in range(length):
            for j in range(d):
                seen[j] = ratio[j] * z[j] + offset[j]
            drawn = 2 * (i * length + t)
            action = table[cell_of(cells, seen)]
            if uniform(key, drawn) < chance:
                action = int(uniform(key, drawn + 1) * from_uniform)
            predict(model, cell_of(model.nodes, z), z, action, after)
            for j in range(d):
                z[j] = after[j]
                states[made, j] = z[j]
            made += 1
            if model.ending[cell_of(model.ends, z)] == 1:
                break
    return made
