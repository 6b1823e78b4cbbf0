"""From what is open: episodes that break the claim, as an answer; what is not found is not known to
be safe."""

import math
from typing import Any

import numpy as np

from spaql.ground.arrays import Array
from spaql.proofs.questions import Question, windows_in_steps
from spaql.trees.tree import Tree, decide

TRIED = 64
MOST_STEPS = 2000


def counterexample(asked: Question, rules: Tree, unknown: list[Array]) -> str | None:
    """A start from the open boxes, their corners first, from which the claim is broken; in plain
    Python."""
    rng, plant = np.random.default_rng(0), asked.problem.plant
    assert plant is not None
    steps = int(min(asked.steps, MOST_STEPS))
    for trial in range(TRIED):
        box = unknown[int(rng.integers(len(unknown)))]
        share = rng.integers(0, 2, len(box)) if trial < TRIED // 4 else rng.random(len(box))
        state = tuple((box[:, 0] + share * (box[:, 1] - box[:, 0])).tolist())
        broken = _broken(asked, plant, rules, state, steps, rng)
        if broken is not None:
            simulated = "" if asked.dt is None else " in the simulation, by Runge-Kutta steps"
            return f"from ({', '.join(f'{x:.6g}' for x in state)}) {broken}{simulated}"
    return None


def visited(asked: Question, rules: Tree, episodes: int) -> Array:
    """States of some episodes in plain Python: (episodes, steps + 1, states)."""
    rng, plant = np.random.default_rng(0), asked.problem.plant
    assert plant is not None
    states = asked.start[:, 0] + rng.random((episodes, len(asked.start))) * np.diff(asked.start, axis=1)[:, 0]
    seen = [states]
    for _ in range(int(min(asked.steps, MOST_STEPS))):
        shown = states if plant.observe is None else np.array([plant.observe(*state) for state in states.tolist()])
        actions = decide(rules, np.ascontiguousarray(shown))
        after = [
            _step(plant, state, action, rng.random(plant.step_noise).tolist())[0]
            for state, action in zip(states.tolist(), actions.tolist(), strict=True)
        ]
        states = np.array(after)
        seen.append(states)
    return np.stack(seen, axis=1)


def _step(plant: Any, state: Any, action: list[float], noise: list[float]) -> tuple[Any, float, bool]:
    """Of the plant; where its mathematics fails, such as log(-1) in Python, numbers that are none."""
    try:
        after: tuple[Any, float, bool] = plant.step(*state, *action, *noise)
    except (ArithmeticError, ValueError):
        return (math.nan,) * len(state), math.nan, False
    return after


def _broken(
    asked: Question,
    plant: Any,
    rules: Tree,
    state: tuple[float, ...],
    steps: int,
    rng: np.random.Generator,
) -> str | None:
    ended = False
    windows = windows_in_steps(asked.at, asked.dt, asked.names, len(asked.names))
    for step in range(1, steps + 1):
        seen = state if plant.observe is None else plant.observe(*state)
        wrong = rng.uniform(-1.0, 1.0, len(seen)) * asked.sensors
        action = decide(rules, np.array([seen]) + wrong)[0]
        state, _, ended = _step(plant, state, action.tolist(), rng.random(plant.step_noise).tolist())
        limits = asked.limits
        for (first, last), within in zip(*windows, strict=True):
            if first <= step <= last:
                low, high = np.maximum(limits[:, 0], within[:, 0]), np.minimum(limits[:, 1], within[:, 1])
                limits = np.stack([low, high], axis=1)
        outside = (np.array(state) < limits[:, 0]) | (np.array(state) > limits[:, 1])
        if outside.any():
            name = asked.names[int(np.argmax(outside))]
            return f"{name} is {state[int(np.argmax(outside))]:.6g} after {step} steps"
        if ended:
            return f"the episode ends after {step} steps" if asked.goes_on else None
    return f"the episode does not end within {steps} steps" if asked.reach == "end" else None
