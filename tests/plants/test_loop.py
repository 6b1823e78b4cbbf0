"""A plant in a loop: every signal does what its name says, on compiled plants and in Gymnasium environments."""

import pickle

import gymnasium
import numpy as np
import pytest

import spaql
import spaql.plants.environment
from loops import motor, steps
from spaql.plants.known import check_with_plant

VOLTS = [6.0, -3.0, 12.0, 24.0, -24.0, 1.0, 0.0, 9.0]
TARGET = spaql.Reference("target", 0.0, 150.0, of="speed")


@pytest.fixture(scope="module")
def plain():
    return steps(motor(), VOLTS)[0]


def test_the_error_is_the_reference_minus_the_variable_that_follows_it():
    rows, _, _ = steps(spaql.loop(motor(), references=[TARGET]), VOLTS)
    assert all(row["speed_error"] == row["target"] - row["speed"] for row in rows)


def test_a_reference_stays_for_an_episode_and_differs_between_episodes():
    problem = spaql.loop(motor(), references=[TARGET])
    first, second = ({row["target"] for row in steps(problem, VOLTS, seed)[0]} for seed in (0, 1))
    assert len(first) == len(second) == 1
    assert first != second


def test_a_sequence_goes_through_its_values_and_stays_at_the_last():
    sequence = spaql.Reference("target", 0.0, 150.0, values=(10, 20, 30), hold=2)
    rows, _, _ = steps(spaql.loop(motor(), references=[sequence]), VOLTS)
    assert [row["target"] for row in rows] == [10, 10, 20, 20, 30, 30, 30, 30, 30]


def test_a_ramp_moves_by_its_rate():
    ramp = spaql.Reference("target", 0.0, 150.0, values=(10, 20), hold=2, rate=4.0)
    rows, _, _ = steps(spaql.loop(motor(), references=[ramp]), VOLTS)
    assert [row["target"] for row in rows[:6]] == [10, 10, 14, 18, 20, 20]


def test_steps_come_between_the_least_and_the_most_number_of_steps():
    random = spaql.Reference("target", 0.0, 150.0, hold=(3, 5))
    rows, _, _ = steps(spaql.loop(motor(60), references=[random]), [0.0] * 60)
    values = [row["target"] for row in rows]
    jumps = np.flatnonzero(np.diff(values))
    assert set(np.diff(jumps)) <= {3, 4, 5}
    assert len(jumps) >= 10


def test_memory_is_made_of_what_was_measured_and_applied(plain):
    names = ["integral(speed)", "integral(current, 2)", "difference(speed)", "difference(speed, 2)", "average(speed, 3)"]
    names += ["last(current, 2)", "previous(voltage)", "lag(voltage, 2)", "lag(speed, 0.5, 7)"]
    rows, _, _ = steps(spaql.loop(motor(), memory=names, dt=0.5), VOLTS)
    speed, current = ([row[name] for row in plain] for name in ("speed", "current"))
    assert [row["speed"] for row in rows] == speed
    for k, row in enumerate(rows):
        assert row["integral(speed)"] == pytest.approx(0.5 * sum(speed[:k]))
        assert row["difference(speed)"] == speed[k] - speed[max(k - 1, 0)]
        assert row["difference(speed, 2)"] == speed[k] - speed[max(k - 2, 0)]
        assert row["average(speed, 3)"] == pytest.approx(np.mean([speed[max(k - j, 0)] for j in range(3)]))
        assert row["past(current, 2)"] == current[max(k - 2, 0)]
        assert row["previous(voltage)"] == (VOLTS[k - 1] if k > 0 else 0.0)
        assert abs(row["integral(current, 2)"]) <= 2.0
        assert row["lag(speed, 0.5, 7)"] == (speed[k - 1] if k > 0 else 7.0)  # of one step: the value before
        lagged = sum(0.25 * 0.75 ** (k - 1 - j) * VOLTS[j] for j in range(k))
        assert row["lag(voltage, 2)"] == pytest.approx(lagged)


