"""A loop stated on the command line, around problems by name, Gymnasium ids, Python files and FMUs alike."""

import sys
import zlib

import pytest

import spaql
from command_line import refused, run, told
from spaql.cli.arguments import problem_of
from spaql.cli.plant_options import PlantOptions

SHORT = ("--iterations", 2, "--rollouts", 1, "--fresh", 2, "--quiet", "--json")
MOTOR = """
import spaql

@spaql.reset
def begin():
    return 0.0, 0.0

@spaql.step
def turn(speed, current, voltage):
    current = 0.5 * current + 0.5 * (voltage - 0.05 * speed)
    speed = 0.98 * speed + current
    return (speed, current), 0.0, False

motor = spaql.from_plant(
    begin, turn, name="motor", horizon=20, actions=spaql.Continuous((-24.0,), (24.0,), ("voltage",), ("V",)),
    state=[spaql.Axis("speed", -600.0, 600.0, unit="rad/s"), spaql.Axis("current", -60.0, 60.0, unit="A")],
)
looped = spaql.loop(motor, delay={"sensor": 1})

def paid(speed_error, voltage):
    return -abs(speed_error) - 0.01 * abs(voltage)
"""
ALL = {
    "reference": ["target of speed=0:150, hold 10:80, rate 2.5, unit rad/s"],
    "memory": ["integral(speed_error, 10), previous(voltage)"],
    "limit": ["current=-8:8", "voltage=:20"],
    "trip": ["current=-20:20"],
    "trip_cost": 50.0,
    "noise": ["speed=0.5", "current=0.1"],
    "delay": ["sensor=1", "actuator=2"],
    "rates": ["voltage=3"],
    "interlock": ["current>=8: voltage=-24:0"],
}


@pytest.fixture
def file(tmp_path, request):
    """A file with a motor; files of other tests have other names, as modules are kept."""
    file = tmp_path / f"motor{zlib.crc32(request.node.name.encode())}.py"
    file.write_text(MOTOR)
    yield file
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


def test_every_option_states_what_spaql_loop_takes(file):
    observe = "speed_error,integral(speed_error, 10),current"
    typed = problem_of(f"{file}:motor", PlantOptions(observe=observe, reward=f"{file}:paid", dt=0.01, **ALL))
    module = sys.modules[f"spaql_file_{file.stem}"]
    said = spaql.loop(
        module.motor,
        references=[spaql.Reference("target", 0.0, 150.0, of="speed", hold=(10, 80), rate=2.5, unit="rad/s")],
        memory=["integral(speed_error, 10)", "previous(voltage)"],
        observe=["speed_error", "integral(speed_error, 10)", "current"],
        limits=[spaql.Limit("current", -8.0, 8.0), spaql.Limit("voltage", high=20.0)],
        trips=[spaql.Limit("current", -20.0, 20.0)], trip_cost=50.0,
        noise={"speed": 0.5, "current": 0.1}, delay={"sensor": 1, "actuator": 2}, rates=3.0,
        interlocks=[spaql.Interlock("current", above=8.0, action="voltage", low=-24.0, high=0.0)],
        reward=module.paid, dt=0.01,
    )  # fmt: skip
    assert str(typed) == str(said)
    assert typed.signals == said.signals
    assert typed.plant.origin[1][2] == said.plant.origin[1][2]


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("target=0:1", spaql.Reference("target", 0, 1)),
        ("set point of speed = -1.5:2e2", spaql.Reference("set point", -1.5, 200.0, of="speed")),
        ("target=0:9, hold 4", spaql.Reference("target", 0, 9, hold=4)),
        ("target=0:9, values 1/2/9, hold 4", spaql.Reference("target", 0, 9, values=(1, 2, 9), hold=4)),
    ],
)
def test_references_are_typed_as_they_are_told(text, reference):
    from spaql.cli.plant_options import _reference

    assert _reference(text) == reference


def test_increments_are_one_number_or_one_per_action(file):
    for text in ("2", "voltage=2"):
        assert problem_of(f"{file}:motor", PlantOptions(increments=[text])).actions.high == (2.0,)


def test_limits_alone_make_no_loop():
    problem = problem_of("pendulum", PlantOptions(limit=["velocity=-4:4"]))
    assert problem.signals is None
    assert problem.limits == (spaql.Limit("velocity", -4.0, 4.0),)


def test_a_problem_by_name_is_trained_in_a_loop_evaluated_and_exported_with_its_memory(tmp_path):
    words = ("--memory", "integral(sin)", "--delay", "actuator=1", "--observe", "sin,velocity,integral(sin)", "--dt", 0.05)
    made = told("train", "pendulum", "spaql", *SHORT, *words, "--out", tmp_path)
    assert made["problem"] == "pendulum loop"
    agent = tmp_path / "agent.spaql"
    again = told("evaluate", agent, "--problem", "pendulum", *words, "--episodes", 2, "--json")
    assert again["mean"] == pytest.approx(made["agents"][0]["fresh"])
    assert "--problem" in refused("evaluate", agent)
    assert "controller_step(controller_memory *memory" in run("export", agent).stdout
    assert "a loop needs its plant" in refused("evaluate", agent, *words)


