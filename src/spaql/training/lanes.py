"""The lanes of lock-step rollouts: episodes side by side, one column each; how they start, step, end and are booked.

Every rollout has its own random streams, so its bits do not depend on the rollouts beside it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import derive, uniform
from spaql.plants.chart import HUGE
from spaql.plants.plant import LANES, Batch, Plant, Rows
from spaql.plants.problem import Problem
from spaql.training.tally import Tally, count_step, no_tally

WIDTH = 4  # lanes are padded to a multiple of this number: the rest of a vector loop would run one by one
# codes of a fault
OK = 0
BAD_OBSERVATION = 1
BAD_REWARD = 2
BAD_ACTION = 3
OWN_KEYS = np.zeros(0, np.uint64)
OWN_STARTS = np.zeros((0, 0))
OWN_BLOCKS = np.zeros((0, 0), np.uint64)


class Stage(NamedTuple):
    """The plant side of an episode; the functions `reset` and `step` of the plant are arguments of their own."""

    rows: Rows  # of the plant's table
    reset_noise: int  # uniform numbers that a start state takes
    step_noise: int  # uniform numbers that a step takes
    horizon: int  # steps of an episode that does not end before


Act = Callable[[Any, Rows, "Lanes", int, int, int, int], bool]


class Episodes(NamedTuple):
    """Which rollouts to make, and where their returns go."""

    plant_seed: np.uint64  # rollout i draws start state and noise from sub-stream i of this seed
    returns: Array  # (rollouts,)
    first: int  # rollouts `first` ... `last - 1`
    last: int
    keys: Array = OWN_KEYS  # uint64 (rollouts,) the stream each draws from instead; empty: as `plant_seed` says
    starts: Array = OWN_STARTS  # (rollouts, numbers) uniform numbers that each start takes; empty: those of its stream
    blocks: Array = OWN_BLOCKS  # uint64 (rollouts, blocks) the streams of equal parts of each episode, with `starts`
    action_key: np.uint64 = np.uint64(0)  # rollout i draws its actions from sub-stream i of this key; trees draw none


class Lanes(NamedTuple):
    """Arrays with one column per rollout under way."""

    flat: Array  # the table of the plant, as its batch functions take it
    table: Array  # the same memory, (rows, LANES)
    cell: Array  # int32 (d, LANES): position in the finest grid
    node: Array  # int32: cell of the merged tree
    plant_key: Array  # uint64: the random stream of the plant
    action_key: Array  # uint64: the random stream of the actions
    rollout: Array  # int64: which rollout the lane carries
    begun: Array  # int64: steps of the episode made before the lane took it up; 0 but for kept moments
    sums: Array  # float64: scratch, the weighted sums of an oblique test or of a law
    best: Array  # float64: scratch, the highest score of a law so far
    code: Array  # int64: the orthants of all levels; of a decision tree the leaf
    spreading: Array  # int64 (2, 4): shifts and masks that spread the bits of an index d apart
    fault: Array  # int64: [code, rollout, step, dimension] of the first bad number
    tally: Tally  # one row per rollout: what is counted beside the return; no rows, nothing is


def stage_of(plant: Plant, horizon: int) -> Stage:
    return Stage(plant.rows, plant.reset_noise, plant.step_noise, horizon)


def new_lanes(plant: Plant, tally: Tally | None = None) -> Lanes:
    d, table = plant.observation_dim, plant.table()
    return Lanes(
        flat=table.reshape(-1),
        table=table,
        cell=np.zeros((d, LANES), np.int32),
        node=np.zeros(LANES, np.int32),
        plant_key=np.zeros(LANES, np.uint64),
        action_key=np.zeros(LANES, np.uint64),
        rollout=np.zeros(LANES, np.int64),
        begun=np.zeros(LANES, np.int64),
        sums=np.zeros(LANES),
        best=np.zeros(LANES),
        code=np.zeros(LANES, np.int64),
        spreading=spreading(d),
        fault=np.zeros(4, np.int64),
        tally=no_tally() if tally is None else tally,
    )


def spreading(d: int) -> Array:
    """Four rounds x = (x | x << shift) & mask move bit b of a 16-bit index to position b * d, as far as 63 bits go."""
    rounds = np.zeros((2, 4), np.int64)
    for at, group in enumerate((8, 4, 2, 1)):  # groups of `group` bits move apart
        mask = sum(((1 << group) - 1) << (g * group * d) for g in range(16 // group))
        fits = group * (d - 1) < 63  # else the index has no bits beyond the first group
        rounds[:, at] = group * (d - 1) if fits else 0, mask & (2**63 - 1) if fits else (1 << group) - 1
    return rounds


@inlined
def fill_noise(lanes: Lanes, first_row: int, count: int, offset: int, n: int) -> None:
    """Uniform numbers `offset`, `offset + 1`, ... of every lane's stream into the noise rows."""
    for c in range(count):
        row = lanes.table[first_row + c]
        for i in range(n):
            row[i] = uniform(lanes.plant_key[i], offset + c)


