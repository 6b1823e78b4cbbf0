"""Training on compiled plants: a whole stretch of iterations, training episode and evaluation, without leaving compiled code."""

import numpy as np

from spaql import streams
from spaql.arrays import Array
from spaql.compiling import inlined, kernel
from spaql.learners import aql_steps, spaql_steps
from spaql.learners.update import Rule
from spaql.partition.forest import ARMS, SPLITS, USED, Forest, Space, copy_into
from spaql.partition.greedy import Greedy, Scratch
from spaql.partition.merging import merge_all
from spaql.plants.chart import HUGE, Chart
from spaql.plants.plant import Rows
from spaql.training.outer import BEST_ARMS, BEST_RETURN, EVAL_SAMPLES, KEEP, RESET, TAU, TRAIN_SAMPLES, begin, judge
from spaql.training.rollouts import (
    BAD_OBSERVATION,
    BAD_REWARD,
    OK,
    Batch,
    Lanes,
    fill_noise,
    mean_return,
    rollouts,
)

EVALUATION, BEST_SEEN, LEAVES, TRAINED, EVALUATED, TEMPERATURE = range(6)  # columns of the history


@inlined
def _begin_episode(reset: Batch, rows: Rows, noise: tuple[int, int], one: Lanes, plant_seed: np.uint64) -> None:
    one.plant_key[0] = streams.derive(plant_seed, 0)
    fill_noise(one, rows.noise, noise[0], 0, 1)
    reset(one.flat, 1)


@inlined
def _move(step: Batch, rows: Rows, noise: tuple[int, int], one: Lanes, h: int) -> None:
    fill_noise(one, rows.noise, noise[1], noise[0] + h * noise[1], 1)
    step(one.flat, 1)


@inlined
def _fault(one: Lanes, code: int, step: int, dimension: int) -> None:
    one.fault[0], one.fault[1], one.fault[2], one.fault[3] = code, -1, step, dimension


@inlined
def spaql_episode(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int],
    space: Space, chart: Chart, rule: Rule, forest: Forest, scratch: Scratch, one: Lanes,
    tau: float, plant_seed: np.uint64, key: np.uint64,
) -> int:  # fmt: skip
    """One training episode. Returns its steps."""
    observation, action = one.table[rows.observation : rows.action, 0], one.table[rows.action : rows.noise, 0]
    _begin_episode(reset, rows, noise, one, plant_seed)
    bad = spaql_steps.first_step(forest, space, chart, scratch, tau, key, observation, action)
    if bad >= 0:
        _fault(one, BAD_OBSERVATION, 0, bad)
        return 0
    for h in range(space.horizon):
        _move(step, rows, noise, one, h)
        reward, terminated = one.table[rows.reward, 0], one.table[rows.done, 0] != 0.0
        if not abs(reward) <= HUGE:
            _fault(one, BAD_REWARD, h, -1)
            return h + 1
        bad = spaql_steps.next_step(forest, space, chart, rule, scratch, tau, key, h + 1, observation, reward, terminated, action)
        if bad >= 0:
            _fault(one, BAD_OBSERVATION, h + 1, bad)
        if terminated or bad >= 0:
            return h + 1
    return space.horizon


@inlined
def aql_episode(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int],
    space: Space, chart: Chart, rule: Rule, forest: Forest, greedy: Greedy, scratch: Scratch, one: Lanes,
    plant_seed: np.uint64, key: np.uint64,
) -> int:  # fmt: skip
    """One training episode. Returns its steps."""
    observation, action = one.table[rows.observation : rows.action, 0], one.table[rows.action : rows.noise, 0]
    _begin_episode(reset, rows, noise, one, plant_seed)
    bad = aql_steps.first_step(forest, space, chart, greedy, scratch, key, observation, action)
    if bad >= 0:
        _fault(one, BAD_OBSERVATION, 0, bad)
        return 0
    for h in range(space.horizon):
        _move(step, rows, noise, one, h)
        reward, terminated = one.table[rows.reward, 0], one.table[rows.done, 0] != 0.0
        if not abs(reward) <= HUGE:
            _fault(one, BAD_REWARD, h, -1)
            return h + 1
        bad = aql_steps.next_step(forest, space, chart, rule, greedy, scratch, key, h + 1, observation, reward, terminated, action)
        if bad >= 0:
            _fault(one, BAD_OBSERVATION, h + 1, bad)
        if terminated or bad >= 0:
            return h + 1
    return space.horizon


@inlined
def _evaluate(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int],
    space: Space, chart: Chart, greedy: Greedy, lanes: Lanes, seed: int, iteration: int, returns: Array, outer: Array,
) -> float:  # fmt: skip
    """Mean return of the greedy policy after `iteration` iterations; its steps are counted."""
    plant_seed = streams.plant_seed(seed, streams.SELECT_PLANT, iteration)
    key = streams.stream(seed, streams.SELECT_ACTION, iteration)
    n = len(returns)
    outer[EVAL_SAMPLES] += rollouts(reset, step, rows, noise, space, chart, greedy, lanes, plant_seed, key, False, returns, 0, n)
    return mean_return(returns)


