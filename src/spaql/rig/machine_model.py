"""A model of a machine from the logs of its rig, in the loop that rig.toml states.

It is learned from measurements without the noise of their sensors, has memory where these depend on steps before, goes
on a little beyond the data, and ends an episode where a limit is touched.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.data.learned import doubted_inputs
from spaql.gp.hidden import APPLIED, SEEN, unpredicted
from spaql.gp.learned_problem import imagined, model_of, range_of
from spaql.gp.model import EVEN
from spaql.gp.model_plant import Machine, ModelPlant, Numbers, model_plant
from spaql.gp.transitions import Data, spread_of
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.plants.limits import Limit
from spaql.plants.loop import loop
from spaql.plants.memory import Item, parsed
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals
from spaql.rig.description import Description
from spaql.rig.log_check import LogPiece

STARTS = 256
FUNCTIONS = 6  # that agree with the logs
BEYOND = 0.75  # of the range of the data, besides a quarter: so far the model goes on
TOGETHER = 100  # steps that are smoothed together; half of it of several variables
ROUNDS = 30
SMOOTH = 0.01  # of the errors: that of the step, and not of the sensor, where the search for both begins
FAINT = 1e-8  # least variance of noise, in units
NEARLY = 0.25  # of the range of the data: where these end so near to a limit, their end stands for it
QUIET = 2.0  # deviations of the sensor's noise, by which limits are narrower in the model


class Moves(NamedTuple):
    """Steps of the machine, one behind the other."""

    states: Array
    actions: Array
    nexts: Array
    starts: Array  # of trials

    @property
    def data(self) -> Data:
        n = len(self.states)
        return Data(self.states, self.actions, np.zeros(n), self.nexts, np.zeros(n, bool))


@dataclass(frozen=True)
class RigModel:
    """The machine in its loop, as logs show it."""

    problem: Problem
    memory: tuple[str, ...]  # that is not observed, and matters
    missed: dict[str, float]  # by variable, the part of its changes that cannot be predicted
    steps: int
    noise: tuple[float, ...]  # of the sensors
    edges: tuple[Limit, ...]  # limits as the model has them


def _remembering(described: Description, memory: Sequence[str]) -> Signals:
    """What is measured, with what is remembered behind it."""
    return Signals(described.state, described.actions, memory=tuple(memory), dt=described.period)


def transitions(described: Description, pieces: Sequence[LogPiece], memory: Sequence[str]) -> Moves:
    """With what is remembered behind what is measured."""
    f = _remembering(described, memory).functions
    states: list[Array] = []
    nexts: list[Array] = []
    starts: list[Array] = []
    actions: list[Array] = []
    begin = APPLIED if memory else 0  # before it nobody knows what was applied
    for piece in pieces:
        z, rows = f.first(*piece.y[0]), [np.array(f.seen(*piece.y[0], *f.first(*piece.y[0])))]
        for t, u in enumerate(piece.u):
            z = f.after(*piece.y[t], *z, *u)
            rows.append(np.array(f.seen(*piece.y[t + 1], *z)))
        states += rows[begin:-1]
        nexts += rows[begin + 1 :]
        actions.append(piece.u[begin:])
        starts += [rows[begin]] if piece.first == 0 or not starts else []
    return Moves(np.array(states), np.concatenate(actions), np.array(nexts), np.array(starts))


# Measurements without the noise of their sensors. A model that is fitted to noise believes too little of what it has
# seen before: its loops swing more than those of the machine. So with s for what would have been measured,
#
#     s[t+1] = A (s[t], s[t-1], ...) + B (u[t], u[t-1], ..., 1) + w,    w ~ N(0, q)
#     y[t]   = s[t] + v,                                                v ~ N(0, r)
#
# A, B, q and r are those of the greatest likelihood (expectation and maximisation), and the model is fitted to the mean
# of s. What is not linear counts as w: where that is much, s stays near y.


class Smoothed(NamedTuple):
    """What the steps in logs say of s, in units."""

    evidence: float  # logarithm of the likelihood
    numbers: int  # that were fitted
    states: list[Array]
    sensor: Array  # r


def quiet(described: Description, pieces: Sequence[LogPiece]) -> tuple[list[LogPiece], Array, tuple[int, int]]:
    """Pieces with s, the deviation of the noise of each sensor, and on how many steps before the next one depends."""
    low, high = np.array([[axis.low, axis.high] for axis in described.state]).T
    turns = {k: axis.period for k, axis in enumerate(described.state) if axis.period is not None}
    measured, back = [piece.y.copy() for piece in pieces], APPLIED + 1
    for y in measured:
        for k, turn in turns.items():
            y[:, k] = np.unwrap(y[:, k], period=turn)
    every, acts = np.concatenate(measured), np.concatenate([piece.u for piece in pieces])
    middle, size, rest, scale = every.mean(axis=0), spread_of(every), acts.mean(axis=0), spread_of(acts)
    places = defaultdict(list)  # by steps: piece and first row
    most = max(TOGETHER // len(low), TOGETHER // 2)
    for k, piece in enumerate(pieces):
        for first in range(0, len(piece.u) - back, most - back):
            places[min(most, len(piece.u) - first)].append((k, first))
    parts = [
        (
            np.array([(measured[k][i : i + n + 1] - middle) / size for k, i in at]),
            np.array([(pieces[k].u[i : i + n] - rest) / scale for k, i in at]),
        )
        for n, at in places.items()
    ]
    depth, best = (SEEN, APPLIED), _smoothed(parts, SEEN, APPLIED)
    for fewer in [(0, 1)] * APPLIED + [(1, 0)] * SEEN:  # as few as say nearly as much (BIC)
        less = depth[0] - fewer[0], depth[1] - fewer[1]
        other = _smoothed(parts, *less)
        if best.evidence - other.evidence <= 0.5 * np.log(len(acts)) * (best.numbers - other.numbers):
            depth, best = less, other
    for at, states in zip(places.values(), best.states, strict=True):
        for (k, first), part in zip(at, states, strict=True):
            known = back if first else 0  # by the part before
            measured[k][first + known : first + len(part)] = middle + size * part[known:]
    for y in measured:
        for k, turn in turns.items():
            y[:, k] = low[k] + (y[:, k] - low[k]) % turn
    calm = [replace(piece, y=np.clip(y, low, high)) for piece, y in zip(pieces, measured, strict=True)]
    return calm, size * np.sqrt(best.sensor), depth


def _smoothed(parts: Sequence[tuple[Array, Array]], seen: int, applied: int) -> Smoothed:
    """Of parts that are equally long, side by side: (parts, steps + 1, variables) and (parts, steps, actions)."""
    d, back, states = parts[0][0].shape[2], APPLIED + 1, [y for y, _ in parts]
    width, doubt, evidence, sensor = (seen + 2) * d, 0.0, 0.0, np.zeros(d)
    for turn in range(ROUNDS):
        rows = [_rows(s, u, seen, applied) for s, (_, u) in zip(states, parts, strict=True)]
        x = np.concatenate([row.reshape(-1, row.shape[2]) for row in rows])
        moments = x.T @ x + FAINT * np.eye(x.shape[1])
        moments[:width, :width] += doubt
        weights = np.linalg.solve(moments[d:, d:], moments[d:, :d])
        step = np.maximum(np.diag(moments[:d, :d] - moments[:d, d:] @ weights) / len(x), FAINT)
        if turn == 0:
            step, sensor = SMOOTH * step + FAINT, 0.5 * step
        states, doubt, off, evidence = [], 0.0, np.zeros(d), 0.0
        for (y, _), row in zip(parts, rows, strict=True):
            g, n, r = len(y), y.shape[1], row.shape[1]
            D = np.kron(np.eye(r, n, back), np.eye(d))
            for k in range(seen + 1):
                D -= np.kron(np.eye(r, n, back - 1 - k), weights[k * d : (k + 1) * d].T)
            c = (row[:, :, width:] @ weights[width - d :]).reshape(g, r * d)
            p, q = 1.0 / np.tile(sensor, n), 1.0 / np.tile(step, r)
            precision = (D.T * q) @ D + np.diag(p)
            C = np.linalg.inv(precision)
            s = (y.reshape(g, n * d) * p + (c * q) @ D) @ C
            miss, noise = s @ D.T - c, y.reshape(g, n * d) - s
            evidence -= 0.5 * float((q * miss**2).sum() + (p * noise**2).sum())
            evidence -= 0.5 * g * float(np.linalg.slogdet(precision)[1] - np.log(q).sum() - np.log(p).sum())
            states.append(s.reshape(y.shape))
            C = C.reshape(n, d, n, d)
            at = back + np.arange(r)[:, None] - np.arange(seen + 2)
            shared = C[at[:, :, None], :, at[:, None, :]].sum(axis=0)
            doubt = doubt + g * shared.transpose(0, 2, 1, 3).reshape(width, width)
            off += (noise.reshape(-1, d) ** 2).sum(axis=0) + g * np.einsum("titi->i", C)
        sensor = np.maximum(off / sum(y.shape[0] * y.shape[1] for y, _ in parts), FAINT)
    return Smoothed(evidence, weights.size, states, sensor)


def _rows(s: Array, u: Array, seen: int, applied: int) -> Array:
    """The next state, this one and those before, what is and was applied, and 1."""
    n, back = u.shape[1], APPLIED + 1
    before = [s[:, back - k : n + 1 - k] for k in range(seen + 2)]
    acts = [u[:, back - 1 - k : n - k] for k in range(applied + 1)]
    return np.concatenate([*before, *acts, np.ones((len(u), n + 1 - back, 1))], axis=2)


def learn_model(described: Description, pieces: Sequence[LogPiece], seed: int) -> RigModel:
    """Of all pieces, which have at least FEWEST steps."""
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        return _learned(described, pieces, seed)


def _learned(described: Description, pieces: Sequence[LogPiece], seed: int) -> RigModel:
    at_work("learning a model of the machine")
    names, acting = [axis.name for axis in described.state], described.actions.axis_names
    pieces, own_noise, depth = quiet(described, pieces)
    # changes are as small as what is to be predicted, and values of before nearly the same as those of now
    terms = [f"difference({name}, {k})" for name in names for k in range(1, 1 + depth[0])]
    terms += [f"previous({name}, {k})" for name in acting for k in range(1, 1 + depth[1])]
    remembered = [item for term in terms for item in parsed(term, names, acting)]
    memory = tuple(item.name for item in remembered)
    problem = replace(described.bare, state=_remembering(described, memory).state)
    seen = transitions(described, pieces, memory)
    data, rng = seen.data, np.random.default_rng(seed)
    model, starts = model_of(problem, data), _starts(described, seen.starts, seed)
    missed = unpredicted(model, data)
    at = doubted_inputs(model, data, *range_of(problem), rng)
    learned = imagined(problem, model, data, starts, rng, FUNCTIONS, at)
    assert isinstance(learned.plant, ModelPlant)
    numbers = _wider(described, learned.plant, remembered)
    count = len(described.state)
    numbers = numbers._replace(blur=np.r_[EVEN * own_noise, np.zeros(len(memory))])
    own = model_plant(numbers, learned.plant.known)
    rows = own.state_dim, own.action_dim, count, own.reset_noise, own.step_noise
    machine = Machine(own.reset, own.step, None, *rows, model=own, remembered=tuple(remembered), names=tuple(names))
    noise, edges = machine.sensor_noise, []
    for j, axis in enumerate(described.state):
        ends = numbers.centre[j] + numbers.scale[j] * np.array([numbers.low[j], numbers.high[j]])
        asked = [signal for signal in described.references if signal.of == axis.name]
        least, most = (tuple(getattr(signal, end) for signal in asked) for end in ("low", "high"))
        for limit in described.limits:
            if limit.variable == axis.name:
                edges.append(_narrowed(limit, ends, QUIET * noise[j], least, most))
    inner = replace(described.bare, plant=machine, clip=True)
    around = _loop(described, inner, memory, edges, pieces)
    said = {axis.name: missed[j] for j, axis in enumerate(described.state) if j in missed}
    return RigModel(around, memory, said, len(seen.states), noise, tuple(edges))


def _wider(described: Description, plant: ModelPlant, remembered: Sequence[Item]) -> Numbers:
    """Its numbers for a machine that goes on beyond the data: so far, within the ranges of the sensors."""
    numbers, count = plant.numbers, len(described.state)
    low, high = numbers.low.copy(), numbers.high.copy()
    kinds = ["", *(item.kind for item in remembered)]
    for j in range(len(low)):
        if kinds[max(0, j - count + 1)] != "previous":
            wide = BEYOND * (high[j] - low[j])
            low[j], high[j] = low[j] - wide, high[j] + wide
    for j, axis in enumerate(described.state):
        ends = (np.array([axis.low, axis.high]) - numbers.centre[j]) / numbers.scale[j]
        low[j], high[j] = max(low[j], ends[0]), min(high[j], ends[1])
    return numbers._replace(low=low, high=high)


def _starts(described: Description, seen: Array, seed: int) -> Array:
    """Where trials begin: like those seen, or as rig.toml says."""
    rng, apart = np.random.default_rng([seed, len(seen), STARTS]), seen - seen.mean(axis=0)
    apart *= 0.5 * np.sqrt((len(seen) + 1) / len(seen) / max(1, len(seen) - 1))
    starts: Array = seen[rng.integers(len(seen), size=STARTS)]
    starts = starts + rng.standard_normal((STARTS, len(seen))) @ apart  # what is remembered fits what is measured
    for j, axis in enumerate(described.state):
        if axis.name in described.starts:
            starts[:, j] = rng.uniform(*described.starts[axis.name], STARTS)
        starts[:, j] = np.clip(starts[:, j], axis.low, axis.high)
    return starts


def _narrowed(limit: Limit, ends: Array, noise: float, least: tuple[float, ...], most: tuple[float, ...]) -> Limit:
    """A limit for the model, which knows nothing beyond the data, and shows what is there without the noise."""
    near = NEARLY * float(ends[1] - ends[0])
    low, high = limit.low + noise, limit.high - noise
    low = max(low, float(ends[0]) + 1e-6 * near) if limit.low > ends[0] - near else low
    high = min(high, float(ends[1]) - 1e-6 * near) if limit.high < ends[1] + near else high
    low, high = min(low, *least, high), max(high, *most, low)  # what is asked for is allowed
    return Limit(limit.variable, low, high) if low < high else limit


def _loop(
    described: Description, inner: Problem, memory: Sequence[str], edges: Sequence[Limit], pieces: Sequence[LogPiece]
) -> Problem:
    """The loop of rig.toml around the model; touching a limit ends an episode, and costs more than one can earn."""
    signals = described.signals(memory)
    paid = np.concatenate([described.paid(piece.y, piece.r, piece.u) for piece in pieces])
    cost = float(described.steps * max(np.ptp(paid), 1e-3 * np.abs(paid).max(), 1e-9))
    assert inner.plant is not None
    widths = zip(described.state, inner.plant.sensor_noise, strict=True)
    noise = {axis.name: width for axis, width in widths if width > 0.0}
    return loop(
        inner, references=described.references, memory=signals.memory, observe=signals.shown, noise=noise,
        rates=dict(zip(described.actions.axis_names, described.rates, strict=True)) if described.rates else None,
        trips=edges, trip_cost=cost if edges else None, reward=described.reward, dt=described.period,
        name=described.name,
    )  # fmt: skip
