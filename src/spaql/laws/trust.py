"""What a controller of Atlas may be trusted with: what the model says, what the plant said, and
where they disagree.

The model is learned from all data, and functions are drawn where the controller goes. A search
finds what is good in the model, also where the model is wrong; so the trials of the laws that were
found last are held against the promise of the model in which they were found, which had seen none
of these trials.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

from spaql.gp.hidden import NONE, Advice, advice_of, unpredicted
from spaql.gp.learned_problem import FEWEST, POOR, declared_of, one_function, predicted
from spaql.gp.transitions import follows_of, jumped, spread_of, stretch_of
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work, working
from spaql.ground.streams import LAWS_CONFIRMED
from spaql.laws.forecast import (
    PARTS,
    Tried,
    functions_for,
    lacking_some,
    leaving,
    possible,
    returns_in,
    tried_by,
    within_twice,
)
from spaql.laws.in_model import EPISODES, POSTERIOR_SAMPLES
from spaql.laws.judge import best_constant, scale_of
from spaql.laws.trials import Trials, seeds_of
from spaql.laws.vector import DUST_SHARE
from spaql.learners.atlas.atlas_controller import contradiction_of, controller_of, model_at, told_problem
from spaql.plants.problem import Problem
from spaql.policy.digits import counted
from spaql.policy.evaluation import Evaluation
from spaql.training.closed_loop import evaluated
from spaql.trees.tree import Tree, decide

if TYPE_CHECKING:
    from spaql.learners.atlas.learner import Atlas

LOST = 0.5  # of the way from the best constant action to the mean: an episode below is lost
LOST_SHARE = 0.02  # of the episodes, above which that is a doubt
ENOUGH_STEPS = 100  # by laws on the plant, as predicted, after which noise is no doubt
DOUBT = 0.1  # of the same way, by which functions, or model and plant, differ; of the episodes that leave the data
MOST_LINES = 8  # of what is printed
MORE = "more samples"
ASKING = "asking the model what to expect"


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
    most: float = math.inf  # the return if every step paid as much as the best one seen
    least: float = -math.inf  # and as little as the worst one
    rare: float = 0.0  # standard error of the mean because so few jumps of a reference were seen
    others: Array = field(default_factory=lambda: np.zeros(0))  # its mean if the model lacked one part of the data
    ends: tuple[float, float] = (math.inf, -math.inf)  # of the mean, if states, rewards, ends may be beyond those seen
    leaving: float = 0.0  # share of episodes that leave the states of the data
    advice: Advice = NONE  # what to remember, if something is not observed
    contradiction: str = ""  # of the known reward or end, by recorded steps
    broken: dict[str, float] = field(default_factory=dict)  # by limit, the share of episodes in the model that break it
    table: bool = False  # the controller is a table, of which there are no trials

    @property
    def mean(self) -> float:
        """Expected return."""
        return float(self.returns.mean())

    @property
    def mean_interval(self) -> tuple[float, float]:
        """The expected return lies in it, 95 %: models that fit differ, few beginnings were seen."""
        functions, episodes = self.returns.mean(axis=1).var(ddof=1), self.returns.var(axis=1, ddof=1).mean()
        variance = functions + episodes / self.begun + self.rare**2 + self._error_of_model**2
        wide = float(stdtrit(max(self.begun - 1, 1), 0.975) * math.sqrt(variance))
        low, high = min(self.mean, self.ends[0]), max(self.mean, self.ends[1])
        return max(low - wide, min(self.least, self.mean)), min(high + wide, max(self.most, self.mean))

    @property
    def _error_of_model(self) -> float:
        """Of the mean, by the jackknife; with a median, since one part may hold all that matters."""
        return math.sqrt(PARTS - 1) * float(np.median(np.abs(self.others - self.mean))) if len(self.others) else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Nine of ten episodes end in it."""
        low, high = np.quantile(self.returns, (0.05, 0.95))
        return float(low), float(high)

    @property
    def failures(self) -> float:
        """Share of episodes that end nearer to the best constant action than to the mean."""
        return float((self.returns < self.mean - LOST * self.range).mean())

    @property
    def range(self) -> float:
        """From the best constant action to the controller; 0 where that is no more than rounding."""
        gain = self.mean - self.floor
        return gain if gain > DUST_SHARE * abs(self.mean) else 0.0

    @property
    def poor(self) -> str:
        """What the model cannot predict, and memory would not help."""
        missed = {name: part for name, part in self.missed.items() if part > POOR and name not in self.advice.missed}
        return ", ".join(f"{name} ({100 * part:.0f} %)" for name, part in missed.items())

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons for not trusting the controller, each with what to do; none is a good sign."""
        lines = [self.contradiction] if self.contradiction else []
        trials = [] if self.table else self._doubts_of_trials
        if self.advice.memory:
            lines.append(f"{self.advice}: measure it, or agent.with_memory()")
        lines += [
            f"the limit {limit} is broken in {100 * share:.0f} of 100 episodes of the model: {MORE}, or another reward"
            for limit, share in self.broken.items()
            if share > LOST_SHARE
        ]
        if self.leaving > DOUBT:
            lines.append(f"it leaves the data in {100 * self.leaving:.0f} % of the episodes: {MORE}, or a limit")
        if self.range == 0.0:
            return *lines, f"in the model it is no better than a constant action: {MORE}"
        means = self.returns.mean(axis=1)
        if means.max() - means.min() > DOUBT * self.range:
            lines.append(f"the models disagree, {means.min():.4g} to {means.max():.4g}: {MORE}")
        if len(self.others) and np.sort(self.others)[1] < self.mean - DOUBT * self.range:
            apart = f"{self.others.min():.4g} to {self.others.max():.4g}"
            lines.append(f"it rests on few episodes, models without a fifth of the data say {apart}: {MORE}")
        if self.failures > LOST_SHARE:
            lines.append(f"{100 * self.failures:.0f} % of the episodes are lost in the model: {MORE}")
        lines += trials
        if self.poor and not (self.tried is not None and self.tried.steps >= ENOUGH_STEPS and not trials):
            lines.append(f"the model cannot predict {self.poor}: measure what drives it, or {MORE}")
        return tuple(lines)

    @property
    def _doubts_of_trials(self) -> list[str]:
        tried, again = self.tried, "learn once more"
        if tried is None:
            return [f"untried, no laws have controlled an episode on the plant yet: {again}"]
        earned = float(tried.earned.mean())
        before, explained, promised = (
            float(returns.mean()) for returns in (tried.predicted, tried.explained, tried.promised)
        )
        lines = []
        luck = 2.0 * float(tried.explained.mean(axis=1).std(ddof=1))  # of noise, and of functions that differ
        if abs(earned - explained) > max(DOUBT * self.range, luck):
            both = f"laws earned {earned:.4g} on the plant, the model explains {explained:.4g}"
            lines.append(f"{both}: measure what differs between episodes, or {MORE}")
        elif tried.disappoints(DOUBT * self.range):
            lines.append(f"laws earned {earned:.4g} on the plant, {before:.4g} were predicted: {again}")
        if promised - earned > LOST * self.range:
            promise = f"laws have earned {earned:.4g} on the plant, and these promise {promised:.4g}"
            lines.append(f"untried, {promise}: {again}")
        elif promised - tried.still.mean() < DOUBT * scale_of(self.mean, self.floor, self.most) * tried.share:
            steps = f"in the {counted(tried.steps, 'step')} of its trials"
            lines.append(f"untried, {steps} a constant action would have earned about as much: {again}")
        return lines

    def in_short(self, fresh: Evaluation | None) -> tuple[str, ...]:
        """The first doubt, and how many more there are. `fresh`: what fresh episodes have earned."""
        first, *more = self.doubts or ("",)
        others = f" (and {counted(len(more), 'doubt')} more, see trust())" if more else ""
        earned = "" if fresh is None else f"; it expects {self.mean:.4g}, fresh episodes earn {fresh.mean:.4g}"
        return (f"its own model doubts it: {first}{others}{earned}",) if first else ()

    def __str__(self) -> str:
        low, high = self.mean_interval
        seen = f"{counted(self.samples, 'sample')}, {counted(self.begun, 'start')}"
        rows = [("expected return", f"{self.mean:.4g} (95 %: {low:.4g} to {high:.4g}; {seen})")]
        low, high = self.interval
        rows.append(("nine of ten", f"episodes {low:.4g} to {high:.4g}; best constant action {self.floor:.4g}"))
        if self.tried is not None and not self.table:
            before, earned = self.tried.predicted.mean(axis=1), self.tried.earned
            size = f"{counted(len(earned), 'episode')}, {counted(self.tried.steps, 'step')}: {earned.mean():.4g}"
            rows.append(("tried on plant", f"{size}; predicted before: {before.min():.4g} to {before.max():.4g}"))
        doubts = list(self.doubts)
        room = MOST_LINES - len(rows) - 1
        if len(doubts) > room:
            doubts[room - 1 :] = [f"and {len(doubts) - room + 1} more: trust().doubts"]
        rows += [("doubt", line) for line in doubts] or [("doubts", "none")]
        place = ", ".join(f"{name} {value:.3g}" for name, value in self.doubtful.items())
        rows.append(("more data", f"would help most near {place}"))
        return "\n".join(f"{name:<17} {text}" for name, text in rows)


@working(ASKING)
def trust_in(agent: "Atlas") -> Trust:
    """About the agent's controller."""
    n = agent.state.memory.n
    if n < FEWEST:
        raise SpaqlError(f"{n} samples are too few to assess the controller: learn(samples=...) or update(...) first")
    tree = controller_of(agent)
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        return _trust_in(agent, tree)


