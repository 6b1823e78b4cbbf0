"""What a proof is about: one plant with a memoryless law, its variables by name, and hashes of both.

The checker compares the hashes so that nobody reads a certificate for something else. It trusts them with nothing more:
what it verifies, it verifies for the plant and the controller that it is given.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.assemble import with_parameters
from spaql.plants.axes import Axis, Continuous
from spaql.plants.catalog import CATALOG
from spaql.plants.compile import function_of, listed
from spaql.plants.compile import names as letters
from spaql.plants.equations import Between
from spaql.plants.featured import attached, bare
from spaql.plants.loop import signals_around, stated
from spaql.plants.loop_plant import Surroundings
from spaql.plants.make import make_from_catalog, plant_of
from spaql.plants.ode import ode_plant
from spaql.plants.plant import Plant, PlantFunction, make_plant
from spaql.plants.problem import Problem
from spaql.policy.controller import Controller
from spaql.policy.outputs import leaf
from spaql.policy.policy import Policy
from spaql.proofs.graph import Graph
from spaql.proofs.in_loop import Joined, joined, on_plant, plant_of_functions
from spaql.proofs.tracing import paths
from spaql.trees.laws import CLIP
from spaql.trees.tree import Builder, Tree

Bounds = dict[str, tuple[float, float]]


class OnePlant(NamedTuple):
    """What a question is about, with the parameters that are ranges: a plant in no loop, and a memoryless law."""

    problem: Problem
    names: list[str]
    rules: Tree | None
    sensors: Array  # by how much what the law sees may be off
    wrong: Array  # the same of what is measured, as it was asked
    alone: Problem  # the plant itself
    loop: Joined | None  # what was joined with it


def one_plant(
    about: Problem | Controller, ranges: Bounds, wrong: Array, asked: list[Any], law: Tree | None
) -> OnePlant:
    """The loop, and a controller that is a function, become parts of the plant.

    `wrong`: by how much each measured variable may be off; `asked`: variables of which something is.
    """
    controller = about if isinstance(about, Controller) else None
    given: Problem = about.problem if isinstance(about, Controller) else about
    if given.plant is None or not hasattr(given.plant, "step"):
        raise SpaqlError(f"{given.name} has no plant with equations, so nothing can be proven about it")
    signals, around, alone = signals_around(given), Surroundings(), bare(given)
    if given.signals is not None:
        alone, signals, around = stated(given)
    alone = _with_ranges(alone, ranges)
    assert alone.plant is not None
    names, features = state_names(alone), given.features
    if given.signals is None and controller is None and (features is None or not wrong.any()):
        whole = attached(alone, features, given.state[len(given.measured) :])
        off = np.concatenate([wrong, np.zeros(len(whole.state) - len(wrong))])
        return OnePlant(whole, names, law, off, wrong, alone, None)
    for j, _ in around.noise:
        if wrong[j] == 0.0:
            name = signals.measured[j].name
            such = f"say how far it may be off, sensors={{{name!r}: ...}}"
            raise SpaqlError(f"the noise of the sensor of {name} is normal, which has no bounds: {such}")
    loop = joined(given, alone.plant, names, signals, around, wrong, asked, law)
    loop = reduced(loop, asked)
    problem, rules = (loop.problem, loop.rules) if controller is None else with_function(loop.problem, controller)
    return OnePlant(problem, loop.names, rules, np.zeros(len(problem.state)), wrong, alone, loop)


def _with_ranges(problem: Problem, ranges: Bounds) -> Problem:
    """The problem whose plant draws these parameters."""
    if not ranges:
        return problem
    drawn = {name: Between(*ends) for name, ends in ranges.items()}
    origin: Any = getattr(problem.plant, "origin", None) or (None, ({},))
    make, made_of = origin
    if make is plant_of:
        name, given = made_of
        drawing = make_from_catalog(name, dict(given) | drawn)
        return replace(problem, plant=drawing.plant, parameters=drawing.parameters)
    if make not in (with_parameters, ode_plant):
        raise SpaqlError(f"{problem.name} has no parameters: give them to from_plant(..., parameters=...)")
    *parts, given = made_of
    unknown = [name for name in drawn if name not in given]
    if unknown:
        raise SpaqlError(f"{problem.name} has no parameter {echoed(unknown[0])}: choose among {', '.join(given)}")
    return replace(problem, plant=make(*parts, dict(given) | drawn))


def state_names(problem: Problem) -> list[str]:
    """Of the plant's own variables: those of the catalog, what is observed, or the arguments of `step`; then parameters
    that an episode draws."""
    plant: Any = problem.plant
    if plant.flow is not None:
        return list(plant.flow.names)
    origin: Any = plant.origin or (None, None)
    make, made_of = origin
    given: Mapping[str, Any] = {}
    arguments = list(inspect.signature(plant.step.python).parameters)
    names = [axis.name for axis in problem.state] if plant.observe is None else []
    if make is plant_of:
        name, given = made_of
        names = list(CATALOG[name].equations.variables)
    elif make is with_parameters:
        _, step, observe, _, given = made_of
        arguments = [name for name in inspect.signature(step.python).parameters if name not in given]
        names = [axis.name for axis in problem.state] if observe is None else []
    drawn = [name for name, value in given.items() if isinstance(value, Between)]
    known = plant.state_dim - len(drawn)
    return [*(names if len(names) == known else arguments[:known]), *drawn]


# -- variables that something depends on -------------------------------------------------------------------------------


def reduced(loop: Joined, asked: list[Any]) -> Joined:
    """Without the variables on which nothing depends."""
    plant, names = loop.problem.plant, loop.names
    assert plant is not None
    kept = _needed(plant, {j for j, name in enumerate(names) if j < loop.chosen or name in asked}, loop.rules)
    if len(kept) == len(names):
        return loop
    less, first = _without(plant, PlantFunction("reset", loop.first), kept)
    return loop._replace(problem=replace(loop.problem, plant=less), names=[names[j] for j in kept], first=first)


def _needed(plant: Plant, asked: set[int], rules: Tree | None) -> list[int]:
    """State variables on which what the law uses, a reward or an end depends, and those that are asked about."""
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
    lines = [f"({listed(x)}), reward, terminated = act({whole}{listed(a, c)})"]
    lines.append(f"return ({listed(some)}), reward, terminated")
    step = function_of({"act": plant.step.python}, f"step({listed(some, a, c)})", lines)
    observe = function_of({"act": plant.observe.python}, f"observe({listed(some)})", [f"return act({whole})"])
    return plant_of_functions(rest(plant.reset), step, observe, plant.action_dim), rest(first)


# -- controllers that are Python functions -----------------------------------------------------------------------------


def with_function(problem: Problem, controller: Controller) -> tuple[Problem, Tree]:
    """The plant whose controller is a function, and the law that does what it says.

    A function without branches becomes what is observed, and the law holds it within the range of the action. One with
    branches becomes a part of the step, and the law does nothing.
    """
    function, actions, plant = controller.function, problem.actions, problem.plant
    assert plant is not None
    if not inspect.isfunction(function):
        raise SpaqlError(f"{controller.name} is a {type(function).__name__}: proofs are about plain Python functions")
    graph = Graph()
    ways = paths(function, len(problem.state), graph)
    if any(len(way.outputs) != actions.axes for way in ways):
        raise SpaqlError(f"{controller.name} returns a truth: write `1.0 if ... else 0.0`")
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
    return replace(on_plant(problem, whole, state), actions=actions), rules


def _one_of_the_set(controller: Controller, node: tuple[Any, ...], values: Sequence[float]) -> None:
    kind, *value = node
    if kind != "const" or value[0] not in values:
        said = f"{value[0]:g}" if kind == "const" else "a number that it has computed"
        wanted = ", ".join(f"{value:g}" for value in values)
        raise SpaqlError(f"{controller.name} returns {said}, and not exactly one of {wanted}: no proof without that")


# -- hashes ------------------------------------------------------------------------------------------------------------


def of_rules(rules: Tree) -> str:
    """Of all numbers of a controller."""
    parts = [*(rules.nodes[name] for name in ("feature", "cut", "low", "high")), rules.weights, rules.actions]
    parts += [] if rules.laws is None else [np.asarray(part, float) for part in rules.laws]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.shape}".encode() + np.ascontiguousarray(part, "<f8").tobytes())
    return digest.hexdigest()


def of_controller(policy: Policy | Controller) -> str:
    """Of the rules of a policy, or of the expressions of a function."""
    if isinstance(policy, Controller):
        return _of_paths([(policy.function, len(policy.problem.state))], hashlib.sha256())
    return of_rules(policy.rules)


def of_plant(problem: Problem) -> str:
    """Of the expressions of `step` and `observe` on all their paths, or of the differential equation: the same on every
    machine and Python."""
    plant, digest = problem.plant, hashlib.sha256()
    assert plant is not None
    seen = (None if plant.observe is None else plant.observe.python, plant.state_dim)
    parts = [(plant.step.python, plant.step.parameters), seen]
    if plant.flow is not None:
        flow, states = plant.flow, plant.state_dim
        parts = [(flow.derivative, states + plant.action_dim), (flow.over, states), seen]
        digest.update(repr(("differential equation", flow.dt, flow.names)).encode())
    return _of_paths(parts, digest)


def _of_paths(parts: Sequence[tuple[Callable[..., Any] | None, int]], digest: Any) -> str:
    for function, inputs in parts:
        graph = Graph()
        ways = [] if function is None else paths(function, inputs, graph)
        digest.update(repr((graph.nodes, ways)).encode())
    text: str = digest.hexdigest()
    return text
