"""`spaql prove` as it is typed."""

import json

import pytest

import command_line
import spaql

BALANCES = {"position": 1.0, "velocity": 1.95, "angle": 16.1, "angular velocity": 4.25}


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "policy.json"
    path.write_text(spaql.law(spaql.make("cartpole-500"), BALANCES).to_json())
    return path


def test_a_proof_is_written_and_checked(policy_file, tmp_path):
    certificate = tmp_path / "balance.proof.json"
    done = command_line.run("prove", policy_file, "--steps", "50", "--never", "angle=-0.2..0.2", "--out", certificate)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PROVEN  cartpole-500")
    checked = command_line.run("prove", policy_file, "--check", certificate)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith("CHECKED PROVEN")
    content = json.loads(certificate.read_text())
    content["evidence"][0]["band"] = [0.1]
    certificate.write_text(json.dumps(content))
    refused = command_line.run("prove", policy_file, "--check", certificate)
    assert refused.returncode == 2
    assert "is refused: the controller is farther from its line than its band" in refused.stderr


ROTOR = """
import spaql

def spin(rate, torque):
    return (torque - rate,)

def slow(rate, torque):
    return -abs(rate)

rotor = spaql.from_ode(
    spin, start={"rate": (0.9, 1.0)}, actions=spaql.Continuous((-1.0,), (1.0,), ("torque",)), dt=0.1, horizon=20, reward=slow, name="rotor"
)
"""


def test_bounds_at_a_time_are_asked_of_a_differential_equation(tmp_path):
    (tmp_path / "rotor.py").write_text(ROTOR)
    scope = {}
    exec(ROTOR, scope)
    (tmp_path / "policy.json").write_text(spaql.law(scope["rotor"], {"rate": -1.0}).to_json())
    asked = ["prove", tmp_path / "policy.json", "--problem", f"{tmp_path / 'rotor.py'}:rotor", "--at", "1..2:rate=0..0.2"]
    done = command_line.run(*asked, "--at", "0:rate=0.8..1.1")
    assert done.returncode == 0, done.stderr
    assert "rate in [0.8, 1.1] at 0 s" in done.stdout
    assert "rate in [0, 0.2] from 1 to 2 s" in done.stdout
    refused = command_line.run(*asked, "--at", "rate=0..1")
    assert refused.returncode == 2
    assert "--at takes TIME:NAME=LOW..HIGH" in refused.stderr


def test_what_is_not_proven_is_exit_code_1(policy_file):
    done = command_line.run("prove", policy_file, "--steps", "20", "--sensor", "angle=0.5", "--seconds", "1")
    assert done.returncode == 1
    assert done.stdout.startswith(("NOT PROVEN", "PROVEN for"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--never", "angle"], "NAME=LOW..HIGH"),
        (["--never", "angle=1"], "LOW..HIGH"),
        (["--never", "angle=a..b"], "not a number"),
        (["--steps", "many"], "a whole number, or ever"),
        (["--check", "no.json"], "cannot be read"),
    ],
)
def test_bad_input_is_one_line(policy_file, options, said):
    done = command_line.run("prove", policy_file, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.strip().count("\n") == 0
