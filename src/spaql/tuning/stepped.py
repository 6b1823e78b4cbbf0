"""A process model of a plant that has no equations: an FMU or an environment is stepped around its working point."""

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Continuous
from spaql.plants.loop import stated
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.policy.linear import linear_model
from spaql.tuning.process import Process, process_of
from spaql.tuning.step_log import fitted, problem_of_model

SHARE = 0.1  # of the range of the action: a step up from the middle, after as much below
LONGER = (1, 2, 4, 8)  # episodes that a step response may take
ROUNDS = 2  # the second around the action that holds the reference


def stepped(
    source: Problem, column: int, output: int, reference: Reference, dt: float, integrating: bool | None
) -> tuple[list[float], Process]:
    """Actions that hold the working point, and the process there: of two steps, the second where the first sees it."""
    low, high = source.actions.bounds
    held = (low + high) / 2
    for _ in range(ROUNDS):
        size = SHARE * (high[column] - low[column])
        held[column] = np.clip(held[column], low[column] + size, high[column] - size)
        for longer in LONGER:
            given, seen, cut = _recorded(source, held, column, output, size, longer * source.horizon)
            try:
                model = fitted(given, seen, dt, integrating, f"a step of {source.name}")
                break
            except SpaqlError:  # it has not settled
                if cut or longer == LONGER[-1]:
                    raise
        if not model.integrating:
            held[column] = model.at + (reference.middle - model.base) / model.gain
        else:
            held[column] = model.at
    held = np.clip(held, low, high)
    actions = Continuous((float(low[column]),), (float(high[column]),), ("u",))
    ends = (reference.low, reference.high)
    like = problem_of_model(model, source.state[output], actions, dt, ends, source.name)
    plant, _, around = stated(like)
    assert plant.plant is not None
    near = linear_model(plant, plant.plant, np.array([reference.middle]), None)
    return held.tolist(), process_of(near, 0, [0], around.actuator_delay, dt, [])


def _recorded(
    source: Problem, held: Array, column: int, output: int, size: float, steps: int
) -> tuple[Array, Array, bool]:
    """Input and output: rest below, and a step in the middle; whether the episode ended before its time."""
    env = source.open_env()
    observation, _ = env.reset(seed=0)
    given, seen = [], []
    for step in range(steps):
        action = held.copy()
        action[column] += size if step >= steps // 2 else -size
        given.append(action[column])
        seen.append(float(np.asarray(observation).reshape(-1)[output]))
        observation, _, terminated, truncated, _ = env.step(source.native(action))
        if terminated:
            raise SpaqlError(
                f"{source.name} ended after {step + 1} steps of a step response: record one, and tune on it"
            )
        if truncated:
            break
    rested = slice(steps * 2 // 5, None)  # what the start has left behind is over
    return np.array(given)[rested], np.array(seen)[rested], len(seen) < steps
