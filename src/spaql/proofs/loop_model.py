"""The closed loop of a plant and a controller, as compiled code takes it.

A controller is a set of pieces. A leaf has a score per action axis, s = gains . observation +
offset, and pieces of the line of scores with an affine action on each:

    CLIP        s <= low: low;   low <= s <= high: s;   s >= high: high
    THRESHOLD   s <= 0: the first action;   s >= 0: the last one
    ORDERED     k - 1/2 <= s <= k + 1/2: action k
    constants   everywhere: the action of the leaf

SCORES has a score per action, and the highest one chooses. At the ends of pieces both sides count
as possible.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Problem
from spaql.proofs.flow_model import NO_FLOW, FlowPrograms, flow_programs
from spaql.proofs.graph import Graph, Path, joined
from spaql.proofs.machine import Registers, Result, registers, result, run
from spaql.proofs.tracing import paths
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.tree import LEAF, Tree

DOUBLE, SINGLE = 2.0**-53, 2.0**-24  # half an ulp of 1
DENORMAL = 1e-36  # above the smallest normal number of single precision: what may be flushed to zero
MOST_STATES = 40
MOST_INPUTS = 64  # a bit each (graph.py)
COLUMNS_PER_STATE = 100  # noise symbols beside those of the start, of a set that follows a differential equation


class ClosedLoop(NamedTuple):
    """Plant and controller."""

    tape: Array
    begins: Array  # of the paths of `step`, then of `observe`, then the end
    states: int
    actions: int
    seen: int
    noise: Array  # (numbers of noise, 2)
    feature: Array  # by node; -1: a leaf
    weights: Array  # (nodes, seen) of tests, those of one variable too
    cut: Array
    low: Array  # children
    high: Array
    gains: Array  # (nodes, outputs, seen)
    offsets: Array
    pieces: Array  # (nodes, outputs, pieces, 4): from a score, to a score, action there = third + fourth * score
    values: Array  # actions that SCORES chooses among
    scored: int  # 1: the laws are SCORES
    sensors: Array  # (seen,) bound of the error of each sensor
    relative: float  # half an ulp of 1 in the controller's arithmetic
    absolute: float  # what underflow may cost there
    columns: int  # noise symbols of a set
    flow: FlowPrograms  # of a differential equation: then `states` are the state and the held action
    variables: int  # of the state alone


def closed_loop(problem: Problem, rules: Tree, sensors: Array, single: bool, substeps: int = 0) -> ClosedLoop:
    """Traced, with the controller's pieces beside it. `substeps`: of the differential equation, instead of `step`."""
    plant = problem.plant
    if plant is None or not hasattr(plant, "step"):
        raise SpaqlError(f"{problem.name} has no plant with equations, so nothing can be proven about it")
    inputs = plant.state_dim + plant.action_dim + plant.step_noise
    if plant.state_dim > MOST_STATES or inputs > MOST_INPUTS:
        many = f"{plant.state_dim} state variables, and {inputs} with actions and noise"
        raise SpaqlError(f"{problem.name} has {many}: at most {MOST_STATES} and {MOST_INPUTS} can be proven about")
    graph = Graph()
    looks = [Path((), tuple(graph.node("x", j) for j in range(plant.state_dim)), None)]
    if plant.observe is not None:
        looks = paths(plant.observe.python, plant.state_dim, graph)
    if len(looks) > 1:
        raise SpaqlError(f"{problem.name}: `observe` branches, which cannot be proven about: use min, max or abs")
    states, flow = plant.state_dim, NO_FLOW
    if substeps > 0:
        tape, begins, flow = flow_programs(plant.flow, plant.action_dim, looks[0], graph, substeps)
        states += plant.action_dim
    else:
        ways = paths(plant.step.python, plant.step.parameters, graph)
        tape, begins = joined(graph, [*ways, looks[0]])
    noise = np.tile([0.0, 1.0], (plant.step_noise, 1))
    tests = rules.nodes["feature"].astype(np.int64)
    weights = rules.weights.copy()
    for node in np.flatnonzero((tests != LEAF) & (tests < rules.variables)):
        weights[node] = np.eye(rules.variables)[tests[node]]
    laws, tree = rules.laws, rules.nodes
    outputs = rules.actions.shape[1] if laws is None else laws.outputs
    shape = (len(tests), outputs)
    compares = laws is not None and laws.kind == SCORES
    return ClosedLoop(
        tape=tape, begins=begins, states=states, actions=plant.action_dim, seen=plant.observation_dim, noise=noise,
        feature=np.where(tests == LEAF, -1, tests), weights=weights, cut=tree["cut"].astype(float),
        low=tree["low"].astype(np.int64), high=tree["high"].astype(np.int64),
        gains=np.zeros((*shape, rules.variables)) if laws is None else np.ascontiguousarray(laws.gains),
        offsets=np.zeros(shape) if laws is None else np.ascontiguousarray(laws.offsets),
        pieces=constant_pieces(rules.actions) if laws is None else law_pieces(laws),
        values=np.ascontiguousarray(laws.values, float) if laws is not None and compares else np.zeros(1),
        scored=int(compares), sensors=np.asarray(sensors, float), relative=SINGLE if single else DOUBLE,
        absolute=DENORMAL if single else 0.0, columns=states * (1 + COLUMNS_PER_STATE) if substeps > 0 else states,
        flow=flow, variables=plant.state_dim,
    )  # fmt: skip


