"""A model of transitions: Gaussian processes of the change of every variable, and of the reward where it is unknown.

Widths come from a part of the data, weights from all of it. Functions drawn from the posterior disagree where there is
no data; so that they can, the points of the model include some where it will be asked.
"""

import math
from typing import NamedTuple

import numpy as np

from spaql.arrays import Array
from spaql.gp.basis import drawn, features, points_of, posterior, sound
from spaql.gp.data import Data, follows_of, stopped, stops_of, thinned
from spaql.gp.fit import Widths, fitted, missed
from spaql.gp.plant import Numbers

FITTED = 300  # transitions that widths are fitted to; more are thinned out
FEWEST_PAIRS = 30  # of errors in a row that tell what kind of noise there is; steps that a reward is learned from
ALIKE = 0.01  # of the spread of the rewards: what ends pay is the same
ROUNDS = 3  # of leaving out what all others contradict
WEIGHED = 20_000  # the same that weights come from
POINTS = 200  # of an output, at most
ENOUGH = 3.0, 0.003  # what points need not explain: times the noise's variance, and of the spread of the changes
EVEN = math.sqrt(12.0)  # width of an even distribution over its deviation
INEXACT = 0.01  # of the spread of the changes: noise, at least, where laws are judged; else they live on a knife's edge
QUADRATIC = 0.3  # prior variance of the quadratic part of a reward
WIDER = 0.25  # of the box of the data: how far outside of it a state may come
BEYOND, PEAK = 0.1, 2.0  # of the rewards seen: how much more is believed, and how much more of a logarithm


class Payment(NamedTuple):
    """How a reward is modelled."""

    of_next: bool  # a function of the next state and the action, or of the state and the action
    logarithm: bool
    widths: Widths
    last: float | None = None  # what the last step of an episode pays, where it is always the same and not learned


class Model(NamedTuple):
    """Units and widths."""

    centre: Array
    scale: Array
    middle: Array  # (axes,) of the actions
    half: Array
    change: tuple[Array, Array]  # mean and spread of the changes of the variables, in units of their scale
    stops: Array  # (2, d) where the plant holds a variable; infinite where it does not
    widths: tuple[Widths, ...] = ()  # by variable
    payment: Payment | None = None  # of the reward; None: it is known
    ending: Widths | None = None  # of the end of an episode; None: it is known, or none was seen


class Output(NamedTuple):
    """What one process is to explain: inputs and values in units, and the units of the values."""

    x: Array
    y: Array
    mean: float
    spread: float
    widths: Widths
    base: float = 0.0  # prior variance of a quadratic part


def learn_model(data: Data, low: Array, high: Array, paid: bool, ends: bool) -> Model:
    """`low`, `high`: ends of the actions. `paid`, `ends`: reward and end are known."""
    centre, scale = data.states.mean(axis=0), _spread(data.states)
    change = (data.nexts - data.states) / scale
    moves = change.mean(axis=0), _spread(change)
    model = Model(centre, scale, (low + high) / 2, (high - low) / 2, moves, stops_of(data))
    data = thinned(data, FITTED)
    x, free = inputs_of(model, data.states, data.actions), ~stopped(data, model.stops)
    widths = tuple(_widths(x[own], y[own]) for y, own in zip(_changes(model, data).T, free.T, strict=True))
    payment = None if paid else _payment(model, data, None if ends else _last(data))
    ending = None if ends or not data.ended.any() else fitted(*_ends(model, data)[:2])[0]
    return model._replace(widths=widths, payment=payment, ending=ending)


def _widths(x: Array, y: Array) -> Widths:
    """Those of the evidence, without values that all others contradict."""
    found, _ = fitted(x, y)
    for _ in range(ROUNDS):
        kept = sound(x, y, x, found)
        if kept.all():
            break
        x, y = x[kept], y[kept]
        found, _ = fitted(x, y)
    return found


def unpredicted(model: Model, data: Data) -> dict[int, float]:
    """By variable the part of its changes that the model misses in steps it has not seen; -1: of the reward."""
    data = thinned(data, FITTED)
    every, change = inputs_of(model, data.states, data.actions), _changes(model, data)
    found, free = {}, ~stopped(data, model.stops)
    for j, widths in enumerate(model.widths):
        x, y = every[free[:, j]], change[free[:, j], j]
        kept = sound(x, y, x, widths)
        found[j] = missed(x[kept], y[kept], widths)
    if model.payment is not None:
        of_next, logarithm, own, last = model.payment
        found[-1] = missed(*_paid(model, _on_the_way(data, last), of_next, logarithm)[:2], own, QUADRATIC)
    return found


