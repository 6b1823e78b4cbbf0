"""Plants from FMUs: a DC motor in C, compiled here, as FMI 2 and as FMI 3."""

import copy
import gc
import json
import math
import pickle
import sys

import gymnasium
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fmus
import spaql
from spaql.plants import fmu_model

OUTPUTS = ["speed", "current"]


def reward(speed, current, voltage, next_speed, next_current):
    return -((next_speed - 100.0) ** 2) / 1e4


def too_much(speed, current, voltage, next_speed, next_current):
    return abs(next_current) > 12.0


@pytest.fixture(scope="module", params=[2, 3], ids=["FMI 2", "FMI 3"])
def file(request, tmp_path_factory):
    return fmus.build(tmp_path_factory.mktemp("fmu") / "motor.fmu", request.param)


@pytest.fixture(scope="module")
def third(tmp_path_factory):
    return fmus.build(tmp_path_factory.mktemp("fmu3") / "motor.fmu", 3)


def motor(path, **changes):
    given = {"observe": OUTPUTS, "actions": ["voltage"], "reward": reward, "horizon": 50, "slopes": [None, 0.1]}
    return spaql.from_fmu(path, **(given | changes))


def run(env, actions, seed=0):
    rows = [env.reset(seed=seed)[0]]
    for action in actions:
        observation, *_ = env.step([action])
        rows.append(observation)
    return np.array(rows)


def reference(actions, start, dt=0.01, j=0.01, r=1.0, ell=0.05, k=0.1, b=0.001, load=0.0):
    """The same equations, integrated by SciPy."""
    rows = [np.array(start, float)]
    for u in actions:
        right = lambda _, x, u=u: [(k * x[1] - b * x[0] - load) / j, (u - r * x[1] - k * x[0]) / ell]  # noqa: E731
        rows.append(solve_ivp(right, (0, dt), rows[-1], rtol=1e-11, atol=1e-12).y[:, -1])
    return np.array(rows)


# -- what it computes --------------------------------------------------------------------------------------------------


def test_a_step_is_a_communication_step_of_the_equations(file):
    actions = np.random.default_rng(0).uniform(-24, 24, 60)
    problem = motor(file, start={"speed": 30.0, "current": -1.0}, parameters={"load": 0.2, "J": 0.02})
    seen = run(problem.open_env(), actions)
    np.testing.assert_allclose(seen, reference(actions, [30.0, -1.0], load=0.2, j=0.02), rtol=1e-8, atol=1e-8)


def test_dt_is_the_length_of_a_step(file):
    problem = motor(file, dt=0.002)
    np.testing.assert_allclose(run(problem.open_env(), [24.0] * 20), reference([24.0] * 20, [0, 0], dt=0.002), rtol=1e-8)


def test_without_dt_the_fmu_says_how_long_a_step_is(file):
    assert motor(file).open_env().unwrapped.dt == 0.01


def test_names_units_and_bounds_are_those_of_the_fmu(file):
    problem = motor(file)
    assert [(axis.name, axis.unit) for axis in problem.state] == [("speed", "rad/s"), ("current", "A")]
    assert (problem.state[0].low, problem.state[0].high) == (-300.0, 300.0)
    assert problem.actions == spaql.Continuous((-24.0,), (24.0,), ("voltage",), ("V",))
    assert (problem.name, problem.horizon) == ("motor", 50)
    assert "A DC motor" in problem.summary


def test_bounds_can_be_given(file):
    problem = motor(file, actions={"voltage": (-12, 6)}, state_low=[-50, -5], state_high=[250, 5], slopes=None, name="mine")
    assert problem.actions == spaql.Continuous((-12.0,), (6.0,), ("voltage",), ("V",))
    assert (problem.state[0].low, problem.state[1].high, problem.map_samples, problem.name) == (-50, 5, 0, "mine")


def test_variables_without_bounds_are_measured_in_a_few_hundred_steps(file):
    problem = motor(file, slopes=None)
    assert problem.state[0].slope is None
    assert 1 / 40 < problem.state[1].slope < 1 / 4
    assert 0 < problem.map_samples <= 500


