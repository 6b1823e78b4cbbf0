"""`spaql.tune`: a PID controller in one call, from a plant or a log, with what was asked of it or a line that says so."""

import subprocess
import warnings

import numpy as np
import pandas
import pytest

import spaql
from command_line import refused, told
from exported_programs import COMPILERS, STRICT, needs_compiler
from loops import motor
from spaql.ground.errors import SpaqlError, SpaqlWarning

DT = 0.5
SPEED = spaql.Reference("target", 0.0, 150.0, of="speed")
TARGET = spaql.Reference("target", 30.0, 50.0, of="level")


@spaql.reset
def begin(u, v):
    return 39.0 + 2.0 * u, 5.0 + 4.0 * v


@spaql.step
def fill(level, inflow, valve):
    return (level + DT * 0.1 * (valve - 50.0 - (level - 40.0) + 2.0 * (inflow - 7.0)), inflow), 0.0, False


@pytest.fixture(scope="module")
def tank():
    state = [spaql.Axis("level", 0.0, 100.0, unit="cm"), spaql.Axis("inflow", 0.0, 14.0)]
    valve = spaql.Continuous((0.0,), (100.0,), ("valve",), ("%",))
    plant = spaql.from_plant(begin, fill, state=state, actions=valve, horizon=300, name="tank")
    return spaql.loop(plant, references=[TARGET], delay={"actuator": 3}, dt=DT)


@pytest.fixture(scope="module")
def ahead(tank):
    return spaql.tune(tank, "PI + feedforward")


def stepped(rows=120, dt=0.5, time=8.0, late=2.3, integrating=False, noise=0.0):
    """The exact step response of a first-order lag with dead time, or of an integrator."""
    t = dt * np.arange(rows)
    since = np.maximum(t - 0.2 * rows * dt - late, 0.0)
    level = 30.0 + (0.2 * since if integrating else 5.0 * (1.0 - np.exp(-since / time)))
    valve = np.where(t >= 0.2 * rows * dt, 60.0, 50.0)
    noisy = level + noise * np.random.default_rng(0).normal(size=rows)
    return pandas.DataFrame({"time": t, "valve": valve, "level": noisy})


def from_log(frame, **more):
    return spaql.tune(frame, **{"input": "valve", "output": "level", "limits": (0, 100)} | more)


def test_it_prints_gains_model_margins_and_step(ahead):
    lines = str(ahead).splitlines()
    assert lines[0] == "PI + feedforward controller of tank loop"
    for part in ("gains        Kp 2.", "Ti ", "static gain 1 cm per %, time constant 9.75 s, dead time 1.5 s", "Ms 1.", "gain margin", "phase margin", "overshoot", "settling time"):
        assert part in str(ahead)
    assert lines[-1].startswith("valve = clip(")
    assert ahead.tuning.to_dict()["ms"] == ahead.tuning.ms


def test_the_plant_itself_keeps_what_was_asked(ahead):
    response = ahead.step_response(episodes=5)
    assert response.worst.overshoot == ahead.tuning.overshoot <= 10.7
    assert response.worst.settling_time == ahead.tuning.settling_time
    assert abs(response.steady_state_error) < 0.05
    assert ahead.tuning.unmet == () == ahead.notes


def test_a_measured_disturbance_is_fed_forward_by_the_inverse_of_its_static_effect(ahead):
    assert ahead.tuning.disturbances == (("inflow", pytest.approx(-2.0, rel=1e-3)),)


@needs_compiler
def test_exported_c_does_not_wind_up(ahead, tmp_path):
    """The valve is at its limit for 400 steps in which the level cannot follow, and leaves it when the error turns."""
    source, program = tmp_path / "controller.c", tmp_path / "controller"
    source.write_text(ahead.to_c(main=True))
    subprocess.run([COMPILERS[0], *STRICT, "-O2", source, "-o", program], check=True)
    rows = [(40.0, 7.0, 50.0)] * 400 + [(51.0, 7.0, 50.0)] * 3
    memory, applied = ahead.memory(), []
    for row in rows:
        action, memory = ahead.predict(row, state=memory)
        applied.append(action.item())
    text = "\n".join(" ".join(map(repr, row)) for row in rows)
    printed = subprocess.run([program], input=text, text=True, capture_output=True, check=True).stdout
    assert [float(value) for value in printed.split()] == applied
    assert set(applied[50:400]) == {100.0}
    assert max(applied[400:]) < 100.0


