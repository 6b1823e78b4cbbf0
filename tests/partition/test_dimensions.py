"""Problems of any size train, evaluate, and give the same bits in the compiled loop and through Gymnasium."""

from dataclasses import replace

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, QUICK, assert_same, linear_plant, quick_first, wrapped


@pytest.mark.parametrize("d", [1, 2, 6, *(pytest.param(d, marks=pytest.mark.slow) for d in (3, 4, 5))])
@pytest.mark.parametrize("name", quick_first(LEARNERS, QUICK))
def test_one_to_six_state_variables(name, d):
    problem = linear_plant(d)
    agent = LEARNERS[name](problem, seed=1)
    agent.learn(4, rollouts=3)
    other = LEARNERS[name](wrapped(problem), seed=1)
    other.learn(4, rollouts=3)
    assert_same(agent, other, episodes=6)
    assert np.isfinite(agent.evaluate(10).returns).all()


@pytest.mark.parametrize(("d", "k"), [(1, 2), (2, 3), (1, 4)])
@pytest.mark.parametrize("name", quick_first(LEARNERS, QUICK))
def test_several_continuous_actions(name, d, k):
    problem = linear_plant(d, k)
    agent, other = LEARNERS[name](problem, seed=2), LEARNERS[name](wrapped(problem), seed=2)
    for one in (agent, other):
        one.learn(4, rollouts=3)
    assert_same(agent, other, episodes=6)
    action, _ = agent.predict(np.zeros(d))
    assert action.shape == (k,)
    assert np.abs(action).max() <= 1.0


@pytest.mark.parametrize("actions", [[0], [0, 1, 2], list(range(70))])
@pytest.mark.parametrize("name", quick_first(LEARNERS, QUICK))
def test_lists_of_actions(name, actions):
    problem = linear_plant(1, actions=actions)
    problem = replace(problem, state=(spaql.Axis("x", slope=0.1),))  # 69 pushes it far
    agent, other = LEARNERS[name](problem, seed=3), LEARNERS[name](wrapped(problem), seed=3)
    for one in (agent, other):
        one.learn(4, rollouts=3)
    assert_same(agent, other, episodes=6)


def test_a_deep_tree_in_many_dimensions():
    """13 variables and 5 levels are more than 63 bits: the rollouts then walk down one level at a time."""
    problem = linear_plant(13, actions=[0], horizon=60)
    agent, other = spaql.SPAQL(problem, seed=0), spaql.SPAQL(wrapped(problem), seed=0)
    for one in (agent, other):
        for _ in range(260):
            one.update(np.full(13, 0.01), 0, 0.0, np.full(13, 0.01))
        assert one.leaves()["depth"].max() == 5
        one.learn(1, rollouts=5)
    assert_same(agent, other, episodes=5)


def test_a_horizon_of_one_step():
    for name in LEARNERS:
        agent, other = (LEARNERS[name](p, seed=1) for p in (linear_plant(2, horizon=1), wrapped(linear_plant(2, horizon=1))))
        for one in (agent, other):
            one.learn(5, rollouts=3)
        assert_same(agent, other, episodes=5)
        assert agent.evaluate(10).samples == 10
