"""Training on compiled plants: a stretch of iterations, training episode and evaluation, without leaving compiled code.

The outer loop stands here for compiled plants, and in `gym_loop.GymLoop` for Gymnasium environments: the same rules in
the same order, tested to agree to the last bit (tests/training/test_two_loops.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.compiling import apart, inlined, kernel
from spaql.learners import aql_steps, spaql_steps
from spaql.learners.act import Actor, Exploration, Trainee, actor_of
from spaql.learners.history import write_row
from spaql.learners.outer import (
    BEST_ARMS,
    BEST_RETURN,
    EVAL_SAMPLES,
    KEEP,
    RESET,
    TAU,
    TRAIN_SAMPLES,
    Cooling,
    begin,
    judge,
)
from spaql.partition.forest import ARMS, SPLITS, USED, Forest, copy_into
from spaql.partition.merge import merge_all
from spaql.plants.chart import HUGE
from spaql.plants.plant import Batch
from spaql.training.lanes import BAD_OBSERVATION, BAD_REWARD, OK, Episodes, Lanes, Stage, fill_noise, step_lanes
from spaql.training.rollouts import greedy_rollouts, mean_return

FirstStep = Callable[[Trainee, Exploration, Array, Array], int]
NextStep = Callable[[Trainee, Exploration, int, Array, float, bool, Array], int]


class Clock(NamedTuple):
    """Where training stands: what the random streams of an iteration follow from."""

    seed: int  # of the agent
    iteration: int  # of the first row of the history to be filled


class KernelRoom(NamedTuple):
    """Working memory of the rollouts."""

    training: Lanes  # of the training episode, which uses one lane
    evaluation: Lanes
    episodes: Episodes  # of the evaluation; every iteration has its own seed


class LoopProgress(NamedTuple):
    """What training keeps beside the partition."""

    outer: Array  # see `learners.outer`
    history: Array  # rows to be filled, see `learners.history`
    spare: int  # balls that an episode can add: an iteration begins only if the forest has room for them


@inlined
def _fault(lanes: Lanes, code: int, step: int, dimension: int) -> None:
    lanes.fault[0], lanes.fault[1], lanes.fault[2], lanes.fault[3] = code, -1, step, dimension


@apart
def training_episode(
    reset: Batch, step: Batch, first_step: FirstStep, next_step: NextStep,
    stage: Stage, trainee: Trainee, exploration: Exploration, lanes: Lanes, plant_seed: np.uint64,
) -> int:  # fmt: skip
    """One training episode. Returns its steps.

    `first_step` and `next_step` are those of `spaql_steps` or `aql_steps`: each learner compiles only its own pair.
    """
    rows = stage.rows
    observation, action = lanes.table[rows.observation : rows.action, 0], lanes.table[rows.action : rows.noise, 0]
    lanes.plant_key[0] = streams.derive(plant_seed, 0)
    fill_noise(lanes, rows.noise, stage.reset_noise, 0, 1)
    reset(lanes.flat, 1)
    bad = first_step(trainee, exploration, observation, action)
    if bad >= 0:
        _fault(lanes, BAD_OBSERVATION, 0, bad)
        return 0
    for h in range(stage.horizon):
        step_lanes(step, stage, lanes, h, 1)
        reward, terminated = lanes.table[rows.reward, 0], lanes.table[rows.done, 0] != 0.0
        if not abs(reward) <= HUGE:
            _fault(lanes, BAD_REWARD, h, -1)
            return h + 1
        bad = next_step(trainee, exploration, h + 1, observation, reward, terminated, action)
        if bad >= 0:
            _fault(lanes, BAD_OBSERVATION, h + 1, bad)
        if terminated or bad >= 0:
            return h + 1
    return stage.horizon


@inlined
def _evaluate(
    reset: Batch, step: Batch, stage: Stage, actor: Actor, room: KernelRoom, seed: int, iteration: int, outer: Array
) -> float:
    """Mean return of the greedy policy after `iteration` iterations; the steps are counted."""
    plant_seed = streams.plant_seed(seed, streams.SELECT_PLANT, iteration)
    key = streams.stream(seed, streams.SELECT_ACTION, iteration)
    all_of = room.episodes
    # written out to the last field: of another type, as without the defaults, `rollouts` would be compiled once more
    episodes = Episodes(plant_seed, all_of.returns, 0, all_of.last, all_of.keys, all_of.starts, all_of.blocks, key)
    outer[EVAL_SAMPLES] += greedy_rollouts(reset, step, stage, actor, room.evaluation, episodes, False)
    return mean_return(all_of.returns)


@kernel
def train_spaql(
    reset: Batch, step: Batch, stage: Stage, trainee: Trainee, best: Forest, cooling: Cooling, clock: Clock,
    room: KernelRoom, progress: LoopProgress,
) -> int:  # fmt: skip
    """Iterations `clock.iteration`, `clock.iteration + 1`, ... into the rows of the history. Returns how many.

    Fewer than the rows: the forest needs more room, or the faults of the lanes in `room` say what was wrong with the
    plant.
    """
    forest, outer, history = trainee.forest, progress.outer, progress.history
    untrained = 1 if np.isnan(outer[BEST_RETURN]) else 0  # then an evaluation without training comes first
    for i in range(-untrained, len(history)):
        at, tau, splits = clock.iteration + i, outer[TAU], forest.size[SPLITS]
        if i >= 0:
            if forest.size[USED] + progress.spare > len(forest.balls):
                return i
            plant_seed = streams.plant_seed(clock.seed, streams.TRAIN_PLANT, at)
            exploration = Exploration(streams.stream(clock.seed, streams.TRAIN_ACTION, at), tau)
            first, following = spaql_steps.first_step, spaql_steps.next_step
            outer[TRAIN_SAMPLES] += training_episode(
                reset, step, first, following, stage, trainee, exploration, room.training, plant_seed
            )
            if room.training.fault[0] != OK:
                return i
        merge_all(forest, trainee.space, trainee.chart, trainee.greedy, trainee.scratch)
        evaluation = _evaluate(reset, step, stage, actor_of(trainee), room, clock.seed, at + 1, outer)
        if room.evaluation.fault[0] != OK:
            return max(i, 0)
        if i < 0:
            begin(outer, evaluation, forest.size[ARMS])
            continue
        split = forest.size[SPLITS] - splits
        verdict = judge(outer, evaluation, forest.size[ARMS], split, cooling.tau_min, cooling.d, cooling.published)
        if verdict == KEEP:
            copy_into(forest, best)
        elif verdict == RESET:
            copy_into(best, forest)
        write_row(
            history[i], evaluation, outer[BEST_RETURN], outer[BEST_ARMS], outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES], tau
        )
    return len(history)


@kernel
def train_aql(
    reset: Batch, step: Batch, stage: Stage, trainee: Trainee, clock: Clock, room: KernelRoom, progress: LoopProgress
) -> int:
    """As `train_spaql`, for AQL, NBQL and ZoomRL: no temperature, no best agent; the current agent is what is reported.

    `trainee.greedy` is the policy of the forest, before and after: every step corrects it where the forest has changed.
    """
    forest, outer, history = trainee.forest, progress.outer, progress.history
    for i in range(len(history)):
        if forest.size[USED] + progress.spare > len(forest.balls):
            return i
        at = clock.iteration + i
        plant_seed = streams.plant_seed(clock.seed, streams.TRAIN_PLANT, at)
        exploration = Exploration(streams.stream(clock.seed, streams.TRAIN_ACTION, at), 0.0)
        first, following = aql_steps.first_step, aql_steps.next_step
        outer[TRAIN_SAMPLES] += training_episode(
            reset, step, first, following, stage, trainee, exploration, room.training, plant_seed
        )
        if room.training.fault[0] != OK:
            return i
        evaluation = _evaluate(reset, step, stage, actor_of(trainee), room, clock.seed, at + 1, outer)
        if room.evaluation.fault[0] != OK:
            return i
        write_row(
            history[i], evaluation, evaluation, float(forest.size[ARMS]), outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES], 0.0
        )
    return len(history)
