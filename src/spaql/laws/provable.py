"""Among laws of equal return, the one of which more can be proven.

Where episodes end in failure, such a law has more room in its loop; where they end in success, every start arrives.
"""

import contextlib
import math

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work
from spaql.ground.streams import LAWS_CONFIRMED, LAWS_PROVABLE
from spaql.laws.lock_step import MIN_SPREAD
from spaql.laws.optimisers import CMA
from spaql.laws.race import CONFIRMED_EPISODES, MAX_EPISODES, shown_no_worse
from spaql.laws.search import POPULATION_FACTOR
from spaql.laws.stages import state_units
from spaql.laws.tidy import POLISH_STEP
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import (
    MAX_DIGITS,
    Units,
    all_free,
    everything,
    least_first,
    numbers_of,
    readable,
    steps_of,
    with_digits,
    with_numbers,
)
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import COMPARISONS, ENOUGH_EPISODES, PREFERRED, TOLERANCE, Laws
from spaql.plants.problem import Problem
from spaql.policy.outputs import kept
from spaql.proofs.loops_proven import room_used
from spaql.proofs.prove import loop_of
from spaql.proofs.questions import question
from spaql.training.lanes import Episodes, new_lanes, stage_of
from spaql.training.tally import LENGTH, new_tally
from spaql.training.tree_rollouts import run_tree
from spaql.trees.laws import SCORES
from spaql.trees.tree import Tree

# -- laws that push one way or the other: more room in the loop --------------------------------------------------------
#
# A law that pushes one way or the other is a line s = g (x - z) and a push of +-1 that is off the line by at most
# max(1, k S - 1) for |s| <= S (proofs/linear_loop.py). All that the pushes do to the line is at most
#
#     rho  =  sum_t |g A^t b|
#
# times the largest of them, so that a region exists if rho <= 2 and the rest is small; and the smaller the region, the
# more room is left for wrong sensors and wrong parameters. So the numbers of the law are changed at random as long as
# rho falls, and from there on as long as the region shrinks. No episode is needed for that.

CHANGES = 150  # that are tried, with all effort


def refuse_unprovable(problem: Problem) -> None:
    """One line for a problem about which no loop can be proven."""
    plant = problem.plant
    if problem.ends not in PREFERRED or plant is None or not hasattr(plant, "step") or plant.flow is not None:
        raise SpaqlError(
            f"provable: {problem.name} is not a plant with discrete-time equations whose episodes end in failure or in "
            "success; leave it out, and ask the policy for its proof"
        )


