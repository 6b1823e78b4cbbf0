"""The plant alone, as the yardstick of `spaql bench`: what is left of this speed when a learner drives the plant."""

import numpy as np

from spaql.compiling import kernel
from spaql.partition.forest import Space
from spaql.plants.chart import Chart
from spaql.plants.plant import Rows
from spaql.streams import derive, uniform
from spaql.training.rollouts import Batch, Lanes, fill_noise, locate, start_lanes


@kernel
def bare_plant(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int], space: Space, chart: Chart, lanes: Lanes, fresh: Lanes,
    n: int, steps: int,
) -> int:  # fmt: skip
    """`steps` rounds of n rollouts in lock-step: uniform random actions, observations in the cube; finished lanes start again.

    Returns the steps made. `fresh`: a second table, for start states.
    """
    key = np.uint64(0)
    padded = start_lanes(reset, rows, noise[0], lanes, key, key, 0, n)
    started = n
    for h in range(steps):
        for axis in range(rows.noise - rows.action):
            action = lanes.table[rows.action + axis]
            for i in range(padded):
                u = uniform(lanes.action_key[i], h * (rows.noise - rows.action) + axis)
                if space.k > 0:
                    action[i] = chart.acts[axis].centre + chart.acts[axis].scale * (2.0 * u - 1.0)
                else:
                    action[i] = chart.values[np.uint32(u * space.m)]
        fill_noise(lanes, rows.noise, noise[1], noise[0] + h * noise[1], padded)
        step(lanes.flat, padded)
        over = h % space.horizon == space.horizon - 1
        ended = 0
        for i in range(padded):
            lanes.table[rows.total, i] += lanes.table[rows.reward, i]
            if over or lanes.table[rows.done, i] != 0.0:
                fresh.rollout[ended] = i
                fresh.plant_key[ended] = derive(key, started)
                ended += 1
                started += 1
        if ended > 0:
            fill_noise(fresh, rows.noise, noise[0], 0, ended)
            reset(fresh.flat, ended)
            for i in range(ended):
                for row in range(rows.action):
                    lanes.table[row, fresh.rollout[i]] = fresh.table[row, i]
        locate(chart, lanes, rows.observation, padded)
    return n * steps
