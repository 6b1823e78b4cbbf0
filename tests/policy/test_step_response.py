"""Step responses: what is measured when a reference jumps, on compiled plants and in Gymnasium environments."""

import json
import math

import gymnasium
import numpy as np
import pytest

import spaql
from loops import motor
from spaql.ground.errors import SpaqlError
from spaql.policy.probe_results import measured

LAG = 10.0  # steps: time constant of a first-order lag
DT = 0.1


@spaql.reset
def rest(u):
    return (0.5 * u,)


@spaql.step
def lag(x, push):
    """x' = (push - x) / LAG, exactly over one step."""
    keep = math.exp(-1.0 / LAG)
    return (keep * x + (1.0 - keep) * push,), 0.0, False


def first_order(horizon=400, **more):
    actions = spaql.Continuous((-20.0,), (20.0,), ("push",), ("N",))
    plain = spaql.from_plant(rest, lag, state=[spaql.Axis("x", -20.0, 20.0, unit="m")], actions=actions, horizon=horizon, name="lag")
    return spaql.loop(plain, references=[spaql.Reference("target", 0.0, 10.0, of="x", unit="m")], dt=DT, **more)


@pytest.fixture(scope="module")
def forward():
    """A law that applies its reference: the loop is the lag itself."""
    return spaql.law(first_order(), {"target": 1.0})


@pytest.fixture(scope="module")
def response(forward):
    return forward.step_response()


# -- the numbers -------------------------------------------------------------------------------------------------------


def test_a_first_order_lag_rises_and_settles_as_the_textbook_says(response):
    assert (response.start, response.to, response.at) == (2.0, 8.0, 200)
    assert response.rise_time == pytest.approx(math.log(9) * LAG * DT, abs=DT)
    assert response.settling_time == pytest.approx(-math.log(0.02) * LAG * DT, abs=DT)
    assert response.overshoot == 0.0
    assert response.steady_state_error == pytest.approx(0.0, abs=1e-6)
    assert len(response.episode) == 400


def test_the_times_are_those_of_samples_as_python_control_has_them():
    """`control.step_info(y, T, yfinal)`: first samples at or beyond 10 and 90 %, first sample after the last outside of 2 %."""
    t = np.arange(200) * 0.05
    y = 1.0 - np.exp(-0.4 * t) * (np.cos(1.3 * t) + 0.4 / 1.3 * np.sin(1.3 * t))
    rise = t[np.flatnonzero(y >= 0.9)[0]] - t[np.flatnonzero(y >= 0.1)[0]]
    settling = t[np.flatnonzero(np.abs(y - 1.0) >= 0.02)[-1] + 1]
    found = measured(y, 0.0, 1.0, 0.05, 0.02, whole=True)
    assert found.rise_time == pytest.approx(rise)
    assert found.settling_time == pytest.approx(settling)
    assert found.overshoot == pytest.approx(100.0 * (y.max() - 1.0))
    down = measured(7.0 - 3.0 * y, 7.0, 4.0, 0.05, 0.02, whole=True)
    assert down == pytest.approx(found._replace(steady_state_error=-3.0 * found.steady_state_error))


def test_the_overshoot_of_a_second_order_loop_is_known():
    """PI on the lag is a second-order loop: with these gains its poles have a damping of about one half."""
    policy = spaql.pid(first_order(), kp=0.0, ki=1.0)  # x / target = 1 / (s² + s + 1) in seconds
    found = policy.step_response(start=4.0, to=6.0)
    assert found.overshoot == pytest.approx(100.0 * math.exp(-math.pi * 0.5 / math.sqrt(0.75)), rel=0.3)  # sampled and held
    assert abs(found.steady_state_error) < 0.01


def test_a_response_that_stays_away_never_rises_nor_settles_and_says_so():
    found = spaql.pid(first_order(), kp=1.0).step_response()
    assert math.isnan(found.rise_time)
    assert math.isnan(found.settling_time)
    assert found.steady_state_error == pytest.approx(4.0, abs=1e-3)  # half of where it should be
    text = str(found)
    assert "never 90 % in the 20 s after the step" in text
    assert "never within 2 % of the step in the 20 s after the step" in text
    assert "had not settled when the reference jumped: -1 m from it" in text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["rise_time"] is None


def test_tolerance_and_time_of_the_jump_can_be_chosen(forward):
    found = forward.step_response("target", 1.0, 9.0, at=100, tolerance=0.1)
    assert found.settling_time == pytest.approx(math.log(10) * LAG * DT, abs=DT)
    assert np.flatnonzero(found.episode.observations[:, 1] == 9.0)[0] == 100


def test_several_episodes_give_means_and_the_worst():
    found = spaql.law(first_order(noise={"x": 0.2}, delay={"sensor": 1}), {"x_error": 3.0}).step_response(episodes=4, noise=True)
    assert found.outputs.shape == (4, 401)
    assert len({tuple(row) for row in found.outputs.tolist()}) == 4
    assert found.overshoot == pytest.approx(np.mean([one.overshoot for one in found.each]))
    assert found.worst.overshoot == max(one.overshoot for one in found.each)
    assert "worst of 4 episodes" in str(found)


