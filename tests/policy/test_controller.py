"""spaql.Controller: a function of the observed variables, used like a policy."""

import functools
import math
import warnings

import gymnasium
import numpy as np
import pytest

import spaql
from helpers import linear_plant
from law_examples import law_policies
from spaql.compress.frontier import FrontierPoint

TABLE = {"gain": 3.0}


def swing(cos, sin, velocity):
    """P2 of law_examples, by hand; nothing is clipped."""
    return -14 * sin - 3 * velocity if cos >= -0.08 else 8 * sin + 4 * velocity


def balance(_x, _v, angle, rate):
    return angle + 0.1 * rate > 0


def slow(_x, _v, angle, rate):
    """Does the same, and does not compile."""
    return 1 if TABLE["gain"] * (angle + 0.1 * rate) > 0 else 0


@pytest.fixture(scope="module")
def swinging():
    return spaql.Controller(spaql.make("pendulum"), swing)


@pytest.fixture(scope="module")
def balancing():
    return spaql.Controller(spaql.make("cartpole"), balance)


@pytest.fixture(scope="module")
def slowly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", spaql.SpaqlWarning)
        made = spaql.Controller(spaql.make("cartpole"), slow, name="by table")
        assert made.compiled is None
    return made


# -- episodes ----------------------------------------------------------------------------------------------------------


def test_it_earns_what_the_same_policy_earns_in_the_same_episodes(swinging):
    policy = law_policies()["P2"]
    own, other = swinging.evaluate(300, seed=3), policy.evaluate(300, seed=3)
    assert np.array_equal(own.returns, other.returns)
    assert own.samples == other.samples


def test_an_episode_is_one_of_the_evaluation(swinging, slowly):
    for controller in (swinging, slowly):
        returns = controller.evaluate(4, seed=5).returns
        for rollout in (0, 3):
            assert controller.episode(5, rollout).rewards.sum() == pytest.approx(returns[rollout], rel=1e-12)


def test_what_does_not_compile_runs_in_python_in_the_same_episodes(balancing, slowly):
    assert np.array_equal(slowly.evaluate(20, seed=2).returns, balancing.evaluate(20, seed=2).returns)
    starts = [controller.episode(2, 7).observations[0] for controller in (slowly, balancing)]
    assert np.array_equal(*starts)


def test_what_does_not_compile_is_warned_of_once_and_told_why():
    controller = spaql.Controller(spaql.make("cartpole"), slow)
    with pytest.warns(spaql.SpaqlWarning, match="slow does not compile: .*'TABLE'.*dict.*; it runs in plain Python") as told:
        controller.evaluate(2)
    assert [str(one.message).count("\n") for one in told] == [0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        controller.evaluate(2)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (functools.partial(lambda k, x, v, a, w: int(k * a + w > 0), 10.0), "it is a partial, not a plain function"),
        (lambda x, v, a, w: [int(a > 0)], "it makes a list or an array"),
        (lambda x, v, a, w: np.sign(np.array([a, w]) @ np.array([1.0, 0.1])) > 0, "array"),
    ],
)
def test_the_reason_is_one_line(function, why):
    with pytest.warns(spaql.SpaqlWarning, match=why):
        assert spaql.Controller(spaql.make("cartpole"), function).evaluate(2).samples > 0


def test_in_a_gymnasium_environment_it_runs_in_python():
    problem = spaql.from_gym(gymnasium.make("CartPole-v1"), horizon=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        controller = spaql.Controller(problem, slow)
        found = controller.evaluate(3, seed=1)
    policy = spaql.law(problem, [0.0, 0.0, 10.0, 1.0])
    assert found.returns.tolist() == policy.evaluate(3, seed=1).returns.tolist() == [100.0] * 3
    assert len(controller.episode()) == 100


# -- actions -----------------------------------------------------------------------------------------------------------


def test_predict_is_that_of_stable_baselines3(swinging, balancing):
    action, state = swinging.predict(np.array([1.0, 0.01, 0.0]), deterministic=True)
    assert action == pytest.approx([-0.14])
    assert state is None
    actions, _ = swinging.predict([[1.0, 0.01, 0.0], [1.0, 1.0, 0.0]])
    assert actions.shape == (2, 1)
    assert balancing.predict([0.0, 0.0, 0.1, 0.0])[0] == 1
    assert isinstance(balancing.predict([0.0, 0.0, 0.1, 0.0])[0], np.int64)


def test_continuous_actions_are_held_within_their_bounds(swinging):
    assert swinging.decide([[1.0, 0.9, 0.0], [1.0, -0.9, 0.0]]).tolist() == [[-2.0], [2.0]]


def test_several_axes_come_as_a_tuple():
    controller = spaql.Controller(linear_plant(3, k=2), lambda x0, x1, x2: (-x0, 5.0 * x1))
    assert np.allclose(controller.decide([[0.5, 0.1, 0.0], [0.0, 0.9, 0.0]]), [[-0.5, 0.5], [0.0, 1.0]])
    assert controller.compiled is not None
    assert controller.evaluate(10).returns.shape == (10,)


def test_more_states_than_lanes_are_decided(swinging):
    states = np.random.default_rng(0).normal(size=(300, 3))
    assert np.array_equal(swinging.decide(states), law_policies()["P2"].decide(states))


def test_a_finite_action_may_be_rounded_but_must_be_of_the_set():
    problem = linear_plant(1, actions=[-0.3, 0.0, 0.3])
    assert spaql.Controller(problem, lambda x: -(0.1 + 0.2)).decide([[0.5]]) == [[-0.3]]
    with pytest.raises(spaql.SpaqlError, match=r"half returned 0.5 at x0 = [-\d.]+: it is not one of -0.3, 0, 0.3"):
        spaql.Controller(problem, lambda x: 0.5, name="half")


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda cos, sin: 0.0, r"\(cos, sin\): it must take the 3 variables of pendulum, in this order: cos, sin, velocity"),
        (lambda cos, sin, velocity: None, r"must return one number, not None \(at cos = "),
        (lambda cos, sin, velocity: (1.0, 2.0), r"must return one number, not \(1.0, 2.0\) \(at cos = "),
        (lambda cos, sin, velocity: "much", r"must return one number, not much"),
        (lambda cos, sin, velocity: math.nan, r"returned nan at cos = .*: actions must be finite numbers"),
        (lambda cos, sin, velocity: 1.0 / (cos - cos), r"failed at cos = .*: ZeroDivisionError"),
        (lambda cos, sin, velocity: np.random.normal(), r"is not the same twice: .* must be an observed variable"),
        (3.0, r"a controller is a function of the observed variables, not float"),
    ],
)
def test_a_function_that_cannot_be_a_controller_is_refused_at_once(function, message):
    with pytest.raises(spaql.SpaqlError, match=message) as error:
        spaql.Controller(spaql.make("pendulum"), function)
    assert "\n" not in str(error.value)