def prefer_provable(agent: Laws, trials: Trials) -> None:
    """Into the frontier, in the place of the best law, if it earns as much, or as much from the worst start."""
    given = agent.tree
    if agent.searched.ends == "success" and given.laws is not None:
        prefer_arriving(agent, trials)
        return
    if given.laws is None or given.laws.kind == SCORES:
        return
    room = math.inf if trials.left is None else trials.left // (COMPARISONS * agent.searched.horizon)
    count = int(min(room, MAX_EPISODES))
    if count < ENOUGH_EPISODES:
        return
    rng = np.random.default_rng([agent.seed, LAWS_PROVABLE])
    path = loosened(agent.searched, given, rng, round(CHANGES * agent.effort))
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 0, count)
    tidy, tolerance = agent.state.frontier.tidy, agent.state.tolerance
    with contextlib.suppress(Spent):
        reference = trials.returns(given, seeds)
        while len(path) > 1 and not shown_no_worse(trials, path[-1], seeds, reference, tolerance):
            path = path[: (len(path) + 1) // 2]  # half of the way is worth less, and costs less
        for size, entry in tidy.items():
            if entry.tree is given and len(path) > 1:
                tidy[size] = ScoredTree(path[-1], entry.mean)


def loosened(problem: Problem, tree: Tree, rng: np.random.Generator, changes: int) -> list[Tree]:
    """The tree, then others of which each has more room than the one before."""
    asked = question(problem, None, None, None, math.inf, {}, 0.0, True, 0.0, None)
    free = everything(tree)
    v = numbers_of(tree, free)
    live, path = np.flatnonzero(v), [tree]
    best, slope = room_used(loop_of(tree, asked), asked, None)
    for trial in range(changes):
        at_work("looking for laws that can be proven", trial / changes)
        w = v.copy()
        w[live] *= np.exp(2.0 * rng.random() * POLISH_STEP * rng.normal(size=len(live)))
        w[live] = [float(f"{x:.{MAX_DIGITS}g}") for x in w[live]]
        other = kept(problem, with_numbers(tree, free, w))
        used, line = room_used(loop_of(other, asked), asked, slope)
        if used < best:
            best, slope, v = used, line, w
            path.append(other)
    return path


# -- laws with which every start arrives -------------------------------------------------------------------------------
#
# A mean return does not see that a car which stands still at one point stays there for ever, nor that a start between
# two ways never decides. Near such a start an episode takes the longer the nearer it is, and where there is none it
# does not. So some starts are tried, then others nearer and nearer to the slowest of them, and a law is worth
#
#     the mean return + the least return - (the mean of the given law - that of the best constant) T / N
#
# with T steps of the slowest start, and N those of an episode. CMA-ES looks for numbers that are worth more; those that
# are not needed go.

STARTS, SLOW, NEAR = 64, 3, 8  # starts that are tried first; of which others are tried near, so many in each round
ROUNDS, NARROWER = 6, 16.0  # how often nearer, and by how much: down to a billionth of the starts
GENERATIONS = 60  # from each beginning


class EveryStart:
    """What a law is worth. `span`: of a mean return, from the best constant action to the law that was given."""

    def __init__(self, problem: Problem, trials: Trials, seed: int, span: float) -> None:
        assert problem.plant is not None
        self.problem, self.plant, self.trials, self.span = problem, problem.plant, trials, span
        self.stage = stage_of(self.plant, problem.horizon)
        rng, numbers = np.random.default_rng([seed, LAWS_PROVABLE]), max(self.plant.reset_noise, 1)
        self.starts = np.concatenate([np.zeros((1, numbers)), rng.random((STARTS - 2, numbers)), np.ones((1, numbers))])
        self.near = rng.uniform(-1.0, 1.0, (ROUNDS, SLOW, NEAR, numbers))

    def episodes(self, tree: Tree, starts: Array) -> tuple[Array, Array]:
        """(returns, lengths) from these starts, given by the numbers that they are drawn with."""
        n = len(starts)
        self.trials.check(n * self.problem.horizon)
        returns, tally, nothing = np.zeros(n), new_tally(self.problem, n), np.zeros(0)
        lanes = new_lanes(self.plant, tally)
        episodes = Episodes(np.uint64(0), returns, 0, n, starts=np.ascontiguousarray(np.clip(starts, 0.0, 1.0 - 2e-16)))
        unseen = np.zeros((0, len(self.problem.state)))
        steps = run_tree(
            *self.plant.batch, self.stage, tree.controller, lanes, episodes, nothing.astype(np.int64), unseen
        )
        self.trials.count(int(steps))
        return returns, tally.rows[:, LENGTH]

    def worth(self, tree: Tree) -> float:
        returns, lengths = self.episodes(tree, self.starts)
        mean, least = returns.mean(), returns.min()
        slow = list[int]()
        for at in np.argsort(-lengths, kind="stable").tolist():
            apart = np.abs(self.starts[slow] - self.starts[at]).max(axis=1) > 2.0 / STARTS
            if len(slow) < SLOW and apart.all():
                slow.append(at)
        places, slowest, reach = self.starts[slow], lengths[slow], 1.0 / STARTS
        for offsets in self.near:
            some = np.clip(places[:, None] + reach * offsets[: len(slow)], 0.0, 1.0)
            returns, lengths = self.episodes(tree, some.reshape(-1, self.starts.shape[1]))
            least, lengths, rows = min(least, returns.min()), lengths.reshape(len(slow), NEAR), np.arange(len(slow))
            best = lengths.argmax(axis=1)
            further = lengths[rows, best] >= slowest
            places = np.where(further[:, None], some[rows, best], places)
            slowest, reach = np.maximum(slowest, lengths[rows, best]), reach / NARROWER
        return float(mean + least - self.span * slowest.max() / self.problem.horizon)


def prefer_arriving(agent: Laws, trials: Trials) -> None:
    """Into the frontier, in the place of the best laws, if it is worth more."""
    state, given, units = agent.state, agent.tree, state_units(agent)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 0, CONFIRMED_EPISODES)
    best = max(state.frontier.tidy.values(), key=lambda entry: entry.mean)
    arriving = EveryStart(agent.searched, trials, agent.seed, max(best.mean - state.floor, 0.0))
    raw = [state.frontier.raw[size].tree for size in sorted(state.frontier.raw, reverse=True)]
    beginnings = [units.in_units(given), *raw[:1]]
    trials.reserve = agent.searched.horizon * len(seeds)
    searched = _Searched(arriving, units, given, agent)
    with contextlib.suppress(Spent):
        searched.consider(given)
        for at, tree in enumerate(beginnings):
            searched.optimise(tree, at / len(beginnings), 1.0 / len(beginnings))
    with contextlib.suppress(Spent):
        searched.simplify()
    if searched.tree is given:
        return
    trials.reserve = 0
    tree = readable(searched.tree, units)
    with contextlib.suppress(Spent):
        mean = float(trials.returns(tree, seeds).mean())
        tidy = {size: entry for size, entry in state.frontier.tidy.items() if entry.mean < mean}
        state.frontier.tidy = {size: entry for size, entry in tidy.items() if size < tree.n_leaves}
        state.frontier.tidy[tree.n_leaves] = ScoredTree(tree, mean)


