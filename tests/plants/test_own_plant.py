"""A plant of your own: plain decorated functions of plain numbers."""

import math
import subprocess
import sys
from dataclasses import replace
from math import sin
from pathlib import Path

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, assert_same, step_plant, wrapped
from spaql.plants.plant import LANES

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_plant.py"
DT, PULL = 0.1, 2.0
PUSH = spaql.Continuous((-1.0,), (1.0,))
LINE = [spaql.Axis("x", -2.0, 2.0)]


@spaql.reset
def anywhere(u):
    return (2.0 * u - 1.0,)


@spaql.step
def drift(x, push):
    x = min(max(x + DT * push, -2.0), 2.0)
    return (x,), -abs(x), False


def line(step=drift, **options):
    return spaql.from_plant(anywhere, step, **{"state": LINE, "actions": PUSH, "horizon": 20, "reference": (0.0,), **options})


@pytest.mark.parametrize("learner", LEARNERS)
def test_two_functions_are_a_complete_problem(learner):
    agent = LEARNERS[learner](line(), seed=1)
    agent.learn(10, rollouts=3)
    other = LEARNERS[learner](wrapped(line()), seed=1)
    other.learn(10, rollouts=3)
    assert_same(agent, other)


def test_it_can_be_learned():
    problem = line()
    agent = spaql.SPAQLTS(problem, xi=0.1, seed=0)
    agent.learn(300, rollouts=10)
    assert agent.evaluate(200).mean > spaql.Random(problem).evaluate(200).mean + 2.0


def test_decorated_functions_are_still_plain_python():
    assert drift(0.5, 1.0) == ((0.6,), -0.6, False)
    assert anywhere(0.5) == (0.0,)


@spaql.step
def spin(angle, speed, torque):
    speed = speed + DT * (PULL * math.sin(angle) + torque)
    return (angle + DT * speed, speed), math.cos(angle), bool(abs(speed) > 50.0)


@spaql.observe
def look(angle, speed):
    return math.cos(angle), math.sin(angle), math.tanh(speed)


@spaql.reset
def hang(u1, u2):
    return 6.0 * u1 - 3.0, u2


def spinner():
    axes = [spaql.Axis(name, -1.0, 1.0) for name in ("cos", "sin", "speed")]
    return spaql.from_plant(hang, spin, observe=look, state=axes, actions=PUSH, horizon=30, name="spinner")


def test_the_controller_sees_what_observe_shows():
    plant = spinner().plant
    states, torques = np.random.default_rng(0).normal(0, 2, (40, 2)), np.zeros((40, 1))
    after, seen, _, _ = step_plant(plant, states, torques)
    assert (plant.state_dim, plant.observation_dim) == (2, 3)
    np.testing.assert_allclose(seen, [look(*state) for state in after], rtol=0, atol=1e-14)


def test_learning_with_observe_is_the_same_in_both_loops():
    agents = [spaql.SPAQL(problem, seed=2) for problem in (spinner(), wrapped(spinner()))]
    for agent in agents:
        agent.learn(6, rollouts=3)
    assert_same(*agents)


@spaql.step
def windy(x, push, wind1, wind2):
    x = min(max(x + DT * push + 0.2 * (wind1 - wind2), -2.0), 2.0)
    return (x,), -abs(x), False


def test_further_parameters_are_fresh_noise_at_every_step():
    plant = line(windy).plant
    assert (plant.reset_noise, plant.step_noise) == (1, 2)
    noise = np.random.default_rng(1).random((60, 2))
    after, _, rewards, _ = step_plant(plant, np.zeros((60, 1)), np.zeros((60, 1)), noise=noise)
    np.testing.assert_allclose(after[:, 0], 0.2 * (noise[:, 0] - noise[:, 1]), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(rewards, -np.abs(after[:, 0]))


def test_noise_is_uniform_and_never_repeats():
    @spaql.step
    def lottery(x, push, ticket):
        return (ticket,), ticket, False

    returns = spaql.Random(line(lottery, horizon=1)).evaluate(4000).returns
    assert len(set(returns)) == 4000
    assert abs(returns.mean() - 0.5) < 0.02
    assert abs(returns.var() - 1 / 12) < 0.01
    twice = spaql.Random(line(lottery, horizon=2)).evaluate(4000).returns
    assert abs(twice.var() - 2 / 12) < 0.02  # independent from step to step


def friction(speed):
    return PULL * limited(speed)


def limited(value):
    return min(max(value, -1.0), 1.0)


@spaql.step
def rubbing(x, push):
    return (limited(x + DT * (push - friction(x))),), sin(x) + np.exp(-x), False


def test_helper_functions_and_module_constants_are_compiled_along():
    states, pushes = np.linspace(-1.9, 1.9, 50)[:, None], np.linspace(-1, 1, 50)[:, None]
    after, _, rewards, _ = step_plant(line(rubbing).plant, states, pushes)
    expected = [rubbing(x, a) for x, a in zip(states[:, 0], pushes[:, 0], strict=True)]
    np.testing.assert_allclose(after[:, 0], [state[0] for state, _, _ in expected], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rewards, [reward for _, reward, _ in expected], rtol=1e-14)


def test_the_same_observe_with_another_step_is_another_plant():
    @spaql.step
    def stand(angle, speed, torque):
        return (angle, speed), 0.5, False

    axes = [spaql.Axis(name, -1.0, 1.0) for name in ("cos", "sin", "speed")]
    still = spaql.from_plant(hang, stand, observe=look, state=axes, actions=PUSH, horizon=4)
    assert spaql.Random(still).evaluate(3).returns.tolist() == [2.0, 2.0, 2.0]


def test_termination_ends_an_episode():
    @spaql.step
    def short(x, push):
        return (x + 0.5,), 1.0, x + 0.5 > 1.0

    @spaql.reset
    def at_zero(u):
        return (0.0 * u,)

    problem = spaql.from_plant(at_zero, short, state=LINE, actions=PUSH, horizon=20)
    result = spaql.Random(problem).evaluate(10)
    assert result.returns.tolist() == [3.0] * 10
    assert result.samples == 30


def test_no_random_numbers_are_needed():
    @spaql.reset
    def at_one():
        return (1.0,)

    problem = spaql.from_plant(at_one, drift, state=LINE, actions=PUSH, horizon=3)
    agent = spaql.SPAQL(problem, seed=1)
    agent.learn(3, rollouts=LANES + 1)
    assert np.isfinite(agent.history.table).all()


def test_the_example_runs():
    told = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=300, check=False)
    assert told.returncode == 0, told.stderr
    assert "SPAQL-TS" in told.stdout


@pytest.mark.parametrize("values", [(0.0, 2.0, 6.0), (0, 1, 2), (0.0, 0.5)])
def test_a_problem_whose_actions_are_replaced_by_a_set_runs_as_an_environment_too(values):
    from loops import motor

    problem = replace(motor(horizon=5), actions=spaql.Finite(values, names=("voltage",)))
    law = spaql.law(problem, {"speed": -1.0})
    assert law.evaluate(3).samples == 15
    assert set(np.ravel(law.episode(seed=0).actions)) <= set(values)
