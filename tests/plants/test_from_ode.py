"""`spaql.from_ode`: a plant by its differential equation behaves like any other, and simulates what the equation says."""

import math
import pickle

import numpy as np
import pytest

import spaql
from helpers import step_plant

TORQUE = spaql.Continuous((-1.0,), (1.0,), ("torque",), ("N m",))


def swing(angle, rate, torque, gravity):
    return rate, gravity * math.sin(angle) + 8.0 * torque


def upright(angle, rate, torque):
    return 1.0 - angle * angle - 0.01 * torque * torque


def fallen(angle, rate):
    return abs(angle) > 0.5


@spaql.observe
def seen(angle, rate):
    return math.sin(angle), rate


@spaql.reset
def anywhere(u, v):
    return 0.2 * u - 0.1, 0.2 * v - 0.1


def pendulum(**options):
    given = {"start": {"angle": (-0.1, 0.1), "rate": 0.0}, "parameters": {"gravity": 2.0}, "over": fallen, "ends": "failure"}
    return spaql.from_ode(swing, **(given | {"reward": upright, "actions": TORQUE, "dt": 0.05, "horizon": 40, "name": "rod"} | options))


def test_it_is_learned_evaluated_exported_and_kept_like_any_other(tmp_path):
    problem = pendulum()
    assert problem.dt == 0.05
    assert [axis.name for axis in problem.state] == ["angle", "rate"]
    agent = spaql.Laws(problem, max_leaves=1, seed=0)
    agent.learn(samples=100_000)
    evaluation = agent.evaluate(200)
    assert evaluation.mean > 39.0
    assert evaluation.failures.count == 0
    agent.save(tmp_path / "agent.spaql")
    again = spaql.load(tmp_path / "agent.spaql", problem=problem)
    assert again.evaluate(200).mean == evaluation.mean
    assert "void" in agent.policy().to_c()
    table = spaql.SPAQL(problem, seed=0)
    table.learn(3, rollouts=2)
    assert spaql.check(problem)["angle"][1] <= 1.0


def test_a_sample_is_that_of_the_equation():
    """Against the pendulum's own energy without action, and against steps of a thousandth."""
    plant, exact = pendulum(substeps=4).plant, pendulum(substeps=400).plant
    state = (0.3, -0.2)
    for k in range(20):
        torque = math.sin(k)
        after, reward, over = plant.step(*state, torque)
        assert after == pytest.approx(exact.step(*state, torque)[0], abs=1e-9)
        assert reward == upright(*after, torque)
        assert over == fallen(*after)
        state = after
    energy = [0.5 * rate * rate + 2.0 * math.cos(angle) for angle, rate in (state, plant.step(*state, 0.0)[0])]
    assert energy[0] == pytest.approx(energy[1], abs=1e-9)


def test_compiled_and_plain_python_agree():
    plant = pendulum().plant
    states = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 2))
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 1))
    after, _, rewards, ends = step_plant(plant, states, actions)
    for k in range(50):
        state, reward, over = plant.step(*states[k], *actions[k])
        assert after[k] == pytest.approx(state, abs=1e-13)
        assert rewards[k] == pytest.approx(reward, abs=1e-13)
        assert bool(ends[k]) == over


def test_it_goes_to_worker_processes():
    problem = pendulum(parameters={"gravity": spaql.Between(1.5, 2.5)}, observe=seen, state=[spaql.Axis("sin", -1, 1), spaql.Axis("rate", slope=0.5)])
    copy = pickle.loads(pickle.dumps(problem))
    state = (0.1, 0.2, 2.2)
    assert copy.plant.step(*state, 0.3) == problem.plant.step(*state, 0.3)
    assert copy.plant.flow.derivative(*state, 0.3) == (0.2, 2.2 * math.sin(0.1) + 8.0 * 0.3, 0.0)
    assert copy.plant.flow.names == ("angle", "rate", "gravity")