@pytest.mark.slow
def test_a_log_gives_the_process_and_the_controller():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = from_log(stepped(noise=0.02))
    assert "static gain 0.5" in policy.tuning.model
    assert "time constant 7.9" in policy.tuning.model
    assert "dead time 2.3 s" in policy.tuning.model
    assert policy.tuning.ms <= 1.62
    assert policy.tuning.kp == pytest.approx(8.0 / 0.5 / (2 * 2.55), rel=0.2)  # SIMC, with half a sample more


@pytest.mark.parametrize("log", [stepped(integrating=True), pytest.param(stepped(time=60.0), marks=pytest.mark.slow)])
def test_whether_an_output_integrates_is_asked_where_a_log_does_not_show_it(log):
    with pytest.raises(SpaqlError, match=r"has not settled .* integrating=True or False"):
        from_log(log)


@pytest.mark.slow
def test_an_integrating_output_that_is_said_to_be_one():
    policy = from_log(stepped(integrating=True), form="P", integrating=True)
    assert policy.tuning.model.startswith("integrating, 0.02 per s, dead time 2.3 s")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"valve": 50.0}, "the input is constant: record a step of it"),
        ({"level": 30.0}, "the output is constant: it does not react"),
        ({"level": np.nan}, "level is missing or not finite"),
        ({"time": np.arange(120.0) ** 1.1}, "the sample time is .* sample the log evenly first"),
        pytest.param({"level": np.random.default_rng(1).normal(size=120)}, "the input explains . % of what the output does", marks=pytest.mark.slow),
    ],
)
def test_a_log_from_which_nothing_follows_is_refused(change, message):
    with pytest.raises(SpaqlError, match=message):
        from_log(stepped().assign(**change))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"limits": None}, r"give the limits of valve, such as limits=\(0, 100\)"),
        ({"limits": (0, 55)}, "limits are two numbers, the lower first, and valve goes from 50 to 60"),
        ({"output": "height"}, "has no column 'height'"),
        ({"output": None}, "name its column, output=...: time, valve, level"),
        ({"dt": 0.1}, "is sampled every 0.5 s, not every 0.1 s"),
    ],
)
def test_what_a_log_does_not_tell_is_asked(more, message):
    with pytest.raises(SpaqlError, match=message):
        from_log(stepped(), **more)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"form": "PJ"}, "form must be one of 'P', 'PI', 'PD', 'PID', 'PI [+] feedforward'"),
        ({"ms": 1.0}, "ms must be a finite number above 1"),
        ({"gain_margin": 0.5}, "gain_margin must be a finite number above 1"),
        ({"reference": "level"}, "reference=... names the one to follow: target"),
        ({"action": "pump"}, "action=... names the axis that controls: valve"),
        ({"input": "valve"}, "input goes with a log of a step response, not with tank loop"),
        ({"settling_time": 1.0}, "settling_time=1 s is shorter than dead time and sample time, 2 s"),
        ({"form": "cascade", "inner": "level"}, "inner=... names the measured variable of the inner loop: inflow"),
    ],
)
def test_what_cannot_be_is_refused(tank, more, message):
    with pytest.raises(SpaqlError, match=message):
        spaql.tune(tank, **more)


def test_without_a_reference_it_says_how_to_state_one():
    with pytest.raises(SpaqlError, match=r"pendulum has no reference to follow: state it, spaql.loop\(problem, references="):
        spaql.tune(spaql.make("pendulum"))


@pytest.mark.slow
def test_demands_that_contradict_each_other_are_named(tank):
    with pytest.warns(SpaqlWarning, match="instead of 4 s"):
        policy = spaql.tune(tank, ms=1.2, settling_time=4.0)
    assert policy.notes == policy.tuning.unmet


@pytest.mark.slow
def test_a_plant_that_no_pi_controller_can_hold_is_named():
    @spaql.step
    def grow(x, u):
        return (x + 0.05 * (x + u),), 0.0, False

    @spaql.reset
    def near(u):
        return (u - 0.5,)

    push = spaql.Continuous((-10.0,), (10.0,), ("push",))
    plant = spaql.from_plant(near, grow, state=[spaql.Axis("x", slope=0.1)], actions=push, horizon=200)
    problem = spaql.loop(plant, references=[spaql.Reference("target", -2, 2, of="x")], dt=0.05, delay={"actuator": 24})
    with pytest.raises(SpaqlError, match=r"no PI controller holds x .*unstable, time constant 1.02 s, dead time 1.2 s"):
        spaql.tune(problem)