class _Searched:
    """`tree`: the best so far, in physical units."""

    def __init__(self, arriving: EveryStart, units: Units, given: Tree, agent: Laws) -> None:
        self.arriving, self.units, self.tree, self.worth = arriving, units, given, -np.inf
        self.effort, self.rng = agent.effort, np.random.default_rng([agent.seed, LAWS_PROVABLE, 1])

    def consider(self, tree: Tree) -> float:
        worth = self.arriving.worth(tree)
        if worth > self.worth:
            self.tree, self.worth = tree, worth
        return worth

    def optimise(self, tree: Tree, begun: float, part: float) -> None:
        """From a tree in units."""
        free = all_free(tree, self.units.live)
        x, trials, problem = numbers_of(tree, free), self.arriving.trials, self.arriving.problem
        population = max(4, round(POPULATION_FACTOR * (4 + 3 * np.log(len(x) + 1)) * min(1.0, self.effort)))
        cma, before = CMA(x, steps_of(tree, free), self.rng, population), trials.samples
        room = np.inf if trials.left is None else part / (1.0 - begun) * (trials.left - trials.reserve)
        generations = max(1, round(GENERATIONS * self.effort))
        for generation in range(generations):
            if cma.spread < MIN_SPREAD or trials.samples - before > room:
                return
            at_work("looking for laws with which every start arrives", begun + part * generation / generations)
            physical = [self.units.physical(with_numbers(tree, free, numbers)) for numbers in cma.ask()]
            trees = [kept(problem, with_digits(law, MAX_DIGITS)) for law in physical]
            cma.tell(np.array([self.consider(law) for law in trees]))

    def simplify(self) -> None:
        """Numbers that are not needed go, the least first."""
        free = everything(self.tree)
        for place in least_first(self.tree, self.units).tolist():
            numbers = numbers_of(self.tree, free)
            numbers[place] = 0.0
            tree = kept(self.arriving.problem, with_numbers(self.tree, free, numbers))
            worth = self.arriving.worth(tree)
            if worth >= self.worth - TOLERANCE * self.arriving.span:
                self.tree = tree
