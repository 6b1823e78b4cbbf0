"""Walks of laws through a slow and noisy simulator, by augmented random search; several of them race.

A walk is V2-t of the paper of `ARS`: one episode per direction and sign, in units that follow all that was seen. Many
directions with one noisy episode each lead further than a few with many. What is judged is the mean of the laws on the
way, which has less noise than the last of them.

Where a walk leads to depends on where it begins, on luck, and on what it is paid: a robot that is paid for every step
in which it stands learns to stand. So several walks begin if the samples suffice, and the worse half ends after every
round. Some are paid without what a step earns that does nothing, but all are judged with it.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.laws.environments import Job, Rollout
from spaql.laws.optimisers import ARS
from spaql.laws.race import JUDGED_EPISODES, Candidate
from spaql.laws.trials import Trials
from spaql.laws.vector import Free, Units, everything, looked_at, numbers_of, varies, with_numbers
from spaql.plants.problem import Problem
from spaql.policy.outputs import kept
from spaql.trees.tree import Tree

DIRECTIONS = 16
NU, ALPHA = 0.2, 0.15  # lengths of directions and steps
LAST_SHARE = 0.3  # of the samples, in which both shrink to the same share of themselves: a polish
MIN_DEVIATION_SHARE = 0.01  # of the range that was seen: a variable that varied less is not blown up further
CUT = 2  # halves of episodes are run; whole ones if the law is no better than a constant action
MOST_WALKS = 6  # that race
MONITORS, MONITOR_SHARE = 14, 0.1  # judgements on the way, a third without progress ends a walk; their share
START_EPISODES = 4  # for first units


class Running:
    """Mean and deviation of the variables over all episodes so far."""

    def __init__(self, problem: Problem) -> None:
        d = len(problem.state)
        self.problem, self.count = problem, 0
        self.mean, self.squares = np.zeros(d), np.zeros(d)
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, rollout: Rollout) -> None:
        mean, squares, low, high = rollout.moments
        total, shift = self.count + rollout.steps, mean - self.mean
        self.squares = self.squares + squares + shift * shift * self.count * rollout.steps / total
        self.mean = self.mean + shift * rollout.steps / total
        self.count, self.low, self.high = total, np.minimum(self.low, low), np.maximum(self.high, high)

    @property
    def units(self) -> Units:
        reach = self.high - self.low
        alive = varies(reach, self.mean)
        deviation = np.maximum(np.sqrt(self.squares / max(self.count - 1, 1)), MIN_DEVIATION_SHARE * reach)
        inverse = np.where(alive, 1.0 / np.where(alive, deviation, 1.0), 0.0)
        return Units(self.mean, inverse * looked_at(self.problem), self.problem)


class Begin(NamedTuple):
    """Where a walk begins, and what it is paid."""

    law: Tree  # physical
    free: Free  # what of it may change
    unpaid: float = 0.0  # of the reward of every step


class Walk:
    """One walk. `seeds`: of so many episodes that were not used yet."""

    def __init__(self, begin: Begin, trials: Trials, rng: np.random.Generator, seeds: Callable[[int], Array]) -> None:
        self.begin, self.trials, self.rng, self.seeds = begin, trials, rng, seeds
        self.running = Running(trials.problem)
        self.seen: list[Candidate] = []  # laws on the way, judged with the whole reward
        self.passed: list[Array] = []  # physical numbers on the way since it was last judged
        self.tree: Tree | None = None  # in units, with its optimiser from the first episodes on
        self.progress = self.judged = 0  # its samples at the best judgement, and at the last one
        self.used, self.dear = 0, 0  # samples so far; of a generation
        self.idle = False

    @property
    def best(self) -> float:
        return max((candidate.mean for candidate in self.seen), default=-math.inf)

    def best_laws(self, count: int) -> list[Candidate]:
        return sorted(self.seen, key=lambda candidate: -candidate.mean)[:count]

    def physical(self, x: Array) -> Tree:
        assert self.tree is not None
        return self.running.units.physical(with_numbers(self.tree, self.begin.free, x))

    def start(self, judge: "Judge") -> None:
        """Units follow what is seen from here on: wild laws before have seen wild states."""
        judge(self.running, self.begin.law, START_EPISODES)
        self.tree = self.running.units.in_units(self.begin.law)
        x = numbers_of(self.tree, self.begin.free)
        self.ars = ARS(x, np.ones(len(x)), self.rng, 2 * DIRECTIONS, NU, ALPHA, 1.0)

    def step(self, horizon: int) -> None:
        """One generation: the same start state for both ends of a direction."""
        before = self.trials.samples
        laws, seeds = [self.physical(x) for x in self.ars.ask()], self.seeds(DIRECTIONS).tolist()
        jobs = [Job(law, seed, horizon) for law, seed in zip(laws, 2 * seeds, strict=True)]
        rollouts = self.trials.roll_out(jobs)
        for rollout in rollouts:
            self.running.add(rollout)
        self.ars.tell(np.array([rollout.total - self.begin.unpaid * rollout.steps for rollout in rollouts]))
        law = self.physical(self.ars.mean)
        self.passed.append(numbers_of(law, everything(law)))
        self.dear = self.trials.samples - before

    def average(self) -> Tree:
        """The mean of the laws since this was last asked for."""
        assert self.tree is not None
        numbers, self.passed = np.mean(self.passed, axis=0), []
        return kept(self.running.problem, with_numbers(self.tree, everything(self.tree), numbers))


Judge = Callable[[Running, Tree, int], list[Rollout]]  # so many episodes of a law, always the same first ones


class Walks:
    """Walks that race. `floor`: the mean of the best constant action; `judge`: with what counts in the end."""

    def __init__(self, trials: Trials, judge: Judge, floor: float, end: float) -> None:
        self.trials, self.judge, self.floor, self.end = trials, judge, floor, end
        self.horizon, self.room = trials.problem.horizon, end - trials.samples

    def race(self, walks: Sequence[Walk]) -> None:
        """Rounds of equal length, in each of which half as many go on as in the one before; the last one alone."""
        trials, sizes = self.trials, [len(walks)]
        while sizes[-1] > 1:
            sizes.append((sizes[-1] + 1) // 2)
        for at, size in enumerate(sizes):
            walks = survivors(walks, size)
            over = trials.samples + (self.end - trials.samples) / (len(sizes) - at)
            for k, walk in enumerate(walks):
                self.go_on(walk, trials.samples + (over - trials.samples) / (size - k))

    def go_on(self, walk: Walk, end: float) -> None:
        """As long as there is progress, and a generation fits."""
        trials, stretch = self.trials, self.room / MONITORS
        trials.limit = int(self.end)
        begun = trials.samples
        if walk.tree is None:
            walk.start(self.judge)
        while trials.samples + walk.dear <= end and walk.used - walk.progress <= MONITORS / 3 * stretch:
            left = (self.end - trials.samples) / (LAST_SHARE * self.room)
            walk.ars.sigma = min(1.0, max(LAST_SHARE, left))
            walk.step(self.horizon if walk.idle else -(-self.horizon // CUT))
            walk.used, begun = walk.used + trials.samples - begun, trials.samples
            if walk.used - walk.judged >= stretch:
                self.look(walk, stretch)
        if walk.passed:
            self.look(walk, stretch)

    def look(self, walk: Walk, stretch: float) -> None:
        law = walk.average()
        steps = walk.seen[-1].steps if walk.seen else self.horizon
        count = max(2, min(JUDGED_EPISODES, int(MONITOR_SHARE * stretch / steps)))
        walk.seen.append(Candidate(law, self.judge(walk.running, law, count)))
        walk.judged, walk.idle = walk.used, walk.seen[-1].mean <= self.floor
        if walk.seen[-1].mean >= walk.best:
            walk.progress = walk.used


def survivors(walks: Sequence[Walk], count: int) -> list[Walk]:
    """The best ones; if there are two or more, the best of each pay among them: what learns to walk falls at first."""
    ranked = sorted(walks, key=lambda walk: -walk.best)
    paid = {walk.begin.unpaid: walk for walk in reversed(ranked)}.values()
    first = [walk for walk in ranked if walk in paid] if count > 1 else []
    return [*first, *(walk for walk in ranked if walk not in first)][:count]
