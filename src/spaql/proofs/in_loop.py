"""A plant, the loop around it and the memory of its controller as one plant with a memoryless law: what proofs are about.

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

A controller that is a Python function becomes a part of the plant, too: what it returns is all that its law observes.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.assemble import bounded
from spaql.plants.axes import Axis, Continuous
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.equations import drawn
from spaql.plants.loop_plant import Surroundings, remembered
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.plants.signals import Signals
from spaql.policy.digits import counted
from spaql.policy.outputs import leaf
from spaql.proofs.graph import Graph
from spaql.proofs.tracing import paths
from spaql.trees.laws import CLIP, LeafLaws
from spaql.trees.tree import LEAF, Builder, Tree

if TYPE_CHECKING:
    from spaql.policy.controller import Controller

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
    told: tuple[str, ...]  # about the loop


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
        letters("s", plant.state_dim), letters("r", len(signals.references)),
        [letters(f"q{k}_", plant.observation_dim) for k in range(around.sensor_delay + 1)],
        letters("z", len(signals.registers)), [letters(f"p{k}_", plant.action_dim) for k in range(around.actuator_delay)],
        [f"e{n}" for n in numbers], [f"v{j}" for j in np.flatnonzero(wrong)],
        [f"w{k}" for k, reference in enumerate(signals.references) if reference.changes],
    )  # fmt: skip
    scope: dict[str, Any] = signals.functions._asdict() | {"act": plant.step.python, "drawn": drawn, "inf": math.inf}
    scope |= {"look": plant.observe.python} if plant.observe else {}
    scope |= {"pay": around.reward.function} if around.reward else {}
    t = letters("t", plant.observation_dim)
    apart = [f"e{n} = r{k} - t{j}" for n, (k, j) in enumerate(signals.errors.values()) if n in numbers]
    newest = [] if x.off else [_look(plant, x.queue[-1])]
    step = function_of(scope, *_step(plant, signals, around, wrong, x, newest, apart))
    lines = [_look(plant, t), *_measured(x.queue[-1], wrong, signals.measured)]
    lines += [f"{listed(row)}= {listed(x.queue[-1])}" for row in x.queue[:-1]]
    lines += [f"{listed(x.registers)}= first({listed(x.queue[0], x.references)})"] if x.registers else []
    lines += [f"{listed(row)}= {', '.join(map(repr, signals.neutral))}," for row in x.late]
    head = f"begins({listed(x.plant, x.references, x.off)})"
    first = function_of(scope, head, [*lines, *apart, f"return ({listed(x.state)})"])
    begins = [(item.values[0],) * 2 if item.values else (item.low, item.high) for item in signals.references]
    reset = _reset(plant, x, begins, first)
    lines = [*newest, f"return seen({listed(x.queue[0], x.references, x.registers)})"]
    observe = function_of(scope, f"observe({listed(x.state)})", lines)
    kinds = {"reset": reset, "step": step, "observe": observe}
    whole = make_plant(*(PlantFunction(kind, function) for kind, function in kinds.items()), plant.action_dim)
    chosen, said = len(x.plant) + len(x.references), [*names, *_names(signals, around, bool(x.off)), *errors]
    kept = _needed(whole, {j for j, name in enumerate(said) if j < chosen or name in asked}, rules)
    if len(kept) < len(said):
        whole, first = _without(whole, PlantFunction("reset", first), kept)
    starts = np.array(begins, float).reshape(-1, 2)
    return Joined(
        _bare(problem, whole, signals.state), [said[j] for j in kept], chosen, first, len(x.off), starts, rules,
        _told(stated, around, wrong),
    )  # fmt: skip


def _told(signals: Signals, around: Surroundings, wrong: Array) -> tuple[str, ...]:
    """What a certificate says of the loop."""
    parts = [f"{axis.name} wrong by up to {most!r}" for axis, most in zip(signals.measured, wrong.tolist(), strict=True) if most]
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


def _bare(problem: Problem, plant: Plant, state: tuple[Axis, ...]) -> Problem:
    return replace(problem, plant=plant, state=state, env=None, signals=None, known=None, limits=(), reference=None)


def _needed(plant: Plant, asked: set[int], rules: Tree | None) -> list[int]:
    """State variables on which something depends: what the law uses, a reward, an end, or those that are asked about."""
    graph = Graph()
    assert plant.observe is not None
    looks = paths(plant.observe.python, plant.state_dim, graph)
    ways = paths(plant.step.python, plant.step.parameters, graph)
    reads: list[set[int]] = []  # inputs, by node: those of operands stand before
    for operation, *operands in graph.nodes:
        inner = [] if operation in ("x", "const") else [reads[operand] for operand in operands]
        reads.append({operands[0]} if operation == "x" else set().union(*inner))
    used = range(plant.observation_dim) if rules is None else _used(rules)
    ends = [look.outputs[j] for look in looks for j in used] + [way.outputs[plant.state_dim] for way in ways]
    for way in (*looks, *ways):
        ends += [condition for condition, _ in way.conditions] + ([] if way.truth is None else [way.truth])
    needed, pending = set[int](), asked.union(*(reads[node] for node in ends))
    while pending:
        at = pending.pop()
        needed.add(at)
        if at < plant.state_dim:
            pending |= set().union(*(reads[way.outputs[at]] for way in ways)) - needed
    return sorted(at for at in needed if at < plant.state_dim)


def _used(rules: Tree) -> list[int]:
    """What a law observes to some effect."""
    weights = [rules.weights, np.eye(rules.variables)[[j for j in rules.nodes["feature"] if 0 <= j < rules.variables]]]
    weights += [] if rules.laws is None else list(np.swapaxes(rules.laws.gains, 0, 1))
    return np.flatnonzero(np.concatenate(weights).any(axis=0)).tolist()


def _without(plant: Plant, first: PlantFunction, kept: list[int]) -> tuple[Plant, Callable[..., Any]]:
    """The plant of these state variables alone, and in which state it begins."""
    x, a, c = letters("x", plant.state_dim), letters("a", plant.action_dim), letters("c", plant.step_noise)
    some = [x[j] for j in kept]
    whole = listed(name if j in kept else "0.0" for j, name in enumerate(x))

    def rest(function: PlantFunction) -> Callable[..., Any]:
        arguments = listed(letters("u", function.parameters))
        lines = [f"{listed(x)}= act({arguments})", f"return ({listed(some)})"]
        begins: Callable[..., Any] = function_of({"act": function.python}, f"{function.kind}({arguments})", lines)
        return begins

    assert plant.observe is not None
    lines = [f"({listed(x)}), reward, terminated = act({whole}{listed(a, c)})", f"return ({listed(some)}), reward, terminated"]
    step = function_of({"act": plant.step.python}, f"step({listed(some, a, c)})", lines)
    observe = function_of({"act": plant.observe.python}, f"observe({listed(some)})", [f"return act({whole})"])
    kinds = {"reset": rest(plant.reset), "step": step, "observe": observe}
    return make_plant(*(PlantFunction(kind, made) for kind, made in kinds.items()), plant.action_dim), rest(first)


def _look(plant: Plant, into: Sequence[str]) -> str:
    state = listed(letters("s", plant.state_dim))
    return f"{listed(into)}= look({state})" if plant.observe else f"{listed(into)}= {state}"


def _measured(row: Sequence[str], wrong: Array, axes: Sequence[Axis]) -> list[str]:
    """What sensors say of t0, t1, ...: off by any number within a bound, and within the bounds of their axes."""
    lines = []
    for j, (name, most) in enumerate(zip(row, wrong.tolist(), strict=True)):
        off = bounded(f"t{j} + {most!r} * (2.0 * v{j} - 1.0)", axes[j])
        lines.append(f"{name} = {off if most > 0.0 else f't{j}'}")
    return lines


def _step(
    plant: Plant, signals: Signals, around: Surroundings, wrong: Array, x: Letters, newest: list[str], apart: list[str],
) -> tuple[str, list[str]]:  # fmt: skip
    """Head and lines of a step."""
    a, u, c = letters("a", plant.action_dim), letters("u", plant.action_dim), letters("c", plant.step_noise)
    y, r, z, late = x.queue[0], x.references, x.registers, x.late
    lines = [*newest, f"{listed(u)}= applied({listed(y, r, z, a)})"]
    if around.reward:
        lines += remembered(signals, around.reward.symbols, y)
    lines += [f"{listed(z)}= after({listed(y, r, z, u)})"] if z else []
    lines.append(f"({listed(x.plant)}), reward, terminated = act({listed(x.plant, late[0] if late else u, c)})")
    lines += [f"{listed(row)}= {listed(following)}" for row, following in zip(late, [*late[1:], u], strict=False)]
    lines.append(_look(plant, letters("t", plant.observation_dim)))
    if around.reward:
        lines.append(f"reward = pay({', '.join(around.reward.symbols)})")
        if around.beyond is not None:
            lines.append(f"reward = min(reward, {around.beyond!r}) if {x.plant[-1]} > 0.5 else reward")
    if around.trips:
        beyond = " or ".join(f"t{j} < {low} or t{j} > {high}" for j, low, high in around.trips)
        lines += [f"tripped = {beyond}", f"reward = reward - {around.trip_cost!r} if tripped else reward"]
        lines.append("terminated = terminated or tripped")
    lines += [f"{listed(row)}= {listed(x.queue[k + 1])}" for k, row in enumerate(x.queue[:-1])]
    lines += _measured(x.queue[-1], wrong, signals.measured) if x.off else []
    for k, reference in enumerate(signals.references):
        if reference.changes:
            low, high = span(reference)
            lines.append(f"r{k} = drawn({low!r}, {high!r}, w{k})")
    return f"step({listed(x.state, a, c, x.off, x.moves)})", [*lines, *apart, f"return ({listed(x.state)}), reward, terminated"]


def _reset(plant: Plant, x: Letters, begins: list[tuple[float, float]], first: Callable[..., Any]) -> Callable[..., Any]:
    c, w = letters("c", plant.reset_noise), letters("w", len(begins))
    lines = [f"{listed(x.plant)}= start({listed(c)})"]
    lines += [f"r{k} = drawn({low!r}, {high!r}, w{k})" for k, (low, high) in enumerate(begins)]
    scope = {"start": plant.reset.python, "begins": first, "drawn": drawn}
    lines.append(f"return begins({listed(x.plant, x.references, x.off)})")
    reset: Callable[..., Any] = function_of(scope, f"reset({listed(c, w, x.off)})", lines)
    return reset


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
    limits = np.array(signals.rates)
    return Tree(nodes, np.zeros_like(rules.actions), weights, LeafLaws(gains, offsets, -limits, limits, np.zeros(0), CLIP))


# -- controllers that are Python functions -----------------------------------------------------------------------------


def with_function(problem: Problem, controller: "Controller") -> tuple[Problem, Tree]:
    """The plant whose controller is a function, and the law that does what it says.

    A function without branches becomes what is observed, and the law holds it within the range of the action. One with
    branches becomes a part of the step, and the law does nothing.
    """
    function, actions, plant = controller.function, problem.actions, problem.plant
    assert plant is not None
    if not inspect.isfunction(function):
        raise SpaqlError(f"{controller.name} is a {type(function).__name__}: only plain Python functions can be proven about")
    graph = Graph()
    ways = paths(function, len(problem.state), graph)
    x, o, a = letters("x", plant.state_dim), letters("o", plant.observation_dim), letters("a", actions.axes)
    c, scope = letters("c", plant.step_noise), {"says": function, "act": plant.step.python}
    scope |= {"look": plant.observe.python} if plant.observe else {}
    (low, high), several = actions.bounds, controller.several
    says = [f"{listed(o)}= look({listed(x)})" if plant.observe else f"{listed(o)}= {listed(x)}"]
    says.append(f"{listed(a) if several else a[0]} = says({listed(o)})")
    axes, step = actions.axes, plant.step
    if len(ways) == 1 and not actions.values:
        observe = function_of(scope, f"observe({listed(x)})", [*says, f"return ({listed(a)})"])
        rules = leaf(actions, np.eye(axes), np.zeros(axes), CLIP)
    else:
        held = [f"{name} = min(max({name}, {low[j].item()!r}), {high[j].item()!r})" for j, name in enumerate(a)]
        if actions.values:
            held = []
            for way in ways:
                _one_of_the_set(controller, graph.nodes[way.outputs[0]], actions.values)
        lines = [*says, *held, f"return act({listed(x, a, c)})"]
        step = PlantFunction("step", function_of(scope, f"step({listed(x, ['nothing'], c)})", lines))
        observe, axes = function_of({}, f"observe({listed(x)})", ["return (0.0,)"]), 1
        builder = Builder(1, 1)
        builder.leaf(0.0)
        rules = builder.tree()
        actions = Continuous((-1.0,), (1.0,))
    whole = make_plant(plant.reset, step, PlantFunction("observe", observe), axes)
    state = tuple(Axis(f"output {j}", -1.0, 1.0) for j in range(axes))
    return replace(_bare(problem, whole, state), actions=actions), rules


def _one_of_the_set(controller: "Controller", node: tuple[Any, ...], values: Sequence[float]) -> None:
    kind, *value = node
    if kind != "const" or value[0] not in values:
        said = f"{value[0]:g}" if kind == "const" else "a number that it has computed"
        wanted = ", ".join(f"{value:g}" for value in values)
        raise SpaqlError(f"{controller.name} returns {said}, and not exactly one of {wanted}: no proof without that")
