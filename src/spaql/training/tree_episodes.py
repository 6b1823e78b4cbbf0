"""Episodes with a tree as the policy, on compiled plants and in Gymnasium environments."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.compiling import machine_code
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, at_work, working
from spaql.plants.answers import begun, outcome
from spaql.plants.problem import Problem
from spaql.policy.evaluation import Evaluation
from spaql.training.lanes import OK, Episodes, new_lanes, stage_of
from spaql.training.tally import Counter, Tally, counted, new_tally
from spaql.training.tree_rollouts import run_tree
from spaql.training.viewer import bad_reward
from spaql.trees.tree import Tree, decide_row

STRETCH = 4096  # episodes between two checks for Ctrl-C


@dataclass(frozen=True, eq=False)
class Usage:
    """How a tree is used: what came of some episodes."""

    returns: Array
    samples: int
    visits: Array  # of every node of the tree
    states: Array  # the first observations, as many as were asked for


@working(EPISODES)
def run_episodes(
    problem: Problem,
    tree: Tree,
    episodes: int,
    seed: int = 0,
    purpose: int = streams.FRESH_PLANT,
    states: int = 0,
    tally: Tally | None = None,
) -> Usage:
    """Fresh episodes of a tree, from the start states of `Agent.evaluate(seed=seed)`. Fills `tally`."""
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on")
    if tree.variables != len(problem.state):
        raise SpaqlError(f"the tree tests {tree.variables} variables, {problem.name} has {len(problem.state)}")
    returns, visits, seen = np.zeros(episodes), np.zeros(len(tree.nodes), np.int64), np.empty((states, tree.variables))
    if problem.plant is None:
        counter = None if tally is None else Counter(problem, tally)
        first_seed = int(streams.plant_seed(seed, purpose, 0))
        return _in_environment(problem, tree, returns, visits, seen, first_seed, counter)
    (reset, step), steps = problem.plant.batch, 0
    stage, lanes = stage_of(problem.plant, problem.horizon), new_lanes(problem.plant, tally)
    controller = tree.controller
    plant_seed = np.uint64(streams.plant_seed(seed, purpose, 0))
    for first in range(0, episodes, STRETCH):
        some = Episodes(plant_seed, returns, first, min(first + STRETCH, episodes))
        at_work(EPISODES, first, episodes)
        steps += run_tree(reset, step, stage, controller, lanes, some, visits, seen[steps:])
    if lanes.fault[0] != OK:
        raise bad_reward(problem, f"rollout {int(lanes.fault[1])}")
    return Usage(returns, steps, visits, seen[: min(steps, states)])


def evaluated(problem: Problem, tree: Tree, episodes: int, seed: int) -> Evaluation:
    """See `Policy.evaluate`."""
    tally = new_tally(problem, episodes)
    usage = run_episodes(problem, tree, episodes, seed, tally=tally)
    return counted(problem, usage.returns, usage.samples, tally, seed)


def episode_in(
    problem: Problem, tree: Tree, env: Any, seed: int | None, counter: Counter | None = None, number: int = 0
) -> Iterator[tuple[Array, int, float]]:
    """One episode in an environment: (observation, leaf, reward) of every step. `seed` None: as `reset` has it.

    `counter` counts it as episode `number`.
    """
    observation = begun(env.reset(seed=seed))
    native, action, controller = problem.native_one(), np.zeros(tree.actions.shape[1]), tree.controller
    decide_in = machine_code(decide_row, controller, np.zeros((1, tree.variables)), 0, action)
    for step in range(problem.horizon):
        seen = np.array(observation, float).reshape(1, -1)
        if seen.shape[1] != tree.variables:
            wrong = f"{seen.shape[1]} numbers, {tree.variables} were declared"
            raise SpaqlError(f"the environment returned an observation of {wrong} (step {step})")
        leaf = decide_in(controller, seen, 0, action)
        observation, reward, terminated, truncated = outcome(env.step(native(action)))
        if counter is not None:
            counter.step(number, action, observation, float(reward), bool(terminated))
        yield seen[0], leaf, float(reward)
        if terminated or truncated:
            break


def _in_environment(
    problem: Problem, tree: Tree, returns: Array, visits: Array, seen: Array, seed: int, counter: Counter | None
) -> Usage:
    env, steps = problem.open_env(), 0
    for j in range(len(returns)):
        for observation, leaf, reward in episode_in(problem, tree, env, seed if j == 0 else None, counter, j):
            if steps < len(seen):
                seen[steps] = observation
            visits[leaf] += 1
            returns[j] += reward
            steps += 1
        at_work(EPISODES, j + 1, len(returns))
    return Usage(returns, steps, visits, seen[: min(steps, len(seen))])
