"""A plant in its loop, compiled: sensors with noise and delay, references, the memory of the controller, actuators with
delay, limits that end an episode.

    def step(s0, s1, q0, q1, r0, z0, p0, a0, ...):              a pendulum, action delayed by one step
        u0, = applied(q0, q1, r0, z0, a0)
        z0, = after(q0, q1, r0, z0, u0)
        (s0, s1), reward, terminated = act(s0, s1, p0)
        p0 = u0
        t0, t1, = s0, s1
        reward = pay(t0, r0, u0)
        q0 = t0 + E0 * x0
        ...
"""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.errors import SpaqlError, echoed, named
from spaql.plants.assemble import bounded, gaussians, normals
from spaql.plants.axes import Axis
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.equations import drawn
from spaql.plants.known import KnownOutcome
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.references import chances, first_lines, names, next_lines
from spaql.plants.signals import Signals, python

TRIED = 2000  # combinations of values among which the least reward is looked for


# -- what a loop pays: a function of some of its variables, by their names ---------------------------------------------

@dataclass(frozen=True)
class Payment:
    """A reward as a function of some symbols; without a function, minus the sum of their squares in units."""

    symbols: tuple[str, ...]
    given: Callable[..., float] | None = None
    units: tuple[float, ...] = ()

    @property
    def function(self) -> Callable[..., float]:
        if self.given is not None:
            return self.given
        arguments = ", ".join(f"e{n}" for n in range(len(self.units)))
        terms = " - ".join(f"(e{n} / {unit!r}) * (e{n} / {unit!r})" for n, unit in enumerate(self.units))
        function: Callable[..., float] = function_of({}, f"tracking({arguments})", [f"return -{terms}"])
        return function

    def of(self, *values: float) -> float:
        """What is paid, in plain Python; what the user's function raises becomes one line."""
        try:
            return float(self.function(*values))
        except Exception as error:
            names = [] if self.given is None else list(inspect.signature(self.given).parameters)
            raise SpaqlError(f"the reward of the loop failed with {named(names, values)}: {error!r}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        if self.given is not None and not self.given.__qualname__.isidentifier():
            raise SpaqlError("the reward of the loop cannot be sent to another process: define it with def in a module")
        return Payment, (self.symbols, self.given, self.units)


def payment_of(signals: Signals, reward: Any) -> Payment | None:
    """The reward with the symbols of its arguments: those of the plant's text, see loop_plant.py."""
    if reward is None:
        return tracking(signals) if signals.errors else None
    if not inspect.isfunction(reward):
        raise SpaqlError(f"reward must be a plain Python function, not {type(reward).__name__}")
    symbols = {name: symbol.replace("y", "t") for name, symbol in signals.symbols.items()}
    symbols |= {name: f"r{k} - t{j}" for name, (k, j) in signals.errors.items()}
    symbols |= {action: f"u{j}" for j, action in enumerate(signals.action_names)}
    asked = []
    for argument in inspect.signature(reward).parameters:
        meant = [name for name in symbols if word(name) == argument]
        if not meant:
            raise SpaqlError(f"reward: there is no variable {echoed(argument)}: choose {', '.join(map(word, symbols))}")
        if len(meant) > 1:
            raise SpaqlError(f"reward: {argument} may mean {' or '.join(map(echoed, meant))}: rename one of them")
        asked.append(symbols[meant[0]])
    return Payment(tuple(asked), reward)


def tracking(signals: Signals) -> Payment:
    """Minus the squared errors, each in halves of the range of its reference."""
    halves = tuple((signals.references[k].high - signals.references[k].low) / 2 for k, _ in signals.errors.values())
    return Payment(tuple(f"r{k} - t{j}" for k, j in signals.errors.values()), units=halves)


def word(name: str) -> str:
    """A variable as the argument of a function: integral(speed_error) is integral_speed_error."""
    return re.sub(r"\W+", "_", name).strip("_")


def least_paid(payment: Payment, signals: Signals) -> float:
    """The least that is paid for values within the ranges of all variables: of some of them, always the same."""
    rng, low, high = np.random.default_rng(0), *signals.actuator.bounds
    axes = dict(zip(signals.symbols.values(), (signals.axes[name] for name in signals.symbols), strict=True))
    values = {symbol: rng.uniform(*axis.usual, TRIED) for symbol, axis in axes.items()}
    values |= {f"t{j}": values[f"y{j}"] for j in range(len(signals.measured))}
    values |= {f"u{j}": rng.uniform(low[j], high[j], TRIED) for j in range(len(low))}
    columns = []
    for symbol in payment.symbols:
        first, minus, other = symbol.partition(" - ")
        columns.append(values[first] - values[other] if minus else values[first])
    paid = [payment.of(*map(float, row)) for row in zip(*columns, strict=True)]
    least = min(paid, default=0.0)
    if not np.isfinite(least):
        raise SpaqlError("the reward is not finite for some values within the ranges of its variables")
    return least


# -- the plant in its loop ---------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Surroundings:
    """What stands between plant and controller on the plant's side."""

    noise: tuple[tuple[int, float], ...] = ()  # (measured variable, standard deviation)
    sensor_delay: int = 0  # steps
    actuator_delay: int = 0
    reward: Payment | None = None  # None: that of the plant
    trips: tuple[tuple[int, float, float], ...] = ()  # (measured variable, low, high): beyond, the episode ends
    trip_cost: float = 0.0
    beyond: float | None = None  # what a step beyond the data of a learned plant pays at most; its last variable tells


class LoopState(NamedTuple):
    """The state of a plant in its loop, by names, in this order."""

    plant: list[str]
    queue: list[list[str]]  # measured, the oldest first: that is what the controller sees
    references: list[str]  # with all that is kept of them
    registers: list[str]
    late: list[list[str]]  # actions on their way to the plant

    @property
    def names(self) -> list[str]:
        queue, late = ([name for row in rows for name in row] for rows in (self.queue, self.late))
        return [*self.plant, *queue, *self.references, *self.registers, *late]


def loop_state(plant: Plant, signals: Signals, around: Surroundings) -> LoopState:
    return LoopState(
        letters("s", plant.state_dim),
        [letters(f"q{k}_", plant.observation_dim) for k in range(around.sensor_delay + 1)],
        [name for k, reference in enumerate(signals.references) for name in names(k, reference)],
        letters("z", len(signals.registers)),
        [letters(f"p{k}_", plant.action_dim) for k in range(around.actuator_delay)],
    )


def loop_functions(
    plant: Plant, signals: Signals, around: Surroundings, hooks: Sequence[str] = ()
) -> tuple[Callable[..., Any], ...]:
    """`reset`, `step` and `observe` of the loop. `hooks`: functions that are given at every call, before all else."""
    layout = loop_state(plant, signals, around)
    s, queue, _, z, late = layout
    t, r, y = letters("t", plant.observation_dim), letters("r", len(signals.references)), queue[0]
    a, count = letters("a", plant.action_dim), len(around.noise)
    uniform, noise, normal = normals(count, count if hooks else None)
    off = {j: f"E{j} * {x}" for x, (j, _) in zip(normal, around.noise, strict=True)}
    state, references = layout.names, list(enumerate(signals.references))
    scope = scope_of(plant, signals, around) | {"gaussians": gaussians, "start": plant.reset.python}
    scope |= {f"E{j}": spread for j, spread in around.noise}

    lines = [*step_lines(plant, signals, around, queue, z, late), *noise]
    lines += measured_lines(queue[-1], off, signals.measured)
    lines += [line for k, reference in references for line in next_lines(k, reference)]
    lines.append(f"return ({listed(state)}), reward, terminated")
    draws = [name for k, reference in references if reference.changes for name in chances(k, reference)]
    arguments = listed(hooks, state, a, letters("c", plant.step_noise), uniform, draws)
    stepped = function_of(scope, f"step({arguments})", lines)

    reset_noise = letters("c", plant.reset_noise)
    draws = [name for k, reference in references for name in chances(k, reference)]
    lines = [f"{listed(s)}= start({listed(reset_noise)})", look_line(plant, t), *noise]
    lines += measured_lines(queue[-1], off, signals.measured)
    lines += [f"{listed(row)}= {listed(queue[-1])}" for row in queue[:-1]]
    lines += [line for k, reference in references for line in first_lines(k, reference)]
    lines += [f"{listed(z)}= first({listed([*y, *r])})"] if z else []
    lines += [f"{listed(row)}= {', '.join(map(repr, signals.neutral))}," for row in late]
    lines.append(f"return ({listed(state)})")
    started = function_of(scope, f"reset({listed(hooks, reset_noise, uniform, draws)})", lines)

    seen = function_of(scope, f"observe({listed(state)})", [f"return seen({listed([*y, *r, *z])})"])
    return started, stepped, seen


def scope_of(plant: Plant, signals: Signals, around: Surroundings) -> dict[str, Any]:
    """What the lines of a step call."""
    scope: dict[str, Any] = signals.functions._asdict() | {"act": plant.step.python, "drawn": drawn, "inf": math.inf}
    scope |= {"look": plant.observe.python} if plant.observe else {}
    return scope | ({"pay": around.reward.function} if around.reward else {})


def look_line(plant: Plant, into: Sequence[str]) -> str:
    state = listed(letters("s", plant.state_dim))
    return f"{listed(into)}= look({state})" if plant.observe else f"{listed(into)}= {state}"


def step_lines(
    plant: Plant, signals: Signals, around: Surroundings, queue: list[list[str]], z: list[str], late: list[list[str]]
) -> list[str]:
    """What happens in a step, in this order, until sensors say something new: of loops, and of proofs about them."""
    s, y, r = letters("s", plant.state_dim), queue[0], letters("r", len(signals.references))
    a, u, c = letters("a", plant.action_dim), letters("u", plant.action_dim), letters("c", plant.step_noise)
    lines = [f"{listed(u)}= applied({listed(y, r, z, a)})"]
    if around.reward:
        # memory as the law saw it, before it takes in this step
        lines += remembered(signals, around.reward.symbols, y)
    lines += [f"{listed(z)}= after({listed(y, r, z, u)})"] if z else []
    lines.append(f"({listed(s)}), reward, terminated = act({listed(s, late[0] if late else u, c)})")
    lines += [f"{listed(row)}= {listed(following)}" for row, following in zip(late, [*late[1:], u], strict=False)]
    lines.append(look_line(plant, letters("t", plant.observation_dim)))
    if around.reward:
        lines.append(f"reward = pay({', '.join(around.reward.symbols)})")
        if around.beyond is not None:
            lines.append(f"reward = min(reward, {around.beyond!r}) if {s[-1]} > 0.5 else reward")
    if around.trips:
        beyond = " or ".join(f"t{j} < {low} or t{j} > {high}" for j, low, high in around.trips)
        lines += [f"tripped = {beyond}", f"reward = reward - {around.trip_cost!r} if tripped else reward"]
        lines.append("terminated = terminated or tripped")
    return lines + [f"{listed(row)}= {listed(queue[k + 1])}" for k, row in enumerate(queue[:-1])]


def looped(plant: Plant, signals: Signals, around: Surroundings) -> Plant:
    """The plant in its loop."""
    functions = loop_functions(plant, signals, around)
    reset, step, observe = map(PlantFunction, ("reset", "step", "observe"), functions)
    stated = (plant, signals, around)
    in_loop = make_plant(reset, step, observe, plant.action_dim)
    return replace(in_loop, origin=(looped, stated), stated=stated)


def remembered(signals: Signals, symbols: Sequence[str], y: Sequence[str]) -> list[str]:
    """Lines of the variables of the memory that a reward asks for, at the time of the decision."""
    place = {f"y{j}": name for j, name in enumerate(y)}
    lines = signals.seen_lines()
    said = {symbol: python(terms, lambda s: place.get(s, s)) for symbol, terms in lines}
    place |= {symbol: f"({text})" for symbol, text in said.items() if symbol[0] == "e"}
    asked = [(symbol, terms) for symbol, terms in lines if symbol[0] == "m" and symbol in symbols]
    return [f"{symbol} = {python(terms, lambda s: place.get(s, s))}" for symbol, terms in asked]


def measured_lines(row: Sequence[str], off: dict[int, str], axes: Sequence[Axis]) -> list[str]:
    """What sensors say of t0, t1, ..., those that are off within the bounds of their axes."""
    said = [bounded(f"t{j} + {off[j]}", axes[j]) if j in off else f"t{j}" for j in range(len(row))]
    return [f"{name} = {value}" for name, value in zip(row, said, strict=True)]


# -- what a controller in a loop may know of the reward: whatever of it can be computed from what it sees --------------

def loop_known(signals: Signals, around: Surroundings) -> KnownOutcome | None:
    """The reward as a function of observation, action and next observation; None if it depends on more.

    def reward(o0, o1, a0, n0, n1):
        return pay(o1 - n0, a0)
    """
    if around.reward is None or around.trips:
        return None
    places = _places(signals, around)
    arguments = []
    for symbol in around.reward.symbols:
        first, minus, other = symbol.partition(" - ")
        if first not in places or (minus and other not in places):
            return None
        arguments.append(f"{places[first]}{minus}{places[other] if minus else ''}")
    d, axes = len(signals.state), signals.actions.axes
    head = f"reward({listed(letters('o', d), letters('a', axes), letters('n', d))})"
    paid = function_of({"pay": around.reward.function}, head, [f"return pay({listed(arguments)})"])
    return KnownOutcome(paid, None, d, axes, origin=(loop_known, (signals, around)))


def _places(signals: Signals, around: Surroundings) -> dict[str, str]:
    """Where the symbols of a reward stand: o in the observation, n in the next one, a in the action."""
    shown = {axis.name: j for j, axis in enumerate(signals.state)}
    blurred = {j for j, _ in around.noise}
    places = {}
    for j, axis in enumerate(signals.measured):
        if axis.name in shown and j not in blurred and around.sensor_delay == 0:
            places[f"t{j}"] = f"n{shown[axis.name]}"
    for name, symbol in signals.symbols.items():
        if name in shown and symbol[0] in "rm":
            places[symbol] = f"o{shown[name]}"
    for j, name in enumerate(signals.action_names):
        if f"previous({name})" in shown:
            places[f"u{j}"] = f"n{shown[f'previous({name})']}"
        elif not (signals.increments or signals.rates or signals.interlocks):
            places[f"u{j}"] = f"a{j}"
    return places
