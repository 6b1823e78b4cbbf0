"""What a loop cannot be is refused in one line that says what to do."""

import pytest

import spaql
from loops import motor
from spaql.ground.errors import SpaqlError

TARGET = spaql.Reference("target", 0.0, 150.0, of="speed")

@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"references": [spaql.Reference("target", 0, 1, of="torque")]}, "'torque' is not measured: choose speed, current"),
        ({"references": [spaql.Reference("speed", 0, 1)]}, "two variables or actions are called 'speed'"),
        ({"references": [spaql.Reference("voltage", 0, 1)]}, "two variables or actions are called 'voltage'"),
        ({"references": [spaql.Reference("target", 0, 999, of="speed")]}, "0 to 999 is not within -300 to 300"),
        ({"references": [spaql.Reference(name, 0, 9, of="speed") for name in "ab"]}, "two references of 'speed'"),
        ({"increments": 1.0, "rates": 1.0}, "give increments or rates, not both"),
        ({"observe": ["speed"], "limits": [spaql.Limit("current", high=1.0)]}, "add it to observe"),
        ({"limits": [spaql.Limit("speed", low=400.0)]}, "can never hold"),
        ({"delay": 3}, "such as {'actuator': 1}"),
        ({"references": ["target"]}, "references is a list of spaql.Reference"),
        ({"memory": ["integral(torque)"]}, "'torque' is not a variable: choose speed, current"),
        ({"memory": ["sum(speed)"]}, "memory is chosen by names such as"),
        ({"memory": ["average(speed)"]}, "give the number of steps"),
        ({"memory": ["past(speed, 2.5)"]}, "give the number of steps"),
        ({"memory": ["integral(speed, -1)"]}, "the limit of an integral is above 0"),
        ({"memory": ["lag(torque, 2)"]}, "choose speed, current, voltage"),
        ({"memory": ["lag(speed)"]}, "give a variable or an action, and seconds, such as lag"),
        ({"memory": ["lag(speed, -1)"]}, "give seconds above 0, and perhaps the first value"),
        ({"memory": ["lag(speed, 0.5)"]}, "a lag is no shorter than a step, 1 s"),
        ({"memory": ["previous(speed)"]}, "'speed' is not an action: choose voltage"),
        ({"observe": ["torque"]}, "there is no variable 'torque'"),
        ({"observe": ["speed", "speed"]}, "a variable is there twice"),
        ({"noise": {"torque": 1.0}}, "'torque' is not measured"),
        ({"noise": {"speed": -1.0}}, "noise of speed must be a finite number from 0"),
        ({"noise": 0.1}, "noise is given by name"),
        ({"delay": {"sensors": 1}}, "choose sensor or actuator"),
        ({"delay": {"sensor": 40, "actuator": 20}}, "as long as the episode"),
        ({"increments": -1.0}, "increments of voltage must be a finite number from 4.8e-11"),
        ({"rates": {"torque": 1.0}}, "one for each of voltage"),
        ({"interlocks": [spaql.Interlock("torque", above=1.0, high=0.0)]}, "no variable 'torque'"),
        ({"interlocks": [spaql.Interlock("speed", above=1.0, low=30.0)]}, "no action is left"),
        (
            {"interlocks": [spaql.Interlock("current", above=0.0, low=5.0), spaql.Interlock("current", above=-1.0, high=-5.0)]},
            "while current >= 0: the action at least 5; while current >= -1: the action at most -5: both can hold, no action is left",
        ),
        ({"interlocks": [spaql.Interlock("current", above=9.0, low=5.0), spaql.Interlock("speed", below=0.0, high=4.9)]}, "contradict each other"),
        ({"interlocks": [spaql.Interlock("current", above=9.0, low=5.0), spaql.Interlock("current", below=9.0, high=4.9)]}, "contradict each other"),
        ({"references": [spaql.Reference("previous(voltage)", 0, 1)], "memory": ["previous(voltage)"]}, "are called 'previous(voltage)'"),
        ({"references": [spaql.Reference("previous(voltage)", 0, 1)], "increments": 1.0}, "are called 'previous(voltage)'"),
        (
            {"references": [spaql.Reference("x y", 0, 1), spaql.Reference("x_y", 0, 1)], "reward": lambda x_y: x_y},
            "reward: x_y may mean 'x y' or 'x_y': rename one of them",
        ),
        (
            {"references": [spaql.Reference("previous voltage", 0, 1)], "memory": ["previous(voltage)"], "reward": lambda previous_voltage: 0.0},
            "reward: previous_voltage may mean 'previous voltage' or 'previous(voltage)'",
        ),
        ({"trips": [spaql.Limit("torque", high=1.0)], "trip_cost": 1.0}, "'torque' is not measured"),
        ({"trips": [spaql.Limit("speed", high=1.0)]}, "trips need trip_cost"),
        ({"interlocks": [spaql.Interlock("current", above=60.1, high=0.0)]}, "current goes from -60 to 60, so that this holds always or never"),
        ({"interlocks": [spaql.Interlock("current", above=-61.0, high=0.0)]}, "holds always or never"),
        ({"interlocks": [spaql.Interlock("speed_error", below=-301.0, low=0.0)], "references": [TARGET]}, "speed_error goes from -300 to 450"),
        ({"trips": [spaql.Limit("current", -20, 61)], "trip_cost": 1.0}, "the trip -20 ≤ current ≤ 61 has an end that is never exceeded"),
        ({"trips": [spaql.Limit("current", high=60)], "trip_cost": 1.0}, "the trip current ≤ 60 has an end that is never exceeded: current goes from -60 to 60"),
        ({"trips": [spaql.Limit("current", low=-60)], "trip_cost": 1.0}, "never exceeded"),
        ({"trip_cost": 1.0}, "trip_cost without trips"),
        ({"references": [spaql.Reference("target", 0, 150, hold=60)]}, "target is held for 60 steps, and an episode has 60: it would never change"),
        ({"references": [spaql.Reference("target", 0, 150, values=(1, 2), hold=(61, 99))]}, "it would never change"),
        ({"references": [TARGET], "limits": [spaql.Limit("speed", -100, 100)]}, "target asks for 0 to 150, beyond the limit |speed| ≤ 100"),
        ({"references": [TARGET], "limits": [spaql.Limit("target", high=149)]}, "target asks for 0 to 150, beyond the limit target ≤ 149"),
        ({"references": [TARGET], "trips": [spaql.Limit("speed", high=149)], "trip_cost": 1.0}, "beyond the limit speed ≤ 149"),
        ({"noise": {"speed": 1e308}}, "noise of speed must be a finite number from 0 up to 600, not 1e+308"),
        ({"dt": 1e-320}, "dt must be a finite number from 1e-12 up to 1e+12, not 1e-320"),
        ({"dt": 1e300}, "dt must be a finite number from 1e-12 up to 1e+12, not 1e+300"),
        ({"rates": 1e-320}, "rates of voltage must be a finite number from 4.8e-11 up to 1e+100, not 1e-320"),
        ({"increments": {"voltage": 1e-320}}, "increments of voltage must be a finite number from 4.8e-11"),
        ({"rates": 1e308}, "rates of voltage must be a finite number from 4.8e-11 up to 1e+100"),
        ({"reward": lambda torque: 0.0}, "there is no variable 'torque'"),
        ({"reward": 3}, "reward must be a plain Python function"),
        ({"dt": 0.0}, "dt must be a finite number from 1e-12 up to 1e+12, not 0.0"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(told, message):
    with pytest.raises(SpaqlError) as caught:
        spaql.loop(motor(), **told)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"low": 1.0, "high": 0.0}, "low must be below high"),
        ({"low": 0.0, "high": 1.0, "values": (0.5, 2.0), "hold": 3}, "2 is outside its range, 0 to 1"),
        ({"low": 0.0, "high": 1.0, "values": (0.5, 1.0)}, "hold=... says for how many steps"),
        ({"low": 0.0, "high": 1.0, "hold": (5, 3)}, "hold is a number of steps or"),
        ({"low": 0.0, "high": float("nan")}, "high must be a finite number"),
        ({"low": 0.0, "high": 1.0, "rate": 1e-320}, "rate must be a finite number from 1e-12, not 1e-320"),
        ({"low": 0.0, "high": 1.0, "rate": 0.0}, "rate must be a finite number from 1e-12"),
    ],
)
def test_a_reference_that_cannot_be_is_refused(told, message):
    with pytest.raises(SpaqlError, match=r"target: .*") as caught:
        spaql.Reference("target", **told)
    assert message in str(caught.value)


