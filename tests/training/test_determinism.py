"""The seed decides everything; how the training is cut up, watched or parallelised decides nothing."""

import numpy as np
import pytest

import spaql
from helpers import LEARNERS, TRAINED, assert_same, linear_plant


def trained(problem, learner, seed, iterations=20, rollouts=4):
    agent = LEARNERS[learner](spaql.make(problem), seed=seed)
    agent.learn(iterations, rollouts=rollouts)
    return agent


def test_seed_zero_is_a_seed_like_others():
    """The default, repeatable, and unlike its neighbours."""
    default = spaql.SPAQL(spaql.make("cartpole"))
    default.learn(20, rollouts=4)
    assert default.seed == 0
    assert_same(default, trained("cartpole", "SPAQL", 0))
    assert not np.array_equal(default.history.table, trained("cartpole", "SPAQL", 1).history.table)


def test_numpy_integers_are_seeds():
    assert_same(trained("cartpole", "SPAQL", np.int64(3)), trained("cartpole", "SPAQL", 3))


def test_global_random_state_plays_no_role():
    np.random.seed(1)
    first = trained("cartpole", "SPAQL", 0)
    np.random.seed(2)
    before = np.random.get_state()[1].tobytes()
    assert_same(first, trained("cartpole", "SPAQL", 0))
    assert np.random.get_state()[1].tobytes() == before


def test_a_sign_of_life_changes_nothing(capsys):
    shown = spaql.SPAQL(spaql.make("cartpole"), seed=3)
    shown.learn(20, rollouts=4, progress=True)
    assert_same(shown, trained("cartpole", "SPAQL", 3))
    assert "SPAQL on cartpole" in capsys.readouterr().err


def test_agents_of_one_problem_object_can_be_trained_together():
    problem = spaql.make("pendulum")
    agents = [spaql.SPAQL(problem, seed=seed) for seed in range(4)]
    spaql.learn_all(agents, 10, 3, jobs=4)
    assert_same(agents[2], trained("pendulum", "SPAQL", 2, iterations=10, rollouts=3))


def test_mixed_learners_and_gymnasium_environments_can_be_trained_together():
    agents = [spaql.SPAQL(spaql.make("cartpole"), seed=1), spaql.AQL(spaql.from_gym("spaql/CartPole-v0"), seed=1)]
    spaql.learn_all(agents, 5, 3)
    for agent, learner in zip(agents, ("SPAQL", "AQL"), strict=True):
        assert_same(agent, trained("cartpole", learner, 1, iterations=5, rollouts=3))


def test_one_agent_that_fails_stops_the_others_and_is_named():
    @spaql.reset
    def start(u):
        return (u,)

    @spaql.step
    def leave(x, push):
        return (x + 1.0,), 0.0, False

    one = [spaql.Axis("x", -1.0, 1.0)]
    bad = spaql.from_plant(start, leave, state=one, actions=spaql.Finite((0, 1)), horizon=5, name="runaway")
    agents = [spaql.SPAQL(spaql.make("cartpole"), seed=1), spaql.SPAQL(bad, seed=1)]
    with pytest.raises(spaql.SpaqlError, match="runaway left its declared bounds"):
        spaql.learn_all(agents, 10**8, 3, jobs=2)
    done = len(agents[0].history)
    if done:
        assert_same(agents[0], trained("cartpole", "SPAQL", 1, iterations=done, rollouts=3))


def test_evaluation_of_different_agents_starts_from_the_same_states():
    """Common random numbers: two constant policies differ only by what they do."""
    problem = linear_plant(1, actions=[0], horizon=5)
    one, other = (spaql.SPAQL(problem, seed=seed) for seed in (1, 2))
    np.testing.assert_array_equal(one.evaluate(20, seed=4).returns, other.evaluate(20, seed=4).returns)


def test_noise_of_a_plant_belongs_to_the_seed():
    def learned():
        agent = spaql.SPAQL(linear_plant(1, noise=True), seed=1)
        agent.learn(5, rollouts=3)
        return agent

    assert_same(learned(), learned())


@pytest.mark.parametrize("learner", TRAINED)
def test_options_matter(learner):
    default, other = (LEARNERS[learner](spaql.make("cartpole"), xi=xi, seed=1) for xi in (None, 1.0))
    for agent in (default, other):
        agent.learn(5, rollouts=3)
    assert not np.array_equal(default.leaves(), other.leaves())
