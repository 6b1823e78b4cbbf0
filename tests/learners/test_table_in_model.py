"""With controller="best", a table that was learned in the Gaussian-process model is taken where it is surely better than laws."""

import threading

import numpy as np
import pytest

import spaql
from hostile_files import array_bytes, load_bytes, members, packed
from spaql.gp.problem import model_of
from spaql.laws import in_model
from spaql.laws import judge as judge_of_trees
from spaql.learners.atlas import controller
from spaql.training.closed_loop import evaluated
from spaql.trees.edits import constant

pytestmark = pytest.mark.usefixtures("quick_search")


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(controller, "MOST", 600)


def learned(samples=120, **options):
    problem = spaql.make("pendulum", horizon=30)
    agent = spaql.Atlas(problem, seed=1, **({"controller": "best", "cells": 200} | options))
    agent.learn(samples=samples)
    return agent


def made_in_model(agent):
    problem, data = agent.problem_told, agent.state.memory.data(agent.state.memory.n)
    return controller.plan_in_model(agent, model_of(problem, data), data, threading.Event())


@pytest.fixture
def tabled(monkeypatch):
    """An agent whose laws were not found, so that this table is better."""

    def no_laws(problem, model, data, seed, earlier=(), table=None, teacher=None, tidy=True, other_table=None, stop=None):
        return in_model.Found(constant(3, [0.0]) if other_table is None else other_table(), np.zeros(2))

    monkeypatch.setattr(in_model, "laws_in", no_laws)
    agent = learned()
    assert agent.tabled
    return agent


def test_its_samples_are_those_of_the_plant():
    agent = learned()
    plan = made_in_model(agent)
    assert plan.samples == 120
    assert plan.cells <= 200
    assert agent.state.memory.n == 120


@pytest.mark.slow
def test_it_is_made_again_from_the_same_data_with_the_same_bits():
    agent = learned()
    one, other = made_in_model(agent), made_in_model(agent)
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.support.points, other.support.points)


@pytest.mark.slow
def test_it_swings_the_pendulum_up_with_less_torque_than_the_table_of_the_data(monkeypatch):
    monkeypatch.setattr(controller, "MOST", 6000)
    agent = spaql.Atlas(spaql.make("pendulum"), seed=10, controller="laws", use_known=False)
    agent.learn(samples=300)
    found = evaluated(agent.problem, made_in_model(agent).table, 1000, 0).mean
    assert found > -155.0
    assert evaluated(agent.problem, agent.current_plan().table, 1000, 0).mean < found


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
    assert tabled.current_plan().samples == tabled.state.in_model == 121
    assert tabled.current_plan() is not before


def test_where_laws_leave_nothing_to_gain_none_is_made(monkeypatch):
    monkeypatch.setattr(controller, "plan_in_model", None)  # a call would fail
    agent = spaql.Atlas(spaql.make("cartpole"), seed=1, controller="best", cells=60)
    agent.learn(samples=260)
    assert agent.evaluate(100).mean == 200.0


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


def test_of_two_tables_the_better_one_is_taken_however_little_better_it_is(monkeypatch):
    monkeypatch.setattr(judge_of_trees, "LAWS", 0)  # trees of one leaf are tables, too
    judge = judge_of_trees.Judge(spaql.make("cartpole"), 1, 100, 200.0)
    sides = [constant(4, [0.0]), constant(4, [1.0])]
    worse, better = sorted(sides, key=lambda one: judge.trials.returns(one, judge.more).mean())
    judge.best, judge.returns = worse, judge.returns_of(worse)
    judge.offer_table(better)
    assert judge.best is better
    judge.offer_table(worse)
    assert judge.best is better


def test_where_the_model_runs_away_there_is_none(monkeypatch):
    def lost(self, *args, **options):
        raise spaql.SpaqlError("observations must be finite")

    agent = learned()
    monkeypatch.setattr(spaql.Atlas, "train", lost)
    with pytest.raises(spaql.SpaqlError, match="must be finite"):
        made_in_model(agent)
    assert np.isfinite(agent.evaluate(3).mean)


def test_a_file_of_before_has_none(tabled, tmp_path):
    tabled.save(tmp_path / "agent.spaql")
    parts = members((tmp_path / "agent.spaql").read_bytes())
    old = load_bytes(tmp_path, packed(parts | {"trials.npy": array_bytes(np.array([120, 0, 120], np.int32))}))
    assert old.state.in_model == 0
    assert old.tabled


@pytest.mark.parametrize("trials", [[120, 0, 0, 120], [120, 0, 120, 60], [120, 0, 500, 500], [120, 0, 120, -1], [120, 0, 5, 5]])
def test_a_file_with_an_impossible_one_is_refused(tabled, trials, tmp_path):
    tabled.save(tmp_path / "agent.spaql")
    parts = members((tmp_path / "agent.spaql").read_bytes())
    with pytest.raises(spaql.SpaqlError, match="trials are malformed"):
        load_bytes(tmp_path, packed(parts | {"trials.npy": array_bytes(np.array(trials, np.int32))}))
