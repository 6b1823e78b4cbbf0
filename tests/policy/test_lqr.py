"""spaql.lqr: the regulator of a plant around an operating point, against SciPy and by its closed loop."""

import math
import warnings

import gymnasium
import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import spaql
from exported_programs import compiled, needs_compiler
from helpers import linear_plant

H = 0.05


def by_scipy(a, b, q, r):
    p = solve_discrete_are(a, b, q, r)
    return -np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)


# -- a mass without friction; a gust pushes it; position and velocity are measured with noise --------------------------


def normal(u1, u2):
    return math.sqrt(-2.0 * math.log(1.0 - u1)) * math.cos(2.0 * math.pi * u2)


@spaql.reset
def displaced(u1, u2):
    return 2.0 * u1 - 1.0, u2 - 0.5, 2.0 * u1 - 1.0, u2 - 0.5


@spaql.step
def push(p, v, _seen_p, _seen_v, force, u1, u2, u3, u4, noise):
    force = force + 0.3 * normal(u1, u2)
    p, v = p + 0.1 * v + 0.005 * force, v + 0.1 * force
    return (p, v, p + noise * normal(u1, u3), v + noise * normal(u2, u4)), -p * p, False


@spaql.observe
def measured(_p, _v, seen_p, seen_v):
    return seen_p, seen_v


def mass(noise=0.05):
    return spaql.from_plant(
        displaced, push, observe=measured, name="mass", horizon=60, reference=(0.0, 0.0), parameters={"noise": noise},
        state=[spaql.Axis("position", slope=0.5, unit="m"), spaql.Axis("velocity", slope=0.5, unit="m/s")],
        actions=spaql.Continuous((-1.0,), (1.0,), ("force",), ("N",)),
    )  # fmt: skip


def test_a_double_integrator_has_the_gains_of_scipy_whatever_its_noise():
    a, b = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    wanted = by_scipy(a, b, np.diag([1.0, 0.1]), np.array([[0.1]]))
    laws = spaql.lqr(mass(), {"position": 1.0, "velocity": 0.1}, 0.1).rules.laws
    assert np.allclose(laws.gains[0], wanted, rtol=1e-6)
    assert laws.offsets[0] == 0.0


@pytest.mark.parametrize("weights", [{"position": 2.0}, [2.0, 0.0], np.diag([2.0, 0.0])])
def test_weights_are_told_by_name_as_diagonal_or_as_matrix(weights):
    made = spaql.lqr(mass(), weights, {"force": 0.5}, at={"position": 0.0})
    same = spaql.lqr(mass(), {"position": 2.0, "velocity": 0.0}, [[0.5]], at=[0.0, 0.0], action=0.0)
    assert np.allclose(made.rules.laws.gains, same.rules.laws.gains, rtol=1e-9)


# -- a planar quadrotor: its thrusts carry it, 4.905 each ----------------------------------------------------------------


@spaql.reset
def hovering(u1, u2, u3, u4, u5, u6):
    return 2 * u1 - 1, 2 * u2 - 1, 0.6 * u3 - 0.3, u4 - 0.5, u5 - 0.5, u6 - 0.5


@spaql.step
def fly(x, y, angle, vx, vy, spin, left, right):
    thrust, turn = left + right, 5.0 * (right - left)
    vx, vy, spin = vx - H * thrust * math.sin(angle), vy + H * (thrust * math.cos(angle) - 9.81), spin + H * turn
    x, y, angle = x + H * vx, y + H * vy, angle + H * spin
    lost = (abs(angle) > 1.5) | (abs(x) > 5.0) | (abs(y) > 5.0)
    return (x, y, angle, vx, vy, spin), -0.05 * (x * x + y * y) - (50.0 if lost else 0.0), lost


def quadrotor():
    return spaql.from_plant(
        hovering, fly, name="quadrotor", horizon=200, reference=(0.0,) * 6,
        state=[spaql.Axis(name, slope=0.5) for name in ("x", "y", "angle", "vx", "vy", "spin")],
        actions=spaql.Continuous((0.0, 0.0), (10.0, 10.0), ("left", "right")),
    )  # fmt: skip


def test_a_quadrotor_is_held_and_the_thrust_that_carries_it_is_found():
    policy = spaql.lqr(quadrotor(), [1, 1, 0.1, 0.1, 0.1, 0.1], 0.05)
    a, b = np.eye(6), np.zeros((6, 2))
    a[3, 2], b[4], b[5] = -H * 9.81, H, [-5 * H, 5 * H]
    a[:3, 3:] = H * np.eye(3)
    a[0, 2], b[:3] = H * a[3, 2], H * b[3:]
    wanted = by_scipy(a, b, np.diag([1, 1, 0.1, 0.1, 0.1, 0.1]), 0.05 * np.eye(2))
    assert np.allclose(policy.rules.laws.gains[0], wanted, rtol=1e-6, atol=1e-6)
    assert np.allclose(policy.decide(np.zeros((1, 6))), 4.905)
    assert policy.evaluate(200).mean > -2.0  # a crash costs 50


