"""Which of a few laws is best, where episodes are dear: paired comparisons, on the same episodes for all laws.

A law that was found by a search has been lucky in the episodes of the search: the best of fourteen in two episodes each
says next to nothing. So these episodes are others, and more of them go to those laws that are hard to tell apart.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spaql.compress.frontier import FRESH
from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_CONFIRMED, PRICE_STAGE
from spaql.laws.environments import Job, Rollout
from spaql.laws.search import STATES, Search
from spaql.laws.trials import Spent, Trials, affordable, seeds_of
from spaql.laws.vector import MAX_DIGITS, measured_units, with_digits
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import ENOUGH_EPISODES, Laws
from spaql.plants.problem import Problem
from spaql.policy.evaluation import paired
from spaql.policy.outputs import kept
from spaql.training.acceptance import EPISODES
from spaql.trees.tree import Tree

MIN_EPISODES = 2  # of every law
MAX_EPISODES = 100  # of a law
JUDGED_EPISODES = 20  # at most, of a law that others are made from
PRIOR_EPISODES = 3.0  # that the usual deviation counts for
SURE_ERRORS = 2.0  # standard errors between two laws that decide between them
MAX_LOSS_TOLERANCES = 7.0  # that a loss may have at most, its uncertainty included
EARLY_SHARE = 0.25  # of the episodes, after which a law may be turned down


def no_worse(returns: Array, reference: Array, tolerance: float) -> bool:
    """Whether returns have not fallen by more than the tolerance and their own uncertainty, which must be small."""
    change, error = paired(returns, reference)
    error = error if len(returns) >= ENOUGH_EPISODES else 0.0
    return change >= -tolerance - error and change - error >= -MAX_LOSS_TOLERANCES * tolerance


def shown_no_worse(trials: Trials, tree: Tree, seeds: Array, reference: Array, tolerance: float) -> bool:
    """`no_worse`; what is clearly worse in the first episodes does not see the others."""
    early = int(EARLY_SHARE * len(seeds))
    early = 0 if early < ENOUGH_EPISODES else early
    first = trials.returns(tree, seeds[:early]) if early else np.zeros(0)
    if early:
        change, error = paired(first, reference)
        if change < -tolerance - SURE_ERRORS * error:
            return False
    return no_worse(np.concatenate([first, trials.returns(tree, seeds[early:])]), reference, tolerance)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A law, physical, with its episodes."""

    tree: Tree
    rollouts: list[Rollout]

    @property
    def returns(self) -> Array:
        return np.array([rollout.total for rollout in self.rollouts])

    @property
    def mean(self) -> float:
        """Without an episode it has shown nothing."""
        return float(self.returns.mean()) if self.rollouts else -math.inf

    @property
    def steps(self) -> float:
        """Of an episode, on average."""
        return float(np.mean([rollout.steps for rollout in self.rollouts]))

    def better(self, other: "Candidate", errors: float = 1.0) -> bool:
        """Whether it earns more in the same episodes, by so many standard errors."""
        if not self.rollouts or not other.rollouts:
            return False
        change, error = paired(self.returns, other.returns)
        return change > errors * error


