"""From a log to a controller in a loop: a model of recorded steps stands where a plant would."""

import pickle
import warnings

import numpy as np
import pytest

import spaql
from loops import motor
from spaql.gp.scalar_form import in_python
from spaql.plants.plant import advance

BLUR = 2.0  # rad/s


def logged(episodes=3, noise=BLUR):
    """What a data logger has written: measured values and the voltage, no rewards."""
    frame, rng = spaql.record(motor(), episodes=episodes, seed=3), np.random.default_rng(0)
    frame = frame.rename(columns={"action": "voltage"})[["episode", "step", "speed", "current", "voltage"]].copy()
    frame["speed"] += noise * rng.standard_normal(len(frame))
    return frame


@pytest.fixture(scope="module")
def learned():
    return spaql.from_data(motor(), logged())


def test_a_log_needs_no_reward_to_become_a_plant(tmp_path, learned):
    logged().to_csv(tmp_path / "log.csv", index=False)
    again = spaql.from_data(motor(), tmp_path / "log.csv")
    assert np.array_equal(again.plant.memory[0][3:], learned.plant.memory[0][3:], equal_nan=True)


def test_a_log_is_checked_like_any_other():
    with pytest.raises(spaql.SpaqlError, match="wrong units"):
        spaql.from_data(motor(), logged().assign(current=1000.0))
    with pytest.raises(spaql.SpaqlError, match="too few for a model"):
        spaql.from_data(motor(), logged().iloc[:6])
    with pytest.raises(spaql.SpaqlError, match="gaps"):
        spaql.from_data(motor(), logged().drop(index=range(5, 9)))


@pytest.mark.parametrize("asked", [{"low": 0.0, "high": 250.0}, {"low": 0.0, "high": 250.0, "values": (0.0, 240.0), "hold": 20}])
def test_a_reference_beyond_the_data_is_told_with_the_range_of_the_data(learned, asked):
    (low, high), _ = learned.seen
    said = rf"target asks for speed from 0 to 2[45]0 rad/s, and the data of the model have {low:.4g} to {high:.4g} rad/s"
    with pytest.warns(spaql.SpaqlWarning, match=said):
        spaql.loop(learned, references=[spaql.Reference("target", of="speed", **asked)])


def test_a_reference_within_the_data_or_of_a_plant_brings_no_warning(learned):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spaql.loop(learned, references=[spaql.Reference("target", 0.0, 250.0, of="speed", values=(0.0, 20.0), hold=9)])
        spaql.loop(motor(), references=[spaql.Reference("target", 0.0, 250.0, of="speed")])


def test_as_plain_functions_the_model_is_the_same(learned):
    plant, plain = learned.plant, in_python(learned.plant)
    rng, table, rows = np.random.default_rng(1), plant.table(), plant.rows
    states = plant.numbers.starts[:20] + rng.normal(size=(20, 2))
    actions, function = rng.uniform(-24, 24, 20), rng.integers(6, size=20)
    table[rows.state : rows.state + 2, :20], table[rows.state + 2, :20] = states.T, function
    table[rows.action, :20], table[rows.noise : rows.reward] = actions, 0.5
    advance(plant.batch[1], table.reshape(-1), 0, 0, np.zeros(20, np.uint64), 0)
    ours = np.array([plain.step(*states[i], function[i], 0.0, actions[i], 0.5, 0.5)[0] for i in range(20)])
    assert ours[:, :2] == pytest.approx(table[rows.observation : rows.observation + 2, :20].T, rel=1e-4, abs=1e-3)


def full_voltage(speed, current, target, speed_error, integral):
    return 24.0


def power(voltage):
    return abs(voltage)


def in_loop(problem, **more):
    target = spaql.Reference("target", 0, 60, of="speed", hold=(30, 60))
    return spaql.loop(problem, references=[target], memory=["integral(speed_error)"], dt=0.02, **more)


def test_the_noise_of_the_sensors_is_found_in_the_log(learned):
    assert learned.plant.sensor_noise[0] == pytest.approx(BLUR, rel=0.4)
    assert "noise       speed" in str(in_loop(learned))
    assert "noise" not in str(in_loop(learned, noise={}))
    assert "noise       speed 5 rad/s" in str(in_loop(learned, noise={"speed": 5.0}))


def test_a_controller_does_on_the_plant_what_it_does_in_the_model_of_its_log(learned):
    pi = {"kp": 0.1, "ki": 0.5}
    model = spaql.pid(in_loop(learned), **pi).evaluate(100)
    plant = spaql.pid(in_loop(motor(), noise={"speed": BLUR}), **pi).evaluate(100)
    assert model.mean == pytest.approx(plant.mean, rel=0.25)


def test_the_same_seed_gives_the_same_episodes_in_another_process(learned):
    problem = in_loop(learned)
    again = pickle.loads(pickle.dumps(problem))
    assert np.array_equal(
        spaql.pid(problem, kp=0.1).evaluate(5).returns, spaql.pid(again, kp=0.1).evaluate(5).returns
    )


def test_a_step_beyond_the_data_pays_the_least_there_is(learned):
    problem = in_loop(learned, noise={}, reward=power)
    rewards = np.array(spaql.Controller(problem, full_voltage).episode(seed=0).rewards)
    assert rewards[0] == pytest.approx(24.0)  # at rest, as in the log
    assert rewards[-1] < 1.0  # where nobody has measured


def test_a_log_of_what_is_measured_is_no_log_of_a_loop(learned):
    with pytest.raises(spaql.SpaqlError, match="from_data"):
        spaql.Atlas(in_loop(motor())).replay(logged().assign(reward=0.0))
