"""The first stage of a search in a slow simulator: one law, from nothing.

    look around   constant actions and random laws: units, visited states, the best constant action
    local model   a regulator from a hundred recorded steps (local.py): where the plant has to be held, it is the answer
    walk          augmented random search from nothing (walk.py), in the first halves of episodes; where that leads
                  nowhere, from the best random law

The samples are divided among these parts and what comes after them (adoption.py).
"""

import contextlib
import warnings

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlWarning
from spaql.laws.adoption import TOLERANCE, Candidate, adopt
from spaql.laws.environments import Job, Rollout
from spaql.laws.local import COSTS, local_laws
from spaql.laws.proposals import Proposals
from spaql.laws.stages import constants
from spaql.laws.thrift import mean_steps, rounded_tree
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.walk import Running, walk_from
from spaql.learners.law_frontier import Entry
from spaql.learners.laws import Laws, middle_action
from spaql.plants.problem import Finite
from spaql.policy.evaluation import significantly_less
from spaql.streams import LAWS_CHOSEN, LAWS_SEARCHED
from spaql.trees.edits import constant, with_laws
from spaql.trees.laws import CLIP, SCORES, THRESHOLD
from spaql.trees.tree import Tree

DEFAULT = 1_200_000  # samples without a limit
FIRST = 0.7  # of a limit for one law, if there may be more laws
# parts of that
LOOKING = 0.03  # each for constant actions and for random laws
TRYING = 0.25  # regulators
WALKING = 0.75
CHOOSING = 0.06
# episodes
JUDGED = 20
MOST_CHOSEN = 60
RANDOM = 16  # laws
TRIALS = 20  # beginnings from which a regulator is tried
TRIAL = 60  # steps of each
MARGINS = (1.0, 0.7, 1.4)  # factors of the gains of a regulator that must hold the plant too
DIGITS = (2, 3)  # that are enough for a regulator, if it holds the plant as well
BEGINNINGS = 4  # of a walk, for its first units
SHORT = 2  # a walk runs for a half of the horizon, unless that leads to nothing: who does nothing takes all of the time
MONITORS = 14  # judgements on the way of a walk
MONITORING = 0.1  # of a walk
PATIENCE = 0.35  # of a walk without progress end it
TOP = 4  # laws of a walk that are judged again


