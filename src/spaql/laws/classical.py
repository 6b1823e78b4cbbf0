"""First laws that an engineer would try: regulators of a local linear model, and P, PI and PD controllers on a grid.

A search from random gains may miss that an error and its integral belong together, sensor noise hides a slow plant from
a linear model of a few steps, and a few dozen episodes are too few for any search.
"""

import contextlib
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spaql.gp.transitions import Data, shifts_of, without_begins
from spaql.ground.arrays import Array
from spaql.ground.streams import GRID_EPISODES, LAWS_CHOSEN, LAWS_SEARCHED, RECORDED_EPISODES
from spaql.laws.environments import Job, Rollout
from spaql.laws.race import JUDGED_EPISODES, Candidate, raced
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.laws.vector import varies
from spaql.learners.laws import TOLERANCE
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.plants.signals import Signals
from spaql.policy.linear import riccati_gain
from spaql.policy.outputs import leaf
from spaql.trees.edits import constant
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD
from spaql.trees.tree import Tree

# -- the linear-quadratic regulator of a linear model of the plant near its start states -------------------------------
#
# A hundred steps are enough where a plant only has to be held: they are recorded in short episodes with small actions,
# so that they stay near the target, which is taken to be zero. Variables that are far from zero at the start (cosines)
# or do not vary (dead sensors) are left out. Everything is measured in standard deviations of the start states; what is
# the same in every start, as a remembered action, in those of all states.

RECORDED_STEPS = 5  # of an episode
MIN_RECORDED_STEPS = 100  # of all episodes
STEPS_PER_COLUMN = 8  # of the model, if that is more
EXCITATION_NOISE = 0.1  # standard deviation of the actions, in halves of their range
NEAR_DEVIATIONS = 3.0  # from zero: within them a variable must start, and states count
RIDGE = 1e-6
ACTION_COSTS = (1e4, 100.0, 1.0)  # against one of a deviation: gentle laws come first


def local_laws(trials: Trials, seed: int, rng: np.random.Generator, least: Array | float = 0.0) -> list[Tree]:
    """One law per cost of the action; none where there is no linear model, or no room for recording one.

    `least`: the deviation of each variable below which it does not vary.
    """
    problem = trials.problem
    if isinstance(problem.actions, Finite) and len(problem.actions.values) < 2:
        return []
    count = max(MIN_RECORDED_STEPS, STEPS_PER_COLUMN * (len(problem.state) + problem.actions.axes))
    seeds = seeds_of(seed, LAWS_SEARCHED, RECORDED_EPISODES, math.ceil(count / RECORDED_STEPS)).tolist()
    still = constant(len(problem.state), _physical(problem, np.zeros((1, problem.actions.axes)))[0])
    jobs = [Job(still, at, RECORDED_STEPS, _physical(problem, _excitation(problem, rng)), True) for at in seeds]
    try:
        rollouts = trials.roll_out(jobs)
    except Spent:
        return []
    model = _linear_model(problem, rollouts, least)
    return [] if model is None else _regulators(problem, model)


def _excitation(problem: Problem, rng: np.random.Generator) -> Array:
    """Actions of an episode, -1 and 1 being the ends of their range; of finite ones the two ends at random."""
    size = (RECORDED_STEPS, problem.actions.axes)
    if isinstance(problem.actions, Continuous):
        return np.clip(EXCITATION_NOISE * rng.normal(size=size), -1.0, 1.0)
    return rng.integers(0, 2, size=size) * 2.0 - 1.0


def _physical(problem: Problem, actions: Array) -> Array:
    """Actions in halves of the range as the plant takes them; of finite ones the nearest by number."""
    if isinstance(problem.actions, Continuous):
        low, high = problem.actions.bounds
        real: Array = (low + high) / 2 + actions * (high - low) / 2
        return real
    values = np.array(problem.actions.values, float)
    chosen: Array = values[((actions + 1.0) / 2 * (len(values) - 1) + 0.5).astype(int)]
    return chosen


def _relative(problem: Problem, actions: Array) -> Array:
    """`_physical` backwards."""
    if isinstance(problem.actions, Continuous):
        low, high = problem.actions.bounds
        real: Array = (actions - (low + high) / 2) / ((high - low) / 2)
        return real
    values = list(problem.actions.values)
    number = np.array([[values.index(action)] for action in actions[:, 0].tolist()], float)
    return 2.0 * number / (len(values) - 1) - 1.0


def _steps(problem: Problem, rollouts: list[Rollout]) -> tuple[Array, Array, Array]:
    """States, actions, next states; without the first steps where something is remembered."""
    states = np.concatenate([rollout.states[:-1] for rollout in rollouts])
    nexts = np.concatenate([rollout.states[1:] for rollout in rollouts])
    actions = np.concatenate([rollout.actions for rollout in rollouts])
    nothing = np.zeros(len(states))
    data = Data(states, actions, nothing, nexts, nothing.astype(bool))
    data = without_begins(data, shifts_of(data))
    return data.states, data.actions, data.nexts


