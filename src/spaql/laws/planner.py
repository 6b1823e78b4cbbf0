"""Sampled look-ahead on a compiled plant: what would be done by somebody who can try the next
seconds many times.

The cross-entropy method. At every step of an episode many sequences of actions are tried from the
state that was reached, the best few say where the next ones are drawn, and the first action of the
outcome is applied. Good where what pays is within reach of the sequences, however hard a law for it
is to find; the search takes it as a teacher.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.streams import LAWS_PLANNED, derive, plant_seed, uniform
from spaql.ground.workers import parts_of, side_by_side
from spaql.plants.plant import Batch
from spaql.plants.problem import Finite, Problem
from spaql.training.lanes import Lanes, Stage, fill_noise, new_lanes, stage_of

SEQUENCES = 64  # tried at a time; at most LANES
ELITES = 8  # of them that say where the next ones are drawn
ROUNDS = 4  # of trying at every step
FIRST = 12  # the same, at the first step of an episode
KNOTS = 15  # actions of a sequence: with more, an unstable plant cannot be held by a sequence
FAR = 100  # steps that a sequence covers, at most; at least one per knot
COVERED_PART = 6  # a sequence covers a sixth of the episode, within these bounds
SPREAD = 0.7  # of the first sequences, in halves of the action's range
LEAST = 0.03  # spread of the others
ALIKE = 0.5  # correlation of the actions at neighbouring knots
SHAKEN = 0.1  # noise on every second episode's actions, in halves of the range: lessons about small errors
MOST_STEPS = 250  # of an episode that are planned
BUDGET = 40_000_000  # steps of the plant
EPISODES = 40  # at most


class Look(NamedTuple):
    """How far ahead, and with which actions."""

    holds: Array  # int64 (knots,) steps for which the action of a knot is held
    low: Array  # (axes,)
    high: Array
    values: Array  # (n,) finite actions; empty: any between `low` and `high`


class PlannerScratch(NamedTuple):
    """Arrays of a look-ahead: numbers between -1 and 1 for actions."""

    z: Array  # (sequences, knots, axes)
    returns: Array  # (sequences,)
    elite: Array  # int64 (elites,)
    middle: Array  # (knots, axes)
    spread: Array
    place: Array  # state and observation that was reached


class Planned(NamedTuple):
    """Planned episodes."""

    states: Array
    actions: Array
    returns: Array  # of the episodes
    steps: int  # of the plant that this took


def planned(problem: Problem, seed: int, room: int) -> Planned:
    """Episodes by look-ahead, with at most `room` steps of the plant."""
    assert problem.plant is not None
    cover, steps = covered(problem), min(problem.horizon, MOST_STEPS)
    each = ((steps - 1) * ROUNDS + FIRST) * SEQUENCES * cover + steps
    episodes = min(EPISODES, min(room, BUDGET) // each)
    d, axes = len(problem.state), problem.actions.axes
    if episodes < 1:
        return Planned(np.empty((0, d)), np.empty((0, axes)), np.empty(0), 0)
    plant, key, look = problem.plant, np.uint64(plant_seed(seed, LAWS_PLANNED, 0)), look_of(problem, cover)
    returns = np.zeros(episodes)

    batch = plant.batch  # what is computed once per plant is computed before there are threads

    def some(lanes: Lanes, first: int, last: int) -> tuple[Array, Array, Array]:
        states, actions = np.empty(((last - first) * steps, d)), np.empty(((last - first) * steps, axes))
        used = np.zeros(2, np.int64)
        _episodes(
            *batch, stage_of(plant, steps), lanes, look, new_scratch(problem), key, first,
            returns[first:last], states, actions, used,
        )  # fmt: skip
        return states[: used[0]], actions[: used[0]], used

    parts = parts_of(episodes, 1) if plant.costly else [(0, episodes)]
    states, actions, used = zip(*side_by_side([partial(some, new_lanes(plant), *part) for part in parts]), strict=True)
    seen, applied = np.concatenate(states), np.concatenate(actions)
    sound = np.isfinite(seen).all(axis=1)
    return Planned(seen[sound], applied[sound], returns, int(sum(used)[1]))


def covered(problem: Problem) -> int:
    """Steps that a sequence covers."""
    return max(KNOTS, min(FAR, problem.horizon // COVERED_PART))


def new_scratch(problem: Problem) -> PlannerScratch:
    assert problem.plant is not None
    axes, rows = problem.actions.axes, problem.plant.rows
    return PlannerScratch(
        np.zeros((SEQUENCES, KNOTS, axes)), np.zeros(SEQUENCES), np.zeros(ELITES, np.int64), np.zeros((KNOTS, axes)),
        np.zeros((KNOTS, axes)), np.zeros(rows.action),
    )  # fmt: skip


def look_of(problem: Problem, cover: int) -> Look:
    ends = np.unique(np.maximum(np.arange(1, KNOTS + 1), np.geomspace(1, cover, KNOTS).round())).astype(np.int64)
    holds = np.diff(np.concatenate([[0], np.sort(ends)]))
    holds = np.concatenate([holds, np.zeros(KNOTS - len(holds), np.int64)]).astype(np.int64)
    if isinstance(problem.actions, Finite):
        values = np.array(problem.actions.values, float)
        return Look(holds, np.zeros(1), np.zeros(1), values)
    low, high = problem.actions.bounds
    return Look(holds, low, high, np.zeros(0))


@inlined
def action_of(look: Look, z: float, axis: int) -> float:
    """The physical action for a number between -1 and 1."""
    part = 0.5 * (min(max(z, -1.0), 1.0) + 1.0)
    if len(look.values) > 0:
        return float(look.values[int(part * (len(look.values) - 1) + 0.5)])
    return float(look.low[axis] + part * (look.high[axis] - look.low[axis]))


@inlined
def _normal(key: np.uint64, number: int) -> float:
    """Box and Muller."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(key, 2 * number)))
    return float(radius * np.cos(2.0 * np.pi * uniform(key, 2 * number + 1)))