@pytest.mark.slow
def test_a_plant_without_equations_and_a_learned_one_give_the_same_gains(tank):
    import gymnasium

    class Tank(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(np.float32([0.0]), np.float32([100.0]))
        action_space = gymnasium.spaces.Box(0.0, 100.0, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.level = 40.0
            return np.float32([self.level]), {}

        def step(self, action):
            self.level += DT * 0.1 * (float(action[0]) - 50.0 - (self.level - 40.0))
            return np.float32([self.level]), 0.0, False, False, {}

    env = spaql.from_gym(Tank(), horizon=300, names=["level"], action_names=["valve"])
    around = {"references": [TARGET], "delay": {"actuator": 3}, "dt": DT}
    rows = [(level, valve, level + DT * 0.1 * (valve - level - 10.0)) for level in range(25, 60, 3) for valve in range(10, 100, 9)]
    levels, valves, nexts = (np.array(column, float)[:, None] for column in zip(*rows, strict=True))
    learned = spaql.from_data(env, levels, valves, np.zeros(len(rows)), nexts, np.zeros(len(rows), bool))
    wanted = spaql.tune(tank).tuning
    for problem in (spaql.loop(env, **around), spaql.loop(learned, **around, reward=lambda level_error: -abs(level_error))):
        gains = spaql.tune(problem).tuning
        assert (gains.kp, gains.ti) == pytest.approx((wanted.kp, wanted.ti), rel=0.05)


@pytest.mark.slow
def test_a_controller_that_the_plant_does_not_follow_is_named():
    """Told that an output integrates that does not, so that the model is wrong."""
    log = stepped(rows=200, time=8.0)
    problem = from_log(log, form="P").problem
    with pytest.warns(SpaqlWarning, match="the plant does not follow as its model does"):
        spaql.tune(problem, "PI", model=_falling())


def _falling():
    @spaql.reset
    def high(u):
        return (u,)

    @spaql.step
    def fall(level, valve):
        return (level - 0.01 * (valve - 50.0),), 0.0, False

    act = spaql.Continuous((0.0,), (100.0,), ("valve",))
    return spaql.from_plant(high, fall, state=[spaql.Axis("level", slope=0.2)], actions=act, horizon=100)


@pytest.mark.slow
def test_a_limit_that_the_step_breaks_is_named():
    problem = spaql.loop(motor(200), references=[SPEED], dt=0.01, limits=[spaql.Limit("current", high=6.0)])
    with pytest.warns(SpaqlWarning, match="current reaches .* beyond its limit of 6"):
        spaql.tune(problem, "P")


@pytest.mark.slow
def test_a_cascade_damps_by_its_inner_variable():
    problem = spaql.loop(motor(400), references=[SPEED], dt=0.01, delay={"actuator": 1})
    policy = spaql.tune(problem, "cascade")
    assert policy.tuning.inner > 0.0
    assert "inner loop" in str(policy)
    assert policy.tuning.overshoot <= 10.7


@pytest.mark.slow
def test_on_the_command_line(tmp_path):
    log, out = tmp_path / "step.csv", tmp_path / "p.json"
    stepped().to_csv(log, index=False)
    words = ["tune", "--log", str(log), "--input", "valve", "--output", "level"]
    tuning = told(*words, "--limits", "0:100", "--form", "P", "--out", str(out), "--json")
    assert "static gain 0.5" in tuning["model"]
    assert spaql.Policy.from_json(out.read_text()).kind == "P controller"


def test_the_command_line_says_what_is_missing(tmp_path):
    stepped().to_csv(tmp_path / "step.csv", index=False)
    assert "give a problem, or a step response" in refused("tune")
    words = ["tune", "--log", str(tmp_path / "step.csv"), "--input", "valve", "--output", "level"]
    assert "--limits is LOW:HIGH" in refused(*words, "--limits", "100")
    assert "give the limits of valve" in refused(*words)


@pytest.mark.slow
def test_an_fmu_is_stepped_until_it_rests(tmp_path):
    fmus = pytest.importorskip("fmus")
    motor_fmu = spaql.from_fmu(fmus.build(tmp_path / "motor.fmu", 2), observe=["speed", "current"], actions=["voltage"], horizon=300)
    target = spaql.Reference("target", 0.0, 100.0, of="speed")
    problem = spaql.loop(motor_fmu, references=[target], reward=lambda speed_error: -abs(speed_error))
    policy = spaql.tune(problem, "PI")
    assert "static gain 9.1" in policy.tuning.model  # K / (R b + K K) = 9.09
    assert policy.tuning.unmet == ()
