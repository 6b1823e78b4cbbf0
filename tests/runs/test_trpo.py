"""TRPO, the rival: what is published, and that it can be computed again."""

import importlib.util

import numpy as np
import pytest

import spaql
from spaql_studies.load import published_runs
from spaql_studies.reproduce import Request, reproduce
from spaql_studies.runs.compute import compute
from spaql_studies.runs.rivals import lockstep_returns
from spaql_studies.runs.spec import Spec


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sb3_contrib" else found(name))
    with pytest.raises(spaql.SpaqlError, match=r"pip install 'spaql\[trpo\]'"):
        reproduce(Request(tmp_path / "s", ("trpo",)), progress=False)
    assert not (tmp_path / "s").exists()


def test_the_published_agents_are_as_good_as_the_papers():
    runs = published_runs()
    assert np.mean([run.fresh for run in runs if run.problem == "pendulum"]) > -176.76
    assert np.mean([run.fresh for run in runs if run.problem == "cartpole"]) > 197.27


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["pendulum", "cartpole"])
def test_the_same_seed_gives_the_same_bits_and_begins_as_published(problem):
    pytest.importorskip("sb3_contrib")
    first, second = (compute(Spec(problem, "TRPO", 0, 2, 0, 20)) for _ in range(2))
    np.testing.assert_array_equal(first["evaluation_curve"], second["evaluation_curve"])
    np.testing.assert_array_equal(first["fresh_returns"], second["fresh_returns"])
    published = next(run for run in published_runs() if (run.problem, run.seed) == (problem, 0))
    assert first["evaluation_curve"][0] == pytest.approx(published.evaluation_curve[0], rel=1e-3)  # before anything is learned
    assert list(first["train_samples_curve"]) == [4000, 8000]


@pytest.mark.slow
def test_fresh_episodes_start_where_the_learners_fresh_episodes_start():
    agent = spaql.SPAQL(spaql.make("cartpole"), seed=3)
    agent.learn(30, rollouts=3)
    np.testing.assert_array_equal(lockstep_returns(agent, "cartpole", 20, 3), agent.evaluate(20, seed=3, deterministic=True).returns)