def _trust_in(agent: "Atlas", tree: Tree) -> Trust:
    n = agent.state.memory.n
    data = agent.state.memory.data(n)
    stretch = stretch_of(agent.problem.horizon, data)
    problem, stretches = told_problem(agent, limits=False), agent.problem.horizon / stretch
    names = {-1: "the reward"} | {j: axis.name for j, axis in enumerate(problem.state)}
    model = model_at(agent, n)
    missed = {names[j]: part for j, part in unpredicted(model, data).items()}
    drawn, states = functions_for(problem, model, stretch, data, tree, agent.seed)
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 2**45, EPISODES)
    at_work(ASKING, 1, 6)
    returns = _whole_episodes(returns_in(drawn, tree, agent.seed), stretches, np.random.default_rng([agent.seed, n]))
    at_work(ASKING, 2, 6)
    lacking = lacking_some(drawn, problem, model, data, agent.seed)
    of_mean, *of_others = stretches * returns_in(lacking, tree, agent.seed).mean(axis=1)
    others = float(returns.mean()) + np.array(of_others) - of_mean
    at_work(ASKING, 3, 6)
    beyond = [
        stretches * float(returns_in(believed, tree, agent.seed).mean())
        for believed in within_twice(drawn)
    ]
    at_work(ASKING, 4, 6)
    best = best_constant(Trials(drawn), seeds).tree
    floor = stretches * float(returns_in(drawn, best, agent.seed).mean())  # in the same episodes as the controller
    at = np.clip(_most_doubtful(drawn, tree, states), *declared_of(problem)[:2])
    where = dict(zip((axis.name for axis in problem.state), at.tolist(), strict=True))
    jumps = jumped(data)
    begun = int((~follows_of(data) | jumps).sum())
    rare = abs(float(returns.mean())) * (1.0 - 1.0 / stretches) / math.sqrt(max(int(jumps.sum()), 1))
    least, most = possible(data, agent.problem.horizon)
    at_work(ASKING, 5, 6)
    tried, advice = tried_by(agent, drawn, (tree, best)), advice_of(agent.problem, model, data)
    ends, away = (min(beyond), max(beyond)), leaving(drawn, tree, agent.seed)
    return Trust(
        n, begun, returns, floor, tried, missed, where, most, least, rare, others, ends, away, advice,
        contradiction_of(agent), _broken(drawn, tree, agent.seed), agent.tabled,
    )  # fmt: skip


