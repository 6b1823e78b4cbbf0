"""The first stage of a search in a slow simulator: one law, from nothing or from a teacher.

    look around   constant actions and random laws: units, visited states, the best constant action
    teacher       what it does, the law that fits that best, and itself if it is a law of these variables
    local model   a regulator from a hundred recorded steps (local.py): where the plant has to be held, it is the answer
    PI grid       in a loop that follows a reference (pi_laws.py)
    walk          augmented random search (walk.py), in the first halves of episodes, from the best of these and from
                  nothing; where that leads nowhere, from the best random law
    race          all that was found, in episodes that had no part in the search (race.py)

The samples are divided among these parts and what comes after them (adoption.py): a part that was saved for race and
confirmation is touched by nothing else.
"""

import contextlib
import warnings

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlWarning
from spaql.ground.streams import LAWS_CHOSEN, LAWS_SEARCHED
from spaql.laws.adoption import GROWING, LATEST, adopt, affordable_effort
from spaql.laws.beginnings import grid_laws, regulator, taught_laws
from spaql.laws.environments import Job, Rollout
from spaql.laws.pi_laws import around, p_grid, pi_grid
from spaql.laws.proposals import Proposals
from spaql.laws.race import Candidate, raced
from spaql.laws.thrift import mean_steps
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.walk import DIRECTIONS, Running, walk_from
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import Laws, middle_action
from spaql.plants.problem import Finite, constant_actions
from spaql.policy.evaluation import significantly_less
from spaql.trees.edits import constant
from spaql.trees.laws import CLIP, SCORES, THRESHOLD
from spaql.trees.tree import Tree

DEFAULT = 1_200_000  # samples without a limit
FIRST = 0.7  # of a limit for one law, if there may be more laws
# parts of that
LOOKING = 0.03  # each for constant actions and for random laws
FEW_LOOKING = 0.08  # for the first episodes of constant actions
FEW = 4
TRYING = 0.25  # regulators, where no constant action holds the plant
HARDLY = 0.05  # the same elsewhere: there a regulator is one of many
GRIDS = (0.3, 0.15)  # P and PI laws, and those around the best one
SAVED = 0.2  # for the race and the confirmation
MOST_SAVED = 0.35  # the same, where that would be less than so many episodes
WANTED = 100
RACING = 0.55  # of what is left then
WALKING = 0.75  # at most
# episodes
JUDGED = 20
RANDOM = 16  # laws
HELD = 0.06  # of the samples, to see whether it holds the plant
BEGINNINGS = 4  # of a walk, for its first units
SHORT = 2  # a walk runs for a half of the horizon, unless that leads to nothing: who does nothing takes all of the time
LEAST = 6  # generations, less is no walk
MONITORS = 14  # judgements on the way of a walk
MONITORING = 0.1  # of a walk
PATIENCE = 0.35  # of a walk without progress end it
TOP = 3  # laws of a walk that go into the race
STILL = 3  # constant actions that are raced
RACED = 2**40  # number of the first episode of the race, beyond those of the search


