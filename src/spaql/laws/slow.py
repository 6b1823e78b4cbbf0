"""The search in slow simulators: environments that make some thousand steps per second, so that every episode counts.

The first stage finds one law, from nothing or from a teacher; later ones (loop.py) grow it:

    look around   constant actions and random laws: units, visited states, the best constant action
    teacher       what it does, the law that fits that best, and itself if it is a law of these variables
    local model   a regulator from a hundred recorded steps: where the plant has to be held, it is the answer
    grid          PI laws in a loop that follows a reference, else P laws
    walks         augmented random search, in the first halves of episodes, from the best of these, from nothing and
                  from the best random law: as many as the samples allow race (walks.py)
    race          all that was found, in episodes that had no part in the search
"""

import contextlib
import itertools
import warnings

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlWarning
from spaql.ground.streams import LAWS_CHOSEN, LAWS_CONFIRMED, LAWS_SEARCHED, RACE_EPISODES, STAGE_EPISODES
from spaql.laws.classical import best_of_grid, best_regulator, neighbours, p_grid, pi_grid
from spaql.laws.environments import Job, Rollout
from spaql.laws.lessons import fitted_laws
from spaql.laws.proposals import Proposals, free_within, keeps_within
from spaql.laws.race import JUDGED_EPISODES, MAX_EPISODES, SURE_ERRORS, Candidate, adopt, raced
from spaql.laws.search import GENERATIONS
from spaql.laws.stages import RACE_SHARE, SEARCH_SHARE, STAGE_SHARE, Budget, affordable_effort, state_units
from spaql.laws.teacher import lessons_of, rules_of
from spaql.laws.tidy import DearTidying
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import looked_at
from spaql.laws.walks import (
    CUT,
    DIRECTIONS,
    MOST_WALKS,
    START_EPISODES,
    Begin,
    Running,
    Walk,
    Walks,
)
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import Laws, middle_action
from spaql.plants.problem import constant_actions
from spaql.policy.evaluation import significantly_less
from spaql.policy.outputs import kept, kinds_of
from spaql.trees.edits import constant
from spaql.trees.tree import Tree

DEFAULT_SAMPLES = 1_200_000  # without a limit; a later stage has its share of them
LOOK_SHARE = 0.06  # of the budget, each for constant actions and a regulator; half of it for random laws
PART_SHARE = 0.25  # a regulator where no constant action holds the plant; a grid, and half as much near its best law
RACED_LAWS = 3  # of a walk, and constant actions


def adopt_dearly(agent: Laws, trials: Trials, law: Candidate, stage: int, budget: Budget) -> None:
    """With new episodes in every stage: a law that had luck in them has no luck next time."""
    count = (budget.left - budget.to_tidy) / (3 * law.steps)  # of the law, what it replaces, and its tidy form
    units = state_units(agent)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, stage * STAGE_EPISODES, max(2, min(MAX_EPISODES, int(count))))

    def tidied(tolerance: float) -> Tree:
        room = budget.to_tidy
        trials.limit = trials.samples + int(max(room, 0.0))
        form, _ = DearTidying(trials, law.tree, tolerance, agent.seed, stage, room, law.steps, units).run()
        trials.limit = None
        return form

    trials.limit = None
    with contextlib.suppress(Spent):
        adopt(agent, trials, law.tree, seeds, tidied, SURE_ERRORS)


