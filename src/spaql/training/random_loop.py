"""The loop of Random, on plants of both kinds: it learns nothing, so that every iteration is an evaluation."""

import threading
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.learners.history import COLUMNS, write_row
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.streams import SELECT_ACTION, SELECT_PLANT
from spaql.training.evaluation import run_rollouts
from spaql.training.rollouts import mean_return

if TYPE_CHECKING:
    from spaql.learners.forest_agent import ForestAgent


class RandomLoop:
    """Evaluates one agent that never changes."""

    finished = False

    def __init__(self, agent: "ForestAgent", rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.returns = agent, np.empty(rollouts)

    def run(self, iterations: int) -> Array:
        agent, outer = self.agent, self.agent.state.outer
        rows = np.zeros((iterations, len(COLUMNS)))
        for i in range(iterations):
            at = len(agent.state.history) + i
            try:
                purposes = (SELECT_PLANT, SELECT_ACTION)
                outer[EVAL_SAMPLES] += run_rollouts(agent, agent.seed, purposes, at + 1, False, self.returns)
            except SpaqlError:
                agent.state.history = np.concatenate([agent.state.history, rows[:i]])
                raise
            mean, train_samples, eval_samples = mean_return(self.returns), outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES]
            write_row(rows[i], mean, mean, float(agent.arms), float(train_samples), float(eval_samples), 0.0)
        return rows