class LinearModel(NamedTuple):
    """next = A z + B u, of deviations z from the target."""

    a: Array
    b: Array
    inverse: Array  # 1 / deviation of every variable; 0: left out
    target: Array  # in deviations


def _linear_model(problem: Problem, rollouts: list[Rollout], least: Array | float) -> LinearModel | None:
    """Of recorded steps near the target."""
    starts = np.array([rollout.states[0] for rollout in rollouts])
    middle, deviation = starts.mean(axis=0), starts.std(axis=0)
    states, actions, nexts = _steps(problem, rollouts)
    free = ~varies(deviation, middle)  # the same in every start, as a remembered action is
    deviation = np.where(free, states.std(axis=0), deviation)
    used = varies(deviation, middle, least) & (np.abs(middle) <= NEAR_DEVIATIONS * deviation)
    if not used.any():
        return None
    inverse = np.where(used, 1.0 / np.where(used, deviation, 1.0), 0.0)
    z = states[:, used] * inverse[used]
    after, u = nexts[:, used] * inverse[used], _relative(problem, actions)
    far = np.sqrt((z * z).mean(axis=1))
    weight = 1.0 / (1.0 + (far / NEAR_DEVIATIONS) ** 4)
    columns = np.concatenate([z, u, np.ones((len(z), 1))], axis=1)
    weighted = columns * weight[:, None]
    inner = weighted.T @ columns
    numbers = np.linalg.solve(inner + RIDGE * np.diag(np.diag(inner) + RIDGE), weighted.T @ after)
    d = z.shape[1]
    a, b, target = numbers[:d].T, numbers[d : d + u.shape[1]].T, np.zeros(d)
    free = free[used]  # at rest where all others are at zero
    target[free] = np.linalg.lstsq((np.eye(d) - a)[:, free], numbers[-1])[0]
    return LinearModel(a, b, inverse, target)


def _regulators(problem: Problem, model: LinearModel) -> list[Tree]:
    a, b, inverse, target = model
    laws, used, actions = [], inverse > 0.0, problem.actions
    for cost in ACTION_COSTS:
        gain = riccati_gain(a, b, np.eye(len(a)), cost * np.eye(b.shape[1]))
        if gain is None or not gain.any():
            continue
        gains = np.zeros((b.shape[1], len(inverse)))  # in halves of the action's range
        gains[:, used], offset = gain * inverse[used], 0.0 - gain @ target
        if isinstance(actions, Continuous):
            low, high = actions.bounds
            half = (high - low) / 2
            laws.append(leaf(actions, gains * half[:, None], (low + high) / 2 + offset * half, CLIP))
            continue
        if len(actions.values) > 2:
            half = np.array([(len(actions.values) - 1) / 2])
            laws.append(leaf(actions, gains * half[:, None], half + offset * half, ORDERED))
        laws.append(leaf(actions, gains, offset, THRESHOLD))  # gentle gains never leave the middle action
    return laws


HELD_STEPS = 60  # of the beginning of an episode: whether a regulator holds the plant


def best_regulator(trials: Trials, seed: int, rng: np.random.Generator, floor: Tree, room: float) -> Tree | None:
    """The one of the local model that holds the plant best, gentle laws first. `floor`: what does nothing much."""
    starts = int(room / (len(ACTION_COSTS) * HELD_STEPS))
    seeds = seeds_of(seed, LAWS_CHOSEN, 0, max(2, min(JUDGED_EPISODES, starts))).tolist()

    def held(law: Tree) -> float:
        """Returns of beginnings."""
        jobs = [Job(law, at, min(HELD_STEPS, trials.problem.horizon)) for at in seeds]
        return float(np.mean([rollout.total for rollout in trials.roll_out(jobs)]))

    best: tuple[float, Tree] | None = None
    with contextlib.suppress(Spent):
        still = held(floor)
        for law in local_laws(trials, seed, rng):
            value = held(law)
            if best is None or value > best[0] + TOLERANCE * abs(best[0] - still):
                best = value, law
    return None if best is None else best[1]


# -- P, PI and PD controllers of either sign, for one continuous action ------------------------------------------------
#
# In a loop gains follow from the range of the reference, and times from the length of a step. Elsewhere each variable
# is tried alone, as if it were an error, around an action that is good as a constant, and gains follow from the range
# in which the variable was seen.

GRID_RATIO = 3.0  # between neighbouring gains, and times
GRID_SIZE = 4
SATURATING_ERRORS = tuple(GRID_RATIO**-k for k in reversed(range(GRID_SIZE)))  # in ranges: with half that of the action
INTEGRAL_STEPS = tuple(GRID_RATIO * GRID_RATIO**k for k in range(GRID_SIZE))  # integral time
DERIVATIVE_STEPS = (1.0, GRID_RATIO)  # derivative time
OFFSET_SHIFT = 0.2  # of a neighbour, in halves of the range of the action


def pi_grid(problem: Problem) -> list[Tree]:
    """Of every error of a loop; none without a reference that something follows."""
    return [law for error in _errors(problem) for law in _grid(problem, error)]


