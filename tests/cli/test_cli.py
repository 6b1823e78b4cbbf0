"""The command line, run as a user runs it."""

import itertools
import json
import re
import subprocess
import sys
import textwrap

import pytest

import spaql
from command_line import run


def test_problems_lists_every_problem_with_a_line():
    told = run("problems")
    assert told.returncode == 0
    assert [line.split()[0] for line in told.stdout.splitlines()] == list(spaql.problems())
    assert json.loads(run("problems", "--json").stdout) == spaql.problems()


@pytest.mark.parametrize("command", ["train", "evaluate", "reproduce", "report", "explain", "export", "bench", "problems"])
def test_every_command_shows_an_example(command):
    assert re.search(rf"Examples?:\n +spaql {command}", run(command, "--help").stdout)


def test_the_version_is_told():
    assert run("--version") == (0, f"spaql {spaql.__version__}\n", "")
    module = subprocess.run([sys.executable, "-m", "spaql", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == f"spaql {spaql.__version__}\n"


def test_commands_are_listed_in_the_order_of_use_and_none_is_missing():
    from spaql.cli import app

    text = run("--help").stdout
    listed = re.findall(r"^  (\w+) {2,}[A-Z]", text, re.MULTILINE)
    assert listed == ["problems", "learners", "train", "tune", "evaluate", "explain", "export", "prove", "record", "coverage",
                      "replay", "rig", "sweep", "reproduce", "report", "bench"]  # fmt: skip
    assert len(listed) == len(app.registered_commands) + len(app.registered_groups)
    assert not re.search(r"\w\.\.\.$", text, re.MULTILINE)  # no sentence is cut off


def test_examples_are_lines_that_can_be_copied():
    lines = run("train", "--help").stdout.splitlines()
    examples = lines[lines.index("  Examples:") + 1 : lines.index("Arguments:") - 1]
    assert all(re.match(r"    spaql train |        --", line) for line in examples)
    assert all(line.endswith(" \\") for line, after in itertools.pairwise(examples) if after.startswith("        "))
    assert max(map(len, examples)) <= 80


@pytest.mark.parametrize(
    ("arguments", "heading"),
    [(("spaql", "--iterations", "2", "--rollouts", "1"), "best seen"), (("atlas", "--samples", "120", "--option", "controller=table"), "last episode"),
     (("aql", "--iterations", "2", "--rollouts", "1"), "last average")],
)  # fmt: skip
def test_the_table_of_train_says_what_its_columns_are(arguments, heading):
    told = run("train", "cartpole-fitted", *arguments, "--fresh", "5")
    assert told.returncode == 0, told.stderr
    assert heading in told.stdout
    assert f"{heading.capitalize()}: " in " ".join(told.stdout.split())
    assert max(map(len, told.stdout.splitlines())) <= 80


def test_train_prints_json_and_leaves_agents_and_a_picture(tmp_path):
    out = tmp_path / "results"
    told = run("train", "cartpole", "spaql-ts", "--iterations", "10", "--rollouts", "4", "--seeds", "2", "--fresh", "20",
               "--out", str(out), "--json")  # fmt: skip
    assert told.returncode == 0, told.stderr
    result = json.loads(told.stdout)
    assert [agent["seed"] for agent in result["agents"]] == [0, 1]
    assert result["paper"] == [198.53, 1.55]
    assert {p.name for p in out.iterdir()} == {"agent.spaql", "agent-seed0.spaql", "agent-seed1.spaql", "learning_curve.png"}
    alone = spaql.SPAQLTS(spaql.make("cartpole"), seed=1)
    alone.learn(10, rollouts=4)
    assert result["agents"][1]["best_seen"] == alone.history.best_seen[-1]
    assert result["agents"][1]["fresh"] == alone.evaluate(20).mean
    told = run("evaluate", str(out / "agent-seed1.spaql"), "--episodes", "20", "--json")
    assert json.loads(told.stdout)["mean"] == alone.evaluate(20).mean


def test_train_prints_a_table_with_the_papers_figure(tmp_path):
    told = run("train", "pendulum", "spaql", "--iterations", "3", "--rollouts", "2", "--fresh", "5", columns=140)
    assert told.returncode == 0, told.stderr
    for word in ("best seen", "fresh", "95 %", "arms", "paper", "-835.99"):
        assert word in told.stdout


def test_train_takes_gymnasium_ids():
    told = run("train", "MountainCar-v0", "spaql", "--iterations", "2", "--rollouts", "1", "--fresh", "1", "--horizon", "30", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["agents"][0]["iterations"] == 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["train", "nothing", "spaql"], "unknown problem"),
        (["train", "cartpole", "nothing"], "unknown algorithm"),
        (["train", "cartpole", "aql", "--lam", "2"], "lam"),
        (["train", "cartpole", "spaql", "--iterations", "0"], "iterations"),
        (["train", "cartpole", "spaql", "--seeds", "0"], "seeds"),
        (["train", "cartpole", "spaql", "--xi", "-1"], "xi"),
        (["train", "cartpole", "spaql-ts", "--reference", "a,b"], "reference"),
        (["train", "cartpole", "spaql", "--out", "/proc/nowhere"], "cannot write"),
        (["evaluate", "/nowhere.spaql"], "cannot read"),
        (["evaluate", __file__], "not a spaql agent"),
        (["bench", "--problem", "nothing"], "unknown problem"),
        (["bench", "--rounds", "0"], "rounds"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, word):
    told = run(*arguments)
    assert told.returncode == 2
    assert told.stdout == ""
    lines = told.stderr.strip().splitlines()
    assert len(lines) == 1
    assert word in lines[0]


def test_an_unknown_option_exits_with_2():
    assert run("train", "cartpole", "spaql", "--nonsense").returncode == 2


def test_ctrl_c_saves_what_was_learned(tmp_path):
    program = """
    import os, signal, sys, threading, time
    import spaql
    from spaql.cli import main

    def press(agent):
        while len(agent.state.history) < 10:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    make = spaql.SPAQL.__init__

    def make_and_watch(agent, *arguments, **options):
        make(agent, *arguments, **options)
        threading.Thread(target=press, args=[agent], daemon=True).start()

    spaql.SPAQL.__init__ = make_and_watch  # Ctrl-C once training is well under way, however slow the machine
    main()
    """
    command = [sys.executable, "-c", textwrap.dedent(program), "train", "cartpole", "spaql", "--iterations", "100000000"]
    told = subprocess.run([*command, "--out", tmp_path, "--fresh", "10"], capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 130, told.stderr
    assert "interrupted" in told.stderr
    assert "best seen" in told.stdout
    assert len(spaql.load(tmp_path / "agent.spaql").history) >= 10


@pytest.mark.slow
def test_bench_measures_every_ratio():
    told = run("bench", "--problem", "cartpole", "--iterations", "20", "--rounds", "1", "--json")
    assert told.returncode == 0, told.stderr
    figures = json.loads(told.stdout)
    learners = figures["problems"]["cartpole"]["learners"]
    assert set(learners) == {"AQL", "SPAQL", "SPAQL-TS", "NBQL", "ZoomRL"}
    assert all(entry["of_bare_plant"] > 0 and entry["times_gymnasium"] > 0 for entry in learners.values())
    assert {"threads", "from_gym_overhead"} <= set(figures)
