"""Episodes of a controller that is a function of the observation, on compiled plants and in Gymnasium environments."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.compiling import inlined, kernel
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, working
from spaql.plants.answers import begun, outcome
from spaql.plants.chart import HUGE
from spaql.plants.environment import PlantEnv
from spaql.plants.plant import Batch, Rows
from spaql.policy.evaluation import Evaluation
from spaql.policy.outputs import Allowed, allowed_by, settled
from spaql.training.lanes import BAD_ACTION, OK, Episodes, Lanes, Stage, new_lanes, run_lanes, stage_of
from spaql.training.tally import Counter, Tally, counted, new_tally
from spaql.training.tree_episodes import STRETCH
from spaql.training.viewer import bad_reward, bad_state
from spaql.training.watched import Decides

if TYPE_CHECKING:
    from spaql.policy.controller import Controller

# -- lock-step rollouts of a controller that is a function of the observation, on a compiled plant ---------------------
#
# The function fills the rows of the action by a batch function, as `reset` and `step` of the plant fill theirs: one
# kernel serves all controllers.

@inlined
def settle_lanes(allowed: Allowed, lanes: Lanes, rows: Rows, n: int) -> int:
    """`allowed.settled` for all lanes. Returns a lane whose action is not allowed, which is left as it was, or -1."""
    for axis in range(len(allowed.low)):
        row, low, high, bad = lanes.table[rows.action + axis], allowed.low[axis], allowed.high[axis], 0
        if len(allowed.values) == 0:  # counted first: a loop that may end early does not vectorise
            for i in range(n):
                bad += 0 if abs(row[i]) <= HUGE else 1
            if bad == 0:
                for i in range(n):
                    row[i] = min(max(row[i], low), high)
                continue
        for i in range(n):
            value = settled(allowed, axis, row[i])
            if np.isnan(value):
                return i
            row[i] = value
    return -1


class FunctionActor(NamedTuple):
    """A function that acts."""

    function: Batch
    allowed: Allowed
    wrong: Array  # the observation and the action, where an action is not allowed


@inlined
def _act(actor: FunctionActor, rows: Rows, lanes: Lanes, h: int, steps: int, n: int, padded: int) -> bool:
    actor.function(lanes.flat, padded)
    bad = settle_lanes(actor.allowed, lanes, rows, padded)
    if bad < 0:
        return True
    for j in range(len(actor.wrong)):
        actor.wrong[j] = lanes.table[rows.observation + j, bad]
    lanes.fault[0], lanes.fault[1], lanes.fault[2], lanes.fault[3] = BAD_ACTION, lanes.rollout[bad], h, -1
    return False


@kernel
def run_controller(
    reset: Batch, step: Batch, act: Batch, stage: Stage, allowed: Allowed, lanes: Lanes, episodes: Episodes,
    wrong: Array,
) -> int:  # fmt: skip
    """Episodes of a controller. Returns the steps. At an action that is not allowed it stops, and fills in `wrong`."""
    return run_lanes(reset, step, _act, FunctionActor(act, allowed, wrong), stage, lanes, episodes)


# Episodes of a controller that is a function of the observation, on compiled plants and in Gymnasium environments

@working(EPISODES)
def evaluate_controller(controller: "Controller", episodes: int, seed: int) -> Evaluation:
    """Fresh episodes, from the start states of `Agent.evaluate(seed=seed)`."""
    problem = controller.problem
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on")
    plant_seed, returns = streams.plant_seed(seed, streams.FRESH_PLANT, 0), np.zeros(episodes)
    tally = new_tally(problem, episodes)
    if problem.plant is None or controller.compiled is None:
        env = problem.open_env() if problem.plant is None else PlantEnv(problem)
        steps = _in_python(controller, env, int(plant_seed), returns, Counter(problem, tally))
        return counted(problem, returns, steps, tally, seed)
    steps = 0
    for first in range(0, episodes, STRETCH):
        some = Episodes(np.uint64(plant_seed), returns, first, min(first + STRETCH, episodes))
        steps += run_compiled(controller, some, tally)
    return counted(problem, returns, steps, tally, seed)


def run_compiled(controller: "Controller", episodes: Episodes, tally: Tally) -> int:
    """Episodes of a function that compiles, on a compiled plant; fills the returns and `tally`. Returns the steps."""
    problem, act = controller.problem, controller.compiled
    assert problem.plant is not None
    assert act is not None
    reset, step = problem.plant.batch
    stage, lanes = stage_of(problem.plant, problem.horizon), new_lanes(problem.plant, tally)
    allowed, wrong = allowed_by(problem.actions), np.zeros(len(problem.state) + problem.actions.axes)
    steps = run_controller(reset, step, act, stage, allowed, lanes, episodes, wrong)
    if lanes.fault[0] == BAD_ACTION:
        _complain(controller, wrong, int(lanes.fault[1]), int(lanes.fault[2]))
    if lanes.fault[0] != OK:
        raise bad_reward(problem, f"rollout {int(lanes.fault[1])}")
    return int(steps)


def _complain(controller: "Controller", wrong: Array, rollout: int, step: int) -> None:
    """An action that is not allowed, at an observation that may not be one either."""
    d = len(controller.problem.state)
    bad = np.flatnonzero(~(np.abs(wrong[:d]) <= HUGE))
    if len(bad):
        where = f"rollout {rollout}, step {step}"
        raise bad_state(controller.problem, int(bad[0]), float(wrong[bad[0]]), where)
    raise controller.refused(wrong[:d], wrong[d:])


def _in_python(controller: "Controller", env: Any, seed: int, returns: Array, counter: Counter) -> int:
    steps = 0
    for j in range(len(returns)):
        observation = begun(env.reset(seed=seed) if j == 0 else env.reset())
        for seen, action, reward, ended in steps_of(controller, env, observation):
            counter.step(j, action, seen, reward, ended)
            returns[j] += reward
            steps += 1
        if not abs(returns[j]) <= HUGE:
            raise bad_reward(controller.problem, f"rollout {j}")
    return steps


def steps_of(controller: Decides, env: Any, observation: Any) -> Iterator[tuple[Array, Array, float, bool]]:
    """(next observation, action, reward, terminated) of every step of an episode that begins here."""
    problem, native = controller.problem, controller.problem.native_one()
    for _ in range(problem.horizon):
        action = controller.decide(np.array(observation, float).reshape(1, -1))[0]
        observation, reward, terminated, truncated = outcome(env.step(native(action)))
        yield np.array(observation, float).reshape(-1), action, float(reward), bool(terminated)
        if terminated or truncated:
            break
