"""SAC, DQN and PPO, which a user would pick instead: what is published, and that it can be computed again."""

import importlib.util

import numpy as np
import pytest

import spaql
from spaql_studies.atlas import CONTESTS
from spaql_studies.load import published_runs
from spaql_studies.reproduce import Request, reproduce
from spaql_studies.runs.compute import compute
from spaql_studies.runs.spec import Spec

RUNS = published_runs("rivals")


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "stable_baselines3" else found(name))
    with pytest.raises(spaql.SpaqlError, match=r"pip install 'spaql\[trpo\]'"):
        reproduce(Request(tmp_path / "s", ("rivals",)), progress=False)
    assert not (tmp_path / "s").exists()


def test_the_published_runs_are_of_seeds_nobody_tuned_on_and_evaluated_as_ours_are():
    assert {run.seed for run in RUNS} >= set(range(1000, 1010))
    assert min(run.seed for run in RUNS) == 1000
    assert {run.episodes for run in RUNS} == {1000}
    assert len({run.key for run in RUNS}) == len(RUNS)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.algorithm}-{run.problem}-{run.seed}")
def test_they_are_looked_at_where_planned_and_every_sample_is_counted(run):
    planned = next(np.array(task.samples) for task in CONTESTS[run.problem] if task.algorithm == run.algorithm)
    assert (run.checkpoints >= planned).all()
    assert (run.checkpoints < planned + 257).all()  # an update later at most
    assert run.checkpoints[-1] == run.train_samples + run.eval_samples
    assert (np.diff(run.cpu_curve) > 0).all()


def test_the_published_sac_learns_pendulum():
    final = [run.fresh for run in RUNS if (run.problem, run.algorithm) == ("pendulum", "SAC")]
    assert len(final) == 10
    assert np.median(final) > -160.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "algorithm", "checkpoints"),
    [("pendulum", "SAC", (500,)), ("cartpole", "DQN", (1000, 2000)), ("cartpole-500", "PPO", (1000, 2000))],
)
def test_the_same_seed_gives_the_same_bits_and_begins_as_published(problem, algorithm, checkpoints):
    pytest.importorskip("stable_baselines3")
    first, second = (compute(Spec(problem, algorithm, 1000, 0, 0, 1000, checkpoints=checkpoints)) for _ in range(2))
    for name in ("checkpoints", "checkpoint_returns", "fresh_returns"):
        np.testing.assert_array_equal(first[name], second[name])
    published = next(run for run in RUNS if (run.problem, run.algorithm, run.seed) == (problem, algorithm, 1000))
    assert first["checkpoints"][0] == published.checkpoints[0]
    assert first["checkpoint_returns"][0] == pytest.approx(published.checkpoint_returns[0], rel=1e-3)
