"""What new laws have done on the plant, beside what models promise for the same episodes."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.gp.problem import model_of, one_function
from spaql.gp.references import jumped
from spaql.laws.forecast import FUNCTIONS, functions_for
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.atlas.controller import told_problem
from spaql.learners.atlas.memory import BEGAN, LED, TERMINATED
from spaql.learners.atlas.state import Grown
from spaql.plants.problem import Problem
from spaql.streams import LAWS_CONFIRMED
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

SEVERAL = 4  # episodes whose mean says something
TRIED = 20  # episodes that are looked at, at most
SOME = 20  # steps of trials that show something


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


def tried_by(agent: "Atlas", now: Problem, others: tuple[Tree, Tree]) -> Tried | None:
    """The episodes led by the last laws that have led any, predicted by a model of the data before them.

    `now`: the model of all data; `others`: the controller of today, and the best constant action.
    """
    memory, n = agent.state.memory, agent.state.memory.n
    trials = _last_trials(agent)
    if trials is None:
        return None
    last, episodes = trials
    laws = last.entry.tree
    problem, data = told_problem(agent, limits=False), memory.data(last.samples)
    before, _ = functions_for(problem, model_of(problem, data), now.horizon, data, laws, agent.seed)
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
