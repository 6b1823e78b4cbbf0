"""The loop that trains a Q-learner: compiled where its plant is compiled, else through Gymnasium."""

import threading

from spaql.learners.forest_agent import ForestAgent
from spaql.training.compiled_loop import CompiledLoop
from spaql.training.gym_loop import GymLoop


def forest_loop(
    agent: ForestAgent, rollouts: int, stop: threading.Event, samples: int | None
) -> CompiledLoop | GymLoop:
    return CompiledLoop(agent, rollouts) if agent.problem.plant is not None else GymLoop(agent, rollouts, stop)
