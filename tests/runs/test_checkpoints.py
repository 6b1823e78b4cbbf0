"""Runs that are looked at while they learn."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import spaql
from spaql_studies.runs.compute import compute
from spaql_studies.runs.rivals import lockstep_returns
from spaql_studies.runs.rows import COLUMNS, MORE, NEEDED, digest_of, read_rows, run_from, write_rows
from spaql_studies.runs.spec import Spec

SPEC = Spec("cartpole", "SPAQL", 1000, 0, 5, 40, (("xi", 20.0),), (500, 2000, 6000))
PLAIN = Spec("cartpole", "SPAQL", 3, 4, 2, 6, (("xi", 20.0),))


@pytest.fixture(scope="module")
def row():
    return compute(SPEC)


def test_looking_does_not_change_what_is_learned(row):
    agent = spaql.SPAQL(spaql.make("cartpole"), xi=20.0, seed=1000)
    history = agent.learn(200, 5)
    samples = history.train_samples + history.eval_samples
    last = int(np.flatnonzero(samples == row["checkpoints"][-1])[0])
    again = spaql.SPAQL(spaql.make("cartpole"), xi=20.0, seed=1000)
    again.learn(last + 1, 5)
    np.testing.assert_array_equal(row["fresh_returns"], again.evaluate(40, seed=1000).returns)


def test_all_samples_are_counted_and_a_checkpoint_is_reached_by_the_last_iteration(row):
    used = np.array(row["checkpoints"])
    assert (used >= SPEC.checkpoints).all()
    assert (used < np.array(SPEC.checkpoints) + 200 * 6).all()
    assert row["train_samples"] + row["eval_samples"] == used[-1]
    assert row["eval_samples"] > row["train_samples"]


def test_the_figures_are_those_of_the_last_checkpoint(row):
    assert row["fresh"] == row["checkpoint_returns"][-1] == pytest.approx(np.mean(row["fresh_returns"]), rel=1e-12)
    assert list(row["tree_leaves"]) == [0, 0, 0]
    assert np.isnan(row["tree_returns"]).all()


def test_the_same_seed_gives_the_same_digest_whatever_the_time_it_took(row):
    again = compute(SPEC)
    assert digest_of(again) == digest_of(row)
    assert digest_of(row | {"cpu_curve": np.zeros(3)}) == digest_of(row)
    assert digest_of(row | {"checkpoint_returns": np.zeros(3)}) != digest_of(row)
    assert digest_of(compute(replace(SPEC, seed=1001))) != digest_of(row)


def test_seconds_grow(row):
    assert (np.diff(row["cpu_curve"]) >= 0).all()


@pytest.mark.slow
def test_a_tree_is_made_at_the_last_checkpoint_and_does_not_disturb_the_learning(row):
    found = compute(replace(SPEC, checkpoints=(500, 2000, 4000, 6000), leaves=4, fresh=10))
    assert (found["tree_leaves"][:-1] == 0).all()
    assert 1 <= found["tree_leaves"][-1] <= 4
    assert np.isfinite(found["tree_returns"][-1])
    assert found["checkpoints"][-1] == row["checkpoints"][-1]


def test_such_a_run_read_back_is_the_run_written(tmp_path, row):
    run = run_from(row)
    write_rows(tmp_path / "run.parquet", [run])
    (found,) = read_rows(tmp_path / "run.parquet")
    assert found.digest == run.digest
    for name in (*MORE["checkpoints"], "cpu_curve", "tree_cpu_curve"):
        np.testing.assert_array_equal(getattr(found, name), row[name])


def test_files_from_before_there_were_checkpoints_are_read_as_they_are(tmp_path):
    run = run_from(compute(PLAIN))
    write_rows(tmp_path / "new.parquet", [run])
    table = pq.read_table(tmp_path / "new.parquet").drop_columns([name for name in COLUMNS if name not in NEEDED])
    pq.write_table(table, tmp_path / "old.parquet", write_page_checksum=True)
    (old,), (new,) = (read_rows(tmp_path / f"{name}.parquet") for name in ("old", "new"))
    assert old.digest == new.digest == run.digest
    assert len(old.checkpoints) == len(new.checkpoints) == 0


@pytest.mark.parametrize("problem", ["cartpole", "pendulum", "pendulum-5"])
def test_episodes_in_lock_step_are_those_of_the_fresh_evaluation(problem):
    agent = spaql.SPAQL(spaql.make(problem), seed=3)
    agent.learn(20, rollouts=3)
    np.testing.assert_array_equal(lockstep_returns(agent, problem, 150, 7), agent.evaluate(150, seed=7, deterministic=True).returns)
