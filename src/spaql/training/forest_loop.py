"""The loop that trains a Q-learner: compiled where its plant is compiled, else through Gymnasium."""

import threading
from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, working
from spaql.ground.streams import FRESH_ACTION, FRESH_PLANT, SELECT_ACTION, SELECT_PLANT
from spaql.learners.forest_agent import ForestAgent
from spaql.learners.history import COLUMNS, write_row
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.policy.evaluation import Evaluation
from spaql.training.compiled_loop import CompiledLoop, run_compiled
from spaql.training.gym_loop import GymLoop, run_gym
from spaql.training.rollouts import mean_return
from spaql.training.tally import Tally, counted, new_tally

if TYPE_CHECKING:
    from spaql.learners.forest_agent import ForestAgent

def forest_loop(
    agent: ForestAgent, rollouts: int, stop: threading.Event, samples: int | None
) -> CompiledLoop | GymLoop:
    return CompiledLoop(agent, rollouts) if agent.problem.plant is not None else GymLoop(agent, rollouts, stop)


# -- rollouts of an agent as it is -------------------------------------------------------------------------------------

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


# -- the loop of Random, on plants of both kinds: it learns nothing, so that every iteration is an evaluation ----------

class RandomLoop:
    """Evaluates one agent that never changes."""

    finished = False

    def __init__(self, agent: "ForestAgent", rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.returns = agent, np.empty(rollouts)

    def run(self, iterations: int) -> Array:
        agent, outer = self.agent, self.agent.state.outer
        rows = np.zeros((iterations, len(COLUMNS)))
        for i in range(iterations):
            at = len(agent.state.history) + i
            try:
                purposes = (SELECT_PLANT, SELECT_ACTION)
                outer[EVAL_SAMPLES] += run_rollouts(agent, agent.seed, purposes, at + 1, False, self.returns)
            except SpaqlError:
                agent.state.history = np.concatenate([agent.state.history, rows[:i]])
                raise
            mean, train_samples, eval_samples = mean_return(self.returns), outer[TRAIN_SAMPLES], outer[EVAL_SAMPLES]
            write_row(rows[i], mean, mean, float(agent.arms), float(train_samples), float(eval_samples), 0.0)
        return rows
