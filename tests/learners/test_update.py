"""Learning from outside data: each learner's update, by hand."""

import math

import numpy as np
import pytest

import spaql
from helpers import assert_same

H = 10


def alpha(v):
    return (H + 1) / (H + v)


def test_the_update_of_the_paper():
    agent = spaql.SPAQL(spaql.cube(1, [0], horizon=H), xi=3.0)
    q = 0.0
    value = float(H)  # V = min(H, max Q) is at its cap as long as Q(x') >= H
    for v, reward in ((1, 2.0), (2, -5.0), (3, 0.5)):
        q = (1 - alpha(v)) * q + alpha(v) * (reward + value + 3.0 / math.sqrt(v))
        agent.update([0.3], 0, reward, [-0.3])
        visited = agent.leaves()[0]
        assert visited["visits"] == v
        assert visited["q"] == pytest.approx(q, rel=1e-14)
        value = min(H, agent.leaves()["q"][1])


def test_the_value_of_the_next_state_is_capped_at_the_horizon():
    agent = spaql.SPAQL(spaql.cube(1, [0], horizon=H), xi=0.0)
    agent.update([0.3], 0, 1000.0, [0.3])
    assert set(agent.leaves()["q"]) == {1000.0 + H}
    agent.update([0.3], 0, 0.0, [-0.3])
    assert agent.leaves()["q"][0] == pytest.approx((1 - alpha(2)) * 1010.0 + alpha(2) * H, rel=1e-14)


def test_the_value_is_read_before_the_update_writes():
    agent = spaql.SPAQL(spaql.cube(1, [0], horizon=H), xi=0.0)
    agent.update([0.3], 0, -20.0, [0.3])
    assert set(agent.leaves()["q"]) == {-20.0 + H}
    agent.update([0.3], 0, 5.0, [0.3])
    assert agent.leaves()["q"][0] == pytest.approx((1 - alpha(2)) * -10.0 + alpha(2) * (5.0 - 10.0), rel=1e-14)


@pytest.mark.parametrize(("bootstrap", "value"), [("paper", H), ("terminate", 0.0)])
@pytest.mark.parametrize("learner", [spaql.AQL, spaql.SPAQL, spaql.SPAQLTS, spaql.NBQL])
def test_termination_ends_the_future_only_with_bootstrap_terminate(learner, bootstrap, value):
    options = {"reference": [0.9]} if learner is spaql.SPAQLTS else {}
    agent = learner(spaql.cube(1, [0], horizon=H), xi=0.0, bootstrap=bootstrap, **options)
    agent.update([0.9], 0, 1.0, [0.1], terminated=True)
    assert agent.leaves()["q"][0] == pytest.approx(1.0 + value, rel=1e-14)
    other = learner(spaql.cube(1, [0], horizon=H), xi=0.0, bootstrap=bootstrap, **options)
    other.update([0.9], 0, 1.0, [0.1], terminated=False)
    assert other.leaves()["q"][0] == pytest.approx(1.0 + H, rel=1e-14)


@pytest.mark.parametrize(("distance", "squared"), [("euclidean", 0.4**2 + 0.3**2), ("sup", 0.4**2)])
def test_spaql_ts_weighs_the_value_with_the_distance_before_the_step(distance, squared):
    problem = spaql.cube(2, [0], horizon=H)
    agent = spaql.SPAQLTS(problem, xi=0.0, lam=0.5, reference=[0.1, -0.2], distance=distance)
    agent.update([0.5, 0.1], 0, 1.0, [0.1, -0.2])
    assert agent.leaves()["q"][0] == pytest.approx(1.0 + H * math.exp(-squared / 0.25), rel=1e-14)


def test_a_very_wide_gaussian_is_spaql():
    rng = np.random.default_rng(0)
    wide = spaql.SPAQLTS(spaql.cube(2, 1, horizon=H), xi=1.0, lam=1e9, reference=[0.0, 0.0])
    plain = spaql.SPAQL(spaql.cube(2, 1, horizon=H), xi=1.0)
    for _ in range(500):
        transition = rng.uniform(-1, 1, 2), rng.uniform(-1, 1), rng.random(), rng.uniform(-1, 1, 2)
        wide.update(*transition)
        plain.update(*transition)
    np.testing.assert_allclose(wide.leaves()["q"], plain.leaves()["q"], rtol=1e-12)


