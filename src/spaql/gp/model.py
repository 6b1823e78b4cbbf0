"""A model of transitions: Gaussian processes of the change of every variable, and of the reward where it is unknown.

Functions drawn from the posterior disagree where there is no data. Each is made by adding points, with values drawn
from the joint posterior there, to the data: the mean of what is then known is one smooth function (Matheron's rule
without its cost).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from spaql.arrays import Array
from spaql.gp.fit import Widths, factor, fitted, kernel, missed, weights_of
from spaql.gp.plant import Numbers

MOST = 300  # transitions that are points of the model; more are thinned out
QUADRATIC = 0.3  # prior variance of the quadratic part of a reward
WIDER = 0.25  # of the box of the data: how far outside of it a state may come
BEYOND, PEAK = 0.1, 2.0  # of the rewards seen: how much more is believed, and how much more of a logarithm


class Data(NamedTuple):
    """Transitions in physical units."""

    states: Array  # (n, d)
    actions: Array  # (n, axes)
    rewards: Array  # (n,)
    nexts: Array  # (n, d)
    ended: Array  # (n,) bool: the plant ended the episode here


class Payment(NamedTuple):
    """How a reward is modelled."""

    of_next: bool  # a function of the next state and the action, or of the state and the action
    logarithm: bool
    widths: Widths


class Model(NamedTuple):
    """Widths and units; the points are the data's."""

    centre: Array
    scale: Array
    middle: Array  # (axes,) of the actions
    half: Array
    widths: tuple[Widths, ...]  # by variable
    payment: Payment | None  # of the reward; None: it is known
    ending: Widths | None  # of the end of an episode; None: it is known, or none was seen


def learn_model(data: Data, low: Array, high: Array, paid: bool, ends: bool) -> Model:
    """`low`, `high`: ends of the actions. `paid`, `ends`: reward and end are known."""
    data = thinned(data)
    centre, scale = data.states.mean(axis=0), _spread(data.states)
    middle, half = (low + high) / 2, (high - low) / 2
    model = Model(centre, scale, middle, half, (), None, None)
    x = _inputs(model, data.states, data.actions)
    change, _, _ = _changes(model, data)
    widths = tuple(fitted(x, y)[0] for y in change.T)
    payment = None if paid else _payment(model, data)
    ending = None if ends or not data.ended.any() else fitted(*_ends(model, data)[:2])[0]
    return model._replace(widths=widths, payment=payment, ending=ending)


def unpredicted(model: Model, data: Data) -> dict[int, float]:
    """By variable the part of its changes that the model misses in steps it has not seen; -1: of the reward."""
    data = thinned(data)
    x, change = _inputs(model, data.states, data.actions), _changes(model, data)[0]
    found = {j: missed(x, y, w) for j, (y, w) in enumerate(zip(change.T, model.widths, strict=True))}
    if model.payment is not None:
        of_next, logarithm, own = model.payment
        found[-1] = missed(*_paid(model, data, of_next, logarithm)[:2], own, QUADRATIC)
    return found