def test_a_loop_around_a_loop_is_refused():
    with pytest.raises(SpaqlError, match="in a loop already"):
        spaql.loop(spaql.loop(motor(), delay={"sensor": 1}), delay={"sensor": 1})


def test_increments_of_a_finite_set_are_refused():
    with pytest.raises(SpaqlError, match="continuous actions"):
        spaql.loop(spaql.make("mountain-car"), increments=1.0)


def test_interlocks_that_leave_an_action_together_are_taken():
    """Those of one variable that cannot hold at a time, those of other actions, those that share an action."""
    apart = [spaql.Interlock("current", above=9.0, low=5.0), spaql.Interlock("current", below=8.9, high=-5.0)]
    shared = [spaql.Interlock("speed", above=0.0, low=5.0), spaql.Interlock("current", above=0.0, high=5.0)]
    for locks in (apart, shared):
        assert spaql.loop(motor(), interlocks=locks).signals.interlocks == tuple(locks)


def test_contradictory_interlocks_of_a_finite_set_are_refused():
    locks = [spaql.Interlock("position", above=0.0, low=0.5), spaql.Interlock("velocity", above=0.0, high=0.9)]
    with pytest.raises(SpaqlError, match="contradict each other"):
        spaql.loop(spaql.make("mountain-car"), interlocks=locks)


def test_names_that_only_another_reward_would_confuse_are_taken():
    both = [spaql.Reference("x y", 0, 1), spaql.Reference("x_y", 0, 1)]
    assert spaql.loop(motor(), references=both, reward=lambda speed: -speed).signals.references == tuple(both)


def test_what_is_at_the_edge_of_what_can_happen_is_taken():
    """A profile within the limit, a hold that ends within the episode, thresholds at the ends of the range."""
    profile = spaql.Reference("target", 0.0, 150.0, of="speed", values=(20, 100), hold=59, rate=1e-3)
    locks = [spaql.Interlock("current", above=60.0, high=0.0), spaql.Interlock("current", below=-60.0, low=0.0)]
    problem = spaql.loop(
        motor(), references=[profile], limits=[spaql.Limit("speed", -100, 100)], interlocks=locks, noise={"speed": 600.0},
        trips=[spaql.Limit("current", -59.0, 59.0)], trip_cost=0.0, rates=48.0, dt=1e-12,
    )  # fmt: skip
    assert problem.signals.interlocks == tuple(locks)


def test_a_variable_without_bounds_may_have_any_threshold():
    problem = spaql.from_gym("CartPole-v1", horizon=50)  # velocities are unbounded
    lock = spaql.Interlock("x1", above=1e6, high=0)
    assert spaql.loop(problem, interlocks=[lock], trips=[spaql.Limit("x1", high=1e6)], trip_cost=1.0).signals.interlocks == (lock,)
