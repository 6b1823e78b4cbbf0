"""Machine code of a plant of your own: compiled with what it depends on, never stale."""

import os
import subprocess
import sys
import types

import pytest

import spaql
from helpers import LEARNERS, assert_same, wrapped

PUSH = spaql.Continuous((-1.0,), (1.0,))
LINE = [spaql.Axis("x", -2.0, 2.0)]


@spaql.reset
def anywhere(u):
    return (2.0 * u - 1.0,)


def line(step, **options):
    return spaql.from_plant(anywhere, step, **{"state": LINE, "actions": PUSH, "horizon": 1, "reference": (0.0,), **options})


def constant_return(step):
    """Return of one step of a plant whose reward does not depend on anything random."""
    return spaql.Random(line(step)).evaluate(1).mean


def paying(amount, bonus=0.0):
    @spaql.step
    def pay(x, push):
        return (0.0 * x + 0.0 * push,), amount + 100.0 * bonus, False

    return pay


def test_closures_with_different_parameters_do_not_share_machine_code():
    assert [constant_return(paying(amount)) for amount in (1.0, 2.0, 3, 1.0)] == [1.0, 2.0, 3.0, 1.0]
    assert [constant_return(paying(*pair)) for pair in ((1.0, 2.0), (2.0, 1.0))] == [201.0, 102.0]


def test_closures_whose_numbers_read_alike_do_not_share_machine_code():
    """3.5 and 12.0 in a row look like 3.51 and 2.0."""
    assert [constant_return(paying(*pair)) for pair in ((12.0, 3.5), (2.0, 3.51))] == [362.0, 353.0]


def test_a_helper_may_be_part_of_the_closure():
    def plant(rate):
        def helper(y):
            return rate * y

        @spaql.step
        def grow(x, push):
            return (0.0 * x,), helper(2.0), False

        return grow

    assert [constant_return(plant(rate)) for rate in (1.0, 5.0)] == [2.0, 10.0]


def test_a_changed_constant_never_meets_old_machine_code():
    def plant(rate):
        scope = {"RATE": rate}
        exec("def grow(x, push):\n    return (0.0 * x,), helper(2.0), False\ndef helper(y):\n    return RATE * y", scope)
        return spaql.step(scope["grow"])

    assert [constant_return(plant(rate)) for rate in (1.0, 5.0, 1.0)] == [2.0, 10.0, 2.0]


def test_a_changed_constant_of_another_module_never_meets_old_machine_code():
    parameters = types.ModuleType("parameters")

    def plant(rate):
        parameters.RATE = rate
        scope = {"parameters": parameters}
        exec("def grow(x, push):\n    return (0.0 * x,), parameters.RATE, False", scope)
        return spaql.step(scope["grow"])

    assert [constant_return(plant(rate)) for rate in (1.0, 5.0, 1.0)] == [1.0, 5.0, 1.0]


def test_changed_code_never_meets_old_machine_code():
    def plant(formula):
        scope = {}
        exec(f"def grow(x, push):\n    return (0.0 * x,), {formula}, False", scope)
        return spaql.step(scope["grow"])

    formulas = ["1.0 + 2.0 * push * 0.0", "1.0 - 2.0 + 0.0 * push", "3.0 * 2.0 + 0.0 * push", "3.0 / 2.0 + 0.0 * push"]
    assert [constant_return(plant(formula)) for formula in formulas] == [1.0, -1.0, 6.0, 1.5]


def test_the_order_of_parameters_matters():
    def plant(parameters):
        scope = {}
        exec(f"def grow({parameters}):\n    return (0.0 * x,), 10.0 * w + 0.0 * push, False", scope)
        return spaql.step(scope["grow"])

    first, second = (spaql.Random(line(plant(order))).evaluate(1).mean for order in ("x, push, w, v", "x, push, v, w"))
    assert first != second


MOTOR = """
import math, spaql
RATE = 1.25
def helper(x):
    return RATE * math.sin(x)
@spaql.reset
def start(u):
    return (u,)
@spaql.step
def turn(x, push):
    return (0.5 * x + 0.1 * push,), helper(x), False
line = spaql.from_plant(start, turn, state=[spaql.Axis('x', -2, 2)], actions=spaql.Continuous((-1,), (1,)), horizon=9)
"""
EVALUATE = "import spaql, {module}; print(spaql.Random({module}.line).evaluate(50).mean.hex())"
COMPILE = "import {module}; {module}.line.plant.batch; print('compiled')"


def run(folder, program, module="motor", cache=None):
    environment = os.environ | ({"SPAQL_CACHE_DIR": str(cache)} if cache else {})
    command = [sys.executable, "-c", program.format(module=module)]
    told = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.mark.slow
def test_a_plant_runs_again_from_the_code_on_disk_and_may_move_to_another_module(tmp_path):
    """Its code on disk does not need the module it was first compiled in."""
    (tmp_path / "motor.py").write_text(MOTOR)
    before = run(tmp_path, EVALUATE)
    assert run(tmp_path, EVALUATE) == before != ""
    (tmp_path / "motor.py").rename(tmp_path / "engine.py")
    assert run(tmp_path, EVALUATE, "engine") == before


@pytest.mark.slow
def test_a_damaged_cache_is_compiled_anew(tmp_path):
    (tmp_path / "motor.py").write_text(MOTOR)
    cache = tmp_path / "cache"
    run(tmp_path, COMPILE, cache=cache)
    files = list(cache.rglob("*.nbc"))
    assert len(files) == 2  # reset and step
    for path in files:
        path.write_bytes(b"garbage")
    assert run(tmp_path, COMPILE, cache=cache) == "compiled\n"


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path):
    (tmp_path / "motor.py").write_text(MOTOR)
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert run(tmp_path, COMPILE, cache=tmp_path / "cache") == "compiled\n"


def test_recursion_is_refused_by_name():
    scope = {}
    exec("def f(n):\n    return 1.0 if n <= 0.0 else f(n - 1.0)\ndef go(x, push):\n    return (x,), f(3.0), False", scope)
    with pytest.raises(spaql.SpaqlError, match="f calls itself"):
        constant_return(spaql.step(scope["go"]))


@spaql.step
def chosen(x, push):
    return (min(max(x + 0.1 * push, -2.0), 2.0),), push, False


@pytest.mark.parametrize("values", [(-1.0, 1.0), (5.0, 6.0, 7.0), (2.5, -1.0, 0.0), (1.0, 0.0)])
@pytest.mark.parametrize("learner", LEARNERS)
def test_any_list_of_numbers_is_applied_as_given_in_both_loops(values, learner):
    problem = line(chosen, actions=spaql.Finite(values), horizon=5)
    agents = [LEARNERS[learner](p, seed=1) for p in (problem, wrapped(problem))]
    for agent in agents:
        agent.learn(5, rollouts=3)
    assert_same(*agents, episodes=10)
    applied = spaql.Random(problem).predict([[0.1]] * 100, deterministic=False)[0]
    assert set(applied.ravel().tolist()) == set(values)
