"""How a reward is learned: of which state, as it is or its logarithm, of sines and cosines or of
their angles.

What an engineer pays for is often the square of an angle. As a function of sine and cosine it has a
kink where the angle jumps by a turn; a process that must explain the kink knows little elsewhere.
Of the angle it is a parabola.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from spaql.gp.circles import Circle
from spaql.gp.gaussian_process import IRRELEVANT, Scales, fit_scales, mean_at
from spaql.gp.model_equations import RewardBounds
from spaql.gp.transitions import (
    Data,
    DataUnits,
    Values,
    inputs_of,
    thinned,
    values_of,
    without_jumps,
)  # fmt: skip
from spaql.ground.arrays import Array

MIN_STEPS = 30  # that a reward is learned from, without those that end an episode
ALIKE = 0.05  # of the way from the other rewards: what ends pay is the same
QUADRATIC = 0.3  # prior variance of the quadratic part
HOPE = 0.1  # of the range of the rewards: how much more than the highest a plan may expect


class RewardModel(NamedTuple):
    """How a reward is modelled."""

    of_next: bool  # a function of the next state and the action, or of the state and the action
    logarithm: bool
    angle: Array  # (d,) 0, or +-(1 + sine) where an angle stands in the place of the cosine: `Numbers.angle`
    scales: Scales
    last: float | None = None  # what the last step of an episode pays, where it is always the same


def fit_reward(
    units: DataUnits, data: Data, circles: Sequence[Circle], last: float | None
) -> RewardModel:
    """The one with the greatest evidence; a logarithm where all rewards are positive."""
    data = before_ends(data, last)
    best: tuple[float, RewardModel] | None = None
    for of_next in (False, True):
        for logarithm in (False, True) if (data.rewards > 0).all() else (False,):
            for angle in _angles(units, data, circles, of_next, logarithm):
                x, y, _, spread = reward_values(units, data, of_next, logarithm, angle)
                scales, evidence = fit_scales(x, y, base=QUADRATIC)
                slope = np.log(data.rewards).sum() if logarithm else 0.0  # of the logarithm
                evidence += len(y) * math.log(spread) + slope
                if best is None or evidence < best[0]:
                    best = evidence, RewardModel(of_next, logarithm, angle, scales, last)
    assert best is not None
    return best[1]


def reward_values(
    units: DataUnits, data: Data, of_next: bool, logarithm: bool, angle: Array
) -> Values:
    """What the process of the reward is to explain."""
    states = data.nexts if of_next else data.states
    x = inputs_of(units, states, data.actions)
    for j in np.flatnonzero(angle):
        sign, sine = np.sign(angle[j]), int(abs(angle[j])) - 1
        x[:, j] = np.arctan2(sign * states[:, sine], sign * states[:, j])
    return values_of(x, np.log(np.maximum(data.rewards, 1e-30)) if logarithm else data.rewards)


def last_reward(data: Data) -> float | None:
    """What ends of episodes pay, if all pay about the same: a prize or a fine is no smooth function."""
    ends, others = data.rewards[data.ended], data.rewards[~data.ended]
    if len(ends) == 0 or len(others) < MIN_STEPS:
        return None
    same = ends.std() <= ALIKE * max(abs(ends.mean() - others.mean()), ALIKE * data.rewards.std())
    return float(ends.mean()) if same else None


def before_ends(data: Data, last: float | None) -> Data:
    """The steps that the process of a reward explains: all, or those that ended no episode."""
    return data if last is None else Data(*(part[~data.ended] for part in data))


def reward_bounds(reward_model: RewardModel | None, data: Data, judged: bool) -> RewardBounds:
    """How a reward is made of its process, and what is believed of it: `Numbers.reward`.

    Who plans may hope for a little more than was seen. Who judges may not, and nothing good is
    believed of states that are far from all data: they pay the worst.
    """
    if reward_model is None:
        return RewardBounds(stray=_worst(data) if judged else math.inf)
    rewards = before_ends(data, reward_model.last).rewards
    if reward_model.logarithm:
        rewards = np.log(rewards)
    low, high = float(rewards.min()), float(rewards.max())
    return RewardBounds(
        float(reward_model.of_next), float(reward_model.logarithm), low,
        high if judged else high + HOPE * (high - low), _worst(data) if judged else math.inf,
        math.nan if reward_model.last is None else reward_model.last,
    )  # fmt: skip


def _worst(data: Data) -> float:
    """The least that a step has paid which did not end an episode; what ends earns no more."""
    others = data.rewards[~data.ended]
    if len(others) == len(data.rewards):
        return float(others.min())
    return min(float(others.min(initial=0.0)), 0.0)


def _angles(
    units: DataUnits, data: Data, circles: Sequence[Circle], of_next: bool, logarithm: bool
) -> list[Array]:
    """No angle, and of every circle the one in which the reward is nearest to a parabola."""
    none = np.zeros(data.states.shape[1])
    nearest = none.copy()
    for i, j, _ in circles:
        ways: list[tuple[float, int, Array]] = []
        for cosine, sine in ((i, j), (j, i)):
            for sign in (1.0, -1.0):
                angle = none.copy()
                angle[cosine] = sign * (1 + sine)
                error = _error_of_parabola(reward_values(units, data, of_next, logarithm, angle))
                ways.append((error, len(ways), angle))
        nearest += min(ways, key=lambda way: way[:2])[2]
    return [none, nearest] if circles else [none]


def _error_of_parabola(values: Values) -> float:
    a, b = np.triu_indices(values.x.shape[1])
    x = np.column_stack([np.ones(len(values.x)), values.x, values.x[:, a] * values.x[:, b]])
    errors = values.y - x @ np.linalg.lstsq(x, values.y)[0]
    return float((errors**2).mean())


# -- where episodes end: a process that is 1 at ends and -1 elsewhere, and the border between them ---

FALSE_END_SHARE = 0.02  # of the steps that have not ended an episode: so many may be taken for ends
RARE_END_NOISE = 0.1  # of the process of rare ends
RARE_END_LENGTH = 0.7  # of the way from a rare end to the nearest step that has not ended an episode


class EndModel(NamedTuple):
    """Scales of the process. `rare`: an episode ends only near where one has ended."""

    scales: Scales
    rare: bool = False


def end_values(units: DataUnits, data: Data) -> Values:
    """1 where an episode ended and -1 elsewhere, as a function of the next state."""
    x = inputs_of(units, data.nexts, data.actions)
    return values_of(x, np.where(data.ended, 1.0, -1.0))


def fit_end(units: DataUnits, data: Data, most: int) -> EndModel:
    """From so many steps, at most. A few ends may look like noise, which is everywhere; these are
    rare ones.

    A goal that was reached twice in a thousand steps: a smooth function would promise it in a fifth
    of all states.
    """
    some = thinned(without_jumps(data), most)
    x, y, *_ = end_values(units, some)
    scales, _ = fit_scales(x, y)
    mean = mean_at(x, x, y, scales)
    false_ends = (mean > border(mean, some.ended)) & ~some.ended
    if false_ends.sum() <= FALSE_END_SHARE * (~some.ended).sum():
        return EndModel(scales)
    every, d = end_values(units, data), data.states.shape[1]
    states = every.x[:, :d]
    gaps = KDTree(states[~data.ended]).query(states[data.ended])[0]
    length = math.log(max(RARE_END_LENGTH * float(np.median(gaps)), 1e-3))
    lengths = np.r_[np.full(d, length), np.full(x.shape[1] - d, 2 * IRRELEVANT)]
    signal, noise = math.log(2.0 / every.spread), math.log(RARE_END_NOISE / every.spread)
    return EndModel(Scales(lengths, signal, noise), True)


def border(values: Array, ended: Array) -> float:
    """The value that divides ends from other steps with the least share of errors in both."""
    return float(np.mean(border_gap(values, ended)))


def border_gap(values: Array, ended: Array) -> tuple[float, float]:
    """The highest value of other steps below this border, and the lowest of ends above it."""
    order = np.argsort(values, kind="stable")
    sorted_ends = ended[order]
    missed = np.concatenate([[0], np.cumsum(sorted_ends)]) / max(ended.sum(), 1)  # below the border
    others = max((~ended).sum(), 1)
    false = 1.0 - np.concatenate([[0], np.cumsum(~sorted_ends)]) / others  # above it
    best, ascending = int(np.argmin(missed + false)), values[order]
    low, high = max(best - 1, 0), min(best, len(values) - 1)
    return float(ascending[low]), float(ascending[high])
