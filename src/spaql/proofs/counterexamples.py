"""From what is open: episodes that break the claim, as an answer; what is not found is not known to be safe.

The search is that of `falsify`: its points are numbers from 0 to 1, here a box among those that are open and a place in
it. The worse an episode, the nearer it came to a bound, to its end or to not ending at all.
"""

import contextlib
import math
import time
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.questions import Question, windows_in_steps
from spaql.training.worst_points import Outcomes, Points, search
from spaql.trees.tree import Tree, decide

TRIED = 256
SEARCH_SHARE, MIN_SECONDS = 0.1, 3.0  # of the seconds for the proof
MOST_STEPS = 1000
BROKEN = 1e9  # above any badness of an episode that keeps the claim


def counterexample(asked: Question, rules: Tree, unknown: list[Array]) -> str | None:
    """A start from the open boxes from which the claim is broken."""
    rng, boxes, said = np.random.default_rng(0), np.array(unknown), dict[float, str]()
    late = time.process_time() + max(SEARCH_SHARE * asked.seconds, MIN_SECONDS)

    def trial(points: Points) -> Outcomes:
        which = np.minimum((points.starts[:, 0] * len(boxes)).astype(int), len(boxes) - 1)
        # the search stays a little away from 0 and 1, and a box has corners
        share = np.clip((points.starts[:, 1:] - 0.002) / 0.996, 0.0, 1.0)
        low, high = boxes[which, :, 0], boxes[which, :, 1]
        badness = np.nan_to_num(_tried(asked, rules, low + share * (high - low), rng, said, late))
        return Outcomes(-badness, np.zeros((len(badness), 0)), badness)

    size = boxes.shape[1] + 1
    corners = np.where(rng.random((32, size)) < 0.5, 0.001, 0.999)
    corners[:, 0] = rng.uniform(0.001, 0.999, 32)
    search(trial, Points(corners, np.zeros((32, 1), np.uint64)), False, TRIED, rng)
    return said[max(said)] if said else None


def _tried(
    asked: Question, rules: Tree, states: Array, rng: np.random.Generator, said: dict[float, str], late: float
) -> Array:
    """How bad episodes from these states are; of those that break the claim is said how."""
    plant, n = asked.problem.plant, len(states)
    assert plant is not None
    starts, now, live = states, states.copy(), np.arange(n)
    badness, steps = np.zeros(n), MOST_STEPS if isinstance(asked.reach, dict) else int(min(asked.steps, MOST_STEPS))
    goal = np.tile([-np.inf, np.inf], (len(asked.names), 1))
    for name, ends in asked.reach.items() if isinstance(asked.reach, dict) else ():
        goal[asked.names.index(name)] = ends

    simulated = "" if asked.dt is None else " in the simulation, by Runge-Kutta steps"

    def tell(j: int, worse: float, what: str) -> None:
        badness[j] = BROKEN + worse
        said[badness[j]] = f"from ({', '.join(f'{x:.6g}' for x in starts[j].tolist())}) {what}{simulated}"

    windows = windows_in_steps(asked.at, asked.dt, asked.names)
    for step in range(1, steps + 1):
        if time.process_time() > late:
            return badness
        rows, limits = now[live].tolist(), _limits_at(step, asked.limits, windows)
        seen = _shown(plant, rows)
        actions = decide(rules, seen + rng.uniform(-1.0, 1.0, seen.shape) * asked.sensors).tolist()
        noise = rng.random((len(rows), plant.step_noise)).tolist()
        after = [_step(plant, state, some, more) for state, some, more in zip(rows, actions, noise, strict=True)]
        now[live], ended = np.array([state for state, _, _ in after]), np.array([over for _, _, over in after])
        beyond = np.maximum(limits[:, 0] - now[live], now[live] - limits[:, 1])
        out, fails = beyond.max(axis=1) > 0.0, ended & (asked.reach != "end")
        badness[live] = np.maximum(badness[live], np.maximum(beyond.max(axis=1), step if asked.reach == "end" else 0.0))
        for k in np.flatnonzero(out | fails).tolist():
            j, i = int(live[k]), int(np.argmax(beyond[k]))
            happens = f"{asked.names[i]} is {now[j, i]:.6g}" if out[k] else "the episode ends"
            tell(j, steps - step, f"{happens} after {step} steps")
        live = live[~(out | ended)]
        if len(live) == 0:
            return badness
    for j in live.tolist():
        away = np.flatnonzero((now[j] < goal[:, 0]) | (now[j] > goal[:, 1]))
        if asked.reach == "end":
            tell(j, 0.0, f"the episode does not end within {steps} steps")
        elif len(away):
            tell(j, 0.0, f"{asked.names[away[0]]} is {now[j, away[0]]:.6g} after {steps:,} steps")
    return badness


def _shown(plant: Any, states: list[list[float]]) -> Array:
    """What is observed; where the mathematics fails, numbers that are none."""
    if plant.observe is None:
        return np.array(states)
    seen = np.full((len(states), plant.observation_dim), math.nan)
    for row, state in zip(seen, states, strict=True):
        with contextlib.suppress(ArithmeticError, ValueError):
            row[:] = plant.observe(*state)
    return seen


def _step(plant: Any, state: Any, action: list[float], noise: list[float]) -> tuple[Any, float, bool]:
    """Of the plant; where its mathematics fails, such as log(-1) in Python, numbers that are none."""
    try:
        after: tuple[Any, float, bool] = plant.step(*state, *action, *noise)
    except (ArithmeticError, ValueError):
        return (math.nan,) * len(state), math.nan, False
    return after


def _limits_at(step: int, limits: Array, windows: tuple[Array, Array]) -> Array:
    """Those that always hold, and those of the windows that the step is in."""
    for (first, last), within in zip(*windows, strict=True):
        if first <= step <= last:
            low, high = np.maximum(limits[:, 0], within[:, 0]), np.minimum(limits[:, 1], within[:, 1])
            limits = np.stack([low, high], axis=1)
    return limits


def visited(asked: Question, rules: Tree, episodes: int, corners: bool = False) -> Array:
    """States of some episodes in plain Python: (episodes, steps + 1, states). `corners`: from those of the start."""
    rng, plant = np.random.default_rng(0), asked.problem.plant
    assert plant is not None
    share = rng.random((episodes, len(asked.start)))
    states = asked.start[:, 0] + (np.round(share) if corners else share) * np.diff(asked.start, axis=1)[:, 0]
    seen = [states]
    for _ in range(int(min(asked.steps, MOST_STEPS))):
        actions = decide(rules, _shown(plant, states.tolist()))
        after = [
            _step(plant, state, action, rng.random(plant.step_noise).tolist())[0]
            for state, action in zip(states.tolist(), actions.tolist(), strict=True)
        ]
        states = np.array(after)
        seen.append(states)
    return np.stack(seen, axis=1)
