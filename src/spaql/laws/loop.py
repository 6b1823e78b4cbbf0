"""The training loop of Laws: a stage of the search per iteration."""

import threading

import numpy as np

from spaql.arrays import Array
from spaql.laws.stages import run_stage
from spaql.laws.trials import Trials
from spaql.learners.history import COLUMNS, write_row
from spaql.learners.laws import Laws
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.streams import LAWS_REST, SELECT_PLANT
from spaql.training.tree_episodes import run_episodes


class LawsLoop:
    """Trains one agent."""

    def __init__(self, agent: Laws, rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.rollouts, self.stop, self.samples = agent, rollouts, stop, samples
        self.trials = Trials(agent.problem, samples, stop.is_set)

    @property
    def finished(self) -> bool:
        return self.trials.left == 0

    def run(self, iterations: int) -> Array:
        agent, outer = self.agent, self.agent.state.outer
        rows, done = np.zeros((iterations, len(COLUMNS))), 0
        try:
            while done < iterations and not self.finished and not self.stop.is_set():
                before, at = self.trials.samples, len(agent.state.history) + done
                run_stage(agent, self.trials, at)
                if self.trials.left is not None and self.trials.samples - before < agent.problem.horizon:
                    self.trials.spend(agent.tree, agent.seed + at, LAWS_REST)  # too little is left for a stage
                outer[TRAIN_SAMPLES] += self.trials.samples - before
                mean = self._evaluate(at)
                used, spent = float(outer[TRAIN_SAMPLES]), float(outer[EVAL_SAMPLES])
                write_row(rows[done], mean, mean, float(agent.arms), used, spent, 0.0)
                done += 1
        except BaseException:
            agent.state.history = np.concatenate([agent.state.history, rows[:done]])
            raise
        return rows[:done]

    def _evaluate(self, at: int) -> float:
        """By evaluation rollouts, if they are asked for; else what the confirmation said."""
        agent = self.agent
        if self.rollouts:
            fresh = run_episodes(agent.problem, agent.tree, self.rollouts, agent.seed + at, SELECT_PLANT)
            agent.state.outer[EVAL_SAMPLES] += fresh.samples
            return float(fresh.returns.mean())
        found = agent.state.frontier.monotone(agent.state.tolerance)
        return found[-1].mean if found else 0.0
