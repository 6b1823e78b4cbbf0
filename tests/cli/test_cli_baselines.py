"""Controllers of one's own beside learned ones, in `train` and `evaluate`; in `explain`: test_cli_explain.py."""

import json
import re

import pytest

from command_line import run

CONTROLLERS = """
import spaql
problem = spaql.make("cartpole")
pd = spaql.law(problem, {"angle": 10.0, "angular velocity": 1.0})
other = spaql.law(spaql.make("pendulum"), {"velocity": -1.0})
"""
SHORT = ("--iterations", 20, "--rollouts", 2, "--quiet")


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(CONTROLLERS)
    return file


def test_train_and_evaluate_show_it_in_the_same_fresh_episodes(own, tmp_path):
    told = run("train", "cartpole", "spaql", *SHORT, "--fresh", 50, "--baseline", f"{own}:pd", "--out", tmp_path)
    assert told.returncode == 0, told.stderr
    assert "In the same 50 fresh episodes" in told.stdout
    assert re.search(r"  pd +200 .*\n +seed 0 +\d", told.stdout)  # the best first
    told = run("evaluate", tmp_path / "agent.spaql", "--episodes", 50, "--baseline", f"{own}:pd")
    assert told.returncode == 0, told.stderr
    assert re.search(r"  pd +200 .*\n +this controller +\d", told.stdout)
    data = json.loads(run("evaluate", tmp_path / "agent.spaql", "--episodes", 50, "--baseline", f"{own}:pd", "--json").stdout)
    assert data["compared"]["pd"]["mean"] == 200.0
    assert data["compared"]["this controller"]["mean"] == data["mean"]


def test_one_for_another_problem_is_refused_before_training(own, tmp_path):
    told = run("train", "cartpole", "spaql", *SHORT, "--baseline", f"{own}:other", "--out", tmp_path / "results")
    assert told.returncode == 2
    assert "other is for another problem" in told.stderr
    assert not (tmp_path / "results").exists()


def test_a_comparison_needs_episodes(own):
    told = run("train", "cartpole", "spaql", *SHORT, "--fresh", 0, "--baseline", f"{own}:pd")
    assert told.returncode == 2
    assert "--fresh" in told.stderr
