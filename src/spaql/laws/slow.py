"""The search in slow simulators: environments that make some thousand steps per second, so that every episode counts.

The first stage (first.py) finds one law. Later ones grow it, as for fast simulators, with as much effort as the samples
that are left allow. Without a limit of samples a stage has a default.
"""

import contextlib

from spaql.ground.streams import LAWS_CHOSEN
from spaql.laws.adoption import GROWING, LATEST, adopt, affordable_effort, confirm_more
from spaql.laws.beginnings import fitted_laws
from spaql.laws.environments import Job
from spaql.laws.first import JUDGED, First
from spaql.laws.race import Candidate
from spaql.laws.search import Search
from spaql.laws.stages import plan_of
from spaql.laws.thrift import mean_steps
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import Units, without_dust
from spaql.learners.laws import Laws, middle_action
from spaql.trees.edits import constant

LATER = 400_000  # samples of a later stage without a limit


def run_slow_stage(agent: Laws, trials: Trials, stage: int) -> None:
    """One stage; what was found stays in the agent, whatever ends it."""
    agent.state.slow = True
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
    units = Units(state.middle, state.inverse, agent.searched)
    known = state.frontier.raw.get(1)
    law = constant(len(agent.searched.state), middle_action(agent)) if known is None else units.physical(known.tree)
    try:
        seeds = seeds_of(agent.seed, LAWS_CHOSEN, 0, 2).tolist()
        steps = mean_steps(trials.roll_out([Job(law, seed, agent.searched.horizon) for seed in seeds]))
    except Spent:
        return
    share = GROWING * budget
    effort = affordable_effort(share, steps)
    if effort is None:  # too little for a search
        confirm_more(agent, trials, stage)
        return
    search = Search(trials, units, agent.seed, stage, effort)
    trials.limit = trials.samples + int(share)
    held = state.frontier.raw.get(leaves)
    with contextlib.suppress(Spent):
        states = search.visited(search.proposals.leaf(1.0)) if known is None else search.visited(known.tree)
        if what == "regrow" and held is not None:
            search.regrow(held.tree)
        else:
            if len(state.taught):
                search.race([units.in_units(law) for law in fitted_laws(agent, trials, leaves, stage)])
            search.fresh(leaves, state.frontier.parent(leaves), states)
    trials.limit = None
    if search.best is None:
        return
    adopted = False
    with contextlib.suppress(Spent):
        chosen = search.choice[: max(2, min(JUDGED, len(search.choice)))].tolist()
        tree = without_dust(units.physical(search.best.tree), units)
        rollouts = trials.roll_out([Job(tree, seed, agent.searched.horizon) for seed in chosen])
        adopted = adopt(agent, trials, Candidate(tree, rollouts), stage, (1 - GROWING) * budget)
    if adopted or held is None:  # which is better the confirmation says: returns of other episodes do not compare
        state.frontier.raw[leaves] = search.best
