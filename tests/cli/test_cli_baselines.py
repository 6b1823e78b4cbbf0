"""Controllers of one's own beside learned ones, in `train` and `evaluate`; in `explain`: test_cli_explain.py."""

import io
import json
import re

import pandas
import pytest
from rich.console import Console

import spaql
from command_line import run
from spaql.cli.train_text import compared_table

CONTROLLERS = """
import spaql
problem = spaql.make("cartpole")
pd = spaql.law(problem, {"angle": 10.0, "angular velocity": 1.0})
other = spaql.law(spaql.make("pendulum"), {"velocity": -1.0})
def made(gain=10.0):
    return spaql.law(problem, {"angle": gain, "angular velocity": 1.0})
def fails():
    return 1 / 0
"""
FAILS_LATER = """
import spaql
calls = []
def rule(x, v, angle, rate):
    calls.append(1)
    if len(calls) > 200:
        raise ValueError("no idea")
    return 1.0
pd = spaql.Controller(spaql.make("cartpole"), rule)
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
    assert re.search(r" pd +200 .*\n +seed 0 +\d", told.stdout)  # the best first
    told = run("evaluate", tmp_path / "agent.spaql", "--episodes", 50, "--baseline", f"{own}:pd")
    assert told.returncode == 0, told.stderr
    assert re.search(r" pd +200 .*\n +this controller +\d", told.stdout)
    data = json.loads(run("evaluate", tmp_path / "agent.spaql", "--episodes", 50, "--baseline", f"{own}:pd", "--json").stdout)
    assert data["compared"]["pd"]["mean"] == 200.0
    assert data["compared"]["this controller"]["mean"] == data["mean"]


def test_a_function_may_make_it_as_functions_make_problems(own):
    told = run("train", "cartpole", "spaql", *SHORT, "--fresh", 20, "--baseline", f"{own}:made")
    assert told.returncode == 0, told.stderr
    assert re.search(r" made +200 ", told.stdout)
    told = run("train", "cartpole", "spaql", *SHORT, "--fresh", 20, "--baseline", f"{own}:fails")
    assert f"{own}, line 9: ZeroDivisionError" in told.stderr


def test_one_for_another_problem_is_refused_before_training(own, tmp_path):
    told = run("train", "cartpole", "spaql", *SHORT, "--baseline", f"{own}:other", "--out", tmp_path / "results")
    assert told.returncode == 2
    assert "other is for another problem" in told.stderr
    assert not (tmp_path / "results").exists()


def test_a_comparison_needs_episodes(own):
    told = run("train", "cartpole", "spaql", *SHORT, "--fresh", 0, "--baseline", f"{own}:pd")
    assert told.returncode == 2
    assert "--fresh" in told.stderr


@pytest.mark.parametrize("name", ["this controller", "a rather long name of a controller", "one_word_that_is_longer_than_its_column"])
def test_at_80_columns_the_comparison_cuts_nothing(name):
    row = {"mean": -1656.5, "low": -1680.3, "high": -0.001655, "worst 5 %": -0.001203, "failures": 0.9999, "numbers": 1234, "p": 0.0001}
    table = pandas.DataFrame([row, row], index=[name, "pi"])
    table.attrs["episodes"] = 1000
    console = Console(width=80, file=io.StringIO())
    console.print(compared_table(table, 80))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    assert "…" not in shown
    for text in ("-1680 to", "-0.001655", "-0.001203", "> 99.9 %", "1,234", "< 0.001", "failures", "numbers", "worst 5 %"):
        assert text in shown


def test_at_80_columns_the_table_of_training_cuts_nothing(monkeypatch, capsys):
    from spaql.cli import train_text
    from spaql.cli.train_runs import TrainRun

    monkeypatch.setenv("COLUMNS", "80")
    agent = spaql.SPAQL(spaql.make("cartpole"))
    history = agent.learn(2, rollouts=1)
    row = {"seed": 10, "best_seen": -12345.678, "fresh": -12345.678, "fresh_ci95": (-12468.0, -12222.0), "arms": 123456}
    row |= {"train_samples": 12345678, "eval_samples": 12345678, "seconds": 12345.6, "iterations": 1000}
    monkeypatch.setattr(TrainRun, "row", lambda run: row)
    train_text.show_runs([TrainRun(agent, history), TrainRun(agent, history)], 12345.6, None, False)
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert shown.count("-12345.7 ± 123.0") == 2
    assert "12345.6 s" in shown


def test_two_of_one_name_are_refused(own, tmp_path):
    (tmp_path / "more").mkdir()
    other = tmp_path / "more" / "own.py"
    other.write_text(CONTROLLERS)
    told = run("train", "cartpole", "spaql", *SHORT, "--baseline", f"{own}:pd", "--baseline", f"{other}:pd")
    assert told.returncode == 2
    assert "rename one of the two" in told.stderr


def test_a_baseline_that_fails_costs_no_result(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(FAILS_LATER)
    told = run("train", "cartpole", "spaql", *SHORT, "--fresh", 20, "--baseline", f"{broken}:pd")
    assert told.returncode == 2
    assert "no idea" in told.stderr
    assert "SPAQL on cartpole" in told.stdout


def test_what_is_evaluated_deterministically_is_compared_so(own, tmp_path):
    run("train", "cartpole", "spaql", *SHORT, "--fresh", 0, "--out", tmp_path)
    told = run("evaluate", tmp_path / "agent.spaql", "--episodes", 50, "--deterministic", "--baseline", f"{own}:pd", "--json")
    data = json.loads(told.stdout)
    assert data["compared"]["this controller"]["mean"] == data["mean"]
