"""Whether the functions an engineer gives say what the environment pays, step by step."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import depth, numbers
from spaql.ground.errors import SpaqlError
from spaql.plants.known import KnownOutcome, said
from spaql.plants.plant import Plant
from spaql.plants.problem import Problem, random_action

STEPS = 200  # random steps on which functions are checked when they are given
EPISODE = 50  # at most so many of one episode, so that there are several starts
IN_PYTHON = 200  # of so many steps plain Python is asked too, because it says in words what is wrong
RELATIVE = 1e-6  # of the largest reward
ABSOLUTE = 1e-9
SINGLE = 1e-4  # of the range of rewards, where observations are rounded to single precision
FIX = "correct it, or leave it out if what is observed does not decide it"


class Steps(NamedTuple):
    """Steps of a plant, one per row, in physical units: what `check_known` takes."""

    observations: Array
    actions: Array
    rewards: Array
    next_observations: Array
    terminated: Array


def check_known(
    problem: Problem, observations: Any, actions: Any, rewards: Any, next_observations: Any, terminated: Any
) -> None:
    """Raise `SpaqlError` for the first step at which `reward` or `terminated` of the problem say something else.

    Steps are rows, in physical units. Rewards may differ by 1e-6 of the largest one (or 1e-9), with observations in
    single precision by 1e-4 of their range.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"check_known takes a problem, not {type(problem).__name__}")
    known = problem.known
    if known is None:
        raise SpaqlError(
            f"neither reward nor end of {problem.name} is known: give reward=... or terminated=... when you make it"
        )
    before = numbers("observations", observations, (-1, known.observation_dim))
    count = len(before)
    flat = depth("actions", actions) == 1 and known.action_dim == 1
    applied = numbers("actions", np.reshape(actions, (-1, 1)) if flat else actions, (count, known.action_dim))
    after = numbers("next_observations", next_observations, (count, known.observation_dim))
    paid, ended = numbers("rewards", rewards, (count,)), numbers("terminated", terminated, (count,))
    for row in np.hstack([before, applied, after])[:IN_PYTHON].tolist():
        for kind, function in known.functions.items():
            said(kind, function, row)
    values, ends = known.outcomes(before, applied, after)
    wrong = wrong_steps(known, (values, ends), (paid, ended), _tolerance(problem, paid))
    if not wrong:
        return
    step, kind = min((int(np.argmax(steps)), kind) for kind, steps in wrong.items())
    names = [axis.name for axis in problem.state]
    where = f"observation ({_told(names, before[step])}), action ({', '.join(f'{a:.6g}' for a in applied[step])})"
    where += f", next observation ({_told(names, after[step])})"
    theirs, ours = f"paid {paid[step]:.9g}", f"{values[step]:.9g}"
    if kind == "terminated":
        theirs, ours = "ended the episode" if ended[step] else "went on", "it ends" if ends[step] else "it goes on"
    name = known.functions[kind].__name__
    both = f"{problem.name} {theirs}, {name} says {ours}"
    raise SpaqlError(f"{kind} {name} is wrong at step {step}: {where}: {both}; {FIX}")


def wrong_steps(
    known: KnownOutcome, told: tuple[Array, Array], seen: tuple[Array, Array], tolerance: float
) -> dict[str, Array]:
    """By what is known and not always right: the steps in which it is wrong. `told`, `seen`: rewards and ends."""
    wrong = {
        "reward": ~(np.abs(told[0] - seen[0]) <= tolerance),  # NaN is wrong too
        "terminated": told[1] != (seen[1] != 0.0),
    }
    return {kind: wrong[kind] for kind in known.functions if wrong[kind].any()}


def _tolerance(problem: Problem, paid: Array) -> float:
    tolerance = max(ABSOLUTE, RELATIVE * float(np.abs(paid).max(initial=0.0)))
    if problem.env is not None and problem.env.observation_space.dtype in (np.float32, np.float16):
        return max(tolerance, SINGLE * float(np.ptp(paid)) if len(paid) else 0.0)
    return tolerance


def _told(names: Sequence[str], values: Array) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, values, strict=True))


def check_with_plant(problem: Problem) -> None:
    """As `check_known`, on random steps of the plant in plain Python: nothing of it need be compiled yet."""
    assert problem.plant is not None
    check_known(problem, *_plant_steps(problem, problem.plant))


def _plant_steps(problem: Problem, plant: Plant) -> Steps:
    rng = np.random.default_rng(0)
    rows: list[Sequence[Any]] = []
    for _ in range(STEPS):  # episodes: one step of each is enough
        rows += _plant_episode(problem, plant, rng)
        if len(rows) >= STEPS:
            break
    return steps_of(rows[:STEPS], problem)


def _plant_episode(problem: Problem, plant: Plant, rng: np.random.Generator) -> Iterator[Sequence[Any]]:
    """Ends before what is not finite: compiled code goes on with it, and training names it."""
    look = plant.observe.python if plant.observe is not None else _itself
    state = plant.reset.python(*rng.random(plant.reset_noise).tolist())
    for _ in range(min(EPISODE, problem.horizon)):
        action = np.atleast_1d(random_action(problem, rng)).astype(float).tolist()
        noise = rng.random(plant.step_noise).tolist()
        try:
            after, reward, terminated = plant.step.python(*state, *action, *noise)
            before, seen = look(*state), look(*after)
            finite = all(math.isfinite(value) for value in (*before, reward, *seen))
        except (ArithmeticError, TypeError, ValueError):  # to Python the root of -1 is complex, or an error
            return
        if not finite:
            return
        yield before, action, reward, seen, terminated
        state = after
        if terminated:
            return


def _itself(*state: float) -> tuple[float, ...]:
    return state


def steps_of(rows: Sequence[Sequence[Any]], problem: Problem) -> Steps:
    """From rows of observation, action, reward, next observation, terminated."""
    d, axes = len(problem.state), problem.actions.axes
    shapes = (-1, d), (-1, axes), (-1,), (-1, d), (-1,)
    columns = zip(*rows, strict=True) if rows else ([],) * len(shapes)
    return Steps(*(np.array(column, float).reshape(shape) for column, shape in zip(columns, shapes, strict=True)))