@inlined
def draw(scratch: PlannerScratch, key: np.uint64) -> None:
    """Sequences around the middle; the first is the middle itself."""
    count, knots, axes = scratch.z.shape
    fresh, number = np.sqrt(1.0 - ALIKE * ALIKE), 0
    for i in range(count):
        for axis in range(axes):
            e = 0.0
            for k in range(knots):
                more = _normal(key, number)
                number += 1
                e = more if k == 0 else ALIKE * e + fresh * more
                z = scratch.middle[k, axis] + (0.0 if i == 0 else scratch.spread[k, axis] * e)
                scratch.z[i, k, axis] = min(max(z, -1.0), 1.0)


@inlined
def attempt(
    step: Batch, stage: Stage, lanes: Lanes, look: Look, scratch: PlannerScratch, key: np.uint64, time: int
) -> int:
    """The return of every sequence from the place, all with the same noise. Returns the steps."""
    rows, n, axes = stage.rows, len(scratch.returns), scratch.z.shape[2]
    over, steps = lanes.sums, 0
    for i in range(n):
        for row in range(rows.action):
            lanes.table[row, i] = scratch.place[row]
        lanes.plant_key[i], lanes.table[rows.done, i] = key, 0.0
        over[i], scratch.returns[i] = 0.0, 0.0
    for k in range(len(look.holds)):
        for axis in range(axes):
            for i in range(n):
                lanes.table[rows.action + axis, i] = action_of(look, scratch.z[i, k, axis], axis)
        for _ in range(look.holds[k]):
            if time >= stage.horizon:
                break
            fill_noise(lanes, rows.noise, stage.step_noise, stage.reset_noise + time * stage.step_noise, n)
            step(lanes.flat, n)
            time += 1
            steps += n
            for i in range(n):
                scratch.returns[i] += (1.0 - over[i]) * lanes.table[rows.reward, i]
                over[i] = max(over[i], lanes.table[rows.done, i])
    return steps


