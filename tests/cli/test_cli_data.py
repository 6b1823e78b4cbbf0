"""`spaql record | coverage | replay`, run as a user runs them."""

import json
import re

import pytest

import spaql
from command_line import refused, run
from spaql.learners.registry import learners


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.csv"
    told = run("record", "pendulum", "--episodes", "10", "--out", str(path))
    assert told.returncode == 0, told.stderr
    assert "10 episodes, 2,000 samples" in told.stdout
    return path


@pytest.mark.parametrize("command", ["record", "coverage", "replay"])
def test_every_command_shows_an_example(command):
    assert re.search(rf"Examples?:\n +spaql {command}", run(command, "--help").stdout)


def test_replay_lists_the_learners_that_take_logs_and_no_others(log, tmp_path):
    listed = re.search(r" algorithm <str> +(.*?)\.", run("replay", "--help", columns=200).stdout.replace("\n", " "))[1]
    names = re.split(r", | or ", " ".join(listed.split()))
    assert names == [card.name.lower() for card in learners() if card.takes_data]
    refusal = refused("replay", "pendulum", "laws", log, "--out", tmp_path)
    assert "Laws does not learn from logs, only on a plant: make a plant of the log, with spaql.from_data" in refusal


def test_the_loop_is_closed(log, tmp_path):
    """Record, look, learn, and record what was learned."""
    told = run("coverage", "pendulum", str(log), "--json", "--figure", str(tmp_path / "map.png"))
    assert told.returncode == 0, told.stderr
    assert 0.3 < json.loads(told.stdout)["overall"]["share"] <= 1.0
    assert (tmp_path / "map.png").stat().st_size > 10_000
    told = run("replay", "pendulum", "spaql", str(log), "--out", str(tmp_path), "--option", "xi=2", "--fresh", "50", "--json")
    assert told.returncode == 0, told.stderr
    result, agent = json.loads(told.stdout), spaql.load(tmp_path / "agent.spaql")
    assert result["samples"] == 2000
    assert agent.options["xi"] == 2
    assert result["mean"] == agent.evaluate(50).mean
    told = run("record", "pendulum", "--agent", str(tmp_path), "--episodes", "2", "--out", str(tmp_path / "again.parquet"), "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["mean_return"] == pytest.approx(agent.evaluate(2).mean)


def test_bad_input_is_one_line_and_exit_code_2(log, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text(log.read_text().replace("velocity", "speed"))
    out = str(tmp_path / "out")
    for arguments, word in [
        (["replay", "pendulum", "spaql", str(bad), "--out", out], "no column 'velocity'"),
        (["replay", "pendulum", "spaql", str(log), "--out", out, "--option", "nonsense=2"], "it has xi"),
        (["replay", "pendulum", "spaql", str(log), "--out", out, "--option", "xi"], "NAME=VALUE"),
        (["replay", "pendulum", "random", str(log), "--out", out], "does not learn"),
        (["coverage", "pendulum", str(tmp_path / "nothing.csv")], "cannot read"),
        (["coverage", "cartpole", str(log)], "no column 'position'"),
        (["record", "pendulum", "--out", str(tmp_path / "log.txt")], ".csv or .parquet"),
        (["record", "pendulum", "--agent", str(tmp_path), "--out", str(tmp_path / "log.csv")], "cannot read"),
    ]:
        told = run(*arguments)
        assert (told.returncode, told.stdout) == (2, ""), arguments
        assert len(told.stderr.strip().splitlines()) == 1
        assert word in told.stderr
    assert not (tmp_path / "out").exists()