def test_all_other_inputs_and_parameters_keep_their_start_value(file):
    braked = motor(file, observe=["speed", "brake"], actions=["voltage"], slopes=None, start={"brake": True})
    free = motor(file, observe=["speed", "brake"], slopes=None)
    slow, fast = run(braked.open_env(), [24.0] * 50), run(free.open_env(), [24.0] * 50)
    assert slow[-1, 0] < fast[-1, 0] / 2
    assert (slow[:, 1] == 1).all()
    assert (fast[:, 1] == 0).all()


def test_whole_numbers_and_switches_can_be_observed_and_applied(file):
    problem = motor(
        file, observe=["speed", "direction"], actions={"brake": spaql.Finite((0, 1))}, slopes=None, start={"speed": -200.0},
    )  # fmt: skip
    assert problem.actions == spaql.Finite((0, 1), box=True, names=("brake",), units=("",))
    free, braked = run(problem.open_env(), [0] * 20), run(problem.open_env(), [1] * 20)
    assert abs(braked[-1, 0]) < abs(free[-1, 0]) - 10
    assert (free[:, 1] == -1).all()


def test_a_finite_set_of_voltages(file):
    problem = motor(file, actions={"voltage": spaql.Finite((-24.0, 0.0, 24.0))})
    agent = spaql.SPAQL(problem, seed=0)
    agent.learn(3, rollouts=1)
    assert float(agent.predict([10.0, 0.0])[0][0]) in (-24.0, 0.0, 24.0)


def test_ranges_are_drawn_at_every_reset_by_the_seed(file):
    problem = motor(file, start={"speed": spaql.Between(-50, 50)}, parameters={"load": spaql.Between(0.0, 0.5)})
    env = problem.open_env()
    starts = [env.reset(seed=0 if i == 0 else None)[0][0] for i in range(20)]
    assert len(set(starts)) == 20
    assert -50 <= min(starts) < -20
    assert 20 < max(starts) <= 50
    assert [env.reset(seed=0 if i == 0 else None)[0][0] for i in range(20)] == starts
    assert run(env, [5.0] * 10, seed=1).tolist() == run(env, [5.0] * 10, seed=1).tolist()
    assert run(env, [5.0] * 10, seed=1).tolist() != run(env, [5.0] * 10, seed=2).tolist()


def test_an_fmu_that_cannot_be_reset_is_made_anew(tmp_path, file):
    stubborn = fmus.build(tmp_path / "stubborn.fmu", 2, flags=("-DNO_RESET",))
    envs = [motor(path, start={"speed": spaql.Between(0, 9)}).open_env() for path in (stubborn, file)]
    for seed in (3, 4):
        assert run(envs[0], [9.0] * 5, seed).tolist() == run(envs[1], [9.0] * 5, seed).tolist()


# -- what is paid ------------------------------------------------------------------------------------------------------


def test_reward_and_end_are_functions_of_what_is_seen_and_applied(file):
    problem = motor(file, terminated=too_much)
    env = problem.open_env()
    env.reset(seed=0)
    before, ended = np.zeros(2), False
    for _ in range(50):
        after, paid, ended, truncated, _ = env.step([24.0])
        assert paid == reward(*before, 24.0, *after)
        assert ended == (abs(after[1]) > 12)
        assert not truncated
        if ended:
            break
        before = after
    assert ended


def test_learners_know_reward_and_end(file):
    problem = motor(file, terminated=too_much)
    paid, ends = problem.known.outcomes([[0, 0]], [[24]], [[50, 13]])
    assert (paid[0], ends[0]) == (-0.25, 1.0)


@pytest.mark.slow
def test_atlas_learns_to_hold_a_speed(third):
    problem = motor(third, start={"speed": spaql.Between(0, 200)}, horizon=60)
    agent = spaql.Atlas(problem, controller="table", seed=0)
    agent.learn(samples=300)
    assert agent.evaluate(10).mean > spaql.Random(problem).evaluate(10).mean / 2
    assert "voltage" in agent.policy().to_text()


# -- copies, files, and what is left behind ----------------------------------------------------------------------------


def test_a_copy_opens_the_file_again(file):
    problem = motor(file, start={"speed": spaql.Between(-50, 50)})
    packed = pickle.loads(pickle.dumps(problem))
    for other in (packed.open_env(), copy.deepcopy(problem.open_env())):
        assert run(other, [7.0] * 10, 5).tolist() == run(problem.open_env(), [7.0] * 10, 5).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spaql.SpaqlWarning")