@inlined
def improve(
    step: Batch, stage: Stage, lanes: Lanes, look: Look, scratch: PlannerScratch, key: np.uint64, time: int, rounds: int
) -> tuple[float, int]:
    """The plan from the place, made better in so many rounds. Returns the highest return, and the steps."""
    scratch.spread[:] = SPREAD
    highest, steps = -np.inf, 0
    for turn in range(rounds):
        draw(scratch, derive(key, turn + 1))
        steps += attempt(step, stage, lanes, look, scratch, key, time)
        highest = max(highest, _learn(scratch))
    return highest, steps


@inlined
def _learn(scratch: PlannerScratch) -> float:
    """Middle and spread of the best sequences. Returns the highest return."""
    elite, returns, n, highest = scratch.elite, scratch.returns, len(scratch.elite), -np.inf
    for at in range(n):
        best = 0
        for i in range(len(returns)):
            if returns[i] > returns[best] or np.isnan(returns[best]):
                best = i
        highest = max(highest, float(returns[best]))
        elite[at], returns[best] = best, -np.inf
    for k in range(scratch.z.shape[1]):
        for axis in range(scratch.z.shape[2]):
            mean, square = 0.0, 0.0
            for at in range(n):
                mean += scratch.z[elite[at], k, axis] / n
            for at in range(n):
                square += (scratch.z[elite[at], k, axis] - mean) ** 2 / n
            scratch.middle[k, axis], scratch.spread[k, axis] = mean, max(LEAST, np.sqrt(square))
    return highest


@inlined
def go_on(look: Look, scratch: PlannerScratch) -> None:
    """The rest of the plan: a knot takes over the action that stands where it begins now."""
    begin, at, end = 0, 0, look.holds[0]
    for k in range(len(look.holds)):
        while end <= begin + 1 and at < len(look.holds) - 1:
            at += 1
            end += look.holds[at]
        for axis in range(scratch.middle.shape[1]):
            scratch.middle[k, axis] = scratch.middle[at, axis]
        begin += look.holds[k]


@kernel
def _episodes(
    reset: Batch, step: Batch, stage: Stage, lanes: Lanes, look: Look, scratch: PlannerScratch, key: np.uint64,
    first: int, returns: Array, states: Array, actions: Array, used: Array,
) -> None:  # fmt: skip
    """From episode `first` on. `used`: rows of `states` and `actions` that were filled, and steps of the plant."""
    rows, d, axes = stage.rows, states.shape[1], actions.shape[1]
    for number in range(len(returns)):
        episode = first + number
        own, plans = derive(derive(key, episode), 0), derive(derive(key, episode), 1)
        for i in range(4):
            lanes.plant_key[i] = own
        fill_noise(lanes, rows.noise, stage.reset_noise, 0, 4)
        reset(lanes.flat, 4)
        for row in range(rows.action):
            scratch.place[row] = lanes.table[row, 0]
        scratch.middle[:] = 0.0
        for time in range(stage.horizon):
            rounds = FIRST if time == 0 else ROUNDS
            used[1] += improve(step, stage, lanes, look, scratch, derive(plans, 2 * time), time, rounds)[1]
            for j in range(d):
                states[used[0], j] = scratch.place[rows.action - d + j]
            for row in range(rows.action):
                for i in range(4):
                    lanes.table[row, i] = scratch.place[row]
            for axis in range(axes):
                z = scratch.middle[0, axis]
                actions[used[0], axis] = action_of(look, z, axis)
                if episode % 2 == 1:
                    z += SHAKEN * _normal(derive(plans, 2 * time + 1), axis)
                for i in range(4):
                    lanes.table[rows.action + axis, i] = action_of(look, z, axis)
            used[0] += 1
            for i in range(4):
                lanes.plant_key[i], lanes.table[rows.done, i] = own, 0.0
            fill_noise(lanes, rows.noise, stage.step_noise, stage.reset_noise + time * stage.step_noise, 4)
            step(lanes.flat, 4)
            used[1] += 1
            returns[number] += lanes.table[rows.reward, 0]
            for row in range(rows.action):
                scratch.place[row] = lanes.table[row, 0]
            if lanes.table[rows.done, 0] != 0.0:
                break
            go_on(look, scratch)
