"""What a controller of Atlas may be trusted with: what the model says, what the plant said, and where they disagree.

The model is learned from all data, and functions are drawn where the controller goes. A search finds what is good in
the model, also where the model is wrong; so the trials of the laws that were found last are held against the promise of
the model in which they were found, which had seen none of these trials.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.gp.data import Data, follows_of
from spaql.gp.model import unpredicted
from spaql.gp.problem import (
    FEWEST,
    POOR,
    imagined,
    model_of,
    one_function,
    predicted,
    starts_of,
)
from spaql.gp.references import jumped, stretch_of
from spaql.laws.in_model import doubted, scale_of
from spaql.laws.stages import constants
from spaql.laws.teacher import Lessons
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.atlas.controller import controller_of
from spaql.learners.atlas.memory import BEGAN, LED, TERMINATED
from spaql.learners.atlas.state import Grown
from spaql.plants.problem import Problem
from spaql.policy.digits import counted
from spaql.streams import LAWS_CONFIRMED
from spaql.trees.edits import constant
from spaql.trees.tree import Tree, decide

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

FUNCTIONS = 8
EPISODES = 50  # in each function
DOUBTED = 60  # inputs at which functions are drawn
VISITED = 1000  # states of the controller
FAILED = 0.5  # of the way from the best constant action to the mean: an episode below has failed
OFTEN = 0.02  # of the episodes
SEVERAL = 4  # episodes whose mean says something
TRIED = 20  # episodes that are looked at, at most
SOME = 20  # steps of trials that show something
APART = 0.1  # of the same way: functions, or model and plant, that differ by more disagree


@dataclass(frozen=True)
class Tried:
    """Episodes on the plant that new laws have led, and what the model in which they were found promises for them."""

    steps: int
    earned: Array  # (episodes,)
    predicted: Array  # (functions, episodes)
    explained: Array  # the same by the model of all data, which has seen these episodes
    promised: Array  # what this model promises for the controller of today in their place
    still: Array  # and for the best constant action
    share: float  # of the length of an episode that they had

    def disappoints(self, far: float) -> bool:
        """Whether the model was wrong by more than `far`, or all in all the plant paid what it calls rare."""
        rare = float(np.quantile(self.predicted, 0.05))
        return abs(self.earned.mean() - self.predicted.mean()) > far or (
            len(self.earned) >= SEVERAL and float(self.earned.mean()) < rare
        )


@dataclass(frozen=True)
class Trust:
    """What is known about a controller; `str` says it in a few lines."""

    samples: int
    begun: int  # episodes, or stretches with one reference, whose first state was seen
    returns: Array  # (functions, episodes) in the model
    floor: float  # mean return of the best constant action in the model
    tried: Tried | None  # what new laws have done on the plant
    missed: dict[str, float]  # by variable, the part of its changes that the model cannot predict
    doubtful: dict[str, float]  # the state of the controller at which functions disagree most
    most: float = math.inf  # a return above which there is none: no step has ever paid more
    rare: float = 0.0  # standard error of the mean because so few jumps of a reference were seen

    @property
    def mean(self) -> float:
        """Expected return."""
        return float(self.returns.mean())

    @property
    def mean_interval(self) -> tuple[float, float]:
        """The expected return lies in it, 95 %: functions that fit the data differ, and few beginnings were seen."""
        functions, episodes = self.returns.mean(axis=1).var(ddof=1), self.returns.var(axis=1, ddof=1).mean()
        variance = functions + episodes / self.begun + self.rare**2
        wide = float(stdtrit(max(self.begun - 1, 1), 0.975) * math.sqrt(variance))
        return self.mean - wide, min(self.mean + wide, max(self.most, self.mean))

    @property
    def interval(self) -> tuple[float, float]:
        """Nine of ten episodes end in it."""
        low, high = np.quantile(self.returns, (0.05, 0.95))
        return float(low), float(high)

    @property
    def failures(self) -> float:
        """Share of episodes that end nearer to the best constant action than to the mean."""
        return float((self.returns < self.mean - FAILED * self.range).mean())

    @property
    def range(self) -> float:
        """From the best constant action to the controller."""
        return max(self.mean - self.floor, 0.0)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons for not trusting the controller, a line each; none is a good sign."""
        found = []
        poor = [f"{name} ({100 * part:.0f} %)" for name, part in self.missed.items() if part > POOR]
        if poor:
            found.append(f"the model cannot predict {', '.join(poor)}: noise, or something that is not observed")
        if self.range == 0.0:
            found.append("in the model it is no better than a constant action")
            return tuple(found)
        means = self.returns.mean(axis=1)
        if means.max() - means.min() > APART * self.range:
            found.append(f"functions that fit the data disagree: {means.min():.4g} to {means.max():.4g}")
        if self.failures > OFTEN:
            found.append(f"{100 * self.failures:.0f} % of the episodes are predicted to fail")
        if self.tried is None:
            found.append("no episode on the plant has been controlled by laws yet")
        else:
            found += self._doubts_of_trials(self.tried)
        return tuple(found)

    def _doubts_of_trials(self, tried: Tried) -> list[str]:
        found, earned = [], float(tried.earned.mean())
        told, explained, promised = (float(one.mean()) for one in (tried.predicted, tried.explained, tried.promised))
        if abs(earned - explained) > APART * self.range:
            unseen = "something that differs between episodes is not observed, or the model is wrong there"
            found.append(f"laws earned {earned:.4g} on the plant, the model of all data says {explained:.4g}: {unseen}")
        elif tried.disappoints(APART * self.range):
            found.append(f"the last new laws earned {earned:.4g} on the plant; the model predicted {told:.4g}")
        if promised - earned > FAILED * self.range:
            found.append(f"laws have earned {earned:.4g} on the plant; the {promised:.4g} of these laws is untried")
        elif promised - tried.still.mean() < APART * scale_of(self.mean, self.floor, self.most) * tried.share:
            late = f"in the {counted(tried.steps, 'step')} for which laws have acted, nothing of their return is earned"
            found.append(f"{late}: it is untried")
        return found

    def __str__(self) -> str:
        low, high = self.mean_interval
        told = f"{self.mean:.4g} on average (95 %, {counted(self.begun, 'start')} seen: {low:.4g} to {high:.4g})"
        lines = [f"model of {counted(self.samples, 'sample')}: {told}"]
        low, high = self.interval
        lines.append(f"nine of ten episodes {low:.4g} to {high:.4g}; best constant action {self.floor:.4g}")
        if self.tried is not None:
            by_function, earned = self.tried.predicted.mean(axis=1), self.tried.earned
            predicted = f"the model before them predicts {by_function.min():.4g} to {by_function.max():.4g}"
            size = f"{counted(len(earned), 'episode')}, {counted(self.tried.steps, 'step')}"
            lines.append(f"new laws on the plant ({size}): {earned.mean():.4g} on average; {predicted}")
        lines += [f"doubt: {line}" for line in self.doubts]
        place = ", ".join(f"{name} {value:.3g}" for name, value in self.doubtful.items())
        lines.append(f"the functions disagree most at {place}: data from there help most")
        return "\n".join(lines)