def inputs_of(model: Model, states: Array, actions: Array) -> Array:
    """States and actions in units."""
    return np.column_stack([(states - model.centre) / model.scale, (actions - model.middle) / model.half])


def _spread(values: Array) -> Array:
    spread = values.std(axis=0)
    found: Array = np.where(spread > 1e-12, spread, 1.0)
    return found


def _changes(model: Model, data: Data) -> Array:
    """Of all variables, in units of their spread."""
    mean, spread = model.change
    found: Array = ((data.nexts - data.states) / model.scale - mean) / spread
    return found


def _paid(model: Model, data: Data, of_next: bool, logarithm: bool) -> tuple[Array, Array, float, float]:
    """Inputs and values of the reward's process, and the units of the values."""
    x = inputs_of(model, data.nexts if of_next else data.states, data.actions)
    value = np.log(np.maximum(data.rewards, 1e-30)) if logarithm else data.rewards
    mean, spread = float(value.mean()), float(_spread(value[:, None])[0])
    return x, (value - mean) / spread, mean, spread


def _ends(model: Model, data: Data) -> tuple[Array, Array, float, float]:
    """Inputs and values of the process of ends, 1 where an episode ended and -1 elsewhere, and their units."""
    value = np.where(data.ended, 1.0, -1.0)
    mean, spread = float(value.mean()), float(_spread(value[:, None])[0])
    return inputs_of(model, data.nexts, data.actions), (value - mean) / spread, mean, spread


def _last(data: Data) -> float | None:
    """What ends of episodes pay, if they all pay the same: a prize or a fine that no smooth function explains."""
    ends, others = data.rewards[data.ended], data.rewards[~data.ended]
    alike = len(ends) > 0 and len(others) >= FEWEST_PAIRS and ends.std() <= ALIKE * max(data.rewards.std(), 1e-300)
    return float(ends.mean()) if alike else None


def _on_the_way(data: Data, last: float | None) -> Data:
    """The steps that the process of a reward explains: all, or those after which an episode goes on."""
    return data if last is None else Data(*(part[~data.ended] for part in data))


def _payment(model: Model, data: Data, last: float | None) -> Payment:
    """Of this state or of the next; the reward, or its logarithm where all are positive: the greatest evidence."""
    data = _on_the_way(data, last)
    best: tuple[float, Payment] | None = None
    for of_next in (False, True):
        for logarithm in (False, True) if (data.rewards > 0).all() else (False,):
            x, y, _, spread = _paid(model, data, of_next, logarithm)
            widths, evidence = fitted(x, y, base=QUADRATIC)
            evidence += len(y) * math.log(spread) + (np.log(data.rewards).sum() if logarithm else 0.0)
            if best is None or evidence < best[0]:
                best = evidence, Payment(of_next, logarithm, widths, last)
    assert best is not None
    return best[1]


def _outputs(model: Model, data: Data) -> list[Output]:
    """The processes of a model: variables, reward, end."""
    x, change = inputs_of(model, data.states, data.actions), _changes(model, data)
    mean, spread = model.change
    found = [
        Output(x, y, float(m), float(s), w) for y, m, s, w in zip(change.T, mean, spread, model.widths, strict=True)
    ]
    if model.payment is not None:
        of_next, logarithm, own, last = model.payment
        found.append(Output(*_paid(model, _on_the_way(data, last), of_next, logarithm), own, QUADRATIC))
    if model.ending is not None:
        found.append(Output(*_ends(model, data), model.ending))
    return found