@needs_compiler
def test_a_regulator_is_printed_explained_and_exported(tmp_path):
    policy = spaql.lqr(quadrotor(), [1, 1, 0.1, 0.1, 0.1, 0.1], 0.05)
    assert repr(policy) == "<LQR of quadrotor: 1 law, 14 numbers, depth 0>"
    assert "left = clip(-2.088·x - 2.856·y" in policy.to_text(share=False)
    assert "by its only law" in str(policy.why(np.zeros(6)))
    states = np.random.default_rng(0).normal(size=(1000, 6))
    assert np.array_equal(compiled(tmp_path, policy.to_c())(states, 2), policy.decide(states))


# -- where the observation is not the state ----------------------------------------------------------------------------


def test_a_pendulum_observed_by_cosine_and_sine_is_held_upright():
    problem = spaql.make("pendulum")
    laws = spaql.lqr(problem, {"sin": 1.0, "velocity": 0.1}, 0.01).rules.laws
    wanted = by_scipy(
        np.array([[1.0 + 15.0 * H * H, H], [15.0 * H, 1.0]]), np.array([[3.0 * H * H], [3.0 * H]]), np.diag([1.0, 0.1]), np.array([[0.01]])
    )
    assert laws.gains[0, 0, 0] == 0.0  # at the top the cosine does not change
    assert np.allclose(laws.gains[0, :, 1:], wanted, rtol=1e-6)


def test_parameters_that_are_drawn_and_errors_of_sensors_do_not_hinder():
    plain = spaql.lqr(spaql.make("pendulum"), {"sin": 1.0}, 0.1)
    drawn = spaql.make("pendulum", m=spaql.Between(0.8, 1.2), observation_noise=0.02)
    made = spaql.lqr(drawn, {"sin": 1.0}, 0.1)
    assert np.allclose(made.rules.laws.gains, plain.rules.laws.gains, rtol=0.05)


def test_five_torques_the_nearest_to_the_regulators_is_applied():
    weights = {"sin": 1.0, "velocity": 0.1}
    five, any_torque = (spaql.lqr(spaql.make(name), weights, 0.01) for name in ("pendulum-5", "pendulum"))
    states = np.random.default_rng(0).normal(scale=0.1, size=(200, 3))
    assert np.abs(five.decide(states) - any_torque.decide(states)).max() <= 0.5


def test_actions_without_equal_distances_the_nearest_is_applied():
    some = spaql.lqr(linear_plant(2, actions=[-1, 0, 3, 4]), 1.0, 0.01)
    wanted = spaql.lqr(linear_plant(2), 1.0, 0.01).rules.laws.gains[0, 0]
    states = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    values = np.array([-1, 0, 3, 4])
    nearest = values[np.abs((states @ wanted)[:, None] - values).argmin(axis=1)]
    assert np.array_equal(some.decide(states)[:, 0], nearest)


def test_cartpole_is_balanced_with_two_pushes():
    policy = spaql.lqr(spaql.make("cartpole"), {"position": 1.0, "angle": 1.0}, 0.1)
    assert policy.rules.laws.gains.shape == (1, 1, 4)
    assert policy.evaluate(100).mean == 200.0


# -- a reference, which no action can change ---------------------------------------------------------------------------


@spaql.reset
def asked(u1, u2):
    return 2.0 * u1 - 1.0, 2.0 * u2 - 1.0


@spaql.step
def follow(y, wanted, u):
    y = 0.9 * y + 0.1 * u
    return (y, wanted), -((wanted - y) ** 2), False


@spaql.observe
def error_and_reference(y, wanted):
    return wanted - y, wanted


def following():
    return spaql.from_plant(
        asked, follow, observe=error_and_reference, name="following", horizon=50, reference=(0.0, 0.0),
        state=[spaql.Axis("error", -2.0, 2.0), spaql.Axis("wanted", -1.0, 1.0)], actions=spaql.Continuous((-3.0,), (3.0,)),
    )  # fmt: skip


def test_a_reference_is_followed_with_a_discount():
    with pytest.raises(spaql.SpaqlError, match=r"no action brings wanted back: give a discount below 1"):
        spaql.lqr(following(), {"error": 1.0}, 1e-4)
    policy = spaql.lqr(following(), {"error": 1.0}, 1e-4, discount=0.99)
    ends = [abs(policy.episode(0, rollout).observations[-1, 0]) for rollout in range(5)]
    assert max(ends) < 0.01


# -- learned models ----------------------------------------------------------------------------------------------------


