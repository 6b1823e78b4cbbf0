"""A plant, the loop around it and the memory of its controller as one plant with a memoryless law.

    def step(s0, s1, r0, z0, p0, a0):           a tank with a PI controller whose action is late by one step
        q0_0, q0_1, = look(s0, s1)
        u0, = applied(q0_0, q0_1, r0, z0, a0)
        z0, = after(q0_0, q0_1, r0, z0, u0)
        (s0, s1), reward, terminated = act(s0, s1, p0)
        p0, = u0,
        ...

These are the functions of the loop (loop_plant.py), called in the same order. Three things differ, and each of them
allows more than the loop does:

    sensors      are off by any number within a bound in every step, instead of by normal noise
    references   that change within an episode are anywhere in their range in every step
    variables    that follow from others are left out: without delay and noise, what was measured

Where the change of an action is limited, a law is said to choose the change (`of_changes`): of a score s, the action v
before and the limit c,  clip(clip(s, low, high), v - c, v + c)  =  clip(v + clip(s - v, -c, c), low, high)  for every v
from low to high, where all actions are. So what the limit does is known as well as what the range of the action does.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.axes import Axis
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.equations import drawn
from spaql.plants.loop_plant import Surroundings, look_line, measured_lines, scope_of, step_lines
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.plants.signals import Signals
from spaql.policy.digits import counted
from spaql.trees.laws import CLIP, LeafLaws
from spaql.trees.tree import LEAF, Tree

PADDED = 1e-9  # of a range: more than what is lost where a reference is rounded


class Joined(NamedTuple):
    """Plant and loop as one plant."""

    problem: Problem  # in no loop
    names: list[str]  # of its state variables
    chosen: int  # of them, those that an episode may begin with: plant and references; the others follow
    first: Callable[..., Any]  # of these, and of a number from 0 to 1 for each sensor that is off: all
    sensors: int  # that are off
    begins: Array  # (references, 2) where they begin
    rules: Tree | None  # of the law
    words: tuple[str, ...]  # about the loop
    always: dict[str, tuple[float, float]]  # by name, where a variable is, which no start may leave


class Letters(NamedTuple):
    """Of the state, in this order, and of what else a step is given."""

    plant: list[str]
    references: list[str]
    queue: list[list[str]]  # measured, the oldest first; the newest is a variable only if sensors are off
    registers: list[str]
    late: list[list[str]]
    errors: list[str]
    off: list[str]  # numbers from 0 to 1, of sensors
    moves: list[str]  # the same, of references that change

    @property
    def state(self) -> list[str]:
        queue = self.queue if self.off else self.queue[:-1]
        rows = [name for row in (*queue, self.registers, *self.late) for name in row]
        return [*self.plant, *self.references, *rows, *self.errors]


def joined(
    problem: Problem, plant: Plant, names: Sequence[str], signals: Signals, around: Surroundings, wrong: Array,
    asked: Sequence[Any], rules: Tree | None,
) -> Joined:  # fmt: skip
    """`plant`, whose state has these names, in the loop of the problem. `wrong`: by how much each measured variable may
    be off; `asked`: variables, errors of references among them; `rules`: of the law, if there is one."""
    stated = signals
    if signals.rates and rules:
        rules, signals = of_changes(rules, signals), in_changes(signals)
    errors = [name for name in signals.errors if name in asked]
    numbers = [list(signals.errors).index(name) for name in errors]
    x = Letters(
        plant=letters("s", plant.state_dim), references=letters("r", len(signals.references)),
        queue=[letters(f"q{k}_", plant.observation_dim) for k in range(around.sensor_delay + 1)],
        registers=letters("z", len(signals.registers)),
        late=[letters(f"p{k}_", plant.action_dim) for k in range(around.actuator_delay)],
        errors=[f"e{n}" for n in numbers], off=[f"v{j}" for j in np.flatnonzero(wrong)],
        moves=[f"w{k}" for k, reference in enumerate(signals.references) if reference.changes],
    )  # fmt: skip
    scope = scope_of(plant, signals, around)
    state, features, raw = signals.state, problem.features, len(problem.measured)
    if features is not None:  # of what the law sees, behind the variables that it knows
        inputs = len(x.queue[0]) + len(x.references) + len(x.registers)
        scope["seen"] = features.behind(signals.functions.seen, inputs, len(state) - raw)
        state = (*state[:raw], *problem.state[raw:], *state[raw:])
    t = letters("t", plant.observation_dim)
    apart = [f"e{n} = r{k} - t{j}" for n, (k, j) in enumerate(signals.errors.values()) if n in numbers]
    newest = [] if x.off else [look_line(plant, x.queue[-1])]
    # a sensor is off by any number within a bound
    off = {j: f"{most!r} * (2.0 * v{j} - 1.0)" for j, most in enumerate(wrong.tolist()) if most > 0.0}
    step = function_of(scope, *_step(plant, signals, around, off, x, newest, apart))
    lines = [look_line(plant, t), *measured_lines(x.queue[-1], off, signals.measured)]
    lines += [f"{listed(row)}= {listed(x.queue[-1])}" for row in x.queue[:-1]]
    lines += [f"{listed(x.registers)}= first({listed(x.queue[0], x.references)})"] if x.registers else []
    lines += [f"{listed(row)}= {', '.join(map(repr, signals.neutral))}," for row in x.late]
    head = f"begins({listed(x.plant, x.references, x.off)})"
    first = function_of(scope, head, [*lines, *apart, f"return ({listed(x.state)})"])
    begins = [(item.values[0],) * 2 if item.values else (item.low, item.high) for item in signals.references]
    reset = _reset(plant, x, begins, first)
    lines = [*newest, f"return seen({listed(x.queue[0], x.references, x.registers)})"]
    observe = function_of(scope, f"observe({listed(x.state)})", lines)
    whole = plant_of_functions(reset, step, observe, plant.action_dim)
    said, starts = [*names, *_names(signals, around, bool(x.off)), *errors], np.array(begins, float).reshape(-1, 2)
    for name in said:
        if said.count(name) > 1:
            raise SpaqlError(f"two variables of the plant and its loop are called {name!r}: rename the reference")
    return Joined(
        problem=on_plant(problem, whole, state), names=said, chosen=len(x.plant) + len(x.references), first=first,
        sensors=len(x.off), begins=starts, rules=rules, words=_told(stated, around, wrong),
        always=_applied(signals) if signals is not stated else {},
    )  # fmt: skip


def _applied(signals: Signals) -> dict[str, tuple[float, float]]:
    """Where what was applied before is: for other values a change is not what the limit of it does."""
    low, high = signals.actuator.bounds
    return {f"previous({name})": (float(low[j]), float(high[j])) for j, name in enumerate(signals.action_names)}


def _told(signals: Signals, around: Surroundings, wrong: Array) -> tuple[str, ...]:
    """What a certificate says of the loop."""
    sensors = zip(signals.measured, wrong.tolist(), strict=True)
    parts = [f"{axis.name} wrong by up to {most!r}" for axis, most in sensors if most > 0.0]
    for what, steps in (("sensors", around.sensor_delay), ("actions", around.actuator_delay)):
        parts += [f"{what} late by {counted(steps, 'step')}"] if steps else []
    for reference in signals.references:
        low, high = reference.low, reference.high
        changes = f"{reference.name} from {low:g} to {high:g} in every step"
        parts.append(changes if reference.changes else f"{reference.name} held")
    limits = {"limited to": signals.rates, "chosen up to": signals.increments}
    for how, most in limits.items():
        parts += [f"changes of {name} {how} {x:g}" for name, x in zip(signals.action_names, most, strict=False)]
    parts += [str(lock) for lock in signals.interlocks]
    return (*parts, *([f"memory of {', '.join(item.name for item in signals.items)}"] if signals.items else []))


def plant_of_functions(reset: Any, step: Any, observe: Any, actions: int) -> Plant:
    return make_plant(
        PlantFunction("reset", reset), PlantFunction("step", step), PlantFunction("observe", observe), actions
    )


def on_plant(problem: Problem, plant: Plant, state: tuple[Axis, ...]) -> Problem:
    gone: dict[str, Any] = {"signals": None, "known": None, "limits": (), "reference": None, "features": None}
    return replace(problem, plant=plant, state=state, env=None, **gone)


def _step(
    plant: Plant, signals: Signals, around: Surroundings, off: dict[int, str], x: Letters, newest: list[str],
    apart: list[str],
) -> tuple[str, list[str]]:  # fmt: skip
    """Head and lines of a step."""
    a, c = letters("a", plant.action_dim), letters("c", plant.step_noise)
    lines = [*newest, *step_lines(plant, signals, around, x.queue, x.registers, x.late)]
    lines += measured_lines(x.queue[-1], off, signals.measured) if x.off else []
    for k, reference in enumerate(signals.references):
        if reference.changes:
            low, high = span(reference)
            lines.append(f"r{k} = drawn({low!r}, {high!r}, w{k})")
    lines += [*apart, f"return ({listed(x.state)}), reward, terminated"]
    return f"step({listed(x.state, a, c, x.off, x.moves)})", lines


def _reset(plant: Plant, x: Letters, begins: list[tuple[float, float]], first: Callable[..., Any]) -> Any:
    c, w = letters("c", plant.reset_noise), letters("w", len(begins))
    lines = [f"{listed(x.plant)}= start({listed(c)})"]
    lines += [f"r{k} = drawn({low!r}, {high!r}, w{k})" for k, (low, high) in enumerate(begins)]
    scope = {"start": plant.reset.python, "begins": first, "drawn": drawn}
    lines.append(f"return begins({listed(x.plant, x.references, x.off)})")
    return function_of(scope, f"reset({listed(c, w, x.off)})", lines)


def span(reference: Reference) -> tuple[float, float]:
    """Where a reference that changes may be, and a little more."""
    low, high = reference.low, reference.high
    if reference.values:
        low, high = min(reference.values), max(reference.values)
    more = PADDED * (abs(low) + abs(high))
    return low - more, high + more


def _names(signals: Signals, around: Surroundings, off: bool) -> list[str]:
    """Of what a loop adds to the state of its plant."""
    references = [reference.name for reference in signals.references]
    rows = [f"{axis.name} as seen{_later(k)}" for k in range(around.sensor_delay + off) for axis in signals.measured]
    sums = [weighted.terms for symbol, weighted in signals.seen_lines() if symbol[0] == "m"]
    of_items = {terms[0][1]: item.name for item, terms in zip(signals.items, sums, strict=True) if len(terms) == 1}
    registers = [of_items.get(f"z{i}", register.name) for i, register in enumerate(signals.registers)]
    late = [f"{name} to apply{_later(k)}" for k in range(around.actuator_delay) for name in signals.action_names]
    return [*references, *rows, *registers, *late]


def _later(steps: int) -> str:
    return "" if steps == 0 else f" {steps} later"


def in_changes(signals: Signals) -> Signals:
    """The loop whose law chooses the change of what is applied, and observes what was applied before."""
    before = [f"previous({name})" for name in signals.action_names]
    return replace(signals, rates=(), increments=signals.rates, shown=(*(axis.name for axis in signals.state), *before))


def of_changes(rules: Tree, signals: Signals) -> Tree:
    """The law in that loop."""
    axes, old = len(signals.rates), rules.variables
    laws, nodes = rules.laws, rules.nodes.copy()
    gains = np.zeros((len(nodes), axes, old)) if laws is None else laws.gains
    offsets = rules.actions if laws is None else laws.offsets
    leaves = (nodes["feature"] == LEAF)[:, None, None]
    nodes["feature"][nodes["feature"] == old] = old + axes  # a test of several variables
    gains = np.concatenate([gains, np.where(leaves, -np.eye(axes), 0.0)], axis=2)
    weights = np.hstack([rules.weights, np.zeros((len(nodes), axes))])
    most = np.array(signals.rates)
    return Tree(nodes, np.zeros_like(rules.actions), weights, LeafLaws(gains, offsets, -most, most, np.zeros(0), CLIP))
