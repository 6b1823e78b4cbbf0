"""The training loop of Laws: a stage of the search per iteration."""

import contextlib
import threading

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.ground.arrays import Array
from spaql.ground.progress import advance
from spaql.ground.streams import LAWS_REST, SELECT_PLANT
from spaql.laws.slow import run_slow_stage
from spaql.laws.stages import run_stage
from spaql.laws.trials import Spent, Trials, affordable
from spaql.learners.history import COLUMNS, write_row
from spaql.learners.laws import Laws
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.plants.strict import strict
from spaql.training.closed_loop import run_episodes


class LawsLoop:
    """Trains one agent."""

    def __init__(self, agent: Laws, rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.rollouts, self.stop, self.samples = agent, rollouts, stop, samples
        wanted, looked = strict(agent.searched)
        self.trials = Trials(wanted, samples, stop.is_set, agent.jobs)
        self._count(min(looked, looked if samples is None else samples))
        self.trials.tell = self._tell
        self.trials.effort = min(agent.effort, affordable(agent.searched, samples, agent.max_leaves))

    def _tell(self, used: int) -> None:
        if self.samples is not None:
            advance(used)

    def _count(self, steps: int) -> None:
        """Steps that were taken before the first stage."""
        self.trials.count(steps)
        self.agent.state.outer[TRAIN_SAMPLES] += steps

    @property
    def finished(self) -> bool:
        return self.trials.left == 0

    def run(self, iterations: int) -> Array:
        rows: list[Array] = []
        try:
            # small matrices: threads of the linear algebra cost twenty times what they save, and may change last bits
            with threadpool_limits(1, "blas"):
                while len(rows) < iterations and not self.finished and not self.stop.is_set():
                    rows.append(self._stage(len(self.agent.state.history) + len(rows)))
        except BaseException:
            self.agent.state.history = np.concatenate([self.agent.state.history, *rows])
            raise
        return np.concatenate([np.zeros((0, len(COLUMNS))), *rows])

    def close(self) -> None:
        self.trials.close()

    def _stage(self, at: int) -> Array:
        """Stage `at`, its samples counted whatever comes of it; a row of the history."""
        agent, trials, outer, before = self.agent, self.trials, self.agent.state.outer, self.trials.samples
        row = np.zeros((1, len(COLUMNS)))
        try:
            (run_slow_stage if trials.slow else run_stage)(agent, trials, at)
            if trials.left is not None and trials.samples - before < agent.searched.horizon:
                with contextlib.suppress(Spent):  # too little is left for a stage; or the user wants an end
                    trials.spend(agent.tree, agent.seed + at, LAWS_REST)
        finally:
            outer[TRAIN_SAMPLES] += trials.samples - before
        mean = self._evaluate(at)
        used, spent = float(outer[TRAIN_SAMPLES]), float(outer[EVAL_SAMPLES])
        write_row(row[0], mean, mean, float(agent.arms), used, spent, 0.0)
        return row

    def _evaluate(self, at: int) -> float:
        """By evaluation rollouts, if they are asked for; else what the confirmation said, or without one the choice."""
        agent = self.agent
        if self.rollouts:
            fresh = run_episodes(agent.searched, agent.tree, self.rollouts, agent.seed + at, SELECT_PLANT)
            agent.state.outer[EVAL_SAMPLES] += fresh.samples
            return float(fresh.returns.mean())
        if len(agent.state.confirmed):
            return float(agent.state.confirmed.mean())
        found = agent.state.frontier.monotone(agent.state.tolerance)
        return found[-1].mean if found else 0.0
