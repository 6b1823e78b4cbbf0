"""Episodes of a tree, or of a function of the observation, as the controller: on compiled plants, in environments."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from spaql.ground import streams
from spaql.ground.arrays import Array
from spaql.ground.checks import whole
from spaql.ground.compiling import inlined, kernel, machine_code
from spaql.ground.errors import SpaqlError
from spaql.ground.progress import EPISODES, at_work, working
from spaql.plants.answers import begun, steps, vector
from spaql.plants.chart import HUGE
from spaql.plants.environment import open_environment
from spaql.plants.plant import Batch, Rows
from spaql.plants.problem import Problem
from spaql.policy.certificate import Certificate
from spaql.policy.evaluation import Evaluation
from spaql.policy.outputs import Allowed, allowed_by, settled
from spaql.training.lanes import (
    BAD_ACTION,
    OK,
    Episodes,
    Lanes,
    Stage,
    bad_reward,
    bad_state,
    new_lanes,
    run_lanes,
    stage_of,
)
from spaql.training.tally import Counter, Tally, counted, new_tally
from spaql.training.tree_rollouts import run_tree
from spaql.trees.tree import Tree, decide_row

if TYPE_CHECKING:
    from spaql.policy.controller import Controller
    from spaql.policy.policy import Policy

STRETCH = 4096  # episodes between two checks for Ctrl-C

# -- trees -------------------------------------------------------------------------------------------------------------


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
    plant_seed = streams.plant_seed(seed, purpose, 0)
    if problem.plant is None:
        counter = None if tally is None else Counter(problem, tally)
        return _tree_in_environment(problem, tree, returns, visits, seen, int(plant_seed), counter)
    stage, lanes, samples = stage_of(problem.plant, problem.horizon), new_lanes(problem.plant, tally), 0
    for some in _stretches(int(plant_seed), returns):
        samples += run_tree(*problem.plant.batch, stage, tree.controller, lanes, some, visits, seen[samples:])
    if lanes.fault[0] != OK:
        raise bad_reward(problem, f"rollout {int(lanes.fault[1])}")
    return Usage(returns, samples, visits, seen[: min(samples, states)])


def _stretches(plant_seed: int, returns: Array) -> Iterator[Episodes]:
    for first in range(0, len(returns), STRETCH):
        at_work(EPISODES, first, len(returns))
        yield Episodes(np.uint64(plant_seed), returns, first, min(first + STRETCH, len(returns)))


def evaluated(problem: Problem, tree: Tree, episodes: int, seed: int, device: str = "cpu") -> Evaluation:
    """See `Policy.evaluate`."""
    if device == "cuda":
        from spaql.cuda.card_rollouts import evaluated_on_card

        return evaluated_on_card(problem, tree, episodes, seed)
    tally = new_tally(problem, episodes)
    usage = run_episodes(problem, tree, episodes, seed, tally=tally)
    return counted(problem, usage.returns, usage.samples, tally, seed)


def certified(
    policy: "Policy", episodes: int, seed: int, confidence: float, date: str | None, device: str
) -> Certificate:
    """See `Policy.certify`. The card only counts failures: so many episodes have no room in memory."""
    if device == "cpu":
        return policy.evaluate(episodes, seed).certificate(confidence, date)
    from spaql.cuda.card_rollouts import failures_on_card

    episodes, first = whole("episodes", episodes, 1, 10**12), policy.evaluate(1, seed).certificate(confidence, date)
    return replace(first, episodes=episodes, failures=failures_on_card(policy.problem, policy.rules, episodes, seed))


def tree_steps(
    problem: Problem, tree: Tree, env: Any, seed: int | None
) -> Iterator[tuple[Array, int, float, Array, Any, bool]]:
    """One episode in an environment; `seed` None: as `reset` has it.

    (observation, leaf, reward, action, next observation, terminated) of every step.
    """
    action, controller, leaf = np.zeros(tree.actions.shape[1]), tree.controller, 0
    decide_in, seen = machine_code(decide_row, controller, np.zeros((1, tree.variables)), 0, action), np.zeros((1, 0))

    def act(observation: Any, step: int) -> Array:
        nonlocal seen, leaf
        seen = vector(tree.variables, np.ravel(observation), f"step {step}")[None]
        leaf = decide_in(controller, seen, 0, action)
        return action

    begin = begun(env.reset(seed=seed))
    for _, _, after, reward, terminated in steps(env, act, begin, problem.horizon, problem.native_one()):
        yield seen[0], leaf, float(reward), action, after, terminated


def _tree_in_environment(
    problem: Problem, tree: Tree, returns: Array, visits: Array, seen: Array, seed: int, counter: Counter | None
) -> Usage:
    env, samples = problem.open_env(), 0
    for j in range(len(returns)):
        for observation, leaf, reward, action, after, ended in tree_steps(problem, tree, env, None if j else seed):
            if counter is not None:
                counter.step(j, action, after, reward, ended)
            if samples < len(seen):
                seen[samples] = observation
            visits[leaf] += 1
            returns[j] += reward
            samples += 1
        at_work(EPISODES, j + 1, len(returns))
    return Usage(returns, samples, visits, seen[: min(samples, len(seen))])


# -- functions of the observation --------------------------------------------------------------------------------------
#
# The function fills the rows of the action by a batch function, as `reset` and `step` of the plant fill theirs: one
# kernel serves all controllers.


Acts = Callable[[Any, int], Array]  # from an observation and the number of the step to an action


class Decides(Protocol):
    """A policy, or a controller of one's own."""

    @property
    def problem(self) -> Problem: ...

    def decide(self, states: Any) -> Array: ...


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


