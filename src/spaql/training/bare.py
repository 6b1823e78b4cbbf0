"""The plant alone, as the yardstick of `spaql bench`: what is left of this speed when a learner drives the plant."""

import numpy as np

from spaql.compiling import kernel
from spaql.plants.chart import Chart
from spaql.plants.plant import Batch
from spaql.plants.space import Space
from spaql.streams import derive, uniform
from spaql.training.lanes import Lanes, Stage, fill_noise, start_lanes, step_lanes
from spaql.training.rollouts import locate


@kernel
def bare_plant(
    reset: Batch, step: Batch, stage: Stage, space: Space, chart: Chart, lanes: Lanes, fresh: Lanes, n: int, steps: int
) -> int:
    """`steps` rounds of n rollouts in lock-step: random actions, observations in the cube; finished lanes start again.

    Returns the steps made. `fresh`: a second table, for start states.
    """
    key = np.uint64(0)
    rows = stage.rows
    padded = start_lanes(reset, stage, lanes, key, key, 0, n)
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
        step_lanes(step, stage, lanes, h, padded)
        over = h % stage.horizon == stage.horizon - 1
        ended = 0
        for i in range(padded):
            lanes.table[rows.total, i] += lanes.table[rows.reward, i]
            if over or lanes.table[rows.done, i] != 0.0:
                fresh.rollout[ended] = i
                fresh.plant_key[ended] = derive(key, started)
                ended += 1
                started += 1
        if ended > 0:
            fill_noise(fresh, rows.noise, stage.reset_noise, 0, ended)
            reset(fresh.flat, ended)
            for i in range(ended):
                for row in range(rows.action):
                    lanes.table[row, fresh.rollout[i]] = fresh.table[row, i]
        locate(chart, lanes, rows.observation, padded)
    return n * steps
