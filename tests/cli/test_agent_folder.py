"""`--out`: what was trained before, or by somebody else at the same time, is not lost."""

import subprocess
import sys

import pytest

import spaql
from command_line import run, told
from spaql.ground.errors import SpaqlError
from spaql.ground.writing import put

SHORT = ("train", "cartpole", "spaql", "--iterations", 3, "--rollouts", 2, "--fresh", 0, "--quiet")


def agents_in(folder):
    """By name: the option that tells these agents apart."""
    return {path.name: spaql.load(path).options["xi"] for path in folder.glob("*.spaql")}


def test_a_second_training_keeps_the_agent_of_the_first_and_says_where(tmp_path):
    assert "kept:" not in run(*SHORT, "--xi", 1, "--out", tmp_path).stdout
    code, said, _ = run(*SHORT, "--xi", 2, "--out", tmp_path, columns=200)
    assert code == 0
    assert f"kept: {tmp_path}/earlier-1-agent.spaql, an earlier agent of that name\n" in said
    assert agents_in(tmp_path) == {"agent.spaql": 2.0, "agent-seed0.spaql": 2.0, "earlier-1-agent.spaql": 1.0}
    third = told(*SHORT, "--xi", 3, "--out", tmp_path, "--json")
    assert third["earlier"] == [f"{tmp_path}/earlier-2-agent.spaql"]
    assert sorted(agents_in(tmp_path).values()) == [1.0, 2.0, 3.0, 3.0]


def test_the_same_training_again_leaves_no_copies(tmp_path):
    for _ in range(2):
        assert "kept:" not in run(*SHORT, "--out", tmp_path).stdout
    assert {path.name for path in tmp_path.iterdir()} == {"agent.spaql", "agent-seed0.spaql", "learning_curve.png"}


def test_agents_of_other_seeds_share_a_folder(tmp_path):
    for seed in (0, 1):
        assert "kept:" not in run(*SHORT, "--first-seed", seed, "--out", tmp_path).stdout
    assert set(agents_in(tmp_path)) == {"agent.spaql", "agent-seed0.spaql", "agent-seed1.spaql"}


@pytest.mark.slow
def test_three_processes_that_train_into_one_folder_lose_no_agent(tmp_path):
    words = [sys.executable, "-m", "spaql", *map(str, SHORT), "--out", str(tmp_path), "--xi"]
    children = [subprocess.Popen([*words, xi], stdout=subprocess.DEVNULL) for xi in "123"]
    assert [child.wait(120) for child in children] == [0, 0, 0]
    assert set(agents_in(tmp_path).values()) == {1.0, 2.0, 3.0}


def test_a_replay_keeps_the_agent_that_was_there(tmp_path):
    spaql.record(spaql.make("cartpole"), tmp_path / "log.csv", episodes=1)
    replay = ("replay", "cartpole", "spaql", tmp_path / "log.csv", "--fresh", 0, "--out", tmp_path)
    assert "kept:" not in run(*replay, "--option", "xi=1").stdout
    assert f"kept: {tmp_path}/earlier-1-agent.spaql, an earlier agent" in run(*replay, "--option", "xi=2").stdout
    assert told(*replay, "--option", "xi=3", "--json")["earlier"] == [f"{tmp_path}/earlier-2-agent.spaql"]
    assert sorted(agents_in(tmp_path).values()) == [1.0, 2.0, 3.0]


def test_what_cannot_be_saved_leaves_the_folder_as_it_was(tmp_path):
    def save(path):
        raise SpaqlError("no room")

    (tmp_path / "agent.spaql").write_bytes(b"mine")
    with pytest.raises(SpaqlError, match="no room"):
        put(tmp_path, {"agent.spaql": save})
    assert [path.name for path in tmp_path.iterdir()] == ["agent.spaql"]
    assert (tmp_path / "agent.spaql").read_bytes() == b"mine"


def test_one_iteration_has_no_learning_curve_and_none_is_promised(tmp_path):
    said = run("train", "cartpole", "spaql", "--iterations", 1, "--rollouts", 2, "--fresh", 0, "--out", tmp_path, columns=200).stdout
    assert said.endswith(f"saved: {tmp_path}/agent.spaql and every agent\n")
    assert not (tmp_path / "learning_curve.png").exists()