def thinned(data: Data) -> Data:
    """All transitions, or as many as a model can hold, spread over time, with the newest and with ends of episodes."""
    n = len(data.states)
    if n <= MOST:
        return data
    ends = np.flatnonzero(data.ended)[-MOST // 10 :]
    recent = MOST // 3
    spread = np.linspace(0, n - recent - 1, MOST - recent - len(ends)).astype(int)
    chosen = np.union1d(np.union1d(spread, ends), np.arange(n - recent, n))
    return Data(*(part[chosen] for part in data))


def _spread(values: Array) -> Array:
    spread = values.std(axis=0)
    found: Array = np.where(spread > 1e-12, spread, 1.0)
    return found


def _inputs(model: Model, states: Array, actions: Array) -> Array:
    return np.column_stack([(states - model.centre) / model.scale, (actions - model.middle) / model.half])


def _changes(model: Model, data: Data) -> tuple[Array, Array, Array]:
    """Of all variables, in units of their spread; and these units."""
    change = (data.nexts - data.states) / model.scale
    mean, spread = change.mean(axis=0), _spread(change)
    return (change - mean) / spread, mean, spread


def _paid(model: Model, data: Data, of_next: bool, logarithm: bool) -> tuple[Array, Array, float, float]:
    """Inputs and values of the reward's process, and the units of the values."""
    x = _inputs(model, data.nexts if of_next else data.states, data.actions)
    value = np.log(np.maximum(data.rewards, 1e-30)) if logarithm else data.rewards
    mean, spread = float(value.mean()), float(_spread(value[:, None])[0])
    return x, (value - mean) / spread, mean, spread


def _ends(model: Model, data: Data) -> tuple[Array, Array, float, float]:
    """Inputs and values of the process of ends, 1 where an episode ended and -1 elsewhere, and their units."""
    value = np.where(data.ended, 1.0, -1.0)
    mean, spread = float(value.mean()), float(_spread(value[:, None])[0])
    return _inputs(model, data.nexts, data.actions), (value - mean) / spread, mean, spread


def _payment(model: Model, data: Data) -> Payment:
    """Of this state or of the next; the reward, or its logarithm where all are positive: the greatest evidence."""
    best: tuple[float, Payment] | None = None
    for of_next in (False, True):
        for logarithm in (False, True) if (data.rewards > 0).all() else (False,):
            x, y, _, spread = _paid(model, data, of_next, logarithm)
            widths, evidence = fitted(x, y, base=QUADRATIC)
            evidence += len(y) * math.log(spread) + (np.log(data.rewards).sum() if logarithm else 0.0)
            if best is None or evidence < best[0]:
                best = evidence, Payment(of_next, logarithm, widths)
    assert best is not None
    return best[1]


def numbers_of(
    model: Model, data: Data, starts: Array, functions: int, at: Array, rng: np.random.Generator
) -> Numbers:
    """The mean function, and `functions - 1` others that are drawn, with doubt at the inputs `at` (in units)."""
    data = thinned(data)
    x = _inputs(model, data.states, data.actions)
    more = at[:0] if functions == 1 else at
    everything = np.concatenate([x, more])
    change, mean, spread = _changes(model, data)
    outputs = [_output(x, more, y, w, functions, rng) for y, w in zip(change.T, model.widths, strict=True)]
    units = [(float(m), float(s)) for m, s in zip(mean, spread, strict=True)]
    reward, squares, widths = np.zeros(4), np.zeros((functions, x.shape[1], x.shape[1])), list(model.widths)
    points = [everything * w.inverse for w in model.widths]
    bases = [everything] * len(units)
    others = []
    if model.payment is not None:
        of_next, logarithm, own = model.payment
        others.append((*_paid(model, data, of_next, logarithm), own, QUADRATIC))
        low, high = float(data.rewards.min()), float(data.rewards.max())
        ends = (math.log(low), math.log(high) + PEAK) if logarithm else (low, high + BEYOND * (high - low))
        reward[:] = float(of_next), float(logarithm), *ends
    if model.ending is not None:
        others.append((*_ends(model, data), model.ending, 0.0))
    for paid_at, y, m, s, own, base in others:  # the same in all functions
        alphas = np.zeros((functions, len(everything)))
        alphas[:, : len(x)] = weights_of(paid_at, y, own, base)
        filled = np.concatenate([paid_at, np.zeros_like(more)])
        outputs.append(alphas)
        units.append((m, s))
        widths.append(own)
        points.append(filled * own.inverse)
        bases.append(filled)
        if base:
            squares[:] = s * base * (filled.T * alphas[0]) @ filled
    linear = np.empty((functions, len(units), x.shape[1] + 1))
    weights = np.empty((functions, len(units), len(everything)), np.float32)
    for j, ((m, s), alphas) in enumerate(zip(units, outputs, strict=True)):
        weights[:, j] = alphas * (math.exp(2.0 * widths[j].signal) * s)
        linear[:, j, :-1] = alphas @ bases[j] * s
        linear[:, j, -1] = alphas.sum(axis=1) * s + m
    z = np.concatenate([(part - model.centre) / model.scale for part in (data.states, data.nexts)])
    low_z, high_z = z.min(axis=0), z.max(axis=0)
    margin = WIDER * (high_z - low_z)
    return Numbers(
        model.centre, model.scale, low_z - margin, high_z + margin, model.middle, model.half, reward,
        np.array([w.inverse for w in widths]), linear, squares, starts,
        np.array([p.T for p in points], np.float32), weights,
    )  # fmt: skip


def _output(x: Array, more: Array, y: Array, widths: Widths, functions: int, rng: np.random.Generator) -> Array:
    """(functions, points) weights of one output's points; the first function is the mean."""
    if len(more) == 0:
        return weights_of(x, y, widths)[None]
    across = kernel(x, more, widths)
    solved = cho_solve(factor(x, widths), across)
    mean, doubt = solved.T @ y, kernel(more, more, widths) - across.T @ solved
    size, direction = np.linalg.eigh((doubt + doubt.T) / 2)
    root = direction * np.sqrt(np.maximum(size, 0.0))
    noise = math.exp(widths.noise)
    drawn = [mean] + [
        mean + root @ rng.standard_normal(len(more)) + noise * rng.standard_normal(len(more))
        for _ in range(functions - 1)
    ]
    everything = np.concatenate([x, more])
    both = factor(everything, widths)
    found: Array = np.array([cho_solve(both, np.r_[y, values]) for values in drawn])
    return found