def _broken(drawn: Problem, tree: Tree, seed: int) -> dict[str, float]:
    """By limit, the share of the episodes in these functions that break it."""
    if not drawn.limits:
        return {}
    violations = evaluated(drawn, tree, POSTERIOR_SAMPLES * EPISODES, seed).violations.values()
    return {violation.limit.text(violation.unit): violation.episodes for violation in violations}


def _whole_episodes(earned: Array, stretches: float, rng: np.random.Generator) -> Array:
    """Returns of episodes of some stretches, by function: what stretches earn, at random."""
    count = max(1, round(stretches))
    picks = rng.integers(earned.shape[1], size=(count, *earned.shape)) if count > 1 else None
    if picks is None:
        return earned * stretches
    whole: Array = np.take_along_axis(earned[None], picks, axis=2).sum(axis=0) * (stretches / count)
    return whole


def _most_doubtful(drawn: Problem, tree: Tree, states: Array) -> Array:
    """The state at which functions differ most in what comes next."""
    some = states[np.linspace(0, len(states) - 1, min(len(states), 100)).astype(int)]
    applied = decide(tree, some)
    nexts = np.array(
        [predicted(one_function(drawn, f), some, applied) for f in range(POSTERIOR_SAMPLES)]
    )
    apart = (nexts.std(axis=0) / spread_of(states)).sum(axis=1)
    state: Array = some[int(apart.argmax())]
    return state
