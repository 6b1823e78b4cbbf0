"""The acceptance test after learning: whoever gets a bad controller is told so, whichever learner it comes from.

    constant    is it better than the best constant action?
    lost        how many episodes come to no more than a constant action does from the same start?
    failures    how many episodes fail, by the rule that the problem states?
    limits      in how many episodes is a stated limit broken?

Fresh episodes of a compiled plant are free. In an environment no step is taken beyond those that were asked for: there
the history of training must do, and what the learner knows itself (`Agent.remarks`).
"""

from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work
from spaql.plants.problem import Problem, constant_actions
from spaql.policy.digits import number, with_unit
from spaql.policy.evaluation import Evaluation, significantly_less
from spaql.policy.words import Words
from spaql.training.closed_loop import run_episodes
from spaql.trees.edits import constant
from spaql.trees.tree import Tree

if TYPE_CHECKING:
    from spaql.learners.agent import Agent

EPISODES = 300  # of a compiled plant
MOST_STEPS = 20_000_000  # of a compiled plant: a second or less
COSTLY = 50  # times as long takes a step of a learned model
SEED = 20_117  # of the episodes; others than those of `evaluate`
FEW, SURE = 4, 1.0  # iterations at both ends of training, at least, and standard errors between them
LOST_SHARE = 0.03  # of the episodes: a few per cent
BROKEN_SHARE = 0.01  # the same of episodes that break a limit
UNNOTICED = 0.001  # of a return
LOW = 0.5  # of the gain over the constant action, on average: an episode is lost that has less than that
ALIKE = 0.1  # and that earns no more than so much of it beyond the constant action, from the same start
NOTABLE = 0.5  # standard deviations of the constant action's returns: a smaller gain is not told from luck


def shortcomings(agent: "Agent", hurry: bool) -> tuple[str, ...]:
    """What is wrong with the agent's controller, a line each, with what to do. `hurry`: without long thought."""
    problem = agent.problem
    actions = [constant(len(problem.state), action) for action in constant_actions(problem)]
    if not agent.card.learns:
        return ()
    if problem.plant is None or len(actions) < 2:
        judged = problem.plant is None and agent.card.judged
        return (*(_no_progress(agent.history.evaluation, agent.advice) if judged else ()), *agent.remarks(hurry))
    at_work("testing the controller")
    episodes = _affordable(problem, len(actions))
    try:
        earned = agent.evaluate(episodes, SEED)
        still = [run_episodes(problem, action, episodes, SEED).returns for action in actions]
    except SpaqlError as error:  # a plant that fails where training has not been
        return (f"it could not be tested in fresh episodes: {error}", *agent.remarks(hurry))
    best = int(np.argmax([returns.mean() for returns in still]))
    notes = _limits(agent, earned) + _weak_returns(problem, earned, still[best], actions[best], agent.advice)
    return (*notes, *agent.remarks(hurry, earned))


def _no_progress(evaluations: Array, advice: str) -> tuple[str, ...]:
    """Whether the evaluations at the end of training are no higher than at its beginning, by their noise."""
    some = max(len(evaluations) // 5, FEW)
    if 2 * some > len(evaluations):
        return ()
    first, last = evaluations[:some], evaluations[-some:]
    error = float(np.hypot(first.std(ddof=1), last.std(ddof=1))) / np.sqrt(some)
    if last.mean() - first.mean() > SURE * error:
        return ()
    means = f"{number(float(first.mean()))} in the first {some} iterations, {number(float(last.mean()))} in the last"
    return (f"its evaluations have not risen in training ({means}): {advice}",)


def _affordable(problem: Problem, actions: int) -> int:
    assert problem.plant is not None
    most = MOST_STEPS // (COSTLY if problem.plant.costly else 1)
    return int(np.clip(most // (problem.horizon * (1 + actions)), 20, EPISODES))


def _limits(agent: "Agent", earned: Evaluation) -> list[str]:
    """Limits that are broken, in how many episodes, and what keeping them as well as it does costs already."""
    broken = [violation for violation in earned.violations.values() if violation.episodes > BROKEN_SHARE]
    cost, lines = _price(agent, earned.mean) if broken else "", []
    for violation in broken:
        limit, worst = violation.limit.text(violation.unit), with_unit(number(violation.excess, 3), violation.unit)
        share = f"{100 * violation.episodes:.0f} of 100 episodes, at worst by {worst}"
        lines.append(f"it breaks the limit {limit} in {share}{cost}: loosen it, or {agent.advice}")
    return lines


def _price(agent: "Agent", mean: float) -> str:
    from spaql.laws.race import price_of_limits

    policy = None if agent.card.per_step else agent.policy()
    if policy is None or policy.rules.laws is None:
        return ""
    price = price_of_limits(policy.problem, policy.rules, agent.seed)
    return f"; without limits it would earn {number(price, 3) if price > UNNOTICED * abs(mean) else 'no'} more"


def _weak_returns(problem: Problem, earned: Evaluation, still: Array, action: Tree, advice: str) -> list[str]:
    """`still`: returns of the best constant action, in the same episodes."""
    n, returns, applied = len(still), earned.returns, Words(problem, action).leaf_action(0)
    if not significantly_less(still, returns):
        both = f"{number(earned.mean)} against {number(float(still.mean()))} in {n} fresh episodes"
        return [f"it is no better than the constant action {applied} ({both}): {advice}"]
    lost = lost_episodes(returns, still)
    if lost.mean() > LOST_SHARE:
        some = f"{number(float(returns[lost].mean()))}, the others {number(float(returns[~lost].mean()))}"
        share = f"it loses {100 * lost.mean():.0f} of 100 episodes"
        return [f"{share}: they earn {some}; the constant action {applied} does as well there: {advice}"]
    return []


def lost_episodes(returns: Array, still: Array) -> Array:
    """By episode: it has little of what the controller gains on average, and gains as little from its own start.

    The first alone would blame a controller for hard starts, the second for starts from which nothing is to be done.
    Where noise makes episodes differ by more than a controller can gain, bad ones are bad luck.
    """
    gain = float((returns - still).mean())
    low: Array = (returns < still.mean() + LOW * gain) & (returns - still < ALIKE * gain)
    return low if gain > NOTABLE * still.std() else np.zeros_like(low)
