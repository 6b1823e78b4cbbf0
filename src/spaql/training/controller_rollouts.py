"""Lock-step rollouts of a controller that is a function of the observation, on a compiled plant.

The function fills the rows of the action by a batch function, as `reset` and `step` of the plant fill theirs: one
kernel serves all controllers.
"""

import numpy as np

from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.plants.chart import HUGE
from spaql.plants.plant import LANES, Batch, Rows
from spaql.policy.allowed import Allowed, settled
from spaql.training.lanes import (
    BAD_ACTION,
    Episodes,
    Lanes,
    Stage,
    book,
    check_returns,
    count_lanes,
    finish,
    start_asked,
    step_lanes,
    turn_lanes,
)


@inlined
def settle_lanes(allowed: Allowed, lanes: Lanes, rows: Rows, n: int) -> int:
    """`allowed.settled` for all lanes. Returns a lane whose action is not allowed, which is left as it was, or -1."""
    for axis in range(len(allowed.low)):
        row, low, high, bad = lanes.table[rows.action + axis], allowed.low[axis], allowed.high[axis], 0
        if len(allowed.values) == 0:  # counted first: a loop that may end early does not vectorise
            for i in range(n):
                bad += 0 if abs(row[i]) <= HUGE else 1
            if bad == 0:
                for i in range(n):
                    row[i] = min(max(row[i], low), high)
                continue
        for i in range(n):
            value = settled(allowed, axis, row[i])
            if np.isnan(value):
                return i
            row[i] = value
    return -1


@kernel
def run_controller(
    reset: Batch,
    step: Batch,
    act: Batch,
    stage: Stage,
    allowed: Allowed,
    lanes: Lanes,
    episodes: Episodes,
    wrong: Array,
) -> int:
    """Episodes of a controller. Returns the steps.

    At an action that is not allowed it stops, and leaves the observation and the action in `wrong`.
    """
    rows, returns, steps = stage.rows, episodes.returns, 0
    for begin in range(episodes.first, episodes.last, LANES):
        n = min(LANES, episodes.last - begin)
        padded = start_asked(reset, stage, lanes, episodes, begin, n)
        for h in range(stage.horizon):
            if n == 0:
                break
            act(lanes.flat, padded)
            wrong_lane = settle_lanes(allowed, lanes, rows, padded)
            if wrong_lane >= 0:
                for j in range(len(wrong)):
                    wrong[j] = lanes.table[rows.observation + j, wrong_lane]
                lanes.fault[0], lanes.fault[1] = BAD_ACTION, lanes.rollout[wrong_lane]
                lanes.fault[2], lanes.fault[3] = h, -1
                return steps
            turn_lanes(stage, lanes, episodes, h, padded)
            step_lanes(step, stage, lanes, h, padded)
            count_lanes(rows, lanes, n)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        finish(rows, lanes, returns, n)
    check_returns(lanes, episodes)
    return steps