@working(EPISODES)
def evaluate_controller(controller: "Controller", episodes: int, seed: int) -> Evaluation:
    """Fresh episodes, from the start states of `Agent.evaluate(seed=seed)`."""
    problem = controller.problem
    if problem.plant is not None and controller.compiled is not None:
        plant_seed, returns = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0)), np.zeros(episodes)
        tally = new_tally(problem, episodes)
        samples = sum(run_compiled(controller, some, tally) for some in _stretches(plant_seed, returns))
        return counted(problem, returns, samples, tally, seed)
    return played(problem, lambda j, env: deciding(controller), episodes, seed)


def played(problem: Problem, player: Callable[[int, Any], Acts], episodes: int, seed: int) -> Evaluation:
    """Fresh episodes in Python. `player`: who acts, by the number of the episode and the environment."""
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to run on")
    env, tally, returns = open_environment(problem), new_tally(problem, episodes), np.zeros(episodes)
    counter, samples = Counter(problem, tally), 0
    plant_seed = int(streams.plant_seed(seed, streams.FRESH_PLANT, 0))
    for j in range(episodes):
        observation = begun(env.reset(seed=None if j else plant_seed))
        samples += count_episode(problem, player(j, env), env, observation, counter, j, returns)
        if not abs(returns[j]) <= HUGE:
            raise bad_reward(problem, f"rollout {j}")
        at_work(EPISODES, j + 1, episodes)
    return counted(problem, returns, samples, tally, seed)


def deciding(controller: Decides) -> Acts:
    """What it decides on an observation."""

    def act(seen: Any, step: int) -> Array:
        action: Array = controller.decide(np.array(seen, float).reshape(1, -1))[0]
        return action

    return act


def count_episode(
    problem: Problem, act: Acts, env: Any, observation: Any, counter: Counter, j: int, returns: Array
) -> int:
    """Episode number j, which begins here, in Python. Returns its steps."""
    count = 0
    for _, action, after, reward, ended in steps(env, act, observation, problem.horizon, problem.native_one()):
        counter.step(j, action, np.array(after, float).reshape(-1), float(reward), ended)
        returns[j] += float(reward)
        count += 1
    return count


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
