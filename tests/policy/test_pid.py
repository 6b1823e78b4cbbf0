"""PID controllers are laws of an error, its integral and its difference."""

import pytest

import spaql
from loops import motor
from spaql.ground.errors import SpaqlError

TARGET = spaql.Reference("target", 0.0, 150.0, of="speed")


def test_a_pi_controller_prints_like_one():
    problem = spaql.loop(motor(), references=[TARGET], dt=0.01)
    policy = spaql.pid(problem, kp=0.5, ki=2.0)
    assert policy.to_text(share=False).splitlines()[-1] == "voltage = clip(0.5·speed_error + 2·integral(speed_error), -24, 24) V"
    assert policy.kind == "PI controller"


def test_a_p_controller_follows_the_error_alone_and_pi_leaves_none():
    problem = spaql.loop(motor(200), references=[TARGET], dt=0.01)
    p, pi = spaql.pid(problem, kp=0.5), spaql.pid(problem, kp=0.5, ki=2.0)
    left = {name: abs(one.episode(seed=1).observations[-1][0]) for name, one in {"P": p, "PI": pi}.items()}
    assert left["PI"] < 0.1 < left["P"]


def test_derivatives_are_per_second():
    problem = spaql.loop(motor(), references=[TARGET], dt=0.01)
    policy = spaql.pid(problem, kp=0.5, kd=0.02)
    assert "2·difference(speed_error)" in policy.to_text(share=False)


def test_a_problem_without_a_loop_gets_a_set_point_and_keeps_its_reward():
    policy = spaql.pid(spaql.make("cartpole-500"), kp=-20.0, kd=-5.0, of="angle", dt=0.02)
    evaluation = policy.evaluate(20)
    assert evaluation.mean > 150.0
    assert evaluation.mean == evaluation.samples / 20  # one per step


def test_on_increments_it_is_the_velocity_form():
    problem = spaql.loop(motor(), references=[TARGET], increments=5.0, dt=0.01)
    policy = spaql.pid(problem, kp=0.5, ki=2.0)
    assert "0.02·speed_error + 0.5·difference(speed_error)" in policy.to_text(share=False)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"of": "torque"}, "of=... names the variable that is controlled: speed, current"),
        ({"set_point": 1.0}, "speed follows a reference: leave set_point out"),
        ({"dt": 0.1}, "states dt in its loop, 1 s: leave dt out"),
        ({"limit": -1.0}, "limit must be a finite number above 0"),
        ({"ki": float("nan")}, "ki must be a finite number"),
    ],
)
def test_what_cannot_be_is_refused(told, message):
    with pytest.raises(SpaqlError, match=message):
        spaql.pid(spaql.loop(motor(), references=[TARGET]), 1.0, **told)


def test_without_a_reference_the_variable_must_be_named():
    with pytest.raises(SpaqlError, match=r"of=\.\.\. names the variable"):
        spaql.pid(motor(), 1.0)


def test_it_is_compared_with_controllers_that_see_and_remember_other_things():
    problem = spaql.loop(motor(), references=[TARGET], observe=["speed_error", "current"], dt=0.01)
    slow, pi = spaql.law(problem, {"speed_error": 0.1}), spaql.pid(problem, kp=0.5, ki=2.0)
    table = spaql.compare({"slow": slow, "PI": pi}, episodes=20)
    assert list(table.index) == ["PI", "slow"]
    late = spaql.loop(motor(), references=[TARGET], delay={"actuator": 1}, dt=0.01)
    with pytest.raises(SpaqlError, match="for another problem"):
        spaql.compare({"PI": pi, "late": spaql.pid(late, kp=0.5, ki=2.0)}, episodes=20)


def test_limits_on_what_it_does_not_use_are_counted():
    problem = spaql.loop(motor(), references=[TARGET], limits=[spaql.Limit("current", -1.0, 1.0)], dt=0.01)
    policy = spaql.pid(problem, kp=0.5)
    assert policy.evaluate(5).violations["current"].steps > 0.0
    assert "current" not in policy.to_text(share=False).splitlines()[-1]


def test_a_reward_that_names_memory_stays_the_same_on_increments():
    def smooth(speed_error, voltage, previous_voltage):
        return -abs(voltage - previous_voltage)

    problem = spaql.loop(motor(), references=[TARGET], memory=["integral(speed_error)"], increments=5.0, reward=smooth, dt=0.01)
    pi, same = spaql.pid(problem, kp=0.5, ki=2.0), spaql.law(problem, {"speed_error": 0.02})
    for policy in (pi, same):
        episode = policy.episode(seed=3)
        assert episode.rewards == pytest.approx(-abs(episode.actions[:, 0]), abs=1e-9)


def test_in_a_loop_without_references_it_takes_a_set_point():
    late = spaql.loop(motor(200), delay={"actuator": 1}, dt=0.01)
    policy = spaql.pid(late, 0.3, 1.0, of="speed", set_point=80.0)
    assert abs(policy.episode(seed=1).observations[-1][0]) < 1.0
