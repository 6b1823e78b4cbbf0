"""Plants from files on the command line: `motor.py:problem`, and `motor.fmu` with what an FMU does not say."""

import json
import sys
import zlib

import pytest

import spaql
from command_line import refused, run, told

SHORT = ("--iterations", 2, "--rollouts", 1, "--fresh", 2, "--quiet", "--json")
MOTOR = '''
"""A cart on rails."""
import spaql
from {neighbour} import FRICTION

@spaql.reset
def begin(u):
    return (2 * u - 1,)

def made(mass=1.0, horizon=20):
    @spaql.step
    def push(x, force):
        x = (1 - FRICTION) * x + 0.1 * force / mass
        return (x,), -x * x, False
    return spaql.from_plant(begin, push, state=[spaql.Axis("x", -3.0, 3.0, unit="m")], horizon=horizon,
                            actions=spaql.Continuous((-1.0,), (1.0,), ("force",), ("N",)), name="cart")

problem = made()
number = 7

def fails(mass=1.0):
    return 1 / 0

def wrong():
    return number

def paid(speed, voltage, next_speed):
    return -abs(next_speed - 100.0)

def over(speed, voltage, next_speed):
    return next_speed > 200.0
'''


@pytest.fixture
def motor(tmp_path, request):
    """A file with a neighbour; files of other tests have other names, as modules are kept."""
    stem = f"motor{zlib.crc32(request.node.name.encode())}"
    (tmp_path / f"{stem}_friction.py").write_text("FRICTION = 0.1\n")
    file = tmp_path / f"{stem}.py"
    file.write_text(MOTOR.replace("{neighbour}", f"{stem}_friction"))
    yield file
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


# -- Python files ------------------------------------------------------------------------------------------------------


def test_a_problem_of_a_file_is_learned(motor):
    assert told("train", f"{motor}:problem", "spaql", *SHORT)["problem"] == "cart"


def test_a_function_that_makes_one_takes_what_is_set(motor):
    light, heavy, alike = (told("train", f"{motor}:made", "spaql", *SHORT, "--set", f"mass={mass}") for mass in (1.0, 50, 1.0))
    plain = told("train", f"{motor}:problem", "spaql", *SHORT)
    returns = [one["agents"][0]["fresh"] for one in (light, heavy, alike, plain)]
    assert returns[0] == returns[2] == returns[3] != returns[1]


def test_the_file_is_looked_for_where_the_user_is(motor, monkeypatch):
    monkeypatch.chdir(motor.parent)
    assert told("train", f"{motor.name}:problem", "spaql", *SHORT)["problem"] == "cart"
    monkeypatch.chdir(motor.parent.parent)
    assert told("train", f"{motor.parent.name}/{motor.name}:problem", "spaql", *SHORT)["problem"] == "cart"


def test_logs_are_recorded_judged_and_replayed_on_it(motor, tmp_path):
    log, plant = tmp_path / "log.csv", f"{motor}:problem"
    assert told("record", plant, "--episodes", 5, "--out", log, "--json")["samples"] == 100
    assert "x" in json.dumps(told("coverage", plant, log, "--reach", 4, "--json"))
    assert told("replay", plant, "spaql", log, "--out", tmp_path / "run", "--fresh", 2, "--json")["rows"] == 100


