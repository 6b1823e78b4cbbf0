"""One rollout of a greedy policy on a compiled plant, every step of it kept."""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import kernel
from spaql.learners.act import Actor, act_once
from spaql.plants.chart import HUGE
from spaql.plants.plant import Batch
from spaql.training.lanes import Lanes, Stage, fill_noise, step_lanes


@kernel
def recorded(
    reset: Batch,
    step: Batch,
    stage: Stage,
    actor: Actor,
    one: Lanes,
    action_key: np.uint64,
    deterministic: bool,
    x: Array,
    kept: Array,
) -> tuple[int, int]:
    """The rollout of the first lane, whose `plant_key` is set; `x` is working memory.

    Row h of `kept` has what is seen before step h, the action, and what the step brings, as in a table of the plant.
    Returns the steps, and -1 or the bad dimension of what was seen after them; after a bad reward it ends, too.
    """
    rows = stage.rows
    observation, action = one.table[rows.observation : rows.action, 0], one.table[rows.action : rows.noise, 0]
    fill_noise(one, rows.noise, stage.reset_noise, 0, 1)
    reset(one.flat, 1)
    for h in range(stage.horizon):
        for row in range(rows.observation, rows.action):
            kept[h, row] = one.table[row, 0]
        bad = act_once(actor, observation, action_key, h, deterministic, x, action)
        if bad >= 0:
            return h, bad
        step_lanes(step, stage, one, h, 1)
        for row in range(rows.action, rows.end):
            kept[h, row] = one.table[row, 0]
        if one.table[rows.done, 0] != 0.0 or h == stage.horizon - 1 or not abs(one.table[rows.reward, 0]) <= HUGE:
            for row in range(rows.observation, rows.action):
                kept[h + 1, row] = one.table[row, 0]
            return h + 1, -1
    return stage.horizon, -1
