"""The samples of a stage are divided among search, tidying and confirmation, and nothing is given out twice."""

import numpy as np
import pytest

import spaql
from spaql.laws import stages
from spaql.laws.search import FRESH, Search
from spaql.laws.slow import LOOK_SHARE, PART_SHARE
from spaql.laws.stages import Budget
from spaql.laws.trials import Trials
from spaql.laws.vector import declared_units
from spaql.learners.law_files import ScoredTree
from spaql.policy.outputs import leaf
from spaql.trees.laws import CLIP


def test_the_shares_add_up():
    assert pytest.approx(1.0) == stages.SEARCH_SHARE + stages.TIDY_SHARE + stages.CONFIRM_SHARE
    assert 0.0 < stages.STAGE_SHARE < 1.0
    assert 0.0 < stages.RACE_SHARE < stages.CONFIRM_SHARE
    assert 2.5 * LOOK_SHARE + 1.5 * PART_SHARE < stages.SEARCH_SHARE  # a walk has room
    assert PART_SHARE < stages.SEARCH_SHARE


def test_what_the_search_has_used_is_not_there_any_more_and_the_rest_is_kept():
    trials = Trials(spaql.make("pendulum"), 10_000)
    trials.count(500)  # of another stage
    budget = Budget(trials, 4000.0)
    assert budget.left == 4000.0
    assert budget.to_search == pytest.approx(4000.0 * stages.SEARCH_SHARE)
    trials.count(int(budget.to_search))
    assert budget.to_search == pytest.approx(0.0)
    assert budget.left == pytest.approx(4000.0 * (stages.TIDY_SHARE + stages.CONFIRM_SHARE))
    trials.count(int(4000.0 * stages.RACE_SHARE))
    assert budget.to_tidy == pytest.approx(4000.0 * stages.TIDY_SHARE)


@pytest.mark.parametrize("samples", [3000, 20_000])
def test_a_search_uses_all_of_its_samples_and_no_more(samples):
    agent = spaql.Laws(spaql.make("cartpole"), max_leaves=2, seed=0)
    agent.learn(samples=samples, progress=False)
    assert agent.history.train_samples[-1] == samples


def test_a_size_is_searched_for_even_where_tidying_the_one_before_took_more_than_is_left():
    agent = spaql.Laws(spaql.make("pendulum"), max_leaves=2, seed=1003)
    agent.learn(samples=20_000_000)
    assert agent.state.tidying > 8_000_000
    assert agent.policy().n_leaves == 2
    assert agent.policy().evaluate(200).mean > -200.0


def test_with_more_effort_generations_gain_most_and_candidates_least():
    trials = Trials(spaql.make("pendulum"))
    usual, more, less = (Search(trials, declared_units(trials.problem), 0, 1, effort) for effort in (1.0, 16.0, 0.5))
    assert usual.rounds(FRESH) == list(FRESH)
    assert more.rounds(FRESH) == [(a, 8 * b, 16 * c) for a, b, c in FRESH]
    assert less.rounds(FRESH)[0] == (8, 10, 12)
    assert [search.population(32) for search in (usual, more, less)] == [32, 64, 16]
    assert [search.tried(400, 4) for search in (usual, more, less)] == [400, 1600, 200]


def test_with_more_effort_a_large_tree_also_follows_its_own_lessons(monkeypatch):
    asked = []
    agent = spaql.Laws(spaql.make("pendulum"), max_leaves=5)
    state, law = agent.state, leaf(agent.searched.actions, np.zeros((1, 3)), np.zeros(1), CLIP)
    state.taught, state.middle, state.inverse = np.eye(4), np.zeros(3), np.ones(3)
    state.frontier.raw[1] = ScoredTree(law, -1200.0)
    monkeypatch.setattr(stages, "fitted_partitions", lambda *_: [])
    monkeypatch.setattr(stages, "distilled", lambda *_: [])
    monkeypatch.setattr(stages, "_raced", lambda *_: None)
    monkeypatch.setattr(stages, "own_lessons", lambda search, tree, leaves: asked.append(leaves))
    monkeypatch.setattr(Search, "fresh", lambda *_: None)
    for effort in (1.0, 1.5):
        stages._searched(agent, Trials(agent.searched), 2, "distil", 5, effort)
    assert asked == [5]