def constant_pieces(actions: Array) -> Array:
    pieces = np.zeros((*actions.shape, 1, 4))
    pieces[:, :, 0] = np.stack(np.broadcast_arrays(-math.inf, math.inf, actions, 0.0), axis=-1)
    return pieces


def law_pieces(laws: LeafLaws) -> Array:
    """All leaves have the same, but for those without a score: laws differ in their scores only."""
    values, last = laws.values.tolist(), len(laws.values) - 1
    if laws.kind == THRESHOLD:
        rows = [[(-math.inf, 0.0, values[0], 0.0), (0.0, math.inf, values[-1], 0.0)]]
    elif laws.kind == ORDERED:
        ends = [-math.inf, *(k + 0.5 for k in range(last)), math.inf]
        rows = [[(ends[k], ends[k + 1], values[k], 0.0) for k in range(last + 1)]]
    elif laws.kind == CLIP:
        bounds = zip(laws.low.tolist(), laws.high.tolist(), strict=True)
        rows = [
            [(-math.inf, low, low, 0.0), (low, high, 0.0, 1.0), (high, math.inf, high, 0.0)] for low, high in bounds
        ]
    else:
        rows = [[(-math.inf, math.inf, 0.0, 0.0)]] * laws.outputs
    pieces = np.tile(np.array(rows, float), (len(laws.offsets), 1, 1, 1))
    if laws.kind == THRESHOLD:  # a score without terms is exactly 0 in any arithmetic, where the last action is taken
        nothing = (laws.offsets[:, 0] == 0.0) & (laws.gains[:, 0] == 0.0).all(axis=1)
        pieces[nothing, 0, 0, 1] = pieces[nothing, 0, 1, 0] = -1.0
    return pieces


# -- what is known of a plant before anything is proven ----------------------------------------------------------------


def memory_of(loop: ClosedLoop) -> tuple[Registers, Result]:
    """Of the machine, for this loop."""
    inputs = loop.states + loop.actions + len(loop.noise)
    outputs = max(loop.states + 1, loop.seen, loop.flow.gaps)
    return registers(len(loop.tape), inputs), result(outputs, inputs)


def start_box(problem: Problem) -> Array:
    """What `reset` gives for all uniform numbers from 0 to 1: (states, 2)."""
    plant = problem.plant
    assert plant is not None
    if plant.flow is not None and plant.flow.start is not None:
        return np.array(plant.flow.start, float)
    box = enclosed(plant.reset.python, np.tile([0.0, 1.0], (plant.reset_noise, 1)))
    if not np.isfinite(box).all():
        raise SpaqlError(f"the start states of {problem.name} are not bounded, such as with normal noise: give `start`")
    return box


def enclosed(function: Callable[..., Any], box: Array) -> Array:
    """All that the function of these numbers may return: (numbers, 2)."""
    graph = Graph()
    ways = paths(function, len(box), graph)
    tape, begins = joined(graph, ways)
    count = len(ways[0].outputs)
    memory, out, boxes = registers(len(tape), len(box)), result(count, len(box)), []
    for begin, end in itertools.pairwise(begins):
        if run(tape, begin, end, box, False, True, memory, out):
            boxes.append(out.box.copy())
    low, high = np.min(boxes, axis=0)[:, 0], np.max(boxes, axis=0)[:, 1]
    return np.stack([low, high], axis=1)


def refuse_unbounded_noise(problem: Problem, loop: ClosedLoop, start: Array) -> None:
    """Normal noise has no bounds: nothing about every episode can be proven."""
    if len(loop.noise) == 0:
        return
    values, (numbers, out) = loop.pieces[..., 2], memory_of(loop)
    actions, middle = np.tile([values.min(), values.max()], (loop.actions, 1)), np.full(loop.noise.shape, 0.5)
    for begin, end in zip(loop.begins[:-2], loop.begins[1:-1], strict=True):
        finite = []
        for noise in (loop.noise, middle):
            run(loop.tape, begin, end, np.concatenate([start, actions, noise]), False, False, numbers, out)
            finite.append(np.isfinite(out.box[: loop.states]).all())
        if finite == [False, True]:
            wanted = "leave it out and give sensors=..., or let `step` bound it"
            raise SpaqlError(
                f"the noise of {problem.name} is not bounded, so no bound holds in every episode: {wanted}"
            )


def held_states(problem: Problem) -> Array:
    """Which state variables `step` never changes: parameters that an episode has drawn."""
    plant, graph = problem.plant, Graph()
    assert plant is not None
    ways = paths(plant.step.python, plant.step.parameters, graph)
    own = [graph.index[("x", j)] for j in range(plant.state_dim)]
    return np.array([all(way.outputs[j] == own[j] for way in ways) for j in range(plant.state_dim)])
