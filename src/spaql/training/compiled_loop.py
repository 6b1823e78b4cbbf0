"""The loop of the Q-learners on compiled plants, as Python sees it: stretches of iterations, each one call of a kernel.

What an iteration does stands in `kernels`; the same learners in Gymnasium environments: `gym_loop`.
"""

from typing import TYPE_CHECKING

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.streams import key_of, plant_seed
from spaql.learners.act import Actor, Trainee
from spaql.learners.forest_agent import copied, merge_forest
from spaql.learners.history import COLUMNS
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.partition.greedy import Greedy, cell_room, new_greedy
from spaql.plants.plant import LANES
from spaql.training.kernels import Clock, KernelRoom, LoopProgress, greedy_rollouts, train_aql, train_spaql
from spaql.training.lanes import BAD_OBSERVATION, OK, Episodes, Lanes, new_lanes, stage_of
from spaql.training.tally import Tally
from spaql.training.viewer import bad_reward, bad_state

if TYPE_CHECKING:
    from spaql.learners.forest_agent import ForestAgent

STRETCH_STEPS = 4_000_000  # between two checks for Ctrl-C in an evaluation: a tenth of a second on our plants


class CompiledLoop:
    """Trains one agent on its compiled plant, stretch by stretch."""

    finished = False

    def __init__(self, agent: "ForestAgent", rollouts: int) -> None:
        assert agent.problem.plant is not None
        self.agent, self.plant = agent, agent.problem.plant
        self.stage = stage_of(self.plant, agent.problem.horizon)
        episodes = Episodes(np.uint64(0), np.empty(rollouts), 0, rollouts)
        self.work = KernelRoom(new_lanes(self.plant), new_lanes(self.plant), episodes)
        self.greedy: Greedy | None = None  # of the trainee

    def run(self, iterations: int) -> Array:
        """History rows of the next iterations. One that fails leaves no trace; the iterations before it are kept."""
        state = self.agent.state
        alone = state.trainee is state.forest
        trainee = copied(state.trainee, state.space)
        before = trainee if alone else copied(state.forest, state.space), trainee, state.outer.copy()
        rows = np.zeros((iterations, len(COLUMNS)))
        done = self._iterate(rows)
        if done == iterations:
            return rows
        failed = self.work.one if self.work.one.fault[0] != OK else self.work.many
        error = plant_error(self.agent, failed, f"iteration {len(state.history) + done + 1}, ")
        state.greedy = None
        used = state.outer[[TRAIN_SAMPLES, EVAL_SAMPLES]]
        state.forest, state.trainee, state.outer[:] = before
        self._iterate(rows[:done])  # the same bits again, up to the last complete iteration
        state.outer[[TRAIN_SAMPLES, EVAL_SAMPLES]] = used  # the samples were used, whatever came of them
        state.history = np.concatenate([state.history, rows[:done]])
        raise error

    def _iterate(self, rows: Array) -> int:
        """Fill history rows until the plant fails. Returns how many were filled."""
        agent, state, (reset, step) = self.agent, self.agent.state, self.plant.batch
        spare = agent.room(state.space.horizon)
        done = 0
        while done < len(rows) and self.work.one.fault[0] == self.work.many.fault[0] == OK:
            scratch = state.make_room(spare)
            if self.greedy is None or len(self.greedy.jump) != cell_room(state.space, state.trainee):
                self.greedy = new_greedy(state.space, state.trainee)
            trainee = Trainee(state.space, agent.chart, agent.rule, state.trainee, self.greedy, scratch)
            clock = Clock(agent.seed, len(state.history) + done)
            progress = LoopProgress(state.outer, rows[done:], spare)
            if agent.cooling is None:
                if state.greedy is not self.greedy:  # merging the many cells of a net costs more than an episode
                    merge_forest(state.trainee, state.space, agent.chart, self.greedy, scratch)
                state.greedy = self.greedy  # the trainee is the agent, and its policy follows every step
                done += train_aql(reset, step, self.stage, trainee, clock, self.work, progress)
            else:
                state.greedy = None
                best = state.forest
                done += train_spaql(reset, step, self.stage, trainee, best, agent.cooling, clock, self.work, progress)
        return done


def run_compiled(
    agent: "ForestAgent", seed: int, purposes: tuple[int, int], iteration: int, deterministic: bool, returns: Array,
    tally: Tally | None = None,
) -> int:  # fmt: skip
    """Rollouts of the agent's greedy policy, stretch by stretch; fills `returns` and `tally`. Returns the steps."""
    plant, state = agent.problem.plant, agent.state
    assert plant is not None
    (reset, step), stage = plant.batch, stage_of(plant, state.space.horizon)
    lanes = new_lanes(plant, tally)
    actor = Actor(state.space, agent.chart, state.policy(agent.chart))
    of_plant, of_actions = np.uint64(plant_seed(seed, purposes[0], iteration)), key_of(seed, purposes[1], iteration)
    stretch = max(1, STRETCH_STEPS // (LANES * agent.problem.horizon)) * LANES
    steps = 0
    for first in range(0, len(returns), stretch):
        episodes = Episodes(of_plant, returns, first, min(first + stretch, len(returns)))
        steps += int(greedy_rollouts(reset, step, stage, actor, lanes, episodes, of_actions, deterministic))
        if lanes.fault[0] != OK:
            raise plant_error(agent, lanes)
    return steps


def plant_error(agent: "ForestAgent", lanes: Lanes, when: str = "") -> SpaqlError:
    """The error that says what was wrong with the plant, and where."""
    code, rollout, step, dimension = (int(v) for v in lanes.fault)
    lanes.fault[:] = OK
    where = when + ("training episode" if rollout < 0 else f"rollout {rollout}")
    if code != BAD_OBSERVATION:
        return bad_reward(agent.problem, where)
    assert agent.problem.plant is not None
    # the first lane with this rollout: lanes behind those in use are stale
    lane = 0 if rollout < 0 else int(np.argmax(lanes.rollout == rollout))
    value = float(lanes.table[agent.problem.plant.rows.observation + dimension, lane])
    return bad_state(agent.problem, dimension, value, f"{where}, step {step}")