def late_nan(_cos, _sin, velocity):
    return math.sqrt(velocity + 1.5)


def late_other(_x, _v, angle, _w):
    return 0 if angle < 0.1 else 7


def test_a_bad_action_on_the_way_names_the_observation():
    with pytest.raises(spaql.SpaqlError, match=r"late_nan returned nan at cos = .*, velocity = -1\.[\d]+: actions must be finite"):
        spaql.Controller(spaql.make("pendulum"), late_nan).evaluate(50)
    with pytest.raises(spaql.SpaqlError, match=r"late_other returned 7 at .*angle = 0\.1\d+.*: it is not one of 0, 1"):
        spaql.Controller(spaql.make("cartpole"), late_other).evaluate(50)


def test_a_problem_without_a_plant_has_nothing_to_evaluate_on():
    controller = spaql.Controller(spaql.cube(2, 1, 10), lambda a, b: -a)
    assert controller.predict([0.5, 0.0])[0] == [-0.5]
    with pytest.raises(spaql.SpaqlError, match="no plant to run on"):
        controller.evaluate(3)


# -- looking inside ----------------------------------------------------------------------------------------------------


def test_why_tells_bounds_and_slopes(swinging, balancing):
    why = swinging.why([1.0, 0.01, 0.02])
    assert np.allclose(why.slopes, [[0.0, -14.0, -3.0]])
    assert why.bound == (None,)
    assert "-14 per unit of sin" in str(why)
    assert "held by its bound" in str(swinging.why([1.0, 0.9, 0.0]))
    assert "push = 1" in str(balancing.why([0.0, 0.0, 0.1, 0.0]))


def test_names(swinging, slowly):
    assert repr(swinging) == "<controller swing of pendulum>"
    assert repr(slowly) == "<controller by table of cartpole>"
    assert spaql.Controller(spaql.make("cartpole"), lambda x, v, a, w: a > 0).name == "controller"


# -- in other places ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")
@pytest.mark.slow
def test_it_teaches_laws(balancing):
    policy = balancing.laws(max_leaves=1, samples=400_000, seed=0)
    assert policy.has_laws
    assert policy.evaluate(50).mean > 195.0


def test_it_is_a_baseline_on_the_frontier(swinging, tmp_path):
    table = law_policies()["P2"]
    point = FrontierPoint(table.n_leaves, -150.0, (-155.0, -145.0), 1.0, 0.5, table.rules)
    policy = spaql.Policy(table.problem, table.rules, "law tree", "P2", table_policy=table, frontier=(point,))
    policy.draw_frontier(tmp_path / "frontier.svg", baselines={"swing by hand": swinging, "LQR": spaql.lqr(table.problem, {"sin": 1.0}, 0.1)})
    text = (tmp_path / "frontier.svg").read_text()
    assert "swing by hand" in text
    assert "LQR" in text
    with pytest.raises(spaql.SpaqlError, match="swing is no controller of this problem"):
        policy.draw_frontier(tmp_path / "no.svg", baselines={"swing": swing})
    with pytest.raises(spaql.SpaqlError, match="baselines are controllers by name"):
        policy.draw_frontier(tmp_path / "no.svg", baselines=[swinging])


def test_limits_and_failures_are_counted_as_they_are_of_the_same_law():
    problem = spaql.make("pendulum", limits=[spaql.Limit("velocity", -2.0, 2.0)])
    by_hand = spaql.law(problem, {"velocity": -0.5}).evaluate(20)
    ours = spaql.Controller(problem, lambda cos, sin, velocity: -0.5 * velocity).evaluate(20)
    assert ours.violations == by_hand.violations
    assert (ours.effort == by_hand.effort).all()
    assert (ours.switching == by_hand.switching).all()
