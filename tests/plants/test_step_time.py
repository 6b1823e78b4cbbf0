"""Seconds per step: a loop takes those of a plant that has a clock, and refuses others."""

import threading

import gymnasium
import pytest

import spaql
from gym_envs import Line
from loops import motor


class Clocked(Line):
    """As environments of MuJoCo: the time of a step is computed."""

    @property
    def dt(self):
        return 4 * 0.0025


class Method(Line):
    """Something else is called dt."""

    def dt(self):
        return 3.0


class Twice(gymnasium.Wrapper):
    """Applies every action twice, so that its steps are longer than those inside."""

    def step(self, action):
        self.env.step(action)
        return self.env.step(action)


class Told(Twice):
    """The same, and it says so."""

    dt = 0.02


def looped(problem, **told):
    return spaql.loop(problem, memory=[f"integral({problem.state[0].name})"], **told)


def fmu(tmp_path, **told):
    fmus = pytest.importorskip("fmus", reason="no FMPy or no C compiler")
    path = fmus.build(tmp_path / "motor.fmu", 3)  # it suggests steps of 0.01 s
    return spaql.from_fmu(path, observe=["speed"], actions={"voltage": (-12, 12)}, horizon=20, **told)


PLANTS = {
    "an environment of Gymnasium": (lambda _: spaql.from_gym("Pendulum-v1"), 0.05),
    "its class says so": (lambda _: spaql.from_gym("Acrobot-v1"), 0.2),
    "computed": (lambda _: spaql.from_gym(Clocked(), horizon=9), 0.01),
    "wrapped by Gymnasium": (lambda _: spaql.from_gym(gymnasium.wrappers.RescaleAction(Clocked(), -2.0, 2.0), horizon=9), 0.01),
    "wrapped by somebody who says so": (lambda _: spaql.from_gym(Told(Clocked()), horizon=9), 0.02),
    "a problem by name": (lambda _: spaql.make("pendulum"), 0.05),
    "with another step": (lambda _: spaql.make("pendulum", dt=0.02), 0.02),
    "a problem by name, as an environment": (lambda _: spaql.from_gym(gymnasium.make("spaql/Pendulum-v0")), 0.05),
    "an FMU with the step it suggests": (fmu, 0.01),
    "an FMU with another step": (lambda folder: fmu(folder, dt=0.5), 0.5),
}
NO_CLOCK = {
    "a plant of your own": motor,
    "an environment": lambda: spaql.from_gym(Line(), horizon=9),
    "frames per second are no step": lambda: spaql.from_gym("MountainCar-v0"),
    "another thing of that name": lambda: spaql.from_gym(Method(), horizon=9),
    "wrapped by somebody": lambda: spaql.from_gym(Twice(Clocked()), horizon=9),
    "a problem by name, wrapped by somebody": lambda: spaql.from_gym(Twice(gymnasium.make("spaql/Pendulum-v0")), horizon=9),
    "drawn anew in every episode": lambda: spaql.make("pendulum", dt=spaql.Between(0.04, 0.06)),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_loop_takes_the_step_of_its_plant_and_no_other(name, tmp_path):
    make, seconds = PLANTS[name]
    problem = make(tmp_path)
    assert problem.dt == looped(problem).signals.dt == looped(problem, dt=seconds * (1 + 1e-9)).signals.dt == pytest.approx(seconds)
    with pytest.raises(spaql.SpaqlError, match=rf"dt = 1 s, but a step of .* takes {seconds:g} s: leave dt out"):
        looped(problem, dt=1.0)


@pytest.mark.parametrize("name", NO_CLOCK)
def test_without_a_clock_dt_says_how_long_a_step_is(name):
    problem = NO_CLOCK[name]()
    assert problem.dt is None
    assert looped(problem).signals.dt == 1.0
    assert looped(problem, dt=0.3).signals.dt == 0.3


def test_a_model_of_the_plant_has_its_step():
    problem = spaql.make("pendulum")
    model = spaql.from_data(problem, spaql.record(problem, episodes=1))
    assert looped(model).signals.dt == 0.05


def test_pid_takes_it_too():
    assert spaql.pid(spaql.make("cartpole-500"), kp=-20.0, kd=-5.0, of="angle").problem.signals.dt == 0.02
    with pytest.raises(spaql.SpaqlError, match=r"dt = 1 s, but a step of cartpole-500 takes 0\.02 s"):
        spaql.pid(spaql.make("cartpole-500"), kp=-20.0, of="angle", dt=1.0)


def test_an_agent_that_is_loaded_remembers_in_the_same_seconds(tmp_path):
    agent = spaql.Atlas(spaql.from_gym("Pendulum-v1"), seed=0)
    agent.train(20, threading.Event())  # without the search for a controller
    agent.save(tmp_path / "a.spaql")
    for one in (agent, spaql.load(tmp_path / "a.spaql")):
        assert one.with_memory(["integral(x0)"]).problem.signals.dt == 0.05
