"""Parameters and noise of plants in files and on the command line: kept, set, and never trusted."""

import json
import random

import numpy as np
import pytest

import spaql
from command_line import run
from hostile_files import load_bytes, members, mutated_json, packed, refusals
from spaql.cli.arguments import settings
from spaql.export import export
from spaql.policy.policy import Policy

NOISY = {"m": 2.0, "horizon": 60, "start": {"velocity": spaql.Between(-8.0, 8.0)}, "process_noise": {"velocity": 0.1}, "observation_noise": {"cos": 0.01, "velocity": 0.2}}


@pytest.fixture(scope="module")
def agent():
    agent = spaql.SPAQL(spaql.make("pendulum", **NOISY), seed=3)
    agent.learn(6, rollouts=3)
    return agent


@pytest.fixture(scope="module")
def content(agent, tmp_path_factory):
    path = tmp_path_factory.mktemp("agent") / "a.spaql"
    agent.save(path)
    return path.read_bytes()


def test_a_saved_agent_remembers_the_parameters(agent, content, tmp_path):
    again = load_bytes(tmp_path, content)
    assert again.problem.parameters == agent.problem.parameters == NOISY
    assert repr(again.problem) == repr(agent.problem)
    np.testing.assert_array_equal(again.evaluate(20).returns, agent.evaluate(20).returns)


def test_a_saved_agent_of_an_environment_remembers_the_parameters(tmp_path):
    agent = spaql.SPAQL(spaql.from_gym("spaql/Pendulum-v0", m=2.0, process_noise={"velocity": 0.1}), seed=3)
    agent.learn(2, rollouts=2)
    agent.save(tmp_path / "a.spaql")
    again = spaql.load(tmp_path / "a.spaql")
    np.testing.assert_array_equal(again.evaluate(5).returns, agent.evaluate(5).returns)
    assert again.problem.env.unwrapped.problem.parameters == {"m": 2.0, "process_noise": {"velocity": 0.1}}


def test_an_agent_can_go_on_with_other_parameters(agent, content, tmp_path):
    (tmp_path / "a.spaql").write_bytes(content)
    calm = spaql.load(tmp_path / "a.spaql", problem=spaql.make("pendulum", horizon=60))
    assert calm.evaluate(20).mean != agent.evaluate(20).mean


def test_files_without_parameters_are_as_before(tmp_path):
    agent = spaql.SPAQL(spaql.make("cartpole"))
    agent.save(tmp_path / "a.spaql")
    told = json.loads(members((tmp_path / "a.spaql").read_bytes())["meta.json"])
    assert "parameters" not in told["problem"]
    assert "parameters" not in json.loads(export(agent.policy(), "json"))["problem"]


def test_a_policy_as_json_remembers_the_parameters(agent):
    policy = agent.policy()
    text = export(policy, "json")
    again = Policy.from_json(text)
    assert again.problem.parameters == NOISY
    assert export(again, "json") == text
    assert again.evaluate(20).mean == policy.evaluate(20).mean


HOSTILE = [
    {"m": 1e300}, {"m": -1}, {"m": "2"}, {"m": [2]}, {"mass": 2}, {"problem": "cartpole"}, {"render_mode": "human"}, {"__class__": 1},
    {"horizon": 10**12}, {"process_noise": {"velocity": 1e300}}, {"process_noise": [1]}, {"start": [1]}, {"start": {"velocity": [1, 2]}}, {"process_noise": {"x": 1}},
    {"observation_noise": "x"}, [], [["m", 2]], "m=2", 7, {"m" * 5000: 1},
]  # fmt: skip


