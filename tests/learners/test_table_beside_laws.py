"""With controller="best", the table of the plan is taken where it is surely better than laws."""

import numpy as np
import pytest

import spaql
import spaql.laws.atlas_trials  # it has its own `laws_in`, from before a test replaces that
from hostile_files import array_bytes, load_bytes, members, packed
from spaql.laws import in_model
from spaql.laws import judge as judge_of_trees
from spaql.learners.law_files import ScoredTree
from spaql.trees.edits import constant

pytestmark = pytest.mark.usefixtures("quick_search")


def learned(samples=120, **options):
    problem = spaql.make("pendulum", horizon=30)
    agent = spaql.Atlas(problem, seed=1, **({"controller": "best", "cells": 200} | options))
    agent.learn(samples=samples)
    return agent


@pytest.fixture
def tabled(monkeypatch):
    """An agent whose laws were not found, so that this table is better."""

    def no_laws(problem, model, data, seed, earlier=(), table=None, teacher=None, last=True, stop=None, device="cpu"):
        return ScoredTree(constant(3, [0.0]) if table is None else table, 0.0)

    monkeypatch.setattr(in_model, "laws_in", no_laws)
    agent = learned()
    assert agent.tabled
    return agent


def test_it_is_what_is_shown_counted_and_exported(tabled):
    policy = tabled.policy()
    assert policy.kind == "table"
    assert policy.n_leaves == tabled.arms == len(tabled.leaves())
    assert tabled.leaves()["visits"].sum() == 120
    np.testing.assert_array_equal(policy.evaluate(5).returns, tabled.evaluate(5).returns)
    assert "it applies" in str(policy.why(tabled.state.memory.states[0]))


def test_a_loaded_agent_has_it(tabled, tmp_path):
    tabled.save(tmp_path / "agent.spaql")
    again = spaql.load(tmp_path / "agent.spaql")
    assert again.tabled
    np.testing.assert_array_equal(again.evaluate(10).returns, tabled.evaluate(10).returns)


def test_with_more_samples_it_is_judged_anew(tabled):
    before = tabled.current_plan()
    tabled.update([1.0, 0.0, 0.0], [0.5], -0.1, [1.0, 0.0, 0.1])
    assert tabled.tabled
    assert tabled.current_plan().samples == 121
    assert tabled.current_plan() is not before


def test_a_table_must_be_surely_better_than_laws():
    problem = spaql.make("cartpole")
    judge = judge_of_trees.Judge(problem, 1, 100, 200.0)
    judge.offer(constant(4, [0.0]))
    judge.offer_table(constant(4, [0.0]))
    assert judge.mean < 20.0
    other = constant(4, [1.0])  # it falls to the other side, as soon
    judge.offer_table(other)
    assert judge.best is not other
    good = spaql.lqr(problem, [1.0, 0.1, 1.0, 0.1], 0.1).rules
    judge.offer_table(good)
    assert judge.best is good


def test_a_table_must_be_worth_that_nobody_can_read_it(monkeypatch):
    """1 % of what laws gain over a constant action is not enough, 3 % is."""
    judge = judge_of_trees.Judge(spaql.make("cartpole"), 1, 100, 400.0)
    law, poor, good = (constant(4, [float(i)]) for i in range(3))
    earned = {id(law): 100.0, id(poor): 101.0, id(good): 103.0}
    monkeypatch.setattr(judge.trials, "returns", lambda tree, seeds: np.full(len(seeds), earned[id(tree)]))
    judge.offer(law)
    judge.floor = 0.0
    judge.offer_table(poor)
    assert judge.best is law
    judge.offer_table(good)
    assert judge.best is good


def test_a_file_of_before_has_it(tabled, tmp_path):
    tabled.save(tmp_path / "agent.spaql")
    parts = members((tmp_path / "agent.spaql").read_bytes())
    old = load_bytes(tmp_path, packed(parts | {"trials.npy": array_bytes(np.array([120, 0, 120, 120], np.int32))}))
    assert old.tabled
    np.testing.assert_array_equal(old.evaluate(10).returns, tabled.evaluate(10).returns)


@pytest.mark.parametrize("trials", [[120, 0, 500], [120, 0, -1], [120, 0], [500, 0, 120]])
def test_a_file_with_an_impossible_one_is_refused(tabled, trials, tmp_path):
    tabled.save(tmp_path / "agent.spaql")
    parts = members((tmp_path / "agent.spaql").read_bytes())
    with pytest.raises(spaql.SpaqlError, match="trials are malformed"):
        load_bytes(tmp_path, packed(parts | {"trials.npy": array_bytes(np.array(trials, np.int32))}))
