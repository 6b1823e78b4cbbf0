"""`spaql train` and its kin, in this process: options of learners, checks before the work, Ctrl-C, checkpoints and logs."""

import json

import pandas
import pytest

import spaql
from command_line import run
from helpers import assert_same


def refuse(*_, **__):
    raise AssertionError("this was to be refused before")


def interrupt(*_, **__):
    raise KeyboardInterrupt


FEW = ("--samples", 30, "--fresh", 0, "--quiet")
SHORT = ("--iterations", 3, "--rollouts", 2, "--fresh", 0, "--quiet")


# -- options of the learner ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            ("pendulum", "atlas", *FEW, "--option", "controller=table", "--option", "cells=50", "--option", "gamma=0.9", "--option", "explore=false"),
            {"cells": 50, "gamma": 0.9, "explore": False},
        ),
        (("cartpole", "spaql-ts", *SHORT, "--option", "reference=0,0,0.1,0", "--option", "u=1.5"), {"reference": [0, 0, 0.1, 0], "u": 1.5}),
        (("cartpole", "aql", *SHORT, "--xi", 3, "--option", "bootstrap=terminate"), {"xi": 3, "bootstrap": "terminate"}),
        (("pendulum", "random", *SHORT, "--option", "low=-1", "--option", "high=1"), {"low": -1, "high": 1}),
    ],
)
def test_every_option_of_a_learner_can_be_given(words, options):
    code, told, complaint = run("train", *words, "--json")
    assert code == 0, complaint
    assert options.items() <= json.loads(told)["options"].items()