class First:
    """One law. What was found stays in the agent, whatever ends the search."""

    def __init__(self, agent: Laws, trials: Trials, stage: int) -> None:
        self.agent, self.trials, self.stage, self.state = agent, trials, stage, agent.state
        self.problem, self.horizon = agent.searched, agent.searched.horizon
        samples = DEFAULT_SAMPLES * agent.effort if trials.left is None else trials.left
        later = STAGE_SHARE * samples  # for more laws, if that is enough to search for them
        if agent.max_leaves > 1 and affordable_effort(SEARCH_SHARE * STAGE_SHARE * later, self.horizon) is not None:
            samples -= later
        self.budget = Budget(trials, samples)
        self.rng = np.random.default_rng([agent.seed, stage, LAWS_SEARCHED])
        self.running, self.used = Running(agent.searched), 0
        self.kind = kinds_of(agent.searched.actions)[-1]  # that says most
        self.live = looked_at(agent.searched) > 0.0
        self.proposals = Proposals(agent.searched, self.live, self.rng)
        self.random: tuple[float, Tree] | None = None  # the best random law: what one episode said, and the law
        self.still: list[Candidate] = []  # constant actions, the best first
        self.standing = 0.0  # what a step earns that does nothing, where that ends early
        self.taught: Tree | None = None  # the law of the teacher
        self.pool: list[Candidate] = []  # laws for the race
        self.good: Candidate | None = None  # from which a walk begins
        self.best: Candidate | None = None

    def run(self) -> None:
        try:
            floor = self.look_around()
        except Spent:
            few = f"{self.trials.samples} samples are too few to try every constant action on {self.problem.name}"
            if not self.trials.stopped():
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
            adopt_dearly(self.agent, self.trials, self.best, self.stage, self.budget)

    def room(self, share: float = 1.0) -> float:
        """Samples of a part of the search: this share of the budget, but not what comes after the search."""
        return max(0.0, min(share * self.budget.samples, self.budget.to_search))

    def seeds(self, count: int) -> Array:
        """Seeds of episodes that were not used before."""
        self.used += count
        return seeds_of(self.agent.seed, LAWS_SEARCHED, self.stage * STAGE_EPISODES + self.used - count, count)

    def judged(self, tree: Tree, first: int = 0, count: int = JUDGED_EPISODES) -> list[Rollout]:
        seeds = seeds_of(self.agent.seed, LAWS_CHOSEN, first, count).tolist()
        rollouts = self.trials.roll_out([Job(tree, seed, self.horizon) for seed in seeds])
        for rollout in rollouts:
            self.running.add(rollout)
        return rollouts

    # -- parts ---------------------------------------------------------------------------------------------------------

    def look_around(self) -> Candidate:
        """Units, visited states and the best constant action, which is the smallest tree of all."""
        trials, allowed = self.trials, LOOK_SHARE * self.budget.samples
        actions = constant_actions(self.problem)
        candidates = [Candidate(constant(len(self.problem.state), action), []) for action in actions]
        begin = trials.samples
        for number in range(JUDGED_EPISODES):
            if number and (trials.samples - begin) * (number + 1) / number > allowed:
                break
            for candidate in candidates:
                candidate.rollouts.extend(self.judged(candidate.tree, number, 1))
        middle = middle_action(self.agent)
        self.still = sorted(candidates, key=lambda candidate: -candidate.mean)
        calm = min(candidates, key=lambda candidate: float(np.abs(candidate.tree.actions[0] - middle).sum()))
        floor = self.still[0]
        if not significantly_less(calm.returns, floor.returns):  # a few episodes say little about constant actions
            floor = calm
        rates = [rollout.total / rollout.steps for candidate in candidates for rollout in candidate.rollouts]
        if max(rates) > min(rates) and all(rollout.ended for rollout in calm.rollouts):
            self.standing = max(0.0, sum(r.total for r in calm.rollouts) / sum(r.steps for r in calm.rollouts))
        self.still = [floor, *(candidate for candidate in self.still if candidate is not floor)][:RACED_LAWS]
        self.state.floor = floor.mean
        self.state.frontier.tidy[1] = ScoredTree(floor.tree, floor.mean)
        trials.limit = trials.samples + int(self.room(LOOK_SHARE / 2))
        with contextlib.suppress(Spent):
            for _ in range(DIRECTIONS):
                law = self.running.units.physical(self.proposals.leaf(self.proposals.size(), self.kind))
                (rollout,) = trials.roll_out([Job(law, int(self.seeds(1)[0]), self.horizon)])
                self.running.add(rollout)
                if self.random is None or rollout.total > self.random[0]:
                    self.random = rollout.total, law
        return floor

    def learn_from_teacher(self) -> None:
        """What a teacher does, its own law or the laws that fit it best; it is kept for trees that are grown later."""
        agent, teacher, trials = self.agent, self.agent.teacher, self.trials
        if teacher is None or self.problem.actions.single:
            return
        rules = rules_of(self.problem, teacher)
        trials.limit = None
        lessons, self.state.exams = lessons_of(trials, teacher, agent.seed)
        self.state.taught = np.concatenate([lessons.states, lessons.actions], axis=1)
        if rules is not None and rules.laws is not None and rules.n_leaves <= agent.max_leaves:
            self.taught = kept(self.problem, rules)
        laws = fitted_laws(agent, trials, 1, self.stage) if self.taught is None else [self.taught]
        tried = [Candidate(law, self.judged(law, 0, START_EPISODES)) for law in laws]
        self.pool += tried if self.taught is None else []
        self.good = max(tried, key=lambda candidate: candidate.mean)

    def regulate(self, floor: Candidate) -> bool:
        """Try regulators of a local model; whether one holds a plant that constant actions cannot hold."""
        falls = all(rollout.ended for rollout in floor.rollouts)
        share = PART_SHARE if falls else LOOK_SHARE
        self.trials.limit = self.trials.samples + int(self.room(2 * share))
        law = best_regulator(self.trials, self.agent.seed, self.rng, floor.tree, share * self.budget.samples)
        if law is None or not keeps_within(law, self.live):
            return False
        self.trials.limit, law = None, kept(self.problem, law)
        few = max(2, min(JUDGED_EPISODES, int(LOOK_SHARE * self.budget.samples / self.horizon))) if falls else 2
        tried = Candidate(law, self.judged(law, 0, few))
        self.pool.append(tried)
        holds = falls and self.taught is None and not any(rollout.ended for rollout in tried.rollouts)
        return holds and tried.mean > floor.mean

    def try_grid(self) -> None:
        """What an engineer would try first: PI laws of a loop, elsewhere P laws around good actions and the middle."""
        good, problem = self.still[:2], self.problem
        low = np.min([rollout.moments[2] for still in good for rollout in still.rollouts], axis=0)
        high = np.max([rollout.moments[3] for still in good for rollout in still.rollouts], axis=0)
        actions = np.unique([middle_action(self.agent), *(still.tree.actions[0] for still in good)], axis=0)
        grid, best = pi_grid(problem) or p_grid(problem, list(actions), low, high), []
        for share in (PART_SHARE, PART_SHARE / 2):
            grid = [kept(problem, law) for law in grid if keeps_within(law, self.live)]
            best = best_of_grid(self.trials, self.agent.seed, grid, self.room(share))[:2] if grid else []
            grid = [best[0].tree, *neighbours(problem, best[0].tree, low, high)] if best else []
        self.pool += best
        if self.good is None and best and best[0].mean > self.state.floor:
            self.good = best[0]

    def walk(self) -> None:
        """As many walks as the samples allow; and others, if all of those have come to an end before.

        A walk has GENERATIONS on average, and a third of them at least.
        """
        trials, sets, live = self.trials, self.proposals.sets, self.live
        nothing = self.running.units.physical(self.proposals.leaf(0.0, self.kind))
        end = trials.samples + self.room()
        first = [] if self.good is None else [Begin(self.good.tree, free_within(self.good.tree, live, sets))]
        first += [Begin(nothing, free_within(nothing, mask, [])) for mask in sets]
        usual = [Begin(nothing, free_within(nothing, live, []), unpaid) for unpaid in sorted({0.0, self.standing})]
        usual += [] if self.random is None else [Begin(self.random[1], free_within(self.random[1], live, sets))]
        while (room := end - trials.samples) >= GENERATIONS / 3 * 2 * DIRECTIONS * self.still[0].steps / CUT:
            count = min(MOST_WALKS, int(room / (GENERATIONS * 2 * DIRECTIONS * self.horizon / CUT)))
            begins = [*first, *itertools.islice(itertools.cycle(usual), max(1 - len(first), count - len(first), 0))]
            walks, first = [Walk(begin, trials, self.rng, self.seeds) for begin in begins], []
            try:
                Walks(trials, self.look_at, self.state.floor, end).race(walks)
            finally:
                self.pool += [law for walk in walks for law in walk.best_laws(RACED_LAWS)]
                self.running = max(walks, key=lambda walk: walk.best).running

    def look_at(self, running: Running, law: Tree, count: int) -> list[Rollout]:
        """The first episodes of the choice, from which a walk learns units."""
        self.running = running
        return self.judged(law, 0, count)

    def choose(self) -> None:
        """The best of all that was found, in episodes that nothing was searched in.

        A teacher, or else the best constant action, keeps its place unless another is better by more than noise.
        """
        self.trials.limit = None
        pool = sorted(self.pool, key=lambda candidate: -candidate.mean)
        laws = list({id(candidate.tree): candidate.tree for candidate in pool}.values())
        still = [candidate.tree for candidate in self.still]
        first = still[:1] if self.taught is None else [self.taught, still[0]]
        seeds = lambda at, count: seeds_of(self.agent.seed, LAWS_CHOSEN, RACE_EPISODES + at, count)  # noqa: E731
        room = self.room() + RACE_SHARE * self.budget.samples
        ranked = raced(self.trials, [*first, *laws, *still[1:]], seeds, room)
        if not ranked:
            return  # no room for two episodes of each
        held = next(candidate for candidate in ranked if candidate.tree is first[0])
        run, more = len(held.rollouts), max(0, len(ranked[0].rollouts) - len(held.rollouts))
        with contextlib.suppress(Spent):
            held.rollouts.extend(self.judged(held.tree, RACE_EPISODES + run, more))
        best = next((candidate for candidate in ranked if candidate.better(held)), held)
        floor = next(candidate for candidate in ranked if any(candidate.tree is tree for tree in still))
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
            best = max(self.pool, key=lambda candidate: candidate.mean, default=None)
            self.best = best if best is not None and best.mean > state.floor else None
        if self.best is not None:
            leaves, tree = self.best.tree.n_leaves, self.best.tree
            state.frontier.raw[leaves] = ScoredTree(units.in_units(tree), self.best.mean)
            state.frontier.tidy[leaves] = ScoredTree(tree, self.best.mean)
