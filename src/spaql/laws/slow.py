"""The search in slow simulators: environments that make some thousand steps per second, so that every episode counts.

The first stage (first.py) finds one law. Later ones grow it, as for fast simulators, with as much effort as the samples
that are left allow. Without a limit of samples a stage has a default.
"""

import contextlib
import math

from spaql.laws.adoption import Candidate, adopt
from spaql.laws.environments import Job
from spaql.laws.first import JUDGED, First
from spaql.laws.search import CHOICE, FEW, FRESH, GROWN, POPULATION, SCREENED, Search
from spaql.laws.stages import plan_of
from spaql.laws.thrift import mean_steps
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.units import Units
from spaql.learners.laws import Laws, middle_action
from spaql.streams import LAWS_CHOSEN, LAWS_REST
from spaql.trees.edits import constant

LATER = 400_000  # samples of a later stage without a limit
LATEST = 0.4  # of what is left, else
GROWING = 0.7  # of that for the search
EFFORTS = [0.8**i for i in range(16)]


def run_slow_stage(agent: Laws, trials: Trials, stage: int) -> None:
    """One stage; what was found stays in the agent, whatever ends it."""
    if len(agent.state.middle) == 0:
        First(agent, trials, stage).run()
    else:
        _grow(agent, trials, stage)
    trials.limit = None


def _grow(agent: Laws, trials: Trials, stage: int) -> None:
    """A later stage, as for fast simulators, with the effort that its samples allow."""
    state = agent.state
    what, leaves = plan_of(stage, agent.max_leaves)
    budget = LATER * agent.effort if trials.left is None else LATEST * trials.left
    units = Units(state.middle, state.inverse, agent.problem)
    known = state.frontier.raw.get(1)
    law = constant(len(agent.problem.state), middle_action(agent)) if known is None else units.physical(known.tree)
    try:
        seeds = seeds_of(agent.seed, LAWS_CHOSEN, 0, 2).tolist()
        steps = mean_steps(trials.roll_out([Job(law, seed, agent.problem.horizon) for seed in seeds]))
    except Spent:
        return
    share = GROWING * budget
    effort = next((effort for effort in EFFORTS if _episodes(effort) * steps <= share), None)
    if effort is None:  # too little for a search
        trials.spend(agent.tree, agent.seed + stage, LAWS_REST)
        return
    search = Search(trials, units, agent.seed, stage, effort)
    trials.limit = trials.samples + int(share)
    held = state.frontier.raw.get(leaves)
    with contextlib.suppress(Spent):
        states = search.visited(search.proposals.leaf(1.0)) if known is None else search.visited(known.tree)
        if what == "regrow" and held is not None:
            search.regrow(held.tree)
        else:
            search.fresh(leaves, state.frontier.parent(leaves), states)
    trials.limit = None
    if search.best is None or (held is not None and search.best.mean <= held.mean):
        return
    state.frontier.raw[leaves] = search.best
    with contextlib.suppress(Spent):
        chosen = search.choice[: max(2, min(JUDGED, len(search.choice)))].tolist()
        tree = units.physical(search.best.tree)
        rollouts = trials.roll_out([Job(tree, seed, agent.problem.horizon) for seed in chosen])
        adopt(agent, trials, Candidate(tree, rollouts), stage, (1 - GROWING) * budget)


def _episodes(effort: float) -> float:
    """Episodes of a fresh search, about."""

    def count(number: float, least: int) -> int:
        return max(least, round(number * effort))

    screened = count(SCREENED, 4) * count(FEW, 1) + count(GROWN, 4) * count(2 * FEW, 1)
    population = count(POPULATION * 4 * math.e, 4)
    rounds = sum(count(a, 2) * (count(b, 1) * count(c, 2) * population + count(CHOICE, 4)) for a, b, c in FRESH)
    return screened + rounds
