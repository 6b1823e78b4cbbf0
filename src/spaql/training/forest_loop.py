"""The loops that train the Q-learners, as Python sees them: compiled where the plant is, else through Gymnasium.

On compiled plants a stretch of iterations is one call of a kernel. What an iteration does stands in `kernels`, for the
same learners in Gymnasium environments in `gym_loop`.
"""

import threading
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, working
from spaql.ground.streams import FRESH_ACTION, FRESH_PLANT, key_of, plant_seed, sub_key
from spaql.learners.act import Actor, Trainee, act_once
from spaql.learners.forest_agent import ForestAgent, copied
from spaql.learners.history import COLUMNS, add_row
from spaql.learners.outer import EVAL_SAMPLES, TRAIN_SAMPLES
from spaql.partition.greedy import Greedy, cell_room, new_greedy
from spaql.partition.merge import merge_all
from spaql.plants.plant import LANES
from spaql.policy.evaluation import Evaluation
from spaql.training.episode import Episode, open_at, watch
from spaql.training.gym_loop import GymLoop, Rollouts, Viewer, roll, selecting
from spaql.training.kernels import Clock, KernelRoom, LoopProgress, train_aql, train_spaql
from spaql.training.lanes import BAD_OBSERVATION, OK, Episodes, Lanes, bad_reward, bad_state, new_lanes, stage_of
from spaql.training.rollouts import greedy_rollouts, mean_return
from spaql.training.tally import Counter, Tally, counted, new_tally

STRETCH_STEPS = 4_000_000  # between two checks for Ctrl-C in an evaluation: a tenth of a second on our plants


def forest_loop(
    agent: ForestAgent, rollouts: int, stop: threading.Event, samples: int | None
) -> "CompiledLoop | GymLoop":
    return CompiledLoop(agent, rollouts) if agent.problem.plant is not None else GymLoop(agent, rollouts, stop)


class CompiledLoop:
    """Trains one agent on its compiled plant, stretch by stretch."""

    finished = False

    def __init__(self, agent: ForestAgent, rollouts: int) -> None:
        assert agent.problem.plant is not None
        self.agent, self.plant = agent, agent.problem.plant
        self.stage = stage_of(self.plant, agent.problem.horizon)
        episodes = Episodes(np.uint64(0), np.empty(rollouts), 0, rollouts)
        self.work = KernelRoom(new_lanes(self.plant), new_lanes(self.plant), episodes)
        self.greedy: Greedy | None = None  # of the trainee

    def run(self, iterations: int) -> int:
        """The next iterations. One that fails leaves no trace; the iterations before it are kept."""
        state = self.agent.state
        alone = state.trainee is state.forest
        trainee = copied(state.trainee, state.space)
        before = trainee if alone else copied(state.forest, state.space), trainee, state.outer.copy()
        rows = np.zeros((iterations, len(COLUMNS)))
        done = self._iterate(rows)
        if done == iterations:
            state.history = np.concatenate([state.history, rows])
            return done
        failed = self.work.training if self.work.training.fault[0] != OK else self.work.evaluation
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
        while done < len(rows) and self.work.training.fault[0] == self.work.evaluation.fault[0] == OK:
            scratch = state.make_room(spare)
            if self.greedy is None or len(self.greedy.jump) != cell_room(state.space, state.trainee):
                self.greedy = new_greedy(state.space, state.trainee)
            trainee = Trainee(state.space, agent.chart, agent.rule, state.trainee, self.greedy, scratch)
            clock = Clock(agent.seed, len(state.history) + done)
            progress = LoopProgress(state.outer, rows[done:], spare)
            if agent.cooling is None:
                if state.greedy is not self.greedy:  # merging the many cells of a net costs more than an episode
                    merge_all(state.trainee, state.space, agent.chart, self.greedy, scratch)
                state.greedy = self.greedy  # the trainee is the agent, and its policy follows every step
                done += train_aql(reset, step, self.stage, trainee, clock, self.work, progress)
            else:
                state.greedy = None
                best = state.forest
                done += train_spaql(reset, step, self.stage, trainee, best, agent.cooling, clock, self.work, progress)
        return done