def test_laws_are_searched_in_worker_processes(third):
    problem = motor(third, start={"speed": spaql.Between(0, 200)}, horizon=30)
    agents = [spaql.Laws(problem, max_leaves=1, seed=0, jobs=jobs) for jobs in (1, 2)]
    for agent in agents:
        agent.learn(samples=1500)
    assert agents[0].policy().to_text() == agents[1].policy().to_text()


def test_an_agent_goes_on_with_the_problem_given(tmp_path, third):
    problem = motor(third)
    agent = spaql.SPAQL(problem, seed=0)
    agent.learn(2, rollouts=1)
    agent.save(tmp_path / "a.spaql")
    with pytest.raises(spaql.SpaqlError, match="no plant to learn on"):
        spaql.load(tmp_path / "a.spaql").learn(1)
    spaql.load(tmp_path / "a.spaql", motor(third)).learn(1, rollouts=1)


def test_close_removes_the_unpacked_files(file):
    env = motor(file).open_env().unwrapped
    folder = env.model.folder
    assert (folder / "modelDescription.xml").exists()
    env.close()
    env.close()
    assert not folder.exists()
    with pytest.raises(spaql.SpaqlError, match=r"motor.fmu is closed: make the problem again"):
        env.reset()


def test_what_nobody_uses_any_more_is_closed(file):
    env = motor(file).open_env().unwrapped
    folder = env.model.folder
    del env
    gc.collect()
    assert not folder.exists()


