"""A model of a machine from the logs of its rig, in the loop that rig.toml states.

It has memory where the logs show that something is not observed, goes on a little beyond the data, and ends an episode
where a limit is touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spaql.data.learned import doubted_inputs
from spaql.gp.hidden import advice_of, unpredicted
from spaql.gp.learned_problem import imagined, model_of, range_of
from spaql.gp.model_plant import ModelPlant, Numbers, model_plant
from spaql.gp.transitions import Data
from spaql.ground.arrays import Array
from spaql.ground.progress import at_work
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.limits import Limit
from spaql.plants.loop import loop
from spaql.plants.memory import Item, parsed
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem
from spaql.plants.signals import Signals
from spaql.rig.description import Description
from spaql.rig.log_check import LogPiece

STARTS = 256
FUNCTIONS = 6  # that agree with the logs
BEYOND = 0.75  # of the range of the data, besides a quarter: so far the model goes on
FORGOTTEN = 4  # steps of a piece in the middle of a trial, before which nobody knows what was applied
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
    for piece in pieces:
        z, rows = f.first(*piece.y[0]), [np.array(f.seen(*piece.y[0], *f.first(*piece.y[0])))]
        for t, u in enumerate(piece.u):
            z = f.after(*piece.y[t], *z, *u)
            rows.append(np.array(f.seen(*piece.y[t + 1], *z)))
        begin = 0 if piece.first == 0 or not memory else FORGOTTEN
        states += rows[begin:-1]
        nexts += rows[begin + 1 :]
        actions.append(piece.u[begin:])
        starts += [rows[0]] if piece.first == 0 or not starts else []
    return Moves(np.array(states), np.concatenate(actions), np.array(nexts), np.array(starts))


def learn_model(described: Description, pieces: Sequence[LogPiece], seed: int) -> RigModel:
    """Of all pieces, which have at least FEWEST steps."""
    with threadpool_limits(1, "blas"):  # small matrices: threads cost more than they save, and may change last bits
        return _learned(described, pieces, seed)


def _learned(described: Description, pieces: Sequence[LogPiece], seed: int) -> RigModel:
    at_work("learning a model of the machine")
    seen = transitions(described, pieces, ())
    remembered = _advised(described, seen)
    memory = [item.name for item in remembered]
    problem = replace(described.bare, state=_remembering(described, memory).state)
    seen = transitions(described, pieces, memory) if memory else seen
    at_work("learning a model of the machine")
    data, rng = seen.data, np.random.default_rng(seed)
    model, starts = model_of(problem, data), _starts(described, seen.starts, seed)
    missed = unpredicted(model, data)
    at = doubted_inputs(model, data, *range_of(problem), rng)
    learned = imagined(problem, model, data, starts, rng, FUNCTIONS, at)
    assert isinstance(learned.plant, ModelPlant)
    numbers = _wider(described, learned.plant, remembered)
    count = len(described.state)
    own = model_plant(numbers, learned.plant.known)
    rows = own.state_dim, own.action_dim, count, own.reset_noise, own.step_noise
    names = tuple(axis.name for axis in described.state)
    machine = Machine(own.reset, own.step, None, *rows, model=own, remembered=tuple(remembered), names=names)
    noise, edges = machine.sensor_noise, []
    for j, axis in enumerate(described.state):
        ends = numbers.centre[j] + numbers.scale[j] * np.array([numbers.low[j], numbers.high[j]])
        asked = [signal for signal in described.references if signal.of == axis.name]
        least, most = (tuple(getattr(signal, end) for signal in asked) for end in ("low", "high"))
        for limit in described.limits:
            if limit.variable == axis.name:
                edges.append(_narrowed(limit, ends, QUIET * noise[j], least, most))
    inner = replace(described.bare, plant=machine, clip=True)
    changes = _seen(remembered, described)
    around = _loop(described, inner, changes, edges, pieces)
    said = {axis.name: missed[j] for j, axis in enumerate(described.state) if j in missed}
    return RigModel(around, changes, said, len(seen.states), noise, tuple(edges))


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


@dataclass(frozen=True)
class Machine(Plant):
    """A learned model of which only what is measured is observed; its memory of changes is what they have been."""

    model: ModelPlant = field(kw_only=True, compare=False, repr=False)
    remembered: tuple[Item, ...] = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)  # of what is measured

    @property
    def sensor_noise(self) -> tuple[float, ...]:
        return self.model.sensor_noise[: self.observation_dim]

    @property
    def costly(self) -> bool:
        return True

    def in_functions(self) -> Plant:
        plant, d = self.model.in_functions(), self.observation_dim
        s, t = letters("s", plant.state_dim), letters("t", plant.state_dim)
        more = letters("a", plant.action_dim), letters("c", plant.step_noise)
        lines = [f"({listed(t)}), reward, terminated = act({listed(s, *more)})"]
        places = {
            (item.of, int(item.number)): d + n for n, item in enumerate(self.remembered) if item.kind != "previous"
        }
        for (of, steps), j in places.items():
            k = self.names.index(of)
            before = f" + s{places[of, steps - 1]}" if (of, steps - 1) in places else ""
            lines.append(f"t{j} = t{k} - s{k}{before}")
        lines.append(f"return ({listed(t)}), reward, terminated")
        step = function_of({"act": plant.step.python}, f"step({listed(s, *more)})", lines)
        seen = function_of({}, f"observe({listed(s)})", [f"return ({listed(s[:d])})"])
        functions = PlantFunction("step", step), PlantFunction("observe", seen)
        return make_plant(plant.reset, *functions, plant.action_dim)


def _advised(described: Description, seen: Moves) -> list[Item]:
    """What must be remembered, because something is not observed."""
    problem, data = described.bare, seen.data
    names, acting = [axis.name for axis in described.state], described.actions.axis_names
    advised = advice_of(problem, model_of(problem, data), data).memory
    items = [item for term in advised for item in parsed(term, names, acting)]
    # changes are as small as what is to be predicted, and values of before nearly the same as those of now
    terms = [f"{_kind(item)}({item.of}, {item.number:g})" for item in items]
    return [item for term in terms for item in parsed(term, names, acting)]


def _kind(item: Item) -> str:
    return "previous" if item.kind == "previous" else "difference"


def _seen(remembered: Sequence[Item], described: Description) -> tuple[str, ...]:
    """What laws see of it, and people read: the last change of a variable, the last action."""
    names, acting = [axis.name for axis in described.state], described.actions.axis_names
    terms = [f"{_kind(item)}({item.of})" for item in remembered]
    return tuple(dict.fromkeys(parsed(term, names, acting)[0].name for term in terms))


def _starts(described: Description, seen: Array, seed: int) -> Array:
    """Where trials begin: like those seen, or as rig.toml says."""
    rng = np.random.default_rng([seed, len(seen), STARTS])
    spread = seen.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / len(seen)) if len(seen) > 1 else np.zeros(seen.shape[1])
    starts: Array = seen[rng.integers(len(seen), size=STARTS)] + 0.5 * spread * rng.standard_normal(
        (STARTS, len(spread))
    )
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