def test_a_gymnasium_id_is_trained_in_a_loop():
    words = ("--reference", "target of x2=-1:1, hold 5", "--noise", "x2=0.1", "--horizon", 20)
    assert told("train", "Pendulum-v1", "spaql", *SHORT, *words)["problem"] == "Pendulum-v1 loop"


def test_a_python_file_is_trained_in_a_loop_and_logged(file, tmp_path):
    words = ("--reference", "target of speed=0:100", "--increments", "2", "--reward", f"{file}:paid")
    assert told("train", f"{file}:motor", "spaql", *SHORT, *words)["problem"] == "motor loop"
    told("record", f"{file}:motor", "--episodes", 2, "--out", tmp_path / "log.csv", *words, "--json")
    head = (tmp_path / "log.csv").read_text().splitlines()[0]
    assert "speed_error" in head
    assert "previous(voltage)" in head


def test_the_reference_of_spaql_ts_is_typed_as_before():
    made = told("train", "pendulum", "spaql-ts", *SHORT, "--reference", "1,0,0")
    assert made["agents"][0]["fresh"] == told("train", "pendulum", "spaql-ts", *SHORT)["agents"][0]["fresh"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--reference", "target of speed=0"), "--reference takes NAME of VARIABLE=LOW:HIGH"),
        (("--reference", "foo"), "--reference takes NAME of VARIABLE=LOW:HIGH, then hold STEPS or LEAST:MOST, rate STEP, values A/B/C or unit UNIT, such as 'target of speed=0:150, hold 30:80', not 'foo'"),
        (("--reference", "target=0:1, hold"), "such as 'target of speed=0:150, hold 30:80', not 'target=0:1, hold'"),
        (("--reference", "target=0:1, every 3"), "--reference takes"),
        (("--reference", "target=0:1, hold 3, hold 4"), "--reference takes"),
        (("--reference", "target of torque=0:1"), "'torque' is not measured: choose speed, current"),
        (("--reference", "target=3:1"), "low must be below high"),
        (("--memory", "integral(torque)"), "'torque' is not a variable"),
        (("--limit", "current"), "--limit takes NAME=LOW:HIGH, or an open end, such as 'current=-8:8', not 'current'"),
        (("--limit", "current=8"), "--limit takes NAME=LOW:HIGH"),
        (("--limit", "torque=0:1"), "a limit on 'torque': there is no such variable"),
        (("--trip", "current=0:1"), "--trip needs --trip-cost too"),
        (("--noise", "speed"), "--noise takes NAME=NUMBER, such as 'speed=0.5', not 'speed'"),
        (("--noise", "speed=1", "--noise", "speed=2"), "speed is given twice"),
        (("--delay", "sensor=1.5"), "delay of the sensor must be a whole number"),
        (("--delay", "motor=1"), "choose sensor or actuator"),
        (("--rates", "fast"), "--rates takes a NUMBER, or NAME=NUMBER, such as 'voltage=2', not 'fast'"),
        (("--interlock", "current>=8"), "--interlock takes VARIABLE>=NUMBER: ACTION=LOW:HIGH"),
        (("--interlock", "current>=high: voltage=-24:0"), "such as 'current>=8: voltage=-24:0'"),
        (("--observe", "speed,torque"), "observe: there is no variable 'torque'"),
        (("--reward", "{file}:motor"), "is a Problem, not a function"),
        (("--reward", "{file}:paid"), "there is no variable 'speed_error'"),
        (("--measure", "speed"), "--measure goes with a .fmu file"),
        (("--dt", "0.1"), "--dt goes with a .fmu file"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(file, words, message):
    typed = [word.format(file=file) for word in words]
    assert message in refused("train", f"{file}:motor", "spaql", *SHORT, *typed)


def test_a_loop_around_a_loop_is_refused_but_limits_are_added(file):
    assert "in a loop already" in refused("train", f"{file}:looped", "spaql", *SHORT, "--delay", "sensor=1")
    assert told("train", f"{file}:looped", "spaql", *SHORT, "--limit", "current=-8:8")["problem"] == "motor loop"


def test_an_fmu_is_measured_and_the_controller_sees_what_the_loop_makes_of_it(tmp_path):
    fmus = pytest.importorskip("fmus", reason="no FMPy or no C compiler")
    fmu = fmus.build(tmp_path / "motor.fmu", 3)
    words = ("--action", "voltage=-12:12", "--horizon", 20, "--reference", "target of speed=0:50", "--memory", "integral(speed_error)")
    seen = ("--measure", "speed,current", "--observe", "speed_error,integral(speed_error)")
    assert told("train", fmu, "spaql", *SHORT, *words, *seen)["problem"] == "motor loop"
    problem = problem_of(str(fmu), PlantOptions(20, None, "speed", ["voltage=-12:12"], reference=["target of speed=0:50"]))
    assert [axis.name for axis in problem.state] == ["speed", "target", "speed_error"]
    assert problem.signals.dt == spaql.from_fmu(
        fmu, observe=["speed"], actions={"voltage": (-12, 12)}, reward=lambda a, u, b: 0.0, horizon=20
    ).env.dt
    assert "needs --observe too" in refused("train", fmu, "spaql", *SHORT, *words)
    assert "has no variable 'speed_error'" in refused("train", fmu, "spaql", *SHORT, *words, "--observe", "speed_error")