@pytest.mark.parametrize("parameters", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_parameters_in_a_file_are_refused(agent, content, tmp_path, parameters):
    parts = members(content)
    meta = json.loads(parts["meta.json"])
    for catalog in (True, False):
        meta["problem"] |= {"parameters": parameters, "catalog": catalog}
        with pytest.raises(spaql.SpaqlError, match="cannot be used"):
            load_bytes(tmp_path, packed(parts | {"meta.json": json.dumps(meta)}))
    told = json.loads(export(agent.policy(), "json"))
    told["problem"]["parameters"] = parameters
    with pytest.raises(spaql.SpaqlError, match="not a spaql policy"):
        Policy.from_json(json.dumps(told))


def test_parameters_of_a_file_reach_no_foreign_environment(content, tmp_path):
    parts = members(content)
    meta = json.loads(parts["meta.json"])
    for name, env_id in (("pendulum", "CartPole-v1"), ("Pendulum-v1", "Pendulum-v1"), ("pendulum", "spaql/CartPole-v0")):
        meta["problem"] |= {"name": name, "env_id": env_id, "catalog": False}
        with pytest.raises(spaql.SpaqlError, match="parameters go with the problems of the catalog"):
            load_bytes(tmp_path, packed(parts | {"meta.json": json.dumps(meta)}))


def test_parameters_that_do_not_fit_the_rest_of_a_file_are_refused(content, tmp_path):
    parts = members(content)
    meta = json.loads(parts["meta.json"])
    meta["problem"]["parameters"] |= {"max_speed": 5.0}
    with pytest.raises(spaql.SpaqlError, match="its state differs"):
        load_bytes(tmp_path, packed(parts | {"meta.json": json.dumps(meta)}))


@pytest.mark.slow
def test_a_hundred_mutated_descriptions_load_or_raise_our_own_error(content, tmp_path):
    rng, parts = random.Random(4), members(content)
    meta = json.loads(parts["meta.json"])

    def hostile(turn):
        parameters = mutated_json(meta["problem"]["parameters"], rng)
        problem = meta["problem"] | {"parameters": parameters, "catalog": bool(turn % 2)}
        return packed(parts | {"meta.json": json.dumps(meta | {"problem": problem})})

    assert 0 < refusals((hostile(turn) for turn in range(100)), tmp_path) < 100


# -- on the command line ---------------------------------------------------------------------------------------------------------------


def test_training_evaluating_and_going_on_from_the_command_line(tmp_path):
    changes = ["--set", "m=2", "--set", "horizon=50", "--set", "process_noise.velocity=0.1", "--set", "observation_noise=0.01"]
    short = ["--iterations", "3", "--rollouts", "2", "--fresh", "5", "--json", "--out", str(tmp_path)]
    done = run("train", "pendulum", "spaql", *changes, *short)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    noise = {"cos": 0.02, "sin": 0.02, "velocity": 0.16}
    assert told["parameters"] == {"m": 2.0, "horizon": 50, "process_noise": {"velocity": 0.1}, "observation_noise": noise}
    assert told["paper"] is None
    file = str(tmp_path / "agent.spaql")
    means = [json.loads(run("evaluate", file, "--json", *more).stdout)["mean"] for more in ([], [], ["--set", "m=1"])]
    assert means[0] == means[1] != means[2]


BAD_SETTINGS = [
    (["m"], "NAME=VALUE"),
    (["=2"], "NAME=VALUE"),
    (["process_noise.=2"], "NAME=VALUE"),
    (["m=two"], "'two' is not a number"),
    (["mass=2"], "no parameter 'mass'"),
    (["m=2", "m=3"], "given twice"),
    (["observation_noise=0.1", "observation_noise.cos=0.1"], "given twice"),
    (["process_noise.speed=1"], "no variable 'speed'"),
    (["m.x=1"], "m must be"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_SETTINGS)
def test_bad_settings_are_one_line(changes, message):
    with pytest.raises(spaql.SpaqlError, match=message):
        spaql.make("pendulum", **settings(changes))


def test_settings_go_with_our_problems_only():
    done = run("train", "MountainCar-v0", "spaql", "--set", "force=2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--set goes with the problems by name" in done.stderr
    assert len(done.stderr.splitlines()) == 1