class First:
    """One law. What was found stays in the agent, whatever ends the search."""

    def __init__(self, agent: Laws, trials: Trials, stage: int) -> None:
        self.agent, self.trials, self.stage, self.state = agent, trials, stage, agent.state
        self.problem, self.horizon = agent.searched, agent.searched.horizon
        given = DEFAULT * agent.effort if trials.left is None else trials.left
        later = LATEST * GROWING * (1.0 - FIRST) * given  # what trees would be grown with
        divided = (
            agent.max_leaves > 1 and trials.left is not None and affordable_effort(later, self.horizon) is not None
        )
        self.budget = given * (FIRST if divided else 1.0)
        self.rng = np.random.default_rng([agent.seed, stage, LAWS_SEARCHED])
        self.running, self.used, self.begun = Running(agent.searched), 0, trials.samples
        self.proposals = Proposals(agent.searched, np.ones(len(agent.searched.state), bool), self.rng)
        self.random: tuple[float, Tree] | None = None  # the best random law: what one episode said, and the law
        self.steps = float(self.horizon)  # of an episode, about
        self.still: list[Candidate] = []  # constant actions, the best first
        self.taught: Tree | None = None  # the law of the teacher
        self.good: Candidate | None = None  # from which a walk begins
        self.pool: list[Candidate] = []  # laws for the race
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
                self.learn_from_teacher()
            with contextlib.suppress(Spent):
                held = self.regulate(floor)
                self.try_grid()
                if not held:
                    self.walk()
            self.choose()
        finally:
            self.keep()
        if self.best is not None:
            self.trials.limit = None
            adopt(self.agent, self.trials, self.best, self.stage, self.left)

    @property
    def left(self) -> float:
        """Of the budget."""
        return self.budget - (self.trials.samples - self.begun)

    @property
    def saved(self) -> float:
        """Samples that the search leaves for the race and the confirmation."""
        return max(SAVED * self.budget, min(MOST_SAVED * self.budget, WANTED * self.steps))

    def seeds(self, count: int) -> Array:
        """Seeds of episodes that were not used before."""
        self.used += count
        return seeds_of(self.agent.seed, LAWS_SEARCHED, self.stage * 2**32 + self.used - count, count)

    def allow(self, part: float) -> None:
        """The next part of the search may use this part of the budget, but not what is saved."""
        self.trials.limit = self.trials.samples + int(max(0.0, min(part * self.budget, self.left - self.saved)))

    def judged(self, tree: Tree, first: int = 0, count: int = JUDGED) -> list[Rollout]:
        chosen = seeds_of(self.agent.seed, LAWS_CHOSEN, first, count).tolist()
        rollouts = self.trials.roll_out([Job(tree, seed, self.horizon) for seed in chosen])
        for one in rollouts:
            self.running.add(one)
        return rollouts

    # -- parts ---------------------------------------------------------------------------------------------------------

    def look_around(self) -> Candidate:
        """Units, visited states and the best constant action, which is the smallest tree of all."""
        trees = [constant(len(self.problem.state), action) for action in constant_actions(self.problem)]
        found: list[list[Rollout]] = [[] for _ in trees]
        begin = self.trials.samples
        for round_ in range(JUDGED):
            spent = self.trials.samples - begin
            allowed = (FEW_LOOKING if round_ < FEW else LOOKING) * self.budget
            if round_ and spent * (round_ + 1) / round_ > allowed:
                break
            for tree, some in zip(trees, found, strict=True):
                some.extend(self.judged(tree, round_, 1))
        candidates = [Candidate(tree, some) for tree, some in zip(trees, found, strict=True)]
        floor = max(candidates, key=lambda one: one.mean)
        self.still = sorted(candidates, key=lambda one: -one.mean)
        calm = min(candidates, key=lambda one: float(np.abs(one.tree.actions[0] - middle_action(self.agent)).sum()))
        if not significantly_less(calm.returns, floor.returns):  # a few episodes say little about constant actions
            floor = calm
        self.still = [floor, *(one for one in self.still if one is not floor)][:STILL]
        self.state.floor = floor.mean
        self.state.frontier.tidy[1] = ScoredTree(floor.tree, floor.mean)
        self.steps = mean_steps([one for some in found for one in some])
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

    def learn_from_teacher(self) -> None:
        """What a teacher does, its own law or the laws that fit it best."""
        self.taught, laws = taught_laws(self.agent, self.trials, self.stage)
        tried = [Candidate(law, self.judged(law, 0, BEGINNINGS)) for law in laws]
        self.pool += tried if self.taught is None else []
        self.good = max(tried, key=lambda one: one.mean, default=None)

    def regulate(self, floor: Candidate) -> bool:
        """Try regulators of a local model; whether one holds a plant that constant actions cannot hold."""
        falls = all(one.ended for one in floor.rollouts)
        part = TRYING if falls else HARDLY
        self.allow(2 * part + HELD)
        law = regulator(self.agent, self.trials, self.rng, floor.tree, part * self.budget)
        if law is None:
            return False
        few = max(2, min(JUDGED, int(HELD * self.budget / self.horizon))) if falls else 2
        self.trials.limit = None
        tried = Candidate(law, self.judged(law, 0, few))
        self.pool.append(tried)
        holds = falls and self.taught is None and not any(one.ended for one in tried.rollouts)
        return holds and tried.mean > floor.mean

    def try_grid(self) -> None:
        """What an engineer would try first: PI laws of a loop, elsewhere P laws around good actions and the middle."""
        good, problem = self.still[:2], self.problem
        low = np.min([one.moments[2] for still in good for one in still.rollouts], axis=0)
        high = np.max([one.moments[3] for still in good for one in still.rollouts], axis=0)
        actions = np.unique([middle_action(self.agent), *(still.tree.actions[0] for still in good)], axis=0)
        grid = pi_grid(problem) or p_grid(problem, list(actions), low, high)
        found: list[Candidate] = []
        for part in GRIDS:
            room = min(part * self.budget, self.left - self.saved)
            found = grid_laws(self.agent, self.trials, grid, room) if grid else []
            grid = [found[0].tree, *around(problem, found[0].tree, low, high)] if found else []
        self.pool += found
        if self.good is None and found and found[0].mean > self.state.floor:
            self.good = found[0]

    def walk(self) -> None:
        """Augmented random search from nothing, then, if that ends before its time, from the best random law.

        First of all from a law that is good already, if there is one.
        """
        begins = [] if self.good is None else [self.good.tree]
        begins.append(self.running.units.physical(self.proposals.leaf(0.0, self.kind)))
        if self.random is not None:
            begins.append(self.random[1])
        room = min(WALKING * self.budget, self.left - self.saved)
        end = self.trials.samples + room
        for begin in begins:
            if end - self.trials.samples < LEAST * 2 * DIRECTIONS * self.steps / SHORT:
                return
            seen: list[Candidate] = []
            try:
                self.walk_from(begin, end, room, seen)
            finally:
                self.pool += sorted(seen, key=lambda one: -one.mean)[:TOP]

    def walk_from(self, begin: Tree, end: float, room: float, seen: list[Candidate]) -> None:
        """`begin`: a physical law. Units follow what is seen from here on: wild laws before have seen wild states."""
        trials, stretch = self.trials, room / MONITORS
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
            elif judged - progress > PATIENCE * room:
                return

    def choose(self) -> None:
        """The best of all that was found, in episodes that nothing was searched in.

        A teacher, or else the best constant action, keeps its place unless another is better by more than noise.
        """
        self.trials.limit = None
        laws = list({id(one.tree): one.tree for one in sorted(self.pool, key=lambda one: -one.mean)}.values())
        still = [one.tree for one in self.still]
        first = still[:1] if self.taught is None else [self.taught, still[0]]
        seeds = lambda at, count: seeds_of(self.agent.seed, LAWS_CHOSEN, RACED + at, count)  # noqa: E731
        ranked = raced(self.trials, [*first, *laws, *still[1:]], seeds, RACING * self.left)
        if not ranked:
            return  # no room for two episodes of each
        held = next(one for one in ranked if one.tree is first[0])
        run, more = len(held.rollouts), max(0, len(ranked[0].rollouts) - len(held.rollouts))
        held.rollouts.extend(self.judged(held.tree, RACED + run, more))
        best = next((one for one in ranked if one.better(held)), held)
        floor = next(one for one in ranked if any(one.tree is tree for tree in still))
        self.state.floor, self.pool = floor.mean, []
        self.state.frontier.tidy[1] = ScoredTree(floor.tree, floor.mean)
        self.best = best if best.tree.laws is not None else None
        if self.best is None:
            self.state.frontier.tidy[1] = ScoredTree(best.tree, best.mean)

    def keep(self) -> None:
        """Units, and the best law so far, into the agent."""
        state, units = self.state, self.running.units
        state.middle, state.inverse = units.middle, units.inverse
        state.states = np.zeros((1, len(units.middle)))
        if self.best is None:  # ended before the race: what is known from the search
            found = max(self.pool, key=lambda one: one.mean, default=None)
            self.best = found if found is not None and found.mean > state.floor else None
        if self.best is not None:
            leaves, tree = self.best.tree.n_leaves, self.best.tree
            state.frontier.raw[leaves] = ScoredTree(units.in_units(tree), self.best.mean)
            state.frontier.tidy[leaves] = ScoredTree(tree, self.best.mean)
