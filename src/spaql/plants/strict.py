"""A problem whose limits count: what a search optimises, so that a controller that violates a limit is ranked below one
that does not.

    reward - cost * (1 + excess in units of the limit), for every limit that is violated after a step

One violated step costs as much as a tenth of an episode of the worst rewards. With ten times that, searches shy away
from everything near a limit and find laws of half the return (a motor with a limit on its current). What is evaluated
and reported is the problem as it was stated.
"""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from spaql.ground.arrays import Array
from spaql.plants.answers import outcome, steps
from spaql.plants.compile import function_of, names
from spaql.plants.environment import open_environment
from spaql.plants.known import KnownOutcome
from spaql.plants.limits import limit_table
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem

MARGIN = 0.03  # of a bound by which the search keeps away from it: it sees some episodes, not all
PART = 0.1  # of an episode: what one violated step costs
LOOKED = 30  # steps with each of three constant actions, which tell how much rewards differ

Rows = tuple[tuple[int, float, float, float], ...]  # place in observation and action, low, high, unit


def strict(problem: Problem) -> tuple[Problem, int]:
    """The problem with violations of its limits in the reward, and the steps that were taken to find their cost."""
    if not problem.limits:
        return problem, 0
    env = open_environment(problem)
    rewards = _looked(problem, env)
    rows, cost = _rows(problem), _cost(problem, rewards)
    if problem.plant is not None:
        return replace(problem, plant=strict_plant(problem.plant, rows, cost)), len(rewards)
    return replace(problem, env=StrictEnv(env, rows, cost), env_id=None, known=None), len(rewards)


def strict_known(problem: Problem, rewards: Array) -> KnownOutcome | None:
    """What is known of the problem, with what violations of its limits cost; `rewards` that were seen tell how much."""
    if not problem.limits:
        return problem.known
    nothing = KnownOutcome(None, None, len(problem.state), problem.actions.axes)
    return with_cost(problem.known or nothing, _rows(problem), _cost(problem, rewards))


def with_cost(known: KnownOutcome, rows: Rows, cost: float) -> KnownOutcome:
    a, n = names("a", known.action_dim), names("n", known.observation_dim)
    lines = [*_violated(rows, [*n, *a]), f"return {cost!r} * v"]
    paid = function_of({}, f"cost({', '.join([*a, *n])})", lines)
    return replace(known, cost=paid, origin=(with_cost, (known, rows, cost)))


def strict_plant(plant: Plant, rows: Rows, cost: float) -> Plant:
    """def step(s0, s1, a0, c0):
    (s0, s1), reward, terminated = act(s0, s1, a0, c0)
    o0, o1 = look(s0, s1)
    v = 0.0 ...
    return (s0, s1), reward - cost * v, terminated
    """
    s, a, c = names("s", plant.state_dim), names("a", plant.action_dim), names("c", plant.step_noise)
    o, scope = names("o", plant.observation_dim), {"act": plant.step.python}
    if plant.observe is not None:
        scope["look"] = plant.observe.python
    given = ", ".join([*s, *a, *c])
    lines = [f"({', '.join(s)},), reward, terminated = act({given})"]
    lines += [f"{', '.join(o)}, = look({', '.join(s)})" if plant.observe else f"{', '.join(o)}, = {', '.join(s)},"]
    lines += [*_violated(rows, [*o, *a]), f"return ({', '.join(s)},), reward - {cost!r} * v, terminated"]
    stepped = PlantFunction("step", function_of(scope, f"step({given})", lines))
    plant_of_limits = make_plant(plant.reset, stepped, plant.observe, plant.action_dim)
    return replace(plant_of_limits, origin=(strict_plant, (plant, rows, cost)))


class StrictEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment with violations in its reward."""

    def __init__(self, env: Any, rows: Rows, cost: float) -> None:
        super().__init__(env)
        self.rows, self.cost = rows, cost

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        answer = self.env.step(action)
        observation, reward, terminated, truncated = outcome(answer)
        seen = [*np.ravel(observation).tolist(), *np.ravel(action).tolist()]
        v = 0.0
        for j, low, high, unit in self.rows:
            beyond = max(low - seen[j], seen[j] - high)
            v += 1.0 + beyond / unit if beyond > 0.0 else 0.0
        return observation, float(reward) - self.cost * v, terminated, truncated, answer[4]


def _cost(problem: Problem, rewards: Array) -> float:
    """Of one violated step."""
    return PART * problem.horizon * max(float(np.ptp(rewards)), float(np.abs(rewards).max()), 1e-6)


def _rows(problem: Problem) -> Rows:
    places = limit_table(problem.limits, problem.state, problem.actions).tolist()
    low, high = problem.actions.bounds
    widths = [*(axis.width for axis in problem.state), *(high - low).tolist()]
    rows = []
    for j, *ends in places:
        unit = widths[int(j)] or 1.0
        # a part of the bound or, where that is zero, of the axis
        margins = [0.0 if np.isinf(bound) else MARGIN * (abs(bound) or 0.1 * unit) for bound in ends]
        low, high = ends[0] + margins[0], ends[1] - margins[1]
        low, high = (low, high) if low < high else ends
        rows.append((int(j), float(low), float(high), float(unit)))
    return tuple(rows)


def _violated(rows: Rows, called: list[str]) -> list[str]:
    lines = ["v = 0.0"]
    for j, low, high, unit in rows:
        for bound, beyond in ((low, f"{low!r} - {called[j]}"), (high, f"{called[j]} - {high!r}")):
            if np.isfinite(bound):
                lines.append(f"v = v + 1.0 + ({beyond}) / {unit!r} if {beyond} > 0.0 else v")
    return lines


def _looked(problem: Problem, env: Any) -> Array:
    """Rewards under the lowest, the middle and the highest action."""
    low, high = problem.actions.bounds
    native, rewards, number = problem.native_one(), list[float](), 0

    def act(_: Any, step: int) -> Array:
        return (low, problem.actions.middle, high)[number]

    for number in range(3):
        episode = steps(env, act, env.reset(seed=number), min(LOOKED, problem.horizon), native)
        rewards += [float(reward) for _, _, _, reward, _ in episode]
    return np.array(rewards)
