"""Laws from a local model: a linear model of the plant near its start states, and the linear-quadratic regulator of it.

A hundred steps are enough where a plant only has to be held: they are recorded in short episodes with small actions, so
that they stay near the target, which is taken to be zero. Variables that are far from zero at the start (cosines) or do
not vary (dead sensors) are left out. Everything is measured in standard deviations of the start states.
"""

import math

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from spaql.ground.arrays import Array
from spaql.ground.streams import LAWS_SEARCHED
from spaql.laws.environments import Job, Rollout
from spaql.laws.trials import Spent, Trials, seeds_of
from spaql.plants.problem import Continuous, Finite, Problem
from spaql.policy.outputs import make_laws
from spaql.trees.edits import constant
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD
from spaql.trees.tree import LEAF, NODE, Tree

STEPS = 5  # of a recorded episode
FEWEST = 100  # steps that are recorded
PER_NUMBER = 8  # the same per column of the model, if that is more
NOISE = 0.1  # standard deviation of the actions, in halves of their range
NEAR = 3.0  # deviations from zero within which a variable must start, and where states count
RIDGE = 1e-6
COSTS = (1e4, 100.0, 1.0)  # of an action, against one of a deviation: gentle laws come first


def local_laws(trials: Trials, seed: int, rng: np.random.Generator, least: Array | float = 0.0) -> list[Tree]:
    """One law per cost of the action; none where there is no linear model, or no room for recording one.

    `least`: the deviation of each variable below which it does not vary.
    """
    problem = trials.problem
    count = max(FEWEST, PER_NUMBER * (len(problem.state) + problem.actions.axes))
    seeds = seeds_of(seed, LAWS_SEARCHED, 2**62, math.ceil(count / STEPS)).tolist()
    if problem.actions.single:
        return []
    still = constant(len(problem.state), _physical(problem, np.zeros((1, problem.actions.axes)))[0])
    jobs = [Job(still, one, STEPS, _physical(problem, _excitation(problem, rng)), True) for one in seeds]
    try:
        rollouts = trials.roll_out(jobs)
    except Spent:
        return []
    model = _linear_model(problem, rollouts, least)
    return [] if model is None else _regulators(problem, *model)


def _excitation(problem: Problem, rng: np.random.Generator) -> Array:
    """Actions of an episode, -1 and 1 being the ends of their range; of finite ones the two ends at random."""
    size = (STEPS, problem.actions.axes)
    if isinstance(problem.actions, Continuous):
        noise: Array = np.clip(NOISE * rng.normal(size=size), -1.0, 1.0)
        return noise
    ends: Array = rng.integers(0, 2, size=size) * 2.0 - 1.0
    return ends


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


def _linear_model(problem: Problem, rollouts: list[Rollout], least: Array | float) -> tuple[Array, Array, Array] | None:
    """A, B and 1 / deviation of every variable (0: left out), from recorded steps near the target."""
    starts = np.array([one.states[0] for one in rollouts])
    middle, deviation = starts.mean(axis=0), starts.std(axis=0)
    varies = deviation > np.maximum(1e-9 * np.maximum(np.abs(middle), 1e-6), least)
    used = varies & (np.abs(middle) <= NEAR * deviation)
    if not used.any():
        return None
    inverse = np.where(used, 1.0 / np.where(used, deviation, 1.0), 0.0)
    z = np.concatenate([one.states[:-1] for one in rollouts])[:, used] * inverse[used]
    after = np.concatenate([one.states[1:] for one in rollouts])[:, used] * inverse[used]
    u = np.concatenate([_relative(problem, one.actions) for one in rollouts])
    far = np.sqrt((z * z).mean(axis=1))
    weight = 1.0 / (1.0 + (far / NEAR) ** 4)
    columns = np.concatenate([z, u, np.ones((len(z), 1))], axis=1)
    weighted = columns * weight[:, None]
    inner = weighted.T @ columns
    numbers = np.linalg.solve(inner + RIDGE * np.diag(np.diag(inner) + RIDGE), weighted.T @ after)
    d = z.shape[1]
    return numbers[:d].T, numbers[d : d + u.shape[1]].T, inverse


def _regulators(problem: Problem, a: Array, b: Array, inverse: Array) -> list[Tree]:
    found, used = [], inverse > 0.0
    for cost in COSTS:
        price = cost * np.eye(b.shape[1])
        try:
            p = solve_discrete_are(a, b, np.eye(len(a)), price)
            gain = -np.linalg.solve(price + b.T @ p @ b, b.T @ p @ a)
        except (LinAlgError, ValueError):  # the model cannot be held, or is out of all numbers
            continue
        if np.isfinite(gain).all() and (np.abs(gain) > 0.0).any():
            gains = np.zeros((b.shape[1], len(inverse)))
            gains[:, used] = gain * inverse[used]
            found.append(_law(problem, gains))
            if isinstance(problem.actions, Finite) and len(problem.actions.values) > 2:
                found.append(_law(problem, gains, sharp=True))  # gentle gains never leave the middle action
    return found


def _law(problem: Problem, gains: Array, sharp: bool = False) -> Tree:
    """One leaf; `gains` in halves of the action's range. `sharp`: the first or the last action, none in between."""
    nodes, actions = np.zeros(1, NODE), problem.actions
    nodes["feature"] = LEAF
    if isinstance(actions, Continuous):
        (low, high), kind = actions.bounds, CLIP
        half, centre = (high - low) / 2, (low + high) / 2
    elif len(actions.values) == 2 or sharp:
        half, centre, kind = np.ones(1), np.zeros(1), THRESHOLD
    else:
        half = centre = np.array([(len(actions.values) - 1) / 2])
        kind = ORDERED
    laws = make_laws((gains * half[:, None])[None], centre[None], actions, kind)
    return Tree(nodes, np.zeros((1, actions.axes)), np.zeros((1, len(problem.state))), laws)
