"""Random boxes and points of all plants of the catalog: the prover's machine and the checker's programs hold every one."""

import itertools

import numpy as np
import pytest

import spaql
from spaql.proofs.graph import Graph, joined
from spaql.proofs.machine import registers, result, run
from spaql.proofs.plant_runs import Value, runs
from spaql.proofs.tracing import paths

PLANTS = list(spaql.problems())
BOXES, OF_LONG_STEPS = 25, 5  # boxes; fewer where a step has hundreds of operations


def boxes_of(problem, rng):
    """Around states that episodes visit, with actions of the problem, of all sizes."""
    plant = problem.plant
    low, high = problem.actions.bounds
    for _ in range(OF_LONG_STEPS if problem.name in ("acrobot", "cartpole-swing-up") else BOXES):
        state = np.array(plant.reset(*rng.random(plant.reset_noise)))
        for _ in range(int(rng.integers(0, 40))):
            after, _, over = plant.step(*state, *rng.uniform(low, high), *rng.random(plant.step_noise))
            state = np.array(after) if not over else state
        middle = np.concatenate([state, rng.uniform(low, high), rng.random(plant.step_noise)])
        width = 10.0 ** rng.uniform(-9, -0.5) * (1.0 + abs(middle))
        least = np.concatenate([np.full(len(state), -np.inf), low, np.zeros(plant.step_noise)])
        most = np.concatenate([np.full(len(state), np.inf), high, np.ones(plant.step_noise)])
        yield np.stack([np.maximum(middle - width, least), np.minimum(middle + width, most)], axis=1)


@pytest.mark.parametrize("name", PLANTS)
def test_no_point_is_outside_of_its_enclosure(name):
    rng, problem = np.random.default_rng(0), spaql.make(name)
    plant, graph = problem.plant, Graph()
    d, inputs = plant.state_dim, plant.step.parameters
    tape, begins = joined(graph, paths(plant.step.python, inputs, graph))
    numbers, out = registers(len(tape), inputs), result(d + 1, inputs)
    for box in boxes_of(problem, rng):
        ways = []
        for begin, end in itertools.pairwise(begins):
            if run(tape, begin, end, box, False, True, numbers, out):
                ways.append((out.box.copy(), out.error.copy(), int(out.verdict[1])))
        for x in [*rng.uniform(box[:, 0], box[:, 1], (5, inputs)), box[:, 0], box[:, 1]]:
            state, reward, over = plant.step(*x)
            y = np.array([*state, reward])
            assert any((y >= b[:, 0]).all() and (y <= b[:, 1]).all() and verdict in (1, 2 * over) for b, _, verdict in ways)
        _the_checker_holds(plant, box, rng)


def _the_checker_holds(plant, box, rng):
    ways = []
    for way, (state, reward, _over) in runs(plant.step.python, box[None], False, True):
        if way.possible[0]:
            ways.append([(v.low[0], v.high[0]) if isinstance(v, Value) else (v, v) for v in (*state, reward)])
    for x in rng.uniform(box[:, 0], box[:, 1], (3, len(box))):
        state, reward, _ = plant.step(*x)
        assert any(all(low <= value <= high for value, (low, high) in zip((*state, reward), way, strict=True)) for way in ways)


@pytest.mark.parametrize("name", PLANTS)
def test_slopes_of_both_hold_the_mean_value_theorem(name):
    """f(x) - f(c) lies in J (x - c), for x that take the same way as c."""
    rng, problem = np.random.default_rng(1), spaql.make(name)
    plant, graph = problem.plant, Graph()
    d, inputs = plant.state_dim, plant.step.parameters
    ways = paths(plant.step.python, inputs, graph)
    tape, begins = joined(graph, ways)
    numbers, out = registers(len(tape), inputs), result(d + 1, inputs)
    tried = 0
    for box in boxes_of(problem, rng):
        c = box.mean(axis=1)
        point = np.stack([c, c], axis=1)
        at = [k for k in range(len(ways)) if run(tape, begins[k], begins[k + 1], point, False, True, numbers, out) == 2]
        if len(at) != 1:
            continue
        k = at[0]
        run(tape, begins[k], begins[k + 1], box, True, False, numbers, out)
        slopes, error = out.slopes.copy(), out.error.copy()
        way = next(way for way, _ in runs(plant.step.python, point[None], False, True) if way.possible[0])
        ((_, result_of),) = runs(plant.step.python, box[None], True, False, way.taken)
        for x in rng.uniform(box[:, 0], box[:, 1], (4, inputs)):
            px = np.stack([x, x], axis=1)
            if run(tape, begins[k], begins[k + 1], px, False, True, numbers, out) != 2:
                continue
            moved = np.array(plant.step(*x)[0]) - np.array(plant.step(*c)[0])
            ends = slopes[:d] * (x - c)[:, None]
            slack = 2.0 * error[:d] + 1e-12 * (1.0 + abs(moved))
            assert (moved >= ends.min(axis=2).sum(axis=1) - slack).all()
            assert (moved <= ends.max(axis=2).sum(axis=1) + slack).all()
            for i, value in enumerate(result_of[0]):
                if isinstance(value, Value):
                    own = np.stack([value.slope[0][0], value.slope[1][0]], axis=1) * (x - c)[:, None]
                    assert own.min(axis=1).sum() - slack[i] <= moved[i] <= own.max(axis=1).sum() + slack[i]
            tried += 1
    assert tried > 0
