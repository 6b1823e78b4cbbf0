"""Among laws of equal return, the one of which more can be proven.

A law that pushes one way or the other is a line s = g (x - z) and a push of +-1 that is off the line by at most
max(1, k S - 1) for |s| <= S (proofs/linear_loop.py). All that the pushes do to the line is at most

    rho  =  sum_t |g A^t b|

times the largest of them, so that a region exists if rho <= 2 and the rest is small; and the smaller the region, the
more room is left for wrong sensors and wrong parameters. So the numbers of the law are changed at random as long as
rho falls, and from there on as long as the region shrinks. No episode is needed for that.
"""

import contextlib
import math

import numpy as np

from spaql.ground.errors import SpaqlError
from spaql.ground.progress import at_work
from spaql.ground.streams import LAWS_CONFIRMED, LAWS_PROVABLE
from spaql.laws.arriving import prefer_arriving
from spaql.laws.race import MAX_EPISODES, shown_no_worse
from spaql.laws.tidy import POLISH_STEP
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import MAX_DIGITS, everything, numbers_of, with_numbers
from spaql.learners.law_files import ScoredTree
from spaql.learners.laws import COMPARISONS, ENOUGH_EPISODES, PREFERRED, Laws
from spaql.plants.problem import Problem
from spaql.policy.outputs import kept
from spaql.proofs.loops_proven import room_used
from spaql.proofs.prove import loop_of
from spaql.proofs.questions import question
from spaql.trees.laws import SCORES
from spaql.trees.tree import Tree

CHANGES = 150  # that are tried, with all effort


def refuse_unprovable(problem: Problem) -> None:
    """One line for a problem about which no loop can be proven."""
    plant = problem.plant
    if problem.ends not in PREFERRED or plant is None or not hasattr(plant, "step") or plant.flow is not None:
        raise SpaqlError(
            f"provable: {problem.name} is not a plant with discrete-time equations whose episodes end in failure or in "
            "success; leave it out, and ask the policy for its proof"
        )


def prefer_provable(agent: Laws, trials: Trials) -> None:
    """Into the frontier, in the place of the best law, if it earns as much, or as much from the worst start."""
    given = agent.tree
    if agent.searched.ends == "success" and given.laws is not None:
        prefer_arriving(agent, trials)
        return
    if given.laws is None or given.laws.kind == SCORES:
        return
    room = math.inf if trials.left is None else trials.left // (COMPARISONS * agent.searched.horizon)
    count = int(min(room, MAX_EPISODES))
    if count < ENOUGH_EPISODES:
        return
    rng = np.random.default_rng([agent.seed, LAWS_PROVABLE])
    path = loosened(agent.searched, given, rng, round(CHANGES * agent.effort))
    seeds = seeds_of(agent.seed, LAWS_CONFIRMED, 0, count)
    tidy, tolerance = agent.state.frontier.tidy, agent.state.tolerance
    with contextlib.suppress(Spent):
        reference = trials.returns(given, seeds)
        while len(path) > 1 and not shown_no_worse(trials, path[-1], seeds, reference, tolerance):
            path = path[: (len(path) + 1) // 2]  # half of the way is worth less, and costs less
        for size, entry in tidy.items():
            if entry.tree is given and len(path) > 1:
                tidy[size] = ScoredTree(path[-1], entry.mean)


def loosened(problem: Problem, tree: Tree, rng: np.random.Generator, changes: int) -> list[Tree]:
    """The tree, then others of which each has more room than the one before."""
    asked = question(problem, None, None, None, math.inf, {}, 0.0, True, 0.0, None)
    free = everything(tree)
    v = numbers_of(tree, free)
    live, path = np.flatnonzero(v), [tree]
    best, slope = room_used(loop_of(tree, asked), asked, None)
    for trial in range(changes):
        at_work("looking for laws that can be proven", trial / changes)
        w = v.copy()
        w[live] *= np.exp(2.0 * rng.random() * POLISH_STEP * rng.normal(size=len(live)))
        w[live] = [float(f"{x:.{MAX_DIGITS}g}") for x in w[live]]
        other = kept(problem, with_numbers(tree, free, w))
        used, line = room_used(loop_of(other, asked), asked, slope)
        if used < best:
            best, slope, v = used, line, w
            path.append(other)
    return path