@pytest.mark.parametrize(
    ("algorithm", "option", "words"),
    [
        ("atlas", "cell=5", "atlas has no option 'cell': it has controller, use_known, cells, model_cells, neighbours, levels, hold, explore, chance, gamma"),
        ("atlas", "cells=many", "cells must be a whole number from 1 to 100000, not 'many'"),
        ("atlas", "explore=7", "explore must be True or False, not 7"),
        ("atlas", "cells=1,2", "cells must be a whole number from 1 to 100000, not [1, 2]"),
        ("atlas", "cells", "--option takes NAME=VALUE"),
        ("spaql-ts", "reference=up", "the reference must be 4 numbers, not 'up'"),
        ("spaql-ts", "xi=5", "xi is given twice"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_2(algorithm, option, words):
    also = ("--xi", 10) if option.startswith("xi") else ()
    code, told, complaint = run("train", "cartpole", algorithm, "--option", option, *also)
    assert (code, told, complaint.count("\n")) == (2, "", 1)
    assert words in complaint


# -- checked before the work -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("train", "cartpole", "spaql", "--fresh", -1), "--fresh must be a whole number from 0"),
        (("train", "cartpole", "spaql", "--every", 5), "--every goes with --checkpoint"),
        (("train", "cartpole", "spaql", "--checkpoint", "run", "--every", 0), "--every must be a whole number from 1"),
        (("train", "cartpole", "spaql", "--checkpoint", "/proc/nowhere"), "cannot write to /proc/nowhere"),
        (("train", "cartpole", "spaql", "--log", "/no/such/folder/log.csv"), "there is no folder /no/such/folder"),
        (("evaluate", "missing.spaql", "--episodes", 0), "--episodes must be"),
        (("evaluate", "missing.spaql", "--seed", -1), "--seed must be"),
        (("export", "missing.spaql", "--out", "/no/such/folder/x.c"), "cannot write /no/such/folder/x.c: there is no folder"),
        (("export", "missing.spaql", "--out", "/proc/x.c"), "cannot write /proc/x.c"),
        (("export", "missing.spaql", "--out", "/"), "it is a folder"),
        (("export", "missing.spaql", "--to", "fortran"), "--to must be one of"),
        (("export", "missing.spaql", "--precision", "half"), "--precision must be one of"),
        (("export", "missing.spaql", "--to", "st", "--test-main"), "--test-main go with --to c"),
        (("export", "missing.spaql", "--max-leaves", 0), "--max-leaves must be"),
        (("export", "missing.spaql", "--form", "forest"), "unknown form"),
        (("explain", "missing.spaql", "--html", "/no/such/folder/x.html"), "there is no folder"),
        (("explain", "missing.spaql", "--why", "left"), "numbers separated by commas"),
        (("explain", "missing.spaql", "--rows", -1), "--rows must be"),
        (("coverage", "pendulum", "missing.csv", "--figure", "map.xyz"), "ends with png, svg, pdf"),
        (("coverage", "pendulum", "missing.csv", "--figure", "/no/such/folder/map.png"), "there is no folder"),
        (("replay", "pendulum", "atlas", "missing.csv", "--out", "/proc/nowhere"), "cannot write to /proc/nowhere"),
    ],
)
def test_what_would_fail_in_the_end_is_refused_at_the_beginning(monkeypatch, words, complaint):
    """The file that is read is missing: nothing can have been done with it."""
    monkeypatch.setattr("spaql.training.trainer.learn_all", refuse)
    code, told, said = run(*words)
    assert (code, told, said.count("\n")) == (2, "", 1)
    assert complaint in said


def test_an_observation_of_another_length_is_refused_before_the_policy_is_made(monkeypatch, tmp_path):
    spaql.SPAQL(spaql.make("pendulum")).save(tmp_path / "agent.spaql")
    monkeypatch.setattr("spaql.learners.forest_policy.cells_of", refuse)
    code, _, complaint = run("explain", tmp_path / "agent.spaql", "--why", "1,2")
    assert code == 2
    assert "observation must have shape 3" in complaint


def test_atlas_is_not_made_to_plan_for_an_evaluation_that_is_refused(monkeypatch):
    agent = spaql.Atlas(spaql.make("cartpole"))
    monkeypatch.setattr(agent, "current_plan", refuse)
    for ask in (lambda: agent.evaluate(0), lambda: agent.evaluate(seed=-1), lambda: agent.episode(rollout=-1)):
        with pytest.raises(spaql.SpaqlError, match="must be a whole number"):
            ask()


def test_without_fresh_episodes_nothing_is_evaluated(monkeypatch):
    monkeypatch.setattr("spaql.training.trainer.shortcomings", lambda agent, hurry: ())
    monkeypatch.setattr(spaql.SPAQL, "evaluate", refuse)
    words = ("train", "cartpole", "spaql", *SHORT, "--seeds", 2)
    code, told, _ = run(*words, "--json")
    assert code == 0
    assert [agent["fresh"] for agent in json.loads(told)["agents"]] == [None, None]
    code, told, _ = run(*words)
    assert code == 0
    assert "Fresh:" not in told


# -- what is told and kept -------------------------------------------------------------------------------------------------------------


def test_steps_that_measured_the_map_are_told_apart():
    words = ("train", "CartPole-v1", "atlas", *FEW, "--option", "controller=table")
    measured = spaql.from_gym("CartPole-v1").map_samples
    result = json.loads(run(*words, "--json")[1])
    assert (result["map_samples"], result["agents"][0]["train_samples"]) == (measured, 30 + measured)
    assert f"{measured} of each agent's training steps were random ones before training" in " ".join(run(*words)[1].split())


def test_checkpoints_and_the_log_are_written_on_the_way(tmp_path):
    words = ("train", "cartpole", "spaql", "--iterations", 6, "--rollouts", 2, "--fresh", 0, "--quiet")
    code, _, complaint = run(*words, "--checkpoint", tmp_path / "run", "--every", 4, "--log", tmp_path / "log.csv")
    assert code == 0, complaint
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["agent-000004.spaql", "agent.spaql"]
    assert len(pandas.read_csv(tmp_path / "log.csv")) == 6
    alone = spaql.SPAQL(spaql.make("cartpole"))
    alone.learn(6, rollouts=2)
    assert_same(alone, spaql.load(tmp_path / "run" / "agent.spaql"))


def test_several_agents_have_a_folder_and_a_log_each(tmp_path):
    code, _, complaint = run("train", "cartpole", "spaql", *SHORT, "--seeds", 2, "--checkpoint", tmp_path, "--log", tmp_path / "log.csv")
    assert code == 0, complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log-seed0.csv", "log-seed1.csv", "seed0", "seed1"]
    assert spaql.load(tmp_path / "seed1" / "agent.spaql").seed == 1


# -- Ctrl-C ----------------------------------------------------------------------------------------------------------------------------


def test_ctrl_c_while_atlas_makes_its_final_plan_loses_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(spaql.Atlas, "current_plan", interrupt)
    words = ("train", "cartpole", "atlas", "--samples", 50, "--quiet", "--option", "controller=table")
    code, told, complaint = run(*words, "--out", tmp_path)
    assert code == 130
    assert "last episode" in told
    assert complaint == f"interrupted: training ended, the agents were not evaluated; they are kept in {tmp_path}/\n"
    assert spaql.load(tmp_path / "agent.spaql").state.memory.n == 50
    assert run(*words)[2].endswith("the agents were not evaluated; without --out, nothing is kept\n")


def test_a_second_ctrl_c_in_training_keeps_the_agents_too(monkeypatch, tmp_path):
    def pressed_twice(agents, *_, **__):
        agents[0].learn(3, rollouts=2)
        raise KeyboardInterrupt

    monkeypatch.setattr("spaql.training.trainer.train_all", pressed_twice)
    monkeypatch.setattr("spaql.training.trainer.shortcomings", lambda agent, hurry: ())
    monkeypatch.setattr(spaql.SPAQL, "evaluate", refuse)
    code, _, complaint = run("train", "cartpole", "spaql", "--out", tmp_path)
    assert code == 130
    assert complaint == f"interrupted: training ended, the agents were not evaluated; they are kept in {tmp_path}/\n"
    assert len(spaql.load(tmp_path / "agent.spaql").history) == 3


def test_ctrl_c_in_the_evaluation_of_a_replay_keeps_the_agent(monkeypatch, tmp_path):
    spaql.record(spaql.make("cartpole"), tmp_path / "log.csv", episodes=1)
    monkeypatch.setattr("spaql.data.record.shortcomings", lambda agent, hurry: ())
    monkeypatch.setattr(spaql.SPAQL, "evaluate", interrupt)
    code, told, complaint = run("replay", "cartpole", "spaql", tmp_path / "log.csv", "--out", tmp_path / "out")
    assert (code, complaint) == (130, "interrupted: the agent was not evaluated, but it is kept\n")
    assert f"the agent: {tmp_path / 'out' / 'agent.spaql'}" in told
    assert spaql.load(tmp_path / "out" / "agent.spaql").leaves()["visits"].sum() > 0
