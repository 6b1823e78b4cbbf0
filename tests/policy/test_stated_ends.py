"""What it means that the plant ends an episode is stated with the problem, kept in files, and never guessed from rewards."""

import json
import zipfile

import gymnasium
import pytest

import spaql
from command_line import refused, told
from fmus import build
from spaql.plants.catalog import CATALOG
from spaql.policy.policy import Policy


@spaql.reset
def anywhere(u):
    return (2.0 * u - 1.0,)


@spaql.step
def drift(x, push):
    """Steps cost this or that; it ends where x is large, and this step brings -8 or 7."""
    x = x + 0.1 * push
    return (x,), -0.2 - 0.3 * abs(x) + (5.0 * x if abs(x) > 1.5 else 0.0), abs(x) > 1.5


def drifting(**more):
    actions = spaql.Continuous((-1.0,), (1.0,), ("push",))
    return spaql.from_plant(anywhere, drift, state=[spaql.Axis("x", -2.0, 2.0)], actions=actions, horizon=30, name="drifting", **more)


@pytest.mark.parametrize(("ends", "rule"), [("failure", "ends within 30 steps"), ("success", "does not end within 30 steps")])
def test_the_rule_of_a_certificate_is_the_stated_one_whatever_was_sampled(ends, rule):
    law = spaql.law(drifting(ends=ends), {"x": 2.0})
    certificates = [law.certify(1, seed=seed).certificate for seed in range(8)]
    assert {one.rule for one in certificates} == {rule}


def test_without_a_statement_nothing_is_certified_and_the_line_says_what_to_state():
    with pytest.raises(spaql.SpaqlError, match=r'say what a failure is .*ends="failure" or ends="success"'):
        spaql.law(drifting(), {"x": 2.0}).certify(20)
    assert drifting(limits=[spaql.Limit("x", -1.2, 1.2)]).ends == ""
    with pytest.raises(spaql.SpaqlError, match="ends must be one of '', 'failure', 'success', not 'bad'"):
        drifting(ends="bad")


def test_the_catalog_says_it_of_every_plant_that_ends():
    stated = {name: entry.ends for name, entry in CATALOG.items() if entry.ends}
    falls = ("cartpole", "cartpole-fitted", "cartpole-500")
    goals = ("mountain-car", "mountain-car-continuous", "acrobot")
    assert stated == dict.fromkeys(falls, "failure") | dict.fromkeys(goals, "success")
    for name in CATALOG:
        assert spaql.make(name).ends == CATALOG[name].ends
        assert spaql.Random(spaql.make(name)).evaluate(50).terminated.any() <= (name in stated)


def test_gymnasiums_classic_control_is_known_and_others_are_told():
    assert (spaql.from_gym("CartPole-v1").ends, spaql.from_gym("MountainCar-v0").ends) == ("failure", "success")
    assert spaql.from_gym(gymnasium.make("CartPole-v1")).ends == ""  # a wrapper may end it for any reason
    assert spaql.from_gym(gymnasium.make("CartPole-v1"), ends="failure").ends == "failure"
    assert spaql.from_gym("CartPole-v1", ends="success").ends == "success"


def test_an_fmu_says_what_its_ends_mean(tmp_path):
    build(tmp_path / "motor.fmu")
    problem = spaql.from_fmu(
        tmp_path / "motor.fmu", observe=["speed"], actions={"voltage": (-24.0, 24.0)}, horizon=20, dt=0.01, ends="failure",
        reward=lambda speed, voltage, after: -abs(after), terminated=lambda speed, voltage, after: after > 1.0,
    )  # fmt: skip
    assert problem.ends == "failure"


def test_a_trip_is_a_failure_unless_the_plants_own_ends_are_successes():
    around = {"trips": [spaql.Limit("x", -1.4, 1.4)], "trip_cost": 100.0}
    assert spaql.loop(drifting()).ends == ""
    assert spaql.loop(drifting(ends="success")).ends == "success"
    assert spaql.loop(drifting(), **around).ends == "failure"
    either = spaql.loop(drifting(ends="success"), **around)
    assert either.ends == ""
    assert spaql.law(either, {"x": 2.0}).evaluate(20).failures.rule == ""


def test_it_is_printed_with_the_problem():
    assert "  ends        an episode that the plant ends has failed" in str(spaql.make("cartpole"))
    assert "  ends  " not in str(drifting())


# -- files -----------------------------------------------------------------------------------------------------------------------------


def test_an_agent_file_keeps_it(tmp_path):
    spaql.SPAQL(drifting(ends="success")).save(tmp_path / "a.spaql")
    assert spaql.load(tmp_path / "a.spaql").problem.ends == "success"
    assert spaql.load(tmp_path / "a.spaql", drifting()).problem.ends == "success"
    assert spaql.load(tmp_path / "a.spaql", drifting(ends="failure")).problem.ends == "failure"
    given = drifting(ends="success")
    assert spaql.load(tmp_path / "a.spaql", given).problem is given


def test_a_policy_in_json_keeps_it():
    policy = spaql.law(drifting(ends="success"), {"x": 2.0})
    assert Policy.from_json(policy.to_json()).problem.ends == "success"
    assert Policy.from_json(policy.to_json(), drifting()).problem.ends == "success"
    named = spaql.SPAQL(spaql.make("cartpole")).policy()
    assert "ends" not in json.loads(named.to_json())["problem"]  # the catalog says it, so that the text is that of before
    assert Policy.from_json(named.to_json()).problem.ends == "failure"


def test_a_file_of_an_earlier_version_gets_what_the_catalog_says(tmp_path):
    spaql.SPAQL(spaql.from_gym("CartPole-v1"), xi=1.0).save(tmp_path / "new.spaql")
    with zipfile.ZipFile(tmp_path / "new.spaql") as new, zipfile.ZipFile(tmp_path / "old.spaql", "w") as old:
        for name in new.namelist():
            content = new.read(name)
            if name == "meta.json":
                meta = json.loads(content)
                assert meta["problem"].pop("ends") == "failure"
                content = json.dumps(meta).encode()
            old.writestr(name, content)
    assert spaql.load(tmp_path / "old.spaql").problem.ends == "failure"


# -- on the command line ---------------------------------------------------------------------------------------------------------------


def test_it_is_an_option_of_the_command_line(tmp_path):
    words = ("train", "MountainCarContinuous-v0", "random", "--iterations", 1, "--horizon", 20, "--fresh", 3)
    assert told(*words, "--json")["agents"][0]["fresh_failures"] == 1.0  # no goal within 20 steps
    assert told(*words, "--ends", "failure", "--out", tmp_path, "--json")["agents"][0]["fresh_failures"] == 0.0
    rule = told("evaluate", tmp_path / "agent.spaql", "--episodes", 2, "--json")["failures"]["rule"]
    assert rule == "ends within 20 steps"
    assert "--ends must be one of 'failure', 'success', not 'bad'" in refused(*words, "--ends", "bad")
