"""What is counted of every episode of an evaluation, step by step: the same code in both loops."""

from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.compiling import entry, machine_code
from spaql.plants.equations import parameter_text
from spaql.plants.limits import limit_table, limit_units
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation

# Columns of an episode; behind them two per limit (steps that violate it, worst excess, below zero where it was kept),
# then the action before.
LENGTH = 0
ENDED = 1  # 1.0 if it terminated
LAST = 2  # reward of its last step
EFFORT = 3  # sums over its steps
SWITCHING = 4
FIRST_LIMIT = 5


class Tally(NamedTuple):
    """One row per episode. Without rows nothing is counted: searches need returns only."""

    rows: Array  # (episodes, columns)
    limits: Array  # (limits, 3): place in observation and action one behind the other, low, high
    ranges: Array  # (action axes, 2): middle, and what makes a distance a share of half the range, mean over the axes


def new_tally(problem: Problem, episodes: int) -> Tally:
    low, high = problem.actions.bounds
    half = 0.5 * (high - low)
    # a set of one action has no range: nothing to measure
    scale = np.divide(1.0 / len(half), half, out=np.zeros_like(half), where=half > 0.0)
    limits = limit_table(problem.limits, problem.state, problem.actions)
    rows = np.zeros((episodes, FIRST_LIMIT + 2 * len(limits) + len(half)))
    excesses_of(rows, len(limits))[:] = -np.inf
    return Tally(rows, limits, np.column_stack([0.5 * (low + high), scale]))


def excesses_of(rows: Array, limits: int) -> Array:
    """(episodes, limits) the worst excess over each limit, physical units; below zero: what was left to it."""
    excesses: Array = rows[:, FIRST_LIMIT + 1 : FIRST_LIMIT + 2 * limits : 2]
    return excesses


def no_tally() -> Tally:
    """Nothing is counted."""
    return Tally(np.zeros((0, FIRST_LIMIT)), np.zeros((0, 3)), np.zeros((0, 2)))


@entry
def count_step(
    tally: Tally, episode: int, table: Array, column: int, observation: int, action: int, reward: float, ended: bool
) -> None:
    """One step of one episode: the action that was applied, and what was observed after it.

    `table` has them in its column from row `observation` and from row `action` on, one behind the other.
    """
    row, limits, ranges = tally.rows[np.uint64(episode)], tally.limits, tally.ranges
    before, begun = FIRST_LIMIT + 2 * len(limits), row[LENGTH] > 0.0
    for k in range(len(ranges)):
        value, scale = table[np.uint64(action + k), np.uint64(column)], ranges[k, 1]
        change = abs(value - row[before + k]) * (0.5 * scale)
        row[EFFORT] += abs(value - ranges[k, 0]) * scale
        row[SWITCHING] += change if begun else 0.0
        row[before + k] = value
    for j in range(len(limits)):
        value, at = table[np.uint64(observation + limits[j, 0]), np.uint64(column)], FIRST_LIMIT + 2 * j
        excess = max(limits[j, 1] - value, value - limits[j, 2])
        row[at + 1] = max(row[at + 1], excess)
        if not excess <= 0.0:  # what is not a number violates every limit
            row[at] += 1.0
    row[LENGTH] += 1.0
    row[LAST], row[ENDED] = reward, 1.0 if ended else 0.0


class Counter:
    """Counts the steps of environments, which compiled code cannot call."""

    def __init__(self, problem: Problem, tally: Tally) -> None:
        self.tally, self.d = tally, len(problem.state)
        self.column = np.zeros((self.d + problem.actions.axes, 1))
        self.count = machine_code(count_step, self.tally, 0, self.column, 0, 0, self.d, 0.0, False)

    def step(self, episode: int, action: Array, observation: Any, reward: float, ended: bool) -> None:
        self.column[: self.d, 0], self.column[self.d :, 0] = observation, action
        self.count(self.tally, episode, self.column, 0, 0, self.d, reward, ended)


def counted(problem: Problem, returns: Array, samples: int, tally: Tally, seed: int) -> Evaluation:
    """The evaluation that a tally amounts to."""
    rows, limits = tally.rows, len(tally.limits)
    lengths = rows[:, LENGTH]
    violated = rows[:, FIRST_LIMIT : FIRST_LIMIT + 2 * limits : 2]
    changed = f" with {parameter_text(problem.parameters)}" if problem.parameters else ""
    return Evaluation(
        returns, samples,
        lengths=lengths.astype(np.int64), terminated=rows[:, ENDED] != 0.0, last=rows[:, LAST].copy(),
        effort=rows[:, EFFORT] / lengths, switching=rows[:, SWITCHING] / np.maximum(lengths - 1.0, 1.0),
        violated=violated / lengths[:, None], excess=np.maximum(excesses_of(rows, limits), 0.0),
        limits=tuple(problem.limits), units=limit_units(problem.limits, problem.state, problem.actions),
        plant=problem.name + changed, horizon=problem.horizon, seed=seed, ends=problem.ends,
    )  # fmt: skip
