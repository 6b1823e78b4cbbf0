"""Twenty agents of two thousand iterations each: the averages the paper's problems are known for."""

import numpy as np
import pytest

import spaql

pytestmark = pytest.mark.slow
AGENTS, ITERATIONS = 20, 2000


def train(learner, name):
    agents = [learner(spaql.make(name), seed=seed) for seed in range(AGENTS)]
    spaql.learn_all(agents, ITERATIONS)
    return np.array([agent.history.best_seen[-1] for agent in agents]), np.array([agent.arms for agent in agents]), agents


def test_spaql_ts_on_cartpole():
    best, arms, agents = train(spaql.SPAQLTS, "cartpole")
    assert best.mean() == pytest.approx(199.5, abs=2.0)  # 0.7 between sets of twenty, more with one agent that fails
    assert 1150 <= arms.mean() <= 1400
    fresh = np.array([agent.evaluate(1000).mean for agent in agents])
    assert fresh.mean() > 180
    assert fresh.mean() <= best.mean()  # the best of two thousand noisy evaluations is biased upwards


def test_spaql_on_cartpole():
    best, _, _ = train(spaql.SPAQL, "cartpole")
    assert best.mean() == pytest.approx(190.0, abs=3.0)


def test_aql_on_cartpole():
    best, _, _ = train(spaql.AQL, "cartpole")
    assert best.mean() == pytest.approx(21.0, abs=2.0)


def test_spaql_on_pendulum():
    best, _, _ = train(spaql.SPAQL, "pendulum")
    assert best.mean() == pytest.approx(-530.0, abs=60.0)


def test_spaql_ts_on_pendulum():
    best, _, _ = train(spaql.SPAQLTS, "pendulum")
    assert best.mean() == pytest.approx(-545.0, abs=100.0)


def test_aql_on_pendulum():
    best, arms, _ = train(spaql.AQL, "pendulum")
    assert best.mean() == pytest.approx(-1200.0, abs=30.0)
    assert arms.mean() == pytest.approx(194_400, abs=1500)


def test_an_aql_agent_takes_less_than_100_megabytes():
    agent = spaql.AQL(spaql.make("pendulum"))
    agent.learn(ITERATIONS)
    state = agent.state
    state.policy(agent.chart)
    arrays = [*state.forest, *(state.scratch or ()), *state.greedy, state.outer, state.history]
    assert state.trainee is state.forest
    assert sum(array.nbytes for array in arrays) < 100e6