def numbers_of(model: Model, data: Data, starts: Array, functions: int, at: Array, rng: np.random.Generator) -> Numbers:
    """The mean function, and `functions - 1` others that are drawn, with doubt at the inputs `at` (in units).

    Only with others there is noise in the steps: what is looked for in the mean function is a plan, not a judgement.
    """
    data = thinned(data, WEIGHED)
    d, inputs = data.states.shape[1], data.states.shape[1] + data.actions.shape[1]
    outputs = _outputs(model, data)
    linear, squares = np.zeros((functions, len(outputs), inputs + 1)), np.zeros((functions, inputs, inputs))
    points, weights, follows = [], [], follows_of(data)
    noise, blur = np.zeros((2, d))
    free = ~stopped(data, model.stops)
    for j, output in enumerate(outputs):
        doubt = at if j < d and functions > 1 else at[:0]
        kept = free[:, j].copy() if j < d else np.ones(len(output.x), bool)
        own = points_of(output.x[kept], doubt, output.widths, POINTS, _enough(output.widths))
        if j < d:
            kept[kept] = sound(output.x[kept], output.y[kept], own, output.widths)
        x, y = output.x[kept], output.y[kept]
        found = posterior(x, y, own, output.widths, output.base)
        if j < d and functions > 1:
            left = output.y - features(output.x, own, output.widths, False) @ found.mean
            own_noise, seen = math.exp(output.widths.noise), _seen(left, follows & kept)
            noise[j] = EVEN * output.spread * max(own_noise * math.sqrt(1.0 - 2.0 * seen), INEXACT)
            blur[j] = EVEN * output.spread * own_noise * math.sqrt(seen) * model.scale[j]
        if model.ending is not None and j == len(outputs) - 1:
            told = features(output.x, own, output.widths, False) @ found.mean
            found.mean[len(own) + inputs] -= _border(told, data.ended) + output.mean / output.spread
        made = drawn(found, functions, rng) if j < d else np.repeat(found.mean[None], functions, axis=0)
        made = made * output.spread
        m = len(own)
        points.append((own * output.widths.inverse).T)
        weights.append(made[:, :m])
        linear[:, j] = made[:, m : m + inputs + 1]
        linear[:, j, -1] += output.mean
        if output.base > 0.0:
            a, b = np.triu_indices(inputs)
            squares[:, a, b] = made[:, m + inputs + 1 :]
    z = np.concatenate([(part - model.centre) / model.scale for part in (data.states, data.nexts)])
    low, high = z.min(axis=0), z.max(axis=0)
    margin, stops = WIDER * (high - low), (model.stops - model.centre) / model.scale
    judged = functions > 1
    return Numbers(
        model.centre, model.scale, low - margin, high + margin, stops[0], stops[1], model.middle,
        model.half, _rewards(model, data, judged), noise, blur,
        np.array([output.widths.inverse for output in outputs]), linear, squares, starts, tuple(points), tuple(weights),
    )  # fmt: skip


def _border(told: Array, ended: Array) -> float:
    """The value that divides ends from other steps with the fewest errors, an end being worth as much as all others."""
    order = np.argsort(told, kind="stable")
    sorted_ends = ended[order]
    missed = np.concatenate([[0], np.cumsum(sorted_ends)]) / max(ended.sum(), 1)  # below the border
    false = np.concatenate([[(~ended).sum()], (~ended).sum() - np.cumsum(~sorted_ends)]) / max((~ended).sum(), 1)
    best = int(np.argmin(missed + false))
    values = told[order]
    if best == 0 or best == len(values):
        return float(values[0] if best == 0 else values[-1])
    return float((values[best - 1] + values[best]) / 2)


def _seen(left: Array, follows: Array) -> float:
    """The part of the noise, between 0 and 1/2, that is one of seeing: it is in two errors in a row, with other signs.

    What a sensor adds is gone with the next observation. What moves the plant stays.
    """
    at = np.flatnonzero(follows)
    if len(at) < FEWEST_PAIRS or not left[at].any():
        return 0.0
    return float(np.clip(-(left[at] @ left[at - 1]) / (left[at] @ left[at]), 0.0, 0.5))


def _enough(widths: Widths) -> float:
    return max(ENOUGH[0] * math.exp(2.0 * widths.noise), ENOUGH[1] ** 2)


def _rewards(model: Model, data: Data, judged: bool) -> Array:
    """How a reward is made of its process, and what is believed of it.

    Who plans may hope for a little more than was seen. Who judges may not, and nothing good is believed of states that
    are far from all data.
    """
    worst, last = float(data.rewards.min()), None if model.payment is None else model.payment.last
    worst = min(worst, 0.0) if data.ended.any() else worst  # what ends earns no more
    rewards = data.rewards if last is None else data.rewards[~data.ended]
    low, high = float(rewards.min()), float(rewards.max())
    most, bound = (high, worst) if judged else (high + BEYOND * (high - low), math.inf)
    ends = math.nan if last is None else last
    if model.payment is None:
        return np.array([0.0, 0.0, 0.0, 0.0, bound, ends])
    if model.payment.logarithm:
        peak = math.log(high) + (0.0 if judged else PEAK)
        return np.array([model.payment.of_next, 1.0, math.log(low), peak, bound, ends])
    return np.array([model.payment.of_next, 0.0, low, most, bound, ends])