def test_the_same_seed_gives_the_same_bits():
    first, second = (spaql.Laws(pendulum(), max_leaves=1, seed=3) for _ in range(2))
    for agent in (first, second):
        agent.learn(samples=60_000)
    assert first.policy().to_json() == second.policy().to_json()


def test_starts_may_be_a_function_and_parameters_ranges():
    problem = pendulum(start=anywhere, parameters={"gravity": spaql.Between(1.5, 2.5)})
    assert problem.plant.flow.names == ("angle", "rate", "gravity")
    assert problem.plant.reset(1.0, 0.0, 0.5) == (0.1, -0.1, 2.0)
    proof = spaql.law(problem, {"angle": -3.0, "rate": -1.0}).prove()
    assert proof.holds
    assert proof.claim.start[2] == pytest.approx((1.5, 2.5))
    wider = spaql.law(problem, {"angle": -3.0, "rate": -1.0}).prove(parameters={"gravity": (1.0, 3.0)})
    assert wider.holds
    assert wider.claim.parameters == {"gravity": (1.0, 3.0)}


def of_three(angle, rate, torque):
    return rate, angle, 1.0


def a_list(angle, rate, torque):
    return [rate, angle]


def no_number(angle, rate, torque):
    return rate, math.nan


def fails(angle, rate, torque):
    return rate, 1.0 / (angle - angle)


def no_truth(angle, rate):
    return 1.0


def one_number(angle):
    return 0.0


def with_default(angle, rate, torque=1.0):
    return rate, torque


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"derivative": of_three}, r"of_three\(0, 0, 0\) must return a tuple of 2 finite numbers"),
        ({"derivative": a_list}, "must return a tuple of 2 finite numbers"),
        ({"derivative": no_number}, "must return a tuple of 2 finite numbers"),
        ({"derivative": fails}, "failed: ZeroDivisionError"),
        ({"derivative": 3}, "derivative must be a plain Python function"),
        ({"derivative": with_default}, "without defaults"),
        ({"derivative": one_number}, "takes 1 numbers, but must take 2 state variables and 1 action"),
        ({"reward": one_number}, "reward one_number takes 1 numbers, but must take 3"),
        ({"reward": None}, "reward must be a plain Python function"),
        ({"over": no_truth}, "must return True or False"),
        ({"over": upright}, "over upright takes 3 numbers, but must take 2"),
        ({"start": {}}, "start gives a number or a range by name"),
        ({"start": [1.0, 2.0]}, "start gives a number or a range by name"),
        ({"start": {"angle": (1.0, -1.0), "rate": 0.0}}, "start: angle: low must not be above high"),
        ({"start": {"angle": "up", "rate": 0.0}}, "start: angle"),
        ({"start": {"angle": math.inf, "rate": 0.0}}, "start: angle"),
        ({"start": {"angle": 0.0}}, "takes 3 numbers, but must take 1 state variables"),
        ({"dt": 0.0}, "dt"),
        ({"dt": math.nan}, "dt"),
        ({"substeps": 0}, "substeps"),
        ({"substeps": 1.5}, "substeps"),
        ({"actions": 3}, "actions is a spaql.Continuous"),
        ({"observe": seen}, "`state` describes what `observe` shows"),
        ({"state": [spaql.Axis("angle", -1, 1)]}, "shows 2 variables, but `state` describes 1"),
        ({"parameters": {"mass": 1.0}}, "no function of the plant takes the parameter 'mass'"),
        ({"horizon": 0}, "horizon"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(options, match):
    given = {
        "derivative": lambda angle, rate, torque: (rate, math.sin(angle) + torque), "start": {"angle": (-0.1, 0.1), "rate": 0.0}, "reward": upright,
        "actions": TORQUE, "dt": 0.05, "horizon": 10,
    }  # fmt: skip
    with pytest.raises(spaql.SpaqlError, match=match) as caught:
        spaql.from_ode(**(given | options))
    assert "\n" not in str(caught.value)