def p_grid(problem: Problem, still: Sequence[Array], low: Array, high: Array) -> list[Tree]:
    """P controllers of each variable, around each of some constant actions; `low`, `high`: what was seen of variables.

    A variable that was seen on both sides of zero is taken for an error. Others are controlled to the middle.
    """
    if not isinstance(problem.actions, Continuous) or problem.actions.axes > 1:
        return []
    target = np.where((low < 0.0) & (high > 0.0), 0.0, (low + high) / 2)
    if problem.reference is not None:
        target = np.array(problem.reference, float)
    laws = []
    for j in np.flatnonzero(high > low).tolist():
        for share, sign, action in itertools.product(SATURATING_ERRORS, (1.0, -1.0), still):
            gains = np.zeros(len(low))
            gains[j] = sign * _half(problem) / (share * (high[j] - low[j]))
            laws.append(_law(problem, gains, action - gains @ target))
    return laws


def neighbours(problem: Problem, law: Tree, low: Array, high: Array) -> list[Tree]:
    """All gains larger or smaller, another offset, and a gain for a variable that has none."""
    assert law.laws is not None
    gains, offset, half = law.laws.gains[0, 0], law.laws.offsets[0], _half(problem)
    laws = [_law(problem, GRID_RATIO ** (power / 2) * gains, offset) for power in (-2, -1, 1, 2)]
    laws += [_law(problem, gains, offset + sign * OFFSET_SHIFT * half) for sign in (-1, 1)]
    for j in np.flatnonzero((gains == 0.0) & (high > low)).tolist():
        for sign, share in itertools.product((1.0, -1.0), SATURATING_ERRORS[-2:]):
            more = gains.copy()
            more[j] = sign * half / (share * (high[j] - low[j]))
            laws.append(_law(problem, more, offset - more[j] * (low[j] + high[j]) / 2))
    return laws


def _errors(problem: Problem) -> list[str]:
    """Errors that a controller with one continuous action sees, as such or as reference and variable."""
    signals = problem.signals
    if signals is None or not isinstance(problem.actions, Continuous) or problem.actions.axes > 1:
        return []
    shown = {axis.name for axis in problem.state}
    return [error for error in signals.errors if set(_parts(signals, error, shown)) <= shown]


def _parts(signals: Signals, error: str, shown: set[str]) -> dict[str, float]:
    """An error as a sum of variables."""
    k, j = signals.errors[error]
    return {error: 1.0} if error in shown else {signals.references[k].name: 1.0, signals.measured[j].name: -1.0}


def _grid(problem: Problem, error: str) -> list[Tree]:
    signals = problem.signals
    assert signals is not None
    names = [axis.name for axis in problem.state]
    followed = signals.references[signals.errors[error][0]]
    integral = next((name for name in names if name.startswith(f"integral({error}")), None)
    difference = f"difference({error})" if f"difference({error})" in names else None
    rates = [0.0, *(1.0 / steps for steps in INTEGRAL_STEPS if integral)]
    times = [0.0, *(steps for steps in DERIVATIVE_STEPS if difference)]
    laws, parts, (low, high) = [], _parts(signals, error, set(names)), problem.actions.bounds
    for sign, share, rate, time in itertools.product((1.0, -1.0), SATURATING_ERRORS, rates, times):
        gain = sign * _half(problem) / (share * (followed.high - followed.low))
        gains = {integral: gain * rate / signals.dt, difference: gain * time}
        gains |= {name: gain * weight for name, weight in parts.items()}
        laws.append(_law(problem, np.array([gains.get(name, 0.0) for name in names]), (low + high) / 2))
    return laws


def _half(problem: Problem) -> float:
    """Of the range of the action."""
    low, high = problem.actions.bounds
    return float(high[0] - low[0]) / 2


def _law(problem: Problem, gains: Array, offset: Array) -> Tree:
    return leaf(problem.actions, gains[None], offset, CLIP)


MIN_LOOK_STEPS = 20
MIN_GRID_LAWS = 5  # that run whole episodes


def best_of_grid(trials: Trials, seed: int, grid: Sequence[Tree], room: float) -> list[Candidate]:
    """The best laws, the best first. All begin with a part of an episode: a third of the room, and a third goes on."""
    end, number, horizon = trials.samples + room, GRID_EPISODES, trials.problem.horizon
    trials.limit, laws = None, list(grid)
    for _ in range(2):
        rest = end - trials.samples
        steps = max(MIN_LOOK_STEPS, int(rest / (3 * max(len(laws), 1))))
        if len(laws) <= MIN_GRID_LAWS or len(laws) * steps > rest:
            break
        (at,) = seeds_of(seed, LAWS_SEARCHED, number, 1).tolist()
        rollouts = trials.roll_out([Job(law, at, min(steps, horizon)) for law in laws])
        best = np.argsort([rollout.total for rollout in rollouts])[::-1]
        laws, number = [laws[i] for i in best[: max(MIN_GRID_LAWS, len(laws) // 3)].tolist()], number + 1
    seeds = lambda first, count: seeds_of(seed, LAWS_SEARCHED, number + first, count)  # noqa: E731
    return raced(trials, laws, seeds, end - trials.samples)