def test_a_problem_that_is_refused_leaves_nothing_behind(file, monkeypatch, tmp_path):
    monkeypatch.setattr(fmu_model.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(spaql.SpaqlError, match=r"dt = 0.00015 s"):
        motor(file, dt=0.00015)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_step_before_reset_is_refused(file):
    env = motor(file).open_env()
    copied = copy.deepcopy(env)
    with pytest.raises(gymnasium.error.ResetNeeded):
        copied.step([0.0])


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observe": ["sped"]}, r"observe: motor.fmu has no variable 'sped': it has speed"),
        ({"observe": ["zzz"]}, r"no variable 'zzz': it has voltage, speed, .*"),
        ({"observe": []}, "observe lists names of variables"),
        ({"observe": ["speed", "speed"]}, "observe lists names of variables of the FMU, each once"),
        ({"observe": 3}, "observe lists names of variables"),
        ({"actions": ["speed"]}, r"actions: speed of motor.fmu is not an input \(it is: output\); inputs are voltage, brake"),
        ({"actions": ["volts"]}, r"actions: motor.fmu has no variable 'volts': it has voltage"),
        ({"actions": []}, "actions lists names"),
        ({"actions": {"voltage": (24, -24)}}, "the lowest value must be below the highest, not 24 and -24"),
        ({"actions": {"voltage": (0, 1, 2)}}, r"voltage takes \(lowest, highest\), None or a spaql.Finite"),
        ({"actions": {"voltage": (0, math.inf)}}, "actions: voltage must be a finite number"),
        ({"actions": ["brake"]}, r"brake of motor.fmu takes whole numbers \(Boolean\): give a set"),
        ({"actions": {"brake": spaql.Finite((0, 0.5))}}, "brake takes whole numbers"),
        ({"actions": {"voltage": None, "brake": spaql.Finite((0, 1))}}, "then it must be the only action"),
        ({"reward": lambda speed: 0.0}, r"takes 1 numbers, but must take 5: the observation \(speed, current\)"),
        ({"reward": lambda a, b, c, d, e: math.nan}, "must return a finite number"),
        ({"terminated": lambda a, b, c, d, e: 7}, "must return True or False, not 7"),
        ({"horizon": 0}, "horizon must be a whole number from 1"),
        ({"dt": 0}, "dt must be a finite number above 0"),
        ({"dt": 0.00015}, r"failed at 0 s in a step of dt = 0.00015 s \(fmi\dDoStep gave status 3, error\): a step must be a multiple of 0.1 ms; it may want another dt \(its own is 0.01\)"),
        ({"actions": {"voltage": (-100, 100)}}, r"failed at .* status 3, error\): over-voltage; it declares voltage from -24 to 24, and actions go from -100 to 100"),
        ({"parameters": {"load": 2000.0}}, r"failed at 0 s .* status 4, fatal\): the shaft is broken"),
        ({"parameters": {"R": -1.0}}, r"motor.fmu: speed is nan at 0.01 s, in step 1 of an episode"),
        ({"parameters": {"J": -1.0}}, r"motor.fmu does not take these values: -1 .* J must be positive"),
        ({"parameters": {"J": "heavy"}}, "parameters: J must be a finite number"),
        ({"parameters": {"heat": 1.0}}, "parameters: heat of motor.fmu cannot be set: it is computed by the FMU"),
        ({"start": {"direction": 1}}, "start: direction of motor.fmu cannot be set"),
        ({"start": {"brake": spaql.Between(0, 1)}}, "brake is a whole number, which cannot be drawn"),
        ({"start": {"speed": 900.0}}, "start: speed must be a finite number from -300 up to 300"),
        ({"start": {"J": 0.02}, "parameters": {"J": 0.01}}, "J is given twice"),
        ({"start": [0.0]}, "start are values by name"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_clear_line(file, changes, message):
    with pytest.raises(spaql.SpaqlError, match=message) as caught:
        motor(file, **changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "kind"), [("note", "of type String"), ("field", "an array")])
def test_what_is_no_single_number_cannot_be_observed(third, name, kind):
    with pytest.raises(spaql.SpaqlError, match=f"observe: {name} of motor.fmu is {kind}, only single numbers"):
        motor(third, observe=[name])


def test_an_input_without_declared_bounds_needs_them(tmp_path):
    text = fmus.describe(3).replace('min="-24" max="24"', "")
    path = fmus.build(tmp_path / "open.fmu", description=text)
    with pytest.raises(spaql.SpaqlError, match=r"declares no min and max of voltage: give \{'voltage': \(lowest, highest\)\}"):
        motor(path)


def test_an_fmu_without_a_step_size_needs_dt(tmp_path):
    path = fmus.build(tmp_path / "m.fmu", description=fmus.describe(3, step=""))
    with pytest.raises(spaql.SpaqlError, match="does not say how long a step is: give dt="):
        motor(path)


def test_a_fixed_inner_step_tells_which_dt_it_takes(tmp_path):
    path = fmus.build(tmp_path / "m.fmu", description=fmus.describe(3, attributes='fixedInternalStepSize="0.004"'))
    with pytest.raises(spaql.SpaqlError, match=r"dt = 0.01 s: m.fmu takes only multiples of its own step, 0.004 s"):
        motor(path)
    assert motor(path, dt=0.012).horizon == 50


def test_an_fmu_that_stops_its_simulation_is_named(third):
    env = motor(third, parameters={"K": 0.02, "b": 0.0}, state_low=[-999, None], state_high=[999, None]).open_env()
    with pytest.raises(spaql.SpaqlError, match=r"motor.fmu stopped its simulation at .* s: end the episode before that"):
        run(env, [24.0] * 2000)


def test_after_a_failed_step_the_next_episode_is_sound(file):
    env = motor(file, actions={"voltage": (-30.0001, 30.0001)}, dt=0.01).open_env()
    with pytest.raises(spaql.SpaqlError, match="over-voltage"):
        run(env, [30.0001])
    np.testing.assert_allclose(run(env, [9.0] * 5), reference([9.0] * 5, [0, 0]), rtol=1e-8)


# -- files that are no FMUs, or not for us -----------------------------------------------------------------------------


def test_a_missing_file(tmp_path):
    with pytest.raises(spaql.SpaqlError, match=r"cannot read .*none.fmu: No such file"):
        motor(tmp_path / "none.fmu")


def test_a_file_that_is_no_zip(tmp_path):
    (tmp_path / "a.fmu").write_text("hello")
    with pytest.raises(spaql.SpaqlError, match=r"a.fmu is not an FMU: it is not a zip file"):
        motor(tmp_path / "a.fmu")


def test_a_zip_that_is_no_fmu(tmp_path):
    with fmus.zipfile.ZipFile(tmp_path / "a.fmu", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(spaql.SpaqlError, match=r"a.fmu is not an FMU: there is no modelDescription.xml in it"):
        motor(tmp_path / "a.fmu")


@pytest.mark.parametrize("text", ["", "<fmi", "<a/>", '<fmiModelDescription fmiVersion="9.0"/>', '<fmiModelDescription fmiVersion="2.0"/>'])
def test_a_description_that_cannot_be_read(tmp_path, text):
    path = fmus.build(tmp_path / "a.fmu", description=text or " ")
    with pytest.raises(spaql.SpaqlError, match=r"the modelDescription.xml of a.fmu cannot be read") as caught:
        motor(path)
    assert "\n" not in str(caught.value)


def test_model_exchange_only(tmp_path):
    path = fmus.build(tmp_path / "m.fmu", description=fmus.describe(3, kind="ModelExchange"))
    with pytest.raises(spaql.SpaqlError, match=r"m.fmu is for model exchange only, .*: export it for co-simulation"):
        motor(path)


def test_fmi_1(tmp_path):
    text = '<fmiModelDescription fmiVersion="1.0" modelName="m" modelIdentifier="motor" guid="g" numberOfContinuousStates="0" numberOfEventIndicators="0"><ModelVariables/><Implementation><CoSimulation_StandAlone/></Implementation></fmiModelDescription>'
    with pytest.raises(spaql.SpaqlError, match=r"m.fmu is of FMI 1.0: export it for FMI 2 or 3"):
        motor(fmus.build(tmp_path / "m.fmu", description=text))


@pytest.mark.parametrize("major", [2, 3])
def test_a_machine_without_a_binary_is_told_what_there_is(tmp_path, major):
    path = fmus.build(tmp_path / "m.fmu", major, folder="riscv64-linux", extra=["binaries/win64/motor.dll", "sources/motor.c"])
    this = fmus.fmpy.platform_tuple + (f" or {fmus.fmpy.platform}" if major == 2 else "")
    with pytest.raises(spaql.SpaqlError) as caught:
        motor(path)
    assert f"m.fmu has no binary for this machine ({this}): it has riscv64-linux" in str(caught.value)
    assert "win64, C sources; export it" in str(caught.value)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the header of a library of Linux")
def test_a_library_for_another_processor_is_seen_by_its_header(tmp_path):
    """FMI 2 calls Linux on Intel linux64, and on ARM FMPy looks there too."""
    foreign = bytearray(fmus.library(2))
    foreign[18:20] = (62 if fmus.fmpy.architecture == "aarch64" else 183).to_bytes(2, "little")
    path = fmus.build(tmp_path / "m.fmu", 2, binary=bytes(foreign))
    other = "x86_64" if fmus.fmpy.architecture == "aarch64" else "aarch64"
    with pytest.raises(spaql.SpaqlError, match=rf"no binary for this machine .* it has linux64 \(made for {other}\)"):
        motor(path)


def test_fmi_2_may_name_the_machine_as_fmi_3_does(tmp_path):
    path = fmus.build(tmp_path / "m.fmu", 2, folder=fmus.fmpy.platform_tuple)
    assert run(motor(path).open_env(), [9.0] * 5).shape == (6, 2)


def test_a_library_that_does_not_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = fmus.build(tmp_path / "m.fmu", 3, binary=fmus.library(3)[:200] + b"\0" * 50)
    with pytest.raises(spaql.SpaqlError, match=r"m.fmu cannot be loaded: Failed to load shared library") as caught:
        motor(path)
    assert "\n" not in str(caught.value)
    assert fmu_model.Path.cwd() == tmp_path


def test_a_library_of_the_other_version_does_not_load(tmp_path):
    with pytest.raises(spaql.SpaqlError, match=r"m.fmu cannot be loaded: .*fmi3"):
        motor(fmus.build(tmp_path / "m.fmu", 3, binary=fmus.library(2)))


def test_without_fmpy_the_extra_is_named(third, monkeypatch):
    monkeypatch.setitem(sys.modules, "fmpy", None)
    fmu_model.fmpy.cache_clear()
    with pytest.raises(spaql.SpaqlError, match=r'FMUs need FMPy: pip install "spaql\[fmi\]"'):
        motor(third)
    fmu_model.fmpy.cache_clear()


def test_nothing_is_printed(third, tmp_path):
    """FMPy prints on standard output what it lacks, and FMUs what they think: machines read ours."""
    import subprocess

    code = f"""
import json, spaql
def reward(a, u, b): return 0.0
try:
    spaql.from_fmu({str(third)!r}, observe=["speed"], actions={{"voltage": (-99, 99)}}, reward=reward, horizon=9)
except spaql.SpaqlError as error:
    print(json.dumps(str(error)))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "over-voltage" in json.loads(out)