def test_its_agents_are_evaluated_and_explained_with_the_problem(motor, tmp_path):
    told("train", f"{motor}:problem", "spaql", *SHORT, "--out", tmp_path / "run")
    agent, plant = tmp_path / "run" / "agent.spaql", f"{motor}:problem"
    assert "--problem" in refused("evaluate", agent)
    assert told("evaluate", agent, "--problem", plant, "--episodes", 3, "--json")["problem"] == "cart"
    heavy = told("evaluate", agent, "--problem", f"{motor}:made", "--set", "mass=9", "--episodes", 3, "--json")
    assert heavy["mean"] != told("evaluate", agent, "--problem", plant, "--episodes", 3, "--json")["mean"]
    assert run("explain", agent, "--problem", plant).returncode == 0
    code, out, _ = run("export", agent, "--problem", plant, "--to", "json")
    assert code == 0
    (tmp_path / "policy.json").write_text(out)
    assert run("explain", tmp_path / "policy.json", "--problem", plant).returncode == 0
    assert "its state differs" in refused("evaluate", agent, "--problem", "pendulum")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "say what of {file} is meant, {file}:NAME; problems there: problem; functions: made, fails"),
        (":nothing", "there is no nothing in {file}; problems there: problem; functions:"),
        (":number", "{file}:number is an int: give a spaql.Problem, or a function that returns one"),
        (":wrong", "{file}:wrong returned an int: give a spaql.Problem"),
        (":fails", "{file}, line 22: ZeroDivisionError: division by zero"),
        (":paid", "{file}:paid cannot be called (missing a required argument: 'speed'): it takes speed, voltage"),
    ],
)
def test_what_is_no_problem_is_told_in_one_line(motor, name, words):
    assert words.format(file=motor) in refused("train", f"{motor}{name}", "spaql")


def test_what_cannot_be_set_is_told(motor):
    assert "unexpected keyword argument 'weight'): it takes mass=1.0, horizon=20" in refused("train", f"{motor}:made", "spaql", "--set", "weight=2")
    assert "is a problem already made: --set goes with a function" in refused("train", f"{motor}:problem", "spaql", "--set", "mass=2")
    assert "has its own steps (--set horizon=9)" in refused("train", f"{motor}:problem", "spaql", "--horizon", 9)
    assert "--dt goes with a .fmu file" in refused("train", f"{motor}:problem", "spaql", "--dt", 0.1)


def test_a_missing_file(tmp_path):
    assert f"there is no file {tmp_path / 'none.py'}" in refused("train", f"{tmp_path / 'none.py'}:problem", "spaql")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\ny = [\n", "line 2: SyntaxError: '[' was never closed"),
        ("x = 1\nimport nothing_of_that_name\n", "line 2: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("import spaql\nproblem = spaql.make('pendul')\n", "line 2: unknown problem 'pendul'"),
        ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
        ("raise ValueError('two\\nlines')\n", "line 1: ValueError: two lines"),
    ],
)
def test_a_file_that_fails_is_told_with_the_line(tmp_path, text, words):
    (tmp_path / "broken.py").write_text(text)
    assert f"{tmp_path / 'broken.py'}, {words}" in refused("train", f"{tmp_path / 'broken.py'}:problem", "spaql")


def test_an_unknown_problem_is_told_what_can_be_given():
    assert "a Gymnasium id, FILE.py:NAME or FILE.fmu" in refused("train", "pendul", "spaql")


# -- FMUs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def fmu(tmp_path):
    fmus = pytest.importorskip("fmus", reason="no FMPy or no C compiler")
    return fmus.build(tmp_path / "motor.fmu", 3)


def words_of(fmu, motor):
    return ("--observe", "speed", "--action", "voltage=-12:12", "--reward", f"{motor}:paid", "--horizon", 20)


def test_an_fmu_is_learned_recorded_and_gone_on_with(fmu, motor, tmp_path):
    words = words_of(fmu, motor)
    made = told("train", fmu, "spaql", *words, *SHORT, "--terminated", f"{motor}:over", "--dt", 0.02, "--set", "J=0.02..0.03", "--out", tmp_path / "run")
    assert made["problem"] == "motor"
    assert "map_samples" not in made
    one = told("record", fmu, *words, "--agent", tmp_path / "run", "--episodes", 2, "--out", tmp_path / "log.csv", "--json")
    assert one["samples"] == 40
    (tmp_path / "whole.py").write_text(
        f"import spaql\nfrom {motor.stem} import paid\nproblem = spaql.from_fmu({str(fmu)!r}, observe=['speed'], "
        "actions={'voltage': (-12, 12)}, reward=paid, horizon=20)\n"
    )
    assert told("evaluate", tmp_path / "run" / "agent.spaql", "--problem", f"{tmp_path / 'whole.py'}:problem", "--episodes", 2, "--json")


