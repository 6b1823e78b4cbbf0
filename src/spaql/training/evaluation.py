"""Rollouts of an agent as it is."""

from typing import TYPE_CHECKING

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.policy.evaluation import Evaluation
from spaql.progress import EPISODES, working
from spaql.streams import FRESH_ACTION, FRESH_PLANT
from spaql.training.compiled_loop import run_compiled
from spaql.training.gym_loop import run_gym
from spaql.training.tally import Tally, counted, new_tally

if TYPE_CHECKING:
    from spaql.learners.forest_agent import ForestAgent


def run_rollouts(
    agent: "ForestAgent", seed: int, purposes: tuple[int, int], iteration: int, deterministic: bool, returns: Array,
    tally: Tally | None = None,
) -> int:  # fmt: skip
    """Rollouts of the agent's policy; fills `returns` and `tally`. Returns the number of steps."""
    run = run_compiled if agent.problem.plant is not None else run_gym
    return run(agent, seed, purposes, iteration, deterministic, returns, tally)


@working(EPISODES)
def fresh_rollouts(agent: "ForestAgent", episodes: int, seed: int, deterministic: bool) -> Evaluation:
    """See `Agent.evaluate`."""
    if not agent.problem.can_run:
        raise SpaqlError(f"{agent.problem.name} has no plant to evaluate on (a loaded agent gets one with problem=...)")
    returns, tally = np.empty(episodes), new_tally(agent.problem, episodes)
    steps = run_rollouts(agent, seed, (FRESH_PLANT, FRESH_ACTION), 0, deterministic, returns, tally)
    return counted(agent.problem, returns, steps, tally, seed)
