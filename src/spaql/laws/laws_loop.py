"""The training loop of Laws: a stage of the search per iteration; and later stages in slow simulators."""

import contextlib
import threading

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.ground.progress import advance
from spaql.ground.streams import LAWS_CHOSEN, LAWS_REST, SELECT_PLANT
from spaql.laws.card_trials import trials_on
from spaql.laws.environments import Job
from spaql.laws.lessons import fitted_laws
from spaql.laws.provable import prefer_provable, refuse_unprovable
from spaql.laws.race import JUDGED_EPISODES, Candidate
from spaql.laws.search import Search
from spaql.laws.slow import DEFAULT_SAMPLES, First, adopt_dearly
from spaql.laws.stages import STAGE_SHARE, Budget, affordable_effort, plan_of, run_stage, state_units
from spaql.laws.trials import Spent, Trials, affordable, seeds_of
from spaql.laws.vector import without_dust
from spaql.learners.history import add_row
from spaql.learners.laws import PREFERRED, Laws
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.plants.strict import strict
from spaql.training.closed_loop import run_episodes


class LawsLoop:
    """Trains one agent."""

    def __init__(self, agent: Laws, rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.rollouts, self.stop, self.samples = agent, rollouts, stop, samples
        if agent.provable:
            refuse_unprovable(agent.searched)
        share = PREFERRED[agent.searched.ends or ""][0] if agent.provable else 0.0
        self.kept = 0 if samples is None else int(share * samples)
        wanted, looked = strict(agent.searched)
        left = None if samples is None else samples - self.kept
        given = wanted, left, stop.is_set
        self.trials = trials_on(agent.device, *given, jobs=agent.jobs)
        self._count(min(looked, looked if samples is None else samples))
        self.trials.tell = self._tell
        spared = left if agent.searched.ends == "success" else samples  # what is kept for little makes no difference
        self.trials.effort = affordable(agent.searched, spared, agent.max_leaves, agent.effort)

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

    def run(self, iterations: int) -> int:
        state, before = self.agent.state, len(self.agent.state.history)
        # small matrices: threads of the linear algebra cost twenty times what they save, and may change last bits
        with threadpool_limits(1, "blas"):
            while len(state.history) < before + iterations and not self.finished and not self.stop.is_set():
                self._stage(len(state.history))
            if self.agent.provable and not self.stop.is_set():
                self._prefer_provable()
        return len(state.history) - before

    def close(self) -> None:
        self.trials.close()

    def _prefer_provable(self) -> None:
        """With the samples that were kept for it."""
        agent, trials, before = self.agent, self.trials, self.trials.samples
        trials.left = None if trials.left is None else trials.left + self.kept
        trials.reserve, self.kept = 0, 0
        try:
            prefer_provable(agent, trials)
            if self.samples is not None:
                trials.spend(agent.tree, agent.seed, LAWS_REST)
        finally:
            agent.state.outer[TRAIN_SAMPLES] += trials.samples - before

    def _stage(self, at: int) -> None:
        """Stage `at`, its samples counted whatever comes of it; a row of the history."""
        agent, trials, outer, before = self.agent, self.trials, self.agent.state.outer, self.trials.samples
        try:
            (run_slow_stage if trials.slow else run_stage)(agent, trials, at)
            if trials.left is not None and trials.samples - before < agent.searched.horizon:
                with contextlib.suppress(Spent):  # too little is left for a stage; or the user wants an end
                    trials.spend(agent.tree, agent.seed + at, LAWS_REST)
        finally:
            outer[TRAIN_SAMPLES] += trials.samples - before
        mean = self._evaluate(at)
        used, spent = float(outer[TRAIN_SAMPLES]), float(outer[EVAL_SAMPLES])
        add_row(agent.state, mean, mean, float(agent.arms), used, spent, 0.0)

    def _evaluate(self, at: int) -> float:
        """By evaluation rollouts, if they are asked for; else what the confirmation said, or without one the choice."""
        agent = self.agent
        if self.rollouts:
            fresh = run_episodes(agent.searched, agent.tree, self.rollouts, agent.seed + at, SELECT_PLANT)
            agent.state.outer[EVAL_SAMPLES] += fresh.samples
            return float(fresh.returns.mean())
        if len(agent.state.confirmed):
            return float(agent.state.confirmed.mean())
        entries = agent.state.frontier.monotone(agent.state.tolerance)
        return entries[-1].mean if entries else 0.0


# -- slow simulators ---------------------------------------------------------------------------------------------------


def run_slow_stage(agent: Laws, trials: Trials, stage: int) -> None:
    """One stage; what was found stays in the agent, whatever ends it."""
    agent.state.slow = True
    if len(agent.state.middle) == 0:
        First(agent, trials, stage).run()
    else:
        _grow(agent, trials, stage)
    trials.limit = None


def _grow(agent: Laws, trials: Trials, stage: int) -> None:
    """A later stage, as for fast simulators, with the effort that its samples allow."""
    state, horizon = agent.state, agent.searched.horizon
    what, leaves = plan_of(stage, agent.max_leaves)
    budget = Budget(trials, STAGE_SHARE * (DEFAULT_SAMPLES * agent.effort if trials.left is None else trials.left))
    units, known, held = state_units(agent), state.frontier.raw.get(1), state.frontier.raw.get(leaves)
    law = agent.tree if known is None else units.physical(known.tree)
    with contextlib.suppress(Spent):
        seeds = seeds_of(agent.seed, LAWS_CHOSEN, 0, 2).tolist()
        steps = Candidate(law, trials.roll_out([Job(law, seed, horizon) for seed in seeds])).steps
        effort = affordable_effort(budget.to_search, steps)
        if effort is None:  # use up what is left: the law that is returned in more episodes, to the last step
            more = trials.spend(agent.tree, agent.seed + stage, LAWS_REST)
            state.confirmed = np.concatenate([state.confirmed, more])
            return
        search = Search(trials, units, agent.seed, stage, effort)
        trials.limit = trials.samples + int(budget.to_search)
        with contextlib.suppress(Spent):
            states = search.visited(search.proposals.leaf(1.0) if known is None else known.tree)
            if what == "regrow" and held is not None:
                search.regrow(held.tree)
            else:
                search.race([units.in_units(law) for law in fitted_laws(agent, trials, leaves, stage)])
                search.fresh(leaves, state.frontier.parent(leaves), states)
        trials.limit = None
        if search.best is None:
            return
        seeds = search.choice[: max(2, min(JUDGED_EPISODES, len(search.choice)))].tolist()
        tree = without_dust(units.physical(search.best.tree), units)
        before = state.frontier.tidy.copy()
        rollouts = trials.roll_out([Job(tree, seed, horizon) for seed in seeds])
        adopt_dearly(agent, trials, Candidate(tree, rollouts), stage, budget)
        if state.frontier.tidy != before or held is None:  # returns of other episodes do not compare
            state.frontier.raw[leaves] = search.best
