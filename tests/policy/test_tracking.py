"""Regulators of plants in a loop: errors take the place of what follows a reference, integrals leave no error."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import spaql
from loops import motor
from spaql.ground.errors import SpaqlError

TARGET = spaql.Reference("target", 0.0, 150.0, of="speed")


@pytest.fixture(scope="module")
def problem():
    return spaql.loop(motor(200), references=[TARGET], dt=0.01, delay={"actuator": 1})


def test_gains_are_those_of_the_riccati_equation(problem):
    a, b = np.eye(2), np.zeros((2, 1))
    for _ in range(10):  # the equations of tests/loops.py
        fast = np.array([[1.0, 0.0], [-0.01, 0.9]])
        slow = np.array([[0.999, 0.1], [0.0, 1.0]])
        a, b = slow @ fast @ a, slow @ (fast @ b + np.array([[0.0], [0.1]]))
    a = np.block([[a, np.zeros((2, 1))], [np.array([[-0.01, 0.0]]), np.eye(1)]])
    b = np.concatenate([b, np.zeros((1, 1))])
    p = solve_discrete_are(a, b, np.diag([1.0, 0.0, 50.0]), np.eye(1))
    gain = -np.linalg.solve(1.0 + b.T @ p @ b, b.T @ p @ a)[0]
    policy = spaql.lqr(problem, {"speed_error": 1.0, "integral(speed_error)": 50.0}, 1.0)
    names = [axis.name for axis in policy.problem.state]
    found = dict(zip(names, policy.rules.laws.gains[0, 0].tolist(), strict=True))
    assert found["speed_error"] == pytest.approx(-gain[0], rel=1e-5)
    assert found["current"] == pytest.approx(gain[1], rel=1e-5)
    assert found["integral(speed_error)"] == pytest.approx(gain[2], rel=1e-5)


def test_an_integral_leaves_no_error(problem):
    without = spaql.lqr(problem, {"speed_error": 1.0}, 1.0)
    with_it = spaql.lqr(problem, {"speed_error": 1.0, "integral(speed_error)": 500.0}, 1.0)
    left = [abs(one.episode(seed=1).observations[-1][0]) for one in (without, with_it)]
    assert left[1] < 0.05 < left[0]


def test_the_operating_point_can_be_told(problem):
    low, high = (spaql.lqr(problem, {"speed_error": 1.0}, 1.0, at={"speed": speed}) for speed in (20.0, 120.0))
    assert low.rules.laws.offsets[0, 0] < high.rules.laws.offsets[0, 0]


@pytest.mark.parametrize(
    ("Q", "more", "message"),
    [
        ({"torque": 1.0}, {}, "'torque' is neither measured nor an error"),
        ({}, {}, "Q weights errors"),
        ({"integral(torque)": 1.0}, {}, "'torque' is not a variable"),
        ({"speed_error": 1.0}, {"at": {"torque": 1.0}}, "at names measured variables"),
        ({"speed_error": -1.0}, {}, "Q: speed_error must be a finite number from 0"),
    ],
)
def test_what_cannot_be_is_refused(problem, Q, more, message):
    with pytest.raises(SpaqlError, match=message):
        spaql.lqr(problem, Q, 1.0, **more)


def test_increments_are_refused():
    with pytest.raises(SpaqlError, match="neither increments"):
        spaql.lqr(spaql.loop(motor(), references=[TARGET], increments=2.0), {"speed_error": 1.0}, 1.0)


def test_a_drawn_parameter_stays_in_its_middle():
    fixed = spaql.loop(heated(17.5), references=[WARM], dt=5.0)
    drawn = spaql.loop(heated(spaql.Between(5.0, 30.0)), references=[WARM], dt=5.0)
    one, other = (spaql.lqr(problem, {"temp_error": 1.0}, 1e4) for problem in (fixed, drawn))
    assert other.rules.laws.offsets[0, 0] == pytest.approx(one.rules.laws.offsets[0, 0], rel=1e-4)


def test_a_model_of_what_the_loop_shows_is_refused(problem):
    with pytest.raises(SpaqlError, match="model must be of what is measured"):
        spaql.lqr(problem, {"speed_error": 1.0}, 1.0, model=problem)


WARM = spaql.Reference("target", 60.0, 150.0, of="temp")


@spaql.reset
def cold():
    return (20.0,)


@spaql.step
def heat(temp, heater, ambient):
    return (temp + 5.0 * (0.05 * heater - 0.01 * (temp - ambient)),), 0.0, False


def heated(ambient):
    actions = spaql.Continuous((0.0,), (100.0,), ("heater",))
    return spaql.from_plant(cold, heat, state=[spaql.Axis("temp", 0.0, 600.0)], actions=actions, horizon=50, parameters={"ambient": ambient})