@inlined
def _record(row: Array, outer: Array, evaluation: float, best: float, arms: float, tau: float) -> None:
    row[EVALUATION], row[BEST_SEEN], row[LEAVES], row[TEMPERATURE] = evaluation, best, arms, tau
    row[TRAINED], row[EVALUATED] = outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES]


@kernel
def train_spaql(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int],
    space: Space, chart: Chart, rule: Rule, cooling: tuple[float, float, bool], seed: int, iteration: int,
    trainee: Forest, best: Forest, greedy: Greedy, scratch: Scratch, one: Lanes, lanes: Lanes, returns: Array,
    outer: Array, history: Array, room: int,
) -> int:  # fmt: skip
    """Iterations `iteration`, `iteration + 1`, ... into the rows of `history`. Returns how many were done.

    Fewer than asked: the forest needs more room, or `one.fault` or `lanes.fault` says what was wrong with the plant.
    """
    tau_min, d, published = cooling
    untrained = 1 if np.isnan(outer[BEST_RETURN]) else 0  # then a round without training comes first
    for i in range(-untrained, len(history)):
        at, tau, splits = iteration + i, outer[TAU], trainee.size[SPLITS]
        if i >= 0:
            if trainee.size[USED] + room > len(trainee.balls):
                return i
            plant_seed = streams.plant_seed(seed, streams.TRAIN_PLANT, at)
            key = streams.stream(seed, streams.TRAIN_ACTION, at)
            outer[TRAIN_SAMPLES] += spaql_episode(reset, step, rows, noise, space, chart, rule, trainee, scratch, one, tau, plant_seed, key)
            if one.fault[0] != OK:
                return i
        merge_all(trainee, space, chart, greedy, scratch)
        evaluation = _evaluate(reset, step, rows, noise, space, chart, greedy, lanes, seed, at + 1, returns, outer)
        if lanes.fault[0] != OK:
            return max(i, 0)
        if i < 0:
            begin(outer, evaluation, trainee.size[ARMS])
            continue
        verdict = judge(outer, evaluation, trainee.size[ARMS], trainee.size[SPLITS] - splits, tau_min, d, published)
        if verdict == KEEP:
            copy_into(trainee, best)
        elif verdict == RESET:
            copy_into(best, trainee)
        _record(history[i], outer, evaluation, outer[BEST_RETURN], outer[BEST_ARMS], tau)
    return len(history)


@kernel
def train_aql(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int],
    space: Space, chart: Chart, rule: Rule, seed: int, iteration: int,
    forest: Forest, greedy: Greedy, scratch: Scratch, one: Lanes, lanes: Lanes, returns: Array,
    outer: Array, history: Array, room: int, merged: bool,
) -> int:  # fmt: skip
    """As `train_spaql`, for AQL, NBQL and ZoomRL: no temperature, no best agent; the current agent is what is reported.

    `merged`: `greedy` is already the policy of `forest`. Merging the many cells of a fine net anew would cost more than an episode.
    """
    if not merged:
        merge_all(forest, space, chart, greedy, scratch)
    for i in range(len(history)):
        if forest.size[USED] + room > len(forest.balls):
            return i
        at = iteration + i
        plant_seed = streams.plant_seed(seed, streams.TRAIN_PLANT, at)
        key = streams.stream(seed, streams.TRAIN_ACTION, at)
        steps = aql_episode(reset, step, rows, noise, space, chart, rule, forest, greedy, scratch, one, plant_seed, key)
        outer[TRAIN_SAMPLES] += steps
        if one.fault[0] != OK:
            return i
        evaluation = _evaluate(reset, step, rows, noise, space, chart, greedy, lanes, seed, at + 1, returns, outer)
        if lanes.fault[0] != OK:
            return i
        _record(history[i], outer, evaluation, evaluation, forest.size[ARMS], 0.0)
    return len(history)


@kernel
def play(
    reset: Batch, step: Batch, rows: Rows, noise: tuple[int, int],
    space: Space, chart: Chart, greedy: Greedy, lanes: Lanes, seed: int, purposes: tuple[int, int], iteration: int,
    deterministic: bool, returns: Array, first: int, last: int,
) -> int:  # fmt: skip
    """Fresh rollouts `first` ... `last - 1` of the greedy policy. Returns their steps."""
    plant_seed = streams.plant_seed(seed, purposes[0], iteration)
    key = streams.stream(seed, purposes[1], iteration)
    return rollouts(reset, step, rows, noise, space, chart, greedy, lanes, plant_seed, key, deterministic, returns, first, last)
