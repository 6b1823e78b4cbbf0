"""A plant in its loop, compiled: sensors with noise and delay, references, the memory of the controller, actuators with
delay, limits that end an episode.

The state of such a plant is that of the plant itself, then what was measured (the oldest first: that is what the
controller sees), the references, the registers of the memory, and the actions on their way to the plant.

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

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from spaql.plants.assemble import bounded, gaussians, listed, normals
from spaql.plants.axes import Axis
from spaql.plants.compile import made
from spaql.plants.compile import names as letters
from spaql.plants.known import KnownOutcome
from spaql.plants.parameters import drawn
from spaql.plants.payment import Payment
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.references import chances, first_lines, names, next_lines
from spaql.plants.signals import Signals, python


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


def looped(plant: Plant, signals: Signals, around: Surroundings) -> Plant:
    """The plant in its loop."""
    size, d, axes = plant.state_dim, plant.observation_dim, plant.action_dim
    s, t, z = letters("s", size), letters("t", d), letters("z", len(signals.registers))
    queue = [letters(f"q{k}_", d) for k in range(around.sensor_delay + 1)]
    late = [letters(f"p{k}_", axes) for k in range(around.actuator_delay)]
    a, u = letters("a", axes), letters("u", axes)
    kept = [name for k, one in enumerate(signals.references) for name in names(k, one)]
    r = letters("r", len(signals.references))
    y = queue[0]  # what the controller sees is the oldest of what was measured
    uniform, noise, normal = normals(len(around.noise))
    errors = {j: x for x, (j, _) in zip(normal, around.noise, strict=True)}
    state = [*s, *(name for row in queue for name in row), *kept, *z, *(name for row in late for name in row)]
    look = f"{listed(t)}= look({listed(s)})" if plant.observe else f"{listed(t)}= {listed(s)}"
    scope: dict[str, Any] = signals.functions._asdict() | {"gaussians": gaussians, "drawn": drawn}
    scope |= {"start": plant.reset.python, "act": plant.step.python}
    scope |= {"look": plant.observe.python} if plant.observe else {}
    scope |= {"pay": around.reward.function} if around.reward else {}
    scope |= {f"E{j}": spread for j, spread in around.noise} | {"inf": math.inf}

    lines = [f"{listed(u)}= applied({listed([*y, *r, *z, *a])})"]
    if around.reward:
        # memory as the law saw it, before it takes in this step
        lines += [f"{symbol} = {text}" for symbol, text in _remembered(signals, around.reward.symbols, y)]
    lines += [f"{listed(z)}= after({listed([*y, *r, *z, *u])})"] if z else []
    applied = late[0] if late else u
    plant_noise = letters("c", plant.step_noise)
    lines.append(f"({listed(s)}), reward, terminated = act({listed([*s, *applied, *plant_noise])})")
    for k, row in enumerate(late):
        lines.append(f"{listed(row)}= {listed(late[k + 1] if k + 1 < len(late) else u)}")
    lines.append(look)
    if around.reward:
        lines.append(f"reward = pay({', '.join(around.reward.symbols)})")
        if around.beyond is not None:
            lines.append(f"reward = min(reward, {around.beyond!r}) if {s[-1]} > 0.5 else reward")
    if around.trips:
        beyond = " or ".join(f"t{j} < {low} or t{j} > {high}" for j, low, high in around.trips)
        lines += [f"tripped = {beyond}", f"reward = reward - {around.trip_cost!r} if tripped else reward"]
        lines.append("terminated = terminated or tripped")
    for k, row in enumerate(queue[:-1]):
        lines.append(f"{listed(row)}= {listed(queue[k + 1])}")
    lines += [*noise, *_measured(queue[-1], t, errors, signals.measured)]
    moves = [line for k, one in enumerate(signals.references) for line in next_lines(k, one)]
    draws = [name for k, one in enumerate(signals.references) if one.changes for name in chances(k, one)]
    lines += [*moves, f"return ({listed(state)}), reward, terminated"]
    stepped = made(scope, f"step({listed([*state, *a, *plant_noise, *uniform, *draws])})", lines)

    reset_noise = letters("c", plant.reset_noise)
    draws = [name for k, one in enumerate(signals.references) for name in chances(k, one)]
    lines = [
        f"{listed(s)}= start({listed(reset_noise)})",
        look,
        *noise,
        *_measured(queue[-1], t, errors, signals.measured),
    ]
    lines += [f"{listed(row)}= {listed(queue[-1])}" for row in queue[:-1]]
    lines += [line for k, one in enumerate(signals.references) for line in first_lines(k, one)]
    lines += [f"{listed(z)}= first({listed([*y, *r])})"] if z else []
    lines += [f"{listed(row)}= {', '.join(map(repr, signals.neutral))}," for row in late]
    started = made(scope, f"reset({listed([*reset_noise, *uniform, *draws])})", [*lines, f"return ({listed(state)})"])

    seen = made(scope, f"observe({listed(state)})", [f"return seen({listed([*y, *r, *z])})"])
    functions = PlantFunction("reset", started), PlantFunction("step", stepped), PlantFunction("observe", seen)
    return replace(make_plant(*functions, axes), origin=(looped, (plant, signals, around)))


def _remembered(signals: Signals, symbols: Sequence[str], y: Sequence[str]) -> list[tuple[str, str]]:
    """The variables of the memory that a reward asks for, at the time of the decision."""
    place = {f"y{j}": name for j, name in enumerate(y)}
    asked = {symbol for symbol in symbols if symbol.startswith("m")}
    basic = {symbol: python(one, lambda s: place.get(s, s)) for symbol, one in signals.seen_lines()}
    found = []
    for symbol, one in signals.seen_lines():
        if symbol in asked:

            def renamed(name: str) -> str:
                return f"({basic[name]})" if name.startswith("e") else place.get(name, name)

            found.append((symbol, python(one, renamed)))
    return found


def _measured(row: Sequence[str], true: Sequence[str], errors: dict[int, str], axes: Sequence[Axis]) -> list[str]:
    """With its error, within the bounds of its axis."""
    lines = []
    for j, name in enumerate(row):
        blurred = bounded(f"{true[j]} + E{j} * {errors[j]}", axes[j]) if j in errors else true[j]
        lines.append(f"{name} = {blurred}")
    return lines


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
        one, minus, other = symbol.partition(" - ")
        if one not in places or (minus and other not in places):
            return None
        arguments.append(f"{places[one]}{minus}{places[other] if minus else ''}")
    d, axes = len(signals.state), signals.actions.axes
    names = [*(f"o{j}" for j in range(d)), *(f"a{j}" for j in range(axes)), *(f"n{j}" for j in range(d))]
    paid = made({"pay": around.reward.function}, f"reward({', '.join(names)})", [f"return pay({', '.join(arguments)})"])
    return KnownOutcome(paid, None, d, axes, origin=(loop_known, (signals, around)))


def _places(signals: Signals, around: Surroundings) -> dict[str, str]:
    """Where the symbols of a reward stand: o in the observation, n in the next one, a in the action."""
    shown = {axis.name: j for j, axis in enumerate(signals.state)}
    blurred = {j for j, _ in around.noise}
    found = {}
    for j, axis in enumerate(signals.measured):
        if axis.name in shown and j not in blurred and around.sensor_delay == 0:
            found[f"t{j}"] = f"n{shown[axis.name]}"
    for name, symbol in signals.symbols.items():
        if name in shown and symbol[0] in "rm":
            found[symbol] = f"o{shown[name]}"
    for j, name in enumerate(signals.action_names):
        if f"previous({name})" in shown:
            found[f"u{j}"] = f"n{shown[f'previous({name})']}"
        elif not (signals.increments or signals.rates or signals.interlocks):
            found[f"u{j}"] = f"a{j}"
    return found