def test_a_gymnasium_environment_is_regulated_by_a_model_of_recorded_steps():
    problem = spaql.from_gym(gymnasium.make("CartPole-v1"), horizon=200)
    env, rng, rows = problem.open_env(), np.random.default_rng(0), []
    for seed in range(12):
        seen, ended = env.reset(seed=seed)[0], False
        while not ended and len(rows) < 20 * (seed + 1):
            action = int(rng.integers(2))
            after, reward, ended, _, _ = env.step(action)
            rows.append((seen, action, reward, after, ended))
            seen = after
    model = spaql.from_data(problem, *(np.array(part, float) for part in zip(*rows, strict=True)))
    policy = spaql.lqr(problem, [1.0, 0.1, 1.0, 0.1], 0.1, at=[0.0] * 4, model=model)
    assert policy.problem is problem
    true = spaql.lqr(spaql.make("cartpole"), [1.0, 0.1, 1.0, 0.1], 0.1).rules.laws.gains
    assert np.allclose(policy.rules.laws.gains, true, rtol=0.1)
    assert policy.evaluate(3).mean == 200.0
    with pytest.raises(spaql.SpaqlError, match=r"no equations to linearise: record steps of it and give model=spaql.from_data"):
        spaql.lqr(problem, 1.0, 0.1, at=[0.0] * 4)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"Q": {}}, "Q has no weights"),
        ({"Q": {"angel": 1.0}}, "Q: there is no 'angel'"),
        ({"Q": [1.0, 2.0]}, "Q must have shape 3, not 2"),
        ({"Q": -1.0}, "Q must have no negative weights"),
        ({"Q": [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}, "Q must be finite and symmetric"),
        ({"R": {}}, "R must be positive for every action"),
        ({"R": 0.0}, "R must be positive for every action"),
        ({"at": [2.0, 0.0, 0.0]}, "at is outside the axes: cos = 2 is not in -1 ... 1"),
        ({"at": [1.0, 0.5, 0.0]}, "no state of pendulum is observed as at"),
        ({"at": {"angel": 0.0}}, "at: there is no 'angel'"),
        ({"action": 3.0}, "is outside"),
        ({"discount": 0.0}, "discount must be a finite number above 0"),
        ({"model": 3}, "the problem must come from"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(given, message):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        spaql.lqr(spaql.make("pendulum"), **{"Q": {"sin": 1.0}, "R": 0.1} | given)
    assert "\n" not in str(error.value)


def test_a_variable_without_weight_that_does_not_come_back_is_named():
    with pytest.raises(spaql.SpaqlError, match="Q gives no weight to position, which is not stable by itself"):
        spaql.lqr(spaql.make("cartpole"), {"angle": 1.0}, 0.1)


@spaql.step
def run_away(p, v, force):
    return (1.1 * p, v + 0.1 * force), -p * p, False


@spaql.reset
def beside(u1, u2):
    return 2.0 * u1 - 1.0, 2.0 * u2 - 1.0


def test_what_no_action_holds_is_told():
    state = [spaql.Axis("p", slope=1.0), spaql.Axis("v", slope=1.0)]
    problem = spaql.from_plant(beside, run_away, state=state, actions=spaql.Continuous((-1.0,), (1.0,)), horizon=10)
    with pytest.raises(spaql.SpaqlError, match="cannot be held at the operating point: no action changes what moves p"):
        spaql.lqr(problem, 1.0, 0.1, at=[0.0, 0.0])
    with pytest.raises(spaql.SpaqlError, match="own plant has no reference: give the operating point with at="):
        spaql.lqr(problem, 1.0, 0.1)
    with pytest.raises(spaql.SpaqlError, match="at lacks v"):
        spaql.lqr(problem, 1.0, 0.1, at={"p": 0.0})


def test_what_a_regulator_needs_must_be_observed():
    blind = spaql.from_plant(
        beside, spaql.step(lambda p, v, u: ((p + 0.1 * v, v + 0.1 * u), -p * p, False)), observe=spaql.observe(lambda p, v: (p,)),
        state=[spaql.Axis("p", slope=1.0)], actions=spaql.Continuous((-1.0,), (1.0,)), horizon=10, reference=(0.0,),
    )  # fmt: skip
    with pytest.raises(spaql.SpaqlError, match=r"do not determine the state that the regulator needs: observe more"):
        spaql.lqr(blind, 1.0, 0.1)


def test_a_point_that_nothing_holds_is_warned_of():
    with pytest.warns(spaql.SpaqlWarning, match=r"is not an equilibrium: velocity goes from 0 to 0.0\d+ in a step with torque = -2"):
        spaql.lqr(spaql.make("pendulum"), 1.0, 0.1, at=[math.cos(0.5), math.sin(0.5), 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spaql.lqr(spaql.make("pendulum"), 1.0, 0.1, at=[math.cos(0.1), math.sin(0.1), 0.0])  # 0.5 N m hold it
