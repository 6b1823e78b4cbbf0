"""Rollouts of an agent as it is: fresh evaluation, and the loop of Random, which has nothing else."""

from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.streams import FRESH_ACTION, FRESH_PLANT, SELECT_ACTION, SELECT_PLANT
from spaql.training.compiled import play_compiled
from spaql.training.gym_loop import play_gym
from spaql.training.history import COLUMNS, Evaluation
from spaql.training.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.training.rollouts import mean_return

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


def play(agent: "Agent", seed: int, purposes: tuple[int, int], iteration: int, deterministic: bool, returns: Array) -> int:
    """Rollouts of the agent's policy; fills `returns`, gives the steps."""
    run = play_compiled if agent.problem.plant is not None else play_gym
    return run(agent, seed, purposes, iteration, deterministic, returns)


def fresh_rollouts(agent: "Agent", episodes: int, seed: int, deterministic: bool) -> Evaluation:
    """See `Agent.evaluate`."""
    if not agent.problem.can_run:
        raise SpaqlError(f"{agent.problem.name} has no plant to evaluate on (a loaded agent gets one with problem=...)")
    returns = np.empty(episodes)
    steps = play(agent, seed, (FRESH_PLANT, FRESH_ACTION), 0, deterministic, returns)
    return Evaluation(returns, steps)


class RandomLoop:
    """Random learns nothing: every iteration is an evaluation."""

    def __init__(self, agent: "Agent", rollouts: int) -> None:
        self.agent, self.returns = agent, np.empty(rollouts)

    def run(self, iterations: int) -> Array:
        agent, outer = self.agent, self.agent.state.outer
        rows = np.zeros((iterations, len(COLUMNS)))
        for i in range(iterations):
            at = len(agent.state.history) + i
            try:
                outer[EVAL_SAMPLES] += play(agent, agent.seed, (SELECT_PLANT, SELECT_ACTION), at + 1, False, self.returns)
            except SpaqlError:
                agent.state.history = np.concatenate([agent.state.history, rows[:i]])
                raise
            mean = mean_return(self.returns)
            rows[i] = mean, mean, agent.arms, outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES], 0.0
        return rows
