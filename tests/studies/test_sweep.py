"""`spaql sweep`: tuned on some seeds, reported on others, over the store of `reproduce`."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import spaql
from command_line import run
from spaql_studies.runs.store import Store
from spaql_studies.sweep import run_sweep
from spaql_studies.sweep_space import parameters_of, random_trial
from spaql_studies.sweep_table import FIRST_REPORTED, Sweep, folder_of, keep, markdown_of

SMALL = {"trials": 4, "seeds": 2, "best": 2, "final_seeds": 2, "iterations": 5, "rollouts": 2, "fresh": 10, "jobs": 1}


def sweep_of(store, *options, algorithm="spaql", **changes):
    return Sweep("cartpole", algorithm, options or ("xi=1..100:log",), store, **(SMALL | changes))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return run_sweep(sweep_of(tmp_path_factory.mktemp("sweep") / "store"))


def test_it_is_public_and_computes_nothing_twice(done):
    said = []
    again = spaql.sweep("cartpole", "spaql", ["xi=1..100:log"], done.sweep.store, **SMALL, on_progress=said.append)
    assert (done.computed, again.computed) == (4 * 2 + 3 * 2, 0)
    assert [trial.options for trial in again.best] == [trial.options for trial in done.best]
    assert said[-1] == "the best, on new seeds: 6 of 6 runs are there"


def drawn(text, learner=spaql.SPAQL, n=2000):
    (parameter,) = parameters_of([text], learner)
    return [random_trial([parameter], 0, i)[parameter.name] for i in range(n)]


# -- what is varied ------------------------------------------------------------------------------------------------------------------


def test_a_logarithmic_range_has_as_many_small_as_large_values():
    values = np.array(drawn("xi=0.1..1000:log"))
    assert values.min() >= 0.1
    assert values.max() <= 1000
    assert np.mean(values < 10) == pytest.approx(0.5, abs=0.05)


def test_an_even_range():
    values = np.array(drawn("tau_min=0..10"))
    assert np.mean(values < 5) == pytest.approx(0.5, abs=0.05)
    assert all(float(f"{value:.4g}") == value for value in values)


def test_options_that_are_whole_numbers_stay_so():
    values = drawn("cells=1000..1003", spaql.Atlas)
    assert set(values) == {1000, 1001, 1002, 1003}
    assert all(isinstance(value, int) for value in drawn("cells=100..10000:log", spaql.Atlas))


def test_a_list_is_a_choice():
    assert set(drawn("bootstrap=paper,terminate")) == {"paper", "terminate"}
    assert set(drawn("explore=true,false", spaql.Atlas)) == {True, False}


def test_a_trial_depends_on_its_number_only():
    parameters = parameters_of(["xi=1..100:log", "bootstrap=paper"], spaql.SPAQL)
    assert random_trial(parameters, 0, 7) == random_trial(parameters, 0, 7) != random_trial(parameters, 0, 8)
    assert random_trial(parameters, 0, 7)["bootstrap"] == "paper"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("xi", "NAME=RANGE"),
        ("discount=0..1", "SPAQL has no option 'discount': it has xi"),
        ("xi=a..b", "ends of a range are numbers"),
        ("xi=5..1", "from a lower to a higher"),
        ("xi=0..5:log", "begins above 0"),
        ("xi=1..5:cubic", "log or linear"),
        ("xi=3", "something to vary"),
    ],
)
def test_a_bad_range_is_one_line(text, words, tmp_path):
    with pytest.raises(spaql.SpaqlError, match=words):
        run_sweep(sweep_of(tmp_path / "store", text))


def test_other_bad_input(tmp_path):
    for changes, words in [
        ({"seeds": 101}, "seeds must be a whole number from 1 to 100"),
        ({"sampler": "guess"}, "the sampler must be one of"),
        ({"algorithm": "nothing"}, "unknown algorithm"),
        ({"trials": 0}, "trials must be"),
    ]:
        with pytest.raises(spaql.SpaqlError, match=words):
            run_sweep(sweep_of(tmp_path / "store", **changes))
    with pytest.raises(spaql.SpaqlError, match="xi must be"):
        run_sweep(sweep_of(tmp_path / "store", "xi=-5..5"))
    with pytest.raises(spaql.SpaqlError, match="problem by name"):
        run_sweep(Sweep("CartPole-v1", "spaql", ("xi=1..2",), tmp_path / "store"))
    assert not (tmp_path / "store").exists()


# -- the search ----------------------------------------------------------------------------------------------------------------------


def test_the_best_are_chosen_on_seeds_below_100_and_reported_on_seeds_from_1000_on(done):
    assert len(done.trials) == 4
    assert [trial.score for trial in done.best] == sorted((trial.score for trial in done.trials), reverse=True)[:2]
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=FIRST_REPORTED, **done.best[0].options)
    agent.learn(5, rollouts=2)
    assert done.best[0].reported[0] == agent.evaluate(10, seed=FIRST_REPORTED).mean
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=1, **done.best[0].options)
    agent.learn(5, rollouts=2)
    assert done.best[0].tuned[1] == agent.evaluate(10, seed=1).mean
    assert len(done.default.reported) == 2


@pytest.mark.slow
def test_it_resumes_from_the_store(done):
    again = run_sweep(done.sweep)
    assert (done.computed, again.computed) == (4 * 2 + 3 * 2, 0)
    assert [trial.tuned for trial in again.trials] == [trial.tuned for trial in done.trials]
    more = run_sweep(sweep_of(done.sweep.store, trials=5))
    assert more.computed <= 2 + 3 * 2
    assert [trial.options for trial in more.trials[:4]] == [trial.options for trial in done.trials]


def test_the_table_is_kept(done):
    kept = keep(done, folder_of(done))
    assert kept.parent == done.sweep.store / "sweeps"
    assert kept.read_text() == markdown_of(done)
    assert "seeds 1000 to 1001" in markdown_of(done)
    told = json.loads(kept.with_suffix(".json").read_text())
    assert [row["rank"] for row in told["best"]] == ["1", "2", "default"]
    assert len(kept.with_suffix(".csv").read_text().splitlines()) == 5
    Store(done.sweep.store, create=False)


@pytest.mark.slow
def test_atlas_is_tuned_by_samples(tmp_path):
    made = run_sweep(sweep_of(tmp_path / "store", "cells=200,400", algorithm="atlas", samples=200, trials=2, seeds=1, best=1))
    assert made.default.reported
    assert set(made.best[0].options) == {"cells"}


def test_tpe_proposes_the_same_again(tmp_path):
    pytest.importorskip("optuna", reason="needs the extra `sweep`")
    sweep = sweep_of(tmp_path / "store", "xi=1..100:log", "bootstrap=paper,terminate", sampler="tpe", trials=6)
    first, again = run_sweep(sweep), run_sweep(sweep)
    assert len(first.trials) == 6
    assert first.computed > 0 == again.computed
    assert [trial.options for trial in first.trials] == [trial.options for trial in again.trials]


def test_without_optuna_there_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    told = run("sweep", "cartpole", "spaql", "--option", "xi=1..9", "--sampler", "tpe", "--store", tmp_path / "s")
    assert told.returncode == 2
    assert "pip install 'spaql[sweep]'" in told.stderr


# -- the command ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_a_table_and_machines_get_json(tmp_path):
    assert "Example:\n    spaql sweep" in run("sweep", "--help").stdout
    words = ["sweep", "cartpole", "spaql", "--option", "xi=1..100:log", "--trials", "2", "--seeds", "1", "--best", "1",
             "--final-seeds", "2",
             "--iterations", "3", "--rollouts", "2", "--fresh", "5", "--jobs", "1", "--store", str(tmp_path / "store")]  # fmt: skip
    told = run(*words)
    assert told.returncode == 0, told.stderr
    for expected in ("xi = ", "default", "seeds 1000 to 1001", "±"):
        assert expected in told.stdout
    again = json.loads(run(*words, "--json").stdout)
    assert again["computed"] == 0
    assert [row["rank"] for row in again["best"]] == ["1", "default"]
    bad = run("sweep", "cartpole", "spaql", "--option", "xi=5..1")
    assert (bad.returncode, len(bad.stderr.strip().splitlines())) == (2, 1)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    store = tmp_path / "store"
    words = ["sweep", "cartpole", "spaql", "--option", "xi=1..100:log", "--trials", "1000", "--iterations", "300", "--jobs", "1"]
    process = subprocess.Popen([sys.executable, "-m", "spaql.cli", *words, "--store", str(store)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while len(list(store.glob("runs/*.parquet"))) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command continues" in told
    assert len(list(store.glob("runs/*.parquet"))) >= 3