def test_sensors_are_quiet_unless_noise_is_asked_for():
    policy = spaql.law(first_order(noise={"x": 0.2}), {"target": 1.0})
    quiet, noisy = policy.step_response(), policy.step_response(noise=True)
    assert np.array_equal(quiet.episode.observations[:, 0], quiet.outputs[0])
    assert not np.array_equal(noisy.episode.observations[:, 0], noisy.outputs[0])
    assert np.array_equal(noisy.outputs, quiet.outputs)  # a law that does not look at the sensor does not care


def test_the_output_is_that_of_the_plant_and_the_input_what_was_applied():
    problem = first_order(delay={"sensor": 2}, rates=0.5)
    found = spaql.law(problem, {"target": 1.0}).step_response()
    assert np.array_equal(found.episode.observations[2:, 0], found.outputs[0, :-2])
    assert np.abs(np.diff(found.inputs[:, 0])).max() == pytest.approx(0.5)
    assert np.diff(found.episode.actions[:, 0]).max() == 6.0


def test_other_references_stay_in_the_middle_and_the_one_that_jumps_must_be_named():
    references = [spaql.Reference("target", 0.0, 100.0, of="speed"), spaql.Reference("flux", -4.0, 8.0, of="current", hold=3)]
    policy = spaql.law(spaql.loop(motor(), references=references), {"speed_error": 0.5})
    with pytest.raises(SpaqlError, match=r"reference=\.\.\. names the one to step: target, flux"):
        policy.step_response()
    found = policy.step_response("target").episode.to_pandas()
    assert set(found["flux"]) == {2.0}
    assert set(found["target"]) == {20.0, 80.0}


# -- all kinds of controllers and plants -------------------------------------------------------------------------------


def test_a_function_answers_as_the_law_that_says_the_same(forward, response):
    own = spaql.Controller(forward.problem, lambda x, target, error: target).step_response()
    assert np.array_equal(own.outputs, response.outputs)


def test_a_gymnasium_environment_answers_too():
    gym = spaql.from_gym(gymnasium.make("Pendulum-v1"), horizon=100, names=["cos", "sin", "velocity"])
    problem = spaql.loop(gym, references=[spaql.Reference("target", -1.0, 1.0, of="velocity")], dt=0.05)
    found = spaql.Controller(problem, lambda cos, sin, velocity, target, error: 2.0 * error).step_response(start=-0.5, to=0.75, episodes=2)
    assert found.outputs.shape == (2, 101)
    assert set(found.episode.observations[:, 3]) == {-0.5, 0.75}
    assert np.allclose(found.episode.observations[:, 2], found.outputs[0])


def test_an_end_of_the_episode_is_told():
    problem = first_order(trips=[spaql.Limit("x", high=10.0)], trip_cost=1.0)
    found = spaql.law(problem, {"target": 2.0}).step_response()
    assert math.isnan(found.settling_time)
    assert np.isnan(found.outputs[0, -1])
    assert "the plant ended the episode before its time" in str(found)


# -- in words and as a picture -----------------------------------------------------------------------------------------


def test_it_prints_in_eighty_columns(response):
    lines = str(response).splitlines()
    assert lines[0] == "Step response of x on lag loop: target from 2 to 8 m"
    assert [line[2:15].rstrip() for line in lines[1:]] == ["rise time", "overshoot", "settling time", "final error"]
    assert max(map(len, lines)) <= 80


def test_it_draws_output_input_and_limited_variables(tmp_path):
    problem = spaql.loop(motor(), references=[spaql.Reference("target", 0.0, 100.0, of="speed")], limits=[spaql.Limit("current", high=15.0)])
    found = spaql.law(problem, {"speed_error": 0.5}).step_response()
    figure = found.plot(tmp_path / "step.png")
    assert (tmp_path / "step.png").stat().st_size > 10_000
    assert [axis.get_ylabel() for axis in figure.axes] == ["speed\n(rad/s)", "voltage\n(V)", "current\n(A)"]
    assert "limit" in [text.get_text() for text in figure.legends[0].get_texts()]
    with pytest.raises(SpaqlError, match="png, svg, pdf"):
        found.plot(tmp_path / "step.gif")


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"reference": "speed"}, "'speed' is no reference that a variable follows: choose target"),
        ({"to": 11.0}, "to = 11 is outside the range of target, 0 to 10"),
        ({"start": 8.0}, "start and to are both 8"),
        ({"start": "low"}, "start must be a finite number"),
        ({"at": 400}, "at must be a whole number from 1 to 399"),
        ({"tolerance": 0.0}, "tolerance must be a finite number above 0"),
        ({"episodes": 0}, "episodes must be a whole number"),
        ({"noise": 1}, "noise must be True or False"),
    ],
)
def test_what_cannot_be_is_refused(forward, told, message):
    with pytest.raises(SpaqlError, match=message):
        forward.step_response(**told)


def test_without_a_reference_there_is_no_step():
    with pytest.raises(SpaqlError, match=r"motor has no reference that a variable follows: state it with spaql\.loop"):
        spaql.law(motor(), {"speed": -1.0}).step_response()