def trust_in(agent: "Atlas") -> Trust:
    """About the agent's controller."""
    n = agent.state.memory.n
    if n < FEWEST:
        raise SpaqlError(f"{n} samples are too few to assess the controller: learn(samples=...) or update(...) first")
    tree, data = controller_of(agent), agent.state.memory.data(n)
    stretch = stretch_of(agent.problem.horizon, data)
    problem, stretches = agent.problem_told, agent.problem.horizon / stretch
    names = {-1: "the reward"} | {j: axis.name for j, axis in enumerate(problem.state)}
    missed = {names[j]: part for j, part in unpredicted(model_of(problem, data), data).items()}
    drawn, states = _drawn(problem, stretch, data, tree, agent.seed)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 2**45, EPISODES)
    earned = np.array([Trials(one_function(drawn, f)).returns(tree, seeds) for f in range(FUNCTIONS)])
    returns = _whole_episodes(earned, stretches, np.random.default_rng([agent.seed, n]))
    still = [constant(len(problem.state), action) for action in constants(problem)]
    means = [float(Trials(drawn).returns(one, seeds).mean()) for one in still]
    floor, best = stretches * max(means), still[int(np.argmax(means))]
    where = dict(zip((axis.name for axis in problem.state), _most_doubtful(drawn, tree, states).tolist(), strict=True))
    jumps = jumped(data)
    begun = int((~follows_of(data) | jumps).sum())
    rare = abs(float(returns.mean())) * (1.0 - 1.0 / stretches) / math.sqrt(max(int(jumps.sum()), 1))
    most = agent.problem.horizon * max(float(data.rewards.max()), 0.0)  # an episode of costs may end soon
    return Trust(n, begun, returns, floor, _tried(agent, drawn, (tree, best)), missed, where, most, rare)


