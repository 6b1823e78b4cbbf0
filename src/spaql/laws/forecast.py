"""What learned models say about a controller: the model of all data, and models that each lack a
part of it.

A controller is good in the model in which it was found, also where that model is wrong. A model
that lacks a fifth of the data is wrong elsewhere; if such models call the controller worse, its
return may rest on an error.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spaql.compress.arena import LOST
from spaql.gp.learned_problem import imagined, one_function, starts_of
from spaql.gp.model import Model
from spaql.gp.model_equations import RewardBounds
from spaql.gp.model_plant import ModelPlant, model_plant
from spaql.gp.transitions import Data, jumped
from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_CONFIRMED
from spaql.laws.in_model import DOUBTED_INPUTS, EPISODES, POSTERIOR_SAMPLES, VISITED, doubted
from spaql.laws.lessons import Lessons
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.atlas.atlas_controller import model_at, told_problem
from spaql.learners.atlas.experience import BEGAN, LED, TERMINATED
from spaql.learners.atlas.state import Grown
from spaql.plants.problem import Problem
from spaql.trees.tree import Tree, decide

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

PARTS = 5  # of the data, each of which one of the other functions lacks


def functions_for(
    problem: Problem, model: Model, stretch: int, data: Data, tree: Tree, seed: int
) -> tuple[Problem, Array]:
    """Functions that differ where the controller goes in a stretch, and the states there."""
    rng = np.random.default_rng([seed, len(data.states), POSTERIOR_SAMPLES])
    starts, problem = starts_of(problem, data, rng), replace(problem, horizon=stretch)
    mean = imagined(problem, model, data, starts, rng)
    states = Trials(mean).watched(tree, seeds_of(seed, LAWS_CONFIRMED, 2**44, EPISODES), VISITED)[1]
    at = doubted(problem, model, Lessons(states, decide(tree, states)), rng, DOUBTED_INPUTS)
    return imagined(problem, model, data, starts, rng, POSTERIOR_SAMPLES, at), states


def lacking_some(drawn: Problem, problem: Problem, model: Model, data: Data, seed: int) -> Problem:
    """Mean functions of all data, and of it without one part; episodes begin as in `drawn`."""
    assert isinstance(drawn.plant, ModelPlant)
    rng, starts = np.random.default_rng([seed, len(data.states), PARTS]), drawn.plant.numbers.starts
    problem = replace(problem, horizon=drawn.horizon)
    return imagined(problem, model, data, starts, rng, 1 + PARTS, lacking=True)


def returns_in(drawn: Problem, tree: Tree, seed: int) -> Array:
    """(functions, episodes); the same beginnings in all functions."""
    seeds, plant = seeds_of(seed, LAWS_CONFIRMED, 2**45, EPISODES), drawn.plant
    assert isinstance(plant, ModelPlant)
    return np.array([Trials(one_function(drawn, f)).returns(tree, seeds) for f in range(len(plant.numbers.linear))])


def leaving(drawn: Problem, tree: Tree, seed: int) -> float:
    """The share of episodes that leave the data, beyond which nothing is known."""
    reward = _reward_of(drawn)._replace(stray=LOST)
    return float((returns_in(_paying(drawn, reward), tree, seed) <= 0.5 * LOST).mean())


def within_twice(drawn: Problem) -> tuple[Problem, Problem]:
    """Learned problems in which a step may cost more, and may pay more, than any step that was
    seen.

    By as much again as rewards, or their logarithm, have differed; and also where no data is near.
    Whoever searches for laws believes in neither.
    """
    reward = _reward_of(drawn)
    further = reward.most - reward.least
    worse = reward._replace(least=reward.least - further)
    better = reward._replace(most=reward.most + further, stray=math.inf)
    return _paying(drawn, worse), _paying(drawn, better)


def _reward_of(drawn: Problem) -> RewardBounds:
    assert isinstance(drawn.plant, ModelPlant)
    return drawn.plant.numbers.reward


def _paying(drawn: Problem, reward: RewardBounds) -> Problem:
    assert isinstance(drawn.plant, ModelPlant)
    return replace(drawn, plant=model_plant(drawn.plant.numbers._replace(reward=reward), drawn.plant.known))


def possible(data: Data, horizon: int) -> tuple[float, float]:
    """The returns of episodes whose steps all pay as little, and as much, as any that was seen.

    Where episodes have ended, one may end at once. What an end has paid is paid once, by the last
    step.
    """
    others = data.rewards[~data.ended] if not data.ended.all() else data.rewards
    low, high = float(others.min()), float(others.max())
    if not data.ended.any():
        return horizon * low, horizon * high
    last, ends = horizon - 1, data.rewards[data.ended]
    least = min(horizon * low, last * min(low, 0.0) + float(ends.min()))
    return least, max(horizon * high, last * max(high, 0.0) + float(ends.max()))


# -- what new laws have done on the plant, beside what models promise for the same episodes --------

SEVERAL = 4  # episodes whose mean says something
TRIED = 20  # episodes that are looked at, at most; and steps of trials that show something


@dataclass(frozen=True)
class Tried:
    """Episodes led by new laws, and what the model in which these were found promises for them."""

    steps: int
    earned: Array  # (episodes,)
    predicted: Array  # (functions, episodes)
    explained: Array  # the same by the model of all data, which has seen these episodes
    promised: Array  # what this model promises for the controller of today in their place
    still: Array  # and for the best constant action
    share: float  # of the length of an episode that they had

    def disappoints(self, far: float) -> bool:
        """Whether the model was wrong by more than `far`, or the plant paid what it calls rare."""
        rare = float(np.quantile(self.predicted, 0.05))
        return abs(self.earned.mean() - self.predicted.mean()) > far or (
            len(self.earned) >= SEVERAL and float(self.earned.mean()) < rare
        )


def tried_by(agent: "Atlas", now: Problem, others: tuple[Tree, Tree]) -> Tried | None:
    """The episodes led by the last laws that have led any, predicted by a model of the data before
    them.

    `now`: the model of all data; `others`: the controller of today, and the best constant action.
    """
    memory, n = agent.state.memory, agent.state.memory.n
    trials = _last_trials(agent)
    if trials is None:
        return None
    last, episodes = trials
    laws = last.entry.tree
    problem, data = told_problem(agent, limits=False), memory.data(last.samples)
    before, _ = functions_for(problem, model_at(agent, last.samples), now.horizon, data, laws, agent.seed)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 2**45, 1)
    jumps = jumped(memory.data(n))
    steps, asked_for, earned, returns = 0, 0, [], []
    for begin, end in episodes[:TRIED]:
        jump = np.flatnonzero(jumps[begin:end])  # nobody can predict when a reference jumps
        length = int(jump[0]) if len(jump) and jump[0] > 0 else end - begin
        # an episode that the plant has ended is a whole one: in the model it may go on, and earn or
        # cost more
        ended = begin + length == end and memory.flags[end - 1] & TERMINATED
        whole = now.horizon if ended else length
        asked = [(before, laws), (now, laws), *((now, other) for other in others)]
        first = memory.states[begin]
        returns.append([_returns(drawn, tree, first, whole, seeds) for drawn, tree in asked])
        earned.append(float(memory.rewards[begin : begin + length].sum()))
        steps, asked_for = steps + length, asked_for + whole
    share = asked_for / (len(earned) * agent.problem.horizon)
    predicted, explained, promised, still = np.array(returns).transpose(1, 2, 0)
    return Tried(steps, np.array(earned), predicted, explained, promised, still, share)


def _last_trials(agent: "Atlas") -> tuple[Grown, list[tuple[int, int]]] | None:
    """The last laws that have led some steps, or else the last ones that have led any, and where
    their episodes lie.

    The last trial may have been cut after a few steps, when the samples were used up: it shows
    little.
    """
    memory, n, grown = agent.state.memory, agent.state.memory.n, agent.state.grown
    ends = [*np.flatnonzero(memory.flags[:n] & BEGAN).tolist(), n]
    led = [(begin, end) for begin, end in pairwise(ends) if memory.flags[begin] & LED]
    latest, until = None, n
    for laws in reversed(grown):
        episodes = [(begin, end) for begin, end in led if laws.samples <= begin < until]
        if sum(end - begin for begin, end in episodes) >= TRIED:
            return laws, episodes
        latest, until = latest or ((laws, episodes) if episodes else None), laws.samples
    return latest


def _returns(drawn: Problem, tree: Tree, first: Array, length: int, seeds: Array) -> list[float]:
    """Of an episode of this length from this state on, by function."""
    problem = replace(drawn, horizon=length)
    worlds = (one_function(problem, f, first) for f in range(POSTERIOR_SAMPLES))
    return [float(Trials(world).returns(tree, seeds)[0]) for world in worlds]
