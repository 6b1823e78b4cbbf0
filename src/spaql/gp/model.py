"""A model of transitions: Gaussian processes of the change of every variable, and of the reward where it is unknown.

Length scales come from a part of the data, weights from all of it, or from all but a fifth.
Functions drawn from the posterior disagree where there is no data; so that they can, the inducing
points include some where it will be asked.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spaql.gp.circles import Circle, circles_of, shortest, turned, turns_of
from spaql.gp.gaussian_process import (
    IRRELEVANT,
    LEAST_NOISE,
    LEAST_SIGNAL,
    Posterior,
    Scales,
    features,
    fit_scales,
    inducing_points,
    posterior,
    posterior_samples,
)
from spaql.gp.model_plant import Numbers
from spaql.gp.reward import (
    MIN_STEPS,
    QUADRATIC,
    EndModel,
    RewardModel,
    before_ends,
    border_gap,
    end_values,
    fit_end,
    fit_reward,
    last_reward,
    reward_bounds,
    reward_values,
)
from spaql.gp.transitions import (
    Data,
    DataUnits,
    Values,
    box_of,
    follows_of,
    inputs_of,
    parts_of,
    shifts_of,
    spread_of,
    spread_over,
    still_of,
    thinned,
    units_of,
    without_begins,
    without_jumps,
)
from spaql.ground.arrays import Array
from spaql.ground.checks import ROUNDING

FITTED = 300  # transitions that scales are fitted to; more are thinned out
WEIGHED = 20_000  # the same that weights come from
POINTS = 200  # of an output, at most
UNEXPLAINED = 3.0  # times the noise's variance: what points need not explain
EVEN = math.sqrt(12.0)  # width of an even distribution over its deviation
INEXACT = 0.01  # of the spread of the changes: least noise where laws are judged; else they are brittle
WIDER = 0.25  # of the box of the data: how far outside of it a state may come


class Model(NamedTuple):
    """Units, and the scales of all processes."""

    units: DataUnits
    circles: tuple[Circle, ...]  # angles that are observed as sine and cosine
    turns: Array  # (2, d) of angles that jump: begin and length of a turn; length 0 of all others
    change: tuple[Array, Array]  # mean and spread of what the processes of the variables explain: see `_moves`
    shifts: Array  # (d,) the input that a variable is in the next step, as memory is; -1 of all others
    scales: tuple[Scales, ...] = ()  # by variable
    reward_model: RewardModel | None = None  # of the reward; None: it is known
    end_model: EndModel | None = None  # of the end of an episode; None: it is known, or none was seen


class Output(NamedTuple):
    """What one process is to explain, its scales, and the prior variance of its quadratic part."""

    values: Values
    scales: Scales
    base: float = 0.0


def learn_model(
    data: Data, low: Array, high: Array, paid: bool, ends: bool, declared: tuple[Array, Array, Array] | None = None
) -> Model:
    """`low`, `high`: ends of the actions. `paid`, `ends`: reward and end are known.

    `declared`: ends of the states, and the turns of angles.
    """
    units, circles, shifts = units_of(data, low, high), circles_of(data), shifts_of(data)
    unknown, none = np.full(data.states.shape[1], np.inf), np.zeros(data.states.shape[1])
    turns = turns_of(data.states, data.nexts, *(declared or (-unknown, unknown, none)))
    turns[:, shifts >= 0] = 0.0
    moves = _moves(units, circles, turns, data)
    model = Model(units, circles, turns, (moves.mean(axis=0), spread_of(moves)), shifts)
    end_model = None if ends or not data.ended.any() else fit_end(units, data, FITTED)
    data = thinned(without_begins(without_jumps(data), shifts), FITTED)
    x, changes = inputs_of(units, data.states, data.actions), changes_of(model, data)
    changes[:, shifts >= 0] = 0.0
    scales = tuple(_scales_of(x, y) for y in changes.T)
    reward_model = None if paid else fit_reward(units, data, circles, None if ends else last_reward(data))
    return model._replace(scales=scales, reward_model=reward_model, end_model=end_model)


def _moves(units: DataUnits, circles: Sequence[Circle], turns: Array, data: Data) -> Array:
    """Changes in units; that of an angle stands in the place of the cosine's, none in the sine's."""
    change = data.nexts - data.states
    for j in np.flatnonzero(turns[1]):
        change[:, j] = shortest(change[:, j], turns[1, j])
    moves: Array = change / units.scale
    for circle in circles:
        moves[:, circle.cosine], moves[:, circle.sine] = turned(circle, data), 0.0
    return moves


def _scales_of(x: Array, y: Array) -> Scales:
    """Of a variable; without a kernel where it always changes by the same, as a sine here does."""
    if _exact(y):
        return Scales(np.full(x.shape[1], 2 * IRRELEVANT), 2 * LEAST_SIGNAL, LEAST_NOISE)
    return fit_scales(x, y)[0]


def changes_of(model: Model, data: Data) -> Array:
    """What the processes of the variables explain, in units of its spread."""
    mean, spread = model.change
    changes: Array = (_moves(model.units, model.circles, model.turns, data) - mean) / spread
    return changes


def rewards_of(model: Model, data: Data) -> Values:
    assert model.reward_model is not None
    of_next, logarithm, angle, *_ = model.reward_model
    return reward_values(model.units, before_ends(data, model.reward_model.last), of_next, logarithm, angle)


def outputs_of(model: Model, data: Data) -> list[Output]:
    """The processes of a model: variables, reward, end."""
    x, changes = inputs_of(model.units, data.states, data.actions), changes_of(model, data)
    mean, spread = model.change
    outputs = [
        Output(Values(x, y, float(m), float(s)), scales)
        for y, m, s, scales in zip(changes.T, mean, spread, model.scales, strict=True)
    ]
    if model.reward_model is not None:
        outputs.append(Output(rewards_of(model, data), model.reward_model.scales, QUADRATIC))
    if model.end_model is not None:
        outputs.append(Output(end_values(model.units, data), model.end_model.scales))
    return outputs


def numbers_of(
    model: Model, data: Data, starts: Array, functions: int, at: Array, rng: np.random.Generator,
    lacking: bool = False, judged: bool = True,
) -> Numbers:  # fmt: skip
    """The mean function, and `functions - 1` others that are drawn, with doubt at the inputs `at` (in units).

    `lacking`: the others are not drawn; each, and its reward, is the mean of what the data without one part of it says,
    of as many parts, under the scales of all data. `judged`: laws are judged in them, with noise in the steps and
    without hope for rewards; if not, or in the mean function alone, a plan is looked for.
    """
    judged = judged and functions > 1
    data = without_begins(without_jumps(data), model.shifts)
    parts, chosen = parts_of(data, max(functions - 1, 1), rng) if lacking else None, spread_over(data, WEIGHED)
    data = Data(*(column[chosen] for column in data))
    parts = None if parts is None else parts[chosen]
    d, units, outputs = data.states.shape[1], model.units, outputs_of(model, data)
    inputs = d + data.actions.shape[1]
    still, follows = _without_effect(outputs[0].values.x, d), follows_of(data)
    linear, squares = np.zeros((functions, len(outputs), inputs + 1)), np.zeros((functions, inputs, inputs))
    points, weights, (noise, blur) = [], [], np.zeros((2, d))
    for j, output in enumerate(outputs):
        (x, y, mean, spread), scales, base = output
        if j < d and model.shifts[j] >= 0:  # what is remembered is copied
            points.append(np.zeros((inputs, 0)))
            weights.append(np.zeros((functions, 0)))
            continue
        is_end = model.end_model is not None and j == len(outputs) - 1
        own = _points_of(model, data, output, at if j < d and functions > 1 else at[:0], is_end)
        fitted, exact = posterior(x, y, own, scales, base, still), _exact(y)
        drawn = np.repeat(fitted.mean[None], functions, axis=0)
        if is_end:
            drawn[:, len(own) + inputs] += _borders(output, own, fitted, data.ended, functions, lacking)
        elif parts is not None and not exact:
            mine = parts if len(parts) == len(x) else parts[~data.ended]
            for k in range(functions - 1):
                drawn[1 + k] = posterior(x[mine != k], y[mine != k], own, scales, base, still).mean
        elif j < d and not exact:
            drawn[1:] = posterior_samples(fitted, functions - 1, rng)
        if j < d and judged and not exact:
            errors = y - features(x, own, scales, False) @ fitted.mean
            sensors = _sensor_share(errors, follows)
            own_noise = math.exp(scales.noise)
            noise[j] = EVEN * spread * max(own_noise * math.sqrt(1.0 - 2.0 * sensors), INEXACT)
            blur[j] = EVEN * spread * own_noise * math.sqrt(sensors) * units.scale[j]
        drawn, m = drawn * spread, len(own)
        points.append((own * scales.inverse).T)
        weights.append(drawn[:, :m])
        linear[:, j] = drawn[:, m : m + inputs + 1]
        linear[:, j, -1] += mean
        if base > 0.0:
            a, b = np.triu_indices(inputs)
            squares[:, a, b] = drawn[:, m + inputs + 1 :]
    turn = np.zeros(d), np.zeros(d)
    for circle in model.circles:
        pair = [circle.cosine, circle.sine]
        turn[0][pair], turn[1][pair] = (1 + circle.sine, -1), circle.radius
        blur[pair] = blur[circle.cosine] / units.scale[circle.cosine] * circle.radius
    angle = np.zeros(d) if model.reward_model is None else model.reward_model.angle
    reward = reward_bounds(model.reward_model, data, judged)
    first, length = (model.turns[0] - units.centre) / units.scale, model.turns[1] / units.scale
    inverse = np.array([output.scales.inverse for output in outputs])
    return Numbers(
        units.centre, units.scale, *_box_of_model(model, data), units.middle, units.half, reward, angle, *turn, first,
        length, 1.0 + model.shifts, noise, blur, inverse, linear, squares, starts, tuple(points), tuple(weights),
    )  # fmt: skip


def _points_of(model: Model, data: Data, output: Output, doubt: Array, is_end: bool) -> Array:
    """The inducing points of an output; of rare ends, all of the latest."""
    if is_end and model.end_model is not None and model.end_model.rare:
        return output.values.x[data.ended][-POINTS:]
    enough = UNEXPLAINED * math.exp(2.0 * output.scales.noise)
    return inducing_points(output.values.x, doubt, output.scales, POINTS, enough)


def _borders(output: Output, own: Array, fitted: Posterior, ended: Array, functions: int, lacking: bool) -> Array:
    """(functions,) what to add to the process of ends, so that an episode ends where it is
    positive.

    A border may be anywhere between what was survived and what was not: functions differ in it.
    """
    values, scales, _ = output
    gap = border_gap(features(values.x, own, scales, False) @ fitted.mean, ended)
    shift = np.full(functions, -(0.5 * sum(gap) + values.mean / values.spread))
    if not lacking:
        shift[1:] += np.linspace(0.5, -0.5, functions - 1) * (gap[1] - gap[0])
    return shift


def _box_of_model(model: Model, data: Data) -> tuple[Array, Array]:
    """Ends of the states of the model, in units: a little beyond the data, a turn, a circle."""
    units, d = model.units, data.states.shape[1]
    low, high = box_of(units, data, WIDER)
    for j in np.flatnonzero(model.shifts >= 0).tolist():  # what is remembered may be all that it is the memory of
        if (k := _origin(model.shifts, j)) < d:
            ends = units.centre[k] + units.scale[k] * np.array([low[k], high[k]])
            low[j], high[j] = (ends - units.centre[j]) / units.scale[j]
    first, length = (model.turns[0] - units.centre) / units.scale, model.turns[1] / units.scale
    low, high = np.where(length > 0.0, first, low), np.where(length > 0.0, first + length, high)
    for circle in model.circles:
        pair = [circle.cosine, circle.sine]
        low[pair], high[pair] = (
            (sign * circle.radius - units.centre[pair]) / units.scale[pair] for sign in (-1.0, 1.0)
        )
    return low, high


def _origin(shifts: Array, j: int) -> int:
    """The input that a variable is the memory of, however old."""
    while j < len(shifts) and shifts[j] >= 0:
        j = int(shifts[j])
    return j


def _sensor_share(errors: Array, follows: Array) -> float:
    """The part of the noise, between 0 and 1/2, that is one of seeing: it is in two errors in a
    row, with other signs.

    What a sensor adds is gone with the next observation. What moves the plant stays.
    """
    at = np.flatnonzero(follows)
    if len(at) < MIN_STEPS or not errors[at].any():
        return 0.0
    return float(np.clip(-(errors[at] @ errors[at - 1]) / (errors[at] @ errors[at]), 0.0, 0.5))


def _exact(y: Array) -> bool:
    """Whether a variable always changes by the same: a reference until it jumps, a clock."""
    return len(y) > 0 and float(np.ptp(y)) < ROUNDING


def _without_effect(x: Array, d: int) -> Array:
    """(directions, inputs) in which states have never varied, and nothing depends on them.

    No state of the plant leads out of such a plane. Noise of a model does, and functions that are
    drawn without data there would run away. An action that was never varied is another matter:
    somebody may take another one.
    """
    still = still_of(x[:, :d])
    return np.concatenate([still, np.zeros((len(still), x.shape[1] - d))], axis=1)