def _whole_episodes(earned: Array, stretches: float, rng: np.random.Generator) -> Array:
    """Returns of episodes that consist of some stretches, by function: what their stretches earn, at random."""
    count = max(1, round(stretches))
    picks = rng.integers(earned.shape[1], size=(count, *earned.shape)) if count > 1 else None
    if picks is None:
        return earned * stretches
    whole: Array = np.take_along_axis(earned[None], picks, axis=2).sum(axis=0) * (stretches / count)
    return whole


def _drawn(problem: Problem, stretch: int, data: Data, tree: Tree, seed: int) -> tuple[Problem, Array]:
    """Functions that differ where the controller goes, in episodes of a stretch, and the states there."""
    rng, model = np.random.default_rng([seed, len(data.states), FUNCTIONS]), model_of(problem, data)
    starts, problem = starts_of(problem, data, rng), replace(problem, horizon=stretch)
    mean = imagined(problem, model, data, starts, rng)
    states = Trials(mean).watched(tree, seeds_of(seed, LAWS_CONFIRMED, 2**44, EPISODES), VISITED)[1]
    at = doubted(problem, model, Lessons(states, decide(tree, states)), rng, DOUBTED)
    return imagined(problem, model, data, starts, rng, FUNCTIONS, at), states


def _most_doubtful(drawn: Problem, tree: Tree, states: Array) -> Array:
    """The state at which the next states of all functions are furthest apart, in units of the controller's spread."""
    some = states[np.linspace(0, len(states) - 1, min(len(states), 100)).astype(int)]
    applied = decide(tree, some)
    told = np.array([predicted(one_function(drawn, f), some, applied) for f in range(FUNCTIONS)])
    spread = states.std(axis=0)
    apart = (told.std(axis=0) / np.where(spread > 0.0, spread, 1.0)).sum(axis=1)
    found: Array = some[int(apart.argmax())]
    return found


def _tried(agent: "Atlas", now: Problem, others: tuple[Tree, Tree]) -> Tried | None:
    """The episodes led by the last laws that have led any, predicted by a model of the data before them.

    `now`: the model of all data; `others`: the controller of today, and the best constant action.
    """
    memory, n = agent.state.memory, agent.state.memory.n
    trials = _last_trials(agent)
    if trials is None:
        return None
    last, episodes = trials
    laws = last.entry.tree
    before, _ = _drawn(agent.problem_told, now.horizon, memory.data(last.samples), laws, agent.seed)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 2**45, 1)
    jumps = jumped(memory.data(n))
    steps, asked_for, earned, told = 0, 0, [], []
    for begin, end in episodes[:TRIED]:
        jump = np.flatnonzero(jumps[begin:end])  # nobody can predict when a reference jumps
        length = int(jump[0]) if len(jump) and jump[0] > 0 else end - begin
        # an episode that the plant has ended is a whole one: in the model it may go on, and earn or cost more
        ended = begin + length == end and memory.flags[end - 1] & TERMINATED
        whole = now.horizon if ended else length
        asked = [(before, laws), (now, laws), *((now, other) for other in others)]
        told.append([_returns(drawn, tree, memory.states[begin], whole, seeds) for drawn, tree in asked])
        earned.append(float(memory.rewards[begin : begin + length].sum()))
        steps, asked_for = steps + length, asked_for + whole
    share = asked_for / (len(earned) * agent.problem.horizon)
    predicted, explained, promised, still = np.array(told).transpose(1, 2, 0)
    return Tried(steps, np.array(earned), predicted, explained, promised, still, share)


def _last_trials(agent: "Atlas") -> tuple[Grown, list[tuple[int, int]]] | None:
    """The last laws that have led some steps, or else the last ones that have led any, and where their episodes lie.

    The last trial may have been cut after a few steps, when the samples were used up: it shows little.
    """
    memory, n, grown = agent.state.memory, agent.state.memory.n, agent.state.grown
    ends = [*np.flatnonzero(memory.flags[:n] & BEGAN).tolist(), n]
    led = [(begin, end) for begin, end in pairwise(ends) if memory.flags[begin] & LED]
    found, until = None, n
    for one in reversed(grown):
        episodes = [(begin, end) for begin, end in led if one.samples <= begin < until]
        if sum(end - begin for begin, end in episodes) >= SOME:
            return one, episodes
        found, until = found or ((one, episodes) if episodes else None), one.samples
    return found


def _returns(drawn: Problem, tree: Tree, first: Array, length: int, seeds: Array) -> list[float]:
    """Of an episode of this length from this state on, by function."""
    worlds = (one_function(replace(drawn, horizon=length), f, first) for f in range(FUNCTIONS))
    return [float(Trials(one).returns(tree, seeds)[0]) for one in worlds]