def test_a_late_sensor_shows_what_was_some_steps_before(plain):
    rows, _, _ = steps(spaql.loop(motor(), delay={"sensor": 2}), VOLTS)
    assert [row["speed"] for row in rows] == [plain[max(k - 2, 0)]["speed"] for k in range(len(plain))]


def test_a_late_actuator_applies_what_was_decided_some_steps_before(plain):
    rows, _, _ = steps(spaql.loop(motor(), delay={"actuator": 1}), VOLTS)
    later, _, _ = steps(motor(), [0.0, *VOLTS])
    assert [row["speed"] for row in rows] == [row["speed"] for row in later[: len(rows)]]


def test_increments_change_what_is_applied_within_the_bounds_of_the_actuator():
    problem = spaql.loop(motor(), increments=10.0)
    rows, _, _ = steps(problem, [10.0, 10.0, 10.0, -4.0])
    assert [row["previous(voltage)"] for row in rows] == [0.0, 10.0, 20.0, 24.0, 20.0]
    assert problem.actions.high == (10.0,)
    assert problem.actions.names == ("change of voltage",)


def test_a_rate_limit_holds_back_what_is_applied():
    rows, _, _ = steps(spaql.loop(motor(), rates=5.0, memory=["previous(voltage)"]), [20.0, 20.0, -20.0])
    assert [row["previous(voltage)"] for row in rows] == [0.0, 5.0, 10.0, 5.0]


def test_an_interlock_forbids_actions_while_its_condition_holds():
    lock = spaql.Interlock("current", above=3.0, high=0.0)
    rows, _, _ = steps(spaql.loop(motor(), interlocks=[lock], memory=["previous(voltage)"]), [20.0] * 8)
    applied = [row["previous(voltage)"] for row in rows[1:]]
    assert applied == [0.0 if row["current"] >= 3.0 else 20.0 for row in rows[:-1]]
    assert 0.0 in applied


def test_an_interlock_on_a_finite_set_leaves_an_action_of_the_set():
    lock = spaql.Interlock("position", below=0.6, low=1)
    problem = spaql.loop(spaql.make("mountain-car"), interlocks=[lock], memory=["previous(pedal)"])
    env = spaql.plants.environment.PlantEnv(problem)
    env.reset(seed=0)
    assert env.step(0)[0].tolist()[-1] == 1.0


def test_noise_is_measured_and_not_added_to_the_plant(plain):
    rows, _, _ = steps(spaql.loop(motor(), noise={"speed": 2.0}), [0.0] * 60)
    calm, _, _ = steps(motor(), [0.0] * 60)
    errors = np.array([row["speed"] for row in rows]) - np.array([row["speed"] for row in calm])
    assert 1.4 < errors.std() < 2.6
    assert abs(errors.mean()) < 1.0
    assert [row["current"] for row in rows] == [row["current"] for row in calm]


def test_a_trip_ends_the_episode_at_its_cost():
    problem = spaql.loop(motor(), trips=[spaql.Limit("speed", high=25.0)], trip_cost=100.0)
    rows, rewards, ends = steps(problem, [24.0] * 60)
    assert ends[-1]
    assert rows[-1]["speed"] > 25.0
    assert rewards[-1] < -100.0
    assert not any(ends[:-1])


def test_the_reward_names_variables_after_the_step_and_memory_before_it():
    def reward(speed, speed_error, voltage, previous_voltage):
        return speed + 1000.0 * speed_error + 1e6 * (voltage - previous_voltage)

    problem = spaql.loop(motor(), references=[TARGET], memory=["previous(voltage)"], reward=reward)
    rows, rewards, _ = steps(problem, VOLTS)
    for k, paid in enumerate(rewards):
        change = VOLTS[k] - (VOLTS[k - 1] if k else 0.0)
        after = rows[k + 1]["speed"]
        assert paid == pytest.approx(after + 1000.0 * (rows[k]["target"] - after) + 1e6 * change)


def test_without_a_reward_squared_errors_are_paid():
    rows, rewards, _ = steps(spaql.loop(motor(), references=[TARGET]), VOLTS)
    assert rewards == pytest.approx([-(((rows[0]["target"] - row["speed"]) / 75.0) ** 2) for row in rows[1:]])