def test_an_agent_of_an_fmu_is_evaluated_and_explained_with_the_options_it_was_trained_with(fmu, motor, tmp_path):
    words = (*words_of(fmu, motor), "--set", "J=0.02..0.03")
    told("train", fmu, "spaql", *words, *SHORT, "--out", tmp_path / "run")
    agent = tmp_path / "run" / "agent.spaql"
    assert "--problem FILE.fmu with the options of `spaql train`" in refused("evaluate", agent)
    assert "needs --observe, --action, --reward, --horizon too" in refused("evaluate", agent, "--problem", fmu)
    plain = told("evaluate", agent, "--problem", fmu, *words, "--episodes", 2, "--json")
    assert plain["problem"] == "motor"
    beside = told("explain", agent, "--problem", fmu, *words, "--baseline", agent, "--why", "3.0", "--json")
    assert beside["compared"]["agent"]["mean"] == beside["compared"]["this controller"]["mean"]
    assert "put spaql.from_fmu(...) into a Python file" in refused("export", agent, "--problem", fmu)


def test_an_fmu_that_is_paid_in_its_loop_is_not_said_to_pay_nothing(fmu, motor):
    from spaql.cli.arguments import problem_of
    from spaql.cli.plant_options import PlantOptions

    (motor.parent / f"{motor.stem}_paid.py").write_text("def paid(speed_error):\n    return -abs(speed_error)\n")
    reward = f"{motor.parent / motor.stem}_paid.py:paid"
    loop = {"reference": ["target of speed=0:60"], "measure": "speed"}
    problem = problem_of(str(fmu), PlantOptions(20, None, "speed_error", ["voltage=-12:12"], reward, **loop))
    assert "pays nothing" not in problem.summary
    assert "in a loop: target of speed" in problem.summary


def test_actions_are_a_range_a_set_or_what_the_fmu_declares(fmu, motor):
    from spaql.cli.plant_files import fmu_problem
    from spaql.cli.plant_options import PlantOptions

    def actions(*texts):
        return fmu_problem(str(fmu), PlantOptions(9, None, "speed", list(texts), f"{motor}:paid"), {}).actions

    assert actions("voltage=-3:6") == spaql.Continuous((-3.0,), (6.0,), ("voltage",), ("V",))
    assert actions("voltage") == spaql.Continuous((-24.0,), (24.0,), ("voltage",), ("V",))
    assert actions("brake=0,1").values == (0, 1)


def test_names_with_dots_can_be_set():
    from spaql.cli.arguments import settings
    from spaql.cli.plant_files import _with_dots

    assert _with_dots(settings(["motor.shaft.J=2", "motor.R=1", "load=3"])) == {"motor.shaft.J": 2, "motor.R": 1, "load": 3}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"--observe": None}, "needs --observe too, such as"),
        ({"--observe": None, "--horizon": None, "--reward": None, "--action": None}, "needs --observe, --action, --reward, --horizon too"),
        ({"--action": "voltage=1:2:3"}, "--action takes NAME=LOW:HIGH, such as voltage=-24:24, not 'voltage=1:2:3'"),
        ({"--action": "voltage=low:high"}, "--action takes NAME=LOW:HIGH"),
        ({"--action": "speed=0:1"}, "speed of motor.fmu is not an input"),
        ({"--reward": "no_such_module:paid"}, "cannot import no_such_module: ModuleNotFoundError"),
        ({"--reward": "{motor}:number"}, "--reward {motor}:number is an int, not a function"),
        ({"--reward": "{motor}:missing"}, "there is no missing in {motor}"),
        ({"--set": "weight=1"}, "parameters: motor.fmu has no variable 'weight'"),
    ],
)
def test_what_an_fmu_lacks_is_told(fmu, motor, changes, words):
    given = words_of(fmu, motor)
    options = dict(zip(given[::2], given[1::2], strict=True)) | changes
    flat = [part for name, value in options.items() if value is not None for part in (name, str(value).format(motor=motor))]
    assert words.format(motor=motor) in refused("train", fmu, "spaql", *flat)