def raced(trials: Trials, trees: Sequence[Tree], seeds: Callable[[int, int], Array], room: float) -> list[Candidate]:
    """The trees with the episodes that each has run, the best first; the last ones are left out where room is short.

    `seeds`: of so many episodes from a number on. `room`: samples. First a few episodes of each, with half of the room;
    then the one that is ahead and the one that may be better run more of them in turn, until nobody may be better.
    """
    trials.limit, horizon = None, trials.problem.horizon
    end = trials.samples + room
    runners = [Candidate(tree, []) for tree in trees[: max(2, int(room / (MIN_EPISODES * horizon)))]]

    def run(who: Sequence[Candidate], until: int) -> None:
        asked = [(runner, seeds(len(runner.rollouts), until - len(runner.rollouts)).tolist()) for runner in who]
        jobs = [Job(runner.tree, seed, horizon) for runner, numbers in asked for seed in numbers]
        rollouts = iter(trials.roll_out(jobs))
        for runner, numbers in asked:
            runner.rollouts.extend(next(rollouts) for _ in numbers)

    with contextlib.suppress(Spent):
        run(runners, max(MIN_EPISODES, min(ENOUGH_EPISODES, int(room / (2 * horizon * len(runners))))))
        while (pair := _undecided(runners)) is not None:
            few, many = sorted(len(runner.rollouts) for runner in pair)
            until = min(MAX_EPISODES, max(few + 1, min(many, 2 * few) if few < many else few + few // 2))
            who = [runner for runner in pair if len(runner.rollouts) < until]
            until = min(until, few + int((end - trials.samples) / sum(runner.steps for runner in who)) if who else 0)
            if until <= few:
                break
            run([runner for runner in who if len(runner.rollouts) < until], until)
    return _ranked([runner for runner in runners if runner.rollouts])


def _ranked(runners: Sequence[Candidate]) -> list[Candidate]:
    """By what is earned at least, about: a law that was lucky in few episodes is not ahead of one that has run many."""
    errors = _errors(runners)
    return sorted(runners, key=lambda runner: errors[id(runner)] - runner.mean)


def _undecided(runners: Sequence[Candidate]) -> tuple[Candidate, Candidate] | None:
    """The one ahead, and who may still be better than it: the one that would be best if it had bad luck so far."""
    errors, lead = _errors(runners), _ranked(runners)[0]

    def beaten(runner: Candidate) -> bool:
        if min(len(runner.rollouts), len(lead.rollouts)) >= ENOUGH_EPISODES:
            return lead.better(runner, SURE_ERRORS)
        return lead.mean - runner.mean > SURE_ERRORS * math.hypot(errors[id(runner)], errors[id(lead)])

    others = [runner for runner in runners if runner is not lead and not beaten(runner)]
    return (lead, max(others, key=lambda runner: runner.mean + errors[id(runner)])) if others else None


def _errors(runners: Sequence[Candidate]) -> dict[int, float]:
    """Standard errors by `id`; deviations that few episodes tell are drawn to the usual one."""
    usual = float(np.median([runner.returns.var(ddof=1) for runner in runners if len(runner.rollouts) > 1] or [0.0]))
    errors = {}
    for runner in runners:
        n = len(runner.rollouts)
        squares = n * float(runner.returns.var()) + PRIOR_EPISODES * usual
        errors[id(runner)] = math.sqrt(squares / (n - 1 + PRIOR_EPISODES) / n)
    return errors


# -- adoption: what a search has found is made readable, and confirmed in episodes that neither of them saw ------------

CONFIRMED_EPISODES = FRESH  # of a search with the usual effort
MAX_LOST_GAIN = 0.1  # of what a tree gains over smaller ones, by tidying it
CAREFUL_SHARE = 0.3  # of the tolerance, where tidying was too much


def adopt(
    agent: Laws, trials: Trials, law: Tree, seeds: Array, tidied: Callable[[float], Tree], errors: float
) -> None:
    """Into the frontier, in the place of a law that is no larger, if it is better in the same episodes.

    `seeds`: of the confirmation; `tidied`: the law made readable within a tolerance; `errors`: standard errors by which
    it must be better. A tidy law that is worse than what it was made from was tidied too much: once more, more
    carefully, and then only rounded.
    """
    state, tidy = agent.state, agent.state.frontier.tidy
    rival = max((entry for size, entry in tidy.items() if size <= law.n_leaves), key=lambda entry: entry.mean)
    against = None if rival.tree is law else trials.returns(rival.tree, seeds)
    before = trials.returns(law, seeds)
    if against is not None:
        change, error = paired(before, against)
        if change <= errors * error:
            return
        shift = float(against.mean()) - rival.mean  # in these episodes, of all laws about as of this one
        tidy.update({size: ScoredTree(entry.tree, entry.mean + shift) for size, entry in tidy.items()})
    if rival.tree.laws is None or against is None:  # the budget may end
        _put(agent, law, before, law)
    smaller = [entry.mean for size, entry in tidy.items() if size < law.n_leaves]
    gain = max(0.0, float(before.mean()) - max(smaller)) if smaller else np.inf
    tolerance = min(state.tolerance, MAX_LOST_GAIN * gain)  # else tidying eats what a larger tree gains
    tolerance *= min(1.0, math.sqrt(CONFIRMED_EPISODES / len(seeds)))  # more episodes tell smaller differences apart
    tree, returns = law, before
    try:
        for share in (1.0, CAREFUL_SHARE, 0.0):
            form = tidied(share * tolerance) if share else kept(agent.searched, with_digits(law, MAX_DIGITS))
            after = trials.returns(form, seeds)
            fine = no_worse(after, before, 2 * tolerance) if errors else paired(after, before)[0] >= -2 * tolerance
            if fine and (against is None or paired(after, against)[0] > 0.0):
                tree, returns = form, after
                break
    except Spent:  # untidied it is better than none of its size, and no match for one that is tidy
        if law.n_leaves not in tidy or tidy[law.n_leaves].tree.laws is None:
            _put(agent, law, before, law)
        raise
    _put(agent, tree, returns, law)
    if agent.tree is tree and len(state.exams):
        n, exams = len(state.exams), seeds_of(agent.seed, LAWS_CONFIRMED, 0, len(state.exams))
        state.own = state.own[:0]  # those of another tree say nothing
        state.own = returns[:n] if np.array_equal(seeds[:n], exams) else trials.returns(tree, exams)


def _put(agent: Laws, tree: Tree, returns: Array, instead: Tree) -> None:
    """With its returns in the episodes of the confirmation; `instead` of what it was made from."""
    tidy = agent.state.frontier.tidy
    for size in [size for size, entry in tidy.items() if entry.tree is instead]:
        del tidy[size]
    tidy[tree.n_leaves] = ScoredTree(tree, float(returns.mean()))
    if agent.state.slow and agent.tree is tree:
        agent.state.confirmed = returns


# -- what limits cost: how much more laws earn once their numbers are free to break them -------------------------------

PRICE_SAMPLES = 2_000_000  # of a compiled plant, or of a learned model: a tenth of a second to some seconds


def price_of_limits(problem: Problem, tree: Tree, seed: int) -> float:
    """By how much the mean return grows; at least 0. `problem`: compiled, with the reward as it was stated."""
    seeds, judge = seeds_of(seed, LAWS_CONFIRMED, PRICE_STAGE, EPISODES), Trials(problem)
    trials, units = Trials(problem, PRICE_SAMPLES), measured_units(problem, judge.watched(tree, seeds, STATES)[1])
    search = Search(trials, units, seed, PRICE_STAGE, affordable(problem, PRICE_SAMPLES, 1))
    with contextlib.suppress(Spent):
        search.polish([units.in_units(tree)])
    if search.best is None:
        return 0.0
    better = units.physical(search.best.tree)
    return max(paired(judge.returns(better, seeds), judge.returns(tree, seeds))[0], 0.0)
