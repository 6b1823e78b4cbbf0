"""What a controller of Atlas may be trusted with: what the model says, what the plant said, and where they disagree.

The model is learned from all data, and functions are drawn where the controller goes. The last trial on the plant that
laws have led is predicted by a model of the data before it: nobody may praise himself for what he has seen already.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.gp.model import Data, unpredicted
from spaql.gp.problem import (
    FEWEST,
    POOR,
    imagined,
    jumped,
    model_of,
    one_function,
    predicted,
    starts_of,
    stretch_of,
)
from spaql.laws.in_model import doubted
from spaql.laws.stages import constants
from spaql.laws.teacher import Lessons
from spaql.laws.trials import Trials, seeds_of
from spaql.learners.atlas.controller import controller_of
from spaql.learners.atlas.memory import BEGAN, LED
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
APART = 0.1  # of the same way: functions, or model and plant, that differ by more disagree


@dataclass(frozen=True)
class Trial:
    """An episode on the plant, and what a model of the data before it predicts."""

    steps: int
    earned: float
    predicted: Array  # by function


@dataclass(frozen=True)
class Trust:
    """What is known about a controller; `str` says it in a few lines."""

    samples: int
    returns: Array  # (functions, episodes) in the model
    floor: float  # mean return of the best constant action in the model
    trial: Trial | None  # the last one that laws have led
    missed: dict[str, float]  # by variable, the part of its changes that the model cannot predict
    doubtful: dict[str, float]  # the state of the controller at which functions disagree most

    @property
    def mean(self) -> float:
        """Expected return."""
        return float(self.returns.mean())

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
        if self.trial is None:
            found.append("no episode on the plant has been controlled by laws yet")
        elif abs(self.trial.earned - self.trial.predicted.mean()) > APART * self.range:
            found.append("the model was wrong about the last trial")
        return tuple(found)

    def __str__(self) -> str:
        low, high = self.interval
        told = f"{self.mean:.4g}, nine of ten episodes {low:.4g} to {high:.4g}"
        lines = [f"model of {counted(self.samples, 'sample')}: {told}; best constant action {self.floor:.4g}"]
        if self.trial is not None:
            least, most = self.trial.predicted.min(), self.trial.predicted.max()
            predicted = f"a model of the data before it predicts {least:.4g} to {most:.4g}"
            lines.append(
                f"last trial controlled by laws ({self.trial.steps} steps): {self.trial.earned:.4g}; {predicted}"
            )
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
    stretch = stretch_of(agent.problem, data)
    problem, stretches = replace(agent.problem_told, horizon=stretch), agent.problem.horizon / stretch
    names = {-1: "the reward"} | {j: axis.name for j, axis in enumerate(problem.state)}
    missed = {names[j]: part for j, part in unpredicted(model_of(problem, data), data).items()}
    drawn, states = _drawn(problem, data, tree, agent.seed)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 2**45, EPISODES)
    earned = np.array([Trials(one_function(drawn, f)).returns(tree, seeds) for f in range(FUNCTIONS)])
    returns = _whole_episodes(earned, stretches, np.random.default_rng([agent.seed, n]))
    still = [constant(len(problem.state), action) for action in constants(problem)]
    floor = stretches * max(float(Trials(drawn).returns(one, seeds).mean()) for one in still)
    where = dict(zip((axis.name for axis in problem.state), _most_doubtful(drawn, tree, states).tolist(), strict=True))
    return Trust(n, returns, floor, _last_trial(agent, problem), missed, where)


def _whole_episodes(earned: Array, stretches: float, rng: np.random.Generator) -> Array:
    """Returns of episodes that consist of some stretches, by function: what their stretches earn, at random."""
    count = max(1, round(stretches))
    picks = rng.integers(earned.shape[1], size=(count, *earned.shape)) if count > 1 else None
    if picks is None:
        return earned * stretches
    whole: Array = np.take_along_axis(earned[None], picks, axis=2).sum(axis=0) * (stretches / count)
    return whole


def _drawn(problem: Problem, data: Data, tree: Tree, seed: int) -> tuple[Problem, Array]:
    """Functions that differ where the controller goes, and the states there."""
    rng, model = np.random.default_rng([seed, len(data.states), FUNCTIONS]), model_of(problem, data)
    starts = starts_of(problem, data, rng)
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


def _last_trial(agent: "Atlas", problem: Problem) -> Trial | None:
    """The last episode that laws have led, predicted by a model of the data before it."""
    memory, n = agent.state.memory, agent.state.memory.n
    led = np.flatnonzero(memory.flags[:n] & LED)
    grown = agent.state.grown
    if len(led) == 0 or not grown:
        return None
    begin = int(np.flatnonzero(memory.flags[: led[-1] + 1] & BEGAN)[-1])
    tree = [one.entry.tree for one in grown if one.samples <= begin][-1]
    steps, data = int(led[-1]) + 1 - begin, memory.data(begin)
    jumps = np.flatnonzero(jumped(memory.data(n))[begin : begin + steps])
    steps = int(jumps[0]) if len(jumps) and jumps[0] > 0 else steps  # nobody can predict when a reference jumps
    drawn, _ = _drawn(problem, data, tree, agent.seed)
    seeds, first = seeds_of(agent.seed, LAWS_CONFIRMED, 2**45, 1), memory.states[begin]
    same = replace(drawn, horizon=steps)
    told = np.array([Trials(one_function(same, f, first)).returns(tree, seeds)[0] for f in range(FUNCTIONS)])
    return Trial(steps, float(memory.rewards[begin : begin + steps].sum()), told)
