"""Training and evaluation on compiled plants."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.arrays import Array
from spaql.errors import SpaqlError
from spaql.learners.state import copied
from spaql.partition.greedy import Greedy, cell_room, new_greedy
from spaql.plants.plant import LANES
from spaql.training.history import COLUMNS
from spaql.training.loops import play, train_aql, train_spaql
from spaql.training.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.training.rollouts import BAD_OBSERVATION, OK, Lanes, new_lanes

if TYPE_CHECKING:
    from spaql.learners.agent import Agent


STRETCH_STEPS = 4_000_000  # how many steps compiled code evaluates before Python looks at Ctrl-C: a tenth of a second on our plants


class CompiledLoop:
    """Trains one agent on its compiled plant, stretch by stretch."""

    def __init__(self, agent: "Agent", rollouts: int) -> None:
        assert agent.problem.plant is not None
        self.agent, self.plant = agent, agent.problem.plant
        d = agent.state.space.d
        self.one, self.lanes = new_lanes(d, self.plant.rows), new_lanes(d, self.plant.rows)
        self.returns = np.empty(rollouts)
        self.greedy: Greedy | None = None  # of the trainee

    def run(self, iterations: int) -> Array:
        """The next iterations; returns their history rows. If one fails, those before it are kept and it leaves no trace."""
        state = self.agent.state
        alone = state.trainee is state.forest
        trainee = copied(state.trainee, state.space)
        before = trainee if alone else copied(state.forest, state.space), trainee, state.outer.copy()
        rows = np.zeros((iterations, len(COLUMNS)))
        done = self._iterate(rows)
        if done == iterations:
            return rows
        failed = self.one if self.one.fault[0] != OK else self.lanes
        error = plant_error(self.agent, failed, f"iteration {len(state.history) + done + 1}, ")
        state.greedy = None
        used = state.outer[[TRAIN_SAMPLES, EVAL_SAMPLES]]
        state.forest, state.trainee, state.outer[:] = before
        self._iterate(rows[:done])  # the same bits again, up to the last complete iteration
        state.outer[[TRAIN_SAMPLES, EVAL_SAMPLES]] = used  # they were used, whatever came of it
        state.history = np.concatenate([state.history, rows[:done]])
        raise error

    def _iterate(self, rows: Array) -> int:
        """Fill history rows until the plant fails. Returns how many were filled."""
        agent, state = self.agent, self.agent.state
        noise = (self.plant.reset_noise, self.plant.step_noise)
        room = agent.room(state.space.horizon)
        done = 0
        while done < len(rows) and self.one.fault[0] == self.lanes.fault[0] == OK:
            scratch = state.make_room(room)
            if self.greedy is None or len(self.greedy.jump) != cell_room(state.space, state.trainee):
                self.greedy = new_greedy(state.space, state.trainee)
            at = len(state.history) + done
            known: Any = (*self.plant.batch, self.plant.rows, noise, state.space, agent.chart, agent.rule)
            work: Any = (self.greedy, scratch, self.one, self.lanes, self.returns, state.outer, rows[done:], room)
            merged = state.greedy is self.greedy
            state.greedy = self.greedy if agent.per_step else None  # the trainee is the agent, and its policy follows every step
            if agent.per_step:
                done += train_aql(*(*known, agent.seed, at, state.forest, *work, merged))
            else:
                options = agent.options
                cooling = (float(options["tau_min"]), float(options["d"]), options["temperature_rule"] == "published")
                done += train_spaql(*(*known, cooling, agent.seed, at, state.trainee, state.forest, *work))
        return done


def play_compiled(agent: "Agent", seed: int, purposes: tuple[int, int], iteration: int, deterministic: bool, returns: Array) -> int:
    """Rollouts of the agent's greedy policy, stretch by stretch; fills `returns`, gives the steps."""
    plant, state = agent.problem.plant, agent.state
    assert plant is not None
    lanes = new_lanes(state.space.d, plant.rows)
    noise = (plant.reset_noise, plant.step_noise)
    greedy = state.policy(agent.chart)
    known: Any = (*plant.batch, plant.rows, noise, state.space, agent.chart, greedy, lanes, seed, purposes, iteration, deterministic)
    stretch = max(1, STRETCH_STEPS // (LANES * agent.problem.horizon)) * LANES
    steps = 0
    for first in range(0, len(returns), stretch):
        steps += int(play(*(*known, returns, first, min(first + stretch, len(returns)))))
        if lanes.fault[0] != OK:
            raise plant_error(agent, lanes)
    return steps


def plant_error(agent: "Agent", lanes: Lanes, when: str = "") -> SpaqlError:
    """What was wrong with the plant, where."""
    code, rollout, step, dimension = (int(v) for v in lanes.fault)
    lanes.fault[:] = OK
    where = when + ("training episode" if rollout < 0 else f"rollout {rollout}")
    if code != BAD_OBSERVATION:
        return SpaqlError(f"the plant of {agent.problem.name} gave a reward that is not finite ({where})")
    axis, plant = agent.problem.state[dimension], agent.problem.plant
    assert plant is not None
    lane = 0 if rollout < 0 else int(np.argmax(lanes.rollout == rollout))  # the first one: lanes behind those under way are stale
    value = float(lanes.table[plant.rows.observation + dimension, lane])
    if not math.isfinite(value) or axis.slope is not None:
        return SpaqlError(
            f"the plant of {agent.problem.name} gave a state that is not finite: {axis.name} is {value:g} ({where}, step {step})"
        )
    return SpaqlError(
        f"the plant of {agent.problem.name} left its declared bounds: {axis.name} = {value:g} is not in {axis.low:g} ... {axis.high:g} "
        f"({where}, step {step}): widen the axis, give it a slope, or end the episode there"
    )
