"""How a reward is learned: of which state, as it is or its logarithm, of sines and cosines or of their angles.

What an engineer pays for is often the square of an angle. As a function of sine and cosine it has a kink where the
angle jumps by a turn; a process that must explain the kink knows little elsewhere. Of the angle it is a parabola.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from spaql.gp.circles import Circle
from spaql.gp.gaussian_process import BOUNDS_SIGNAL, IRRELEVANT, Scales, features, fit_scales, mean_at, posterior
from spaql.gp.model_plant import RewardBounds
from spaql.gp.transitions import Data, DataUnits, Values, inputs_of, thinned, values_of, without_jumps
from spaql.ground.arrays import Array

FEWEST = 30  # steps that a reward is learned from, without those that end an episode
ALIKE = 0.01  # of the spread of the rewards: what ends pay is the same
APART = 0.05  # of the way from the other rewards: the same
QUADRATIC = 0.3  # prior variance of the quadratic part
BEYOND, PEAK = 0.1, 2.0  # of the rewards seen: how much more is believed, and how much more of a logarithm
FURTHER = 1.0  # the same where the other rewards predict the highest ones: of how much higher those are
HIGHEST, RIGHT = 0.2, 0.1  # part of the rewards that the others are to foretell; errors, of what they are beyond
HIGHER = 0.05  # of the range of the rewards: smaller predicted gains are ignored
LOOKED, ASIDE = 1000, 0.5  # places where more may be paid; how far outside of the data they are, of its range


class RewardModel(NamedTuple):
    """How a reward is modelled."""

    of_next: bool  # a function of the next state and the action, or of the state and the action
    logarithm: bool
    angle: Array  # (d,) 0, or +-(1 + sine) where an angle stands in the place of the cosine: `Numbers.angle`
    scales: Scales
    last: float | None = None  # what the last step of an episode pays, where it is always the same and not learned
    higher: float = 0.0  # how far above the highest value that was seen the process is believed


def fit_reward(units: DataUnits, data: Data, circles: Sequence[Circle], last: float | None) -> RewardModel:
    """The one with the greatest evidence; a logarithm where all rewards are positive."""
    data = before_ends(data, last)
    best: tuple[float, RewardModel] | None = None
    for of_next in (False, True):
        for logarithm in (False, True) if (data.rewards > 0).all() else (False,):
            for angle in _angles(units, data, circles, of_next, logarithm):
                x, y, _, spread = reward_values(units, data, of_next, logarithm, angle)
                scales, evidence = fit_scales(x, y, base=QUADRATIC)
                evidence += len(y) * math.log(spread) + (np.log(data.rewards).sum() if logarithm else 0.0)
                if best is None or evidence < best[0]:
                    best = evidence, RewardModel(of_next, logarithm, angle, scales, last)
    assert best is not None
    found = best[1]
    values = reward_values(units, data, found.of_next, found.logarithm, found.angle)
    goes_on = _rises_beyond_data(values, found.scales)
    return found._replace(higher=FURTHER * values.spread * _extrapolation(values.x, values.y) if goes_on else 0.0)


def _rises_beyond_data(values: Values, scales: Scales) -> bool:
    """Whether the process has higher values, not far from the data, than were seen.

    Looked for beside the highest: there, some of the variables have other values.
    """
    x, y, rng = values.x, values.y, np.random.default_rng(0)
    low, high = x.min(axis=0), x.max(axis=0)
    places = x[np.argsort(-y, kind="stable")[: math.ceil(HIGHEST * len(y))]]
    places = places[rng.integers(len(places), size=LOOKED)]
    other = rng.uniform(low - ASIDE * (high - low), high + ASIDE * (high - low), places.shape)
    places = np.where(rng.random(places.shape) < 0.5, other, places)
    told = features(places, x, scales, True) @ posterior(x, y, x, scales, QUADRATIC).mean
    return bool(told.max() > y.max() + HIGHER * np.ptp(y))


def _extrapolation(x: Array, y: Array) -> float:
    """How far above all others the highest value is, if a process of the others says how high the highest are; else 0.

    A parabola can be known long before its top was seen. Whoever believed in nothing higher than the highest reward so
    far would swing a pendulum no further up than it has been.
    """
    border = np.quantile(y, 1.0 - HIGHEST)
    lower = y <= border
    if lower.all() or lower.sum() < FEWEST or np.ptp(y[lower]) < 1e-9:
        return 0.0
    known = values_of(x[lower], y[lower])
    scales, _ = fit_scales(known.x, known.y, base=QUADRATIC)
    mean = posterior(known.x, known.y, known.x, scales, QUADRATIC).mean
    told = known.mean + known.spread * features(x[~lower], known.x, scales, True) @ mean
    wrong, further = ((one**2).mean() for one in (told - y[~lower], y[~lower] - border))
    return float(y.max() - border) if wrong <= RIGHT**2 * further else 0.0


def reward_values(units: DataUnits, data: Data, of_next: bool, logarithm: bool, angle: Array) -> Values:
    """What the process of the reward is to explain."""
    states = data.nexts if of_next else data.states
    x = inputs_of(units, states, data.actions)
    for j in np.flatnonzero(angle):
        sign, sine = np.sign(angle[j]), int(abs(angle[j])) - 1
        x[:, j] = np.arctan2(sign * states[:, sine], sign * states[:, j])
    return values_of(x, np.log(np.maximum(data.rewards, 1e-30)) if logarithm else data.rewards)


def last_reward(data: Data) -> float | None:
    """What ends of episodes pay, if they all pay about the same: a prize or a fine that no smooth function explains."""
    ends, others = data.rewards[data.ended], data.rewards[~data.ended]
    if len(ends) == 0 or len(others) < FEWEST:
        return None
    usual = max(ALIKE * max(data.rewards.std(), 1e-300), APART * abs(float(ends.mean() - others.mean())))
    return float(ends.mean()) if ends.std() <= usual else None


def before_ends(data: Data, last: float | None) -> Data:
    """The steps that the process of a reward explains: all, or those after which an episode goes on."""
    return data if last is None else Data(*(part[~data.ended] for part in data))


def reward_bounds(reward_model: RewardModel | None, data: Data, horizon: int, judged: bool) -> RewardBounds:
    """How a reward is made of its process, and what is believed of it: `Numbers.reward`.

    Who plans may hope for a little more than was seen. Who judges may not, unless what was seen goes on: see
    `_foretold`. In judgements nothing good is believed of states that are far from all data: they pay the worst, and
    where an end of an episode is a loss, to leave is to end: at a price half-way between that of a fall and that of
    going on. If it cost as much as a fall or more, laws would rather fall than go where nothing is known; if it cost
    nothing, they would flee from every fall.
    """
    ends, others = data.rewards[data.ended], data.rewards[~data.ended]
    last, worst = None if reward_model is None else reward_model.last, float((others if len(others) else ends).min())
    worst = min(worst, 0.0) if len(ends) else worst  # what ends earns no more
    rewards = data.rewards if last is None else others
    low, high = float(rewards.min()), float(rewards.max())
    falls = float(judged and _falls(ends, others))
    if falls:
        fall, going_on = min(float(ends.min()), 0.0), worst if others.mean() > 0.0 else horizon * float(others.mean())
        worst = 0.5 * (fall + max(fall, going_on))
    bound = worst if judged else math.inf
    final = math.nan if last is None else last
    if reward_model is None:
        return RewardBounds(stray=bound, last=final, falls=falls)
    if reward_model.logarithm:
        peak = math.log(high) + max(reward_model.higher, 0.0 if judged else PEAK)
        return RewardBounds(float(reward_model.of_next), 1.0, math.log(low), peak, bound, final, falls)
    most = high + max(reward_model.higher, 0.0 if judged else BEYOND * (high - low))
    return RewardBounds(float(reward_model.of_next), 0.0, low, most, bound, final, falls)


def _falls(ends: Array, others: Array) -> bool:
    """Whether an end of an episode is a loss: it pays no more than other steps, which earn something, or less."""
    if not len(ends) or not len(others):
        return False
    least = float(others.min())
    return bool(ends.max() < least or (ends.max() == least and others.mean() > 0.0))


def _angles(units: DataUnits, data: Data, circles: Sequence[Circle], of_next: bool, logarithm: bool) -> list[Array]:
    """No angle, and of every circle the one in which the reward is nearest to a parabola."""
    none = np.zeros(data.states.shape[1])
    together = none.copy()
    for i, j, _ in circles:
        ways: list[tuple[float, int, Array]] = []
        for cosine, sine in ((i, j), (j, i)):
            for sign in (1.0, -1.0):
                one = none.copy()
                one[cosine] = sign * (1 + sine)
                ways.append((_bent(reward_values(units, data, of_next, logarithm, one)), len(ways), one))
        together += min(ways, key=lambda way: way[:2])[2]
    return [none, together] if circles else [none]


def _bent(values: Values) -> float:
    """What a parabola leaves unexplained."""
    a, b = np.triu_indices(values.x.shape[1])
    x = np.column_stack([np.ones(len(values.x)), values.x, values.x[:, a] * values.x[:, b]])
    left = values.y - x @ np.linalg.lstsq(x, values.y)[0]
    return float((left**2).mean())


# -- where episodes end: a process that is 1 at ends and -1 elsewhere, and the border between them ---------------------

FALSE_END_SHARE = 0.02  # of the steps that have not ended an episode: so many may be taken for ends
RARE_END_NOISE = 0.1  # noise of rare ends
WIDER_END_LOG = math.log(2.0)  # of the length scales: what may be true of rare ends
MIN_END_LENGTH = 1e-3  # width of a rare end, at least
END_GAP_LENGTHS = 1.5  # length scales of a rare end from it to the nearest step that has not ended an episode


class EndModel(NamedTuple):
    """Widths of the process. `rare`: an episode ends only near where one has ended."""

    scales: Scales
    rare: bool = False

    @property
    def wider(self) -> "EndModel":
        """As if an episode ended also further away from where one has ended."""
        return self._replace(scales=self.scales._replace(length=self.scales.length + WIDER_END_LOG))


def end_values(units: DataUnits, data: Data) -> Values:
    """1 where an episode ended and -1 elsewhere, as a function of the next state."""
    return values_of(inputs_of(units, data.nexts, data.actions), np.where(data.ended, 1.0, -1.0))


def fit_end(units: DataUnits, data: Data, most: int) -> EndModel:
    """From so many steps, at most. A few ends may look like noise, which is everywhere; these are rare ones.

    A goal that was reached twice in a thousand steps: a smooth function would promise it in a fifth of all states.
    """
    some = thinned(without_jumps(data), most)
    x, y, *_ = end_values(units, some)
    found, _ = fit_scales(x, y)
    told = mean_at(x, x, y, found)
    false = (told > border(told, some.ended)) & ~some.ended
    if false.sum() <= FALSE_END_SHARE * (~some.ended).sum():
        return EndModel(found)
    every, d = end_values(units, data), data.states.shape[1]
    states = every.x[:, :d]
    gaps = KDTree(states[~data.ended]).query(states[data.ended])[0]
    length = math.log(max(float(np.median(gaps)) / END_GAP_LENGTHS, MIN_END_LENGTH))
    lengths = np.r_[np.full(d, length), np.full(x.shape[1] - d, 2 * IRRELEVANT)]
    signal = min(math.log(2.0 / every.spread), BOUNDS_SIGNAL[1])
    return EndModel(Scales(lengths, signal, math.log(RARE_END_NOISE / every.spread)), True)


def border(told: Array, ended: Array) -> float:
    """The value that divides ends from other steps with the fewest errors, an end being worth as much as all others."""
    return float(np.mean(border_gap(told, ended)))


def border_gap(told: Array, ended: Array) -> tuple[float, float]:
    """The values between which this border lies: the highest of the others below it, the lowest of the ends above."""
    order = np.argsort(told, kind="stable")
    sorted_ends = ended[order]
    missed = np.concatenate([[0], np.cumsum(sorted_ends)]) / max(ended.sum(), 1)  # below the border
    false = np.concatenate([[(~ended).sum()], (~ended).sum() - np.cumsum(~sorted_ends)]) / max((~ended).sum(), 1)
    best, values = int(np.argmin(missed + false)), told[order]
    low, high = max(best - 1, 0), min(best, len(values) - 1)
    return float(values[low]), float(values[high])