def test_the_reference_is_given_in_physical_units():
    problem = spaql.make("cartpole")
    agent = spaql.SPAQLTS(problem, xi=0.0, lam=1.0, reference=[2.4, 0.0, 0.0, 0.0])
    agent.update([0.0] * 4, 0, 0.0, [0.0] * 4)
    assert agent.leaves()["q"][0] == pytest.approx(200 * math.exp(-0.25), rel=1e-13)


def test_aql_looks_into_the_partition_of_the_next_step():
    agent = spaql.AQL(spaql.cube(1, [0, 1], horizon=3), xi=0.0)
    agent.update([0.3], 0, 1.0, [0.3], step=2)  # the last step has no future
    agent.update([0.3], 0, 1.0, [0.3], step=1)
    agent.update([0.3], 0, 1.0, [0.3], step=0)
    leaves = agent.leaves()
    assert [set(leaves["q"][leaves["tree"] == tree]) for tree in range(3)] == [{3.0}, {2.0}, {1.0}]


def test_aql_updates_its_greedy_ball_whatever_the_action():
    one, other = (spaql.AQL(spaql.cube(1, [0, 1], horizon=3)) for _ in range(2))
    for _ in range(30):
        one.update([0.3], 0, 1.0, [0.3], step=1)
        other.update([0.3], 1, 1.0, [0.3], step=1)
    np.testing.assert_array_equal(one.leaves(), other.leaves())


def test_spaql_does_not_care_about_the_step():
    one, other = (spaql.SPAQL(spaql.cube(1, [0, 1], horizon=3)) for _ in range(2))
    for i in range(30):
        one.update([0.3], 0, 1.0, [0.3])
        other.update([0.3], 0, 1.0, [0.3], step=i % 3)
    np.testing.assert_array_equal(one.leaves(), other.leaves())


def test_random_does_not_learn():
    with pytest.raises(spaql.SpaqlError, match="does not learn"):
        spaql.Random(spaql.cube(1, [0, 1], horizon=3)).update([0.0], 0, 0.0, [0.0])


@pytest.mark.parametrize("action", [1, 1.0, np.int64(1), np.array(1), np.array([1]), True])
def test_a_finite_action_may_be_any_kind_of_number(action):
    agent = spaql.SPAQL(spaql.cube(1, [0, 1], horizon=3))
    agent.update([0.3], 0, 0.0, [0.3])
    agent.update([0.3], action, 0.0, [0.3])
    leaves = agent.leaves()
    assert leaves["visits"][leaves["action_mask"] == 2].max() == 2


@pytest.mark.parametrize("action", [0.7, [0.7], np.array([0.7], np.float32), np.float32(0.7)])
def test_a_continuous_action_may_be_a_number_or_a_vector(action):
    agent = spaql.SPAQL(spaql.cube(1, 1, horizon=3))
    agent.update([0.3], 0.1, 0.0, [0.3])
    agent.update([0.3], action, 0.0, [0.3])
    leaves = agent.leaves()
    assert leaves["visits"][leaves["action"] == 0.5].max() == 2


@pytest.mark.slow
def test_thousands_of_updates_keep_growing_the_partition():
    agent = spaql.SPAQL(spaql.cube(3, 1, horizon=H))
    rng = np.random.default_rng(0)
    for _ in range(30000):
        agent.update(rng.uniform(-1, 1, 3), rng.uniform(-1, 1), rng.random(), rng.uniform(-1, 1, 3))
    assert agent.arms > 4000
    assert (agent.leaves()["radius"] ** 4).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("learner", [spaql.AQL, spaql.SPAQL, spaql.SPAQLTS])
def test_learning_goes_on_from_outside_data(learner):
    """`learn` starts from what `update` made, and evaluates it before the first episode."""
    agents = []
    for _ in range(2):
        agent = learner(spaql.make("cartpole"), seed=1)
        for i in range(200):
            agent.update([0.0, 0.0, 0.001 * i, 0.0], i % 2, 1.0, [0.0, 0.0, 0.001 * i, 0.0])
        arms = agent.arms
        agent.learn(3, rollouts=4)
        assert agent.arms >= arms
        agents.append(agent)
    assert_same(*agents)


def test_outside_data_between_two_calls_of_learn_makes_the_best_agent_unknown():
    agent = spaql.SPAQL(spaql.make("pendulum"), seed=1)
    agent.learn(5, rollouts=4)
    agent.update([1.0, 0.0, 0.0], 0.5, 0.0, [1.0, 0.0, 0.0])
    history = agent.learn(5, rollouts=4)
    assert history.eval_samples.tolist() == [(n + 2 if n < 5 else n + 3) * 4 * 200 for n in range(10)]