def run_compiled(agent: ForestAgent, rollouts: Rollouts, tally: Tally | None) -> int:
    """On the compiled plant, stretch by stretch."""
    plant, state = agent.problem.plant, agent.state
    assert plant is not None
    stage, lanes = stage_of(plant, state.space.horizon), new_lanes(plant, tally)
    actor = Actor(state.space, agent.chart, state.policy(agent.chart))
    returns, seed, key, deterministic, _ = rollouts
    stretch = max(1, STRETCH_STEPS // (LANES * agent.problem.horizon)) * LANES
    steps = 0
    for first in range(0, len(returns), stretch):
        last = min(first + stretch, len(returns))
        episodes = Episodes(np.uint64(seed), returns, first, last, action_key=key)
        steps += int(greedy_rollouts(*plant.batch, stage, actor, lanes, episodes, deterministic))
        if lanes.fault[0] != OK:
            raise plant_error(agent, lanes)
    return steps


def plant_error(agent: ForestAgent, lanes: Lanes, when: str = "") -> SpaqlError:
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


# -- rollouts of an agent as it is -------------------------------------------------------------------------------------

def run_rollouts(agent: ForestAgent, rollouts: Rollouts, tally: Tally | None = None) -> int:
    """Fills the returns and `tally`. Returns the number of steps."""
    if agent.problem.plant is not None:
        return run_compiled(agent, rollouts, tally)
    counter = None if tally is None else Counter(agent.problem, tally)
    greedy = agent.state.policy(agent.chart)
    return roll(agent, agent.problem.open_env(), greedy, rollouts, counter=counter)


@working(EPISODES)
def fresh_rollouts(agent: ForestAgent, episodes: int, seed: int, deterministic: bool) -> Evaluation:
    """See `Agent.evaluate`."""
    if not agent.problem.can_run:
        raise SpaqlError(f"{agent.problem.name} has no plant to evaluate on (a loaded agent gets one with problem=...)")
    returns, tally = np.empty(episodes), new_tally(agent.problem, episodes)
    first, key = int(plant_seed(seed, FRESH_PLANT, 0)), key_of(seed, FRESH_ACTION, 0)
    steps = run_rollouts(agent, Rollouts(returns, first, key, deterministic), tally)
    return counted(agent.problem, returns, steps, tally, seed)


class AgentSteps:
    """The greedy policy of an agent, step by step: its draws depend on the step."""

    def __init__(self, agent: ForestAgent, seed: int, rollout: int, deterministic: bool) -> None:
        space = agent.state.space
        self.problem, self.step, self.deterministic = agent.problem, 0, deterministic
        self.view = Viewer(agent, f"rollout {rollout}")
        self.actor = Actor(space, agent.chart, agent.state.policy(agent.chart))
        self.key = sub_key(key_of(seed, FRESH_ACTION, 0), rollout)
        self.room = np.zeros(space.d), np.zeros(max(space.k, 1))

    def decide(self, states: Any) -> Array:
        observation = self.view.check(states[0], self.step)
        bad = act_once(self.actor, observation, self.key, self.step, self.deterministic, *self.room)
        self.view.complain(bad, observation, self.step)
        self.step += 1
        return self.room[1][None].copy()


def record(agent: ForestAgent, seed: int, rollout: int, deterministic: bool) -> Episode:
    """See `Agent.episode`."""
    acting = AgentSteps(agent, seed, rollout, deterministic)
    env, observation = open_at(agent.problem, seed, rollout)
    return watch(acting, agent.problem, env, observation, f"rollout {rollout}").episode


# -- the loop of Random, on plants of both kinds: it learns nothing, so that every iteration is an evaluation ----------

class RandomLoop:
    """Evaluates one agent that never changes."""

    finished = False

    def __init__(self, agent: ForestAgent, rollouts: int, stop: threading.Event, samples: int | None) -> None:
        self.agent, self.returns = agent, np.empty(rollouts)

    def run(self, iterations: int) -> int:
        state = self.agent.state
        for _ in range(iterations):
            rollouts = selecting(self.agent, len(state.history) + 1, self.returns)
            state.outer[EVAL_SAMPLES] += run_rollouts(self.agent, rollouts)
            mean, samples = mean_return(self.returns), state.outer[[TRAIN_SAMPLES, EVAL_SAMPLES]].tolist()
            add_row(state, mean, mean, float(self.agent.arms), *samples, 0.0)
        return iterations
