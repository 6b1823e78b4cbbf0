"""Look-ahead in a learned model, for acting on the plant that it is a model of."""

import numpy as np

from spaql.gp.learned_problem import step_cost
from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING
from spaql.ground.compiling import kernel
from spaql.ground.streams import LAWS_PLANNED, derive, plant_seed, sub_key
from spaql.laws.planner import (
    FIRST,
    KNOTS,
    ROUNDS,
    SEQUENCES,
    Look,
    PlannerScratch,
    action_of,
    attempt,
    covered,
    go_on,
    improve,
    look_of,
    new_scratch,
)  # fmt: skip
from spaql.plants.plant import Batch
from spaql.plants.problem import Problem
from spaql.training.lanes import Lanes, Stage, new_lanes, stage_of

DECISION = 1.5e7  # kernels of the model for an action: with many variables sequences cover fewer steps


class LookAhead:
    """`problem`: the one with the model as its plant, whose state is the observation."""

    def __init__(self, problem: Problem, seed: int) -> None:
        assert problem.plant is not None
        affordable = int(DECISION / (ROUNDS * SEQUENCES * step_cost(problem)))
        steps = min(covered(problem), max(KNOTS, affordable))
        self.problem, self.look, self.scratch = problem, look_of(problem, steps), new_scratch(problem)
        self.stage, self.lanes = stage_of(problem.plant, problem.horizon), new_lanes(problem.plant)
        self.key = np.uint64(plant_seed(seed, LAWS_PLANNED, 0))

    @property
    def steps(self) -> int:
        """That a sequence covers."""
        return int(self.look.holds.sum())

    def act(self, observation: Array, time: int) -> Array:
        """The action at a step of an episode; step 0 begins a new plan."""
        action = np.zeros(self.problem.actions.axes)
        self._begin(observation, time)
        self._try(time, action, FIRST if time == 0 else ROUNDS)
        return action

    def gain(self, observation: Array) -> float:
        """How much more the best sequence earns than the middle action, from a beginning on."""
        self._begin(observation, 0)
        calm = self._try(0, np.zeros(self.problem.actions.axes), 0)
        return self._try(0, np.zeros(self.problem.actions.axes), FIRST) - calm

    def _begin(self, observation: Array, time: int) -> None:
        d, place = len(observation), self.scratch.place
        place[:] = 0.0
        place[:d], place[-d:] = observation, observation
        if time == 0:
            self.scratch.middle[:] = 0.0
            self.key = sub_key(self.key, 1)

    def _try(self, time: int, action: Array, rounds: int) -> float:
        assert self.problem.plant is not None
        step = self.problem.plant.batch[1]
        return float(_act(step, self.stage, self.lanes, self.look, self.scratch, self.key, time, action, rounds))


@kernel
def _act(
    step: Batch, stage: Stage, lanes: Lanes, look: Look, scratch: PlannerScratch, key: np.uint64, time: int,
    action: Array,
    rounds: int,
) -> float:  # fmt: skip
    """The first action of a plan from the place; the rest is where the next plan begins. Returns
    what is expected.

    Without rounds, the middle action is tried, and nothing is planned; of an even number of actions
    the worse one of the two in the middle, since nobody could tell from the better one that there
    is something to decide.
    """
    imagined = derive(key, time)
    if rounds == 0:
        scratch.z[:] = 0.0
        if len(look.values) > 0:
            scratch.z[0] = -ROUNDING  # of an even number of actions the lower middle one; without it the upper one
        attempt(step, stage, lanes, look, scratch, imagined, time)
        return min(float(scratch.returns[0]), float(scratch.returns[1]))
    best = improve(step, stage, lanes, look, scratch, imagined, time, rounds)[0]
    for axis in range(len(action)):
        action[axis] = action_of(look, scratch.middle[0, axis], axis)
    go_on(look, scratch)
    return best