def test_what_can_be_computed_from_what_is_seen_is_known():
    seen = spaql.loop(motor(), references=[TARGET])
    assert seen.known is not None
    assert seen.known.reward is not None
    check_with_plant(seen)
    assert spaql.loop(motor(), references=[TARGET], observe=["speed_error"]).known is None
    assert spaql.loop(motor(), references=[TARGET], noise={"speed": 1.0}).known is None


def test_an_environment_in_a_loop_gives_what_the_compiled_plant_gives():
    told = {"memory": ["integral(velocity, 4)", "previous(torque)"], "delay": {"sensor": 1, "actuator": 2}}
    ours = spaql.loop(spaql.make("pendulum"), **told)
    theirs = spaql.loop(spaql.from_gym(gymnasium.make("spaql/Pendulum-v0")), **told)
    for problem in (ours, theirs):
        assert [axis.name for axis in problem.state][-1] == "previous(torque)"
    torques = [2.0, -1.0, 0.5, 2.0, 0.0, -2.0]
    assert steps(ours, torques, 5)[:2] == steps(theirs, torques, 5)[:2]


def test_a_loop_in_an_environment_is_decided_by_its_seed():
    random = spaql.Reference("target", -1.0, 1.0, hold=(2, 4))
    problem = spaql.loop(spaql.from_gym("Pendulum-v1"), references=[random], noise={"x2": 0.1})
    one, two, other = (steps(problem, [0.5] * 20, seed)[:2] for seed in (1, 1, 2))
    assert one == two
    assert one != other


def test_a_problem_in_a_loop_is_pickled():
    problem = spaql.loop(motor(), references=[TARGET], memory=["integral(speed_error)"], noise={"speed": 1.0})
    again = pickle.loads(pickle.dumps(problem))
    assert steps(problem, VOLTS) == steps(again, VOLTS)


def test_a_printed_problem_in_a_loop_tells_all_that_is_around_the_plant():
    target = spaql.Reference("target", 0.0, 150.0, of="speed", hold=(30, 80), rate=2.0, unit="rad/s")
    lock = spaql.Interlock("current", above=8.0, action="voltage", high=0.0)
    problem = spaql.loop(
        motor(), references=[target], memory=["integral(speed_error)", "last(current, 9)"], observe=["speed_error", "current"],
        noise={"speed": 0.5}, delay={"sensor": 2, "actuator": 1}, rates=3.0, interlocks=[lock], limits=[spaql.Limit("current", -8, 8)],
        trips=[spaql.Limit("current", -20.0, 20.0)], trip_cost=100.0, dt=0.01,
    )  # fmt: skip
    lines = str(problem).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "motor loop: a plant of your own"
    for line in (
        "  references  target of speed: 0 to 150 rad/s, a new one after 30 to 80 steps,",
        "  errors      speed_error = target - speed",
        "  memory      integral(speed_error), past(current, 1), past(current, 2),",
        "  not seen    speed, target, integral(speed_error), past(current, 1),",
        "  noise       speed 0.5 rad/s",
        "  delay       sensor 2 steps, actuator 1 step",
        "  rates       voltage: at most 3 V per step",
        "  interlocks  while current >= 8: voltage at most 0",
        "  trips       |current| ≤ 20 A, or the episode ends at a cost of 100",
        "  step        0.01 s",
        "  limits      |current| ≤ 8 A",
    ):
        assert line in lines


def test_an_environment_in_a_loop_prints_what_is_around_it_too():
    text = str(spaql.loop(spaql.from_gym("Pendulum-v1"), delay={"sensor": 1}, noise={"x2": 0.1}))
    assert "  delay       sensor 1 step" in text
    assert "  noise       x2 0.1" in text


def test_a_sequence_and_a_fixed_hold_are_told_in_words():
    said = str(spaql.Reference("target", 0.0, 150.0, values=range(20), hold=5))
    assert said == "target: 0, 1, 2, 3, 4, 5, 6, 7, ..., each for 5 steps"
    assert str(spaql.Reference("target", 0.0, 1.0, hold=5)) == "target: 0 to 1, a new one after 5 steps"