@inlined
def _copy_lane(rows: Rows, lanes: Lanes, source: int, target: int) -> None:
    for row in range(rows.action):  # state and observation
        lanes.table[row, target] = lanes.table[row, source]
    lanes.table[rows.done, target] = lanes.table[rows.done, source]
    lanes.table[rows.total, target] = lanes.table[rows.total, source]
    lanes.plant_key[target] = lanes.plant_key[source]
    lanes.action_key[target] = lanes.action_key[source]
    lanes.rollout[target] = lanes.rollout[source]
    lanes.begun[target] = lanes.begun[source]


@inlined
def pad(rows: Rows, lanes: Lanes, n: int) -> int:
    """Fill up the last vector with copies of lane 0, which stay in range because it does."""
    padded = -(-n // WIDTH) * WIDTH
    for i in range(n, padded):
        _copy_lane(rows, lanes, 0, i)
    return padded


@inlined
def start_lanes(reset: Batch, stage: Stage, lanes: Lanes, episodes: Episodes, begin: int, n: int) -> int:
    """Start states of rollouts `begin` ... `begin + n - 1`. Returns the padded number of lanes."""
    for i in range(n):
        rollout = begin + i
        lanes.rollout[i], lanes.begun[i] = rollout, 0
        own = len(episodes.keys) > 0
        lanes.plant_key[i] = episodes.keys[rollout] if own else derive(episodes.plant_seed, rollout)
        lanes.action_key[i] = derive(episodes.action_key, rollout)
        lanes.table[stage.rows.total, i] = 0.0
    padded = pad(stage.rows, lanes, n)
    if len(episodes.starts) == 0:
        fill_noise(lanes, stage.rows.noise, stage.reset_noise, 0, padded)
    else:
        for c in range(stage.reset_noise):
            for i in range(padded):
                lanes.table[stage.rows.noise + c, i] = episodes.starts[lanes.rollout[i], c]
    reset(lanes.flat, padded)
    return padded


@inlined
def turn_lanes(stage: Stage, lanes: Lanes, episodes: Episodes, h: int, n: int) -> None:
    """Before step h: every lane goes over to the stream of its next block, if `episodes` has blocks."""
    if len(episodes.blocks) == 0:
        return
    length = -(-stage.horizon // episodes.blocks.shape[1])
    if h % length == 0:
        for i in range(n):
            lanes.plant_key[i] = episodes.blocks[lanes.rollout[i], h // length]


@inlined
def step_lanes(step: Batch, stage: Stage, lanes: Lanes, h: int, n: int) -> None:
    """Step h of every lane, with the noise of step h of its episode."""
    fill_noise(lanes, stage.rows.noise, stage.step_noise, stage.reset_noise + h * stage.step_noise, n)
    step(lanes.flat, n)


@inlined
def count_lanes(rows: Rows, lanes: Lanes, n: int) -> None:
    """After a step, before it is booked: what is counted of every episode, if anything is."""
    if len(lanes.tally.rows) == 0:
        return
    for i in range(n):
        reward, ended = lanes.table[rows.reward, i], lanes.table[rows.done, i] != 0.0
        count_step(lanes.tally, lanes.rollout[i], lanes.table, i, rows.observation, rows.action, reward, ended)


@inlined
def retire(rows: Rows, lanes: Lanes, returns: Array, n: int) -> int:
    """Book finished lanes and fill each gap with the last lane. Returns the number of lanes that go on."""
    i = 0
    while i < n:
        if lanes.table[rows.done, i] == 0.0:
            i += 1
            continue
        returns[lanes.rollout[i]] = lanes.table[rows.total, i]
        n -= 1
        if i < n:
            _copy_lane(rows, lanes, n, i)
    return n


@inlined
def book(rows: Rows, lanes: Lanes, returns: Array, n: int, padded: int) -> tuple[int, int]:
    """Add the rewards of a step; episodes that have ended leave. Returns how many go on, without and with padding."""
    reward, done, total = lanes.table[rows.reward], lanes.table[rows.done], lanes.table[rows.total]
    for i in range(padded):
        total[i] += reward[i]
    ended = 0
    for i in range(n):
        ended += 0 if done[i] == 0.0 else 1
    if ended > 0:
        n = retire(rows, lanes, returns, n)
        padded = pad(rows, lanes, n)
    return n, padded


@inlined
def check_returns(lanes: Lanes, episodes: Episodes) -> None:
    """A return that is not finite is a fault of the plant's rewards."""
    for j in range(episodes.first, episodes.last):
        if not abs(episodes.returns[j]) <= HUGE:
            lanes.fault[0], lanes.fault[1], lanes.fault[2], lanes.fault[3] = BAD_REWARD, j, -1, -1


@inlined
def run_lanes(
    reset: Batch, step: Batch, act: Act, actor: Any, stage: Stage, lanes: Lanes, episodes: Episodes
) -> int:
    """Episodes of whatever `act` says. Returns the steps.

    `act(actor, stage.rows, lanes, h, steps, n, padded)` fills in the actions of step h, when `steps` have been made,
    of `padded` lanes of which the first n are in use. False ends everything there: `lanes.fault` tells why.
    """
    rows, returns, steps = stage.rows, episodes.returns, 0
    for begin in range(episodes.first, episodes.last, LANES):
        n = min(LANES, episodes.last - begin)
        padded = start_lanes(reset, stage, lanes, episodes, begin, n)
        for h in range(stage.horizon):
            if n == 0:
                break
            if not act(actor, rows, lanes, h, steps, n, padded):
                return steps
            turn_lanes(stage, lanes, episodes, h, padded)
            step_lanes(step, stage, lanes, h, padded)
            count_lanes(rows, lanes, n)
            steps += n
            n, padded = book(rows, lanes, returns, n, padded)
        for i in range(n):  # those that have reached the horizon
            returns[lanes.rollout[i]] = lanes.table[rows.total, i]
    check_returns(lanes, episodes)
    return steps


# -- what is said of a compiled plant that gives numbers nobody can learn from -----------------------------------------


def bad_reward(problem: Problem, where: str) -> SpaqlError:
    return SpaqlError(f"the plant of {problem.name} gave a reward that is not finite ({where})")


def bad_state(problem: Problem, dimension: int, value: float, where: str) -> SpaqlError:
    """Of an observation that is not finite, or outside the declared bounds."""
    axis = problem.state[dimension]
    if not math.isfinite(value) or axis.slope is not None:
        return SpaqlError(
            f"the plant of {problem.name} gave a state that is not finite: {axis.name} is {value:g} ({where})"
        )
    return SpaqlError(
        f"the plant of {problem.name} left its declared bounds: "
        f"{axis.name} = {value:g} is not in {axis.low:g} ... {axis.high:g} ({where}): "
        "widen the axis, or give it a slope; the state after the last step of an episode counts, too"
    )
