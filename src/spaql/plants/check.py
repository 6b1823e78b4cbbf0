"""Whether a plant or an environment keeps its promises: shapes, bounds, finite numbers, the same episode for a seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.checks import whole
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.answers import begun, observed, steps
from spaql.plants.chart import to_cube
from spaql.plants.environment import open_environment
from spaql.plants.known import EPISODE, STEPS, Steps, check_known, steps_of
from spaql.plants.problem import Problem, random_action


def check(problem: Problem, episodes: int = 3, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Run random episodes, each of them twice, and raise `SpaqlError` for what is wrong.

    Returns the range seen of every variable.

    What is known of the problem (`reward`, `terminated`) is compared with what it pays.

    Worth its few steps before a long training, and the only way to learn that an environment does not follow its seed.
    """
    if not isinstance(problem, Problem):
        raise SpaqlError(f"check takes a problem, such as spaql.from_gym(...), not {type(problem).__name__}")
    if not problem.can_run:
        raise SpaqlError(f"{problem.name} has no plant to check")
    env = open_environment(problem)
    seen = []
    for episode in range(whole("episodes", episodes, 1, 10**6)):
        first, again = (_rows(problem, env, whole("seed", seed, 0, 2**31 - 1) + episode, episode) for _ in range(2))
        _compare(problem, first, again, episode)
        seen.append(first[:, : len(problem.state)])
    if problem.known is not None:
        check_known(problem, *random_steps(problem, env))
    table = np.concatenate(seen)
    return {axis.name: (float(table[:, j].min()), float(table[:, j].max())) for j, axis in enumerate(problem.state)}


def _rows(problem: Problem, env: Any, seed: int, episode: int) -> Array:
    """One row per step: observation, reward, whether it ended. The actions are those of the episode's number."""
    rng = np.random.default_rng(episode)
    observation = begun(env.reset(seed=seed))
    rows = [[*_seen(problem, observation, f"random episode {episode}, step 0"), 0.0, 0.0]]
    episode_steps = steps(env, lambda seen, step: random_action(problem, rng), observation, problem.horizon)
    for step, (_, _, after, reward, terminated) in enumerate(episode_steps, 1):
        where = f"random episode {episode}, step {step}"
        rows.append([*_seen(problem, after, where), _paid(problem, reward, where), float(terminated)])
    return np.array(rows)


def _paid(problem: Problem, reward: Any, where: str) -> float:
    if not np.isscalar(reward) or not np.isfinite(reward):
        raise SpaqlError(f"{problem.name} gave the reward {echoed(reward)} ({where}): it must be a finite number")
    return float(reward)  # type: ignore[arg-type]


def _seen(problem: Problem, observation: Any, where: str) -> list[float]:
    array = observed([axis.name for axis in problem.state], observation, where)
    bad = to_cube(problem.chart(), array, np.empty(len(array)))
    if bad >= 0:
        axis = problem.state[bad]
        outside = f"{axis.name} = {array[bad]:g} is not in {axis.low:g} ... {axis.high:g}"
        raise SpaqlError(f"{problem.name} left its declared bounds: {outside} ({where})")
    return [float(value) for value in array]


def _compare(problem: Problem, first: Array, again: Array, episode: int) -> None:
    both = min(len(first), len(again))
    different = np.nonzero((first[:both] != again[:both]).any(axis=1))[0]
    if len(different) == 0 and len(first) == len(again):
        return
    step = int(different[0]) if len(different) else both
    names = [*(axis.name for axis in problem.state), "the reward", "whether it ended"]
    what = names[int(np.argmax(first[step] != again[step]))] if len(different) else "the length of the episode"
    raise SpaqlError(
        f"{problem.name} is not deterministic: with the same seed and the same actions, {what} differed the second "
        f"time (random episode {episode}, step {step}). An environment must draw all its random numbers from "
        "self.np_random"
    )


def random_steps(problem: Problem, env: Any) -> Steps:
    """Steps of random episodes, always the same ones."""
    names = [axis.name for axis in problem.state]
    rng = np.random.default_rng(0)
    rows: list[Sequence[Any]] = []
    while len(rows) < STEPS:
        first = len(rows)
        observation, most = begun(env.reset(seed=first)), min(EPISODE, problem.horizon, STEPS - first)
        before = observed(names, observation, f"random step {first}")
        episode = steps(env, lambda seen, step: random_action(problem, rng), observation, most)
        for _, action, following, reward, terminated in episode:
            where = f"random step {len(rows)}"
            after = observed(names, following, where)
            rows.append((before, np.atleast_1d(action), _paid(problem, reward, where), after, terminated))
            before = after
    return steps_of(rows, problem)