class First:
    """One law. What was found stays in the agent, whatever ends the search."""

    def __init__(self, agent: Laws, trials: Trials, stage: int) -> None:
        self.agent, self.trials, self.stage, self.state = agent, trials, stage, agent.state
        self.problem, self.horizon = agent.problem, agent.problem.horizon
        given = DEFAULT * agent.effort if trials.left is None else trials.left
        self.budget = given * (FIRST if agent.max_leaves > 1 and trials.left is not None else 1.0)
        self.rng = np.random.default_rng([agent.seed, stage, LAWS_SEARCHED])
        self.running, self.used, self.begun = Running(agent.problem), 0, trials.samples
        self.proposals = Proposals(agent.problem, np.ones(len(agent.problem.state), bool), self.rng)
        self.random: tuple[float, Tree] | None = None  # the best random law: what one episode said, and the law
        self.best: Candidate | None = None

    def run(self) -> None:
        try:
            floor = self.look_around()
        except Spent:
            if not self.trials.stopped():
                few = f"{self.trials.samples} samples are too few to try every constant action on {self.problem.name}"
                warnings.warn(f"{few}: nothing was found. Give more samples.", SpaqlWarning, stacklevel=2)
            return
        try:
            with contextlib.suppress(Spent):
                if not self.regulate(floor):
                    self.walk()
        finally:
            self.keep()
        if self.best is not None:
            self.trials.limit = None
            left = self.budget - (self.trials.samples - self.begun)
            adopt(self.agent, self.trials, self.best, self.stage, left)

    def seeds(self, count: int) -> Array:
        """Seeds of episodes that were not used before."""
        self.used += count
        return seeds_of(self.agent.seed, LAWS_SEARCHED, self.stage * 2**32 + self.used - count, count)

    def allow(self, part: float) -> None:
        """The next part of the search may use this part of the budget."""
        self.trials.limit = self.trials.samples + int(part * self.budget)

    def judged(self, tree: Tree, first: int = 0, count: int = JUDGED) -> list[Rollout]:
        chosen = seeds_of(self.agent.seed, LAWS_CHOSEN, first, count).tolist()
        rollouts = self.trials.roll_out([Job(tree, seed, self.horizon) for seed in chosen])
        for one in rollouts:
            self.running.add(one)
        return rollouts

    # -- parts ---------------------------------------------------------------------------------------------------------

    def look_around(self) -> Candidate:
        """Units, visited states and the best constant action, which is the smallest tree of all."""
        trees = [constant(len(self.problem.state), action) for action in constants(self.problem)]
        found: list[list[Rollout]] = [[] for _ in trees]
        begin = self.trials.samples
        for round_ in range(JUDGED):
            spent = self.trials.samples - begin
            if round_ and spent * (round_ + 1) / round_ > LOOKING * self.budget:
                break
            for tree, some in zip(trees, found, strict=True):
                some.extend(self.judged(tree, round_, 1))
        candidates = [Candidate(tree, some) for tree, some in zip(trees, found, strict=True)]
        floor = max(candidates, key=lambda one: one.mean)
        calm = min(candidates, key=lambda one: float(np.abs(one.tree.actions[0] - middle_action(self.agent)).sum()))
        if not significantly_less(calm.returns, floor.returns):  # a few episodes say little about constant actions
            floor = calm
        self.state.floor = floor.mean
        self.state.frontier.tidy[1] = Entry(floor.tree, floor.mean)
        self.allow(LOOKING)
        with contextlib.suppress(Spent):
            for _ in range(RANDOM):
                law = self.running.units.physical(self.proposals.leaf(self.proposals.size(), self.kind))
                (one,) = self.trials.roll_out([Job(law, int(self.seeds(1)[0]), self.horizon)])
                self.running.add(one)
                if self.random is None or one.total > self.random[0]:
                    self.random = one.total, law
        return floor

    @property
    def kind(self) -> int:
        """The kind of law that says most: one score per action where there are more than two."""
        if not isinstance(self.problem.actions, Finite):
            return CLIP
        return THRESHOLD if len(self.problem.actions.values) <= 2 else SCORES

    def regulate(self, floor: Candidate) -> bool:
        """Try regulators of a local model; whether one holds a plant that constant actions cannot hold."""
        self.allow(CHOOSING + WALKING)
        best: tuple[float, Tree] | None = None
        still = self.held(floor.tree)
        for law in local_laws(self.trials, self.agent.seed, self.rng):
            value = self.held(law)
            if best is None or value > best[0] + TOLERANCE * abs(best[0] - still):  # gentle laws come first
                best = value, law
        if best is None:
            return False
        for simple in (rounded_tree(best[1], digits) for digits in DIGITS):
            if self.held(simple) >= best[0] - TOLERANCE * abs(best[0] - still):
                best = best[0], simple
                break
        few = max(2, min(JUDGED, int(CHOOSING * self.budget / self.horizon)))
        self.offer(best[1], self.judged(best[1], 0, few))
        held = self.best is not None and not any(one.ended for one in self.best.rollouts)
        return held and all(one.ended for one in floor.rollouts)

    def held(self, law: Tree) -> float:
        """Returns of the beginnings of some episodes, also with smaller and larger gains: what a law can stand."""
        starts = max(2, min(TRIALS, int(TRYING * self.budget / (len(COSTS) * len(MARGINS) * TRIAL))))
        trial = seeds_of(self.agent.seed, LAWS_CHOSEN, 0, starts).tolist()
        laws = [law]  # only ratios matter in a threshold, and a constant has no gains
        if law.laws is not None and law.laws.kind != THRESHOLD:
            laws = [with_laws(law, factor * law.laws.gains, law.laws.offsets) for factor in MARGINS]
        jobs = [Job(one, seed, min(TRIAL, self.horizon)) for one in laws for seed in trial]
        return float(np.mean([one.total for one in self.trials.roll_out(jobs)]))

    def walk(self) -> None:
        """Augmented random search from nothing, then, if that ends before its time, from the best random law."""
        begins = [self.running.units.physical(self.proposals.leaf(0.0, self.kind))]
        if self.random is not None:
            begins.append(self.random[1])
        end = self.trials.samples + WALKING * self.budget
        for begin in begins:
            seen: list[Candidate] = []
            try:
                self.walk_from(begin, end, seen)
            finally:
                self.choose(seen)

    def walk_from(self, begin: Tree, end: float, seen: list[Candidate]) -> None:
        """`begin`: a physical law. Units follow what is seen from here on: wild laws before have seen wild states."""
        trials, stretch = self.trials, WALKING * self.budget / MONITORS
        trials.limit, judged, progress = int(end), trials.samples, trials.samples
        begun = self.judged(begin, 0, BEGINNINGS)
        self.running, steps = Running(self.problem), float(self.horizon)
        for one in begun:
            self.running.add(one)
        whole, idle = self.horizon, False
        walk = walk_from(self.running.units.in_units(begin), self.running, self.rng, self.seeds)
        while trials.samples < end:
            walk.step(trials, whole if idle else -(-whole // SHORT))
            if trials.samples - judged < stretch:
                continue
            law = walk.average()
            count = max(2, min(JUDGED, int(MONITORING * stretch / steps)))
            seen.append(Candidate(law, self.judged(law, 0, count)))
            judged, steps = trials.samples, mean_steps(seen[-1].rollouts)
            idle = seen[-1].mean <= self.state.floor
            if seen[-1].mean >= max(one.mean for one in seen):
                progress = judged
            elif judged - progress > PATIENCE * WALKING * self.budget:
                return

    def choose(self, seen: list[Candidate]) -> None:
        """The best laws of a walk again, on more episodes."""
        seen.sort(key=lambda one: -one.mean)
        self.allow(CHOOSING)
        for one in seen[:TOP]:
            room = CHOOSING * self.budget / (TOP * mean_steps(one.rollouts))
            more: list[Rollout] = []
            with contextlib.suppress(Spent):
                more = self.judged(one.tree, len(one.rollouts), min(int(room), MOST_CHOSEN)) if room >= 1 else []
            self.offer(one.tree, one.rollouts + more)

    def offer(self, tree: Tree, rollouts: list[Rollout]) -> None:
        """A law for the first place, to be earned in the same episodes: two of them say nothing against twenty."""
        missing = 0 if self.best is None else len(self.best.rollouts) - len(rollouts)
        if missing > 0:
            self.trials.limit = None
            with contextlib.suppress(Spent):
                rollouts = rollouts + self.judged(tree, len(rollouts), missing)
        found = Candidate(tree, rollouts)
        if self.best is None:
            better = found.mean > self.state.floor
        else:
            n = min(len(rollouts), len(self.best.rollouts))
            better = n == len(self.best.rollouts) and found.returns[:n].mean() > self.best.returns[:n].mean()
        if better:
            self.best = found

    def keep(self) -> None:
        """Units, and the best law so far, into the agent."""
        state, units = self.state, self.running.units
        state.middle, state.inverse = units.middle, units.inverse
        state.states = np.zeros((1, len(units.middle)))
        if self.best is not None:
            state.frontier.raw[1] = Entry(units.in_units(self.best.tree), self.best.mean)
            state.frontier.tidy[1] = Entry(self.best.tree, self.best.mean)
